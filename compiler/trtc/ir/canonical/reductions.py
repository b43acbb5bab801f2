"""Reductions and selections: axes and counts that became inputs, running products."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir.canonical.site import OPSET, Site, restate


def _axes(site: Site) -> None:
    axes = site.take("axes")
    if axes is not None and (axes.is_ref() or axes.as_ints()):
        site.set_input(1, site.from_attr(axes, "axes"))


@restate("ReduceSum", until=12)
def reduce_sum_axes(site: Site) -> None:
    """Opsets 1 to 12: the axes as an attribute; none means all."""
    _axes(site)


@restate(
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSumSquare"),
    until=17,
)
def reduce_axes(site: Site) -> None:
    """Opsets 1 to 17: the axes as an attribute; none means all."""
    _axes(site)


@restate("TopK", until=9)
def topk_count(site: Site) -> None:
    """Opset 1: k as an attribute; from 10 on a vector of one element."""
    k = site.take("k")
    assert k is not None
    if k.is_ref():
        site.set_input(1, site.op("Reshape", site.from_attr(k, "k"), site.ints([1], "one")))
    else:
        site.set_input(1, site.ints([k.as_int()], "k"))


@restate("CumProd", since=26, facts=True)
def running_product(site: Site) -> None:
    """Opset 26: a Scan along the axis, whose state is the product so far."""
    x = site.required(0)
    axis = site.module.constant(site.input(1))
    dtype, rank = site.dtype(x), site.rank(x)
    if axis is None or dtype is None or rank is None:
        raise site.refusal(
            "T0655",
            "CumProd (opset 26) is restated as a Scan, for which its axis must be constant and its rank and dtype known",
        )
    at = int(axis.reshape(-1)[0]) % rank
    exclusive = site.literal("exclusive", 0)
    reverse = site.literal("reverse", 0)
    before = oir.Value(name=site.module.unique("before"), type=oir.TensorType(dtype))
    item = oir.Value(name=site.module.unique("item"), type=oir.TensorType(dtype))
    product = oir.Node("", "Mul", [before, item], name=site.module.unique(f"{site.node.name}_Mul"), version=OPSET)
    shown = oir.Node(
        "", "Identity", [before if exclusive else product.outputs[0]], name=site.module.unique("shown"), version=OPSET
    )
    for node in (product, shown):
        node.outputs[0].name = site.module.unique(f"{node.name}_out")
        node.outputs[0].type = oir.TensorType(dtype)
    body = oir.Graph(
        [before, item], [product.outputs[0], shown.outputs[0]], nodes=[product, shown], name=site.module.unique("product")
    )
    shape = site.op("Shape", x)
    rest = [d for d in range(rank) if d != at]
    slice_shape = site.op("Gather", shape, site.ints(rest, "rest"), axis=0)
    ones = site.op("ConstantOfShape", slice_shape, value=oir.tensor(np.ones(1, dtype=dtype.numpy())))
    scanned = site.ops(
        "Scan",
        [ones, x],
        2,
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[at],
        scan_input_directions=[reverse],
        scan_output_axes=[at],
        scan_output_directions=[reverse],
    )
    site.become("Identity", scanned[1])
