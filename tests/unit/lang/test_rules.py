"""What rules become: operators by how tightly they bind, parameters as numbers, names of files and libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trtc.diagnostics import DiagnosticError, Source
from trtc.lang import (
    Apply,
    Fixpoint,
    PassCall,
    RuleCount,
    Spec,
    Step,
    Vocabulary,
    check_text,
    library_rules,
    loads,
    parse,
    rules,
)
from trtc.lang.report import Report

HERE = Path("dir/m.trtspec")
HEAD = 'trtspec 1\nmodel "m.onnx"\n'


def guard(text: str) -> rules.Expr:
    (rule,) = parse(Source("m", f"trtspec 1 rewrite r {{ match y = f(x) where {text} replace y with x }}")).declarations
    assert isinstance(rule, rules.Rewrite)
    return rule.guards[0]


def show(value: rules.Expr) -> str:
    if isinstance(value, rules.Infix):
        return f"({show(value.left)} {value.operator} {show(value.right)})"
    if isinstance(value, rules.Prefix):
        return f"[{value.operator} {show(value.operand)}]"
    return value.span.text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("a - b - c", "((a - b) - c)"),
        ("!a == b && c || d", "(([! (a == b)] && c) || d)"),
        ("a || b && c == d + e * -f", "(a || (b && (c == (d + (e * [- f])))))"),
        ("-a @ b / c", "(([- a] @ b) / c)"),
        ("(a + b) * c", "((a + b) * c)"),
        ("a * (b + c)", "(a * (b + c))"),
        ("a - -2 * b", "(a - (-2 * b))"),
        ("!!a", "[! [! a]]"),
    ],
)
def test_operators_bind(text: str, read: str) -> None:
    value = guard(text)
    assert show(value) == read
    assert value.span.text == text


def test_literals() -> None:
    value = guard("f(true, -inf, -1.5, [1, -2], ~-0.5(1e-3), _, b?, $c)")
    assert isinstance(value, rules.Apply)
    found = [getattr(i, "value", None) for i in value.inputs[:3]]
    assert found == [True, float("-inf"), -1.5]
    assert [i.value for i in value.inputs[3].items] == [1, -2]  # type: ignore[union-attr]
    approximate = value.inputs[4]
    assert isinstance(approximate, rules.Approximate)
    assert (approximate.value, approximate.tolerance) == (-0.5, 1e-3)
    assert [type(i) for i in value.inputs[5:]] == [rules.Value, rules.Value, rules.Capture]


def spec_of(text: str, vocabulary: Vocabulary, **more: Any) -> Spec:
    return loads(HEAD + text, HERE, vocabulary, **more)


SCALED = """param heads = 12
param factor = 0.5
pattern half(x: float[N, heads]) -> y { y = x * factor }
rewrite r {
  match y = half(x: float[N, _])
  replace y with Reshape(x, [N, heads * 2])
}
pipeline { apply(r) }
"""


def test_parameters_are_numbers_in_rules(vocabulary: Vocabulary) -> None:
    (rule,) = spec_of(SCALED, vocabulary, overrides={"heads": "4"}).rules
    pattern = rule.environment.patterns["half"]
    assert pattern.parameters[0].type.dims[1].value == 4  # type: ignore[index, union-attr]
    assert pattern.equations[0].value.right.value == 0.5  # type: ignore[union-attr]
    assert rule.replacement.inputs[1].items[1].left.value == 4  # type: ignore[union-attr]


def test_names_of_a_rule_win_over_parameters(vocabulary: Vocabulary) -> None:
    text = "param x = 3\npattern p(x) -> y { y = Relu(x) }\nrewrite r { match y = p(_)  replace y with Abs(y) }\n"
    spec, found = check_text(HEAD + text, HERE, vocabulary)
    assert spec is not None
    assert spec.rules[0].environment.patterns["p"].equations[0].value.inputs[0].name == "x"  # type: ignore[union-attr]
    assert [d.message for d in found] == ["param `x` is not used"]


def test_libraries_and_files(vocabulary: Vocabulary) -> None:
    library = "trtspec 1\nuse std.norm\nrewrite mine { match y = rms(x, _: const)  replace y with x }\n"
    text = 'use "./lib.trtspec"\npipeline { apply(mine, std.norm)  expect(fuse_rms + mine > 2) }\n'
    spec, found = check_text(HEAD + text, HERE, vocabulary, read=lambda _: library)
    assert spec is not None, found
    apply, expect = spec.pipeline
    assert isinstance(apply, Apply)
    assert [(r.library, r.name.text) for r in apply.rules] == [
        ("", "mine"),
        ("std.norm", "fuse_rms"),
        ("std.norm", "drop_scale"),
    ]
    assert apply.rules[0].environment.patterns["rms"] is apply.rules[1].environment.patterns["rms"]
    counts = {"fuse_rms": 2, "mine": 1}
    assert expect.conditions[0].holds(lambda term: counts[term.name])  # type: ignore[union-attr]
    assert expect.conditions[0].left.right == RuleCount("mine")  # type: ignore[union-attr]


def test_library_rules(vocabulary: Vocabulary) -> None:
    assert [r.name.text for r in library_rules("std.norm", vocabulary)] == ["fuse_rms", "drop_scale"]
    with pytest.raises(DiagnosticError, match=r"unknown library `std\.nrom`"):
        library_rules("std.nrom", vocabulary)
    empty = replace(vocabulary, libraries={"std.empty": ("std/empty.trtspec", "trtspec 1\n")})
    assert library_rules("std.empty", empty) == ()
    wrong = replace(
        vocabulary, libraries={"std.x": ("x", "trtspec 1\nrewrite r { match y = Rellu(x)  replace y with x }")}
    )
    with pytest.raises(DiagnosticError, match="unknown operator, pattern, plugin or function `Rellu`"):
        library_rules("std.x", wrong)


def test_the_rules_of_a_pipeline_are_looked_at_together(vocabulary: Vocabulary) -> None:
    seen: list[Sequence[Step]] = []

    def look(steps: Sequence[Step], report: Report) -> None:
        seen.append(steps)
        first = steps[0]
        assert isinstance(first, Fixpoint)
        assert isinstance(first.steps[0], Apply)
        report.error("T0302", "no", first.steps[0].rules[0].span)

    looking = replace(vocabulary, check_rules=look)
    steps = "fixpoint { apply(r, std.norm) } apply(std.norm)"
    text = f"rewrite r {{ match y = Erf(x)  replace y with x }}\npipeline {{ {steps} }}"
    spec, found = check_text(HEAD + text, HERE, looking)
    assert spec is None
    assert [len(steps) for steps in seen] == [2]
    assert [d.message for d in found] == ["no"]
    _, found = check_text(HEAD + text.replace("Erf", "Erff"), HERE, looking)
    assert len(seen) == 1, "rules that are wrong by themselves are not compared"


def test_libraries_are_parsed_when_they_are_needed(vocabulary: Vocabulary) -> None:
    broken = {**vocabulary.libraries, "std.broken": ("std/broken.trtspec", "trtspec 1\nrewrite {")}
    made = replace(vocabulary, libraries=broken)
    assert spec_of("pipeline { standard() }", made).pipeline
    spec, found = check_text(HEAD + "pipeline { apply(std.broken) }", HERE, made)
    assert spec is None
    assert [d.code for d in found] == ["T0101"]


def test_a_pass_in_python(vocabulary: Vocabulary) -> None:
    text = 'extern pass tidy from "mine:Tidy"\npipeline { tidy(deep = true) }'
    (call,) = spec_of(text, vocabulary).pipeline
    assert isinstance(call, PassCall)
    assert (call.name, call.options) == ("tidy", {"deep": True})
    later = replace(vocabulary, not_built=frozenset({"extern.pass"}))
    with pytest.raises(DiagnosticError, match="does not build passes in Python"):
        spec_of(text, later)


def test_members_of_a_horizontal(vocabulary: Vocabulary) -> None:
    text = """horizontal h {
  over   x
  member
    t = MatMul(x, w: const)
    y = t + b
  merge  MatMul(x, concat(w, axis = 1)) + concat(b, axis = 0)
  split  axis = -1, sizes = dim(w, 1)
}
"""
    (rule,) = spec_of(text, vocabulary).rules
    assert isinstance(rule, rules.Horizontal)
    assert [t.name for t in rule.member.targets] == ["y"]
    assert [e.targets[0].name for e in rule.equations] == ["t"]
    assert (rule.over.name.text, rule.axis.span.text, rule.sizes.span.text) == ("x", "-1", "dim(w, 1)")
