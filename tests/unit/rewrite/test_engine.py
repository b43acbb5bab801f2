"""What matches and what does not, what stands there afterwards, and that the values stay."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_harness import rewritten

GELU = """
rewrite gelu {
  match
    e = Erf(either(x / ~1.41421356, x * ~0.70710678))
    y = either((x * (e + 1.0)) * 0.5, x * ((e + 1.0) * 0.5), (x * 0.5) * (e + 1.0))
  replace y with Gelu(x, approximate = "none")
}
"""

GELU_GRAPH = """g (float[N,4] x) => (float[N,4] y)
<float r = {1.4142135}, float one = {1}, float half = {0.5}> {
  a = Div(x, r)  e = Erf(a)  b = Add(%s)  c = Mul(%s)  y = Mul(%s)
}"""


@pytest.mark.parametrize("add", ["e, one", "one, e"])
@pytest.mark.parametrize("mul", ["x, b", "b, x"])
@pytest.mark.parametrize("last", ["c, half", "half, c"])
def test_operands_match_in_either_order(add: str, mul: str, last: str) -> None:
    done = rewritten(GELU, GELU_GRAPH % (add, mul, last)).same(N=3)
    assert done.lines == ["y = Gelu(x)"]


def test_a_constant_beyond_its_tolerance_does_not_match() -> None:
    graph = (GELU_GRAPH % ("e, one", "x, b", "c, half")).replace("1.4142135", "1.4143")
    assert rewritten(GELU, graph).counts["gelu"] == 0


def test_an_interior_value_with_another_user_declines_the_match() -> None:
    graph = """g (float[N,4] x) => (float[N,4] y, float[N,4] z)
    <float r = {1.4142135}, float one = {1}, float half = {0.5}> {
      a = Div(x, r)  e = Erf(a)  b = Add(e, one)  c = Mul(x, b)  y = Mul(c, half)  z = Neg(e) }"""
    done = rewritten(GELU, graph)
    assert done.counts["gelu"] == 0
    assert "`e`, inside the match, is also used by Neg" in done.declined[0]
    shared = GELU.replace("    e = Erf", "    shared e = Erf")
    done = rewritten(shared, graph).same()
    assert done.counts["gelu"] == 1
    assert done.operators == "Div Erf Gelu Neg"


def test_an_attribute_that_is_not_mentioned_holds_its_default() -> None:
    rule = "rewrite r { match y = Softmax(x) replace y with Identity(x) }"
    graph = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = %d>(x) }"
    assert rewritten(rule, graph % -1).counts["r"] == 1
    assert rewritten(rule, graph % 2).counts["r"] == 1
    assert rewritten(rule, graph % 1).counts["r"] == 0
    assert rewritten(rule.replace("Softmax(x)", "Softmax(x, ..)"), graph % 1).counts["r"] == 1


def test_named_inputs_are_lists_of_integers_and_axes_count_from_either_end() -> None:
    rule = """rewrite r {
      match y = ReduceMean(x, axes = [-2, -1], keepdims = 0)
      replace y with ReduceSum(x, axes = [-2, -1], keepdims = 0)
    }"""
    graph = "g (float[2,3,4] x) => (float[2] y) <int64[2] a = {%s}> { y = ReduceMean<keepdims = 0>(x, a) }"
    done = rewritten(rule, graph % "1, 2")
    assert done.lines == ["y = ReduceSum(x, [1, 2])[keepdims=0]"]
    assert rewritten(rule, graph % "0, 2").counts["r"] == 0


@pytest.mark.parametrize(
    ("chain", "count"),
    [
        ("t = Reshape(p, s2)", 1),
        ("t = Flatten(p)", 1),
        ("u = Squeeze(p, a23)  t = Relu(u)", 0),
        ("u = Squeeze(p, a3)  t = Squeeze(u, a2)", 1),
    ],
)
def test_a_view_is_any_chain_of_views_with_the_stated_result(chain: str, count: int) -> None:
    rule = """rewrite head {
      match p = GlobalAveragePool(x)
            f = (view(p) : float[N, C])
            y = f @ (w: const float[C, K])
      replace y with ReduceMean(x, axes = [2, 3], keepdims = 0) @ w
    }"""
    graph = f"""g (float[N,3,5,5] x) => (y)
      <int64[2] s2 = {{0, -1}}, int64[2] a23 = {{2, 3}}, int64[1] a2 = {{2}}, int64[1] a3 = {{3}}> {{
      p = GlobalAveragePool(x)  {chain}  y = MatMul(t, w) }}"""
    weights = {"w": np.arange(12, dtype=np.float32).reshape(3, 4)}
    done = rewritten(rule, graph, weights=weights).same(N=2)
    assert done.counts["head"] == count
    if count:
        assert done.operators == "ReduceMean MatMul"


def test_dims_unify() -> None:
    rule = "rewrite r { match y = (a: float[B, N, _]) @ (b: float[B, N, _]) replace y with Neg(Neg(a) @ b) }"
    graph = "g (float[B,4,4] a, float[%s,4,4] b) => (y) { y = MatMul(a, b) }"
    assert rewritten(rule, graph % "B").counts["r"] == 1
    assert rewritten(rule, graph % "C").counts["r"] == 0


def test_an_optional_pattern_gives_its_defaults_where_it_is_absent() -> None:
    rule = """
    pattern scaled(x) -> (y, $alpha = 1.0) {
      y = either(x * $alpha, x / $d)
      where $alpha == 1.0 / $d
    }
    rewrite r {
      match (s, $alpha) = scaled?(a @ b)
            y = Softmax(s)
      replace y with LogSoftmax(a @ b * $alpha)
    }"""
    graph = "g (float[3,4] a, float[4,5] b) => (float[3,5] y) <float c = {%s}> { m = MatMul(a, b) %s }"
    scaled = rewritten(rule, graph % ("4", "s = Div(m, c)  y = Softmax(s)"))
    assert [line for line in scaled.lines if "Mul(" in line and "0.25" in line]
    scaled = rewritten(rule, graph % ("4", "s = Mul(m, c)  y = Softmax(s)"))
    assert [line for line in scaled.lines if "Mul(" in line and "4.0" in line]
    plain = rewritten(rule, graph % ("4", "y = Softmax(m)"))
    assert [line for line in plain.lines if "Mul(" in line and "1.0" in line]


def test_constants_of_the_right_hand_side_are_computed_in_float64_and_rounded_once() -> None:
    rule = "rewrite r { match y = (x * (a: const)) * (b: const) replace y with x * (a * b) }"
    a, b = np.float32(1.1), np.float32(3.3)
    graph = "g (float[2] x) => (float[2] y) { t = Mul(x, a)  y = Mul(t, b) }"
    done = rewritten(rule, graph, weights={"a": np.asarray(a), "b": np.asarray(b)})
    assert done.operators == "Mul"
    product = done.module.constant(next(iter(done.module.graph)).inputs[1])
    assert product is not None
    assert product.dtype == np.float32
    assert product == np.float32(np.float64(a) * np.float64(b))


def test_a_constant_that_does_not_fit_its_dtype_declines() -> None:
    rule = "rewrite r { match y = (x * (a: const)) * (b: const) replace y with x * (a * b) }"
    graph = "g (float16[2] x) => (float16[2] y) { t = Mul(x, a)  y = Mul(t, b) }"
    big = np.asarray(np.float16(60000))
    done = rewritten(rule, graph, weights={"a": big, "b": big})
    assert done.counts["r"] == 0
    assert done.declined == ["r: a constant of the replacement does not fit into float16"]
    assert sorted(v.name for v in done.module.graph.initializers.values()) == ["a", "b"]


def test_a_replacement_of_another_shape_is_declined_and_leaves_nothing_behind() -> None:
    rule = "rewrite r { match y = Neg(x) replace y with ReduceSum(Exp(x), axes = [0], keepdims = 1) }"
    done = rewritten(rule, "g (float[3,4] x) => (float[3,4] y) { y = Neg(x) }")
    assert done.declined == ["r: the replacement's shape is [1, 4], not [3, 4]"]
    assert done.lines == ["y = Neg(x)"]
    assert not done.module.graph.initializers
    assert len(done.module.graph.inputs[0].uses()) == 1


def test_a_uniform_constant_that_widens_the_result_is_no_scalar() -> None:
    rule = "rewrite r { match y = x * 1.0 replace y with x }"
    graph = "g (float[1,4] x) => (y) <float[3,1] one = {1, 1, 1}> { y = Mul(x, one) }"
    assert rewritten(rule, graph).lines == ["y = Mul(x, [[1.0], [1.0], [1.0]])"]


def test_a_rule_does_not_match_what_it_made_unless_it_is_recursive() -> None:
    rule = "rewrite r { match y = Neg(x) replace y with Neg(Neg(Neg(x))) %s }"
    graph = "g (float[2] x) => (float[2] y) { y = Neg(x) }"
    assert rewritten(rule % "", graph, times=3).counts["r"] == 1
    assert rewritten(rule % "recursive", graph, times=2).counts["r"] == 4


def test_benefit_decides_who_comes_first() -> None:
    rules = """
    rewrite small { match y = Neg(x) replace y with Sub(0.0, x) }
    rewrite large { match y = Neg(Abs(x)) replace y with Min(x, Sub(0.0, x)) }
    """
    graph = "g (float[2] x) => (float[2] y) { a = Abs(x)  y = Neg(a) }"
    assert rewritten(rules, graph).same().counts == {"large": 1}
    first = rules.replace("rewrite small {", "rewrite small { benefit = 5 ")
    assert rewritten(first, graph).counts == {"small": 1}


def test_several_outputs_are_matched_and_replaced() -> None:
    rule = """rewrite r {
      match (a, b) = Split(x, axis = -1, ..)
            y = Sigmoid(b) * a
      replace y with Mul(Sigmoid(b), a)
    }
    rewrite two {
      match s = Sin(x)
            c = Cos(x)
      replace (s, c) with (Cos(x - 1.57079633), Sin(x + 1.57079633))
    }"""
    graph = """g (float[3,4] x) => (float[3,2] y) {
      a, b = Split<axis = -1, num_outputs = 2>(x)  s = Sigmoid(b)  y = Mul(a, s) }"""
    assert rewritten(rule, graph).counts["r"] == 1
    graph = "g (float[3] x) => (float[3] s, float[3] c) { s = Sin(x)  c = Cos(x) }"
    done = rewritten(rule, graph).same(atol=1e-5)
    assert done.counts["two"] == 1
    assert done.operators.split().count("Sin") == 1


def test_attributes_are_copied_from_the_matched_node() -> None:
    rule = """rewrite r {
      match c = Conv(x, w: const, ..)
            y = c * (s: const float[_, 1, 1])
      replace y with Conv(x, w * Reshape(s, shape = [-1, 1, 1, 1]), ..c)
    }"""
    graph = "g (float[1,2,8,8] x) => (y) { c = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, w)  y = Mul(c, s) }"
    random = np.random.default_rng(1)
    weights = {
        "w": random.standard_normal((3, 2, 3, 3)).astype(np.float32),
        "s": random.standard_normal((3, 1, 1)).astype(np.float32),
    }
    done = rewritten(rule, graph, weights=weights).same()
    assert done.operators == "Conv"
    assert done.module.graph[0].attributes["strides"].as_ints() == (2, 2)


def test_symbolic_sizes_on_the_right_hand_side() -> None:
    rule = """rewrite r {
      match y = Relu((view(x: float[B, S, H]) : float[B, H, S]))
      replace y with Reshape(Relu(x), shape = [B, H, S])
    }"""
    graph = "g (float[B,S,4] x, float[B,4,S] like) => (y) { s = Shape(like)  v = Reshape(x, s)  y = Relu(v) }"
    done = rewritten(rule, graph).same(B=2, S=3)
    assert done.counts["r"] == 1


def test_nodes_of_a_subgraph_are_rewritten_and_a_match_never_crosses_its_border() -> None:
    graph = """g (float[2] x, bool b) => (float[2] y) {
      n = Neg(x)
      y = If(b) <then_branch = t () => (float[2] p) { m = Neg(x)  p = Neg(m) },
                 else_branch = e () => (float[2] q) { q = Neg(n) }>
    }"""
    done = rewritten("rewrite r { match y = Neg(Neg(x)) replace y with Identity(x) }", graph)
    assert done.counts["r"] == 1
    assert "q = Neg(n)" in "\n".join(done.lines)
    assert "Identity(x)" in "\n".join(done.lines)


def test_constants_beyond_the_growth_budget_decline() -> None:
    from pass_harness import load, model
    from rewrite_harness import rules_in

    from trtc.evaluate import Evaluator
    from trtc.pipeline import Context
    from trtc.rewrite.engine import apply

    rules = rules_in("rewrite r { match y = x + (c: const) replace y with x + Expand(c, shape = [100, 100]) }")
    module = load(model("g (float[100,100] x) => (float[100,100] y) <float[1] c = {1}> { y = Add(x, c) }"))
    context = Context(Evaluator())
    assert not apply(module, rules, context, max_growth=10_000).changed
    assert "would add" in context.remarks[0].message
    assert apply(module, rules, context, max_growth=50_000).counts == {"r": 1}


def test_a_filled_constant_that_makes_the_result_larger_is_no_number() -> None:
    """A sum counts what is repeated, whatever the shape of the sum."""
    rule = """rewrite r {
      match y = Sqrt(ReduceSum(Pow(x, 2.0), axes = $axes))
      replace y with ReduceL2(x, axes = $axes)
    }"""
    graph = "g (float[N,8] x) => (float[N,1] y) <float[%s] two = {%s}, int64[1] a = {1}> "
    graph += "{ p = Pow(x, two)  s = ReduceSum(p, a)  y = Sqrt(s) }"
    assert rewritten(rule, graph % ("1,8", ", ".join("2" * 8))).same(N=3).counts["r"] == 1
    assert rewritten(rule, graph % ("1,1", "2")).same(N=3).counts["r"] == 1
    wide = graph.replace("[N,8]", "[1,8]").replace("[N,1]", "[1,1]").replace("[1] a = {1}", "[2] a = {0, 1}")
    assert rewritten(rule, wide % ("2,1", "2, 2")).same().counts["r"] == 0


def test_an_operator_that_does_not_take_the_dtype_is_not_made() -> None:
    rule = "rewrite r { match y = Max(x, x * $a) replace y with LeakyRelu(x, alpha = $a) }"
    graph = "g (%s[4] x) => (%s[4] y) <%s half = {%s}> { h = Mul(x, half)  y = Max(x, h) }"
    assert rewritten(rule, graph % ("float", "float", "float", "0.5")).same().counts["r"] == 1
    done = rewritten(rule, graph % ("int64", "int64", "int64", "-1"))
    assert done.operators == "Mul Max"
    assert done.declined == ["r: LeakyRelu takes no int64"]


def test_several_results_of_which_one_is_made_from_another_stay() -> None:
    rule = """rewrite r {
      match
        a = Neg(x)
        b = x + q
      replace (a, b) with {
        t = Concat(x, q, axis = 0)
        (a, b) = Split(t, num_outputs = 2, axis = 0)
      }
    }"""
    graph = "g (float[4] x, float[4] p, bool c) => (float[4] a, float[4] b) { a = Neg(x)  q = %s  b = Add(x, q) }"
    branch = "If(c) <then_branch = t () => (float[4] u) { u = Exp(%s) }, "
    branch += "else_branch = e () => (float[4] v) { v = Exp(p) }>"
    assert rewritten(rule, graph % "Exp(p)").counts["r"] == 1
    for source in ("Exp(a)", branch % "a"):
        assert rewritten(rule, graph % source).declined == ["r: what it replaces is made from each other"]
    assert rewritten(rule, graph % (branch % "x")).counts["r"] == 1


def test_tensors_without_elements_stay_as_they_are() -> None:
    """A 0 among the sizes of a Reshape would mean the dim that was there."""
    rule = "rewrite r { match y = Relu(view(x: float[A, B]) : float[C, A]) replace y with Reshape(Relu(x), [C, A]) }"
    rule = rule.replace("view(x: float[A, B]) : float[C, A]", "(view(x: float[A, B]) : float[C, A])")
    graph = "g (float[%s] x) => (float[%s] y) <int64[2] s = {%s}> { v = Reshape<allowzero = 1>(x, s)  y = Relu(v) }"
    assert rewritten(rule, graph % ("2,3", "3,2", "3, 2")).same().counts["r"] == 1
    assert rewritten(rule, graph % ("4,0", "0,4", "0, 4")).same().counts["r"] == 0


@pytest.mark.parametrize(
    ("right", "why"),
    [
        ("Softmax(x, axis = $a / 2 + 1)", "1.5 is no whole number"),
        ("Softmax(x, axis = $a * 99999999999 * 99999999999)", "9999999999800000000001 is no whole number"),
        ("Softmax(x, axis = $a / ($a - 1))", "by zero"),
    ],
)
def test_a_number_that_is_no_integer_stands_for_none(right: str, why: str) -> None:
    rule = f"rewrite r {{ match y = Softmax(x, axis = $a) replace y with {right} }}"
    done = rewritten(rule, "g (float[3,3,3] x) => (float[3,3,3] y) { y = Softmax<axis = 1>(x) }")
    assert done.lines == ["y = Softmax(x)[axis=1]"]
    assert why in done.declined[0]


def test_constants_of_integers_are_whole() -> None:
    rule = "rewrite r { match y = x: int + $a replace y with x + $a * 1.5 }"
    graph = "g (int64[3] x) => (int64[3] y) <int64 a = {%d}> { y = Add(x, a) }"
    assert rewritten(rule, graph % 4).lines == ["y = Add(x, 6)"]
    done = rewritten(rule, graph % 3)
    assert done.lines == ["y = Add(x, 3)"]
    assert "no whole number that int64 holds" in done.declined[0]


@pytest.mark.parametrize(("number", "count"), [(-1, 0), (5, 1)])
def test_what_an_untaken_alternative_left_open_decides_nothing(number: int, count: int) -> None:
    rule = """rewrite r {
      match y = either(x: float + $a, x * $b)
      where $b == 2.0 || $a == 5.0
      replace y with Relu(x)
    }"""
    graph = "g (float[3] x) => (float[3] y) <float a = {%d}> { y = Add(x, a) }"
    assert rewritten(rule, graph % number).counts["r"] == count


def test_a_constant_of_another_dtype_is_declined_too() -> None:
    rule = "rewrite r { match y = Tanh(x: float) replace y with Cast(x, to = i32) }"
    graph = "g (float[2] x) => (float[2] y) <float[2] c = {0.7, 2.5}> { t = Tanh(c)  y = Add(x, t) }"
    done = rewritten(rule, graph)
    assert done.counts["r"] == 0
    assert done.declined == ["r: the replacement's dtype is int32, not float"]
    assert sorted(v.name for v in done.module.graph.initializers.values()) == ["c"]


def test_numbers_beyond_64_bits_are_no_constants() -> None:
    rule = """rewrite r {
      match y = Slice(x: float[N], starts = [0], ends = [$e], axes = [0], steps = [2])
      replace y with Slice(x, [0], [2 * $e], [0], [2])
    }"""
    graph = "g (float[9] x) => (float[5] y) <int64[1] a = {0}, int64[1] e = {%d}, int64[1] two = {2}> "
    graph += "{ y = Slice(x, a, e, a, two) }"
    assert rewritten(rule, graph % 9).same().lines == ["y = Slice(x, [0], [18], [0], [2])"]
    for end in (2**62, 2**63 - 1):
        assert "int64 holds" in rewritten(rule, graph % end).declined[0]


@pytest.mark.parametrize("right", ["x + filled(1.0, [100000000000], x)", "Reshape(x, range(0, 1000000000000))"])
def test_what_no_memory_holds_is_not_made(right: str) -> None:
    done = rewritten(
        f"rewrite r {{ match y = Relu(x) replace y with {right} }}", "g (float[1] x) => (y) { y = Relu(x) }"
    )
    assert done.lines == ["y = Relu(x)"]
    assert "too l" in done.declined[0]
