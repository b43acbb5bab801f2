"""Multidirectional broadcasting of symbolic shapes."""

from __future__ import annotations

from collections.abc import Sequence

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.op import Op, Shape, show_shape


def broadcast(op: Op, shapes: Sequence[Shape | None], what: str = "the inputs") -> Shape | None:
    """The shape that all broadcast to, None when a rank is not known. T0610 when two dims cannot."""
    first = shapes[0] if shapes else ()
    if first is not None and all(shape == first for shape in shapes[1:]):
        return first
    known = [shape for shape in shapes if shape is not None]
    if len(known) != len(shapes):
        return None
    rank = max(len(shape) for shape in known)
    out: list[Dim] = []
    for axis in range(rank):
        dim: Dim = 1
        for shape in known:
            at = axis - rank + len(shape)
            if at >= 0:
                dim = _join(op, dim, shape[at], axis, known, what)
        out.append(dim)
    return tuple(out)


def _join(op: Op, a: Dim, b: Dim, axis: int, shapes: Sequence[Shape], what: str) -> Dim:
    if a is b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int):
        if isinstance(b, int) and a != b:
            op.fail(
                "T0610",
                f"{what} of {op.label} do not broadcast",
                f"shapes {' and '.join(show_shape(s) for s in shapes)}: {a} against {b} on axis {axis} of the output",
                help="two dims broadcast when they are equal or one of them is 1",
            )
        # A symbol against a number: the model is legal only where it equals the number or is 1.
        return a
    if isinstance(b, int):
        return b
    if dims.unknowns(a) or dims.unknowns(b):
        return op.unknown(axis)
    # Legal only where they are equal or one is 1: the greater, whichever it is.
    return dims.maximum(a, b)
