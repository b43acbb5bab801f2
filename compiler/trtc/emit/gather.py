"""Gathers and scatters. Negative indices are made positive where TensorRT does not promise to do it."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit import scatter_reduce
from trtc.emit.facts import Facts, attr, axis_of, given, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.ir import dims as d


def _never_negative(s: Scope, value: oir.Value) -> bool:
    array = s.array(value)
    if array is not None:
        return array.size == 0 or bool(array.min() >= 0)
    elements = s.elements(value)
    return elements is not None and all((d.bounds(e)[0] or -1) >= 0 or e == 0 for e in elements)


def _indices(s: Scope, value: oir.Value, data: Any, axis: int, *, native: bool) -> Any:
    """Indices along `axis` without negative ones. `native`: the layer counts a negative index from the end itself
    when the dim is a number."""
    size = data.shape[axis]
    if _never_negative(s, value) or (native and size >= 0):
        return s.tensor(value)
    array = s.array(value)
    dtype = s.engine_type(value)
    if array is not None and size >= 0:
        return s.constant(np.where(array < 0, array + size, array), dtype, "indices")
    indices = s.tensor(value)
    dim = s.reshape(s.cast(s.dim_of(data, axis), dtype), [1] * len(indices.shape), "dim")
    negative = s.elementwise("LESS", indices, s.scalar(0, indices), "negative")
    return s.select(negative, s.elementwise("SUM", indices, dim, "from_end"), indices, "indices")


@operator("Gather", types="FIB")
def gather(s: Scope, node: oir.Node) -> Any:
    data = s.input(node, 0)
    axis = axis_of(attr(node, "axis", 0), len(data.shape))
    indices = _indices(s, given(node, 1), data, axis, native=True)
    return s.add(s.net.add_gather(data, indices, axis), "")


@operator("GatherElements", types="FIB")
def gather_elements(s: Scope, node: oir.Node) -> Any:
    data = s.input(node, 0)
    axis = axis_of(attr(node, "axis", 0), len(data.shape))
    indices = _indices(s, given(node, 1), data, axis, native=False)
    return s.add(s.net.add_gather_v2(data, indices, s.trt.GatherMode.ELEMENT), "", axis=axis)


def _tuple_length(facts: Facts, node: oir.Node) -> int:
    length = facts.shape(given(node, 1))[-1]
    if not isinstance(length, int):
        refuse("the length of the index tuples is not known when the network is built")
    return length


def _check_nd(facts: Facts, node: oir.Node) -> None:
    _tuple_length(facts, node)


def _indices_nd(s: Scope, value: oir.Value, data: Any, first: int) -> Any:
    """Index tuples, whose last dim runs over the axes from `first` on, without negative numbers."""
    if _never_negative(s, value):
        return s.tensor(value)
    dtype = s.engine_type(value)
    rank = s.rank(value)
    count = s.shape(value)[-1]
    assert isinstance(count, int)
    sizes = [data.shape[first + at] for at in range(count)]
    array = s.array(value)
    if array is not None and min(sizes, default=0) >= 0:
        return s.constant(np.where(array < 0, array + np.asarray(sizes, array.dtype), array), dtype, "indices")
    indices = s.tensor(value)
    dims = s.dims([s.sizes(data)[first + at] for at in range(count)], "dims")
    dims = s.reshape(s.cast(dims, dtype), [1] * (rank - 1) + [count], "dims")
    negative = s.elementwise("LESS", indices, s.scalar(0, indices), "negative")
    return s.select(negative, s.elementwise("SUM", indices, dims, "from_end"), indices, "indices")


@operator("GatherND", types="FIB", check=_check_nd)
def gather_nd(s: Scope, node: oir.Node) -> Any:
    data = s.input(node, 0)
    batch = attr(node, "batch_dims", 0)
    indices = _indices_nd(s, given(node, 1), data, batch)
    made = s.net.add_gather_v2(data, indices, s.trt.GatherMode.ND)
    return s.add(made, "", num_elementwise_dims=batch)


def _check_scatter_elements(facts: Facts, node: oir.Node) -> None:
    if scatter_reduce.reduces(node):
        scatter_reduce.check_elements(facts, node)


def _check_scatter_nd(facts: Facts, node: oir.Node) -> None:
    _tuple_length(facts, node)
    if scatter_reduce.reduces(node):
        scatter_reduce.check_nd(facts, node)


def _scatter(s: Scope, data: Any, indices: Any, updates: Any, mode: str, axis: int | None) -> Any:
    """8.6 does not scatter booleans."""
    boolean = s.type_of(data) == "BOOL" and not s.caps.bool_constants
    if boolean:
        data, updates = s.cast(data, "INT32"), s.cast(updates, "INT32")
    made = s.net.add_scatter(data, indices, updates, getattr(s.trt.ScatterMode, mode))
    result = s.add(made, "scatter" if boolean else "", None, **({} if axis is None else {"axis": axis}))
    return s.cast(result, "BOOL") if boolean else result


@operator("ScatterElements", types="FIB", check=_check_scatter_elements, note="reductions by comparing")
def scatter_elements(s: Scope, node: oir.Node) -> Any:
    data = s.input(node, 0)
    axis = axis_of(attr(node, "axis", 0), len(data.shape))
    indices = _indices(s, given(node, 1), data, axis, native=False)
    if scatter_reduce.reduces(node):
        return scatter_reduce.elements(s, node, indices)
    return _scatter(s, data, indices, s.input(node, 2), "ELEMENT", axis)


@operator("ScatterND", types="FIB", check=_check_scatter_nd, note="reductions by comparing")
def scatter_nd(s: Scope, node: oir.Node) -> Any:
    data = s.input(node, 0)
    indices = _indices_nd(s, given(node, 1), data, 0)
    if scatter_reduce.reduces(node):
        return scatter_reduce.nd(s, node, indices)
    return _scatter(s, data, indices, s.input(node, 2), "ND", None)


@operator("ReverseSequence", types="FIB")
def reverse_sequence(s: Scope, node: oir.Node) -> Any:
    made = s.net.add_reverse_sequence(s.input(node, 0), s.input(node, 1))
    return s.add(made, "", None, batch_axis=attr(node, "batch_axis", 1), sequence_axis=attr(node, "time_axis", 0))
