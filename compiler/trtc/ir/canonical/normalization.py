"""Normalization and Dropout: statistics per activation or per batch, scales per group, test modes."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir.canonical.site import Site, restate


@restate("BatchNormalization", until=13)
def batch_test_mode(site: Site) -> None:
    """Opsets 1 to 13: inference when Y is the only output that is used."""
    site.take("is_test")
    if any(site.output_used(at) for at in range(1, len(site.node.outputs))):
        raise site.refusal(
            "T0656",
            f"BatchNormalization (opset {site.opset}) trains: its mean and variance outputs are used",
            help="export the model for inference",
        )
    site.drop_outputs(1)


@restate("BatchNormalization", until=8)
def batch_per_activation(site: Site) -> None:
    """Opsets 1 to 8: with `spatial = 0` every activation has its own statistics, of shape (C, D1, …, Dn)."""
    spatial = site.literal("spatial", 1)
    site.take("spatial")
    if spatial:
        return
    x, scale, bias, mean, var = (site.required(at) for at in range(5))
    _normalize(site, x, scale, bias, mean, var)


def _normalize(site: Site, x: oir.Value, scale: oir.Value, bias: oir.Value, mean: oir.Value, var: oir.Value) -> None:
    epsilon = site.literal("epsilon", 1e-5)
    small = site.op("CastLike", site.constant(np.array(epsilon, dtype=np.float32), "epsilon"), var)
    deviation = site.op("Sqrt", site.op("Add", var, small))
    centred = site.op("Div", site.op("Sub", x, mean), deviation)
    site.become("Add", site.op("Mul", centred, scale), bias)


@restate("BatchNormalization", since=14)
def batch_training(site: Site) -> None:
    """`training_mode = 1`: normalized by the statistics of this batch, which the running ones follow.

    running = given · momentum + batch · (1 - momentum), with the population variance.
    """
    if not site.literal("training_mode", 0):
        site.drop_outputs(1) if not any(site.output_used(at) for at in (1, 2)) else None
        return
    x, scale, bias, mean, var = (site.required(at) for at in range(5))
    momentum = site.literal("momentum", 0.9)
    # The reduced axes are all but 1, whatever the rank.
    rank = site.op("Squeeze", site.op("Shape", site.op("Shape", x)))
    later = site.op(
        "Range",
        site.constant(np.array(2, dtype=np.int64), "two"),
        site.op("Max", rank, site.constant(np.array(2, dtype=np.int64), "least")),
        site.constant(np.array(1, dtype=np.int64), "step"),
    )
    axes = site.op("Concat", site.ints([0], "batch"), later, axis=0)
    batch_mean = site.op("ReduceMean", x, axes, keepdims=1)
    centred = site.op("Sub", x, batch_mean)
    batch_var = site.op("ReduceMean", site.op("Mul", centred, centred), axes, keepdims=1)
    vector = site.ints([-1], "vector")
    for at, given, now in ((1, mean, batch_mean), (2, var, batch_var)):
        if site.output_used(at):
            flat = site.op("CastLike", site.op("Reshape", now, vector), given)
            kept = site.op("Mul", given, _scalar(site, momentum, given))
            fresh = site.op("Mul", flat, _scalar(site, 1.0 - momentum, given))
            site.replace_output(at, site.op("Add", kept, fresh))
    site.drop_outputs(1)
    shape = site.op("Shape", batch_mean)
    wide_scale = site.op("Reshape", site.op("CastLike", scale, x), shape)
    wide_bias = site.op("Reshape", site.op("CastLike", bias, x), shape)
    _normalize(site, x, wide_scale, wide_bias, batch_mean, batch_var)


def _scalar(site: Site, number: float, target: oir.Value) -> oir.Value:
    return site.op("CastLike", site.constant(np.array(number, dtype=np.float32), "momentum"), target)


@restate("GroupNormalization", until=20, facts=True)
def group_scale(site: Site) -> None:
    """Opsets 18 to 20: scale and bias per group; from 21 on per channel."""
    groups = site.literal("num_groups")
    x = site.required(0)
    shape = site.shape(x)
    channels = shape[1] if shape is not None and len(shape) > 1 else None
    for at, name in ((1, "scale"), (2, "bias")):
        value = site.required(at)
        tensor = site.module.constant(value)
        if tensor is not None and isinstance(channels, int):
            site.set_input(at, site.constant(np.repeat(tensor, channels // groups), name))
            continue
        if isinstance(channels, int):
            target = site.ints([groups, channels // groups], f"{name}_shape")
        else:
            total = site.op("Shape", x, start=1, end=2)
            number = site.ints([groups], f"{name}_groups")
            target = site.op("Concat", number, site.op("Div", total, number), axis=0)
        column = site.op("Unsqueeze", value, site.ints([1], f"{name}_axis"))
        spread = site.op("Expand", column, target)
        site.set_input(at, site.op("Reshape", spread, site.ints([-1], f"{name}_flat")))


@restate("Dropout", until=6)
def dropout_test_mode(site: Site) -> None:
    """Opsets 1 to 6: a compiled model is in test mode."""
    site.take("is_test")


@restate("Dropout", until=11, facts=True)
def dropout_inputs(site: Site) -> None:
    """Opsets 1 to 11: the ratio as an attribute; a mask that ONNX Runtime fills with zeros, from 10 on of bool."""
    ratio = site.take("ratio")
    if ratio is None:
        ratio = oir.AttrFloat32("ratio", 0.5)
    x = site.required(0)
    if site.output_used(1):
        zeros = site.op("ConstantOfShape", site.op("Shape", x), value=oir.tensor(np.zeros(1, dtype=np.bool_)))
        site.replace_output(1, zeros if site.opset >= 10 else site.op("CastLike", zeros, x))
    site.drop_outputs(1)
    site.set_input(1, site.from_attr(ratio, "ratio"))
