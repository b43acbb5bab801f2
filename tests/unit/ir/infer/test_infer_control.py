"""Bodies of control flow, sequences and functions."""

from __future__ import annotations

import pytest
from infer_cases import fact_of, ints, module_of, text_of

from trtc.diagnostics import DiagnosticError
from trtc.ir.infer import infer_all, show

CASES = [
    # If: what both branches agree on; a branch that cannot run is not taken.
    ("bool c, float[N,S] x",
     "y = If<then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Neg(x) }>(c)",
     "float[N, S]"),
    ("bool c, float[N,3] x, float[N,4] z",
     "y = If<then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Neg(z) }>(c)",
     "float[N, ?y_1]"),
    ("bool c, float[N,3] x, float[3] z",
     "y = If<then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Neg(z) }>(c)",
     "float[?]"),
    ("bool c, float[N,3] x",
     f"y = If<then_branch = t () => (a) {{ i = {ints(1)} a = Squeeze(x, i) }},"
     " else_branch = e () => (b) { b = Neg(x) }>(c)",
     "float[N, 3]"),
    ("float[N,3] x",
     "s = Shape<start = 1>(x) k = Constant<value_ints = [3]>() q = Equal(s, k) c = Squeeze(q)"
     " y = If<then_branch = t () => (a) { a = Transpose(x) }, else_branch = e () => (b) { b = Neg(x) }>(c)",
     "float[3, N]"),
    # Loop: a carried dim that moves is unknown, one that stays is kept; scanned outputs are stacked.
    ("float[N,3] x",
     "m = Constant<value_int = 5>() t = Cast<to = 9>(m)"
     " y = Loop<body = b (int64 i, bool k, float[] c) => (k2, c2) { k2 = Identity(k) c2 = Relu(c) }>(m, t, x)",
     "float[N, 3]"),
    ("float[N,3] x",
     "m = Constant<value_int = 5>() t = Cast<to = 9>(m)"
     " y = Loop<body = b (int64 i, bool k, float[] c) => (k2, c2)"
     " { k2 = Identity(k) c2 = Concat<axis = 0>(c, x) }>(m, t, x)",
     "float[?y_0, 3]"),
    ("float[N,3] x",
     "m = Constant<value_int = 5>() t = Cast<to = 9>(m)"
     " c, y = Loop<body = b (int64 i, bool k, float[] c) => (k2, c2, s)"
     " { k2 = Identity(k) c2 = Relu(c) s = Transpose(c) }>(m, t, x) z = Identity(y)",
     "float[5, 3, N]"),
    ("float[N,3] x, int64 m",
     "y = Loop<body = b (int64 i, bool k) => (k2, s) { k2 = Identity(k) s = Relu(x) }>(m, )",
     "float[max(?m[0], 0), N, 3]"),
    ("float[N,3] x, int64 m, bool q",
     "y = Loop<body = b (int64 i, bool k) => (k2, s) { k2 = Not(k) s = Relu(x) }>(m, q)",
     "float[?y_0, N, 3]"),
    # Two levels of capture.
    ("float[N,3] x, int64 m, bool q",
     "y = Loop<body = b (int64 i, bool k) => (k2, s) { k2 = Identity(k)"
     " s = If<then_branch = t () => (a) { a = Add(x, x) }, else_branch = e () => (d) { d = Neg(x) }>(q) }>(m, )",
     "float[max(?m[0], 0), N, 3]"),
    ("float[B,H] s, float[T,B,8] x, float[8,H] w",
     "f, y = Scan<num_scan_inputs = 1, body = b (float[] c, float[] e) => (n, o)"
     " { p = MatMul(e, w) n = Add(c, p) o = Relu(n) }>(s, x) z = Identity(y)",
     "float[T, B, H]"),
    # Sequences.
    ("float[N,3] x, float[N,4] z", "y = SequenceConstruct(x, z)", "sequence of float[N, ?y_1]"),
    ("float[N,3] x, float[N,3] z, int64 i", "s = SequenceConstruct(x, z) y = SequenceAt(s, i)", "float[N, 3]"),
    ("float[N,6] x", f"k = {ints(2, 2, 2)} s = SplitToSequence<axis = 1>(x, k) y = ConcatFromSequence<axis = 1>(s)",
     "float[N, ?y_1]"),
    ("float[N,6] x", "s = SplitToSequence<axis = 0, keepdims = 0>(x) y = SequenceLength(s)", "int64[]"),
    ("float[N,6] x", "e = SequenceEmpty() y = SequenceInsert(e, x)", "sequence of float[N, 6]"),
    ("float[N,6] x", "o = Optional(x) y = OptionalGetElement(o)", "float[N, 6]"),
    ("float[N,6] x", "o = Optional(x) y = OptionalHasElement(o)", "bool[]"),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "body", "expected"), CASES)
def test_fact(inputs: str, body: str, expected: str) -> None:
    assert text_of(fact_of(inputs, body)) == expected


FUNCTION = """
<domain: "local", opset_import: ["" : 23]>
Twice<axis>(x, z) => (y) {
    n = NonZero(x)
    c = Concat<axis: int = @axis>(x, z)
    y = Relu(c)
}
"""


def test_a_function_is_inferred_through_its_body_for_every_call() -> None:
    module = module_of(
        "float[N,3] x, float[N,4] z",
        "a = local.Twice<axis = 1>(x, z) b = local.Twice<axis = 0>(x, x)",
        FUNCTION,
    )
    infer_all(module)
    assert [show(module.fact(node.outputs[0])) for node in module.graph] == ["float[N, 7]", "float[2*N, 3]"]


def test_an_operator_without_rule_or_function_is_unknown() -> None:
    assert text_of(fact_of("float[N] x", "y = local.Mystery(x)")) == "?[?]"
    assert text_of(fact_of("float[N] x", "a = local.Mystery(x) y = Add(a, x)")) == "float[?]"


def test_branches_of_different_types() -> None:
    body = "y = If<then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Shape(x) }>(c)"
    with pytest.raises(DiagnosticError) as caught:
        fact_of("bool c, float[N] x", body)
    assert caught.value.diagnostics[0].code == "T0620"
    assert "float and int64" in str(caught.value)


def test_values_of_a_branch_that_never_runs_can_be_asked_for() -> None:
    module = module_of(
        "bool c, float[N,3] x",
        f"y = If<then_branch = t () => (a) {{ i = {ints(1)} a = Squeeze(x, i) }},"
        " else_branch = e () => (b) { b = Neg(x) }>(c)",
    )
    infer_all(module)
    assert [show(module.fact(node.outputs[0])) for node in module.nodes()] == [
        "float[N, 3]",
        "int64[1]",
        "?[?]",
        "float[N, 3]",
    ]
