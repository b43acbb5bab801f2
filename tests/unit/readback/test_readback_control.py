"""Loops and conditionals."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir
import pytest

from trtc.diagnostics import DiagnosticError


def scalar(net: Any, value: Any, dtype: Any = np.int32) -> Any:
    return net.network.add_constant((), np.array(value, dtype)).get_output(0)


def binary(net: Any, a: Any, b: Any, op: str = "SUM") -> Any:
    return net.network.add_elementwise(a, b, getattr(net.trt.ElementWiseOperation, op)).get_output(0)


def unary(net: Any, a: Any, op: str) -> Any:
    return net.network.add_unary(a, getattr(net.trt.UnaryOperation, op)).get_output(0)


def operators(graph: oir.Graph) -> list[str]:
    return [node.op_type for node in graph]


def test_counted_loop_with_every_kind_of_output(net: Any) -> None:
    """state doubles and takes a row of x; rows come stacked along axes 0 and 1, forward and in reverse."""
    x, start = net.input((-1, 2)), net.input((2,))
    shape = net.network.add_shape(x).get_output(0)
    count = net.network.add_gather(shape, scalar(net, 0), 0).get_output(0)
    loop = net.network.add_loop()
    loop.add_trip_limit(count, net.trt.TripLimit.COUNT)
    row = loop.add_iterator(x, 0, False).get_output(0)
    state = loop.add_recurrence(start)
    doubled = binary(net, state.get_output(0), state.get_output(0))
    after = binary(net, doubled, row)
    state.set_input(1, after)
    kinds = net.trt.LoopOutput
    outs = [loop.add_loop_output(state.get_output(0), kinds.LAST_VALUE, 0)]
    for value, kind, axis in (
        (after, kinds.CONCATENATE, 0),
        (after, kinds.REVERSE, 1),
        (doubled, kinds.CONCATENATE, 1),
    ):
        out = loop.add_loop_output(value, kind, axis)
        out.set_input(1, count)
        outs.append(out)

    def expected(x: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
        rows, doubles = [], []
        for line in x:
            doubles.append(s * 2)
            s = s * 2 + line
            rows.append(s)
        return s, np.stack(rows), np.stack(rows[::-1], 1), np.stack(doubles, 1)

    cases = [(np.arange(n * 2, dtype=np.float32).reshape(n, 2), np.array([1, -1], np.float32)) for n in (1, 4)]
    model = net.check([o.get_output(0) for o in outs], expected, *cases)
    assert operators(model.graph).count("Loop") == 1
    assert operators(model.graph).count("Gather") == 1  # that of the shape; the iterator's is in the body


def test_no_iterations_give_the_initial_state(net: Any) -> None:
    start, count = net.input((2,)), net.input((), np.int32)
    loop = net.network.add_loop()
    loop.add_trip_limit(count, net.trt.TripLimit.COUNT)
    state = loop.add_recurrence(start)
    state.set_input(1, binary(net, state.get_output(0), state.get_output(0)))
    out = loop.add_loop_output(state.get_output(0), net.trt.LoopOutput.LAST_VALUE, 0).get_output(0)
    data = np.array([3, 5], np.float32)
    net.check(out, lambda s, n: s * 2.0**n, *[(data, np.array(n, np.int32)) for n in (0, 1, 5)])


def test_iterator_that_runs_backwards_along_another_axis(net: Any) -> None:
    x = net.input((2, 3))
    count = scalar(net, 3)
    loop = net.network.add_loop()
    loop.add_trip_limit(count, net.trt.TripLimit.COUNT)
    column = loop.add_iterator(x, 1, True).get_output(0)
    out = loop.add_loop_output(column, net.trt.LoopOutput.CONCATENATE, 0)
    out.set_input(1, count)
    net.check(out.get_output(0), lambda x: x[:, ::-1].T, (np.arange(6, dtype=np.float32).reshape(2, 3),))


@pytest.mark.parametrize("counted", [False, True])
def test_condition_is_tested_before_each_iteration(net: Any, counted: bool) -> None:
    """While state < limit: state = 2 state; the condition is computed in the body from the state."""
    start, limit = net.input((1,)), net.input((1,))
    loop = net.network.add_loop()
    if counted:
        loop.add_trip_limit(scalar(net, 2), net.trt.TripLimit.COUNT)
    state = loop.add_recurrence(start)
    less = binary(net, state.get_output(0), limit, "LESS")
    shuffle = net.network.add_shuffle(less)
    shuffle.reshape_dims = ()
    loop.add_trip_limit(shuffle.get_output(0), net.trt.TripLimit.WHILE)
    state.set_input(1, binary(net, state.get_output(0), state.get_output(0)))
    last = loop.add_loop_output(state.get_output(0), net.trt.LoopOutput.LAST_VALUE, 0)
    rows = loop.add_loop_output(state.get_output(0), net.trt.LoopOutput.CONCATENATE, 0)
    rows.set_input(1, scalar(net, 6))

    def expected(state: np.ndarray, limit: np.ndarray) -> tuple[np.ndarray, ...]:
        seen: list[np.ndarray] = []
        while state[0] < limit[0] and len(seen) < (2 if counted else 99):
            seen.append(state)
            state = state * 2
        rows = np.zeros((6, 1), np.float32)  # what is not written is zero
        rows[: len(seen)] = np.array(seen).reshape(-1, 1)
        return state, rows

    cases = [(np.array([a], np.float32), np.array([b], np.float32)) for a, b in ((1, 10), (3, 3), (1, 2), (1, 33))]
    net.check([last.get_output(0), rows.get_output(0)], expected, *cases)


def test_condition_that_is_a_recurrence(net: Any) -> None:
    """As ONNX has it: the condition is carried, and the first is an input."""
    start, first = net.input((1,)), net.input((), np.bool_)
    loop = net.network.add_loop()
    state, going = loop.add_recurrence(start), loop.add_recurrence(first)
    loop.add_trip_limit(going.get_output(0), net.trt.TripLimit.WHILE)
    after = binary(net, state.get_output(0), net.constant([1], np.float32))
    state.set_input(1, after)
    shuffle = net.network.add_shuffle(binary(net, after, net.constant([5], np.float32), "LESS"))
    shuffle.reshape_dims = ()
    going.set_input(1, shuffle.get_output(0))
    out = loop.add_loop_output(state.get_output(0), net.trt.LoopOutput.LAST_VALUE, 0).get_output(0)

    def expected(x: np.ndarray, go: np.ndarray) -> np.ndarray:
        return np.array([max(5, x[0] + 1)]) if go else x

    cases = [(np.array([a], np.float32), np.array(g)) for a, g in ((1, True), (1, False), (9, True))]
    net.check(out, expected, *cases)


def test_nested_loops_where_the_inner_body_uses_the_outer_iterator(net: Any) -> None:
    """total of x[i] * y[j] over i and j; no input of the inner loop depends on the outer one but its state."""
    x, y = net.input((3,)), net.input((4,))
    outer, inner = net.network.add_loop(), net.network.add_loop()
    outer.add_trip_limit(scalar(net, 3), net.trt.TripLimit.COUNT)
    a = outer.add_iterator(x, 0, False).get_output(0)
    total = outer.add_recurrence(scalar(net, 0, np.float32))
    inner.add_trip_limit(scalar(net, 4), net.trt.TripLimit.COUNT)
    b = inner.add_iterator(y, 0, False).get_output(0)
    part = inner.add_recurrence(scalar(net, 0, np.float32))
    part.set_input(1, binary(net, part.get_output(0), binary(net, a, b, "PROD")))
    got = inner.add_loop_output(part.get_output(0), net.trt.LoopOutput.LAST_VALUE, 0).get_output(0)
    total.set_input(1, binary(net, total.get_output(0), got))
    out = outer.add_loop_output(total.get_output(0), net.trt.LoopOutput.LAST_VALUE, 0).get_output(0)
    case = (np.array([1, 2, 3], np.float32), np.array([1, 10, 100, 1000], np.float32))
    model = net.check(out, lambda x, y: x.sum() * y.sum(), case)
    (loop,) = [node for node in model.graph if node.op_type == "Loop"]
    assert operators(loop.attributes["body"].as_graph()).count("Loop") == 1


def test_what_does_not_change_in_a_loop_is_computed_before_it(net: Any) -> None:
    x, count = net.input((2,)), scalar(net, 3)
    loop = net.network.add_loop()
    loop.add_trip_limit(count, net.trt.TripLimit.COUNT)
    state = loop.add_recurrence(x)
    state.set_input(1, binary(net, state.get_output(0), unary(net, x, "EXP")))
    out = loop.add_loop_output(state.get_output(0), net.trt.LoopOutput.LAST_VALUE, 0).get_output(0)
    model = net.check(out, lambda x: x + 3 * np.exp(x), (np.array([0, 1], np.float32),))
    assert operators(model.graph).count("Exp") == 1


def test_loops_that_are_not_finished_are_refused(net: Any) -> None:
    loop = net.network.add_loop()
    loop.add_trip_limit(scalar(net, 3), net.trt.TripLimit.COUNT)
    state = loop.add_recurrence(net.input((2,)))
    net.out(loop.add_loop_output(state.get_output(0), net.trt.LoopOutput.LAST_VALUE, 0).get_output(0))
    with pytest.raises(DiagnosticError, match=r"T095[56]"):
        net.read()


def test_condition_that_a_conditional_computes_is_refused_by_name(net: Any) -> None:
    loop = net.network.add_loop()
    state = loop.add_recurrence(net.input(()))
    now = state.get_output(0)
    conditional = net.network.add_if_conditional()
    conditional.set_condition(binary(net, now, scalar(net, 0, np.float32), "GREATER"))
    less = [binary(net, now, scalar(net, limit, np.float32), "LESS") for limit in (5, -5)]
    loop.add_trip_limit(conditional.add_output(*less).get_output(0), net.trt.TripLimit.WHILE)
    state.set_input(1, binary(net, now, now))
    out = loop.add_loop_output(now, net.trt.LoopOutput.LAST_VALUE, 0)
    out.name = "last"
    net.out(out.get_output(0))
    with pytest.raises(DiagnosticError, match="T0953") as caught:
        net.read()
    assert caught.value.diagnostics[0].node == "last"


def test_conditional_computes_only_the_branch_that_is_taken(net: Any) -> None:
    """The other branch would read outside of its data."""
    c, x, index = net.input((), np.bool_), net.input((3,)), net.input((1,), np.int32)
    conditional = net.network.add_if_conditional()
    conditional.set_condition(c)
    inner = conditional.add_input(x).get_output(0)
    then = net.network.add_gather(inner, index, 0).get_output(0)
    other = net.network.add_reduce(inner, net.trt.ReduceOperation.SUM, 1, True).get_output(0)
    out = conditional.add_output(then, other).get_output(0)
    second = conditional.add_output(unary(net, then, "NEG"), net.constant([7], np.float32)).get_output(0)
    data = np.array([1, 2, 4], np.float32)
    at = {True: np.array([2], np.int32), False: np.array([99], np.int32)}

    def expected(c: np.ndarray, x: np.ndarray, i: np.ndarray) -> tuple[np.ndarray, ...]:
        return (np.array([4.0]), np.array([-4.0])) if c else (np.array([7.0]), np.array([7.0]))

    model = net.check([out, second], expected, *[(np.array(c), data, at[c]) for c in (True, False)])
    assert "Gather" not in operators(model.graph)
    (node,) = [node for node in model.graph if node.op_type == "If"]
    assert "Gather" in operators(node.attributes["then_branch"].as_graph())
    assert "Gather" not in operators(node.attributes["else_branch"].as_graph())


def test_what_both_branches_use_is_computed_before_them(net: Any) -> None:
    c, x = net.input((), np.bool_), net.input((2,))
    shared = unary(net, x, "EXP")
    conditional = net.network.add_if_conditional()
    conditional.set_condition(c)
    out = conditional.add_output(unary(net, shared, "NEG"), shared).get_output(0)
    data = np.array([0, 1], np.float32)
    model = net.check(out, lambda c, x: -np.exp(x) if c else np.exp(x), *[(np.array(c), data) for c in (True, False)])
    assert "Exp" in operators(model.graph)
    assert "Neg" not in operators(model.graph)


def test_conditional_in_a_loop_in_a_conditional(net: Any) -> None:
    """If c: three times, double a positive state, else add one. Else: the input."""
    c, x = net.input((), np.bool_), net.input(())
    outer = net.network.add_if_conditional()
    outer.set_condition(c)
    loop = net.network.add_loop()
    loop.add_trip_limit(scalar(net, 3), net.trt.TripLimit.COUNT)
    state = loop.add_recurrence(x)
    now = state.get_output(0)
    inner = net.network.add_if_conditional()
    inner.set_condition(binary(net, now, scalar(net, 0, np.float32), "GREATER"))
    grown = inner.add_output(binary(net, now, now), binary(net, now, scalar(net, 1, np.float32))).get_output(0)
    state.set_input(1, grown)
    last = loop.add_loop_output(now, net.trt.LoopOutput.LAST_VALUE, 0).get_output(0)
    out = outer.add_output(last, x).get_output(0)
    results = {(True, 1.0): 8.0, (True, -1.0): 2.0, (True, -5.0): -2.0, (False, 1.0): 1.0}
    cases = [(np.array(c), np.array(v, np.float32)) for c, v in results]
    model = net.check(out, lambda c, x: np.float32(results[bool(c), float(x)]), *cases)
    assert "Loop" not in operators(model.graph)
