"""Poolings with dilation, which TensorRT's have not: one strided slice for each place of the window."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.convolution import paddings, spatial_rank, window
from trtc.emit.facts import Facts, attr, given, refuse
from trtc.emit.scope import Scope


def dilated(facts: Facts, node: oir.Node) -> bool:
    return any(d != 1 for d in window(node, "dilations", spatial_rank(facts, node), 1))


def check(facts: Facts, node: oir.Node) -> None:
    if attr(node, "auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        refuse("dilation with auto_pad", "give the pads as numbers")
    sizes = facts.shape(given(node, 0))[2:]
    if node.op_type != "MaxPool" and not all(isinstance(size, int) for size in sizes):
        refuse("dilation, and a size that is not known when the network is built")


def pool(s: Scope, node: oir.Node, x: Any, op: str) -> Any:
    """Axis by axis: the maximum or sum of k slices, each as large as the output; outside is -inf, or zero."""
    spatial = spatial_rank(s, node)
    kernel = window(node, "kernel_shape", spatial, 1)
    steps = window(node, "strides", spatial, 1)
    apart = window(node, "dilations", spatial, 1)
    begin, _ = paddings(node, spatial)
    dtype = s.type_of(x)
    if op == "AVERAGE":
        x = s.in_f32(x)
    out = s.shape(node.outputs[0])[2:]
    fill = s.constant(-np.inf, dtype, "outside", ()) if op == "MAX" else None
    join = "MAX" if op == "MAX" else "SUM"
    for axis in range(spatial):
        parts = [
            s.slice(
                x,
                {axis + 2: (at * apart[axis] - begin[axis], out[axis], steps[axis])},
                f"axis{axis}/place{at}",
                mode="FILL",
                fill=fill,
            )
            for at in range(kernel[axis])
        ]
        x = parts[0]
        for part in parts[1:]:
            x = s.elementwise(join, x, part, f"axis{axis}/{join.lower()}")
    if op == "MAX":
        return x
    return s.cast(s.elementwise("DIV", x, _counts(s, node, x), "average"), dtype)


def _counts(s: Scope, node: oir.Node, like: Any) -> Any:
    """How many places of each window count: all but those outside, or outside of the padding."""
    spatial = spatial_rank(s, node)
    kernel = window(node, "kernel_shape", spatial, 1)
    steps = window(node, "strides", spatial, 1)
    apart = window(node, "dilations", spatial, 1)
    begin, end = paddings(node, spatial)
    include = bool(attr(node, "count_include_pad", 0))
    counts = np.ones((1,) * (spatial + 2))
    sizes, outs = s.shape(given(node, 0))[2:], s.shape(node.outputs[0])[2:]
    for axis, (size, out) in enumerate(zip(sizes, outs, strict=True)):
        assert isinstance(size, int)  # `check` asked for it
        assert isinstance(out, int)
        places = np.arange(out)[:, None] * steps[axis] + np.arange(kernel[axis]) * apart[axis] - begin[axis]
        low, high = (-begin[axis], size + end[axis]) if include else (0, size)
        count = ((places >= low) & (places < high)).sum(axis=1)
        counts = counts * count.reshape((-1,) + (1,) * (spatial - 1 - axis))
    return s.constant(counts, s.type_of(like), "counts")
