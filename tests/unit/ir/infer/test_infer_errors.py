"""What provably cannot work is refused: the code, the node and the shapes."""

from __future__ import annotations

import pytest
from infer_cases import fact_of, ints, module_of

from trtc.diagnostics import DiagnosticError, explain
from trtc.ir.infer import RULES, infer_all

ERRORS = [
    ("T0610", "float[2,3] x, float[2,4] z", "y = Add(x, z)", "[2, 3] and [2, 4]: 3 against 4"),
    ("T0610", "float[N,3] x", f"s = {ints(4, 2)} y = Expand(x, s)", "3 against 2"),
    ("T0611", "float[N] x, float16[N] z", "y = Add(x, z)", "mixes float and float16"),
    ("T0611", "float[N] x, float[N] z", "y = And(x, z)", "it must be bool"),
    ("T0611", "float[N] x, double[N] z", "y = Concat<axis = 0>(x, z)", "mixes float and double"),
    ("T0612", "float[N,3] x", "y = Softmax<axis = 2>(x)", "expected -2 to 1"),
    ("T0612", "float[N,3] x", f"a = {ints(3)} y = Unsqueeze(x, a)", "expected -3 to 2"),
    ("T0613", "float[N,8] x, float[16,4] w", "y = MatMul(x, w)", "[N, 8] and [16, 4]: 8 against 16"),
    ("T0613", "float[N,8] x, float[4,9] w", "y = Gemm<transB = 1>(x, w)", "8 against 9"),
    ("T0613", "float[N,8] x, float[9,4] w", 'y = Einsum<equation = "ab,bc->ac">(x, w)', "`b`"),
    ("T0614", "float[N,3,H,W] x, float[8,4,3,3] w", "y = Conv(x, w)", "gets 3 channels, its weights take 4"),
    ("T0614", "float[N,4,H,W] x, float[6,1,3,3] w", "y = Conv<group = 4>(x, w)", "do not divide into 4 groups"),
    ("T0615", "float[2,3] x", f"s = {ints(4, 2)} y = Reshape(x, s)", "6 elements against 8"),
    ("T0615", "float[2,3] x", f"s = {ints(4, -1)} y = Reshape(x, s)", "6 elements do not divide by 4"),
    ("T0615", "float[2,3] x", f"s = {ints(-1, -1)} y = Reshape(x, s)", "at most one -1"),
    ("T0616", "float[2,3] x, float[4,3] z", "y = Concat<axis = 1>(x, z)", "differ on axis 0"),
    ("T0617", "float[2,3,4] x, float[4,5] w", "y = Gemm(x, w)", "expected rank 2"),
    ("T0618", "float[N,3,H] x", "y = MaxPool(x)", "kernel_shape"),
    ("T0618", "float[N] x", "y = Add(x)", "no input 1"),
    ("T0619", "float[7] x", f"s = {ints(3, 3)} a, y = Split<axis = 0>(x, s)", "add up to 6"),
    ("T0619", "float[N,2] x", f"a = {ints(1)} y = Squeeze(x, a)", "of size 2"),
    ("T0619", "float[9] x", f"k = {ints(10)} y, i = TopK(x, k)", "takes 10 of 9"),
    ("T0621", "float[1,8,5,5] x", "y = MaxPool<kernel_shape = [7,7]>(x)", "larger than its input"),
    ("T0622", "float[2,3] x", "y = Transpose<perm = [0,0]>(x)", "no permutation"),
    ("T0622", "float[2,3] x", "y = Transpose<perm = 1>(x)", "it must be INTS"),
    ("T0622", "float[N,3,H] x", "y = MaxPool<kernel_shape = [2], strides = [0]>(x)", "at least 1"),
]


@pytest.mark.parametrize(("code", "inputs", "body", "said"), ERRORS)
def test_refused(code: str, inputs: str, body: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        fact_of(inputs, body)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert said in str(caught.value)
    assert found.node is not None
    assert found.node.startswith("n")


def test_every_code_has_a_page() -> None:
    for code in {code for code, *_ in ERRORS} | {"T0620"}:
        page = explain(code)
        assert page is not None
        assert page.startswith(f"# {code}: ")


def test_all_errors_of_a_graph_are_reported_in_order() -> None:
    module = module_of("float[2,3] x, float[4] z", "a = Add(x, z) b = Relu(a) y = MatMul(x, x)")
    with pytest.raises(DiagnosticError) as caught:
        infer_all(module)
    assert [(d.code, d.node) for d in caught.value.diagnostics] == [("T0610", "n0"), ("T0613", "n2")]


def test_symbols_are_given_the_benefit_of_the_doubt() -> None:
    assert str(fact_of("float[N,8] x, float[K,4] w", "y = MatMul(x, w)").shape) == "(N, 4)"
    assert str(fact_of("float[N,3] x", f"s = {ints(5, 3)} y = Reshape(x, s)").shape) == "(5, 3)"


def test_rules_survive_nodes_without_inputs_or_attributes() -> None:
    """Nodes of a broken file, of every operator: a diagnostic or a fact, never another exception."""
    for (_, name), (_, needed) in sorted(RULES.items()):
        for count in (needed, 0, 8):
            outputs = ", ".join(f"y{i}" for i in range(4))
            for kind in ("float[2,3]", "int64[2]", "float[]", "int64[N,3,4]", "bool"):
                inputs = f"{kind} x"
                body = f"{outputs} = {name}({', '.join(['x'] * count)})"
                codes: set[str] = set()
                try:
                    fact_of(inputs, body)
                except DiagnosticError as error:
                    codes = {d.code for d in error.diagnostics}
                assert all(code.startswith("T06") for code in codes)
