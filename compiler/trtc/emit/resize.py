"""Resize and GridSample."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, input_at, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.emit.shaping import Unknown

_MODES = {"nearest": "NEAREST", "linear": "LINEAR", "cubic": "CUBIC"}
_COORDINATES = {
    "half_pixel": "HALF_PIXEL",
    "half_pixel_symmetric": "HALF_PIXEL",
    "pytorch_half_pixel": "HALF_PIXEL",
    "asymmetric": "ASYMMETRIC",
    "align_corners": "ALIGN_CORNERS",
}
_ROUND = {
    "round_prefer_floor": "HALF_DOWN",
    "round_prefer_ceil": "HALF_UP",
    "floor": "FLOOR",
    "ceil": "CEIL",
}


def _scales(facts: Facts, node: oir.Node) -> tuple[float, ...] | None:
    """One scale per dim when the node gives constant scales."""
    value = input_at(node, 2)
    array = facts.array(value)
    if array is None or array.size == 0:
        return None
    rank = facts.rank(given(node, 0))
    axes = attr(node, "axes")
    if not axes:
        return tuple(float(v) for v in array.reshape(-1))
    scales = [1.0] * rank
    for axis, scale in zip(axes, array.reshape(-1), strict=True):
        scales[axis_of(int(axis), rank)] = float(scale)
    return tuple(scales)


def _resized(facts: Facts, node: oir.Node) -> list[int]:
    """The axes that change, or may."""
    scales = _scales(facts, node)
    if scales is not None:
        return [at for at, scale in enumerate(scales) if scale != 1.0]
    have, want = facts.shape(given(node, 0)), facts.shape(node.outputs[0])
    return [at for at, (h, w) in enumerate(zip(have, want, strict=True)) if not (h is w or h == w)]


def _check(facts: Facts, node: oir.Node) -> None:
    mode = attr(node, "mode", "nearest")
    coordinates = attr(node, "coordinate_transformation_mode", "half_pixel")
    if coordinates not in _COORDINATES:
        refuse(f"coordinate_transformation_mode={coordinates}")
    if attr(node, "antialias", 0):
        refuse("antialias=1")
    scales = _scales(facts, node)
    scales_value, sizes_value = input_at(node, 2), input_at(node, 3)
    if scales is None and sizes_value is None and scales_value is not None:
        refuse("scales that are computed at run time", "give constant scales, or sizes")
    if scales is None and attr(node, "keep_aspect_ratio_policy", "stretch") != "stretch":
        refuse(f"keep_aspect_ratio_policy={attr(node, 'keep_aspect_ratio_policy')}", "give the resulting sizes")
    if coordinates == "half_pixel_symmetric" and scales is not None:
        have = facts.static(given(node, 0))
        if have is None or any(not float(h * scale).is_integer() for h, scale in zip(have, scales, strict=True)):
            refuse("coordinate_transformation_mode=half_pixel_symmetric where the sizes are not whole numbers")
    dtype = facts.dtype(given(node, 0))
    if mode != "nearest" and dtype.is_integer():
        refuse(f"mode {mode} on {dtype.name.lower()}", "cast to float32 before")
    rank = facts.rank(given(node, 0))
    axes = _resized(facts, node)
    if mode == "linear" and any(axis < rank - 3 for axis in axes):
        refuse("linear resizing of other than the last three dims", "transpose before and after")
    if mode == "cubic" and any(axis < rank - 2 for axis in axes):
        refuse("cubic resizing of other than the last two dims", "transpose before and after")
    if rank == 0:
        refuse("an input of rank 0")


@operator("Resize", types="FI", check=_check)
def resize(s: Scope, node: oir.Node) -> Any:
    """With the scales where the node gives scales: the coordinates depend on the scale given, not on the ratio."""
    value = given(node, 0)
    x = s.tensor(value)
    dtype = s.type_of(x)
    integer = dtype in ("INT32", "INT64")
    if integer:
        x = s.cast(x, "FLOAT", "float")
    mode = attr(node, "mode", "nearest")
    coordinates = attr(node, "coordinate_transformation_mode", "half_pixel")
    trt = s.trt
    upper = coordinates == "pytorch_half_pixel"
    properties: dict[str, Any] = {
        "resize_mode": getattr(trt.InterpolationMode, _MODES[mode]),
        "coordinate_transformation": getattr(trt.ResizeCoordinateTransformation, _COORDINATES[coordinates]),
        "selector_for_single_pixel": trt.ResizeSelector.UPPER if upper else trt.ResizeSelector.FORMULA,
    }
    if mode == "nearest":
        rounding = _ROUND[attr(node, "nearest_mode", "round_prefer_floor")]
        properties["nearest_rounding"] = getattr(trt.ResizeRoundMode, rounding)
    else:
        properties["exclude_outside"] = bool(attr(node, "exclude_outside", 0))
    if mode == "cubic":
        properties["cubic_coeff"] = float(attr(node, "cubic_coeff_a", -0.75))
    inputs: dict[int, Any] = {}
    scales = _scales(s, node)
    if scales is not None:
        properties["scales"] = scales
    else:
        want = s.shape(node.outputs[0])
        if all(isinstance(d, int) for d in want):
            properties["shape"] = tuple(want)
        else:
            inputs[1] = _sizes(s, node, x)
    y = s.add(s.net.add_resize(x), "resize" if integer else "", inputs, **properties)
    return s.cast(y, dtype, "integer")


def _sizes(s: Scope, node: oir.Node, x: Any) -> Any:
    """The sizes as a shape tensor of full length."""
    try:
        return s.dims(s.shape(node.outputs[0]), "size")
    except Unknown:
        pass
    sizes = s.cast(s.tensor(given(node, 3)), s.caps.shape_dtype)
    axes = attr(node, "axes")
    if not axes:
        return sizes
    rank = len(x.shape)
    where = {axis_of(int(axis), rank): at for at, axis in enumerate(axes)}
    parts = [
        s.add(s.net.add_slice(sizes, (where[a],), (1,), (1,)), "size") if a in where else s.dim_of(x, a)
        for a in range(rank)
    ]
    return s.concat(parts, 0, "sizes")


_SAMPLING = {
    "linear": "LINEAR",
    "bilinear": "LINEAR",
    "nearest": "NEAREST",
    "cubic": "CUBIC",
    "bicubic": "CUBIC",
}
_OUTSIDE = {"zeros": "FILL", "border": "CLAMP", "reflection": "REFLECT"}


def _check_grid(facts: Facts, node: oir.Node) -> None:
    rank = facts.rank(given(node, 0))
    if rank not in (4, 5) or (rank == 5 and not facts.caps.grid_sample_3d):
        refuse(f"an input of rank {rank}")
    if rank == 5 and attr(node, "mode", "linear") in ("cubic", "bicubic"):
        refuse("cubic sampling in three dims")


@operator("GridSample", typed=(0, 1), check=_check_grid)
def grid_sample(s: Scope, node: oir.Node) -> Any:
    """Input and grid have one type."""
    x = s.input(node, 0)
    grid = s.cast(s.input(node, 1), s.type_of(x), "grid")
    return s.add(
        s.net.add_grid_sample(x, grid),
        "",
        interpolation_mode=getattr(s.trt.InterpolationMode, _SAMPLING[attr(node, "mode", "linear")]),
        align_corners=bool(attr(node, "align_corners", 0)),
        sample_mode=getattr(s.trt.SampleMode, _OUTSIDE[attr(node, "padding_mode", "zeros")]),
    )
