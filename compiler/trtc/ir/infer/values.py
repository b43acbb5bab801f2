"""Elements of small tensors: moving them, and arithmetic on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.fact import MAX_VALUE, Fact, Ratio
from trtc.ir.infer.op import Shape, static

T = TypeVar("T")

INTEGERS = frozenset(
    {
        oir.DataType.INT64,
        oir.DataType.INT32,
        oir.DataType.INT16,
        oir.DataType.INT8,
        oir.DataType.UINT64,
        oir.DataType.UINT32,
        oir.DataType.UINT16,
        oir.DataType.UINT8,
        oir.DataType.BOOL,
    }
)
FLOATS = frozenset({oir.DataType.FLOAT, oir.DataType.DOUBLE, oir.DataType.FLOAT16, oir.DataType.BFLOAT16})
_EXACT = frozenset({oir.DataType.FLOAT, oir.DataType.DOUBLE})


def count(shape: Sequence[Dim] | None) -> int | None:
    """How many elements a static shape has, None for any other."""
    if shape is None:
        return None
    total = 1
    for d in shape:
        if not isinstance(d, int):
            return None
        total *= d
    return total


def small(shape: Sequence[Dim] | None) -> bool:
    size = count(shape)
    return size is not None and size <= MAX_VALUE


def from_array(dtype: oir.DataType, array: np.ndarray[Any, Any]) -> Fact:
    """The fact of a constant."""
    shape = tuple(int(d) for d in array.shape)
    if array.size > MAX_VALUE:
        return Fact(dtype, shape)
    if dtype in INTEGERS:
        return Fact(dtype, shape, tuple(int(x) for x in array.ravel().tolist()))
    if dtype in _EXACT and array.size <= 16:
        return Fact(dtype, shape, real=_ratios(array.ravel().tolist()))
    return Fact(dtype, shape)


def _ratios(numbers: list[float]) -> tuple[Ratio, ...] | None:
    """Short binary fractions only: products of these with dims are exact in float32."""
    out: list[Ratio] = []
    for x in numbers:
        if not -65536 <= x <= 65536 or (x * 256) % 1:
            return None
        top, bottom = x.as_integer_ratio()
        out.append((top, bottom))
    return tuple(out)


def moved(fact: Fact, shape: Shape | None, move: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Fact:
    """A fact of `shape` whose elements are those of `fact`, at the places to which `move` takes them."""
    if (fact.value is None and fact.real is None) or not small(shape) or fact.shape is None:
        return Fact(fact.dtype, shape)
    size = len(fact.value if fact.value is not None else fact.real or ())
    order = move(np.reshape(np.arange(size), [d for d in fact.shape if isinstance(d, int)]))
    at: list[int] = order.ravel().tolist()
    return Fact(fact.dtype, shape, picked(fact.value, at), real=picked(fact.real, at))


def picked(elements: tuple[T, ...] | None, at: Sequence[int]) -> tuple[T, ...] | None:
    return None if elements is None else tuple(elements[i] for i in at)


def spread(elements: tuple[T, ...], old: Shape, new: Shape) -> tuple[T, ...] | None:
    """Elements of a tensor broadcast from one static shape to another."""
    if old == new:
        return elements
    if not small(new) or not static(old) or not static(new):
        return None
    if len(elements) == 1:
        return elements * (count(new) or 0)
    source = np.reshape(np.arange(len(elements)), tuple(old))
    order: list[int] = np.broadcast_to(source, tuple(new)).ravel().tolist()
    return tuple(elements[i] for i in order)


def elementwise(op: Callable[..., Dim | None], facts: Sequence[Fact], shape: Shape | None) -> tuple[Dim, ...] | None:
    """`op` over the elements of integer facts, broadcast; None when one result is not known."""
    return _over(op, [(fact.value, fact.shape) for fact in facts], shape)


def realwise(op: Callable[..., Ratio | None], facts: Sequence[Fact], shape: Shape | None) -> tuple[Ratio, ...] | None:
    """`op` over the elements of float facts, broadcast; None when one result is not known exactly."""
    return _over(op, [(fact.real, fact.shape) for fact in facts], shape)


def _over(
    op: Callable[..., T | None], operands: Sequence[tuple[tuple[T, ...] | None, Shape | None]], shape: Shape | None
) -> tuple[T, ...] | None:
    if not small(shape) or shape is None:
        return None
    columns: list[tuple[T, ...]] = []
    for elements, own in operands:
        if elements is None or own is None:
            return None
        column = spread(elements, own, shape)
        if column is None:
            return None
        columns.append(column)
    out: list[T] = []
    for row in zip(*columns, strict=True):
        made = op(*row)
        if made is None:
            return None
        out.append(made)
    return tuple(out)


def truncated(a: Dim, b: Dim) -> Dim | None:
    """Integer division as C does it, toward zero. None when the sign of an operand is not known."""
    if b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    exact = dims.exact_quotient(a, b)
    if exact is not None:
        return exact
    (low, high), (least, most) = dims.bounds(a), dims.bounds(b)
    if least is None or least <= 0:
        if most is None or most >= 0:
            return None
        a, b, low, high = -a, -b, None if high is None else -high, None if low is None else -low
    if high is not None and high <= 0:
        return -dims.floordiv(-a, b)
    if low is not None and low >= 0:
        return dims.floordiv(a, b)
    # A dim such as `h - 3` may be negative in principle; as a dim of a model that runs it is not.
    return None if dims.unknowns(a) else dims.floordiv(a, b)


def sign(a: Dim) -> int | None:
    """1 when a is at least 0, -1 when it is below, None when that is not known."""
    low, high = dims.bounds(a)
    if low is not None and low >= 0:
        return 1
    return -1 if high is not None and high < 0 else None


_RANGES = {
    oir.DataType.INT64: (-(1 << 63), (1 << 63) - 1),
    oir.DataType.INT32: (-(1 << 31), (1 << 31) - 1),
    oir.DataType.INT16: (-(1 << 15), (1 << 15) - 1),
    oir.DataType.INT8: (-128, 127),
    oir.DataType.UINT64: (0, (1 << 64) - 1),
    oir.DataType.UINT32: (0, (1 << 32) - 1),
    oir.DataType.UINT16: (0, (1 << 16) - 1),
    oir.DataType.UINT8: (0, 255),
    oir.DataType.BOOL: (0, 1),
}


def fit(dtype: oir.DataType | None, value: tuple[Dim, ...] | None) -> tuple[Dim, ...] | None:
    """The value unless a number in it overflows its dtype: what then happens is not followed."""
    if value is None or dtype is None or dtype not in _RANGES:
        return None
    low, high = _RANGES[dtype]
    return value if all(not isinstance(d, int) or low <= d <= high for d in value) else None
