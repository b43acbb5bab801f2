# ruff: noqa: E501
"""If, Loop and Scan: what the network computes is what ONNX Runtime computes."""

from __future__ import annotations

import numpy as np
import pytest
from emission_harness import build, module_of, trt
from in_onnxruntime import HEAD, compare

from trtc.diagnostics import DiagnosticError
from trtc.ir.infer import infer_all

X = np.asarray([[1.5, -2.0, 0.5, 3.0], [-0.25, 4.0, -1.0, 2.0]], np.float32)


def _refused(text: str) -> str:
    module = module_of(HEAD + text)
    infer_all(module)
    with pytest.raises(DiagnosticError) as caught:
        build(module)
    (found,) = caught.value.diagnostics
    assert found.code == "T0701"
    return "\n".join(found.notes)


def test_if_takes_one_branch_or_the_other() -> None:
    built = compare(
        "(float[N,4] x, bool c) => (float[N,4] y) { r = Relu(x) \n y = If (c) <then_branch = t () => (float[N,4] a) "
        "{ a = Add(x, r) }, else_branch = e () => (float[N,4] b) { z = Neg(x) \n b = Mul(z, r) }> }",
        {"x": X, "c": True},
        {"x": X, "c": False},
    )
    # Both go through input layers: the branch that is not taken is not computed.
    assert built.types().count("CONDITIONAL_INPUT") == 2


def test_if_with_a_condition_of_one_element_and_branches_of_other_lengths() -> None:
    compare(
        "(float[N,4] x, bool[1] c) => (float[M,4] y) <int64[1] zero = {0}> { y = If (c) <then_branch = t () => "
        "(float[P,4] a) { a = Concat<axis = 0>(x, x) }, else_branch = e () => (float[1,4] b) "
        "{ b = ReduceSum<keepdims = 1>(x, zero) }> }",
        {"x": X, "c": [True]},
        {"x": X, "c": [False]},
    )


def test_branches_that_are_constants_or_nothing_at_all() -> None:
    compare(
        "(float[N,4] x, bool c) => (float[A,B] y, int64 z) { y, z = If (c) <then_branch = t () => (float[N,4] a, int64 i) "
        "{ a = Identity(x) \n i = Constant<value = int64 {3}>() }, else_branch = e () => (float[1,2] b, int64 j) "
        "{ b = Constant<value = float[1,2] {5.0, 6.0}>() \n j = Constant<value = int64 {4}>() }> }",
        {"x": X, "c": True},
        {"x": X, "c": False},
    )


def test_what_a_branch_learns_of_shapes_stays_in_it() -> None:
    """The dim that both branches and the graph around need is computed outside, and in each branch again."""
    compare(
        "(float[N,M] x, bool c) => (float[P] y) { y0 = If (c) <then_branch = t () => (float[Q] a) { s = Shape(x) \n "
        "p = ReduceProd<keepdims = 1>(s) \n a = Reshape(x, p) }, else_branch = e () => (float[R] b) { "
        "m = Constant<value = int64[1] {-1}>() \n n = Neg(x) \n b = Reshape(n, m) }> \n k = Shape(x) \n "
        "q = ReduceProd<keepdims = 1>(k) \n one = ConstantOfShape(q) \n y = Add(y0, one) }",
        {"x": X, "c": True},
        {"x": X, "c": False},
    )


def test_if_within_if() -> None:
    text = (
        "(float[N,4] x, bool c, bool d) => (float[N,4] y) { y = If (c) <then_branch = t () => (float[N,4] a) { a = If (d) "
        "<then_branch = tt () => (float[N,4] p) { p = Relu(x) }, else_branch = te () => (float[N,4] q) { q = Neg(x) }> }, "
        "else_branch = e () => (float[N,4] b) { b = Abs(x) }> }"
    )
    compare(text, *({"x": X, "c": c, "d": d} for c in (True, False) for d in (True, False)))


def test_branches_of_different_rank_are_declined() -> None:
    found = _refused(
        "(float[1,4] x, bool c) => (float y) { y0 = If (c) <then_branch = t () => (float[4] a) { a = Squeeze(x) }, "
        "else_branch = e () => (float[1,4] b) { b = Neg(x) }> \n y = ReduceSum<keepdims = 0>(y0) }"
    )
    assert "has rank 1 from one branch and 2 from the other" in found


def test_a_node_in_a_branch_that_cannot_be_emitted_is_named() -> None:
    found = _refused(
        "(float[4] x, bool c) => (int64[1,M] y) { y = If (c) <then_branch = t () => (int64[1,P] a) { a = NonZero(x) }, "
        "else_branch = e () => (int64[1,Q] b) { n = Neg(x) \n b = NonZero(n) }> }"
    )
    assert "NonZero ×2" in found


LOOP = (
    "(float[N,4] x{more}) => (float[N,4] y, int64 count{out}) <int64 zero = {{0}}{constants}> {{ y, count{results} = "
    "Loop ({m}, {c}, x, zero) <body = b (int64 i, bool going, float[N,4] s, int64 k) => (bool next, float[N,4] t, "
    "int64 n{rows}) {{ f = Cast<to = 1>(i) \n t = Add(s, f) \n two = Constant<value = int64 {{2}}>() \n n = Add(k, two) \n {body} }}> }}"
)


