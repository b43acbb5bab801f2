"""What a spec says of inputs and outputs reaches the network: asserted, refined, frozen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import trtc

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[d0,d1] x, float[K] k) => (float[A,B] y) { y = Mul(x, k) }
"""


def compile_with(folder: Path, text: str) -> trtc.CompileResult:
    onnx.save(model(), folder / "m.onnx")
    (folder / "m.trtspec").write_text(
        'trtspec 1\nmodel "m.onnx"\ntarget tensorrt_rtx\nemit { engine = "m.engine" readback = "back.onnx" }\n' + text
    )
    return trtc.compile(folder / "m.trtspec", isolate=False)


def model() -> onnx.ModelProto:
    """x: [dyn.0, dyn.1] times k: [K]; exporters write dims with dots, which the textual syntax cannot."""
    made = onnx.parser.parse_model(MODEL)
    for at, name in enumerate(("dyn.0", "dyn.1")):
        made.graph.input[0].type.tensor_type.shape.dim[at].dim_param = name
    return made


def shapes(path: Path) -> dict[str, list[int | str]]:
    graph = onnx.load(path).graph
    return {
        v.name: [d.dim_value or d.dim_param for d in v.type.tensor_type.shape.dim]
        for v in (*graph.input, *graph.output)
    }


def test_numbers_in_the_place_of_symbols_make_the_network_static(tmp_path: Path) -> None:
    result = compile_with(tmp_path, 'input "x" : f32[2, 3]\ninput "k" : f32[3]\n')
    assert [tuple(b["shape"]) for b in result.bindings] == [(2, 3), (3,), (2, 3)]
    assert shapes(tmp_path / "back.onnx") == {"x": [2, 3], "k": [3], "y": [2, 3]}


def test_a_dim_of_the_spec_renames_the_models(tmp_path: Path) -> None:
    result = compile_with(
        tmp_path,
        'dim rows in 1..4\ninput "x" : f32[rows, 3]\ninput "k" : f32[3]\nprofile "p" { rows = min 1 opt 2 max 4 }\n',
    )
    assert [tuple(b["shape"]) for b in result.bindings] == [("rows", 3), (3,), ("rows", 3)]
    assert [label for label, _ in result.rungs[0].points] == ["p min", "p opt", "p max"]


def test_a_frozen_input_is_no_input_any_more(tmp_path: Path) -> None:
    result = compile_with(tmp_path, 'input "x" : f32[2, 3]\ninput "k" = [1.5, 2.0, 3.0]\n')
    assert [b["name"] for b in result.bindings] == ["x", "y"]
    assert [r.status for r in result.rungs[:2]] == ["passed", "passed"]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ('input "z" : f32[2, 3]\n', "T0570", "the model has no input `z`"),
        ('input "x" : f16[2, 3]\n', "T0574", "its dtype is f32"),
        ('input "x" : f32[2]\n', "T0574", "it has rank 2"),
        ('input "x" : f32[2, 3]\ninput "k" = [1, 2]\n', "T0610", "3"),
        ('input "x" : f32[2, 3]\ninput "k" : f32[3]\noutput "y" : f32[2, 4]\n', "T0574", "3, not 4"),
        ('input "x" : f32[2, 3]\ninput "k" : f32[3]\noutput "w" : f32[2, 3]\n', "T0570", "the model has no output `w`"),
        ('input "x" : f32[2, 3]\n', "T0576", "`K`"),
    ],
)
def test_what_contradicts_the_model_is_said_with_its_place(tmp_path: Path, text: str, code: str, words: str) -> None:
    with pytest.raises(trtc.DiagnosticError) as caught:
        compile_with(tmp_path, text)
    assert code in {d.code for d in caught.value.diagnostics}
    assert words in str(caught.value)


