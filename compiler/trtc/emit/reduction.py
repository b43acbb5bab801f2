"""Reductions."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, input_at, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.emit.weights import NUMPY

_PLAIN = {"ReduceSum": "SUM", "ReduceProd": "PROD"}
_EXTREME = {"ReduceMax": "MAX", "ReduceMin": "MIN"}
_INT = ("INT32", "INT64")


def _axes(facts: Facts, node: oir.Node) -> list[int]:
    """The axes to reduce, sorted; every axis when none are given, none with noop_with_empty_axes."""
    rank = facts.rank(given(node, 0))
    value = input_at(node, 1)
    axes = facts.ints(value, "the axes") if value is not None else attr(node, "axes")
    if not axes:
        return [] if attr(node, "noop_with_empty_axes", 0) else list(range(rank))
    return sorted({axis_of(int(a), rank) for a in axes})


def _check(facts: Facts, node: oir.Node) -> None:
    _axes(facts, node)


def _keep(node: oir.Node) -> bool:
    return bool(attr(node, "keepdims", 1))


@operator(*_PLAIN, types="FI", check=_check)
def reduce(s: Scope, node: oir.Node) -> Any:
    return s.reduce(_PLAIN[node.op_type], s.input(node, 0), _axes(s, node), _keep(node))


@operator("ReduceMean", types="FI", check=_check)
def reduce_mean(s: Scope, node: oir.Node) -> Any:
    """Integers as sum and count, the quotient truncated."""
    x = s.input(node, 0)
    axes, keep = _axes(s, node), _keep(node)
    dtype = s.type_of(x)
    if dtype not in _INT:
        return s.reduce("AVG", x, axes, keep)
    if not axes:
        return x
    total = s.reduce("SUM", x, axes, keep, "sum")
    dims = s.shape(given(node, 0))
    count: Any = 1
    for axis in axes:
        count = count * dims[axis]
    if isinstance(count, int):
        divisor = s.scalar(count, total)
    else:
        divisor = s.reshape(s.cast(s.dim(count), dtype), [1] * len(total.shape), "count")
    return s.elementwise("DIV", total, divisor)


@operator("ReduceL1", "ReduceSumSquare", "ReduceLogSum", types="FI", check=_check)
def reduce_function(s: Scope, node: oir.Node) -> Any:
    """Without axes and with noop_with_empty_axes only the reduction is left out, not the function."""
    x = s.input(node, 0)
    axes, keep = _axes(s, node), _keep(node)
    if node.op_type == "ReduceL1":
        negated = s.type_of(x) in _INT and "ABS" not in s.caps.int_unary
        absolute = (
            s.elementwise("MAX", x, s.elementwise("SUB", s.scalar(0, x), x, "negated"), "abs")
            if negated
            else s.unary("ABS", x, "abs")
        )
        return s.reduce("SUM", absolute, axes, keep)
    if node.op_type == "ReduceSumSquare":
        return s.reduce("SUM", s.elementwise("PROD", x, x, "square"), axes, keep)
    total = s.reduce("SUM", x, axes, keep, "sum")
    return s.cast(s.unary("LOG", s.cast(total, "FLOAT") if s.type_of(x) in _INT else total), s.type_of(x))


@operator("ReduceL2", types="FI", check=_check)
def reduce_l2(s: Scope, node: oir.Node) -> Any:
    """In float32: a half-precision square overflows above 255 where the norm does not."""
    x = s.input(node, 0)
    dtype = s.type_of(x)
    wide = s.cast(x, "FLOAT")
    total = s.reduce("SUM", s.elementwise("PROD", wide, wide, "square"), _axes(s, node), _keep(node), "sum")
    return s.cast(s.unary("SQRT", total, "" if dtype == "FLOAT" else "sqrt"), dtype)


@operator("ReduceLogSumExp", types="FI", check=_check)
def reduce_log_sum_exp(s: Scope, node: oir.Node) -> Any:
    """max + log(sum(exp(x - max))): exp alone overflows at 88 (at 11 in half precision).

    An infinite maximum is taken as 0, so that inf - inf does not turn the result into a NaN.
    """
    x = s.input(node, 0)
    dtype = s.type_of(x)
    axes, keep = _axes(s, node), _keep(node)
    wide = s.cast(x, "FLOAT")
    if not axes:
        return s.cast(s.unary("LOG", s.unary("EXP", wide, "exp"), "log"), dtype)
    most = s.reduce("MAX", wide, axes, True, "max")
    most = s.select(s.unary("ISINF", most, "is_inf"), s.scalar(0, most), most, "finite_max")
    total = s.reduce("SUM", s.unary("EXP", s.elementwise("SUB", wide, most, "centre"), "exp"), axes, True, "sum")
    result = s.elementwise("SUM", s.unary("LOG", total, "log"), most, "back")
    return s.cast(result if keep else s.squeeze(result, axes), dtype)


@operator(*_EXTREME, types="FIB", check=_check)
def reduce_extreme(s: Scope, node: oir.Node) -> Any:
    """Booleans as INT32."""
    x = s.input(node, 0)
    op = _EXTREME[node.op_type]
    if s.type_of(x) != "BOOL":
        return s.reduce(op, x, _axes(s, node), _keep(node))
    found = s.reduce(op, s.cast(x, "INT32"), _axes(s, node), _keep(node), op.lower())
    # Not a cast: the maximum of nothing is the least INT32, which is not 0, and yet false.
    return s.elementwise("GREATER", found, s.scalar(0, found))


def _check_cumsum(facts: Facts, node: oir.Node) -> None:
    axis = facts.ints(given(node, 1), "the axis")
    assert axis is not None
    rank = facts.rank(given(node, 0))
    where = axis_of(axis[0], rank)
    if not facts.caps.cumulative:
        shape = facts.shape(given(node, 0))
        if not isinstance(shape[where], int):
            refuse("a cumulative sum over a dim that is not known when the network is built (TensorRT before 10.8)")


@operator("CumSum", types="FI", check=_check_cumsum)
def cumsum(s: Scope, node: oir.Node) -> Any:
    """Before TensorRT 10.8 a product with a triangle of ones."""
    x = s.input(node, 0)
    rank, dtype = len(x.shape), s.type_of(x)
    found = s.ints(given(node, 1), "the axis")
    assert found is not None
    axis = axis_of(found[0], rank)
    exclusive, reverse = bool(attr(node, "exclusive", 0)), bool(attr(node, "reverse", 0))
    if s.caps.cumulative:
        # The axis is a 0-d constant; a 1-d one is refused.
        where = s.constant(np.asarray(axis), "INT64", "axis", ())
        made = s.net.add_cumulative(x, where, s.trt.CumulativeOperation.SUM, exclusive, reverse)
        return s.add(made, "")
    size = x.shape[axis]
    triangle = np.triu(np.ones((size, size)), 1 if exclusive else 0)
    matrix = triangle.T if reverse else triangle
    perm = [a for a in range(rank) if a != axis] + [axis]
    moved = s.cast(s.transpose(x, perm, "last"), "FLOAT" if dtype in _INT else dtype)
    if rank == 1:
        moved = s.unsqueeze(moved, [0])
    work = s.type_of(moved)
    ones = s.constant(matrix.astype(NUMPY[work]), work, "triangle", (1,) * (max(rank, 2) - 2) + (size, size))
    total = s.matmul(moved, ones, "product")
    if rank == 1:
        total = s.squeeze(total, [0])
    back = [perm.index(a) for a in range(rank)]
    return s.cast(s.transpose(total, back, "back"), dtype)
