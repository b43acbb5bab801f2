"""Operators that read or write by position: Slice, Pad, Gather, Scatter, OneHot and the like."""

from __future__ import annotations

import numpy as np

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.fact import Fact
from trtc.ir.infer.layout import as_dim
from trtc.ir.infer.op import Op, Shape, rule, show_shape, static
from trtc.ir.infer.values import count, moved, sign, small

_FAR = (1 << 31) - 1
"""Ends from here on mean "to the end": exporters write INT32_MAX as well as INT64_MAX."""


@rule("Slice", inputs=3)
def slice_(op: Op) -> Fact:
    fact = op.fact(0)
    x = fact.shape
    if x is None:
        return Fact(fact.dtype)
    starts, ends = op.elements(1), op.elements(2)
    length = count(op.shape(1))
    if length is None:
        return Fact(fact.dtype, op.unknowns(len(x)))
    axes = op.numbers(3) if op.has(3) else tuple(range(length))
    steps = op.elements(4) if op.has(4) else (1,) * length
    if axes is None:
        return Fact(fact.dtype, op.unknowns(len(x)))
    chosen = [op.normal(axis, len(x)) or 0 for axis in axes]
    if any(part is not None and len(part) != len(chosen) for part in (starts, ends, steps)):
        op.fail("T0619", f"starts, ends, axes and steps of {op.label} differ in length")
    out: list[Dim] = list(x)
    index: list[slice] | None = [slice(None)] * len(x)
    for at, axis in enumerate(chosen):
        start, end = (None if starts is None else starts[at]), (None if ends is None else ends[at])
        step = None if steps is None else steps[at]
        if step == 0:
            op.fail("T0619", f"{op.label} has a step of 0")
        made = None
        if start is not None and end is not None and isinstance(step, int):
            made = _sliced(x[axis], start, end, step)
        out[axis] = op.unknown(axis) if made is None else made
        if index is not None and isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
            # The last element before 0 cannot be said with an end of -1: an end far below means "past the front".
            size = x[axis]
            front = step < 0 and isinstance(size, int) and end < -size
            index[axis] = slice(_back(size, start, step), None if front else end, step)
        else:
            index = None
    shape = tuple(out)
    if index is None or not static(shape):
        return Fact(fact.dtype, shape)
    places = tuple(index)
    return moved(fact, shape, lambda a: a[places])


def _back(size: Dim, start: int, step: int) -> int:
    """A start before the front is the front, also on the way back, where Python begins at nothing."""
    return 0 if step < 0 and isinstance(size, int) and start < -size else start


def _sliced(size: Dim, start: Dim, end: Dim, step: int) -> Dim | None:
    """How many elements a slice of an axis takes; None when the sign of an end is not known."""
    if isinstance(size, int) and isinstance(start, int) and isinstance(end, int):
        last = None if step < 0 and end < -size else end
        return len(range(*slice(_back(size, start, step), last, step).indices(size)))
    if step < 0:
        # From the last element to before the first is what is written in practice.
        first = _from_front(size, start)
        if first is None or not isinstance(end, int):
            return None
        first = dims.minimum(first, size - 1)
        if start != -1:
            # Below 0 there is nothing only where the axis has no element; a start before the front is the front.
            first = dims.maximum(first, dims.minimum(0, size - 1))
        if end <= -_FAR:
            return dims.ceildiv(first + 1, -step)
        last = _from_front(size, end)
        if last is None:
            return None
        return dims.maximum(dims.ceildiv(first - dims.maximum(last, -1), -step), 0)
    first, last = _from_front(size, start), _from_front(size, end)
    if first is None or last is None:
        return None
    if isinstance(end, int) and end >= _FAR:
        last = size
    else:
        last = dims.minimum(last, size)
    low, _ = dims.bounds(first)
    if low is not None and low >= 0:
        # Beyond the end nothing is left: the maximum below says that of the start too.
        taken = last - first
    elif last is size and isinstance(start, int):
        taken = dims.minimum(size, -start)
    else:
        taken = last - dims.maximum(first, 0)
    return dims.maximum(dims.ceildiv(taken, step), 0)


def _from_front(size: Dim, at: Dim) -> Dim | None:
    side = sign(at)
    if side is None:
        return None
    return at if side > 0 else size + at


@rule("Pad", inputs=2)
def pad(op: Op) -> Fact:
    fact, pads = op.fact(0), op.elements(1)
    x = fact.shape
    if x is None:
        return Fact(fact.dtype)
    axes = op.numbers(3) if op.has(3) else tuple(range(len(x)))
    if pads is None or axes is None:
        return Fact(fact.dtype, op.unknowns(len(x)))
    chosen = [op.normal(axis, len(x)) or 0 for axis in axes]
    if len(pads) != 2 * len(chosen):
        op.fail("T0619", f"{op.label} has {len(pads)} pads", f"expected {2 * len(chosen)} for input {show_shape(x)}")
    out: list[Dim] = list(x)
    for at, axis in enumerate(chosen):
        made = x[axis] + pads[at] + pads[at + len(chosen)]
        if isinstance(made, int) and made < 0:
            op.fail("T0619", f"{op.label} cuts more than axis {axis} has", f"input {show_shape(x)}")
        out[axis] = op.unknown(axis) if dims.is_signed(made) else made
    return _padded(op, fact, tuple(out), pads)


