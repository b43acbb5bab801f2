"""Resizing and sampling: Upsample and the older forms of Resize, names of modes, the half pixel of RoiAlign."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir.canonical.site import Site, restate

#: How nearest rounds in opset 10 and before: down where an axis grows, up where it shrinks (as ONNX Runtime does).
_GROWING, _SHRINKING = "floor", "ceil"


@restate("Upsample", until=6)
def upsample_height_width(site: Site) -> None:
    """Opset 1: the two scales of an image as attributes; linear was named bilinear."""
    height, width = site.literal("height_scale"), site.literal("width_scale")
    mode = site.literal("mode", "nearest")
    scales = site.constant(np.array([1.0, 1.0, height, width], dtype=np.float32), "scales")
    _asymmetric(site, "linear" if mode == "bilinear" else mode, scales)


@restate("Upsample", since=7, until=8)
def upsample_attribute(site: Site) -> None:
    """Opset 7: the scales as an attribute."""
    scales = site.take("scales")
    assert scales is not None
    _asymmetric(site, _mode(site), site.from_attr(scales, "scales"))


@restate("Upsample", since=9)
def upsample_input(site: Site) -> None:
    """Opset 9: the scales as an input. Deprecated from 10 on."""
    _asymmetric(site, _mode(site), site.required(1))


@restate("Resize", until=10)
def resize_asymmetric(site: Site) -> None:
    """Opset 10: coordinates are those of `asymmetric`."""
    _asymmetric(site, _mode(site), site.required(1))


def _mode(site: Site) -> str:
    mode = site.literal("mode", "nearest")
    return "linear" if mode in ("linear", "bilinear") else str(mode)


def _asymmetric(site: Site, mode: str, scales: oir.Value) -> None:
    """Resize as it was before opset 11; nearest in two steps, of growth and of shrinking, where there may be both."""
    x = site.required(0)
    common = {"mode": mode, "coordinate_transformation_mode": "asymmetric"}
    if mode != "nearest":
        site.become("Resize", x, None, scales, **common)
        return
    known = site.module.constant(scales)
    if known is not None and (known >= 1).all():
        site.become("Resize", x, None, scales, nearest_mode=_GROWING, **common)
    elif known is not None and (known <= 1).all():
        site.become("Resize", x, None, scales, nearest_mode=_SHRINKING, **common)
    else:
        one = site.constant(np.array(1.0, dtype=np.float32), "one")
        up, down = site.op("Max", scales, one), site.op("Min", scales, one)
        grown = site.op("Resize", x, None, up, nearest_mode=_GROWING, **common)
        site.become("Resize", grown, None, down, nearest_mode=_SHRINKING, **common)


#: `tf_half_pixel_for_nn` reads half a pixel further on than `half_pixel`; rounding that undoes it, by nearest_mode.
_HALF_PIXEL_ROUNDING = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}


@restate("Resize", since=11, until=12)
def resize_tensorflow_nearest(site: Site) -> None:
    """Opsets 11 and 12 have a coordinate mode that later ones lack."""
    if site.literal("coordinate_transformation_mode", "half_pixel") != "tf_half_pixel_for_nn":
        return
    rounding = _HALF_PIXEL_ROUNDING.get(site.literal("nearest_mode", "round_prefer_floor"))
    if site.literal("mode", "nearest") != "nearest" or rounding is None:
        raise site.refusal(
            "T0657",
            f"Resize (opset {site.opset}) with coordinate mode tf_half_pixel_for_nn has no form at opset 23 in this "
            "mode or rounding",
        )
    site.set("coordinate_transformation_mode", "half_pixel")
    site.set("nearest_mode", rounding)


@restate("Resize", since=11)
def resize_empty_inputs(site: Site) -> None:
    """A region is read by tf_crop_and_resize only; scales or sizes without elements mean that they are not given."""
    crop = site.node.attributes.get("coordinate_transformation_mode")
    if crop is None or (not crop.is_ref() and crop.value != "tf_crop_and_resize"):
        site.set_input(1, None)
    for at in (2, 3):
        tensor = site.module.constant(site.input(at)) if site.input(at) is not None else None
        if tensor is not None and tensor.size == 0:
            site.set_input(at, None)
    if site.input(2) is not None and site.input(3) is not None:
        # Before opset 13 scales could not be omitted; without elements at run time they give way to the sizes.
        site.set_input(2, None)


@restate("GridSample", until=19)
def grid_sample_names(site: Site) -> None:
    """Opset 20 renames the modes, now that the data may have any rank."""
    mode = site.node.attributes.get("mode")
    if mode is None:
        site.set("mode", "linear")
    elif not mode.is_ref():
        site.set("mode", {"bilinear": "linear", "bicubic": "cubic"}.get(mode.as_string(), mode.as_string()))
    else:
        site.literal("mode")


@restate("RoiAlign", until=15)
def roi_align_half_pixel(site: Site) -> None:
    """Opset 10 does not shift by half a pixel, which became the default at 16."""
    site.set("coordinate_transformation_mode", "output_half_pixel")


@restate("DFT", until=19)
def dft_axis(site: Site) -> None:
    """Opset 17: the axis as an attribute, 1 when not given."""
    axis = site.take("axis")
    site.set_input(2, site.from_attr(axis if axis is not None else oir.AttrInt64("axis", 1), "axis"))
