"""Convolutions of one, two and three spatial dims; one dim gets a unit dim behind it."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, given, input_at, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope


def spatial_rank(facts: Facts, node: oir.Node) -> int:
    """1, 2 or 3: what convolutions and poolings can slide over."""
    rank = facts.rank(given(node, 0))
    if not 3 <= rank <= 5:
        refuse(f"an input of rank {rank}: TensorRT slides windows over one to three dims")
    return rank - 2


def window(node: oir.Node, name: str, spatial: int, default: int) -> tuple[int, ...]:
    """An attribute with one number per spatial dim."""
    found = attr(node, name)
    return tuple(int(v) for v in found) if found else (default,) * spatial


def paddings(node: oir.Node, spatial: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Begins and ends; zeros where `auto_pad` says something else."""
    pads = window(node, "pads", 2 * spatial, 0)
    return pads[:spatial], pads[spatial:]


def padding_mode(s: Scope, node: oir.Node) -> dict[str, Any]:
    """The property for an `auto_pad` that loading could not turn into numbers."""
    auto = attr(node, "auto_pad", "NOTSET")
    return {"padding_mode": getattr(s.trt.PaddingMode, auto)} if auto in ("SAME_UPPER", "SAME_LOWER") else {}


def widen(values: tuple[int, ...], unit: int) -> tuple[int, ...]:
    """A 1-D window as a 2-D one."""
    return (*values, unit) if len(values) == 1 else values


def _kernel(facts: Facts, node: oir.Node) -> tuple[int, ...]:
    """The shape of the weights, which must be numbers."""
    shape = facts.static(given(node, 1))
    if shape is None:
        refuse("the shape of the weights is not known when the network is built")
    return shape


def _check(facts: Facts, node: oir.Node) -> None:
    spatial_rank(facts, node)
    _kernel(facts, node)


@operator("Conv", typed=None, check=_check)
def convolution(s: Scope, node: oir.Node) -> Any:
    spatial = spatial_rank(s, node)
    x_value, w_value = given(node, 0), given(node, 1)
    x = s.tensor(x_value)
    dtype = s.type_of(x)
    kernel = _kernel(s, node)
    begin, end = paddings(node, spatial)
    if min(*begin, *end) < 0:
        # A negative pad crops; the layer's setter refuses it.
        dims = s.shape(x_value)
        ranges = {
            at + 2: (max(-b, 0), dims[at + 2] - max(-b, 0) - max(-e, 0), 1)
            for at, (b, e) in enumerate(zip(begin, end, strict=True))
            if b < 0 or e < 0
        }
        x = s.slice(x, ranges, "crop")
        begin, end = tuple(max(b, 0) for b in begin), tuple(max(e, 0) for e in end)
    line = spatial == 1
    if line:
        x = s.unsqueeze(x, [3], "unsqueeze")
    inputs: dict[int, Any] = {}
    w_shape = (*kernel, 1) if line else kernel
    array = s.array(w_value)
    if array is not None:
        weights = s.weights(array.reshape(w_shape), dtype, w_value.name or "", "kernel")
    else:
        weights = s.no_weights(dtype)
        inputs[1] = s.unsqueeze(s.tensor(w_value), [3], "kernel") if line else s.tensor(w_value)
    bias = s.no_weights(dtype)
    b_value = input_at(node, 2)
    if b_value is not None:
        b_array = s.array(b_value)
        if b_array is not None:
            bias = s.weights(b_array, dtype, b_value.name or "", "bias")
        else:
            inputs[2] = s.tensor(b_value)
    made = s.net.add_convolution_nd(x, kernel[0], w_shape[2:], weights, bias)
    y = s.add(
        made,
        "",
        inputs,
        num_groups=int(attr(node, "group", 1)),
        stride_nd=widen(window(node, "strides", spatial, 1), 1),
        dilation_nd=widen(window(node, "dilations", spatial, 1), 1),
        pre_padding=widen(begin, 0),
        post_padding=widen(end, 0),
        **padding_mode(s, node),
    )
    return s.squeeze(y, [3], "squeeze") if line else y


@dataclass(frozen=True, slots=True)
class _Transposed:
    """The geometry of a ConvTranspose: what the layer trims, and the zeros that must be put around its result."""

    pre: tuple[int, ...]
    post: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def extends(self) -> bool:
        return any(self.before) or any(self.after)


