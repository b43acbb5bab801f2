"""Operators on images: Resize, GridSample, AffineGrid, ImageDecoder."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.fact import Fact
from trtc.ir.infer.layout import as_dim
from trtc.ir.infer.op import Op, Shape, rule, show_shape


@rule("Resize", "Upsample")
def resize(op: Op) -> Fact:
    x, dtype = op.shape(0), op.dtype(0)
    if x is None:
        return Fact(dtype)
    axes = [op.normal(axis, len(x)) or 0 for axis in (op.ints("axes") or range(len(x)))]
    out: list[Dim] = list(x)
    if op.node.op_type == "Resize" and op.has(3):
        sizes = op.elements(3)
        policy = op.str("keep_aspect_ratio_policy", "stretch")
        if sizes is not None and len(sizes) != len(axes):
            op.fail("T0619", f"{op.label} has {len(sizes)} sizes for {len(axes)} axes", f"input {show_shape(x)}")
        for at, axis in enumerate(axes):
            out[axis] = op.unknown(axis) if sizes is None or policy != "stretch" else as_dim(sizes[at])
        if policy != "stretch" and sizes is not None:
            _keep_ratio(x, out, axes, sizes, policy)
        return Fact(dtype, tuple(out))
    at = 1 if op.node.op_type == "Upsample" else 2
    scales, real = op.array(at), op.fact(at).real
    if op.str("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        scales = real = None
    if scales is not None and scales.size != len(axes):
        op.fail("T0619", f"{op.label} has {scales.size} scales for {len(axes)} axes", f"input {show_shape(x)}")
    for at, axis in enumerate(axes):
        size = x[axis]
        if scales is not None and isinstance(size, int):
            # ONNX Runtime and the reference multiply in float32 and cut.
            # The product of two float32 is exact in double.
            out[axis] = math.floor(np.float32(float(np.float32(size)) * float(scales[at])))
        elif scales is not None and scales[at] == 1:
            out[axis] = size
        elif real is not None and at < len(real):
            top, bottom = real[at]
            out[axis] = dims.floordiv(size * top, bottom) if bottom & (bottom - 1) == 0 else op.unknown(axis)
        else:
            out[axis] = op.unknown(axis)
    return Fact(dtype, tuple(out))


def _keep_ratio(x: Shape, out: list[Dim], axes: list[int], sizes: Shape, policy: str) -> None:
    """Resize by one scale: the least (`not_larger`) or the greatest of those that the sizes ask for."""
    pairs = [(x[axis], size) for axis, size in zip(axes, sizes, strict=True)]
    known = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int) and a > 0]
    if len(known) != len(pairs) or not known:
        return
    scale = (min if policy == "not_larger" else max)(b / a for a, b in known)
    for axis, (size, _) in zip(axes, known, strict=True):
        out[axis] = math.floor(size * scale + 0.5)


@rule("GridSample", inputs=2)
def grid_sample(op: Op) -> Fact:
    """x [N, C, *D] at grid [N, *out, rank]."""
    x, grid = op.shape(0), op.shape(1)
    if x is None or grid is None:
        return Fact(op.dtype(0))
    if len(x) != len(grid):
        op.fail("T0617", f"input and grid of {op.label} differ in rank", f"{show_shape(x)} and {show_shape(grid)}")
    return Fact(op.dtype(0), (*x[:2], *grid[1:-1]))


@rule("AffineGrid", inputs=2)
def affine_grid(op: Op) -> Fact:
    size = op.elements(1)
    if size is None:
        return Fact(op.dtype(0))
    return Fact(op.dtype(0), (as_dim(size[0]), *(as_dim(d) for d in size[2:]), len(size) - 2))


@rule("ImageDecoder")
def image_decoder(op: Op) -> Fact:
    channels = 1 if op.str("pixel_format", "RGB") == "Grayscale" else 3
    return Fact(oir.DataType.UINT8, (op.unknown(0), op.unknown(1), channels))
