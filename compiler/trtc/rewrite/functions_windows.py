"""Functions for windows and padding, and for lists that describe slices. Registered by `functions`."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from trtc.ir import dims, edit
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
    return end == size or (isinstance(end, int) and (end >= _FAR or (isinstance(size, int) and end >= size)))


@function("steps_of")
def _steps_of(known: Known, steps: Any) -> tuple[int, ...]:
    """steps_of(s): the steps of a Slice as a list."""
    found = known.constants.ints(steps)
    if found is None:
        raise ValueError("the steps are not constant")
    return found


@function("positive")
def _positive(known: Known, items: Any) -> bool:
    """positive(s): whether every element of a constant list is above 0."""
    return min(_steps_of(known, items)) > 0


@function("wrapped")
def _wrapped(known: Known, index: int, size: Any) -> Any:
    """wrapped($i, n): an index that counts from the end where it is below zero, counted from the front."""
    return index + size if index < 0 else index


@function("is_whole")
def _is_whole(known: Known, size: Any) -> bool:
    """is_whole(d): whether a size is a number, and not a symbol."""
    return isinstance(size, int)


@function("stands_for")
def _stands_for(known: Known, x: Any, y: Any) -> bool:
    """stands_for(x, y): whether `x` can be used for `y`: where `y` is an output of the model, `x` has to be none yet,
    and no input or constant."""
    return not y.is_graph_output() or edit.bears_output(y, x)


# ---- casts


@function("lossless")
def _lossless(known: Known, x: Any, y: Any) -> bool:
    """lossless(x, y): whether the dtype of `y` holds every number that the dtype of `x` has."""
    start, end = dtype_of(known, x), dtype_of(known, y)
    if start == end:
        return True
    one, other = _KINDS.get(start.name), _KINDS.get(end.name)
    if one is None or other is None or end.name == "BOOL":
        return False
    (kind, digits, exponent), (into, wide, range_) = one, other
    if kind == "f":
        return into == "f" and wide >= digits and range_ >= exponent
    if into == "f":
        return wide >= digits and range_ > digits.bit_length()
    # A signed integer is no unsigned one; an unsigned one needs a digit more than the signed has, less its sign.
    return wide >= digits and not (kind == "i" and into == "u")


#: Kind, binary digits of the magnitude, bits of the exponent.
_KINDS: dict[str, tuple[str, int, int]] = {
    "BOOL": ("u", 1, 0),
    **{f"UINT{n}": ("u", n, 0) for n in (8, 16, 32, 64)},
    **{f"INT{n}": ("i", n - 1, 0) for n in (8, 16, 32, 64)},
    "FLOAT16": ("f", 11, 5),
    "BFLOAT16": ("f", 8, 8),
    "FLOAT": ("f", 24, 8),
    "DOUBLE": ("f", 53, 11),
}


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


# ---- blocks


@function("corners")
def _corners(known: Known, places: Any) -> bool:
    """corners([i, j, …]): whether four pairs are the four corners of a 2x2 block, in whatever order."""
    pairs = sorted(zip(places[::2], places[1::2], strict=True))
    return pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]


@function("unfocused", makes=True)
def _unfocused(known: Known, w: Any, places: Any) -> Array:
    """unfocused(w, [i, j, …]): a weight over the corners of 2x2 blocks as one over the image, twice as high and wide.

    `w` is [M, 4 * C, u, v], whose channels are those of the corner (i, j) of each block, then those of the next one.
    """
    data = array(known, w)
    out, wide, high, broad = data.shape
    made = np.zeros((out, wide // 4, 2 * high, 2 * broad), data.dtype)
    for at, (row, column) in enumerate(zip(places[::2], places[1::2], strict=True)):
        made[:, :, row::2, column::2] = data[:, at * (wide // 4) : (at + 1) * (wide // 4)]
    return Array(made, dtype_of(known, w))
