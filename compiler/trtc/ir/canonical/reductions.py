"""Reductions and selections: axes and counts that became inputs, running products."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir import edit
from trtc.ir.canonical.site import OPSET, RULE, Site, restate


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


@restate("CumProd", since=26)
def running_product(site: Site) -> None:
    """Opset 26: a Scan whose state is the product so far, over the axis as the middle one of three."""
    x, axis = site.required(0), site.required(1)
    exclusive, reverse = site.literal("exclusive", 0), site.literal("reverse", 0)
    shape = site.op("Shape", x)
    one, zero = site.ints([1], "one"), site.ints([0], "zero")
    at = site.op("Cast", site.op("Reshape", axis, one), to=int(oir.DataType.INT64))
    # The remainder has the sign of the rank: an axis counted from the end is counted from the front.
    at = site.op("Mod", at, site.op("Shape", shape), fmod=0)
    behind = site.op("Add", at, one)
    parts = [
        site.op("Slice", shape, zero, at, zero),
        site.op("Slice", shape, at, behind, zero),
        site.op("Slice", shape, behind, site.ints([2**62], "end"), zero),
    ]
    # The leading one keeps a product of no dims from being one over nothing.
    sizes = [site.op("ReduceProd", site.op("Concat", one, part, axis=0), zero, keepdims=1) for part in parts]
    folded = site.op("Reshape", x, site.op("Concat", *sizes, axis=0), allowzero=1)
    ones = site.op(
        "CastLike",
        site.op(
            "ConstantOfShape",
            site.op("Concat", sizes[0], sizes[2], axis=0),
            value=oir.tensor(np.ones(1, dtype=np.float32)),
        ),
        x,
    )
    scanned = site.ops(
        "Scan",
        [ones, folded],
        2,
        body=_product(site, exclusive=bool(exclusive)),
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[reverse],
        scan_output_axes=[1],
        scan_output_directions=[reverse],
    )
    site.become("Reshape", scanned[1], shape, allowzero=1)


def _product(site: Site, *, exclusive: bool) -> oir.Graph:
    """(product before, item) -> (product, the one to show)."""
    unique = site.module.unique
    before, item = (oir.Value(name=unique(f"{site.node.name}_{name}")) for name in ("before", "item"))
    product = edit.node(site.module, "Mul", [before, item], origins=[site.node], rule=RULE)
    shown = edit.node(
        site.module, "Identity", [before if exclusive else product.outputs[0]], origins=[site.node], rule=RULE
    )
    product.version = shown.version = OPSET
    return oir.Graph(
        [before, item],
        [product.outputs[0], shown.outputs[0]],
        nodes=[product, shown],
        name=unique(f"{site.node.name}_product"),
    )
