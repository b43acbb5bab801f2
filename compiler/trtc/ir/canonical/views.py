"""Shape and data movement: attributes that became inputs, and Pad, Split, Tile, Slice, Scatter."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir.canonical.site import Site, restate


@restate("Reshape", until=4)
def reshape_shape(site: Site) -> None:
    """Opset 1: the shape as an attribute."""
    shape = site.take("shape")
    if shape is None:
        raise site.refusal("T0652", "Reshape of opset 1 needs its attribute `shape`")
    site.set_input(1, site.from_attr(shape, "shape"))


@restate("Squeeze", until=12)
def squeeze_axes(site: Site) -> None:
    """Opsets 1 to 12: the axes as an attribute; none means every dim of 1."""
    axes = site.take("axes")
    if axes is not None and (axes.is_ref() or axes.as_ints()):
        site.set_input(1, site.from_attr(axes, "axes"))


@restate("Unsqueeze", until=12)
def unsqueeze_axes(site: Site) -> None:
    """Opsets 1 to 12: the axes as an attribute."""
    axes = site.take("axes")
    assert axes is not None
    site.set_input(1, site.from_attr(axes, "axes"))


@restate("Concat", until=3)
def concat_axis(site: Site) -> None:
    """Opset 1: the axis is 1 when not given."""
    if not site.has("axis"):
        site.set("axis", 1)


@restate("Slice", until=9)
def slice_ranges(site: Site) -> None:
    """Opsets 1 to 9: starts, ends and axes as attributes."""
    for at, name in enumerate(("starts", "ends", "axes"), 1):
        attr = site.take(name)
        if attr is not None:
            site.set_input(at, site.from_attr(attr, name))


@restate("Split", until=1)
def split_axis(site: Site) -> None:
    """Opset 1: sizes may be an input of the dtype of the data."""
    sizes = site.input(1)
    if sizes is not None:
        site.set_input(1, site.op("Cast", sizes, to=int(oir.DataType.INT64)))


@restate("Split", until=12)
def split_sizes(site: Site) -> None:
    """Opsets 1 to 12: the sizes as an attribute."""
    sizes = site.take("split")
    if sizes is not None and site.input(1) is None:
        site.set_input(1, site.from_attr(sizes, "split"))


@restate("Split", until=17)
def split_count(site: Site) -> None:
    """Opsets 1 to 17: equal parts, as many as there are outputs, when no sizes are given."""
    if site.input(1) is None:
        site.set("num_outputs", len(site.node.outputs))


@restate("Pad", until=1)
def pad_paddings(site: Site) -> None:
    """Opset 1: the attribute was named otherwise."""
    attr = site.take("paddings")
    assert attr is not None
    if attr.is_ref():
        site.set("pads", oir.RefAttr("pads", attr.ref_attr_name or "", attr.type))
    else:
        site.set("pads", oir.AttrInt64s("pads", attr.as_ints()))


@restate("Pad", until=10)
def pad_inputs(site: Site) -> None:
    """Opsets 1 to 10: pads and value as attributes."""
    pads, value = site.take("pads"), site.take("value")
    assert pads is not None
    site.set_input(1, site.from_attr(pads, "pads"))
    mode = site.node.attributes.get("mode")
    constant = mode is None or mode.is_ref() or mode.value == "constant"
    if constant and value is not None and (value.is_ref() or value.as_float() != 0.0):
        site.set_input(2, site.from_attr(value, "value"))


@restate("Pad", until=10, facts=True)
def pad_value_dtype(site: Site) -> None:
    """Opsets 1 to 10: the value, a float attribute, is of the dtype of the data."""
    x, value = site.required(0), site.input(2)
    if value is None:
        return
    tensor = site.module.constant(value)
    dtype = site.dtype(x)
    if dtype == oir.DataType.FLOAT:
        return
    if dtype is None or tensor is None:
        site.set_input(2, site.op("CastLike", value, x))
        return
    site.set_input(2, site.constant(tensor.astype(dtype.numpy()), "value"))


@restate("Tile", until=5)
def tile_one_axis(site: Site) -> None:
    """Opset 1: one count for one axis; from 6 on a count for every axis."""
    x = site.required(0)
    count = site.op("Reshape", _whole(site, site.required(1)), site.ints([1], "one"))
    axis = site.op("Reshape", _whole(site, site.required(2)), site.ints([1, 1], "place"))
    rank = site.op("Shape", site.op("Shape", x))
    ones = site.op("ConstantOfShape", rank, value=oir.tensor(np.ones(1, dtype=np.int64)))
    site.become("Tile", x, site.op("ScatterND", ones, axis, count, reduction="none"))


def _whole(site: Site, value: oir.Value) -> oir.Value:
    return site.op("Cast", value, to=int(oir.DataType.INT64))


@restate("Scatter")
def scatter_elements(site: Site) -> None:
    """Opset 9; named ScatterElements from 11 on."""
    site.node.op_type = "ScatterElements"


@restate("SpaceToDepth", since=28)
def space_to_depth_columns(site: Site) -> None:
    """Opset 28: `CRD` orders the new channels column, row, depth: those of `DCR`, transposed."""
    mode = site.literal("mode", "DCR")
    site.take("mode")
    if mode == "DCR":
        return
    block = site.literal("blocksize")
    packed = site.op("SpaceToDepth", site.required(0), blocksize=block)
    shape = site.op("Shape", packed)
    batch = site.op("Shape", packed, end=1)
    image = site.op("Shape", packed, start=2)
    channels = site.op("Shape", site.required(0), start=1, end=2)
    blocks = site.ints([block * block], "blocks")
    apart = site.op("Reshape", packed, site.op("Concat", batch, blocks, channels, image, axis=0), allowzero=1)
    turned = site.op("Transpose", apart, perm=[0, 2, 1, 3, 4])
    site.become("Reshape", turned, shape, allowzero=1)
