"""What a person or another program looks at: a module as text, ONNX, DOT, SVG or JSON.

Names are loaded when asked for: importing this package imports neither onnx nor numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trtc.lazy import exports

if TYPE_CHECKING:
    from trtc.dump.dot import to_dot
    from trtc.dump.files import FORMATS, format_of, render, write
    from trtc.dump.json_form import to_json
    from trtc.dump.svg import to_svg

_HOMES = {
    "FORMATS": "files",
    "format_of": "files",
    "render": "files",
    "to_dot": "dot",
    "to_json": "json_form",
    "to_svg": "svg",
    "write": "files",
}

__all__ = ["FORMATS", "format_of", "render", "to_dot", "to_json", "to_svg", "write"]

__getattr__ = exports(__name__, _HOMES)
