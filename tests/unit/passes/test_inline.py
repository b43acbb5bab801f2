"""inline_functions and inline_if."""

from __future__ import annotations

import pytest
from pass_harness import assert_same, check, listing, load, messages, model, run

from trtc import ir
from trtc.diagnostics import DiagnosticError
from trtc_passes import InlineFunctions, InlineIf

_SWISH = """<domain: "mine", opset_import: ["" : 23]>
Swish <alpha: float = 1.0> (x) => (y) {
    a = Constant <value_float: float = @alpha> ()  b = Mul(x, a)  c = Sigmoid(b)  y = Mul(x, c)
}
"""


def test_a_body_with_an_attribute_and_its_default() -> None:
    text = "g (float[N,3] x) => (float[N,3] y) { a = mine.Swish <alpha = 2.0> (x)  y = mine.Swish(a) }"
    module, _ = check(
        text,
        InlineFunctions(),
        [
            "Swish_0/b = Mul(x, 2.0)",
            "Swish_0/c = Sigmoid(Swish_0/b)",
            "Swish_0/y = Mul(x, Swish_0/c)",
            "Swish_1/b = Mul(Swish_0/y, 1.0)",
            "Swish_1/c = Sigmoid(Swish_1/b)",
            "y = Mul(Swish_0/y, Swish_1/c)",
        ],
        functions=_SWISH,
        shapes=({"N": 1}, {"N": 5}),
    )
    sigmoid = module.graph[1]
    assert ir.origins(sigmoid) == ("Swish_0/Sigmoid_0",)
    assert ir.rule(sigmoid) == "inline_functions"


def test_nested_calls_overloads_and_captures_in_subgraphs() -> None:
    functions = """<domain: "mine", opset_import: ["" : 23, "mine" : 1]>
    Outer (x, c) => (y)
    {
        h = mine.Inner(x)
        y = If (c) <
            then_branch = t () => (r) { r = mine.Inner(h) },
            else_branch = e () => (s) { s = Sub(h, x) }
        >
    }
    <domain: "mine", opset_import: ["" : 23]> Inner (x) => (y) { y = Neg(x) }"""
    text = "g (float[3] x, bool c) => (float[3] y) { a = mine.Outer(x, c) y = mine.Outer(a, c) }"
    proto = model(text, functions=functions)
    module = load(proto)
    run(module, InlineFunctions())
    assert not any("mine." in line for line in listing(module))
    assert [line for line in listing(module) if "Neg" in line] == [
        "Outer_0/Inner_0/y = Neg(x)",
        "    Outer_0/r = Neg(Outer_0/Inner_0/y)",
        "Outer_1/Inner_0/y = Neg(Outer_0/y)",
        "    Outer_1/r = Neg(Outer_1/Inner_0/y)",
    ]
    assert_same(proto, module)


def test_a_body_that_gives_its_input_back_keeps_the_name_of_the_output() -> None:
    functions = """<domain: "mine", opset_import: ["" : 23]> Both (x) => (y, z) { y = Identity(x) z = Exp(x) }"""
    check(
        "g (float[3] x) => (float[3] y, float[3] z) { y, z = mine.Both(x) }",
        InlineFunctions(),
        ["y = Identity(x)", "z = Exp(x)"],
        functions=functions,
    )


def test_functions_of_a_kept_domain_stay_calls() -> None:
    proto = model("g (float[3] x) => (float[3] y) { y = mine.Swish(x) }", functions=_SWISH)
    for keep in (("mine",), ("mine::Swish",)):
        module = load(proto)
        assert not run(module, InlineFunctions(keep=keep))[0].changed
        assert listing(module) == ["y = mine.Swish(x)"]


def test_a_function_named_like_a_standard_operator_is_its_own() -> None:
    functions = """<domain: "mine", opset_import: ["" : 23]> Relu (x) => (y) { y = Neg(x) }"""
    text = "g (float[3] x) => (float[3] y) { a = Relu(x)  y = mine.Relu(a) }"
    check(text, InlineFunctions(), ["a = Relu(x)", "y = Neg(a)"], functions=functions)


def test_functions_that_double_at_every_level_are_counted_before_they_are_copied() -> None:
    levels = 18
    functions = "\n".join(
        f'<domain: "mine", opset_import: ["" : 23, "mine" : 1]> F{i} (x) => (y) '
        + (f"{{ a = mine.F{i + 1}(x) y = mine.F{i + 1}(a) }}" if i < levels - 1 else "{ y = Neg(x) }")
        for i in range(levels)
    )
    module = load(model("g (float[3] x) => (float[3] y) { y = mine.F0(x) }", functions=functions))
    with pytest.raises(DiagnosticError) as caught:
        InlineFunctions().run(module, run(module)[1])
    assert caught.value.diagnostics[0].code == "T0520"
    assert "131,072" in caught.value.diagnostics[0].notes[0]
    assert listing(module) == ["y = mine.F0(x)"]


def test_a_constant_condition_takes_its_branch() -> None:
    text = """g (float[3] x) => (float[3] y, float[3] z) <bool yes = {1}, bool no = {0}>
    {
        y = If (yes) <
            then_branch = t () => (float[3] a) <float[3] w = {1, 2, 3}> { h = Add(x, w) a = Relu(h) },
            else_branch = e () => (float[3] b) { b = Neg(x) }
        >
        z = If (no) <
            then_branch = t2 () => (float[3] c) { c = Exp(x) },
            else_branch = e2 () => (float[3] d) { d = Identity(x) }
        >
    }"""
    _, context = check(
        text,
        InlineIf(),
        ["h = Add(x, [1.0, 2.0, 3.0])", "y = Relu(h)", "z = Identity(x)"],
    )
    assert messages(context, "applied") == [
        ("If_0", "the condition is always True"),
        ("If_1", "the condition is always False"),
    ]


def test_an_if_in_a_branch_that_is_dropped_is_left() -> None:
    text = """g (float[3] x) => (float[3] y) <bool yes = {1}>
    {
        y = If (yes) <
            then_branch = t () => (float[3] a) {
                a = If (yes) < then_branch = t1 () => (float[3] p) { p = Exp(x) },
                               else_branch = e1 () => (float[3] q) { q = Abs(x) } > },
            else_branch = e () => (float[3] b) {
                b = If (yes) < then_branch = t3 () => (float[3] r) { r = Neg(x) },
                               else_branch = e3 () => (float[3] s) { s = Tanh(x) } > }
        >
    }"""
    check(text, InlineIf(), ["y = Exp(x)"])
