"""Tensors made of nothing but a shape: ranges, fills, triangles, one-hot."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, input_at, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.emit.shaping import Unknown
from trtc.emit.weights import NUMPY

#: Elements up to which a tensor known in full is a constant.
_CONSTANT = 4096


@operator("Constant", types="FIBQU", typed=())
def constant(s: Scope, node: oir.Node) -> Any:
    """A Constant node that inlining a function left behind."""
    return s.tensor(node.outputs[0])


def _check_fill(facts: Facts, node: oir.Node) -> None:
    facts.shape(node.outputs[0])
    dtype = facts.dtype(node.outputs[0])
    if facts.carrier(dtype) not in ("FLOAT", "HALF", "BF16", "INT32", "INT64", "BOOL"):
        refuse(f"a value of type {dtype.name.lower()}")


@operator("ConstantOfShape", types="I", check=_check_fill)
def constant_of_shape(s: Scope, node: oir.Node) -> Any:
    """One element, repeated by a slice with stride 0."""
    dtype = s.engine_type(node.outputs[0])
    found = attr(node, "value")
    value = np.zeros((), np.float32) if found is None else found.numpy().reshape(())
    dims = s.shape(node.outputs[0])
    static = s.static(node.outputs[0])
    if static is not None and math.prod(static) <= _CONSTANT:
        return s.constant(np.full(static, value), dtype, "")
    one = s.constant(value, dtype, "value", (1,) * len(dims))
    try:
        return s.broadcast(one, [d if isinstance(d, int) else s.dim(d) for d in dims], "")
    except Unknown:
        return s.broadcast_to(one, s.tensor(given(node, 0)), "")


def _check_range(facts: Facts, node: oir.Node) -> None:
    dtype = facts.dtype(node.outputs[0])
    if facts.carrier(dtype) not in ("FLOAT", "HALF", "BF16", "INT32", "INT64"):
        refuse(f"a range of type {dtype.name.lower()}")
    for at in range(3):
        if facts.from_float_input(given(node, at)):
            refuse(
                "a length that depends on a floating-point input",
                "make the input an integer and cast it, or freeze it",
            )


@operator("Range", types="FI", check=_check_range)
def range_(s: Scope, node: oir.Node) -> Any:
    """A fill. max(0, ceil((limit - start) / delta)) elements: the number is known from the dims, or computed."""
    dtype = s.engine_type(node.outputs[0])
    work = "FLOAT" if dtype in ("HALF", "BF16") else dtype
    values = [given(node, at) for at in range(3)]
    numbers = [s.number(v) for v in values]
    (dim,) = s.shape(node.outputs[0])
    if all(n is not None for n in numbers) and isinstance(dim, int) and dim <= _CONSTANT:
        start, _, delta = numbers
        exact = np.asarray(start) + np.arange(dim) * np.asarray(delta)
        return s.constant(exact.astype(NUMPY[dtype]), dtype, "")
    size: Any = dim
    if not isinstance(dim, int):
        try:
            size = s.dim(dim)
        except Unknown:
            size = _length(s, values, work)
    start, step = numbers[0], numbers[2]
    if start is None or step is None:
        # If one of the two is a tensor, both are.
        start = _scalar_tensor(s, values[0], work, ())
        step = _scalar_tensor(s, values[2], work, (1,))
    return s.cast(s.linspace(size, start, step, work, ""), dtype)


def _scalar_tensor(s: Scope, value: oir.Value, dtype: str, shape: tuple[int, ...]) -> Any:
    if s.array(value) is not None:
        return s.cast(s.tensor(value, shape), dtype)
    return s.cast(s.reshape(s.tensor(value), list(shape), "scalar"), dtype)


def _length(s: Scope, values: list[oir.Value], dtype: str) -> Any:
    start, limit, delta = (_scalar_tensor(s, v, dtype, (1,)) for v in values)
    if dtype == "FLOAT":
        steps = s.elementwise("DIV", s.elementwise("SUB", limit, start, "span"), delta, "steps")
        count = s.cast(s.unary("CEIL", steps, "ceil"), s.caps.shape_dtype)
    else:
        # ceil(a / b) = -floor(-a / b)
        back = s.elementwise("FLOOR_DIV", s.elementwise("SUB", start, limit, "span"), delta, "steps")
        count = s.cast(s.elementwise("SUB", s.scalar(0, back), back, "count"), s.caps.shape_dtype)
    return s.arithmetic("MAX", count, s.shape_constant([0]), "length")


def _index(s: Scope, size: Any, shape: list[int], axis: int) -> Any:
    """0, 1, … along `axis` of a tensor whose other dims are 1."""
    dtype = s.caps.shape_dtype
    if isinstance(size, int):
        return s.constant(np.arange(size), dtype, "index", tuple(size if a == axis else 1 for a in range(len(shape))))
    line = s.linspace(size, 0, 1, dtype, "index")
    rank = len(shape)
    return line if rank == 1 else s.unsqueeze(line, [a for a in range(rank) if a != axis], "index_rank")


def _check_trilu(facts: Facts, node: oir.Node) -> None:
    if facts.rank(given(node, 0)) < 2:
        refuse("an input of rank below 2")


@operator("Trilu", types="FIB", check=_check_trilu)
def trilu(s: Scope, node: oir.Node) -> Any:
    """Keeps where column - row >= k (upper, the default) or <= k, by comparing indices."""
    x = s.input(node, 0)
    rank = len(x.shape)
    upper = bool(attr(node, "upper", 1))
    k_value = input_at(node, 1)
    k = 0 if k_value is None else s.number(k_value)
    rows, columns = s.sizes(x)[-2:]
    ones = [1] * rank
    if k is not None and isinstance(rows, int) and isinstance(columns, int):
        table = np.ones((rows, columns), dtype=np.bool_)
        mask = np.triu(table, int(k)) if upper else np.tril(table, int(k))
        keep = s.constant(mask, "BOOL", "mask", (1,) * (rank - 2) + mask.shape)
    else:
        distance = s.elementwise("SUB", _index(s, columns, ones, rank - 1), _index(s, rows, ones, rank - 2), "distance")
        if k is None:
            assert k_value is not None
            bound = s.reshape(s.cast(s.tensor(k_value), s.type_of(distance)), ones, "k")
        else:
            bound = s.scalar(int(k), distance, "k")
        # >= k is not < k; these are integers.
        outside = s.elementwise("LESS" if upper else "GREATER", distance, bound, "outside")
        keep = s.unary("NOT", outside, "mask")
    if s.type_of(x) == "BOOL":
        return s.elementwise("AND", x, keep)
    return s.select(keep, x, s.scalar(0, x))


@operator("EyeLike", types="FIB")
def eye_like(s: Scope, node: oir.Node) -> Any:
    x_value = given(node, 0)
    dtype = s.engine_type(node.outputs[0])
    k = attr(node, "k", 0)
    static = s.static(x_value)
    if static is not None:
        return s.constant(np.eye(static[0], static[1], k, dtype=np.float32).astype(NUMPY[dtype]), dtype, "")
    rows, columns = s.sizes(s.tensor(x_value))
    distance = s.elementwise("SUB", _index(s, columns, [1, 1], 1), _index(s, rows, [1, 1], 0), "distance")
    return s.cast(s.elementwise("EQUAL", distance, s.scalar(k, distance), "diagonal"), dtype)


def _check_one_hot(facts: Facts, node: oir.Node) -> None:
    axis_of(attr(node, "axis", -1), facts.rank(given(node, 0)) + 1)
    if facts.from_float_input(given(node, 1)):
        refuse("a depth that depends on a floating-point input", "make the depth a constant or an integer input")


@operator("OneHot", types="FI", check=_check_one_hot)
def one_hot(s: Scope, node: oir.Node) -> Any:
    """Each index compared with 0, 1, … depth - 1; negative indices count from the end, others out of range are off."""
    indices_value, depth_value, values_value = (given(node, at) for at in range(3))
    indices = s.cast(s.tensor(indices_value), s.caps.shape_dtype)
    rank = len(indices.shape) + 1
    axis = axis_of(attr(node, "axis", -1), rank)
    depth = s.number(depth_value)
    size: Any = (
        int(depth) if depth is not None else s.reshape(s.cast(s.tensor(depth_value), s.caps.shape_dtype), [1], "depth")
    )
    spread = s.unsqueeze(indices, [axis], "spread")
    array = s.array(indices_value)
    if array is None or (array.size and array.min() < 0):
        bound = s.scalar(size, spread) if isinstance(size, int) else s.reshape(size, [1] * rank, "bound")
        negative = s.elementwise("LESS", spread, s.scalar(0, spread), "negative")
        spread = s.select(negative, s.elementwise("SUM", spread, bound, "from_end"), spread, "indices")
    hot = s.elementwise("EQUAL", spread, _index(s, size, [1] * rank, axis), "hot")
    pair = s.array(values_value)
    if pair is not None:
        dtype = s.engine_type(values_value)
        off, on = (s.constant(v, dtype, "value", (1,) * rank) for v in pair.reshape(2))
    else:
        values = s.tensor(values_value)
        off, on = (
            s.reshape(s.add(s.net.add_slice(values, (at,), (1,), (1,)), "value"), [1] * rank, "value_rank")
            for at in (0, 1)
        )
    return s.select(hot, on, off)
