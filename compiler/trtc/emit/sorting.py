"""TopK, ArgMax, ArgMin: all are the TopK layer, which wants rank 2."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope

#: The layer's own limit.
_MOST = 3840


def _topk(s: Scope, x: Any, k: int | Any, axis: int, largest: bool, part: str) -> tuple[Any, Any]:
    """Values and indices (in the type of ONNX's int64) of a tensor of any rank but 0."""
    line = len(x.shape) == 1
    if line:
        x = s.unsqueeze(x, [1])
    op = s.trt.TopKOperation.MAX if largest else s.trt.TopKOperation.MIN
    number = isinstance(k, int)
    args: list[Any] = [x, op, k if number else 1, 1 << axis]
    wanted = s.caps.shape_dtype
    if s.caps.topk_indices_type:
        args.append(s.type(wanted))
    layer = s.layer(s.net.add_topk(*args), part, {} if number else {1: k})
    values, indices = layer.get_output(0), s.cast(layer.get_output(1), wanted, "indices")
    if line:
        values, indices = s.squeeze(values, [1]), s.squeeze(indices, [1])
    return values, indices


def _check_topk(facts: Facts, node: oir.Node) -> None:
    rank = facts.rank(given(node, 0))
    if rank == 0:
        refuse("an input of rank 0")
    axis_of(attr(node, "axis", -1), rank)
    k = facts.elements(given(node, 1))
    if k is not None and isinstance(k[0], int) and k[0] > _MOST:
        refuse(f"k = {k[0]:,}: TensorRT's TopK gives at most {_MOST:,}")


@operator("TopK", types="FI", check=_check_topk, note=f"k up to {_MOST}")
def topk(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    axis = axis_of(attr(node, "axis", -1), len(x.shape))
    known = s.elements(given(node, 1))
    k: Any = known[0] if known is not None else None
    if not isinstance(k, int):
        k = s.reshape(s.tensor(given(node, 1)), [], "k")
    return _topk(s, x, k, axis, bool(attr(node, "largest", 1)), "")


def _check_arg(facts: Facts, node: oir.Node) -> None:
    rank = facts.rank(given(node, 0))
    if rank == 0:
        refuse("an input of rank 0")
    axis_of(attr(node, "axis", 0), rank)


@operator("ArgMax", "ArgMin", types="FI", check=_check_arg)
def arg(s: Scope, node: oir.Node) -> Any:
    """The first of equals; for the last (`select_last_index`) the axis is reversed before, the index after."""
    value = given(node, 0)
    x = s.tensor(value)
    axis = axis_of(attr(node, "axis", 0), len(x.shape))
    last = bool(attr(node, "select_last_index", 0))
    keep = bool(attr(node, "keepdims", 1))
    if last:
        size = s.shape(value)[axis]
        x = s.slice(x, {axis: (size - 1, size, -1)}, "reverse")
    _, indices = _topk(s, x, 1, axis, node.op_type == "ArgMax", "" if keep and not last else "topk")
    if last:
        size = x.shape[axis]
        if size >= 0:
            top = s.scalar(size - 1, indices)
        else:
            less = s.arithmetic("SUB", s.dim_of(x, axis), s.shape_constant([1]))
            top = s.reshape(less, [1] * len(indices.shape), "last")
        indices = s.elementwise("SUB", top, indices, "" if keep else "forward")
    return indices if keep else s.squeeze(indices, [axis], "")


@operator("Hardmax", check=_check_arg)
def hardmax(s: Scope, node: oir.Node) -> Any:
    """1 at the first maximum, 0 elsewhere: the index of the maximum compared with the index of each."""
    value = given(node, 0)
    x = s.tensor(value)
    rank = len(x.shape)
    axis = axis_of(attr(node, "axis", -1), rank)
    _, first = _topk(s, x, 1, axis, True, "topk")
    dtype = s.type_of(first)
    size = s.sizes(x)[axis]
    if isinstance(size, int):
        shape = tuple(size if a == axis else 1 for a in range(rank))
        index = s.constant(np.arange(size), dtype, "index", shape)
    else:
        index = s.linspace(size, 0, 1, dtype, "index")
        index = s.reshape(index, [size if a == axis else 1 for a in range(rank)], "index")
    chosen = s.elementwise("EQUAL", index, first, "is_max")
    return s.select(chosen, s.scalar(1, x), s.scalar(0, x))
