"""Functions for sets of axes and for constants that vary over them. Registered by `functions`."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np

from trtc.rewrite.functions import Array, Known, array, dtype_of, function, shape_of


def positions(axes: Any, rank: int) -> tuple[int, ...]:
    """One axis or a list of them, from the front and in order.

    Raises:
        ValueError: an axis that a tensor of this rank does not have.
    """
    listed = (axes,) if isinstance(axes, int) else tuple(axes)
    if any(not -rank <= a < rank for a in listed):
        raise ValueError("there is no such axis")
    return tuple(sorted({a + rank if a < 0 else a for a in listed}))


@function("sizes")
def _sizes(known: Known, x: Any, axes: Any) -> tuple[Any, ...]:
    """sizes(x, $axes): the sizes of some axes of `x`, in the order in which they lie."""
    shape = shape_of(known, x)
    return tuple(shape[a] for a in positions(axes, len(shape)))


@function("divides")
def _divides(known: Known, a: Any, b: Any) -> bool:
    """divides(a, b): whether both are known sizes and `b` is a multiple of `a`."""
    return isinstance(a, int) and isinstance(b, int) and a > 0 and b % a == 0


@function("channels_last")
def _channels_last(known: Known, rank: int) -> tuple[int, ...]:
    """channels_last(n): the permutation of `n` axes that moves axis 1 to the end."""
    return (0, *range(2, rank), 1)


@function("along")
def _along(known: Known, s: Any, x: Any, axes: Any) -> bool:
    """along(s, x, axes): whether the constant `s`, broadcast against `x`, varies along these axes only and adds none.

    One axis or a list of them.
    """
    against = shape_of(known, x)
    rank = len(against)
    shape = shape_of(known, s)
    if len(shape) > rank or not (isinstance(s, Array) or known.constants.is_constant(s)):
        return False
    kept = positions(axes, rank)
    full = (1,) * (rank - len(shape)) + tuple(shape)
    return all(size == 1 or (at in kept and size == against[at]) for at, size in enumerate(full))


@function("vector", makes=True)
def _vector(known: Known, s: Any, x: Any, axes: Any) -> Array:
    """vector(s, x, axes): a constant that varies `along` some axes of `x`, with these axes and no others.

    For one axis, which may be given as a number, it is a list of that axis' size.
    """
    against = shape_of(known, x)
    kept = positions(axes, len(against))
    sizes = [against[a] for a in kept]
    if not all(isinstance(size, int) for size in sizes):
        raise ValueError("the size of an axis is not known")
    data = array(known, s)
    data = data.reshape((1,) * (len(against) - data.ndim) + data.shape)
    data = data.reshape([data.shape[a] for a in kept])
    return Array(np.broadcast_to(data, sizes).copy(), dtype_of(known, s))


@function("repeat", makes=True)
def _repeat(known: Known, s: Any, count: int) -> Array:
    """repeat(s, n): a constant list, every element `n` times in a row."""
    return Array(np.repeat(array(known, s), count), dtype_of(known, s))
