"""std.activation: the forms that exporters write, each into its operator, and what must be left alone."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from rewrite_harness import Rewritten, rewritten

NUMBERS = {
    "half": 0.5,
    "zero": 0.0,
    "one": 1.0,
    "minus": -1.0,
    "two": 2.0,
    "three": 3.0,
    "six": 6.0,
    "sixth": 1 / 6,
    "root2": math.sqrt(2.0),
    "inverse2": math.sqrt(0.5),
    "minus_inverse2": -math.sqrt(0.5),
    "kappa": 0.044715,
    "beta": math.sqrt(2 / math.pi),
    "beta_kappa": math.sqrt(2 / math.pi) * 0.044715,
    "beta2": 2 * math.sqrt(2 / math.pi),
    "quick": 1.702,
    "tenth": 0.1,
    "minus_tenth": -0.1,
    "twenty": 20.0,
    "fifth": 0.2,
    "four": 4.0,
}


def act(body: str, dtype: str = "float", x: str = "[2, 3, 8]") -> Rewritten:
    """x => y after std.activation. The constants in the body are those of `NUMBERS`."""
    numpy = {"float": np.float32, "float16": np.float16, "double": np.float64}[dtype]
    weights = {name: np.array(value, numpy) for name, value in NUMBERS.items() if name in body}
    if "slope" in body:
        weights["slope"] = np.linspace(0.05, 0.4, 3, dtype=numpy).reshape(3, 1)
    graph = f"g ({dtype}{x} x) => ({dtype}{x} y) {{ {body} }}"
    return rewritten("std.activation", graph, weights=weights)


def fired(found: Rewritten) -> dict[str, int]:
    return {name: n for name, n in found.counts.items() if n}


ERF = {
    "torchscript": "d = Div(x, root2) e = Erf(d) g = Add(e, one) p = Mul(x, g) y = Mul(p, half)",
    "dynamo": "d = Div(x, root2) e = Erf(d) g = Add(one, e) h = Mul(half, g) y = Mul(x, h)",
    "tensorflow": "d = Mul(x, inverse2) e = Erf(d) g = Add(e, one) h = Mul(half, x) y = Mul(h, g)",
    "jax": "d = Div(x, root2) e = Erf(d) g = Add(e, one) p = Mul(x, g) y = Div(p, two)",
    "half of the gate": "d = Mul(inverse2, x) e = Erf(d) g = Mul(e, half) h = Add(g, half) y = Mul(x, h)",
    "spread out": "d = Mul(inverse2, x) e = Erf(d) h = Mul(x, half) p = Mul(h, e) y = Add(h, p)",
}


@pytest.mark.parametrize("form", ERF)
def test_gelu(form: str) -> None:
    found = act(ERF[form])
    assert fired(found) == {"fuse_gelu": 1}
    assert found.lines == ["y = Gelu(x)"]
    found.same()


@pytest.mark.parametrize(
    "negative", ["n = Neg(x) t = Mul(n, inverse2)", "t = Mul(x, minus_inverse2)", "d = Div(x, root2) t = Neg(d)"]
)
def test_gelu_by_the_complement(negative: str) -> None:
    found = act(f"{negative} e = Erf(t) g = Sub(one, e) h = Mul(x, half) y = Mul(h, g)")
    assert found.lines == ["y = Gelu(x)"]
    found.same()


def test_gelu_in_half_precision() -> None:
    assert act(ERF["torchscript"], "float16").lines == ["y = Gelu(x)"]


def test_another_constant_is_no_gelu() -> None:
    assert fired(act("d = Div(x, two) e = Erf(d) g = Add(e, one) p = Mul(x, g) y = Mul(p, half)")) == {}


def test_a_gelu_whose_inside_is_used_elsewhere_stays() -> None:
    graph = f"g (float[4] x) => (float[4] y, float[4] e) {{ {ERF['torchscript']} }}"
    weights = {name: np.array(NUMBERS[name], np.float32) for name in ("root2", "one", "half")}
    assert fired(rewritten("std.activation", graph, weights=weights)) == {}


CUBES = {
    "Pow": "c = Pow(x, three) k = Mul(kappa, c)",
    "products": "s = Mul(x, x) c = Mul(s, x) k = Mul(c, kappa)",
    "factor first": "a = Mul(kappa, x) b = Mul(a, x) k = Mul(b, x)",
    "square": "a = Mul(kappa, x) s = Pow(x, two) k = Mul(a, s)",
    "torch": "s = Mul(x, x) c = Mul(x, s) k = Mul(kappa, c)",
}
GATES = {
    "gpt2": "h = Mul(x, half) g = Add(t, one) y = Mul(h, g)",
    "torch": "g = Add(one, t) p = Mul(x, g) y = Mul(half, p)",
    "jax": "g = Add(one, t) p = Mul(half, g) y = Mul(x, p)",
}


@pytest.mark.parametrize(("cube", "gate"), list(product(CUBES, GATES)))
def test_gelu_by_tanh(cube: str, gate: str) -> None:
    found = act(f"{CUBES[cube]} i = Add(x, k) u = Mul(beta, i) t = Tanh(u) {GATES[gate]}")
    assert fired(found) == {"fuse_gelu_tanh": 1}
    assert found.lines == ["y = Gelu(x)[approximate=tanh]"]
    found.same()


@pytest.mark.parametrize(
    "argument",
    [
        # gelu_fast, BLOOM, ChatGLM: beta x (1 + kappa x x)
        "b = Mul(beta, x) a = Mul(kappa, x) q = Mul(a, x) o = Add(one, q) u = Mul(b, o)",
        "s = Mul(x, x) q = Mul(kappa, s) o = Add(q, one) p = Mul(x, o) u = Mul(p, beta)",
        # with the constants multiplied out
        "s = Mul(x, x) q = Mul(beta_kappa, s) o = Add(q, beta) u = Mul(x, o)",
        "c = Pow(x, three) q = Mul(beta_kappa, c) b = Mul(beta, x) u = Add(b, q)",
    ],
)
def test_gelu_by_tanh_with_other_arguments(argument: str) -> None:
    found = act(f"{argument} t = Tanh(u) {GATES['gpt2']}")
    assert found.lines == ["y = Gelu(x)[approximate=tanh]"]
    found.same()


def test_gelu_by_sigmoid() -> None:
    found = act(f"{CUBES['Pow']} i = Add(x, k) u = Mul(beta2, i) t = Sigmoid(u) y = Mul(x, t)")
    assert found.lines == ["y = Gelu(x)[approximate=tanh]"]
    found.same()


COUNTED = """use std.activation
rewrite silu_found { match y = silu(x) replace y with Identity(x * Sigmoid(x)) }
rewrite swish_found { match (y, $alpha) = scaled_silu(x) replace y with Identity(x * Sigmoid(x * $alpha)) }
rewrite swiglu_found { match y = swiglu(a, b) replace y with Identity(silu(a) * b) benefit = 9 }
"""


def test_patterns_of_gated_units_can_be_used() -> None:
    graph = """g (float[2, 4] x, float[2, 4] u) => (float[2, 4] y, float[2, 4] z, float[2, 4] w)
    { s = Sigmoid(x) y = Mul(s, x)  q = Mul(u, quick) t = Sigmoid(q) z = Mul(u, t)
      a = Sigmoid(u) b = Mul(u, a) w = Mul(b, x) }"""
    rules = COUNTED.replace("silu(a) * b", "(a * Sigmoid(a)) * b")
    found = rewritten(rules, graph, weights={"quick": np.array(1.702, np.float32)})
    assert fired(found) == {"silu_found": 1, "swish_found": 1, "swiglu_found": 1}


SWISH = {
    "SiLU": ("s = Sigmoid(x) y = Mul(x, s)", 1.0),
    "SiLU, the gate first": ("s = Sigmoid(x) y = Mul(s, x)", 1.0),
    "quick GELU": ("q = Mul(x, quick) s = Sigmoid(q) y = Mul(x, s)", 1.702),
    "quick GELU, the factor first": ("q = Mul(quick, x) s = Sigmoid(q) y = Mul(s, x)", 1.702),
}


@pytest.mark.parametrize("dtype", ["float", "float16"])
@pytest.mark.parametrize("form", SWISH)
def test_swish(form: str, dtype: str) -> None:
    body, alpha = SWISH[form]
    found = act(body, dtype)
    assert found.operators == "trtc.std.activation.swish"
    (node,) = found.module.graph
    assert node.attributes["alpha"].value == pytest.approx(alpha, rel=1e-3)
    found.same()


def test_a_sigmoid_that_is_used_elsewhere_stays() -> None:
    found = rewritten(
        "std.activation", "g (float[2, 3] x) => (float[2, 3] y, float[2, 3] s) { s = Sigmoid(x) y = Mul(x, s) }"
    )
    assert found.operators == "Sigmoid Mul"


def test_the_gate_of_something_else_stays() -> None:
    found = rewritten(
        "std.activation", "g (float[2, 3] x, float[2, 3] u) => (float[2, 3] y) { s = Sigmoid(u) y = Mul(x, s) }"
    )
    assert found.operators == "Sigmoid Mul"


@pytest.mark.parametrize(
    "body",
    [
        "n = Neg(x) e = Exp(n) d = Add(e, one) y = Reciprocal(d)",
        "n = Mul(x, minus) e = Exp(n) d = Add(one, e) y = Div(one, d)",
        "h = Mul(x, half) t = Tanh(h) g = Add(t, one) y = Mul(g, half)",
        "h = Div(x, two) t = Tanh(h) g = Mul(t, half) y = Add(g, half)",
    ],
)
def test_sigmoid(body: str) -> None:
    found = act(body)
    assert found.lines == ["y = Sigmoid(x)"]
    found.same()


def test_silu_as_a_quotient() -> None:
    found = act("n = Neg(x) e = Exp(n) d = Add(e, one) y = Div(x, d)")
    assert found.operators == "trtc.std.activation.swish"
    found.same()


CLIPS = {
    "Clip": "r = Clip(a, zero, six)",
    "Min of Relu": "p = Relu(a) r = Min(p, six)",
    "Min of Max": "p = Max(a, zero) r = Min(p, six)",
    "Relu of Min": "p = Min(a, six) r = Relu(p)",
}


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize(
    "rest",
    [
        "p = Mul(x, r) y = Div(p, six)",
        "p = Mul(x, r) y = Mul(p, sixth)",
        "g = Div(r, six) y = Mul(x, g)",
        "g = Mul(sixth, r) y = Mul(g, x)",
        "h = Div(x, six) y = Mul(h, r)",
    ],
)
def test_hard_swish(clip: str, rest: str) -> None:
    body = f"a = Add(x, three) {CLIPS[clip].replace('p =', 'q =').replace('(p', '(q')} {rest}"
    found = act(body)
    assert found.lines == ["y = HardSwish(x)"]
    found.same()


def test_hard_swish_by_hard_sigmoid() -> None:
    found = act("g = HardSigmoid <alpha = 0.1666667, beta = 0.5> (x) y = Mul(x, g)")
    assert found.lines == ["y = HardSwish(x)"]
    found.same()
    assert act("g = HardSigmoid <alpha = 0.2, beta = 0.5> (x) y = Mul(x, g)").operators == "HardSigmoid Mul"


def test_hard_swish_without_its_division() -> None:
    found = act("a = Add(x, three) r = Clip(a, zero, six) y = Mul(r, x)")
    assert found.operators == "HardSwish Mul"
    found.same()


@pytest.mark.parametrize(
    ("body", "alpha"),
    [
        ("m = Mul(x, fifth) a = Add(m, half) y = Clip(a, zero, one)", 0.2),
        ("a = Add(x, three) r = Clip(a, zero, six) y = Div(r, six)", 1 / 6),
        ("a = Add(x, three) q = Relu(a) r = Min(q, six) y = Mul(r, sixth)", 1 / 6),
        ("a = Add(x, three) m = Div(a, six) y = Clip(m, zero, one)", 1 / 6),
        ("a = Add(x, one) m = Div(a, two) q = Max(m, zero) y = Min(q, one)", 0.5),
    ],
)
def test_hard_sigmoid(body: str, alpha: float) -> None:
    found = act(body)
    assert found.operators == "HardSigmoid"
    (node,) = found.module.nodes()
    assert node.attributes["alpha"].as_float() == pytest.approx(alpha, rel=1e-6)
    assert node.attributes["beta"].as_float() == pytest.approx(0.5, rel=1e-6)
    found.same()


@pytest.mark.parametrize(
    "body",
    [
        "e = Exp(x) a = Add(e, one) y = Log(a)",
        "b = Abs(x) n = Neg(b) e = Exp(n) a = Add(one, e) l = Log(a) r = Relu(x) y = Add(r, l)",
        "b = Abs(x) n = Neg(b) e = Exp(n) a = Add(one, e) l = Log(a) r = Max(zero, x) y = Add(l, r)",
        "s = Softplus(x) c = Greater(x, twenty) y = Where(c, x, s)",
    ],
)
def test_softplus(body: str) -> None:
    found = act(body)
    assert found.lines == ["y = Softplus(x)"]
    found.same()


def test_a_low_threshold_of_softplus_stays() -> None:
    assert act("s = Softplus(x) c = Greater(x, four) y = Where(c, x, s)").operators == "Softplus Greater Where"


@pytest.mark.parametrize(
    "body",
    [
        "s = Softplus(x) t = Tanh(s) y = Mul(x, t)",
        "e = Exp(x) a = Add(e, one) s = Log(a) t = Tanh(s) y = Mul(t, x)",
        "e = Exp(x) f = Add(e, two) n = Mul(e, f) d = Add(n, two) q = Div(n, d) y = Mul(x, q)",
    ],
)
def test_mish(body: str) -> None:
    found = act(body)
    assert found.lines == ["y = Mish(x)"]
    found.same()


@pytest.mark.parametrize(
    "body",
    ["y = Max(x, zero)", "y = Max(zero, x)", "y = Clip(x, zero)", "c = Greater(x, zero) y = Where(c, x, zero)"],
)
def test_relu(body: str) -> None:
    found = act(body)
    assert found.lines == ["y = Relu(x)"]
    found.same()


def test_integers_are_no_activations() -> None:
    graph = "g (int64[4] x) => (int64[4] y) <int64 zero = {0}, int64 six = {6}> { m = Max(x, zero) y = Min(m, six) }"
    assert rewritten("std.activation", graph).operators == "Max Min"


@pytest.mark.parametrize(
    ("body", "low", "high"),
    [
        ("r = Relu(x) y = Min(r, six)", 0.0, 6.0),
        ("r = Relu(x) y = Clip(r, , six)", 0.0, 6.0),
        ("r = Clip(x, , six) y = Relu(r)", 0.0, 6.0),
        ("r = Max(x, one) y = Min(r, six)", 1.0, 6.0),
        ("r = Min(x, six) y = Max(r, one)", 1.0, 6.0),
        ("r = Relu(x) y = Clip(r, minus, six)", 0.0, 6.0),
        ("r = Clip(x, minus, three) y = Clip(r, zero, six)", 0.0, 3.0),
    ],
)
def test_clip(body: str, low: float, high: float) -> None:
    found = act(body)
    assert found.lines == [f"y = Clip(x, {low}, {high})"]
    found.same()


def test_bounds_in_the_wrong_order_stay() -> None:
    assert act("r = Max(x, six) y = Min(r, one)").operators == "Max Min"
    assert act("r = Clip(x, zero, one) y = Clip(r, two, six)").operators == "Clip Clip"


@pytest.mark.parametrize(
    "body",
    [
        "s = Mul(x, tenth) y = Max(x, s)",
        "s = Mul(tenth, x) c = Greater(x, zero) y = Where(c, x, s)",
        "s = Mul(tenth, x) c = GreaterOrEqual(x, zero) y = Where(c, x, s)",
        "s = Mul(tenth, x) c = Less(x, zero) y = Where(c, s, x)",
        "r = Relu(x) n = Neg(x) q = Relu(n) s = Mul(q, tenth) y = Sub(r, s)",
        "r = Relu(x) n = Neg(x) q = Relu(n) s = Mul(q, minus_tenth) y = Add(r, s)",
        "r = Relu(x) n = Min(x, zero) s = Mul(n, tenth) y = Add(r, s)",
    ],
)
def test_leaky_relu(body: str) -> None:
    found = act(body)
    assert found.operators == "LeakyRelu"
    (node,) = found.module.nodes()
    assert node.attributes["alpha"].as_float() == pytest.approx(0.1, rel=1e-6)
    found.same()


def test_the_larger_of_two_lines_with_a_steep_second_one_stays() -> None:
    assert act("s = Mul(x, two) y = Max(x, s)").operators == "Mul Max"


@pytest.mark.parametrize(
    "body",
    [
        "r = Relu(x) n = Neg(x) q = Relu(n) s = Mul(q, slope) y = Sub(r, s)",
        "r = Relu(x) b = Abs(x) d = Sub(x, b) s = Mul(slope, d) h = Mul(s, half) y = Add(r, h)",
        "s = Mul(slope, x) c = Greater(x, zero) y = Where(c, x, s)",
        "r = Relu(x) n = Neg(x) q = Relu(n) s = Mul(q, slope) y = Add(r, s)",
    ],
)
def test_prelu(body: str) -> None:
    found = act(body)
    assert found.operators == "PRelu"
    found.same()


def test_a_prelu_of_one_slope() -> None:
    found = act("y = PRelu(x, tenth)")
    assert found.operators == "LeakyRelu"
    found.same()
