"""Fill layers."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import onnx_ir as oir

from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope
from trtc.readback.types import tensor_type

_INT64 = oir.DataType.INT64


def fill(scope: Scope, layer: Layer) -> None:
    """alpha + sum over the axes k of beta[k] * i_k. Inputs: dims, alpha (rank 0), beta (one number per axis)."""
    handle = layer.handle
    name = handle.operation.name
    if name != "LINSPACE":
        raise refuse(layer, "T0954", f"draws random numbers ({name}), which no two runs share")
    dtype = tensor_type(layer.outputs[0])
    static = None if layer.input(0) is not None else tuple(handle.shape)
    dims = scope.integers(layer, 0, static)
    rank = len(layer.outputs[0].shape)
    if layer.input(1) is not None:
        alpha = scope.reshape(scope.cast(scope.input(layer, 1), dtype))
    else:
        alpha = scope.scalar(handle.alpha, dtype)
    steps: list[oir.Value]
    if layer.input(2) is not None:
        beta = scope.reshape(scope.cast(scope.input(layer, 2), dtype), -1)
        steps = [scope.op("Gather", beta, scope.scalar(k, _INT64), axis=0) for k in range(rank)]
    else:
        steps = [scope.scalar(handle.beta, dtype)] * rank
    out = alpha
    for axis, step in enumerate(steps):
        if isinstance(dims, list):
            count: oir.Value | int = dims[axis]
        else:
            count = scope.op("Gather", dims, scope.scalar(axis, _INT64), axis=0)
        along = scope.reshape(scope.cast(scope.iota(count), dtype), *[-1 if i == axis else 1 for i in range(rank)])
        out = scope.op("Add", out, scope.op("Mul", along, step))
    scope.bind(layer, out)