def _loop(m: str = "", c: str = "", body: str = "next = Identity(going)", **parts: str) -> str:
    found = {"more": "", "out": "", "constants": "", "results": "", "rows": "", "m": m or '""', "c": c or '""'}
    return LOOP.format(**{**found, "body": body, **parts})


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_loop_with_a_constant_trip_count(trips: int) -> None:
    built = compare(_loop(m="m", constants=f", int64 m = {{{trips}}}"), {"x": X})
    assert built.types().count("TRIP_LIMIT") == 1


def test_loop_that_stacks_its_rows() -> None:
    compare(
        _loop(
            m="m",
            constants=", int64 m = {3}",
            out=", float[3,N,4] rows",
            results=", rows",
            rows=", float[N,4] row",
            body="next = Identity(going) \n row = Mul(t, s)",
        ),
        {"x": X},
    )


def test_loop_with_a_trip_count_at_run_time() -> None:
    """It is part of the condition: a trip count of TensorRT must be known from shapes."""
    built = compare(_loop(m="m", more=", int64 m"), *({"x": X, "m": m} for m in (0, 1, 4, 2**62, -3) if m < 2**62))
    (limit,) = [built.network.get_layer(i) for i, t in enumerate(built.types()) if t == "TRIP_LIMIT"]
    limit.__class__ = trt.ITripLimitLayer
    assert limit.kind == trt.TripLimit.WHILE
    assert built.plan(x=((1, 4), (2, 4), (3, 4)))


def test_loop_that_stops_by_its_condition() -> None:
    stops = "seven = Constant<value = int64 {7}>() \n next = Less(n, seven)"
    for m, more in (("", ""), ("m", ", int64 m")):
        text = _loop(m=m, c="c", more=more + ", bool c", body=stops)
        extra = [{"m": 2}, {"m": 10}] if m else [{}]
        compare(text, *({"x": X, "c": c, **e} for c in (True, False) for e in extra))


def test_loop_whose_states_are_exchanged() -> None:
    compare(
        '(float[N,4] x, float[N,4] z) => (float[N,4] y, float[N,4] w) <int64 m = {3}> { y, w = Loop (m, "", x, z) '
        "<body = b (int64 i, bool going, float[N,4] s, float[N,4] t) => (bool next, float[N,4] t2, float[N,4] s2) "
        "{ next = Identity(going) \n t2 = Identity(t) \n s2 = Identity(s) }> }",
        {"x": X, "z": -X},
    )


def test_if_within_loop() -> None:
    branch = (
        (
            "even = Mod(i, two) \n zero_ = Constant<value = int64 {{0}}>() \n is = Equal(even, zero_) \n next = Identity(going) \n row = If (is) <then_branch = t () => (float[N,4] a) "
            "{{ a = Relu(t) }}, else_branch = e () => (float[N,4] bb) {{ bb = Neg(s) }}>"
        )
        .replace("{{", "{")
        .replace("}}", "}")
    )
    compare(
        _loop(m="m", constants=", int64 m = {4}", out=", float[4,N,4] rows", results=", rows", rows=", float[N,4] row", body=branch),
        {"x": X},
    )  # fmt: skip


def test_loops_that_are_declined() -> None:
    assert "`s` may change its shape from one iteration to the next" in _refused(
        '(float[4] x) => (float[M,4] y) <int64 m = {3}, float[1,4] z = {0.0, 0.0, 0.0, 0.0}> { y = Loop (m, "", z) <body = b '
        "(int64 i, bool going, float[1,4] s) => (bool next, float[2,4] t) { next = Identity(going) \n t = Concat<axis = 0>(s, s) }> }"
    )
    stops = "seven = Constant<value = int64 {7}>() \n next = Less(n, seven) \n row = Neg(t)"
    grows = {"out": ", float[R,N,4] rows", "results": ", rows", "rows": ", float[N,4] row"}
    assert "of a loop that ends by a condition" in _refused(_loop(m="m", more=", int64 m", body=stops, **grows))
    assert "a loop without an end" in _refused(_loop())


SCAN = (
    "(float[N,4] x, float[3,N,4] xs, float[N,3,4] zs) => (float[N,4] y, float[3,N,4] rows, float[N,4,3] last) {{ "
    "y, rows, last = Scan<num_scan_inputs = 2{attributes}, body = b (float[N,4] s, float[N,4] e, float[N,4] f) => "
    "(float[N,4] t, float[N,4] row, float[N,4] other) {{ t0 = Mul(s, e) \n t = Add(t0, f) \n row = Sub(t, e) \n "
    "other = Identity(t) }}>(x, xs, zs) }}"
)


@pytest.mark.parametrize(
    "directions",
    ["", ", scan_input_directions = [1, 0], scan_output_directions = [0, 1]"],
)
def test_scan(directions: str) -> None:
    rng = np.random.default_rng(1)
    text = SCAN.format(attributes=f", scan_input_axes = [0, 1], scan_output_axes = [0, -1]{directions}")
    compare(
        text,
        {
            "x": X,
            "xs": rng.standard_normal((3, 2, 4)).astype(np.float32),
            "zs": rng.standard_normal((2, 3, 4)).astype(np.float32),
        },
    )


def test_scan_over_a_length_known_at_run_time() -> None:
    built = compare(
        "(float[T,2] xs) => (float[2] y, float[T,2] rows) <float[2] zero = {0.0, 0.0}> { y, rows = Scan<num_scan_inputs = 1, body = b "
        "(float[2] s, float[2] e) => (float[2] t, float[2] row) { t = Add(s, e) \n row = Identity(t) }>(zero, xs) }",
        {"xs": X.reshape(4, 2)},
        {"xs": X.reshape(4, 2)[:3]},
    )
    assert built.plan(xs=((1, 2), (3, 2), (5, 2)))
