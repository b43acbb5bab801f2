"""Pad: a slice that starts before the tensor and ends after it."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, input_at, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope

_MODES = {"constant": "FILL", "reflect": "REFLECT", "edge": "CLAMP", "wrap": "WRAP"}


def _pads(facts: Facts, node: oir.Node) -> dict[int, tuple[Any, Any]]:
    """Begin and end by axis, without those that are zero."""
    rank = facts.rank(given(node, 0))
    elements = facts.elements(given(node, 1))
    if elements is None:
        refuse("the pads are computed at run time from values that are not known", "make the pads a constant")
    axes = facts.ints(input_at(node, 3), "the axes")
    axes = tuple(range(rank)) if axes is None else tuple(axis_of(a, rank) for a in axes)
    count = len(axes)
    pads = {axis: (elements[at], elements[at + count]) for at, axis in enumerate(axes)}
    return {axis: pad for axis, pad in pads.items() if pad != (0, 0)}


def _check(facts: Facts, node: oir.Node) -> None:
    pads = _pads(facts, node)
    mode = attr(node, "mode", "constant")
    if mode not in _MODES:
        refuse(f"mode {mode}")
    if mode != "constant" and not all(isinstance(v, int) for pad in pads.values() for v in pad):
        refuse(f"mode {mode} with pads that are not known when the network is built", "make the pads a constant")


@operator("Pad", types="FIB", check=_check)
def pad(s: Scope, node: oir.Node) -> Any:
    """Negative pads crop: within one slice for constant padding, before it for the others, which look at the edge."""
    value = given(node, 0)
    x = s.tensor(value)
    mode = attr(node, "mode", "constant")
    pads = _pads(s, node)
    if not pads:
        return x
    dims = list(s.shape(value))
    if mode != "constant":
        cropped = {
            axis: (max(-begin, 0), dims[axis] + min(begin, 0) + min(end, 0), 1)
            for axis, (begin, end) in pads.items()
            if begin < 0 or end < 0
        }
        if cropped:
            only = all(begin <= 0 and end <= 0 for begin, end in pads.values())
            x = s.slice(x, cropped, "" if only else "crop")
            for axis, (_, size, _) in cropped.items():
                dims[axis] = size
            pads = {axis: (max(b, 0), max(e, 0)) for axis, (b, e) in pads.items() if b > 0 or e > 0}
            if only:
                return x
    ranges = {axis: (0 - begin, dims[axis] + begin + end, 1) for axis, (begin, end) in pads.items()}
    fill = None  # TensorRT fills with 0
    fill_value = input_at(node, 2)
    if mode == "constant" and fill_value is not None and s.number(fill_value) != 0:
        array = s.array(fill_value)
        if array is not None:
            fill = s.tensor(fill_value, ())
        else:
            tensor = s.tensor(fill_value)
            fill = s.reshape(tensor, [], "fill") if len(tensor.shape) else tensor
    return s.slice(x, ranges, "", mode=_MODES[mode], fill=fill)