def _padded(op: Op, fact: Fact, shape: Shape, pads: Shape) -> Fact:
    """The elements of a padded list of integers."""
    if fact.value is None or len(shape) != 1 or not static(pads) or op.str("mode", "constant") != "constant":
        return Fact(fact.dtype, shape)
    fill = op.value(2) if op.has(2) else (0,)
    before, after = pads
    if fill is None or before < 0 or after < 0:
        return Fact(fact.dtype, shape)
    if not small(shape):
        return Fact(fact.dtype, shape)
    return Fact(fact.dtype, shape, (*fill * before, *fact.value, *fill * after))


# Gather and scatter


@rule("Gather", inputs=2)
def gather(op: Op) -> Fact:
    fact, where = op.fact(0), op.shape(1)
    x = fact.shape
    if x is None:
        return Fact(fact.dtype)
    axis = op.axis("axis", len(x), 0)
    assert axis is not None
    if where is None:
        return Fact(fact.dtype)
    shape = (*x[:axis], *where, *x[axis + 1 :])
    if fact.value is None and fact.real is None:
        return Fact(fact.dtype, shape)
    places = op.numbers(1)
    size = x[axis]
    if places is None or not isinstance(size, int) or not all(-size <= p < size for p in places):
        return Fact(fact.dtype, shape)
    if len(x) == 1:
        value = None if fact.value is None else tuple(fact.value[p] for p in places)
        real = None if fact.real is None else tuple(fact.real[p] for p in places)
        return Fact(fact.dtype, shape, value, real=real)
    index = np.reshape(np.array(places, dtype=np.int64), [d for d in where if isinstance(d, int)])
    return moved(fact, shape, lambda a: np.take(a, index, axis=axis))


@rule("GatherElements", inputs=2)
def gather_elements(op: Op) -> Fact:
    x, where = op.shape(0), op.shape(1)
    if x is not None and where is not None and len(x) != len(where):
        op.fail("T0617", f"data and indices of {op.label} differ in rank")
    if x is not None:
        op.axis("axis", len(x), 0)
    return Fact(op.dtype(0), where)


@rule("GatherND", inputs=2)
def gather_nd(op: Op) -> Fact:
    x, where, batch = op.shape(0), op.shape(1), op.int("batch_dims", 0)
    if x is None or where is None or not where or not isinstance(where[-1], int):
        return Fact(op.dtype(0))
    if batch + where[-1] > len(x):
        op.fail("T0617", f"{op.label} has {where[-1]} indices into rank {len(x)}", f"batch_dims {batch}")
    return Fact(op.dtype(0), (*where[:-1], *x[batch + where[-1] :]))


@rule("ScatterElements", "ScatterND", "Scatter", inputs=3)
def scatter(op: Op) -> Fact:
    fact = op.fact(0)
    dtype = op.same_dtype(0, 2)
    data, places, updates = fact.value, op.numbers(1), op.value(2)
    if data is None or places is None or updates is None or fact.shape is None or len(fact.shape) != 1:
        return Fact(dtype, fact.shape)
    if op.str("reduction", "none") != "none" or len(places) != len(updates):
        return Fact(dtype, fact.shape)
    if not all(-len(data) <= p < len(data) for p in places):
        return Fact(dtype, fact.shape)
    written = list(data)
    for place, element in zip(places, updates, strict=True):
        written[place] = element
    return Fact(dtype, fact.shape, tuple(written))


@rule("OneHot", inputs=3)
def one_hot(op: Op) -> Fact:
    x, depth = op.shape(0), op.elements(1)
    if x is None:
        return Fact(op.dtype(2))
    axis = op.normal(op.int("axis", -1), len(x) + 1) or 0
    size = op.unknown(axis) if depth is None or len(depth) != 1 else as_dim(depth[0])
    return Fact(op.dtype(2), (*x[:axis], size, *x[axis:]))


@rule("Trilu")
def trilu(op: Op) -> Fact:
    op.rank(0, 2)
    return Fact(op.dtype(0), op.shape(0))


@rule("ReverseSequence", inputs=2)
def reverse_sequence(op: Op) -> Fact:
    op.rank(0, 2)
    return Fact(op.dtype(0), op.shape(0))


@rule("CenterCropPad", inputs=2)
def center_crop_pad(op: Op) -> Fact:
    x, wanted = op.shape(0), op.elements(1)
    if x is None:
        return Fact(op.dtype(0))
    axes = op.ints("axes") or tuple(range(len(x)))
    out: list[Dim] = list(x)
    for at, axis in enumerate(axes):
        chosen = op.normal(axis, len(x)) or 0
        out[chosen] = op.unknown(chosen) if wanted is None or at >= len(wanted) else as_dim(wanted[at])
    return Fact(op.dtype(0), tuple(out))