RESHAPE = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[4,3] x, int64[2] shape) => (float[A,B] y) { y = Reshape(x, shape) }
"""


def test_an_input_that_decides_a_shape_is_refused_by_name_and_compiles_when_frozen(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(RESHAPE), tmp_path / "m.onnx")
    text = 'trtspec 1\nmodel "m.onnx"\ntarget tensorrt_rtx\n'
    (tmp_path / "m.trtspec").write_text(text)
    with pytest.raises(trtc.DiagnosticError, match="the values of the input `shape` decide a shape") as caught:
        trtc.compile(tmp_path / "m.trtspec", isolate=False)
    assert caught.value.diagnostics[0].code == "T0580"
    (tmp_path / "m.trtspec").write_text(text + 'input "shape" = [6, 2]\n')
    result = trtc.compile(tmp_path / "m.trtspec", isolate=False)
    assert [tuple(b["shape"]) for b in result.bindings] == [(4, 3), (6, 2)]
    assert result.verified


def test_a_float64_model_is_verified_in_the_precision_that_tensorrt_has(tmp_path: Path) -> None:
    onnx.save(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 17]> g (double[4,3] x) => (double[4,3] y) { y = Softmax(x) }'
        ),
        tmp_path / "m.onnx",
    )
    result = trtc.compile(tmp_path / "m.onnx", target="tensorrt_rtx", isolate=False)
    graph, network = result.rungs[:2]
    assert (graph.status, network.status) == ("passed", "passed")
    assert graph.points[0][1][0].rtol < 1e-12
    assert network.points[0][1][0].rtol == pytest.approx(5.96e-5, rel=1e-2)
    assert [(b["model_dtype"], b["engine_dtype"]) for b in result.bindings] == [("DOUBLE", "FLOAT")] * 2


def test_arrays_can_be_given_and_must_fit_a_profile(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "m.onnx")
    (tmp_path / "m.trtspec").write_text(
        'trtspec 1\nmodel "m.onnx"\ntarget tensorrt_rtx\ndim n in 1..8\ninput "x" : f32[n, 3]\ninput "k" : f32[3]\n'
        'profile "small" { n = min 1 opt 2 max 4 }\nprofile "large" { n = min 6 opt 6 max 8 }\n'
    )
    k = np.ones(3, np.float32)
    result = trtc.compile(tmp_path / "m.trtspec", input={"x": np.ones((7, 3)), "k": k}, isolate=False)
    assert [label for label, _ in result.rungs[0].points] == ["given arrays"]
    with pytest.raises(trtc.DiagnosticError, match="`n` is 5, the profile takes 1 to 4") as caught:
        trtc.compile(tmp_path / "m.trtspec", input={"x": np.ones((5, 3)), "k": k}, isolate=False)
    assert caught.value.diagnostics[0].code == "T0582"


def test_a_tolerance_of_an_output_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(trtc.DiagnosticError, match="a tolerance for `yy`, and the model has no such output") as caught:
        compile_with(tmp_path, 'input "x" : f32[2, 3]\ninput "k" : f32[3]\nverify { output "yy" { rtol = 0.1 } }\n')
    assert caught.value.diagnostics[0].code == "T0570"


def test_an_operator_that_nobody_knows_is_named(tmp_path: Path) -> None:
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]> g (float[2] x) => (float[2] y) '
        "{ y = com.acme.MyOp(x) }"
    )
    onnx.save(made, tmp_path / "m.onnx")
    with pytest.raises(trtc.DiagnosticError, match="MyOp") as caught:
        trtc.compile(tmp_path / "m.onnx", target="tensorrt_rtx", verify=False, isolate=False)
    assert caught.value.diagnostics[0].code == "T0701"


def test_check_says_all_that_is_wrong_at_once(tmp_path: Path) -> None:
    from trtc.driver.checking import check

    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N,2,2] x) => (float[N] y) { y = Det(x) }'
    )
    onnx.save(made, tmp_path / "m.onnx")
    outcome = check(tmp_path / "m.onnx", target="tensorrt_rtx")
    assert [d.code for d in outcome.diagnostics] == ["T0576", "T0701"]


BRANCHES = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,M] x) => (float[A,B] y) {
  s = Shape(x)
  i = Constant<value = int64 {0}>()
  n = Gather(s, i)
  one = Constant<value = int64 {1}>()
  c = Equal(n, one)
  y = If (c) <then_branch = t () => (float[A,B] a) { a = Relu(x) }, else_branch = e () => (float[A,B] b) { b = Neg(x) }>
}
"""


@pytest.mark.parametrize(("size", "layer"), [(1, "Activation"), (2, "Unary")])
def test_a_dim_of_one_size_is_a_number(tmp_path: Path, size: int, layer: str) -> None:
    """It is in the bindings and in no profile, and what depends on it is decided beforehand."""
    onnx.save(onnx.parser.parse_model(BRANCHES), tmp_path / "m.onnx")
    result = trtc.compile(tmp_path / "m.onnx", dim={"N": size, "M": "1..4"}, target="tensorrt_rtx", isolate=False)
    assert [tuple(b["shape"]) for b in result.bindings] == [(size, "M")] * 2
    assert [record["type"] for record in result.layers] == [layer]
    assert [r.status for r in result.rungs[:2]] == ["passed", "passed"]
    fixed = trtc.compile(tmp_path / "m.onnx", dim={"N": size, "M": 3}, target="tensorrt_rtx", isolate=False)
    assert [tuple(b["shape"]) for b in fixed.bindings] == [(size, 3)] * 2


def test_a_dim_that_no_input_has_is_named_even_when_it_is_one_number(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(BRANCHES), tmp_path / "m.onnx")
    with pytest.raises(trtc.DiagnosticError) as caught:
        trtc.compile(tmp_path / "m.onnx", dim={"N": 2, "M": 3, "K": 4}, target="tensorrt_rtx", isolate=False)
    assert [d.code for d in caught.value.diagnostics] == ["T0578"]


def test_every_dtype_of_the_language_is_one_of_onnx() -> None:
    from trtc.ir.interface import DTYPES as ONNX
    from trtc.lang.check_interface import DTYPES as WORDS

    assert set(ONNX) == set(WORDS)
    assert len(set(ONNX.values())) == len(ONNX)
