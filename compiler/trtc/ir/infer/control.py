"""If, Loop, Scan and SequenceMap: the bodies are inferred with what they are given."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as oir

from trtc.diagnostics import DiagnosticError
from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.fact import UNKNOWN, Fact
from trtc.ir.infer.op import Op, name_of, rule
from trtc.ir.infer.sequences import common_shape, fresh_unknowns
from trtc.ir.infer.walk import infer_graph

BOOL, INT64 = oir.DataType.BOOL, oir.DataType.INT64
_ROUNDS = 4
"""Passes over a loop's body until what it carries is stable; what is not by then is unknown."""


@rule("If")
def if_(op: Op) -> list[Fact]:
    branches = [op.graph("then_branch"), op.graph("else_branch")]
    for graph in branches:
        if len(graph.outputs) != op.outputs:
            op.fail("T0620", f"a branch of {op.label} has {len(graph.outputs)} outputs", f"the node has {op.outputs}")
    taken = op.number(0)
    results: list[list[Fact]] = []
    errors: list[DiagnosticError] = []
    for graph, when in zip(branches, (True, False), strict=True):
        try:
            facts = infer_graph(op.host, graph, ())
        except DiagnosticError as error:
            # A branch that cannot run is one that is never taken: exporters guard `Squeeze` with an If on the dim.
            errors.append(error)
            if taken is not None and bool(taken) == when:
                raise
            continue
        if taken is None or bool(taken) == when:
            results.append(facts)
    if not results:
        raise errors[0]
    if len(results) == 1:
        return results[0]
    return [_merged(op, a, b, at) for at, (a, b) in enumerate(zip(*results, strict=True))]


def _merged(op: Op, a: Fact, b: Fact, output: int) -> Fact:
    """What holds of both branches."""
    if a == b:
        return a
    if a.dtype is not None and b.dtype is not None and a.dtype != b.dtype and a.kind == b.kind:
        op.fail(
            "T0620",
            f"the branches of {op.label} give {name_of(a.dtype)} and {name_of(b.dtype)}",
            f"output {output} must have one dtype",
        )
    if a.kind != b.kind:
        return UNKNOWN
    value = a.value if a.value == b.value else None
    dtype = a.dtype if a.dtype == b.dtype else None
    return Fact(dtype, common_shape(op, a.shape, b.shape, output), value, kind=a.kind)


@rule("Loop", inputs=0)
def loop(op: Op) -> list[Fact]:
    """Inputs: trip count, condition, carried; body: iteration, condition, carried -> condition, carried, scanned."""
    body = op.graph("body")
    carried = list(op.facts[2:])
    count = len(carried)
    if len(body.inputs) != count + 2 or len(body.outputs) < count + 1 or len(body.outputs) - 1 != op.outputs:
        op.fail(
            "T0620",
            f"the body of {op.label} has {len(body.inputs)} inputs and {len(body.outputs)} outputs",
            f"for {count} carried values and {op.outputs} outputs",
        )
    first = [Fact(INT64, ()), Fact(BOOL, ())]
    state, outputs = _stable(op, body, carried, lambda facts: [*first, *facts], slice(1, count + 1))
    trips: Dim | None = None
    limit = op.elements(0) if op.has(0) else None
    if limit is not None and len(limit) == 1 and _goes_on(op, body):
        trips = dims.maximum(limit[0], 0)
    # The names of a scanned output's dims are the body's; the iterations need not agree in those that are unknown.
    scanned: list[Fact] = []
    for at, fact in enumerate(outputs[count + 1 :], start=count):
        size = op.unknown(0, at) if trips is None else trips
        scanned.append(_stacked(op, fact, size, at))
    return [*state, *scanned]


def _goes_on(op: Op, body: oir.Graph) -> bool:
    """Whether the condition can never end the loop before its trip count does."""
    if op.has(1) and op.number(1) != 1:
        return False
    condition: oir.Value | None = body.outputs[0]
    while condition is not None:
        node = condition.producer()
        if node is None or node.op_type != "Identity":
            break
        condition = node.inputs[0]
    if condition is body.inputs[1]:
        return True
    return condition is not None and op.host.facts.get(condition, UNKNOWN).value == (1,)


