"""Quantize and dequantize layers: q = round(x / scale) in the range of the type.

TensorRT builds no zero point but zero; one that is there all the same is read as ONNX has it.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import onnx_ir as oir

from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope
from trtc.readback.types import tensor_type

_BOOL = oir.DataType.BOOL
_FLOAT = oir.DataType.FLOAT
_INT64 = oir.DataType.INT64
_FP8 = oir.DataType.FLOAT8E4M3FN

_RANGES = {oir.DataType.INT8: (-128, 127), oir.DataType.INT4: (-8, 7)}


def quantize(scope: Scope, layer: Layer) -> None:
    """Halves go to the even neighbour; values beyond the range go to its ends."""
    x = scope.cast(scope.input(layer, 0), _FLOAT)
    ratio = scope.op("Div", x, _scale(scope, layer, 1, x))
    if layer.input(2) is not None:
        ratio = scope.op("Add", scope.op("Round", ratio), _scale(scope, layer, 2, x))
    dtype = tensor_type(layer.outputs[0])
    if dtype in (_FLOAT, oir.DataType.FLOAT16):
        # TensorRT 8.6 is weakly typed: the output keeps the type of its input until the build, and is INT8 then.
        dtype = oir.DataType.INT8
    scope.bind(layer, rounded(scope, layer, ratio, dtype))


def rounded(scope: Scope, layer: Layer, x: oir.Value, dtype: oir.DataType) -> oir.Value:
    """`x` on the numbers of a narrow type, in the type that carries it."""
    x = scope.cast(x, _FLOAT)
    if dtype in _RANGES:
        low, high = _RANGES[dtype]
        out = scope.op("Clip", scope.op("Round", x), scope.floats(low), scope.floats(high))
        return scope.cast(out, oir.DataType.INT8)
    if dtype == _FP8:
        return scope.cast(scope.op("Cast", x, dtype=_FP8, to=int(_FP8), saturate=1), _FLOAT)
    if dtype == oir.DataType.FLOAT4E2M1:
        return _to_fp4(scope, x)
    raise refuse(layer, "T0953", f"rounds to {dtype.name}, which has no reading")


def _to_fp4(scope: Scope, x: oir.Value) -> oir.Value:
    """The nearest of 0, .5, 1, 1.5, 2, 3, 4, 6 with the sign of x. Steps are .5 below 2, 1 below 4, then 2.

    Rounding the quotient by the step to even is rounding to the even mantissa.
    """
    size = scope.op("Abs", x)
    coarse = scope.where(scope.op("Less", size, scope.floats(4), dtype=_BOOL), scope.floats(1), scope.floats(2))
    step = scope.where(scope.op("Less", size, scope.floats(2), dtype=_BOOL), scope.floats(0.5), coarse)
    near = scope.op("Mul", scope.op("Round", scope.op("Div", x, step)), step)
    return scope.op("Clip", near, scope.floats(-6), scope.floats(6))


def dequantize(scope: Scope, layer: Layer) -> None:
    x = scope.cast(scope.input(layer, 0), _FLOAT)
    if layer.input(2) is not None:
        x = scope.op("Sub", x, _scale(scope, layer, 2, x))
    scope.bind(layer, scope.op("Mul", x, _scale(scope, layer, 1, x)))


def _scale(scope: Scope, layer: Layer, position: int, x: oir.Value) -> oir.Value:
    """Scale (input 1) or zero point (input 2) as float32, to broadcast against `x`.

    One number, one per index of an axis, or one per block.
    """
    scale = scope.cast(scope.input(layer, position), _FLOAT)
    data, shape = tuple(layer.inputs[0].shape), tuple(layer.inputs[position].shape)
    if all(d == 1 for d in shape):
        return scope.reshape(scale) if len(shape) != len(data) else scale
    if len(shape) == 1 and len(data) != 1:
        axis = int(layer.handle.axis) % len(data)
        return scope.reshape(scale, *[-1 if i == axis else 1 for i in range(len(data))])
    if len(shape) != len(data):
        raise refuse(layer, "T0953", f"has a scale of shape {list(shape)} for data of shape {list(data)}")
    for axis, (length, count) in enumerate(zip(data, shape, strict=True)):
        if count == 1 or length == count >= 0:
            continue
        lengths, blocks = scope.dim(x, axis), scope.dim(scale, axis)
        index = scope.op("Div", scope.iota(lengths), scope.op("Div", lengths, blocks))
        scale = scope.op("Gather", scale, index, axis=axis)
    return scale
