"""trtc: a declarative graph-optimization compiler front-end for NVIDIA TensorRT.

    import trtc
    result = trtc.compile("model.trtspec", dim={"batch": "1..8..64"})
    print(result.table)

What a user did wrong is raised as `trtc.DiagnosticError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trtc.lazy import exports

if TYPE_CHECKING:
    from trtc.diagnostics import Diagnostic, DiagnosticError
    from trtc.driver import CompileResult, compile, load_spec
    from trtc.driver.checking import check

__version__ = "0.1.0"

__all__ = ["CompileResult", "Diagnostic", "DiagnosticError", "check", "compile", "load_spec"]

_HOMES = {
    "CompileResult": "trtc.driver",
    "Diagnostic": "trtc.diagnostics",
    "DiagnosticError": "trtc.diagnostics",
    "check": "trtc.driver.checking",
    "compile": "trtc.driver",
    "load_spec": "trtc.driver",
}

__getattr__ = exports(__name__, _HOMES)
