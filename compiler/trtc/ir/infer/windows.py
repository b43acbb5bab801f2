"""Sliding windows: convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.fact import Fact
from trtc.ir.infer.op import Op, Shape, rule, show_shape, static


class Window:
    """Kernel, strides, dilations and pads of a node over `rank` spatial axes, checked for their counts."""

    __slots__ = ("auto_pad", "dilations", "kernel", "pads", "strides")

    def __init__(self, op: Op, rank: int, kernel: Sequence[Dim]) -> None:
        self.kernel = tuple(kernel)
        self.strides = _attribute(op, "strides", rank, 1)
        self.dilations = _attribute(op, "dilations", rank, 1)
        self.pads = _attribute(op, "pads", 2 * rank, 0)
        self.auto_pad: str = op.str("auto_pad", "NOTSET")
        if len(self.kernel) != rank:
            op.fail("T0622", f"kernel_shape of {op.label} has {len(self.kernel)} numbers", f"expected {rank}")
        if any(s < 1 for s in (*self.strides, *self.dilations)):
            op.fail("T0622", f"strides and dilations of {op.label} must be at least 1")

    def output(self, op: Op, spatial: Shape, *, ceil: bool = False) -> Shape:
        """The spatial dims of the result (ONNX operator specification, Conv and MaxPool). T0621 when one is empty."""
        out: list[Dim] = []
        for at, (size, kernel) in enumerate(zip(spatial, self.kernel, strict=True)):
            stride, begin, end = self.strides[at], self.pads[at], self.pads[at + len(spatial)]
            extent = (kernel - 1) * self.dilations[at] + 1
            if self.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
                out.append(dims.ceildiv(size, stride))
                continue
            if self.auto_pad == "VALID":
                begin = end = 0
            room = size + begin + end - extent
            if ceil:
                # The last window must start inside of the input or the padding before it.
                made = dims.minimum(dims.ceildiv(room, stride) + 1, dims.ceildiv(size + begin, stride))
            else:
                made = room // stride + 1
            if isinstance(made, int) and made < 1 and size != 0:
                op.fail(
                    "T0621",
                    f"the window of {op.label} is larger than its input",
                    f"spatial axis {at}: {dims.text(size)} + pads {begin} and {end} is less than {dims.text(extent)}",
                )
            out.append(made)
        return tuple(out)


def _attribute(op: Op, name: str, count: int, default: int) -> tuple[int, ...]:
    found = op.ints(name)
    if not found:
        return (default,) * count
    if len(found) != count:
        op.fail("T0622", f"`{name}` of {op.label} has {len(found)} numbers", f"expected {count}")
    return found


# Convolutions


def convolved(op: Op, dtype: oir.DataType | None, data: int = 0, weight: int = 1) -> Fact:
    """A Conv of the inputs at `data` [N, C, *D] and `weight` [M, C/group, *K]."""
    x, w, group = op.shape(data), op.shape(weight), op.int("group", 1)
    op.rank(data, 3)
    if x is None:
        rank = None if w is None else len(w)
        return Fact(dtype, None if rank is None or w is None else (op.unknown(0), w[0], *op.unknowns(rank)[2:]))
    rank = len(x) - 2
    if w is not None and len(w) != len(x):
        op.fail("T0614", f"input and kernel of {op.label} differ in rank", f"{show_shape(x)} and {show_shape(w)}")
    kernel = op.ints("kernel_shape") or (None if w is None else w[2:])
    if kernel is None:
        return Fact(dtype, (x[0], *op.unknowns(len(x))[1:]))
    if w is not None:
        _check_channels(op, x, w, group)
        if op.ints("kernel_shape") and static(w[2:]) and tuple(kernel) != w[2:]:
            op.fail("T0614", f"kernel_shape of {op.label} is {list(kernel)}", f"its weights are {show_shape(w)}")
    return Fact(dtype, (x[0], op.unknown(1) if w is None else w[0], *Window(op, rank, kernel).output(op, x[2:])))


def _check_channels(op: Op, x: Shape, w: Shape, group: int) -> None:
    channels, per_group, filters = x[1], w[1], w[0]
    if isinstance(channels, int) and isinstance(per_group, int) and channels != per_group * group:
        op.fail(
            "T0614",
            f"{op.label} gets {channels} channels, its weights take {per_group * group}",
            f"input {show_shape(x)}, weights {show_shape(w)}, group {group}",
        )
    if isinstance(filters, int) and (group < 1 or filters % group):
        op.fail("T0614", f"{filters} filters of {op.label} do not divide into {group} groups")


@rule("Conv", inputs=2)
def conv(op: Op) -> Fact:
    return convolved(op, op.same_dtype())


@rule("ConvInteger", inputs=2)
def conv_integer(op: Op) -> Fact:
    return convolved(op, oir.DataType.INT32)


@rule("QLinearConv", inputs=8)
def qlinear_conv(op: Op) -> Fact:
    return convolved(op, op.dtype(7), 0, 3)


@rule("DeformConv", inputs=3)
def deform_conv(op: Op) -> Fact:
    return convolved(op, op.same_dtype())


@rule("ConvTranspose", inputs=2)
def conv_transpose(op: Op) -> Fact:
    """x [N, C, *D], w [C, M/group, *K]: stride*(D-1) + output_padding + dilated kernel - pads."""
    dtype, x, w, group = op.same_dtype(), op.shape(0), op.shape(1), op.int("group", 1)
    op.rank(0, 3)
    if x is None:
        return Fact(dtype)
    rank = len(x) - 2
    if w is not None and len(w) != len(x):
        op.fail("T0614", f"input and kernel of {op.label} differ in rank", f"{show_shape(x)} and {show_shape(w)}")
    if w is not None and isinstance(x[1], int) and isinstance(w[0], int) and x[1] != w[0]:
        op.fail("T0614", f"{op.label} gets {x[1]} channels, its weights take {w[0]}")
    kernel = op.ints("kernel_shape") or (None if w is None else w[2:])
    channels = op.unknown(1) if w is None else w[1] * group
    if kernel is None:
        return Fact(dtype, (x[0], channels, *op.unknowns(len(x))[2:]))
    window = Window(op, rank, kernel)
    wanted = op.ints("output_shape")
    if wanted:
        return Fact(dtype, (x[0], channels, *wanted[-rank:]))
    extra = _attribute(op, "output_padding", rank, 0)
    out: list[Dim] = []
    for at, size in enumerate(x[2:]):
        if window.auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            out.append(size * window.strides[at])
            continue
        pads = 0 if window.auto_pad == "VALID" else window.pads[at] + window.pads[at + rank]
        extent = (window.kernel[at] - 1) * window.dilations[at] + 1
        out.append((size - 1) * window.strides[at] + extra[at] + extent - pads)
    return Fact(dtype, (x[0], channels, *out))


@rule("Col2Im", inputs=3)
def col2im(op: Op) -> Fact:
    """x [N, C*prod(block), L] to [N, C, *image]."""
    x, image, block = op.shape(0), op.elements(1), op.elements(2)
    if x is None or image is None:
        return Fact(op.dtype(0))
    channels = op.unknown(1) if block is None else x[1] // dims.product(block)
    return Fact(op.dtype(0), (x[0], channels, *image))


# Pools


@rule("MaxPool", "AveragePool", "LpPool")
def pool(op: Op) -> list[Fact]:
    x, dtype = op.shape(0), op.dtype(0)
    kernel = op.ints("kernel_shape")
    if not kernel:
        op.fail("T0618", f"{op.label} has no `kernel_shape`", "attribute `kernel_shape` is required")
    op.rank(0, 3)
    shape = None
    if x is not None:
        window = Window(op, len(x) - 2, kernel)
        shape = (*x[:2], *window.output(op, x[2:], ceil=bool(op.int("ceil_mode", 0))))
    return [Fact(dtype, shape), Fact(oir.DataType.INT64, shape)]


@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(op: Op) -> Fact:
    x = op.shape(0)
    return Fact(op.dtype(0), None if x is None else (*x[:2], *[1] * (len(x) - 2)))


@rule("MaxUnpool", inputs=2)
def max_unpool(op: Op) -> Fact:
    x = op.shape(0)
    if op.has(2):
        wanted = op.elements(2)
        return Fact(op.dtype(0), None if x is None else op.unknowns(len(x)) if wanted is None else wanted)
    if x is None:
        return Fact(op.dtype(0))
    window = Window(op, len(x) - 2, op.ints("kernel_shape", ()))
    spatial = [
        (size - 1) * window.strides[at] + window.kernel[at] - window.pads[at] - window.pads[at + len(x) - 2]
        for at, size in enumerate(x[2:])
    ]
    return Fact(op.dtype(0), (*x[:2], *spatial))


@rule("MaxRoiPool", inputs=2)
def max_roi_pool(op: Op) -> Fact:
    x, rois = op.shape(0), op.shape(1)
    if x is None or rois is None:
        return Fact(op.dtype(0))
    return Fact(op.dtype(0), (rois[0], x[1], *op.ints("pooled_shape", ())))


@rule("RoiAlign", inputs=3)
def roi_align(op: Op) -> Fact:
    x, rois = op.shape(0), op.shape(1)
    op.rank(0, 4, 4)
    if x is None or rois is None:
        return Fact(op.dtype(0))
    return Fact(op.dtype(0), (rois[0], x[1], op.int("output_height", 1), op.int("output_width", 1)))
