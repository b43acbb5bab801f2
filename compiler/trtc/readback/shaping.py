"""Layers that hold, move or describe elements: constant, shape, shuffle, squeeze, concatenation, padding."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import onnx_ir as oir

from trtc.readback.layers import Layer, dims_or_none, refuse
from trtc.readback.scope import Scope
from trtc.readback.types import NUMPY_TYPES, carried, is_half, tensor_type

_INT64 = oir.DataType.INT64


def constant(scope: Scope, layer: Layer) -> None:
    """An initializer over the memory that the network holds; it lives as long as the network."""
    tensor, shape = layer.outputs[0], tuple(layer.handle.shape)
    array = scope.weights(layer, "weights", layer.handle.weights)
    if array is None:
        name = tensor.dtype.name
        array = np.zeros(0, NUMPY_TYPES.get(name) or tensor_type(tensor).numpy())
    if array.size != math.prod(shape):
        raise refuse(layer, "T0952", f"has {array.size} values for the shape {list(shape)}")
    array = array.reshape(shape)
    if array.dtype.kind in "iu" and array.size <= 1024:
        scope.remember(tensor, array)
    value = scope.constant(array, name=layer.name)
    dtype = carried(tensor_type(tensor))
    scope.values[tensor] = value if value.dtype == dtype else scope.cast(value, dtype)


def shape(scope: Scope, layer: Layer) -> None:
    scope.bind(layer, scope.dims(scope.input(layer, 0)))


def transpose(scope: Scope, value: oir.Value, order: Sequence[int]) -> oir.Value:
    """Axis k of the result is axis order[k] of `value`; nothing for the identity."""
    return value if list(order) == list(range(len(order))) else scope.op("Transpose", value, perm=list(order))


def shuffle(scope: Scope, layer: Layer) -> None:
    """Transpose, reshape, transpose. A placeholder 0 copies a length of the tensor after the first transpose."""
    handle = layer.handle
    rank = len(layer.inputs[0].shape)
    out = transpose(scope, scope.input(layer, 0), tuple(handle.first_transpose)[:rank])
    static = dims_or_none(handle.reshape_dims)
    if layer.input(1) is not None or static is not None:
        dims = scope.integers(layer, 1, static)
        dims = scope.ints(*dims) if isinstance(dims, list) else dims
        out = scope.op("Reshape", out, dims, allowzero=0 if handle.zero_is_placeholder else 1)
    rank = len(layer.outputs[0].shape)
    scope.bind(layer, transpose(scope, out, tuple(handle.second_transpose)[:rank]))


def _axes(scope: Scope, layer: Layer) -> oir.Value | None:
    if layer.input(1) is None:
        return None
    axes = scope.integers(layer, 1, None)
    return scope.ints(*axes) if isinstance(axes, list) else axes


def squeeze(scope: Scope, layer: Layer) -> None:
    scope.bind(layer, scope.op("Squeeze", scope.input(layer, 0), _axes(scope, layer)))


def unsqueeze(scope: Scope, layer: Layer) -> None:
    scope.bind(layer, scope.op("Unsqueeze", scope.input(layer, 0), _axes(scope, layer)))


def concatenation(scope: Scope, layer: Layer) -> None:
    inputs = [scope.input(layer, i) for i in range(len(layer.inputs))]
    scope.bind(layer, scope.op("Concat", *inputs, axis=int(layer.handle.axis)))


def padding(scope: Scope, layer: Layer) -> None:
    """Zeros around the last two axes; a negative amount crops."""
    before, after = tuple(layer.handle.pre_padding_nd), tuple(layer.handle.post_padding_nd)
    lead = [0] * (len(layer.inputs[0].shape) - len(before))
    x = scope.wide_input(layer, 0)
    scope.bind(layer, scope.op("Pad", x, scope.ints(*lead, *before, *lead, *after), mode="constant"))


def pad_end(scope: Scope, value: oir.Value, axis: int, rank: int, fill: oir.Value | None) -> oir.Value:
    """One more element at the end of `axis`: `fill` (rank 0), by default zero."""
    dtype = value.dtype
    after = [int(i == axis) for i in range(rank)]
    value, fill = scope.wide(value), scope.wide(fill) if fill is not None else None
    out = scope.op("Pad", value, scope.ints(*[0] * rank, *after), fill, mode="constant")
    return scope.cast(out, dtype) if dtype is not None and is_half(dtype) else out


def reverse_sequence(scope: Scope, layer: Layer) -> None:
    """The first lengths[b] entries along the sequence axis in reverse, for each index b of the batch axis."""
    batch, time = int(layer.handle.batch_axis), int(layer.handle.sequence_axis)
    rank = len(layer.inputs[0].shape)
    # ONNX has the two as the first two axes.
    order = [batch, time, *(i for i in range(rank) if i not in (batch, time))]
    x = transpose(scope, scope.wide_input(layer, 0), order)
    lengths = scope.cast(scope.input(layer, 1), _INT64)
    out = scope.op("ReverseSequence", x, lengths, batch_axis=0, time_axis=1)
    scope.bind(layer, transpose(scope, out, [order.index(i) for i in range(rank)]))
