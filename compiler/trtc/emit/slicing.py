"""Slice and Split."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, input_at, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.emit.shaping import Unknown
from trtc.ir import dims as d

#: Further than any dim reaches.
_FAR = 2**31 - 1


def _axes_steps(facts: Facts, node: oir.Node) -> tuple[list[int], list[int]]:
    rank = facts.rank(given(node, 0))
    starts = facts.static(given(node, 1))
    if starts is None:
        refuse("the number of sliced axes is not known when the network is built")
    axes = facts.ints(input_at(node, 3), "the axes") or tuple(range(starts[0]))
    steps = facts.ints(input_at(node, 4), "the steps") or (1,) * starts[0]
    return [axis_of(a, rank) for a in axes], list(steps)


def _check_slice(facts: Facts, node: oir.Node) -> None:
    _axes_steps(facts, node)


@operator("Slice", types="FIB", check=_check_slice)
def slice_(s: Scope, node: oir.Node) -> Any:
    """Starts and ends are clamped as ONNX says: here where they are numbers or expressions, else in the network."""
    value = given(node, 0)
    x = s.tensor(value)
    dims = s.shape(value)
    axes, steps = _axes_steps(s, node)
    starts, ends = s.elements(given(node, 1)), s.elements(given(node, 2))
    ranges: dict[int, tuple[Any, Any, Any]] = {}
    for at, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        found = None
        if starts is not None and ends is not None:
            found = _known(s, starts[at], ends[at], step, dims[axis])
        if found is None:
            found = _computed(s, given(node, 1), given(node, 2), at, step, x, axis)
        start, size = found
        if start == 0 and step == 1 and (size is dims[axis] or size == dims[axis]):
            continue
        ranges[axis] = (start, size, step)
    return s.slice(x, ranges, "") if ranges else x


def _known(s: Scope, start: d.Dim, end: d.Dim, step: int, dim: d.Dim) -> tuple[Any, Any] | None:
    """Start and size; None when an expression may be of either sign or has no tensor to be computed from.

    A negative number counts from the end; then for a positive step both are clamped to [0, dim], for a negative
    step the start to [0, dim - 1] and the end to [-1, dim - 1].
    """
    first, last = _from_end(start, dim), _from_end(end, dim)
    if first is None or last is None:
        return None
    if step > 0:
        first = d.minimum(d.maximum(first, 0), dim)
        last = d.minimum(d.maximum(last, 0), dim)
        size = d.maximum(d.ceildiv(last - first, step), 0)
    else:
        first = d.minimum(d.maximum(first, 0), dim - 1)
        last = d.minimum(d.maximum(last, -1), dim - 1)
        size = d.maximum(d.ceildiv(first - last, -step), 0)
    try:
        for part in (first, size):
            if not isinstance(part, int):
                s.dim(part)
    except Unknown:
        return None
    return first, size


def _from_end(index: d.Dim, dim: d.Dim) -> d.Dim | None:
    if isinstance(index, int) and abs(index) >= _FAR:
        # "As far as it goes": numbers next to the end of int64 are not for arithmetic.
        return dim if index > 0 else -1
    low, high = d.bounds(index)
    if low is not None and low >= 0:
        return index
    if high is not None and high < 0:
        return index + dim
    return None


def _computed(s: Scope, starts: oir.Value, ends: oir.Value, at: int, step: int, x: Any, axis: int) -> tuple[Any, Any]:
    """The same in the network, for indices that are computed at run time."""
    dim = s.dim_of(x, axis)
    zero, one = s.shape_constant([0]), s.shape_constant([1])
    ends_of = []
    for value in (starts, ends):
        array = s.array(value)
        if array is not None:
            # "As far as it goes" is the largest number of the model's type, which may not be one of the engine's.
            index = s.shape_constant([int(np.clip(array.reshape(-1)[at], -_FAR, _FAR))])
        else:
            tensor = s.tensor(value)
            if tuple(tensor.shape) != (1,):
                tensor = s.add(s.net.add_slice(tensor, (at,), (1,), (1,)), "index")
            index = s.cast(tensor, s.caps.shape_dtype)
        behind = s.arithmetic("SUM", index, dim)
        ends_of.append(s.select(s.arithmetic("LESS", index, zero), behind, index, "from_end"))
    first, last = ends_of
    if step > 0:
        first, last = (s.arithmetic("MIN", s.arithmetic("MAX", v, zero), dim) for v in (first, last))
        span = s.arithmetic("SUB", last, first)
    else:
        top = s.arithmetic("SUB", dim, one)
        first = s.arithmetic("MIN", s.arithmetic("MAX", first, zero), top)
        last = s.arithmetic("MIN", s.arithmetic("MAX", last, s.shape_constant([-1])), top)
        span = s.arithmetic("SUB", first, last)
    if abs(step) != 1:
        more = s.arithmetic("SUM", span, s.shape_constant([abs(step) - 1]))
        span = s.arithmetic("FLOOR_DIV", more, s.shape_constant([abs(step)]))
    return first, s.arithmetic("MAX", span, zero, "size")


def _check_split(facts: Facts, node: oir.Node) -> None:
    sizes = input_at(node, 1)
    if sizes is not None and facts.static(sizes) is None:
        refuse(f"the number of elements of `{sizes.name}` is not known when the network is built")


@operator("Split", types="FIB", check=_check_split)
def split(s: Scope, node: oir.Node) -> Any:
    """One slice per output that is used."""
    value = given(node, 0)
    x = s.tensor(value)
    axis = axis_of(attr(node, "axis", 0), s.rank(value))
    total = s.shape(value)[axis]
    sizes_value = input_at(node, 1)
    sizes = s.elements(sizes_value)
    outputs: list[Any] = []
    start: Any = 0
    for at, output in enumerate(node.outputs):
        size: Any = sizes[at] if sizes is not None else s.shape(output)[axis]
        if size is total or size == total:
            outputs.append(x)
        else:
            outputs.append(s.slice(x, {axis: (start, size, 1)}, str(at)))
        start = start + size
    return tuple(outputs)
