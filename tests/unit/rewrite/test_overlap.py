"""Rules compared before there is a model: what shadows, what cannot match, what feeds itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from trtc import lang
from trtc.diagnostics import Diagnostic, render
from trtc.driver.library import libraries, rules_of, vocabulary
from trtc.lang.spec import Apply, Fixpoint
from trtc.rewrite.overlap import check

GELU = """
pattern erf_gelu(x: float[...]) -> y {
  e = Erf(either(x / ~1.41421356, x * ~0.70710678))
  y = either((x * (e + 1.0)) * 0.5, x * ((e + 1.0) * 0.5), (x * 0.5) * (e + 1.0))
}
rewrite fuse_gelu { match y = erf_gelu(x)  replace y with Gelu(x) }
"""


def found(text: str, *, repeated: bool = False) -> list[Diagnostic]:
    words = text.split()
    names = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "rewrite"]
    step = f"apply({', '.join(names)})"
    step = f"fixpoint {{ {step} }}" if repeated else step
    source = f'trtspec 1\nmodel "m.onnx"\n{text}\npipeline {{ {step} }}\n'
    spec = lang.loads(source, Path("m.trtspec"), replace(vocabulary(), check_rules=None))
    return check(spec.pipeline)


def shadowed(first: str, second: str) -> bool:
    """Whether the second of two patterns, each with its guards, can never run behind the first."""
    text = (
        f"rewrite a {{ match {first} replace y with x benefit = 99 }} rewrite b {{ match {second} replace y with x }}"
    )
    return [d.code for d in found(text)] == ["T0310"]


def test_a_rule_whose_root_another_always_takes_is_an_error_with_both_places() -> None:
    special = "rewrite fuse_bias_gelu { match y = erf_gelu(x + b)  replace y with Gelu(x + b)  benefit = 2 }"
    (problem,) = found(GELU + special)
    assert render(problem) == (
        "error[T0310]: `fuse_bias_gelu` can never run: `fuse_gelu` always takes its root first\n"
        "  --> m.trtspec:9:9\n"
        "   |\n"
        f" 9 | {special}\n"
        "   |         ^^^^^^^^^^^^^^\n"
        "  ::: m.trtspec:8:9\n"
        "   |\n"
        " 8 | rewrite fuse_gelu { match y = erf_gelu(x)  replace y with Gelu(x) }\n"
        "   |         --------- this matches whatever the other matches\n"
        "   = help: give it a higher benefit, such as `benefit = 6`, or apply it in a step before"
    )
    assert found(GELU + special.replace("benefit = 2", "")) == [], "it has more operations, and comes first"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("y = Relu(x)", "y = Relu(Relu(x))"),
        ("y = Relu(x)", "y = Relu(x: f32[2, 3])"),
        ("y = Relu(x: float)", "y = Relu(x: f16)"),
        ("y = Relu(x: float[..., H])", "y = Relu(x: float[B, S, H])"),
        ("y = x + 1.0", "y = 1.0 + Erf(x)"),
        ("y = x + $c", "y = x + 2.0"),
        ("y = x * ~0.7071", "y = x * 0.7071"),
        ("y = either(x * 0.5, x / 2.0)", "y = x / 2.0"),
        ("y = either(x * 0.5, x / 2.0)", "y = either(Erf(x) / 2.0, Exp(x) * 0.5)"),
        ("y = Conv(x, w, b?, ..)", "y = Conv(x, w, group = 2, ..)"),
        ("y = Softmax(x, axis = $a)", "y = Softmax(x, axis = 1)"),
        (
            "y = Transpose(Transpose(x, perm = _), perm = $p)",
            "y = Transpose(Transpose(x, perm = [1, 0]), perm = [1, 0])",
        ),
        ("y = x + z", "d = Neg(x) y = d + Exp(d)"),
    ],
)
def test_patterns_that_match_whatever_another_matches(first: str, second: str) -> None:
    assert shadowed(first, second)
    # The other way round the first has more to ask.
    assert not shadowed(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("y = Relu(x) where rank(x) == 2", "y = Relu(Relu(x))"),
        ("y = Relu(x: f32)", "y = Relu(x)"),
        ("y = Relu(x: const)", "y = Relu(x)"),
        ("y = Relu(x: float[_, _])", "y = Relu(x: float[...])"),
        ("y = x + x", "y = x + z"),
        ("y = x - 1.0", "y = 1.0 - x"),
        ("y = Conv(x, w)", "y = Conv(x, w, ..)"),
        ("y = Conv(x, w, ..)", "y = Conv(x, w, b?, ..)"),
        ("y = Softmax(x, axis = 1)", "y = Softmax(x, axis = 2)"),
        ("y = either(x * 0.5, x / 2.0)", "y = either(x / 2.0, x / 3.0)"),
        # Inside the second, something else uses what the first would take away.
        ("y = Neg(x) * 0.5 + z", "d = Neg(x) y = d * 0.5 + Relu(d)"),
        ("y = Neg(Exp(x))", "shared e = Exp(x) y = Neg(e)"),
    ],
)
def test_patterns_that_leave_something_to_another(first: str, second: str) -> None:
    assert not shadowed(first, second)


def test_what_a_rule_made_itself_it_leaves_to_others() -> None:
    first = "rewrite a { match y = Relu(Relu(x)) replace y with Relu(x) benefit = 9 }\n"
    second = "rewrite b { match y = Relu(Relu(Relu(x))) replace y with Relu(x) }"
    assert found(first + second) == []
    assert [d.code for d in found(first.replace("benefit", "recursive benefit") + second)] == ["T0310"]


def test_a_default_that_is_written_out_says_nothing_more() -> None:
    assert shadowed("y = Softmax(x, axis = -1)", "y = Softmax(x)")
    assert shadowed("y = Softmax(x)", "y = Softmax(x, axis = -1)")


def test_the_same_pattern_under_the_same_condition_is_a_warning() -> None:
    rule = "rewrite {} {{ match y = Relu(x: float) where rank(x) == {} replace y with Abs(x) }}\n"
    (problem,) = found(rule.format("a", 2) + rule.format("b", 2) + rule.format("c", 3))
    assert (problem.code, problem.severity.value) == ("T0311", "warning")
    assert problem.message == "`b` and `a` match the same: `a` takes it first"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("y = v + (Transpose(x): const)", "the result of Transpose is no constant"),
        ("y = MatMul(x: f32[_, _], x: f16)", "a value cannot be both f32 and f16"),
        ("y = Sigmoid(x: f32[_, _]) + (x: f32[_])", "a value cannot be both `f32[_, _]` and `f32[_]`"),
        ("y = Abs(x: float[A, ..., B, C]) + (x: float[_, _])", "a value cannot be both"),
    ],
)
def test_patterns_that_nothing_matches(pattern: str, why: str) -> None:
    (problem,) = found(f"rewrite r {{ match {pattern} replace y with x }}")
    assert problem.code == "T0312"
    assert why in problem.message
    either = pattern.replace("y = ", "y = either(Relu(x), ", 1) + ")"
    assert found(f"rewrite r {{ match {either} replace y with x }}") == [], "another alternative may match"


def test_a_rule_that_makes_what_it_matches_is_a_warning_in_a_fixpoint() -> None:
    rule = "rewrite r { match y = x + 0.0 replace y with (x * 1.0) + 0.0 }"
    (problem,) = found(rule, repeated=True)
    assert (problem.code, problem.severity.value) == ("T0313", "warning")
    assert found(rule) == []
    assert found(rule.replace("match y = x + 0.0", "match y = x + 0.0 where rank(x) == 2"), repeated=True) == []
    assert found("rewrite r { match y = Neg(Neg(x)) replace y with Abs(Neg(x)) }", repeated=True) == []


@pytest.mark.parametrize(
    "name", [n for n, (_, text) in libraries().items() if n.startswith("std.") and "rewrite" in text]
)
def test_the_rules_of_a_standard_library_leave_each_other_room(name: str) -> None:
    steps = (Fixpoint(8, (Apply(rules_of(name)),)),)
    assert [render(d) for d in check(steps, libraries=True)] == []


def test_check_of_a_spec_finds_them_without_onnx(tmp_path: Path) -> None:
    spec = tmp_path / "m.trtspec"
    first = "rewrite a { match y = Relu(x)  replace y with x  benefit = 3 }"
    second = "rewrite b { match y = Relu(Abs(x))  replace y with x }"
    spec.write_text(f'trtspec 1\nmodel "m.onnx"\n{first}\n{second}\npipeline {{ apply(a, b) }}\n')
    program = (
        "import sys\nfrom trtc.driver.checking import check\n"
        f"print([d.code for d in check({str(spec)!r}).diagnostics])\n"
        "print([m for m in ('onnx', 'onnx_ir', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['T0310']", "[]"]
