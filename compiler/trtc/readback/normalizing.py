"""Scale, normalization and local response normalization layers."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import onnx_ir as oir

from trtc.readback.indexing import mask_axes
from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope


def scale(scope: Scope, layer: Layer) -> None:
    """(x * scale + shift) ** power, each one number, one per channel, or one per element from the channel axis on."""
    handle = layer.handle
    shape = tuple(int(d) for d in layer.inputs[0].shape)
    axis = int(getattr(handle, "channel_axis", 1))
    out = scope.wide_input(layer, 0)
    for role, op in (("scale", "Mul"), ("shift", "Add"), ("power", "Pow")):
        factor = _factor(scope, layer, role, getattr(handle, role), shape, axis)
        if factor is not None:
            out = scope.op(op, out, factor)
    scope.bind(layer, out)


def _factor(scope: Scope, layer: Layer, role: str, held: Any, shape: tuple[int, ...], axis: int) -> oir.Value | None:
    array = scope.weights(layer, role, held)
    if array is None:
        return None
    mode = layer.handle.mode.name
    if mode == "UNIFORM":
        dims: tuple[int, ...] = ()
    elif mode == "CHANNEL":
        dims = (array.size, *[1] * (len(shape) - axis - 1))
    elif mode == "ELEMENTWISE":
        dims = shape[axis:]
    else:
        raise refuse(layer, "T0953", f"has the mode {mode}, which has no reading")
    return scope.wide(scope.constant(array.reshape(dims), f"{layer.name}/{role}"))


def normalization(scope: Scope, layer: Layer) -> None:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over the axes of the mask, in float32.

    With G groups the channels are split into (G, C / G), and the mean goes over C / G too. Scale and bias are per
    channel in the second version of the layer, per group in the first.
    """
    handle = layer.handle
    x = scope.wide_input(layer, 0)
    factor, offset = scope.wide_input(layer, 1), scope.wide_input(layer, 2)
    rank = len(layer.inputs[0].shape)
    axes, groups = mask_axes(int(handle.axes)), int(handle.num_groups)
    if groups == 1:
        out = _normalized(scope, x, axes, float(handle.epsilon))
        out = scope.op("Add", scope.op("Mul", out, factor), offset)
        scope.bind(layer, out)
        return
    shape = scope.dims(x)
    lead, tail = scope.op("Slice", shape, scope.ints(0), scope.ints(1)), None
    if rank > 2:
        tail = scope.op("Slice", shape, scope.ints(2), scope.ints(rank))
    channels = scope.op("Div", scope.op("Slice", shape, scope.ints(1), scope.ints(2)), scope.ints(groups))
    parts = [lead, scope.ints(groups), channels, *([tail] if tail is not None else [])]
    split = scope.op("Reshape", x, scope.op("Concat", *parts, axis=0), dtype=x.dtype)
    out = _normalized(scope, split, [2, *(axis + 1 for axis in axes if axis > 1)], float(handle.epsilon))
    if getattr(handle, "is_v2", False):
        out = scope.op("Reshape", out, shape)
        out = scope.op("Add", scope.op("Mul", out, factor), offset)
    else:
        factor, offset = (scope.op("Unsqueeze", v, scope.ints(2)) for v in (factor, offset))
        out = scope.op("Add", scope.op("Mul", out, factor), offset)
        out = scope.op("Reshape", out, shape)
    scope.bind(layer, out)


def _normalized(scope: Scope, x: oir.Value, axes: list[int], epsilon: float) -> oir.Value:
    over = scope.ints(*axes)
    centred = scope.op("Sub", x, scope.op("ReduceMean", x, over, keepdims=1))
    variance = scope.op("ReduceMean", scope.op("Mul", centred, centred), over, keepdims=1)
    deviation = scope.op("Sqrt", scope.op("Add", variance, scope.floats(epsilon)))
    return scope.op("Div", centred, deviation)


def local_response(scope: Scope, layer: Layer) -> None:
    """x / (k + alpha / window * sum of squares over the window of channels) ** beta.

    Whether alpha is divided by the window is not written down for the layer; this is the convention of the library
    that implements it and of NVIDIA's own parser, which passes ONNX's alpha unchanged.
    """
    handle = layer.handle
    out = scope.op(
        "LRN",
        scope.wide_input(layer, 0),
        size=int(handle.window_size),
        alpha=float(handle.alpha),
        beta=float(handle.beta),
        bias=float(handle.k),
    )
    scope.bind(layer, out)
