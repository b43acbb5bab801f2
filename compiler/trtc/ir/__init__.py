"""The IR: storage by onnx_ir, and what a compiler needs on top.

Names are loaded when asked for: importing this package imports neither onnx nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trtc.ir.load import Limits, load, load_proto
    from trtc.ir.module import IR_VERSION, OPSET, Module, constant_tensor
    from trtc.ir.provenance import origins, rule, stamp
    from trtc.ir.save import save
    from trtc.ir.text import to_text
    from trtc.ir.verifier import verify

_HOMES = {
    "IR_VERSION": "module",
    "OPSET": "module",
    "Limits": "load",
    "Module": "module",
    "constant_tensor": "module",
    "load": "load",
    "load_proto": "load",
    "origins": "provenance",
    "rule": "provenance",
    "save": "save",
    "stamp": "provenance",
    "to_text": "text",
    "verify": "verifier",
}

__all__ = [
    "IR_VERSION",
    "OPSET",
    "Limits",
    "Module",
    "constant_tensor",
    "load",
    "load_proto",
    "origins",
    "rule",
    "save",
    "stamp",
    "to_text",
    "verify",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # A submodule may bear the name of what it exports (`load`): the function wins, as the import would have it.
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
