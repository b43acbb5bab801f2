"""Normalizations, losses and quantization: the shape stays, what changes is the dtype or a second output."""

from __future__ import annotations

import onnx_ir as oir

from trtc.ir.dims import Dim
from trtc.ir.infer.fact import Fact
from trtc.ir.infer.op import Op, Shape, rule, show_shape


@rule("BatchNormalization", inputs=5)
def batch_normalization(op: Op) -> list[Fact]:
    """[N, C, *D] with scale, bias, mean, var [C]; in training mode the running mean and var [C] too."""
    x = op.shape(0)
    for at in range(1, 5):
        _check_channels(op, x, at)
    return [
        Fact(op.dtype(0), x),
        Fact(op.dtype(3), op.shape(3)),
        Fact(op.dtype(4), op.shape(4)),
    ]


@rule("InstanceNormalization", "GroupNormalization", inputs=3)
def instance_normalization(op: Op) -> Fact:
    for at in (1, 2):
        _check_channels(op, op.shape(0), at)
    return Fact(op.dtype(0), op.shape(0))


def _check_channels(op: Op, x: Shape | None, at: int) -> None:
    parameter = op.shape(at)
    if x is None or parameter is None or len(x) < 2 or len(parameter) != 1:
        return
    channels, count = x[1], parameter[0]
    if isinstance(channels, int) and isinstance(count, int) and channels != count:
        op.fail("T0614", f"{op.label} gets {channels} channels, input {at} is for {count}", f"input {show_shape(x)}")


@rule("LayerNormalization", "RMSNormalization", inputs=2)
def layer_normalization(op: Op) -> list[Fact]:
    """[*A, *B] normalized over B = axis and after; mean and inverse deviation are [*A, 1...]."""
    x = op.shape(0)
    stash = op.data_type("stash_type", 1)
    if x is None:
        return [Fact(op.dtype(0)), Fact(stash), Fact(stash)]
    axis = op.axis("axis", len(x), -1) or 0
    kept: tuple[Dim, ...] = (*x[:axis], *[1] * (len(x) - axis))
    return [Fact(op.dtype(0), x), Fact(stash, kept), Fact(stash, kept)]


@rule("LRN", "LpNormalization", "MeanVarianceNormalization")
def kept(op: Op) -> Fact:
    return Fact(op.dtype(0), op.shape(0))


@rule("NegativeLogLikelihoodLoss", inputs=2)
def nll_loss(op: Op) -> Fact:
    return Fact(op.dtype(0), op.shape(1) if op.str("reduction", "mean") == "none" else ())


@rule("SoftmaxCrossEntropyLoss", inputs=2)
def cross_entropy_loss(op: Op) -> list[Fact]:
    loss = op.shape(1) if op.str("reduction", "mean") == "none" else ()
    return [Fact(op.dtype(0), loss), Fact(op.dtype(0), op.shape(0))]


# Quantization


@rule("QuantizeLinear", inputs=2)
def quantize_linear(op: Op) -> Fact:
    dtype = op.dtype(2) if op.has(2) else op.data_type("output_dtype", 0) or oir.DataType.UINT8
    return Fact(dtype, op.shape(0))


@rule("DequantizeLinear", inputs=2)
def dequantize_linear(op: Op) -> Fact:
    if op.has(2):
        op.same_dtype(0, 2)
    return Fact(op.data_type("output_dtype", 0) or op.dtype(1), op.shape(0))


@rule("DynamicQuantizeLinear")
def dynamic_quantize_linear(op: Op) -> list[Fact]:
    byte = oir.DataType.UINT8
    return [Fact(byte, op.shape(0)), Fact(oir.DataType.FLOAT, ()), Fact(byte, ())]
