"""Reductions, cumulative sums and softmax."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math

import onnx_ir as oir

from trtc.readback.indexing import mask_axes, single_axis
from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope
from trtc.readback.types import is_integer

_BOOL = oir.DataType.BOOL
_INT64 = oir.DataType.INT64

_REDUCE = {"SUM": "ReduceSum", "PROD": "ReduceProd", "MAX": "ReduceMax", "MIN": "ReduceMin", "AVG": "ReduceMean"}


def reduce(scope: Scope, layer: Layer) -> None:
    """Over the axes of the mask. The average of integers is their sum over their count, toward zero."""
    handle = layer.handle
    name = handle.op.name
    if name not in _REDUCE:
        raise refuse(layer, "T0953", f"has the operation {name}, which has no reading")
    x = scope.wide_input(layer, 0)
    over = mask_axes(int(handle.axes))
    axes = scope.ints(*over)
    keep = int(bool(handle.keep_dims))
    rank = len(layer.inputs[0].shape)
    if name == "AVG" and not is_integer(x.dtype) and keep and 3 <= rank <= 5 and over == list(range(2, rank)):
        # The same, and summed in the same order for every channel. ReduceMean's order depends on where a channel
        # lies: channels that are equal would come out with differences, which a softmax of large values magnifies.
        out = scope.op("GlobalAveragePool", x)
    elif name == "AVG" and is_integer(x.dtype):
        total = scope.op("ReduceSum", x, axes, keepdims=keep)
        lengths = scope.op("Gather", scope.dims(x), axes, axis=0)
        count = scope.op("ReduceProd", lengths, keepdims=0)
        out = scope.op("Div", total, scope.cast(count, x.dtype or _INT64))
    else:
        out = scope.op(_REDUCE[name], x, axes, keepdims=keep)
    scope.bind(layer, out)


def cumulative(scope: Scope, layer: Layer) -> None:
    handle = layer.handle
    if handle.op.name != "SUM":
        raise refuse(layer, "T0953", f"has the operation {handle.op.name}, which has no reading")
    x, axis = scope.wide_input(layer, 0), scope.cast(scope.input(layer, 1), _INT64)
    out = scope.op("CumSum", x, axis, exclusive=int(handle.exclusive), reverse=int(handle.reverse))
    scope.bind(layer, out)


def softmax(scope: Scope, layer: Layer) -> None:
    axis = single_axis(layer, int(layer.handle.axes))
    scope.bind(layer, scope.op("Softmax", scope.wide_input(layer, 0), axis=axis))


def ragged_softmax(scope: Scope, layer: Layer) -> None:
    """Softmax over the first bounds[z] entries of each row, zero after them."""
    x, bounds = scope.wide_input(layer, 0), scope.cast(scope.input(layer, 1), _INT64)
    rank = len(layer.inputs[0].shape)
    inside = scope.op("Less", scope.iota(scope.dim(x, rank - 1)), bounds, dtype=_BOOL)
    shares = scope.op("Softmax", scope.where(inside, x, scope.floats(-math.inf)), axis=rank - 1)
    scope.bind(layer, scope.where(inside, shares, scope.floats(0)))
