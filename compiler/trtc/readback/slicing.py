"""Slice layers: index start + i * stride on each sliced axis, and what a mode makes of an index outside."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as oir

from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope
from trtc.readback.shaping import pad_end
from trtc.readback.types import tensor_type

_BOOL = oir.DataType.BOOL
_INT64 = oir.DataType.INT64
_OUTSIDE = 1 << 62  # no axis is so long: ONNX Runtime refuses the index


@dataclass(frozen=True, slots=True)
class _Axis:
    """One sliced axis; a number is static, a value is an int64 of rank 0. `length` is -1 when dynamic."""

    axis: int
    length: int
    start: int | oir.Value
    size: int | oir.Value
    stride: int | oir.Value

    @property
    def static(self) -> tuple[int, int, int] | None:
        """Start, size and stride when all are numbers."""
        if isinstance(self.start, int) and isinstance(self.size, int) and isinstance(self.stride, int):
            return self.start, self.size, self.stride
        return None

    @property
    def whole(self) -> bool:
        """Whether the axis passes through unchanged."""
        return self.static == (0, self.length, 1)


def slicing(scope: Scope, layer: Layer) -> None:
    """Inputs: data, start, size, stride, fill value, axes; the middle three may be static parameters instead."""
    mode = layer.handle.mode.name
    if mode not in ("STRICT_BOUNDS", "FILL", "CLAMP", "WRAP", "REFLECT"):
        raise refuse(layer, "T0953", f"has the mode {mode}, which has no reading")
    shape = tuple(layer.inputs[0].shape)
    axes = [axis for axis in _sliced(scope, layer, shape) if not axis.whole]
    x = scope.input(layer, 0)
    fill = _fill(scope, layer) if mode == "FILL" else None
    if mode == "STRICT_BOUNDS":
        plain = [axis for axis in axes if _is_plain(axis)]
        x = _strided(scope, x, plain)
        x = _repeated(scope, x, plain, len(shape))
        axes = [axis for axis in axes if axis not in plain]
    elif fill is not None:
        padded = [axis for axis in axes if _is_pad(axis)]
        x = _padded(scope, x, padded, len(shape), fill)
        axes = [axis for axis in axes if axis not in padded]
    for axis in axes:
        index = _index(scope, axis)
        x = _take(scope, x, axis, index, mode, len(shape), fill)
    scope.bind(layer, x)


def _sliced(scope: Scope, layer: Layer, shape: tuple[int, ...]) -> list[_Axis]:
    handle = layer.handle
    rank = len(shape)
    static = getattr(handle, "axes", None)
    if layer.input(5) is not None:
        given = scope.integers(layer, 5, None)
        if isinstance(given, oir.Value):
            return _sliced_at(scope, layer, shape, given)
        static = given
    axes = list(range(rank)) if static is None else [int(a) % rank for a in static]
    rows: list[list[int] | list[oir.Value]] = []
    for index, parameter in ((1, handle.start), (2, handle.shape), (3, handle.stride)):
        value = scope.integers(layer, index, parameter)
        rows.append(value if isinstance(value, list) else _elements(scope, value, len(axes)))
    return [_Axis(axis, shape[axis], *parts) for axis, *parts in zip(axes, *rows, strict=True)]


def _sliced_at(scope: Scope, layer: Layer, shape: tuple[int, ...], axes: oir.Value) -> list[_Axis]:
    """Axes known only when the network runs: parameters of every axis, those of the given ones put in their places."""
    handle, rank = layer.handle, len(shape)
    axes = scope.op("Mod", axes, scope.scalar(rank, _INT64))
    defaults = (scope.ints(*[0] * rank), scope.dims(scope.input(layer, 0)), scope.ints(*[1] * rank))
    rows: list[list[oir.Value]] = []
    for index, parameter in ((1, handle.start), (2, handle.shape), (3, handle.stride)):
        value = scope.integers(layer, index, parameter)
        value = scope.ints(*value) if isinstance(value, list) else value
        full = scope.op("ScatterElements", defaults[index - 1], axes, value, axis=0)
        rows.append(_elements(scope, full, rank))
    return [_Axis(axis, shape[axis], *parts) for axis, *parts in zip(range(rank), *rows, strict=True)]


def _elements(scope: Scope, values: oir.Value, count: int) -> list[oir.Value]:
    return [scope.op("Gather", values, scope.scalar(i, _INT64), axis=0) for i in range(count)]


def _fill(scope: Scope, layer: Layer) -> oir.Value:
    """The fill value as rank 0 in the type of the data."""
    x = scope.input(layer, 0)
    dtype = x.dtype or tensor_type(layer.inputs[0])
    if layer.input(4) is None:
        return scope.scalar(0, dtype)
    return scope.cast(scope.reshape(scope.input(layer, 4)), dtype)


def _is_plain(axis: _Axis) -> bool:
    """Whether ONNX Slice reads the same elements: static, and no index that ONNX would take from the end."""
    if axis.static is None:
        return False
    start, size, stride = axis.static
    return size == 0 or (start >= 0 and start + (size - 1) * stride >= 0)


def _strided(scope: Scope, x: oir.Value, axes: Sequence[_Axis]) -> oir.Value:
    starts: list[int] = []
    ends: list[int] = []
    steps: list[int] = []
    for axis in axes:
        start, size, stride = axis.static or (0, 0, 1)
        if stride == 0:  # one element, repeated later
            size, stride = min(size, 1), 1
        end = start + size * stride
        starts.append(start)
        ends.append(end if end >= 0 else -(1 << 62))
        steps.append(stride)
    if not axes:
        return x
    numbers = [scope.ints(*values) for values in (starts, ends, [axis.axis for axis in axes], steps)]
    return scope.op("Slice", x, *numbers)


def _repeated(scope: Scope, x: oir.Value, axes: Sequence[_Axis], rank: int) -> oir.Value:
    dims = [1] * rank
    for axis in axes:
        if axis.static is not None and axis.static[2] == 0:
            dims[axis.axis] = axis.static[1]
    if all(d == 1 for d in dims):
        return x
    if x.dtype == oir.DataType.BFLOAT16:
        return scope.cast(scope.op("Expand", scope.wide(x), scope.ints(*dims)), x.dtype)
    return scope.op("Expand", x, scope.ints(*dims))


def _is_pad(axis: _Axis) -> bool:
    """Whether an ONNX Pad (with crops) is the same: stride 1, static, and at least one element is from the data."""
    if axis.static is None or axis.length < 0:
        return False
    start, size, stride = axis.static
    return stride == 1 and start < axis.length and start + size > 0 and size > 0


def _padded(scope: Scope, x: oir.Value, axes: Sequence[_Axis], rank: int, fill: oir.Value) -> oir.Value:
    if not axes:
        return x
    before, after = [0] * rank, [0] * rank
    for axis in axes:
        start, size, _ = axis.static or (0, 0, 1)
        before[axis.axis] = -start
        after[axis.axis] = start + size - axis.length
    dtype = x.dtype
    out = scope.op("Pad", scope.wide(x), scope.ints(*before, *after), scope.wide(fill), mode="constant")
    return scope.cast(out, dtype) if dtype is not None else out


def _index(scope: Scope, axis: _Axis) -> oir.Value:
    """The indices before the mode, int64 of rank 1."""
    if axis.static is not None:
        start, size, stride = axis.static
        return scope.constant(start + stride * np.arange(size, dtype=np.int64))
    start, stride = (v if isinstance(v, oir.Value) else scope.scalar(v, _INT64) for v in (axis.start, axis.stride))
    return scope.op("Add", start, scope.op("Mul", stride, scope.iota(axis.size)))


def _take(
    scope: Scope, x: oir.Value, axis: _Axis, index: oir.Value, mode: str, rank: int, fill: oir.Value | None
) -> oir.Value:
    zero, one = scope.scalar(0, _INT64), scope.scalar(1, _INT64)
    length = scope.scalar(axis.length, _INT64) if axis.length >= 0 else scope.dim(x, axis.axis)
    last = scope.op("Sub", length, one)
    match mode:
        case "CLAMP":
            index = scope.op("Max", zero, scope.op("Min", index, last))
        case "WRAP":
            index = scope.op("Mod", index, length)
        case "REFLECT":
            # The edges are not repeated: period 2 (d - 1), and one element reflects into itself.
            period = scope.op("Max", one, scope.op("Add", last, last))
            index = scope.op("Mod", index, period)
            index = scope.op("Min", index, scope.op("Sub", period, index))
        case "FILL":
            below = scope.op("Less", index, zero, dtype=_BOOL)
            above = scope.op("GreaterOrEqual", index, length, dtype=_BOOL)
            index = scope.where(scope.op("Or", below, above), length, index)
            x = pad_end(scope, x, axis.axis, rank, fill)
        case _:
            # A negative index is outside; ONNX would count it from the end.
            outside = scope.op("Less", index, zero, dtype=_BOOL)
            index = scope.where(outside, scope.scalar(_OUTSIDE, _INT64), index)
    return scope.op("Gather", x, index, axis=axis.axis)
