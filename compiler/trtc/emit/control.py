"""If as a conditional, Loop and Scan as loops.

TensorRT's network is flat: branches and bodies are emitted into it like any other nodes, and only layers at their
edges say that they are one.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, input_at, refuse, used
from trtc.emit.nodes import emit_nodes
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.ir.nesting import subgraphs

_MOST = 2**31 - 1


def _branches(node: oir.Node) -> tuple[oir.Graph, oir.Graph]:
    return attr(node, "then_branch"), attr(node, "else_branch")


def _check_if(facts: Facts, node: oir.Node) -> None:
    for at, value in enumerate(node.outputs):
        if not used(node, at):
            continue
        ranks = [facts.rank(graph.outputs[at]) for graph in _branches(node)]
        if ranks[0] != ranks[1]:
            refuse(
                f"`{value.name}` has rank {ranks[0]} from one branch and {ranks[1]} from the other",
                "freeze what the condition depends on, so that the branch can be chosen before",
            )


def _captured(graphs: list[oir.Graph]) -> list[oir.Value]:
    """Values from around that nodes in the graphs, or in graphs within them, take; without constants of the graphs."""
    inside: set[oir.Value] = set()
    found: dict[oir.Value, None] = {}
    pending = list(graphs)
    while pending:
        graph = pending.pop()
        inside.update(graph.inputs, graph.initializers.values())
        found.update((value, None) for value in graph.outputs)
        for node in graph:
            inside.update(node.outputs)
            found.update((value, None) for value in node.inputs if value is not None)
            pending += subgraphs(node)
    return [value for value in found if value not in inside]


@operator("If", types="B", check=_check_if)
def if_(s: Scope, node: oir.Node) -> Any:
    """What the branches take from around goes through input layers: only layers behind those are left out with it."""
    graphs = _branches(node)
    conditional = s.net.add_if_conditional()
    condition = s.reshape(s.input(node, 0), [], "condition")
    s.layer(conditional.set_condition(condition), "if")
    outer = {v: s.tensor(v) for v in _captured(list(graphs)) if s.array(v) is None}
    inputs = {v: s.add(conditional.add_input(t), f"input/{v.name}") for v, t in outer.items()}
    wanted = [at for at in range(len(node.outputs)) if used(node, at)]
    sides: list[list[Any]] = []
    for graph, name in zip(graphs, ("then", "else"), strict=True):
        with s.inner(), s.bound(inputs):
            emit_nodes(s, graph)
            # Of each branch a layer of its own: an output may be a constant, or come straight from around.
            sides.append([s.add(s.net.add_identity(s.tensor(graph.outputs[at])), name) for at in wanted])
    outputs: list[Any] = [None] * len(node.outputs)
    for at, then, otherwise in zip(wanted, *sides, strict=True):
        outputs[at] = s.add(conditional.add_output(then, otherwise), f"output/{node.outputs[at].name}")
    return tuple(outputs)


# ---- Loop


def _goes_on(facts: Facts, node: oir.Node) -> bool:
    """Whether the condition is true at first and stays so."""
    body: oir.Graph = attr(node, "body")
    first = input_at(node, 1)
    if first is not None and not facts.number(first):
        return False
    after: oir.Value | None = body.outputs[0]
    while after is not None and (made := after.producer()) is not None and made.op_type == "Identity":
        after = made.inputs[0]
    return after is body.inputs[1] or bool(after is not None and facts.number(after))


def _limit(facts: Facts, node: oir.Node) -> int | None:
    """The trip count where it is a number, None where it is not known; the largest where there is none."""
    value = input_at(node, 0)
    if value is None:
        return _MOST
    found = facts.elements(value)
    if found is not None and len(found) == 1 and isinstance(found[0], int):
        return min(max(found[0], 0), _MOST)
    return None


def _check_loop(facts: Facts, node: oir.Node) -> None:
    body: oir.Graph = attr(node, "body")
    states = len(node.inputs) - 2
    for at, (state, after) in enumerate(zip(body.inputs[2:], body.outputs[1:], strict=False)):
        _same_shape(facts, given(node, at + 2), state, after)
    scans = [at for at in range(states, len(node.outputs)) if used(node, at)]
    if scans and not _goes_on(facts, node):
        refuse("outputs that grow with each iteration of a loop that ends by a condition")
    if scans and _limit(facts, node) == _MOST:
        refuse("outputs that grow with each iteration of a loop without an end")
    if _goes_on(facts, node) and _limit(facts, node) == _MOST:
        refuse("a loop without an end")


def _same_shape(facts: Facts, first: oir.Value, state: oir.Value, after: oir.Value) -> None:
    """Inference gives up the dims of a state that one iteration leaves otherwise than it found them."""
    if facts.rank(first) != facts.rank(after) or facts.shape(first) != facts.shape(state):
        refuse(f"`{state.name}` may change its shape from one iteration to the next")


@operator("Loop", typed=(), check=_check_loop)
def loop(s: Scope, node: oir.Node) -> Any:
    """The states are recurrences. A condition is one too, since it is tested before each iteration.

    A trip count that is computed is part of the condition where nothing is stacked: TensorRT takes the trip count
    from shapes only.
    """
    body: oir.Graph = attr(node, "body")
    made = s.net.add_loop()
    limit, goes_on = _limit(s, node), _goes_on(s, node)
    states = len(node.inputs) - 2
    stacked = any(used(node, at) for at in range(states, len(node.outputs)))
    count: Any = None
    if limit is not None and limit != _MOST:
        count = s.constant(np.asarray(limit, np.int32), "INT32", "trips", ())
    elif limit is None and stacked:
        count = _count(s, s.reshape(s.input(node, 0), [], "trips"))
    if count is not None:
        s.layer(made.add_trip_limit(count, s.trt.TripLimit.COUNT), "count")
    tested = limit is None and not stacked
    number: Any = None
    if tested or body.inputs[0].uses():
        number = _Recurrence(
            s, made, s.constant(np.asarray(0, np.int64), s.engine_type(body.inputs[0]), "first", ()), "i"
        )
    condition: _Recurrence | None = None
    if not goes_on:
        value = input_at(node, 1)
        first = s.constant(np.asarray(True), "BOOL", "going", ()) if value is None else s.tensor(value)
        condition = _Recurrence(s, made, s.reshape(first, [], "condition"), "condition")
    carried = [_Recurrence(s, made, s.input(node, at + 2), body.inputs[at + 2].name or "state") for at in range(states)]
    while_ = condition.now if condition is not None else None
    if tested:
        # Not a constant or a shape, but any tensor: it is compared before each iteration.
        all_ = s.reshape(s.input(node, 0), [], "trips")
        more = s.elementwise("LESS", number.now, s.cast(all_, s.type_of(number.now)), "more")
        while_ = more if while_ is None else s.elementwise("AND", more, while_, "while")
    if while_ is not None:
        s.layer(made.add_trip_limit(while_, s.trt.TripLimit.WHILE), "while")

    taken = {value: state.now for value, state in zip(body.inputs[2:], carried, strict=True)}
    if number is not None:
        taken[body.inputs[0]] = number.now
    if condition is not None:
        taken[body.inputs[1]] = condition.now
    elif body.inputs[1].uses():
        taken[body.inputs[1]] = s.constant(np.asarray(True), "BOOL", "going", ())
    with s.inner(), s.bound(taken):
        emit_nodes(s, body)
        for state, value in zip(carried, body.outputs[1:], strict=False):
            state.then(s.tensor(value))
        if condition is not None:
            condition.then(s.reshape(s.tensor(body.outputs[0]), [], "condition"))
        if number is not None:
            number.then(s.elementwise("SUM", number.now, s.scalar(1, number.now), "next"))
        rows = [s.tensor(value) for value in body.outputs[1 + states :]]
    outputs = [state.last() if used(node, at) else None for at, state in enumerate(carried)]
    kind = s.trt.LoopOutput.CONCATENATE
    outputs += [
        s.add(made.add_loop_output(row, kind, 0), "stacked", {1: count}) if used(node, states + at) else None
        for at, row in enumerate(rows)
    ]
    return tuple(outputs)


def _count(s: Scope, trips: Any) -> Any:
    """A number of iterations as TensorRT takes it: an int32 scalar, not below 0."""
    low = s.elementwise("MAX", trips, s.scalar(0, trips), "trips/low")
    if s.type_of(low) == "INT64":
        low = s.elementwise("MIN", low, s.scalar(_MOST, low), "trips/high")
    return s.cast(low, "INT32", "trips/cast")


class _Recurrence:
    """A tensor that each iteration takes from the one before."""

    def __init__(self, s: Scope, loop: Any, first: Any, part: str) -> None:
        self._s = s
        self._loop = loop
        self._part = part
        self._layer = s.layer(loop.add_recurrence(first), part)
        self.now = self._layer.get_output(0)

    def then(self, tensor: Any) -> None:
        """What the next iteration takes."""
        # A layer of its own: the tensor may come from around, or be another recurrence.
        self._layer.set_input(1, self._s.add(self._s.net.add_identity(tensor), f"{self._part}/next"))

    def last(self) -> Any:
        """The value after the last iteration; the first value when there was none."""
        kind = self._s.trt.LoopOutput.LAST_VALUE
        return self._s.add(self._loop.add_loop_output(self.now, kind, 0), f"{self._part}/last")


# ---- Scan


def _check_scan(facts: Facts, node: oir.Node) -> None:
    body: oir.Graph = attr(node, "body")
    for at in range(_states(node)):
        _same_shape(facts, given(node, at), body.inputs[at], body.outputs[at])
    for at in range(_states(node), len(node.inputs)):
        facts.rank(given(node, at))


def _states(node: oir.Node) -> int:
    return len(node.inputs) - attr(node, "num_scan_inputs")


@operator("Scan", typed=(), check=_check_scan)
def scan(s: Scope, node: oir.Node) -> Any:
    """Iterators over the scanned inputs, forwards or backwards along their axes."""
    body: oir.Graph = attr(node, "body")
    states = _states(node)
    made = s.net.add_loop()
    scanned = [s.input(node, at) for at in range(states, len(node.inputs))]
    axes = attr(node, "scan_input_axes") or (0,) * len(scanned)
    axes = [axis_of(axis, len(t.shape)) for axis, t in zip(axes, scanned, strict=True)]
    backwards = attr(node, "scan_input_directions") or (0,) * len(scanned)
    size = s.sizes(scanned[0])[axes[0]]
    if isinstance(size, int):
        count = s.constant(np.asarray(size, np.int32), "INT32", "trips", ())
    else:
        count = s.cast(s.reshape(size, [], "trips"), "INT32", "trips/cast")
    s.layer(made.add_trip_limit(count, s.trt.TripLimit.COUNT), "count")
    carried = [_Recurrence(s, made, s.input(node, at), body.inputs[at].name or "state") for at in range(states)]
    taken = {value: state.now for value, state in zip(body.inputs[:states], carried, strict=True)}
    for value, tensor, axis, back in zip(body.inputs[states:], scanned, axes, backwards, strict=True):
        taken[value] = s.add(made.add_iterator(tensor, axis, bool(back)), f"element/{value.name}")
    with s.inner(), s.bound(taken):
        emit_nodes(s, body)
        for state, value in zip(carried, body.outputs, strict=False):
            state.then(s.tensor(value))
        rows = [s.tensor(value) for value in body.outputs[states:]]
    outputs = [state.last() if used(node, at) else None for at, state in enumerate(carried)]
    to = attr(node, "scan_output_axes") or (0,) * len(rows)
    ways = attr(node, "scan_output_directions") or (0,) * len(rows)
    for at, (row, axis, back) in enumerate(zip(rows, to, ways, strict=True)):
        if not used(node, states + at):
            outputs.append(None)
            continue
        kind = s.trt.LoopOutput.REVERSE if back else s.trt.LoopOutput.CONCATENATE
        place = axis_of(axis, len(row.shape) + 1)
        outputs.append(s.add(made.add_loop_output(row, kind, place), "stacked", {1: count}))
    return tuple(outputs)
