"""Poolings. TensorRT rounds sizes up by one window more than ONNX does: what is over is cut off."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import onnx_ir as oir

from trtc.emit import dilated
from trtc.emit.convolution import padding_mode, paddings, spatial_rank, widen, window
from trtc.emit.facts import Facts, attr, given, refuse, used
from trtc.emit.registry import operator
from trtc.emit.scope import Scope


def _check(facts: Facts, node: oir.Node) -> None:
    spatial = spatial_rank(facts, node)
    if dilated.dilated(facts, node):
        dilated.check(facts, node)
    if min(window(node, "pads", 2 * spatial, 0)) < 0:
        refuse("negative pads", "crop by a Slice before the pooling")
    if used(node, 1):
        refuse("the output Indices: TensorRT's pooling gives values only", "remove the use of the indices")


def _sizes(size: int, kernel: int, stride: int, begin: int, end: int) -> tuple[int, int, int]:
    """What one dim becomes: rounded down, rounded up as TensorRT does, and as ONNX does.

    ONNX drops a last window that starts in the padding at the end (stated from opset 19, done before as well).
    """
    span = size + begin + end - kernel
    down = span // stride + 1
    up = -(-span // stride) + 1
    onnx = up - 1 if (up - 1) * stride >= size + begin else up
    return down, up, onnx


def pool(s: Scope, node: oir.Node, x: Any, op: str, part: str = "") -> Any:
    """MAX or AVERAGE of the node's windows over `x`, which has the shape of the node's input."""
    if dilated.dilated(s, node):
        return dilated.pool(s, node, x, op)
    spatial = spatial_rank(s, node)
    kernel = window(node, "kernel_shape", spatial, 1)
    strides = window(node, "strides", spatial, 1)
    begin, end = paddings(node, spatial)
    dims = s.shape(given(node, 0))[2:]
    crop: list[int] = []
    up = False
    if attr(node, "ceil_mode", 0):
        for at, dim in enumerate(dims):
            if isinstance(dim, int):
                low, high, onnx = _sizes(dim, kernel[at], strides[at], begin[at], end[at])
                up = up or onnx != low
                if high != onnx:
                    crop.append(at)
            elif strides[at] > 1:
                up = True
                crop.append(at)
        if not up:
            # ONNX's sizes are those of rounding down: nothing to cut.
            crop = []
    line = spatial == 1
    if line:
        x = s.unsqueeze(x, [3], "unsqueeze")
    properties: dict[str, Any] = {
        "stride_nd": widen(strides, 1),
        "pre_padding": widen(begin, 0),
        "post_padding": widen(end, 0),
        **padding_mode(s, node),
    }
    if up and "padding_mode" not in properties:
        properties["padding_mode"] = s.trt.PaddingMode.EXPLICIT_ROUND_UP
    if op == "AVERAGE":
        include = bool(attr(node, "count_include_pad", 0)) or node.op_type == "LpPool"
        properties["average_count_excludes_padding"] = not include
    made = s.net.add_pooling_nd(x, getattr(s.trt.PoolingType, op), widen(kernel, 1))
    y = s.add(made, part, **properties)
    if line:
        y = s.squeeze(y, [3], "squeeze")
    if crop and up:
        out = s.shape(node.outputs[0])
        y = s.slice(y, {at + 2: (0, out[at + 2], 1) for at in crop}, "crop")
    return y


@operator("MaxPool", check=_check)
def max_pool(s: Scope, node: oir.Node) -> Any:
    return pool(s, node, s.input(node, 0), "MAX")


@operator("AveragePool", check=_check)
def average_pool(s: Scope, node: oir.Node) -> Any:
    return pool(s, node, s.input(node, 0), "AVERAGE")


def _check_lp(facts: Facts, node: oir.Node) -> None:
    _check(facts, node)
    if attr(node, "ceil_mode", 0):
        refuse("LpPool with ceil_mode")
    if dilated.dilated(facts, node):
        refuse("LpPool with dilation")


@operator("LpPool", check=_check_lp)
def lp_pool(s: Scope, node: oir.Node) -> Any:
    """(sum |x|^p)^(1/p): the sum is the average times the size of the window. In float32, for the powers."""
    x = s.input(node, 0)
    dtype = s.type_of(x)
    count = 1
    for size in window(node, "kernel_shape", spatial_rank(s, node), 1):
        count *= size
    powered = _powered(s, s.in_f32(x), attr(node, "p", 2))
    total = pool(s, node, powered, "AVERAGE", "average")
    total = s.elementwise("PROD", total, s.scalar(count, total), "sum")
    return s.cast(_root(s, total, attr(node, "p", 2)), dtype)


def _powered(s: Scope, x: Any, p: int) -> Any:
    if p == 2:
        return s.elementwise("PROD", x, x, "square")
    x = s.unary("ABS", x, "abs")
    return x if p == 1 else s.elementwise("POW", x, s.scalar(float(p), x), "pow")


def _root(s: Scope, x: Any, p: int) -> Any:
    if p == 1:
        return x
    return s.unary("SQRT", x, "sqrt") if p == 2 else s.elementwise("POW", x, s.scalar(1.0 / p, x), "root")


def _check_global(facts: Facts, node: oir.Node) -> None:
    if facts.rank(given(node, 0)) < 3:
        refuse("an input without spatial dims")


@operator("GlobalAveragePool", "GlobalMaxPool", check=_check_global)
def global_pool(s: Scope, node: oir.Node) -> Any:
    """A reduction: any rank, any size."""
    x = s.input(node, 0)
    op = "AVG" if node.op_type == "GlobalAveragePool" else "MAX"
    return s.reduce(op, x, range(2, len(x.shape)), True)


@operator("GlobalLpPool", check=_check_global)
def global_lp_pool(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    p = attr(node, "p", 2)
    total = s.reduce("SUM", _powered(s, s.in_f32(x), p), range(2, len(x.shape)), True, "sum")
    return s.cast(_root(s, total, p), s.type_of(x))
