"""The rungs: a candidate holds or fails against the original, with the reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from trtc import ir
from trtc.diagnostics import DiagnosticError
from trtc.verify import Point, Tolerance, Verification, failure
from trtc.verify.interface import interface_of
from trtc.verify.rungs import RungReport
from trtc.verify.runners import ValueDoesNotFit, cast_exact
from trtc.verify.table import table

HEAD = '<ir_version: 10, opset_import: ["" : 17]> g '


def write(path: Path, body: str) -> Path:
    onnx.save(onnx.parser.parse_model(HEAD + body), path)
    return path


def proof(folder: Path, body: str, *points: Point, **settings: object) -> Verification:
    path = write(folder / "original.onnx", body)
    made = Verification(path, interface_of(ir.load(path)), points, **settings)  # type: ignore[arg-type]
    made.prepare()
    return made


X = Point("first", {"x": np.float32([[1, -2], [3, -4]])})
RELU = "(float[N,2] x) => (float[N,2] y) { y = Relu(x) }"


def test_the_same_function_passes_with_numbers(tmp_path: Path) -> None:
    same = write(
        tmp_path / "same.onnx",
        "(float[N,2] x) => (float[N,2] y) <float zero = {0}> { y = Max(x, zero) }",
    )
    report = proof(tmp_path, RELU, X).model("graph", same)
    assert report.status == "passed"
    ((label, (comparison,)),) = report.points
    assert (label, comparison.output, comparison.max_abs) == ("first", "y", 0.0)


def test_another_function_fails_and_the_value_is_named(tmp_path: Path) -> None:
    other = write(tmp_path / "other.onnx", "(float[N,2] x) => (float[N,2] y) { y = Abs(x) }")
    report = proof(tmp_path, RELU, X).model("network", other)
    assert report.status == "failed"
    assert report.reason == "output `y` at first: 2 of 4 elements differ; worst at [1, 1]: 4, expected 0 within 9.5e-05"


def test_every_point_is_compared(tmp_path: Path) -> None:
    # Right on the first point, wrong on the second.
    other = write(tmp_path / "other.onnx", "(float[N,2] x) => (float[N,2] y) { y = Abs(x) }")
    good, bad = Point("good", {"x": np.float32([[1, 2]])}), Point("bad", {"x": np.float32([[1, -2], [0, 0]])})
    report = proof(tmp_path, RELU, good, bad).model("graph", other)
    assert report.status == "failed"
    assert [[c.passed for c in cs] for _, cs in report.points] == [[True], [False]]


def test_a_tolerance_of_the_spec_is_used(tmp_path: Path) -> None:
    other = write(
        tmp_path / "other.onnx", "(float[N,2] x) => (float[N,2] y) <float t = {0.25}> { r = Relu(x) y = Add(r, t) }"
    )
    assert proof(tmp_path, RELU, X).model("graph", other).status == "failed"
    wide = proof(tmp_path, RELU, X, tolerances={"y": Tolerance(atol=0.3)})
    assert wide.model("graph", other).status == "passed"


def test_a_candidate_that_does_not_run_fails(tmp_path: Path) -> None:
    broken = write(tmp_path / "broken.onnx", "(float[N,2] x) => (float[N,2] z) { z = Relu(x) }")
    report = proof(tmp_path, RELU, X).model("graph", broken)
    assert report.status == "failed"
    assert "it does not run" in report.reason


def test_an_int32_binding_answers_with_the_models_int64(tmp_path: Path) -> None:
    body = "(int64[N] x) => (int64[N] y) { y = Add(x, x) }"
    narrow = write(tmp_path / "narrow.onnx", "(int32[N] x) => (int32[N] y) { y = Add(x, x) }")
    checked = proof(tmp_path, body, Point("small", {"x": np.int64([1, -5])}))
    report = checked.model("network", narrow)
    assert report.status == "passed"
    assert checked.reference_outputs[0]["y"].tolist() == [2, -10]


def test_a_value_that_the_binding_cannot_hold_is_an_error_not_a_wrap(tmp_path: Path) -> None:
    with pytest.raises(ValueDoesNotFit):
        cast_exact("x", np.int64([2**40]), np.dtype("int32"))
    assert cast_exact("x", np.int64([2**31 - 1]), np.dtype("int32")).tolist() == [2**31 - 1]


def test_a_frozen_input_still_feeds_the_original(tmp_path: Path) -> None:
    body = "(float[2] x, float[2] k) => (float[2] y) { y = Mul(x, k) }"
    folded = write(tmp_path / "folded.onnx", "(float[2] x) => (float[2] y) <float[2] k = {3, 4}> { y = Mul(x, k) }")
    checked = proof(tmp_path, body, Point("p", {"x": np.float32([1, 2])}), frozen={"k": (3.0, 4.0)})
    assert checked.model("graph", folded).status == "passed"
    assert checked.reference_outputs[0]["y"].tolist() == [3.0, 8.0]


def test_a_model_that_onnxruntime_does_not_run_is_run_by_the_reference(tmp_path: Path) -> None:
    # ONNX Runtime has no CPU kernel for a float16 Atanh; the reference of the onnx package computes it.
    body = "(float16[2] x) => (float16[2] y) { y = Atanh(x) }"
    checked = proof(tmp_path, body, Point("p", {"x": np.float16([0.0, 0.5])}))
    assert checked.reference_outputs[0]["y"].tolist() == np.arctanh(np.float16([0, 0.5])).astype(np.float16).tolist()

    # What ONNX Runtime refuses in the original may stand in a candidate too; it is compared all the same.
    body = "(float16[2] x) => (float16[2] y) { z = Atanh(x) \n y = Identity(z) }"
    assert checked.model("graph", write(tmp_path / "same.onnx", body)).status == "passed"
    other = write(tmp_path / "other.onnx", body.replace("Identity", "Neg"))
    assert "1 of 2 elements differ" in checked.model("graph", other).reason


def test_an_original_that_nothing_runs_is_a_diagnostic(tmp_path: Path) -> None:
    path = tmp_path / "original.onnx"
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 17, "acme" : 1]> g (float[2] x) => (float[2] y) { y = acme.Secret(x) }'
    )
    onnx.save(model, path)
    plain = ir.load(write(tmp_path / "plain.onnx", "(float[2] x) => (float[2] y) { y = Relu(x) }"))
    checked = Verification(path, interface_of(plain), [Point("p", {"x": np.float32([1, 2])})])
    with pytest.raises(DiagnosticError) as caught:
        checked.prepare()
    assert caught.value.diagnostics[0].code == "T0903"


def test_a_failed_rung_and_a_required_one_that_did_not_run_end_the_compile() -> None:
    reports = [RungReport("graph", "failed", "why"), RungReport("engine", "not run", "no GPU")]
    error = failure(reports, ["graph", "engine"], None)
    assert error is not None
    assert [d.code for d in error.diagnostics] == ["T0901", "T0902"]
    assert error.status == 3
    assert failure([RungReport("engine", "not run", "no GPU")], ["graph"], None) is None


def test_the_table_says_not_run_and_shows_the_worst_point(tmp_path: Path) -> None:
    other = write(tmp_path / "other.onnx", "(float[N,2] x) => (float[N,2] y) { y = Abs(x) }")
    report = proof(tmp_path, RELU, X).model("graph", other)
    text = table([report, RungReport("engine", "not run", "no GPU")])
    assert text.splitlines()[1].split() == ["graph", "y", "1", "4.00e+00", "0", "0.57735027", "FAILED"]
    assert text.splitlines()[2].endswith("NOT RUN: no GPU")
