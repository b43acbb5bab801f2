"""Normalizations and softmax."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, input_at, refuse, used
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.emit.weights import NUMPY


def _check_batch(facts: Facts, node: oir.Node) -> None:
    if attr(node, "training_mode", 0) or used(node, 1):
        refuse("training_mode=1: statistics of the batch", "export the model in inference mode")
    if facts.rank(given(node, 0)) < 2:
        refuse("an input without a channel dim")


#: The least rank of a scale layer in every generation; newer ones take less.
_SCALE_RANK = 4


@operator("BatchNormalization", check=_check_batch, note="inference")
def batch_normalization(s: Scope, node: oir.Node) -> Any:
    """Constants are folded in float64 to one scale and one shift per channel: x * scale + shift."""
    x = s.input(node, 0)
    dtype = s.type_of(x)
    epsilon = attr(node, "epsilon", 1e-5)
    arrays = [s.array(given(node, at)) for at in range(1, 5)]
    known = [np.asarray(a, dtype=np.float64) for a in arrays if a is not None]
    if len(known) == 4:
        gamma, beta, mean, variance = known
        scale = gamma / np.sqrt(variance + epsilon)
        shift = beta - mean * scale
        with np.errstate(over="ignore"):
            fits = all(np.isfinite(v.astype(NUMPY[dtype])).all() for v in (scale, shift))
        if fits and len(x.shape) < _SCALE_RANK:
            ones = [1] * (len(x.shape) - 2)
            factor, term = (
                s.constant(v.astype(NUMPY[dtype]), dtype, part, (1, v.size, *ones))
                for v, part in ((scale, "scale"), (shift, "shift"))
            )
            return s.elementwise("SUM", s.elementwise("PROD", x, factor, "product"), term, "")
        if fits:
            made = s.net.add_scale_nd(
                x,
                s.trt.ScaleMode.CHANNEL,
                s.weights(shift.astype(NUMPY[dtype]), dtype, "shift", "shift"),
                s.weights(scale.astype(NUMPY[dtype]), dtype, "scale", "scale"),
                # Empty, but of the same type: TensorRT compares the types even so.
                s.no_weights(dtype),
                1,
            )
            return s.add(made, "")
    channels = [1] * len(x.shape)
    gamma_t, beta_t, mean_t, variance_t = (_per_channel(s, given(node, at), channels) for at in range(1, 5))
    wide = s.in_f32(x)
    deviation = s.unary(
        "SQRT", s.elementwise("SUM", variance_t, s.scalar(epsilon, variance_t, "epsilon"), "variance"), "deviation"
    )
    centred = s.elementwise("SUB", wide, mean_t, "centre")
    unit = s.elementwise("DIV", centred, deviation, "divide")
    scaled = s.elementwise("PROD", unit, gamma_t, "scale")
    return s.cast(s.elementwise("SUM", scaled, beta_t, "shift"), dtype)


def _per_channel(s: Scope, value: oir.Value, ones: list[int], dtype: str = "FLOAT") -> Any:
    """[C] as [1, C, 1, …]."""
    array = s.array(value)
    if array is not None:
        shape = (1, array.size, *ones[2:])
        return s.cast(s.tensor(value, shape), dtype)
    tensor = s.tensor(value)
    axes = [at for at in range(len(ones)) if at != 1]
    return s.cast(s.unsqueeze(tensor, axes, "channels"), dtype)


def _normalize(
    s: Scope, x: Any, scale: Any, bias: Any, axes: list[int], epsilon: float, groups: int = 1, part: str = ""
) -> Any:
    """The normalization layer; scale and bias have the rank of x."""
    mask = sum(1 << axis for axis in axes)
    # Version 2 differs in groups only: scale and bias are per channel, not per group.
    add = s.net.add_normalization_v2 if s.caps.normalization_v2 else s.net.add_normalization
    properties: dict[str, Any] = {"epsilon": float(epsilon)}
    if groups != 1:
        properties["num_groups"] = groups
    if s.caps.compute_precision and s.type_of(x) != "FLOAT":
        properties["compute_precision"] = s.trt.DataType.FLOAT
    return s.add(add(x, scale, bias, mask), part, **properties)


@operator("InstanceNormalization")
def instance_normalization(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    rank = len(x.shape)
    scale, bias = (_per_channel(s, given(node, at), [1] * rank, s.type_of(x)) for at in (1, 2))
    return _normalize(s, x, scale, bias, list(range(2, rank)), attr(node, "epsilon", 1e-5))


def _check_group(facts: Facts, node: oir.Node) -> None:
    shape = facts.shape(given(node, 0))
    groups = attr(node, "num_groups", 1)
    if len(shape) < 3:
        refuse("an input without spatial dims")
    channels = shape[1]
    if not isinstance(channels, int):
        refuse("the number of channels is not known when the network is built")
    if channels % groups:
        refuse(f"{groups} groups do not divide {channels} channels")
    length = facts.static(given(node, 1))
    if length is None or length[0] != channels:
        refuse("a scale that is not per channel (opset 18)", "convert the model to opset 21")


@operator("GroupNormalization", check=_check_group)
def group_normalization(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    rank, dtype = len(x.shape), s.type_of(x)
    groups, epsilon = attr(node, "num_groups", 1), attr(node, "epsilon", 1e-5)
    axes = list(range(2, rank))
    scale, bias = (_per_channel(s, given(node, at), [1] * rank, dtype) for at in (1, 2))
    if groups == 1:
        # One group is a normalization over all but the batch; a layer without groups would leave the channels apart.
        return _normalize(s, x, scale, bias, list(range(1, rank)), epsilon)
    if s.caps.normalization_v2:
        return _normalize(s, x, scale, bias, axes, epsilon, groups)
    shape = (1, groups, *([1] * (rank - 2)))
    one, zero = (
        s.constant(np.full(shape, v, np.float64).astype(NUMPY[dtype]), dtype, n) for v, n in ((1, "one"), (0, "zero"))
    )
    unit = _normalize(s, x, one, zero, axes, epsilon, groups, "normalize")
    return s.elementwise("SUM", s.elementwise("PROD", unit, scale, "scale"), bias)


def _norm_axes(s: Facts, node: oir.Node) -> list[int]:
    rank = s.rank(given(node, 0))
    return list(range(axis_of(attr(node, "axis", -1), rank), rank))


def _check_axes(facts: Facts, node: oir.Node) -> None:
    _norm_axes(facts, node)


@operator("LayerNormalization", check=_check_axes)
def layer_normalization(s: Scope, node: oir.Node) -> Any:
    """Scale and bias get the rank of x; the outputs Mean and InvStdDev are computed apart, when somebody uses them."""
    x_value = given(node, 0)
    x = s.tensor(x_value)
    dtype, rank = s.type_of(x), len(x.shape)
    axes = _norm_axes(s, node)
    epsilon = attr(node, "epsilon", 1e-5)
    scale = s.operand(given(node, 1), rank, dtype)
    b_value = input_at(node, 2)
    if b_value is not None:
        bias = s.operand(b_value, rank, dtype)
    else:
        bias = s.scalar(0, x, "no_bias")
    y = _normalize(s, x, scale, bias, axes, epsilon)
    if not used(node, 1) and not used(node, 2):
        return y
    wide = s.in_f32(x)
    mean = s.reduce("AVG", wide, axes, True, "mean")
    centred = s.elementwise("SUB", wide, mean, "centre")
    variance = s.reduce("AVG", s.elementwise("PROD", centred, centred, "square"), axes, True, "variance")
    deviation = s.unary("SQRT", s.elementwise("SUM", variance, s.scalar(epsilon, variance), "epsilon"), "deviation")
    inverse = s.unary("RECIP", deviation, "inverse")
    outputs = [y, mean, inverse]
    return tuple(
        s.cast(t, s.engine_type(v)) if at else t for at, (t, v) in enumerate(zip(outputs, node.outputs, strict=False))
    )


@operator("RMSNormalization", check=_check_axes)
def rms_normalization(s: Scope, node: oir.Node) -> Any:
    """x / sqrt(mean(x^2) + epsilon) * scale, in float32 up to the scale: a half-precision x^2 overflows above 255."""
    x = s.input(node, 0)
    dtype, rank = s.type_of(x), len(x.shape)
    wide = s.in_f32(x)
    square = s.elementwise("PROD", wide, wide, "square")
    mean = s.reduce("AVG", square, _norm_axes(s, node), True, "mean")
    sum_ = s.elementwise("SUM", mean, s.scalar(attr(node, "epsilon", 1e-5), mean, "epsilon"), "sum")
    unit = s.elementwise("PROD", wide, s.unary("RECIP", s.unary("SQRT", sum_, "sqrt"), "inverse"), "normalize")
    scale = s.operand(given(node, 1), rank, dtype)
    return s.elementwise("PROD", s.cast(unit, dtype), scale)


def _check_lrn(facts: Facts, node: oir.Node) -> None:
    rank = facts.rank(given(node, 0))
    if not 3 <= rank <= 5:
        refuse(f"an input of rank {rank}")


@operator("LRN", check=_check_lrn)
def lrn(s: Scope, node: oir.Node) -> Any:
    """The layer has odd windows up to 15 and rank 4; other windows are an average over channels."""
    x_value = given(node, 0)
    x = s.tensor(x_value)
    size = attr(node, "size")
    alpha, beta, bias = attr(node, "alpha", 1e-4), attr(node, "beta", 0.75), attr(node, "bias", 1.0)
    if size % 2 and size <= 15 and beta >= 0.01 and bias >= 1e-5 and len(x.shape) == 4:
        return s.add(s.net.add_lrn(x, size, alpha, beta, bias), "")
    dtype = s.type_of(x)
    dims = s.shape(x_value)
    wide = s.in_f32(x)
    square = s.elementwise("PROD", wide, wide, "square")
    # Channels as the rows of an image of one channel; padding counts, so the average is the sum over `size`.
    rest: Any = 1
    for dim in dims[2:]:
        rest = rest * dim
    image = s.reshape(square, [dims[0], 1, dims[1], rest], "image")
    made = s.net.add_pooling_nd(image, s.trt.PoolingType.AVERAGE, (size, 1))
    before = (size - 1) // 2
    average = s.add(
        made,
        "average",
        stride_nd=(1, 1),
        pre_padding=(before, 0),
        post_padding=(size - 1 - before, 0),
        average_count_excludes_padding=False,
    )
    average = s.reshape(average, list(dims), "image_back")
    base = s.elementwise(
        "SUM", s.elementwise("PROD", average, s.scalar(alpha, average), "alpha"), s.scalar(bias, average), "base"
    )
    divisor = s.elementwise("POW", base, s.scalar(beta, base), "power")
    return s.cast(s.elementwise("DIV", wide, divisor, "" if dtype == "FLOAT" else "divide"), dtype)


def _check_softmax(facts: Facts, node: oir.Node) -> None:
    rank = facts.rank(given(node, 0))
    if rank:
        axis_of(attr(node, "axis", -1), rank)


@operator("Softmax", check=_check_softmax)
def softmax(s: Scope, node: oir.Node) -> Any:
    """The layer wants rank 2 or more."""
    x = s.input(node, 0)
    rank = len(x.shape)
    if rank == 0:
        return s.elementwise("DIV", x, x)
    axis = axis_of(attr(node, "axis", -1), rank)
    if rank == 1:
        return s.squeeze(s.softmax(s.unsqueeze(x, [1]), 0), [1])
    return s.softmax(x, axis)


@operator("LogSoftmax", check=_check_softmax)
def log_softmax(s: Scope, node: oir.Node) -> Any:
    """x - max - log(sum(exp(x - max))): the logarithm of a softmax is -inf where the softmax underflows."""
    x = s.input(node, 0)
    axis = axis_of(attr(node, "axis", -1), len(x.shape))
    centred = s.elementwise("SUB", x, s.reduce("MAX", x, [axis], True, "max"), "centre")
    total = s.reduce("SUM", s.unary("EXP", centred, "exp"), [axis], True, "sum")
    return s.elementwise("SUB", centred, s.unary("LOG", total, "log"))


@operator("LpNormalization", check=_check_softmax)
def lp_normalization(s: Scope, node: oir.Node) -> Any:
    """x / norm, 0 where the norm is 0."""
    x = s.input(node, 0)
    dtype = s.type_of(x)
    axis = axis_of(attr(node, "axis", -1), len(x.shape))
    wide = s.in_f32(x)
    if attr(node, "p", 2) == 1:
        norm = s.reduce("SUM", s.unary("ABS", wide, "abs"), [axis], True, "sum")
    else:
        square = s.elementwise("PROD", wide, wide, "square")
        norm = s.unary("SQRT", s.reduce("SUM", square, [axis], True, "sum"), "norm")
    empty = s.elementwise("EQUAL", norm, s.scalar(0, norm), "is_zero")
    norm = s.select(empty, s.scalar(1, norm), norm, "divisor")
    return s.cast(s.elementwise("DIV", wide, norm, "" if dtype == "FLOAT" else "divide"), dtype)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(s: Scope, node: oir.Node) -> Any:
    """(x - mean) / (deviation + 1e-9), in float32."""
    x = s.input(node, 0)
    axes = [axis_of(a, len(x.shape)) for a in attr(node, "axes", (0, 2, 3))]
    wide = s.in_f32(x)
    centred = s.elementwise("SUB", wide, s.reduce("AVG", wide, axes, True, "mean"), "centre")
    variance = s.reduce("AVG", s.elementwise("PROD", centred, centred, "square"), axes, True, "variance")
    deviation = s.elementwise("SUM", s.unary("SQRT", variance, "sqrt"), s.scalar(1e-9, variance), "deviation")
    return s.cast(s.elementwise("DIV", centred, deviation, "divide"), s.type_of(x))