def _stacked(op: Op, fact: Fact, size: Dim, output: int) -> Fact:
    if fact.shape is None:
        return Fact(fact.dtype)
    inner = tuple(op.unknown(i + 1, output) if dims.unknowns(d) else d for i, d in enumerate(fact.shape))
    return Fact(fact.dtype, (size, *inner))


def _stable(
    op: Op, body: oir.Graph, start: list[Fact], given: Callable[[list[Fact]], list[Fact]], out: slice
) -> tuple[list[Fact], list[Fact]]:
    """The facts of what a loop carries that hold before the first and after every iteration, and the body's outputs."""
    # The value and dims of a carried tensor may change from one iteration to the next: only what stays may be used.
    state = [Fact(fact.dtype, fact.shape, kind=fact.kind) for fact in start]
    outputs: list[Fact] = []
    for attempt in range(_ROUNDS):
        outputs = infer_graph(op.host, body, given(state))
        after = outputs[out]
        changed = False
        for at, (old, new) in enumerate(zip(state, after, strict=True)):
            if old.dtype is not None and new.dtype is not None and old.dtype != new.dtype and old.kind == new.kind:
                op.fail(
                    "T0620",
                    f"{op.label} carries {name_of(old.dtype)} in and {name_of(new.dtype)} out",
                    f"value {at} that it carries must keep its dtype",
                )
            shape = common_shape(op, old.shape, new.shape, at)
            if attempt == _ROUNDS - 2:
                # Nothing is left to hope for: whatever still moves is given up, so that the last round holds.
                shape = shape if shape == old.shape else None
            made = Fact(old.dtype or new.dtype, shape, kind=old.kind)
            if made != old:
                state[at] = made
                changed = True
        if not changed:
            break
    return state, outputs


@rule("Scan", inputs=0)
def scan(op: Op) -> list[Fact]:
    """Inputs: state, scanned; body: state, elements -> state, elements."""
    body, scans = op.graph("body"), op.int("num_scan_inputs", 0)
    states = len(op.facts) - scans
    if states < 0 or len(body.inputs) != len(op.facts) or len(body.outputs) != op.outputs:
        op.fail("T0620", f"the body of {op.label} has {len(body.inputs)} inputs and {len(body.outputs)} outputs")
    axes = op.ints("scan_input_axes") or (0,) * scans
    size: Dim | None = None
    elements: list[Fact] = []
    for fact, axis in zip(op.facts[states:], axes, strict=False):
        x = fact.shape
        if x is None:
            elements.append(Fact(fact.dtype))
            continue
        at = op.normal(axis, len(x)) or 0
        size = x[at] if size is None or not isinstance(size, int) else size
        elements.append(Fact(fact.dtype, (*x[:at], *x[at + 1 :])))
    state, outputs = _stable(op, body, list(op.facts[:states]), lambda facts: [*facts, *elements], slice(0, states))
    out_axes = op.ints("scan_output_axes") or (0,) * (op.outputs - states)
    made: list[Fact] = []
    for at, (fact, axis) in enumerate(zip(outputs[states:], out_axes, strict=False), start=states):
        stacked = _stacked(op, fact, op.unknown(0, at) if size is None else size, at)
        if stacked.shape is not None:
            place = op.normal(axis, len(stacked.shape)) or 0
            first, *rest = stacked.shape
            stacked = Fact(stacked.dtype, (*rest[:place], first, *rest[place:]))
        made.append(stacked)
    return [*state, *made]


@rule("SequenceMap")
def sequence_map(op: Op) -> list[Fact]:
    body = op.graph("body")
    if len(body.inputs) != len(op.facts) or len(body.outputs) != op.outputs:
        op.fail("T0620", f"the body of {op.label} has {len(body.inputs)} inputs and {len(body.outputs)} outputs")
    given = [Fact(fact.dtype, fresh_unknowns(op, fact.shape)) if fact.kind == "sequence" else fact for fact in op.facts]
    return [Fact(fact.dtype, fact.shape, kind="sequence") for fact in infer_graph(op.host, body, given)]
