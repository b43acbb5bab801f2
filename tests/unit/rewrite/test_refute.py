"""Refutation: what holds is said to hold, what does not is shown, what was never satisfied is untested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rewrite_harness import rules_in

from trtc.cli import main
from trtc.rewrite.refute.compare import FACTOR, compare
from trtc.rewrite.refute.report import Outcome, outcome
from trtc.rewrite.refute.search import LEAST, search
from trtc.rewrite.refute.shrink import shrink
from trtc.rewrite.refute.survey import Survey

GELU = """
pattern erf_gelu(x: float[...]) -> y {
  e = Erf(either(x / ~1.41421356, x * ~0.70710678))
  y = either((x * (e + 1.0)) * 0.5, x * ((e + 1.0) * 0.5), (x * 0.5) * (e + 1.0))
}
"""
AS_GELU = """rewrite r {{
  match y = erf_gelu(x)
  replace y with Gelu(x, approximate = "{}")
  test {{ x: f32[2, 3, 8] }}
}}"""
TWICE = "Transpose(Transpose(x, perm = $p), perm = $q)"
LAYER_NORM = """
pattern layer_norm(x: float[..., H], gamma: const float[H], beta: const float[H]) -> (y, $eps) {
  mu  = ReduceMean(x, axes = [-1], keepdims = 1)
  d   = x - mu
  var = ReduceMean(either(Pow(d, 2.0), d * d), axes = [-1], keepdims = 1)
  n   = either(d / Sqrt(var + $eps), d * Reciprocal(Sqrt(var + $eps)))
  y   = n * gamma + beta
  where 0.0 < $eps && $eps < 1e-2
}
"""


def refuted(text: str, instances: int = 60, **options: Any) -> Outcome:
    (rule,) = rules_in(text)
    found = search(rule, instances=instances, **options)
    if found.counterexample is not None:
        found.counterexample = shrink(rule, found.survey, found.counterexample, 2.0)
    return outcome(found, instances)


def test_gelu_holds_with_every_alternative_and_order() -> None:
    result = refuted(
        GELU
        + 'rewrite r { match y = erf_gelu(x) replace y with Gelu(x, approximate = "none") test { x: f32[2, 3, 8] } }',
        instances=200,
    )
    assert result.status == "held"
    assert result.found.instances >= 200
    assert result.found.tested["f16"] > 10
    kinds = [(c.choice.kind, len(c.counts)) for c in result.found.coverage]
    assert kinds.count(("either", 3)) == 1
    assert kinds.count(("either", 2)) == 1
    assert ("order", 2) in kinds
    assert all(min(c.counts) >= LEAST for c in result.found.coverage)
    assert not result.diagnostics


def test_the_other_gelu_is_refuted_with_a_small_instance() -> None:
    result = refuted(
        GELU
        + 'rewrite r { match y = erf_gelu(x) replace y with Gelu(x, approximate = "tanh") test { x: f32[2, 8, 64] } }'
    )
    assert result.status == "refuted"
    (diagnostic,) = result.diagnostics
    assert diagnostic.code == "T0910"
    assert diagnostic.status == 3
    assert result.found.counterexample is not None
    (x,) = result.found.counterexample.instance.inputs.values()
    assert x.size <= 16
    assert any(note.strip().startswith("x: float") for note in diagnostic.notes)


@pytest.mark.parametrize(
    ("right", "status"),
    [
        ("LayerNormalization(x, gamma, beta, axis = -1, epsilon = $eps)", "held"),
        ("LayerNormalization(x, gamma, beta, axis = -1, epsilon = 1e-5)", "refuted"),
        ("LayerNormalization(x, beta, gamma, axis = -1, epsilon = $eps)", "refuted"),
        ("LayerNormalization(x, gamma, axis = -1, epsilon = $eps)", "refuted"),
    ],
)
def test_layer_norm(right: str, status: str) -> None:
    result = refuted(
        LAYER_NORM
        + f"rewrite r {{ match (y, $eps) = layer_norm(x, gamma, beta) replace y with {right} "
        + "test { x: f32[2, 3, 8]  gamma: f32[8]  beta: f32[8] } }"
    )
    assert result.status == status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        # A permutation of a permutation, in the right order and in the wrong one.
        (f"{TWICE} replace y with Transpose(x, perm = compose($p, $q))", "held"),
        (f"{TWICE} replace y with Transpose(x, perm = compose($q, $p))", "refuted"),
        # Operands of what does not commute.
        ("(a - x) + x replace y with a", "refuted"),
        ("x / 2.0 replace y with x * 0.5", "held"),
        ("x / 3.0 replace y with x * 0.333", "refuted"),
        # An exact left side, and a right side that rounds a few times.
        ("x * 1.0 replace y with (x * 3.0) / 3.0", "held"),
        # The left side underflows where the right does not: the right is the better one.
        ("Sqrt(x * x) replace y with Abs(x)", "held"),
        ("Relu(Relu(x)) replace y with Relu(x)", "held"),
        ("Max(x, 0.0) replace y with Relu(x)", "held"),
        ("Softmax(x, axis = -1) replace y with Softmax(x, axis = 0)", "refuted"),
    ],
)
def test_small_rules(text: str, status: str) -> None:
    tests = "test { x: f32[2, 3, 4]  a: f32[2, 3, 4] }" if "(a" in text else "test { x: f32[2, 3, 4] }"
    assert refuted(f"rewrite r {{ match y = {text} {tests} }}").status == status


@pytest.mark.parametrize(
    ("text", "tensors"),
    [
        # Terms that overflow where their sum does not.
        ("Exp(x: float + a: float) replace y with Exp(x) * Exp(a)", "x: f32[4]  a: f32[4]"),
        # Halves go to the even number.
        ("Round(x: float) replace y with Floor(x + 0.5)", "x: f32[4]"),
        # Integers beyond the digits of float32, beyond 32 bits, and those that a product wraps.
        ("Max(x: i64, 0) replace y with Cast(Relu(Cast(x, to = f32)), to = i64)", "x: i64[4]"),
        ("x: i64 + 1 replace y with Cast(Cast(x, to = i32) + 1, to = i64)", "x: i64[4]"),
        ("(x: i64 * 4) / 4 replace y with x", "x: i64[4]"),
    ],
)
def test_rules_that_are_wrong_at_the_edges_of_a_dtype_are_refuted(text: str, tensors: str) -> None:
    result = refuted(f"rewrite r {{ match y = {text} test {{ {tensors} }} }}", instances=200)
    assert result.status == "refuted"


def test_what_is_not_finite_must_agree_unless_the_rule_says_so() -> None:
    body = "match y = Log(Exp(x) + 1.0) replace y with Softplus(x) test { x: f32[2, 4] }"
    assert refuted(f"rewrite r {{ {body} }}").status == "refuted"
    assert refuted(f"rewrite r {{ {body} assumes finite }}").status == "held"


def test_a_guard_is_what_makes_the_rule_hold() -> None:
    body = "match y = LeakyRelu(x, alpha = $a) {} replace y with Relu(x) test {{ x: f32[2, 4] }} assumes finite"
    assert refuted(f"rewrite r {{ {body.format('where $a == 0.0')} }}").status == "held"
    assert refuted(f"rewrite r {{ {body.format('')} }}").status == "refuted"


def test_an_optional_input_is_tested_present_and_absent() -> None:
    result = refuted(
        "rewrite r { match c = Conv(x, w: const, b?, ..) y = Relu(Relu(c)) replace y with Relu(Conv(x, w, b?, ..c)) "
        "test { x: f32[1, 4, 6, 6]  w: f32[6, 4, 3, 3]  b: f32[6] } }"
    )
    assert result.status == "held"
    (present,) = [c for c in result.found.coverage if c.choice.kind == "input"]
    assert min(present.counts) >= LEAST


def test_a_wrong_use_of_an_optional_input_is_refuted() -> None:
    result = refuted(
        "rewrite r { match y = Conv(x, w: const, b?, strides = $s, pads = $p) "
        "replace y with Conv(x, w, strides = $s, pads = $p) "
        "test { x: f32[1, 4, 6, 6]  w: f32[6, 4, 3, 3]  b: f32[6] } }"
    )
    assert result.status == "refuted"
    assert result.found.counterexample is not None
    assert "b" in result.found.counterexample.instance.leaves


def test_views_are_chains_of_operators_that_keep_the_elements() -> None:
    head = "match p = GlobalAveragePool(x) f = (view(p) : float[N, C]) y = Gemm(f, w: const float[K, C], transB = 1)"
    good = "MatMul(ReduceMean(x, axes = [2, 3], keepdims = 0), Transpose(w, perm = [1, 0]))"
    tests = "test { x: f32[2, 6, 3, 3]  w: f32[5, 6] }"
    result = refuted(f"rewrite r {{ {head} replace y with {good} {tests} }}")
    assert result.status == "held"
    bad = good.replace("ReduceMean", "ReduceMax")
    assert refuted(f"rewrite r {{ {head} replace y with {bad} {tests} }}").status == "refuted"


def test_an_impossible_rule_is_untested_and_says_why() -> None:
    result = refuted("rewrite r { match y = x * $a where $a > 1.0 && $a < 0.5 replace y with x test { x: f32[2] } }")
    assert result.status == "untested"
    assert result.gaps
    (diagnostic,) = result.diagnostics
    assert diagnostic.code == "T0911"
    assert diagnostic.severity.value == "warning"
    assert any("does not hold" in note for note in diagnostic.notes)


def test_an_alternative_that_no_graph_takes_is_named() -> None:
    # A matrix is no image.
    body = "match y = Relu(either(Relu(x), Conv(x, x))) replace y with Relu(x) test { x: f32[2, 3] }"
    result = refuted(f"rewrite r {{ {body} }}")
    assert result.status == "held"
    assert result.gaps
    (diagnostic,) = result.diagnostics
    assert diagnostic.code == "T0911"
    assert any("`Conv(x, x)`" in note for note in diagnostic.notes)


def test_a_horizontal_of_two_to_four_members() -> None:
    body = """
    horizontal h {{
      over   x: float[..., K]
      member y = MatMul(x, w: const float[K, _]) + b: const float[_]
      merge  MatMul(x, concat(w, axis = 1)) + concat({b}, axis = 0)
      split  axis = -1, sizes = dim(w, 1)
      test {{ x: f32[2, 3, 8]  w: f32[8, 4], f32[8, 4], f32[8, 2]  b: f32[4], f32[4], f32[2] }}
    }}"""
    result = refuted(body.format(b="b"))
    assert result.status == "held"
    assert result.found.instances >= 60


def test_the_same_seed_makes_the_same_instances() -> None:
    (rule,) = rules_in("rewrite r { match y = Relu(x + 0.0) replace y with Relu(x) test { x: f32[2, 3] } }")
    first, second = (search(rule, instances=30, seed=5) for _ in range(2))
    assert first.tested == second.tested
    assert first.worst == second.worst


def test_survey_counts_choices_without_making_anything() -> None:
    (rule,) = rules_in(
        "pattern p(x: float, m?: float) -> y { y = Add?(Cast?(x, to = 1), m) } "
        "rewrite r { match y = Relu(p(x, m?)) replace y with Relu(x) test { x: f32[2] } }"
    )
    kinds = sorted(c.kind for c in Survey.of(rule).choices.values())
    assert kinds == ["input", "optional", "order"]


# ---- comparing


def test_the_allowance_is_a_factor_of_the_left_error() -> None:
    truth = np.array([1.0, 2.0, 4.0])
    left = (truth + np.array([0.0, 1e-3, 0.0])).astype(np.float32)
    good = (truth + 0.9 * FACTOR * 1e-3).astype(np.float32)
    bad = (truth + 1.1 * FACTOR * 1e-3).astype(np.float32)
    assert compare(left, good, truth)[0] is None
    wrong, ratio = compare(left, bad, truth)
    assert wrong is not None
    assert ratio == pytest.approx(1.1, rel=0.01)


def test_an_exact_left_side_allows_a_few_ulp_of_the_result() -> None:
    truth = np.array([4.0, 0.0])
    left = truth.astype(np.float32)
    assert compare(left, (truth + 4 * 2.0**-21).astype(np.float32), truth)[0] is None
    assert compare(left, (truth + 40 * 2.0**-21).astype(np.float32), truth)[0] is not None


@pytest.mark.parametrize(
    ("left", "right", "truth", "equal"),
    [
        (np.inf, np.inf, np.inf, True),
        (np.inf, -np.inf, np.inf, False),
        (np.nan, np.nan, np.nan, True),
        (np.nan, np.inf, np.nan, False),
        (np.inf, 1.0, 1.0, True),  # only an intermediate result overflowed
        (1.0, np.nan, 1.0, False),
        (np.inf, 5.0, np.inf, False),
    ],
)
def test_what_is_not_finite(left: float, right: float, truth: float, equal: bool) -> None:
    sides = (np.array([1.0, one], np.float32) for one in (left, right))
    wrong, _ = compare(*sides, np.array([1.0, truth]))
    assert (wrong is None) == equal


def test_integers_and_bools_are_equal_or_not() -> None:
    one, two = np.array([1, 2]), np.array([1, 3])
    assert compare(one, one, None)[0] is None
    wrong, _ = compare(one, two, None)
    assert wrong is not None
    assert wrong.index == (1,)


def test_shape_and_dtype_are_part_of_the_result() -> None:
    one = np.zeros((2, 1), np.float32)
    assert compare(one, one.reshape(1, 2), None)[0] is not None
    assert compare(one, one.astype(np.float16), None)[0] is not None


# ---- the command


def _spec(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.trtspec"
    path.write_text(f"trtspec 1\n{text}\n")
    return str(path)


def test_the_command_ends_with_3_for_a_refuted_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "rewrite halve {\n  match y = x / 2.0\n  replace y with x * 0.4\n  test { x: f32[2, 3] }\n}"
    assert main(["test", _spec(tmp_path, text), "--instances", "30"]) == 3
    printed = capsys.readouterr()
    assert "error[T0910]: `halve` is refuted" in printed.err
    assert "x: float" in printed.err
    assert "1 rule: 0 held, 1 refuted" in printed.out


def test_the_command_prints_coverage_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "rewrite halve {\n  match y = either(x / 2.0, x * 0.5)\n  replace y with x * 0.5\n  test { x: f32[2, 3] }\n}"
    path = _spec(tmp_path, text)
    assert main(["test", path, "halve", "--instances", "40"]) == 0
    assert "alternatives of `either(x / 2.0, x * 0.5)`: x / 2.0 " in capsys.readouterr().out
    assert main(["test", path, "--instances", "40", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"]
    assert answer["rules"][0]["status"] == "held"
    assert set(answer["rules"][0]["coverage"][0]["options"]) == {"x / 2.0", "x * 0.5"}


def test_untested_is_a_failure_only_when_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "rewrite never {\n  match y = x * $a\n  where $a > 1.0 && $a < 0.5\n  replace y with x\n  test { x: f32[2] }\n}"
    )
    path = _spec(tmp_path, text)
    assert main(["test", path, "--instances", "20"]) == 0
    assert "1 untested" in capsys.readouterr().out
    assert main(["test", path, "--instances", "20", "--strict"]) == 3


def test_an_unknown_rule_gets_a_suggestion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "rewrite halve {\n  match y = x / 2.0\n  replace y with x * 0.5\n  test { x: f32[2, 3] }\n}"
    assert main(["test", _spec(tmp_path, text), "halv"]) == 2
    assert "did you mean `halve`?" in capsys.readouterr().err
