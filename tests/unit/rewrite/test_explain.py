"""Near misses: how far, where it stopped, what was found there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pass_harness import load, model
from rewrite_harness import rules_in

from trtc import lang
from trtc.diagnostics import DiagnosticError
from trtc.driver.library import vocabulary
from trtc.evaluate import Evaluator
from trtc.pipeline import Context, Registry
from trtc.pipeline.runner import run
from trtc.rewrite.engine import apply
from trtc.rewrite.explain import Explainer, NearMiss, explainer

GELU = """
pattern erf_gelu(x: float[...]) -> y {
  e = Erf(either(x / ~1.41421356, x * ~0.70710678))
  y = either((x * (e + 1.0)) * 0.5, x * ((e + 1.0) * 0.5), (x * 0.5) * (e + 1.0))
}
rewrite fuse_gelu { match y = erf_gelu(x)  replace y with Gelu(x) }
"""


def graph(root: str = "1.41421356", half: str = "0.5", last: str = "y = Mul(m, h)", also: str = "") -> str:
    return f"""g (float[2,8] x) => (float[2,8] y{also})
        <float r = {{{root}}}, float one = {{1.0}}, float h = {{{half}}}>
        {{ [div] d = Div(x, r)  [erf] e = Erf(d)  [add] a = Add(e, one)  [mul] m = Mul(x, a)  [last] {last} }}"""


def looking(rules: str, text: str) -> Explainer:
    """The explainer of the last of some rules, when it has run on a graph."""
    module = load(model(text))
    context = Context(Evaluator())
    rule = rules_in(rules)[-1]
    apply(module, (rule,), context)
    return explainer(module, rule, context.remarks)


def nearest(rules: str, text: str) -> NearMiss:
    return looking(rules, text).misses(1)[0]


def said(miss: NearMiss) -> tuple[str, str, str, str]:
    assert miss.span is not None
    return miss.root, miss.progress, miss.span.text, miss.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            graph(root="1.5"),
            ("last", "4 of 5 operations", "~1.41421356", "the constant is 1.5, the pattern needs ~1.41421356"),
        ),
        (graph(half="0.25"), ("last", "4 of 5 operations", "0.5", "the constant is 0.25, the pattern needs 0.5")),
        (
            graph(last="y = Mul(m, x)"),
            (
                "last",
                "4 of 5 operations",
                "0.5",
                "the pattern needs the constant 0.5, found an input of the graph (`x`)",
            ),
        ),
    ],
)
def test_what_stopped_a_match_is_the_smallest_piece_of_the_pattern(text: str, expected: tuple[str, ...]) -> None:
    assert said(nearest(GELU, text)) == expected


def test_a_piece_that_fits_and_is_not_used_as_the_pattern_uses_it() -> None:
    miss = nearest(GELU, graph(last="y = Relu(m)"))
    reason = "`m` is used by Relu `last`, the pattern needs Mul"
    assert said(miss) == ("mul", "4 of 5 operations", "(x * (e + 1.0)) * 0.5", reason)
    assert miss.nodes == ("mul", "add", "erf", "div")


def test_a_match_that_fits_and_is_declined_says_where_its_inside_is_used() -> None:
    miss = nearest(GELU, graph(also=", float[2,8] e"))
    assert miss.whole
    reason = "`e`, inside the match, is an output of the graph"
    assert said(miss) == ("last", "5 of 5 operations", "Erf(either(x / ~1.41421356, x * ~0.70710678))", reason)


def test_types_name_the_value_and_what_the_pattern_needs() -> None:
    rules = """
    pattern masked(s: float[B, N, S, T], mask: float[_, _, _, T]) -> y { y = Softmax(s + mask, axis = -1) }
    rewrite r { match y = masked(s, mask)  replace y with Softmax(s + mask, axis = -1) }
    """
    text = "g (float[1,2,3,4] s, float[3,4] mask) => (float[1,2,3,4] y) { a = Add(s, mask)  y = Softmax(a) }"
    miss = nearest(rules, text)
    reason = "`mask` has rank 2, the pattern needs float[_, _, _, T]"
    assert said(miss) == ("Softmax_0", "1 of 2 operations", "mask: float[_, _, _, T]", reason)
    assert miss.made_by == "an input of the graph"


def test_guards_say_what_their_names_stand_for() -> None:
    rules = "rewrite r { match y = Softmax(x, axis = $a)  where rank(x) == 3 && $a == 1  replace y with x }"
    miss = nearest(rules, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 2>(x) }")
    assert said(miss)[1:] == ("1 of 1 operation", "$a == 1", "`$a == 1` does not hold: $a is 2")


def test_attributes_that_are_not_mentioned_and_that_differ() -> None:
    rules = "rewrite r { match y = Gemm(a, b, transB = 1)  replace y with a }"
    text = "g (float[3,3] a, float[3,3] b) => (float[3,3] y) { y = Gemm<transB = 1, alpha = 0.5>(a, b) }"
    assert nearest(rules, text).reason == "`alpha` of `Gemm_0` is 0.5, not its default"
    text = "g (float[3,3] a, float[3,3] b) => (float[3,3] y) { y = Gemm(a, b) }"
    assert nearest(rules, text).reason == "`transB` of `Gemm_0` is 0, the pattern needs 1"


def test_a_replacement_of_another_shape_is_told_with_its_reason() -> None:
    rules = "rewrite r { match y = Relu(x) replace y with ReduceMax(x, axes = [0]) }"
    miss = nearest(rules, "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }")
    assert miss.whole
    assert said(miss)[2:] == ("ReduceMax(x, axes = [0])", "the replacement's shape is [1, 3], not [2, 3]")


def test_at_a_node_every_position_is_tried() -> None:
    found = looking(GELU, graph(last="y = Div(m, h)"))
    nodes = {node.name: node for node in found.module.nodes()}
    reasons = [miss.reason for miss in found.at([nodes["mul"]])]
    assert reasons[0] == "`m` is used by Div `last`, the pattern needs Mul"
    assert "the pattern needs the constant 0.5, found an input of the graph (`x`)" in reasons
    assert [m.root for m in found.at([nodes["div"]])] == ["mul"], "what fits is followed upwards"
    assert found.at([nodes["erf"]])[0].nodes == ("mul", "add", "erf", "div")


def test_places_that_share_operations_are_told_once_and_the_order_is_that_of_the_graph() -> None:
    two = """g (float[2,8] x) => (float[2,8] y, float[2,8] z)
        <float r = {1.41421356}, float one = {1.0}, float h = {0.25}>
        { d = Div(x, r)  e = Erf(d)  a = Add(e, one)  m = Mul(x, a)  [first] y = Mul(m, h)
          n = Neg(x)  d2 = Div(n, r)  e2 = Erf(d2)  a2 = Add(e2, one)  m2 = Mul(n, a2)  [second] z = Mul(m2, h) }"""
    found = looking(GELU, two)
    assert [m.root for m in found.misses()] == ["first", "second"]
    assert [m.root for m in found.misses()] == [m.root for m in found.misses()]


def test_siblings_that_stay() -> None:
    rules = """horizontal merge {
      over   x: float[..., K]
      member y = MatMul(x, w: const float[K, _])
      merge  MatMul(x, concat(w, axis = 1))
      split  axis = -1, sizes = dim(w, 1)
    }"""
    text = "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1.0,2.0,3.0,4.0}> { y = MatMul(x, w) }"
    assert nearest(rules, text).reason == "it has no sibling: nothing else of this form takes its input"
    text = "g (float[2,2] x, float[2,2] w) => (float[2,2] y) { y = MatMul(x, w) }"
    miss = nearest(rules, text)
    assert said(miss)[2:] == ("w: const float[K, _]", "the pattern needs a constant, found an input of the graph (`w`)")


# ---- expect


def expecting(text: str, condition: str, steps: str = "apply(fuse_gelu)") -> Any:
    source = f'trtspec 1\nmodel "m.onnx"\n{GELU}\npipeline {{ {steps}  expect({condition}) }}\n'
    spec = lang.loads(source, Path("m.trtspec"), vocabulary())
    module = load(model(text))
    return run(module, spec.pipeline, Registry.installed(), Context(Evaluator()))


def test_an_expect_that_fails_shows_the_nearest_miss() -> None:
    with pytest.raises(DiagnosticError) as caught:
        expecting(graph(half="0.25"), "fuse_gelu == 1")
    assert str(caught.value) == (
        "error[T0501]: expected fuse_gelu == 1, got 0\n"
        "   --> m.trtspec:10:37\n"
        "    |\n"
        " 10 | pipeline { apply(fuse_gelu)  expect(fuse_gelu == 1) }\n"
        "    |                                     ^^^^^^^^^^^^^^\n"
        "    = nearest miss: last matched 4 of 5 operations\n"
        "    = stopped at line 6 `0.5`: the constant is 0.25, the pattern needs 0.5\n"
        "    = help: see `trtc why m.trtspec fuse_gelu --at last`"
    )


def test_the_miss_is_of_the_graph_as_the_rule_saw_it() -> None:
    with pytest.raises(DiagnosticError, match=r"nearest miss: last matched 4 of 5"):
        expecting(graph(half="0.25"), "fuse_gelu == 1", "apply(fuse_gelu) fold_constants() apply(std.shape) dce()")


def test_an_expect_of_less_shows_no_miss_and_one_that_holds_nothing() -> None:
    with pytest.raises(DiagnosticError) as caught:
        expecting(graph(), "fuse_gelu == 0")
    (found,) = caught.value.diagnostics
    assert found.notes == ()
    assert found.help == "see `trtc why m.trtspec fuse_gelu`"
    outcome = expecting(graph(), "fuse_gelu == 1")
    assert outcome.nearest == {}


def test_rules_that_chase_each_other_are_named() -> None:
    source = """trtspec 1
model "m.onnx"
rewrite to_mul { match y = x / 2.0  recursive  replace y with x * 0.5 }
rewrite to_div { match y = x * 0.5  recursive  replace y with x / 2.0 }
pipeline { fixpoint(limit = 3) { apply(to_mul) apply(to_div) } }
"""
    spec = lang.loads(source, Path("m.trtspec"), vocabulary())
    module = load(model("g (float[2] x) => (float[2] y) <float t = {2.0}> { y = Div(x, t) }"))
    (warning,) = run(module, spec.pipeline, Registry.installed(), Context(Evaluator())).warnings
    assert warning.code == "T0502"
    assert "3 rounds: `to_div`, `to_mul` still changed" in warning.message
    assert [label.span.text for label in warning.labels] == ["to_mul", "to_div"]
