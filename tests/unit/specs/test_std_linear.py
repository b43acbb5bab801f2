"""std.linear: products by constants, and what lies beside them, in one form."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_harness import Rewritten, rewritten

RNG = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def linear(body: str, x: str, y: str, *, times: int = 1, **weights: np.ndarray) -> Rewritten:
    graph = f"g (float[{x}] x) => (float[{y}] y) {{ {body} }}"
    return rewritten("std.linear", graph, weights=weights, times=times)


GEMMS = {
    "transB": ("y = Gemm<transB = 1>(x, w, b)", {"w": array(6, 8), "b": array(6)}),
    "alpha and beta": ("y = Gemm<alpha = 0.5, beta = 2.0>(x, w, b)", {"w": array(8, 6), "b": array(6)}),
    "all": ("y = Gemm<alpha = 0.5, beta = 2.0, transB = 1>(x, w, b)", {"w": array(6, 8), "b": array(6)}),
    "a bias after it": ("g = Gemm<alpha = 3.0>(x, w) y = Add(g, b)", {"w": array(8, 6), "b": array(1, 6)}),
}


@pytest.mark.parametrize("name", GEMMS)
def test_gemm_in_its_plain_form(name: str) -> None:
    body, weights = GEMMS[name]
    found = linear(body, "4,8", "4,6", times=3, **weights).same()
    (node,) = found.module.nodes()
    assert node.op_type == "Gemm"
    assert [node.attributes[a].value for a in ("alpha", "beta", "transA", "transB")] == [1.0, 1.0, 0, 0]


def test_a_bias_times_zero_is_dropped() -> None:
    found = linear("y = Gemm<beta = 0.0>(x, w, b)", "4,8", "4,6", w=array(8, 6), b=array(6)).same()
    (node,) = found.module.nodes()
    assert [v.name for v in node.inputs if v is not None] == ["x", "w"]


VIEWS = {
    "Gemm": "f = Reshape(x, two) g = Gemm(f, w, b) y = Reshape(g, three)",
    "Gemm transB": "f = Reshape(x, two) g = Gemm<transB = 1>(f, wt, b) y = Reshape(g, three)",
    "MatMul and Add": "f = Reshape(x, two) m = MatMul(f, w) g = Add(b, m) y = Reshape(g, three)",
    "without bias": "f = Reshape(x, two) g = MatMul(f, w) y = Reshape(g, three)",
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_around_a_product(name: str) -> None:
    known = {"two": np.array([-1, 8]), "three": np.array([2, 5, 6]), "w": array(8, 6), "wt": array(6, 8), "b": array(6)}
    words = set(VIEWS[name].replace("(", " ").replace(")", " ").replace(",", " ").split())
    found = linear(VIEWS[name], "2,5,8", "2,5,6", **{k: v for k, v in known.items() if k in words}).same()
    assert "MatMul" in found.operators.split()
    assert "Gemm" not in found.operators.split()


def test_views_that_mix_rows_stay() -> None:
    # The last axis is not the features': its elements come from different rows.
    body = "f = Reshape(x, two) g = MatMul(f, w) y = Reshape(g, three)"
    found = linear(body, "2,5,8", "4,5,3", two=np.array([10, 8]), three=np.array([4, 5, 3]), w=array(8, 6))
    assert found.operators == "Reshape MatMul Reshape"


@pytest.mark.parametrize("scale", ["Mul(l, c)", "Mul(c, l)", "Div(l, c)"])
@pytest.mark.parametrize("bias", [False, True])
def test_a_scale_goes_into_the_weights(scale: str, bias: bool) -> None:
    layer = "m = MatMul(x, w) l = Add(m, b)" if bias else "l = MatMul(x, w)"
    weights = {"w": array(8, 6), "c": np.array(0.125, np.float32)} | ({"b": array(6)} if bias else {})
    found = linear(f"{layer} y = {scale}", "2,5,8", "2,5,6", **weights).same()
    assert found.operators == ("MatMul Add" if bias else "MatMul")


def test_a_number_for_each_feature_goes_into_the_weights() -> None:
    body = "m = MatMul(x, w) l = Add(m, b) y = Mul(l, c)"
    found = linear(body, "2,5,8", "2,5,6", w=array(8, 6), b=array(6), c=array(1, 1, 6)).same()
    assert found.operators == "MatMul Add"


def test_a_number_for_each_row_stays() -> None:
    body = "m = MatMul(x, w) l = Add(m, b) y = Mul(l, c)"
    found = linear(body, "2,5,8", "2,5,6", w=array(8, 6), b=array(6), c=array(5, 1))
    assert found.operators == "MatMul Add Mul"


def test_a_layer_with_another_user_keeps_its_weights() -> None:
    graph = "g (float[2,5,8] x) => (float[2,5,6] y, float[2,5,6] z) { m = MatMul(x, w) y = Mul(m, c) z = Relu(m) }"
    found = rewritten("std.linear", graph, weights={"w": array(8, 6), "c": np.array(0.5, np.float32)})
    assert found.operators.split().count("Mul") == 1


def test_two_biases() -> None:
    found = linear(
        "m = MatMul(x, w) a = Add(m, b) y = Add(c, a)", "2,5,8", "2,5,6", w=array(8, 6), b=array(6), c=array(6)
    )
    assert found.same().operators == "MatMul Add"


@pytest.mark.parametrize(("middle", "expected"), [(8, "MatMul"), (2, "MatMul MatMul")])
def test_products_are_joined_where_that_is_less_work(middle: int, expected: str) -> None:
    body = "m = MatMul(x, w) y = MatMul(m, v)"
    assert linear(body, "2,5,6", "2,5,6", w=array(6, middle), v=array(middle, 6)).same().operators == expected


def test_products_of_transposes() -> None:
    graph = (
        "g (float[2,8,4] a, float[2,6,8] b) => (float[2,4,6] y) "
        "{ s = Transpose<perm = [0,2,1]>(a) t = Transpose<perm = [0,2,1]>(b) y = MatMul(s, t) }"
    )
    assert rewritten("std.linear", graph).same().operators == "MatMul Transpose"


EINSUMS = {
    "bhid,bhjd->bhij": ("2,4,6,8", "2,4,5,8", "2,4,6,5"),
    "b n q c, b n k c -> b n q k": ("2,4,6,8", "2,4,5,8", "2,4,6,5"),
    "bhij,bhjd->bhid": ("2,4,6,5", "2,4,5,8", "2,4,6,8"),
    "bqhd,bkhd->bhqk": ("2,6,4,8", "2,5,4,8", "2,4,6,5"),
    "bhqk,bkhd->bqhd": ("2,4,6,5", "2,5,4,8", "2,6,4,8"),
    "b i d, b j d -> b i j": ("3,6,8", "3,5,8", "3,6,5"),
    "b i j, b j d -> b i d": ("3,6,5", "3,5,8", "3,6,8"),
}


@pytest.mark.parametrize("equation", EINSUMS)
def test_einsum(equation: str) -> None:
    a, b, y = EINSUMS[equation]
    graph = f'g (float[{a}] a, float[{b}] b) => (float[{y}] y) {{ y = Einsum<equation = "{equation}">(a, b) }}'
    assert "Einsum" not in rewritten("std.linear", graph).same().operators.split()


def test_another_einsum_stays() -> None:
    body = 'y = Einsum<equation = "bhid,bhdj->bhji">(a, b)'
    graph = f"g (float[2,4,6,8] a, float[2,4,8,5] b) => (float[2,4,5,6] y) {{ {body} }}"
    assert rewritten("std.linear", graph).operators == "Einsum"
