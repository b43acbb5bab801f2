"""Functions for windows and padding, and for lists that describe slices. Registered by `functions`."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from trtc.ir import dims
from trtc.rewrite.functions import Array, Known, array, dtype_of, function, shape_of

#: An end of a Slice from here on means the end of the axis, whatever its size.
_FAR = 2**31 - 1


@function("shape")
def _shape(known: Known, x: Any) -> tuple[Any, ...]:
    """shape(x): the list of the dims of `x`."""
    return tuple(shape_of(known, x))


@function("plus")
def _plus(known: Known, a: Any, b: Any) -> tuple[Any, ...]:
    """plus($a, $b): two lists of one length, added item by item."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


@function("join")
def _join(known: Known, a: Any, b: Any) -> tuple[Any, ...]:
    """join($a, $b): one list behind the other."""
    return (*a, *b)


@function("disjoint")
def _disjoint(known: Known, a: Any, b: Any) -> bool:
    """disjoint($a, $b): whether two lists have no item in common."""
    return set(a).isdisjoint(b)


# ---- padding


@function("padded_axes")
def _padded_axes(known: Known, pads: Any, axes: Any, rank: int) -> tuple[int, ...]:
    """padded_axes($pads, $axes, n): begins and ends of some axes as those of all `n` axes."""
    full = [0] * (2 * rank)
    for at, axis in enumerate(axes):
        axis += rank if axis < 0 else 0
        full[axis] = pads[at]
        full[axis + rank] = pads[at + len(axes)]
    return tuple(full)


@function("pads_of_space")
def _pads_of_space(known: Known, pads: Any) -> bool:
    """pads_of_space($pads): whether pads of all axes leave batch and channels alone and crop nothing."""
    rank = len(pads) // 2
    return rank > 2 and not any((*pads[:2], *pads[rank : rank + 2])) and min(pads) >= 0


@function("space_of_pads")
def _space_of_pads(known: Known, pads: Any) -> tuple[int, ...]:
    """space_of_pads($pads): of pads of all axes, those behind batch and channels: `pads` of a convolution."""
    rank = len(pads) // 2
    return (*pads[2:rank], *pads[rank + 2 :])


@function("pads_below")
def _pads_below(known: Known, pads: Any, kernel: Any) -> bool:
    """pads_below($pads, $kernel): whether every window of `kernel` holds something besides padding."""
    return len(pads) == 2 * len(kernel) and all(size < kernel[at % len(kernel)] for at, size in enumerate(pads))


# ---- slices


@function("to_end")
def _to_end(known: Known, end: Any, size: Any) -> bool:
    """to_end($e, dim(x, a)): whether the end of a slice is that of the axis."""
    return (isinstance(end, int) and end >= _FAR) or end == size or (_number(end, size) and end >= size)


def _number(*values: Any) -> bool:
    return all(isinstance(v, int) for v in values)


@function("slice_start")
def _slice_start(known: Known, outer: int, inner: int) -> int:
    """slice_start(a, b): where a slice that begins at `b` begins in what was sliced from `a` on."""
    return min(outer + inner, 2**63 - 1)


# ---- broadcasting


@function("broadcasts_to")
def _broadcasts_to(known: Known, y: Any, *values: Any) -> bool:
    """broadcasts_to(y, a, b, …): whether the values provably broadcast to the shape of `y`."""
    wanted = shape_of(known, y)
    found: list[Any] = [1] * len(wanted)
    for value in values:
        shape = shape_of(known, value)
        if len(shape) > len(wanted):
            return False
        for at, size in enumerate(reversed(shape), 1):
            if size == 1:
                continue
            if found[-at] not in (1, size):
                return False
            found[-at] = size
    return tuple(found) == tuple(wanted)


@function("scales")
def _scales(known: Known, x: Any, y: Any) -> tuple[float, ...]:
    """scales(x, y): for each axis, how many times as large `y` is; it has to be known, and 1 or a whole number."""
    made: list[float] = []
    for before, after in zip(shape_of(known, x), shape_of(known, y), strict=True):
        ratio = 1 if before == after else dims.exact_quotient(after, before)
        if not isinstance(ratio, int):
            raise ValueError("the sizes are in no whole relation that is known")
        made.append(float(ratio))
    return tuple(made)


@function("whole_scales")
def _whole_scales(known: Known, x: Any, y: Any) -> bool:
    """whole_scales(x, y): whether `scales(x, y)` are known."""
    _scales(known, x, y)
    return True


# ---- matrices


@function("turned", makes=True)
def _turned(known: Known, w: Any, turn: int) -> Array:
    """turned(w, $t): a constant matrix, transposed where `$t` is not 0."""
    data = array(known, w)
    return Array(np.transpose(data) if turn else data, dtype_of(known, w))
