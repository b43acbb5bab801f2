"""Scatters that add, multiply, or keep the larger or smaller: TensorRT's scatter only overwrites.

Every update is compared with every place, and what meets there is reduced. No order of updates matters.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import BOOLS, Facts, attr, axis_of, given, refuse
from trtc.emit.scope import Scope

#: By `reduction`: the layer of two operands, and what changes nothing.
_OPERATIONS = {"add": ("SUM", 0.0), "mul": ("PROD", 1.0), "max": ("MAX", -math.inf), "min": ("MIN", math.inf)}

#: Updates times places; more would not fit a GPU.
_MOST = 2**28


def reduces(node: oir.Node) -> bool:
    return attr(node, "reduction", "none") != "none"


def check_elements(facts: Facts, node: oir.Node) -> None:
    data, indices = facts.shape(given(node, 0)), facts.shape(given(node, 1))
    axis = axis_of(attr(node, "axis", 0), len(data))
    _check(facts, node, [*data, indices[axis]])
    if any(a != b for at, (a, b) in enumerate(zip(data, indices, strict=True)) if at != axis):
        refuse("a reduction where the indices do not cover the other axes of the data")


def check_nd(facts: Facts, node: oir.Node) -> None:
    data, indices = facts.shape(given(node, 0)), facts.shape(given(node, 1))
    length = indices[-1]
    assert isinstance(length, int)
    _check(facts, node, [*data, *indices[:-1]])
    if not all(isinstance(size, int) for size in data[1:length]):
        refuse("a reduction at places of an axis whose length is not known when the network is built")


def _check(facts: Facts, node: oir.Node, sizes: list[Any]) -> None:
    if attr(node, "reduction") not in _OPERATIONS:
        refuse(f"reduction={attr(node, 'reduction')}")
    if facts.dtype(given(node, 0)) in BOOLS:
        refuse(f"reduction={attr(node, 'reduction')} of bool")
    numbers = math.prod(size for size in sizes if isinstance(size, int))
    if numbers > _MOST:
        refuse(f"a reduction that compares updates with places {numbers:,} times")


def elements(s: Scope, node: oir.Node, indices: Any) -> Any:
    """ScatterElements; `indices` have no negative number. The axis becomes the last one."""
    data, updates = s.input(node, 0), s.input(node, 2)
    rank = len(data.shape)
    axis = axis_of(attr(node, "axis", 0), rank)
    order = [*(at for at in range(rank) if at != axis), axis]
    size = s.sizes(data)[axis]
    data, indices, updates = (
        s.transpose(t, order, f"{name}/axis_last")
        for t, name in ((data, "data"), (indices, "indices"), (updates, "updates"))
    )
    places = s.linspace(size, 0, 1, s.type_of(indices), "places")
    places = s.unsqueeze(places, range(rank), "places/rank")
    here = s.elementwise("EQUAL", s.unsqueeze(indices, [rank], "indices/rank"), places, "here")
    met = _reduced(s, node, data, here, s.unsqueeze(updates, [rank], "updates/rank"), rank - 1)
    back = [order.index(at) for at in range(rank)]
    return s.transpose(met, back, "axis_back")


def nd(s: Scope, node: oir.Node, indices: Any) -> Any:
    """ScatterND; `indices` have no negative number. Places become rows: [places, rest]."""
    data_value, indices_value = given(node, 0), given(node, 1)
    shape, of_indices = s.shape(data_value), s.shape(indices_value)
    length = of_indices[-1]
    assert isinstance(length, int)
    inner = [size for size in shape[1:length] if isinstance(size, int)]
    strides = [math.prod(inner[at:]) for at in range(length)]
    places, rest, count = _product(shape[:length]), _product(shape[length:]), _product(of_indices[:-1])
    kind = s.type_of(indices)
    factors = s.constant(np.asarray(strides), kind, "strides", (1, length))
    rows = s.elementwise("PROD", s.reshape(indices, [count, length], "tuples"), factors, "offsets")
    rows = s.reduce("SUM", rows, [1], True, "rows")
    rows = s.unsqueeze(rows, [2], "rows/rank")
    numbers = s.unsqueeze(s.linspace(places, 0, 1, kind, "places"), [0, 2], "places/rank")
    here = s.elementwise("EQUAL", rows, numbers, "here")
    updates = s.reshape(s.input(node, 2), [count, 1, rest], "updates/rows")
    met = _reduced(s, node, s.reshape(s.tensor(data_value), [places, rest], "data/rows"), here, updates, 0)
    return s.reshape(met, list(shape), "rows_back")


def _product(sizes: Any) -> Any:
    result: Any = 1
    for size in sizes:
        result = result * size
    return result


def _reduced(s: Scope, node: oir.Node, data: Any, here: Any, updates: Any, axis: int) -> Any:
    """`data` with the updates that are `here`, along `axis` of these; sums and products of halves in float32."""
    operation, nothing = _OPERATIONS[attr(node, "reduction")]
    dtype = s.type_of(data)
    data, updates = s.in_f32(data), s.in_f32(updates)
    if dtype in ("INT32", "INT64") and math.isinf(nothing):
        limits = np.iinfo(np.int32 if dtype == "INT32" else np.int64)
        neutral = s.scalar(int(limits.min if nothing < 0 else limits.max), updates, "nothing")
    else:
        neutral = s.scalar(nothing, updates, "nothing")
    met = s.reduce(operation, s.select(here, updates, neutral, "met"), [axis], False, "reduced")
    return s.cast(s.elementwise(operation, data, met, "combined"), dtype)
