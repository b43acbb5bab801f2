"""cse: equal things once."""

from __future__ import annotations

import numpy as np
import pytest
from pass_harness import check, listing, load, messages, model, run

from trtc_passes import Cse, digests


def test_equal_nodes_merge_along_a_chain() -> None:
    text = """g (float[N,3] x) => (float[N,3] y)
    { a = Exp(x)  b = Exp(x)  c = Neg(a)  d = Neg(b)  y = Add(c, d) }"""
    _, context = check(text, Cse(), ["a = Exp(x)", "c = Neg(a)", "y = Add(c, c)"], shapes=({"N": 1}, {"N": 3}))
    assert [text for _, text in messages(context, "applied")] == ["the same as `Exp_0`", "the same as `Neg_0`"]


def test_operands_in_either_order_where_the_operator_commutes() -> None:
    text = """g (float[3] x, float[3] w) => (float[3] y)
    { a = Mul(x, w)  b = Mul(w, x)  c = Sub(x, w)  d = Sub(w, x)  e = Add(a, b)  f = Add(c, d)  y = Add(e, f) }"""
    check(
        text,
        Cse(),
        ["a = Mul(x, w)", "c = Sub(x, w)", "d = Sub(w, x)", "e = Add(a, a)", "f = Add(c, d)", "y = Add(e, f)"],
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ReduceSum <keepdims = 1> (x, axes)", "ReduceSum <keepdims = 0> (x, axes)"),
        ("Cast <to = 10> (x)", "Cast <to = 6> (x)"),
        ("Softmax <axis = 0> (x)", "Softmax <axis = 1> (x)"),
        ("LeakyRelu <alpha = 0.1> (x)", "LeakyRelu <alpha = 0.2> (x)"),
        ("RandomNormalLike <seed = 1.0> (x)", "RandomNormalLike <seed = 1.0> (x)"),
    ],
)
def test_one_attribute_that_differs_keeps_both(one: str, other: str) -> None:
    module = load(
        model(f"g (float[2,3] x) => (float[2,3] y) <int64[1] axes = {{1}}> {{ a = {one} b = {other} y = Relu(x) }}")
    )
    result, _ = run(module, Cse())
    assert not result.changed
    assert len(module.graph) == 3


def test_an_explicit_default_and_the_order_of_attributes_do_not_matter() -> None:
    text = """g (float[4,3] x, float[3,2] w) => (float[4,2] y)
    { a = Gemm <transB = 0, alpha = 1.0> (x, w)  b = Gemm (x, w)  y = Sub(a, b) }"""
    check(text, Cse(), ["a = Gemm(x, w)", "y = Sub(a, a)"])


def test_both_results_are_outputs_and_both_names_stay() -> None:
    text = "g (float[3] x) => (float[3] y1, float[3] y2) { y1 = Exp(x)  y2 = Exp(x) }"
    check(text, Cse(), ["y1 = Exp(x)", "y2 = Identity(y1)"])


def test_the_second_is_an_output_and_gives_its_name() -> None:
    text = "g (float[3] x) => (float[3] y, float[3] z) { a = Exp(x)  y = Exp(x)  z = Neg(a) }"
    check(text, Cse(), ["y = Exp(x)", "z = Neg(y)"])


def test_equal_constants_merge_by_content() -> None:
    text = """g (float[3] x) => (float[3] y)
    <float[3] w = {1, 2, 3}, float[3] v = {1, 2, 3}, float[3] u = {1, 2, 4}, float[1,3] t = {1, 2, 3}>
    { a = Add(x, w)  b = Add(x, v)  c = Mul(a, u)  d = Mul(b, t)  e = ReduceSum <keepdims = 0> (d)  y = Add(c, e) }"""
    module, context = check(
        text,
        Cse(),
        [
            "a = Add(x, [1.0, 2.0, 3.0])",
            "c = Mul(a, [1.0, 2.0, 4.0])",
            "d = Mul(a, [[1.0, 2.0, 3.0]])",
            "e = ReduceSum(d)[keepdims=0]",
            "y = Add(c, e)",
        ],
    )
    assert (None, "constant `v` is the same as `w`") in messages(context, "applied")
    assert set(module.graph.initializers) == {"w", "u", "t"}


def test_zeros_of_either_sign_are_two_constants() -> None:
    weights = {"p": np.array([0.0], np.float32), "n": np.array([-0.0], np.float32)}
    text = "g (float[1] x) => (float[1] y) { a = Div(x, p)  b = Div(x, n)  y = Add(a, b) }"
    module = load(model(text, weights))
    assert not run(module, Cse())[0].changed


def test_a_node_of_a_branch_meets_the_graph_around_it() -> None:
    text = """g (float[3] x, bool c) => (float[3] y)
    {
        a = Exp(x)
        y0 = If (c) <
            then_branch = t () => (float[3] r) { b = Exp(x) r = Neg(b) },
            else_branch = e () => (float[3] s) { d = Abs(x) s = Neg(d) }
        >
        f = Abs(x)
        g = Add(a, f)
        y = Add(y0, g)
    }"""
    module = load(model(text))
    run(module, Cse())
    assert "    r = Neg(a)" in listing(module)
    assert listing(module).count("    d = Abs(x)") == 1  # the later Abs outside is not visible in the branch


def test_big_constants_are_read_once_and_only_when_another_may_be_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    original = digests.tensor_digest
    monkeypatch.setattr(digests, "tensor_digest", lambda tensor: hashed.append(tensor.nbytes) or original(tensor))
    rng = np.random.default_rng(0)
    big = rng.normal(size=(300, 300)).astype(np.float32)
    late = big.copy()
    late[:, -1] += 1.0
    weights = {"a": big, "b": big.copy(), "c": late, "d": rng.normal(size=(300, 300)).astype(np.float32)}
    text = """g (float[2,300] x) => (float[2,300] y)
    { p = MatMul(x, a)  q = MatMul(p, b)  r = MatMul(q, c)  y = MatMul(r, d) }"""
    module = load(model(text, weights))
    run(module, Cse())
    assert set(module.graph.initializers) == {"a", "c", "d"}
    read = len(hashed)
    assert 2 <= read <= 3  # d is told apart by its sample
    run(module, Cse())
    assert len(hashed) <= read + 1
