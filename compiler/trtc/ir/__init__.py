"""The IR: storage by onnx_ir, and what a compiler needs on top.

Names are loaded when asked for: importing this package imports neither onnx nor numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trtc.lazy import exports

if TYPE_CHECKING:
    from trtc.ir.loader import Limits, load, load_proto
    from trtc.ir.module import IR_VERSION, OPSET, Module, constant_tensor
    from trtc.ir.provenance import origins, rule, stamp
    from trtc.ir.saver import save
    from trtc.ir.text import to_text
    from trtc.ir.verifier import verify

_HOMES = {
    "IR_VERSION": "module",
    "OPSET": "module",
    "Limits": "loader",
    "Module": "module",
    "constant_tensor": "module",
    "load": "loader",
    "load_proto": "loader",
    "origins": "provenance",
    "rule": "provenance",
    "save": "saver",
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

__getattr__ = exports(__name__, _HOMES)
