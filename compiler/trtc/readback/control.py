"""Loops and conditionals as ONNX Loop and If."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as oir

from trtc.readback.layers import Layer, refuse
from trtc.readback.regions import Conditional, Loop, Plan, Unit
from trtc.readback.scope import Scope
from trtc.readback.types import carried, tensor_type

_BOOL = oir.DataType.BOOL
_INT64 = oir.DataType.INT64

ReadUnits = Callable[[Sequence[Unit]], None]


def _fresh(scope: Scope, base: str, dtype: oir.DataType | None, shape: Sequence[int] = ()) -> oir.Value:
    """An input of a loop body; ONNX Runtime wants its shape, in which -1 is unknown."""
    value = oir.Value(name=scope.unique(base), shape=oir.Shape([int(d) if d >= 0 else None for d in shape]))
    if dtype is not None:
        value.type = oir.TensorType(dtype)
    return value


def _copied(scope: Scope, value: oir.Value) -> oir.Value:
    """An output of a subgraph is made in it."""
    return scope.op("Identity", value)


def conditional(scope: Scope, unit: Conditional, made: Plan, read: ReadUnits) -> None:
    """One If with an output for each output layer."""
    layer = unit.outputs[0] if unit.outputs else None
    if layer is None or unit.condition is None:
        return
    scope.layer = layer
    condition = scope.reshape(scope.get(unit.condition.inputs[0]))
    graphs: list[oir.Graph] = []
    for branch, region in enumerate(made.branches[unit]):
        with scope.body() as nodes:
            read(region.units)
            scope.layer = layer
            outputs = [_copied(scope, scope.get(output.inputs[branch])) for output in unit.outputs]
        name = scope.unique(f"{unit.name}/{'else' if branch else 'then'}")
        graphs.append(oir.Graph([], outputs, nodes=nodes, name=name))
    scope.layer = layer
    types = [carried(tensor_type(output.outputs[0])) for output in unit.outputs]
    values = scope.ops("If", (condition,), types, then_branch=graphs[0], else_branch=graphs[1])
    for output, value in zip(unit.outputs, values, strict=True):
        scope.bind(output, value)


def loop(scope: Scope, unit: Loop, made: Plan, read: ReadUnits) -> None:
    """One Loop: the recurrences are its state, and every stacked output is a scan output.

    WHILE is tested before each iteration with the recurrences of that time; ONNX wants the condition of the next
    iteration from this one. So what computes it is read twice: before the loop with the initial values, and at the
    end of the body with the next ones.
    """
    anchor = next(iter(unit.outputs), None)
    if anchor is None:
        return
    scope.layer = anchor
    count, condition = unit.limit("COUNT"), unit.limit("WHILE")
    if count is None and condition is None:
        raise refuse(anchor, "T0955", f"belongs to the loop `{unit.name}`, which has no trip limit")
    trips = scope.reshape(scope.cast(scope.get(count), _INT64)) if count is not None else None
    tested = _tested(unit, made, condition, anchor)
    initial = [scope.get(layer.inputs[0]) for layer in unit.recurrences]
    if condition is None:
        first = scope.scalar(1, _BOOL)
    else:
        first = _condition(scope, unit, condition, initial, None, trips, tested, read)

    stacked = [layer for layer in unit.outputs if layer.handle.kind.name != "LAST_VALUE"]
    iteration = _fresh(scope, f"{unit.name}/iteration", _INT64)
    going = _fresh(scope, f"{unit.name}/condition", _BOOL)
    states = [
        _fresh(scope, layer.name, value.dtype, layer.outputs[0].shape)
        for layer, value in zip(unit.recurrences, initial, strict=True)
    ]
    with scope.body() as nodes:
        _enter(scope, unit, states, unit.iterators, iteration, trips)
        read(made.bodies[unit].units)
        scope.layer = anchor
        following = [_next(scope, layer) for layer in unit.recurrences]
        rows = [_copied(scope, scope.get(layer.inputs[0])) for layer in stacked]
        if condition is None:
            again = _copied(scope, scope.op("Equal", iteration, iteration, dtype=_BOOL))
        else:
            after = scope.op("Add", iteration, scope.scalar(1, _INT64))
            again = _condition(scope, unit, condition, following, after, trips, tested, read)
            again = _copied(scope, again)
        outputs = [again, *(_copied(scope, value) for value in following), *rows]
    body = oir.Graph([iteration, going, *states], outputs, nodes=nodes, name=scope.unique(f"{unit.name}/body"))
    scope.layer = anchor
    types = [value.dtype for value in [*initial, *rows]]
    values = scope.ops("Loop", (trips, first, *initial), types, body=body)
    last = dict(zip((layer.outputs[0] for layer in unit.recurrences), values, strict=False))
    scans = dict(zip(stacked, values[len(initial) :], strict=True))
    for layer in unit.outputs:
        scope.layer = layer
        if layer in scans:
            scope.bind(layer, _stacked(scope, layer, scans[layer], count))
        elif layer.inputs[0] in last:
            scope.bind(layer, last[layer.inputs[0]])
        else:
            raise refuse(layer, "T0955", "gives the last value of a tensor that is not a recurrence")


def _next(scope: Scope, layer: Layer) -> oir.Value:
    if layer.input(1) is None:
        raise refuse(layer, "T0955", "is a recurrence without a next value")
    return scope.get(layer.inputs[1])


def _enter(
    scope: Scope,
    unit: Loop,
    states: Sequence[oir.Value],
    iterators: Sequence[Layer],
    iteration: oir.Value,
    trips: oir.Value | None,
) -> None:
    """Bind recurrences and iterators for the iteration with this number."""
    for layer, value in zip(unit.recurrences, states, strict=True):
        scope.values[layer.outputs[0]] = value
    for layer in iterators:
        scope.layer = layer
        number = iteration
        if layer.handle.reverse:
            if trips is None:
                raise refuse(layer, "T0955", "runs backwards in a loop without a trip count")
            number = scope.op("Sub", scope.op("Sub", trips, scope.scalar(1, _INT64)), iteration)
        scope.bind(layer, scope.op("Gather", scope.get(layer.inputs[0]), number, axis=int(layer.handle.axis)))


_Tested = tuple[list[Unit], list[Layer]]


def _tested(unit: Loop, made: Plan, condition: Any | None, anchor: Layer) -> _Tested:
    """What the WHILE condition needs in the body: units, in order, and iterators."""
    needed: set[Layer] = set()
    pending = [condition] if condition is not None else []
    while pending:
        layer = made.producers.get(pending.pop())
        if layer is None or layer in needed:
            continue
        needed.add(layer)
        if layer.kind not in ("RECURRENCE", "ITERATOR"):
            pending += [tensor for tensor in layer.inputs if tensor is not None]
    found: list[Unit] = []
    for candidate in made.bodies[unit].units:
        if isinstance(candidate, Layer):
            if candidate in needed:
                found.append(candidate)
        elif any(output in needed for output in candidate.outputs):
            raise refuse(anchor, "T0953", "belongs to a loop whose condition depends on a loop or conditional within")
    return found, [layer for layer in unit.iterators if layer in needed]


def _condition(
    scope: Scope,
    unit: Loop,
    condition: Any,
    states: Sequence[oir.Value],
    iteration: oir.Value | None,
    trips: oir.Value | None,
    tested: _Tested,
    read: ReadUnits,
) -> oir.Value:
    """The WHILE condition for the given recurrences, read apart from the body; `iteration` None is the first."""
    before = dict(scope.values)
    if iteration is None:
        iteration = scope.scalar(0, _INT64)
    elif trips is not None:
        # After the last iteration there is nothing to iterate over, and the condition no longer matters.
        iteration = scope.op("Min", iteration, scope.op("Sub", trips, scope.scalar(1, _INT64)))
    units, iterators = tested
    _enter(scope, unit, states, iterators, iteration, trips)
    read(units)
    scope.layer = unit.outputs[0]
    out = scope.reshape(scope.get(condition))
    scope.values = before
    return out


def _stacked(scope: Scope, layer: Layer, rows: oir.Value, count: Any | None) -> oir.Value:
    """Rows stacked along the output's axis, last first for REVERSE.

    Input 1 says how many rows there are. The loop may stop earlier; what TensorRT leaves in the rest is undefined,
    here it is zero.
    """
    length = layer.input(1)
    rank = len(layer.outputs[0].shape)
    if length is not None and length is not count:
        wanted = scope.reshape(scope.cast(scope.get(length), _INT64))
        short = scope.op("Max", scope.scalar(0, _INT64), scope.op("Sub", wanted, scope.dim(rows, 0)))
        zeros = scope.ints(*[0] * rank)
        ends = [zeros, scope.reshape(short, 1), *([scope.ints(*[0] * (rank - 1))] if rank > 1 else [])]
        dtype = rows.dtype
        rows = scope.op("Pad", scope.wide(rows), scope.op("Concat", *ends, axis=0), mode="constant")
        rows = scope.cast(rows, dtype) if dtype is not None else rows
    if layer.handle.kind.name == "REVERSE":
        minus_one = scope.ints(-1)
        rows = scope.op("Slice", rows, minus_one, scope.ints(-(1 << 62)), scope.ints(0), minus_one)
    axis = int(layer.handle.axis)
    if axis == 0:
        return rows
    return scope.op("Transpose", rows, perm=[*range(1, axis + 1), 0, *range(axis + 1, rank)])
