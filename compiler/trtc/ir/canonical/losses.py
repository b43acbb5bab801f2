"""Losses: names for a pick of log-probabilities, weights and a mean."""

from __future__ import annotations

import onnx_ir as oir

from trtc.ir.canonical.site import Site, restate


@restate("NegativeLogLikelihoodLoss", facts=True)
def negative_log_likelihood(site: Site) -> None:
    _loss(site, site.required(0))


@restate("SoftmaxCrossEntropyLoss", facts=True)
def softmax_cross_entropy(site: Site) -> None:
    """Log-probabilities over axis 1, which are the second output, then the same loss of them."""
    probabilities = site.op("LogSoftmax", site.required(0), axis=1)
    if site.output_used(1):
        site.replace_output(1, probabilities)
    site.drop_outputs(1)
    _loss(site, probabilities)


def _loss(site: Site, x: oir.Value) -> None:
    """x (N, C, d…), target (N, d…), weights (C). Where the target is `ignore_index`, loss and weight are zero; the
    mean is over the weights."""
    target, weights = site.required(1), site.input(2)
    reduction = site.literal("reduction", "mean")
    ignored = site.literal("ignore_index")
    one = site.ints([1], "classes")
    hidden = zero = None
    if ignored is not None:
        hidden = site.op("Equal", target, site.like(ignored, target, "ignore_index"))
        target = site.op("Where", hidden, site.like(0, target, "any_class"), target)
        zero = site.like(0, x, "zero")
    picked = site.op("GatherElements", x, site.op("Unsqueeze", target, one), axis=1)
    loss = site.op("Neg", site.op("Squeeze", picked, one))
    share = None if weights is None else site.op("Gather", weights, target, axis=0)
    if hidden is not None:
        share = site.op("Where", hidden, zero, site.like(1, x, "one") if share is None else share)
    if share is not None:
        loss = site.op("Mul", loss, share)
    if hidden is not None:  # an infinite loss times a weight of zero
        loss = site.op("Where", hidden, zero, loss)
    if reduction == "none":
        site.become("Identity", loss)
    elif reduction == "sum":
        site.become("ReduceSum", loss, keepdims=0)
    elif share is None:
        site.become("ReduceMean", loss, keepdims=0)
    else:
        total = site.op("ReduceSum", loss, keepdims=0)
        site.become("Div", total, site.op("ReduceSum", share, keepdims=0))
