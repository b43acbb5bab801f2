"""Gather, scatter, one-hot, non-zero and top-k layers."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import onnx_ir as oir

from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope
from trtc.readback.shaping import transpose
from trtc.readback.types import tensor_type

_BOOL = oir.DataType.BOOL
_INT64 = oir.DataType.INT64


def gather(scope: Scope, layer: Layer) -> None:
    handle = layer.handle
    data, index = scope.input(layer, 0), scope.cast(scope.input(layer, 1), _INT64)
    axis, batch = int(handle.axis), int(handle.num_elementwise_dims)
    match handle.mode.name:
        case "DEFAULT" if batch == 0:
            out = scope.op("Gather", data, index, axis=axis)
        case "DEFAULT":
            out = _batched(scope, layer, data, index, axis)
        case "ELEMENT":
            out = scope.op("GatherElements", data, index, axis=axis)
        case "ND":
            out = scope.op("GatherND", data, index, batch_dims=batch)
        case mode:
            raise refuse(layer, "T0953", f"has the mode {mode}, which has no reading")
    scope.bind(layer, out)


def _batched(scope: Scope, layer: Layer, data: oir.Value, index: oir.Value, axis: int) -> oir.Value:
    """out[b, ...] = data[b].take(index[b], axis - 1); a batch of one broadcasts."""
    if int(layer.handle.num_elementwise_dims) != 1 or axis < 1:
        raise refuse(layer, "T0953", f"has num_elementwise_dims {layer.handle.num_elementwise_dims} with axis {axis}")
    rank, index_rank = len(layer.inputs[0].shape), len(layer.inputs[1].shape)
    if 1 in (layer.inputs[0].shape[0], layer.inputs[1].shape[0]):
        batch = scope.op("Max", scope.dim(data, 0), scope.dim(index, 0))
        data, index = _expand_first(scope, data, batch, rank), _expand_first(scope, index, batch, index_rank)
    order = [0, axis, *(i for i in range(1, rank) if i != axis)]
    index = scope.op("Unsqueeze", index, scope.ints(index_rank))
    taken = scope.op("GatherND", transpose(scope, data, order), index, dtype=data.dtype, batch_dims=1)
    # Now batch, index axes, data axes without `axis`; the index axes belong where `axis` was.
    inner, before = index_rank - 1, axis - 1
    rest = [1 + inner + i for i in range(rank - 2)]
    return transpose(scope, taken, [0, *rest[:before], *range(1, 1 + inner), *rest[before:]])


def _expand_first(scope: Scope, value: oir.Value, count: oir.Value, rank: int) -> oir.Value:
    shape = scope.op("Concat", scope.reshape(count, 1), scope.ints(*[1] * (rank - 1)), axis=0)
    dtype = value.dtype
    out = scope.op("Expand", scope.wide(value), shape)
    return scope.cast(out, dtype) if dtype is not None else out


def scatter(scope: Scope, layer: Layer) -> None:
    data, index, updates = (scope.input(layer, i) for i in range(3))
    index = scope.cast(index, _INT64)
    if layer.handle.mode.name == "ELEMENT":
        out = scope.op("ScatterElements", data, index, updates, axis=int(layer.handle.axis))
    elif layer.handle.mode.name == "ND":
        out = scope.op("ScatterND", data, index, updates)
    else:
        raise refuse(layer, "T0953", f"has the mode {layer.handle.mode.name}, which has no reading")
    scope.bind(layer, out)


def one_hot(scope: Scope, layer: Layer) -> None:
    """values[1] where the class equals the index, values[0] elsewhere, so also for an index outside [0, depth)."""
    index, values = scope.cast(scope.input(layer, 0), _INT64), scope.input(layer, 1)
    depth = scope.cast(scope.input(layer, 2), _INT64)
    rank = len(layer.inputs[0].shape)
    axis = int(layer.handle.axis) % (rank + 1)
    classes = scope.reshape(scope.iota(depth), *[-1 if i == axis else 1 for i in range(rank + 1)])
    hit = scope.op("Equal", scope.op("Unsqueeze", index, scope.ints(axis)), classes, dtype=_BOOL)
    off, on = (scope.op("Gather", values, scope.scalar(i, _INT64), axis=0) for i in range(2))
    scope.bind(layer, scope.where(hit, on, off))


def non_zero(scope: Scope, layer: Layer) -> None:
    """Indices (rank, count), in row-major order of the elements; output 0 only."""
    scope.bind(layer, scope.op("NonZero", scope.wide_input(layer, 0), dtype=_INT64))


def top_k(scope: Scope, layer: Layer) -> None:
    """The k largest or smallest along one axis, sorted; k is static or a tensor of rank 0."""
    handle = layer.handle
    axis = single_axis(layer, int(handle.axes))
    if layer.input(1) is not None:
        count = scope.reshape(scope.cast(scope.input(layer, 1), _INT64), 1)
    else:
        count = scope.ints(int(handle.k))
    x = scope.wide_input(layer, 0)
    largest = int(handle.op.name == "MAX")
    values, indices = scope.ops("TopK", (x, count), (x.dtype, _INT64), axis=axis, largest=largest, sorted=1)
    scope.bind(layer, values)
    scope.bind(layer, indices, 1)


def single_axis(layer: Layer, mask: int) -> int:
    """The one axis in a mask of axes."""
    axes = mask_axes(mask)
    if len(axes) != 1:
        raise refuse(layer, "T0953", f"works along {len(axes)} axes, not one")
    return axes[0]


def mask_axes(mask: int) -> list[int]:
    """The axes whose bits are set, ascending."""
    return [axis for axis in range(mask.bit_length()) if mask >> axis & 1]


def non_max_suppression(scope: Scope, layer: Layer) -> None:
    """Boxes (batch, count, 4), scores (batch, count, classes), maximum per class, IoU and score thresholds.

    Rows (batch, class, box) by batch and then by falling score, and how many there are.
    """
    handle = layer.handle
    boxes, scores = scope.wide_input(layer, 0), scope.wide_input(layer, 1)
    scores = scope.op("Transpose", scores, perm=[0, 2, 1])
    limits = [scope.reshape(scope.cast(scope.input(layer, 2), _INT64), 1)]
    for index in (3, 4):
        given = layer.input(index) is not None
        number = scope.wide_input(layer, index) if given else scope.floats(0)
        limits.append(scope.reshape(number, 1))
    corner = int(handle.bounding_box_format.name == "CENTER_SIZES")
    rows = scope.op("NonMaxSuppression", boxes, scores, *limits, dtype=_INT64, center_point_box=corner)
    count = scope.reshape(scope.dim(rows, 0), 1)
    for by in ("score", "batch"):  # TopK keeps the order of equal keys, so the last key is the first criterion
        if by == "score":
            key = scope.op("GatherND", scores, rows)
        else:
            key = scope.op("Gather", rows, scope.scalar(0, _INT64), axis=1)
        largest = int(by == "score")
        order = scope.ops("TopK", (key, count), (key.dtype, _INT64), axis=0, largest=largest, sorted=1)[1]
        rows = scope.op("Gather", rows, order, axis=0)
    scope.bind(layer, rows)
    if len(layer.outputs) > 1:
        rank = len(layer.outputs[1].shape)
        scope.bind(layer, scope.reshape(count, *[1] * rank), 1)


def key_value_update(scope: Scope, layer: Layer) -> None:
    """cache[b, :, w[b] : w[b] + S] = update[b]; rows outside the cache are dropped."""
    cache, update = scope.input(layer, 0), scope.input(layer, 1)
    at = scope.reshape(scope.cast(scope.input(layer, 2), _INT64), -1, 1, 1, 1)
    position = scope.reshape(scope.iota(scope.dim(cache, 2)), 1, 1, -1, 1)
    row = scope.op("Sub", position, at)
    count = scope.dim(update, 2)
    zero = scope.scalar(0, _INT64)
    below = scope.op("GreaterOrEqual", row, zero, dtype=_BOOL)
    inside = scope.op("And", below, scope.op("Less", row, count, dtype=_BOOL))
    clamped = scope.op("Max", zero, scope.op("Min", row, scope.op("Sub", count, scope.scalar(1, _INT64))))
    index = scope.op("Expand", clamped, scope.dims(cache))
    moved = scope.op("GatherElements", update, index, axis=2)
    scope.bind(layer, scope.where(inside, moved, scope.cast(cache, update.dtype or tensor_type(layer.inputs[1]))))