def _transposed(facts: Facts, node: oir.Node) -> _Transposed:
    spatial = spatial_rank(facts, node)
    kernel = _kernel(facts, node)[2:]
    strides, dilations = window(node, "strides", spatial, 1), window(node, "dilations", spatial, 1)
    extra = window(node, "output_padding", spatial, 0)
    begin, end = (list(p) for p in paddings(node, spatial))
    auto = attr(node, "auto_pad", "NOTSET")
    wanted = attr(node, "output_shape")
    dims = facts.shape(given(node, 0))[2:]
    if wanted or auto in ("SAME_UPPER", "SAME_LOWER"):
        for at in range(spatial):
            reach = extra[at] + (kernel[at] - 1) * dilations[at] + 1
            if wanted:
                size = dims[at]
                if not isinstance(size, int):
                    refuse("output_shape with a spatial dim that is not known when the network is built")
                total = strides[at] * (size - 1) + reach - int(wanted[-spatial:][at])
            else:
                total = reach - strides[at]
            if total < 0:
                begin[at], end[at] = 0, total
                continue
            # From opset 11 the odd one goes to the end for SAME_UPPER only.
            begin[at] = total // 2 if auto == "SAME_UPPER" else total - total // 2
            end[at] = total - begin[at]
    post = [e - x for e, x in zip(end, extra, strict=True)]
    return _Transposed(
        pre=tuple(max(b, 0) for b in begin),
        post=tuple(max(p, 0) for p in post),
        before=tuple(max(-b, 0) for b in begin),
        after=tuple(max(-p, 0) for p in post),
    )


def _check_transposed(facts: Facts, node: oir.Node) -> None:
    _transposed(facts, node)


@operator("ConvTranspose", typed=None, check=_check_transposed)
def deconvolution(s: Scope, node: oir.Node) -> Any:
    """`output_padding` takes from what is trimmed at the end; what is left is appended, and then the bias added to
    all, because the border has the bias too."""
    spatial = spatial_rank(s, node)
    w_value, b_value = given(node, 1), input_at(node, 2)
    x = s.input(node, 0)
    dtype = s.type_of(x)
    kernel = _kernel(s, node)
    plan = _transposed(s, node)
    group = int(attr(node, "group", 1))
    line = spatial == 1
    if line:
        x = s.unsqueeze(x, [3], "unsqueeze")
    w_shape = (*kernel, 1) if line else kernel
    inputs: dict[int, Any] = {}
    array = s.array(w_value)
    if array is not None:
        weights = s.weights(array.reshape(w_shape), dtype, w_value.name or "", "kernel")
    else:
        weights = s.no_weights(dtype)
        inputs[1] = s.unsqueeze(s.tensor(w_value), [3], "kernel") if line else s.tensor(w_value)
    bias = s.no_weights(dtype)
    late_bias = b_value is not None and plan.extends
    if b_value is not None and not late_bias:
        b_array = s.array(b_value)
        if b_array is not None:
            bias = s.weights(b_array, dtype, b_value.name or "", "bias")
        else:
            inputs[2] = s.tensor(b_value)
    made = s.net.add_deconvolution_nd(x, kernel[1] * group, w_shape[2:], weights, bias)
    y = s.add(
        made,
        "",
        inputs,
        num_groups=group,
        stride_nd=widen(window(node, "strides", spatial, 1), 1),
        dilation_nd=widen(window(node, "dilations", spatial, 1), 1),
        pre_padding=widen(plan.pre, 0),
        post_padding=widen(plan.post, 0),
    )
    if line:
        y = s.squeeze(y, [3], "squeeze")
    if plan.extends:
        dims = s.shape(node.outputs[0])
        ranges = {at + 2: (-plan.before[at], dims[at + 2], 1) for at in range(spatial)}
        y = s.slice(y, ranges, "extend", mode="FILL", fill=s.constant(np.asarray(0.0), dtype, "zero"))
    if late_bias:
        assert b_value is not None
        channels = (1, kernel[1] * group) + (1,) * spatial
        b_array = s.array(b_value)
        b = s.tensor(b_value, channels) if b_array is not None else s.reshape(s.tensor(b_value), channels, "bias")
        y = s.elementwise("SUM", y, b, "add_bias")
    return y
