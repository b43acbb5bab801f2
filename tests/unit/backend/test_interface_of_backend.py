"""The `onnx.backend` interface: what it takes, what it answers, what it says of mistakes."""

from __future__ import annotations

import warnings

import numpy as np
import onnx
import onnx.parser
import pytest

import trtc.backend
from trtc.diagnostics import DiagnosticError

MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[N,2] x, float[2] w) => (float[N,2] y, int64 n) '
    "{ y = Mul(x, w) n = Size(x) }"
)
X, W = np.float32([[1, 2], [3, 4]]), np.float32([10, 100])


def test_arrays_in_order_or_by_name_give_a_namedtuple() -> None:
    compiled = trtc.backend.prepare(MODEL)
    for answer in (compiled.run([X, W]), compiled.run({"w": W, "x": X})):
        assert answer._fields == ("y", "n")
        assert answer.y.tolist() == [[10, 200], [30, 400]]
        assert (answer.n.item(), answer.n.dtype) == (4, np.int64)


def test_one_node_runs() -> None:
    node = onnx.helper.make_node("Softmax", ["x"], ["y"], axis=0)
    (y,) = trtc.backend.run_node(node, [np.zeros((4, 1), np.float32)])
    assert y.tolist() == [[0.25]] * 4


def test_an_engine_is_built_only_when_asked_for() -> None:
    assert trtc.backend.prepare(MODEL).plan is None
    plan = trtc.backend.prepare(MODEL, dim={"N": "1..2..4"}, build=True).plan
    assert plan is not None
    assert len(plan) > 1000


def test_only_the_cpu_is_a_device() -> None:
    assert trtc.backend.supports_device("CPU")
    assert not trtc.backend.supports_device("CUDA:0")


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([X], "the model has 2 inputs, given 1"),
        ({"x": X}, "no array for the input `w`"),
        ([X, np.ones(3, np.float32)], "does not run on these inputs"),
    ],
)
def test_inputs_that_do_not_fit_are_diagnostics(inputs: object, words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        trtc.backend.prepare(MODEL).run(inputs)


def test_a_model_that_cannot_be_emitted_is_not_compatible() -> None:
    bad = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,2] x) => (float y) { y = Det(x) }'
    )
    assert trtc.backend.is_compatible(MODEL)
    assert not trtc.backend.is_compatible(bad)
    with pytest.raises(DiagnosticError, match="Det"):
        trtc.backend.prepare(bad)


def test_arithmetic_in_float64_is_warned_of_and_constants_in_it_are_not() -> None:
    at_run_time = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (double[2] x) => (double[2] y) { y = Add(x, x) }'
    )
    with pytest.warns(trtc.backend.PrecisionWarning, match="float64"):
        (y,) = trtc.backend.run_model(at_run_time, [np.float64([1, 2])])
    assert (y.tolist(), y.dtype) == ([2, 4], np.float64)
    constant = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) <double c = {3}> '
        "{ f = Cast<to = 1>(c) y = Mul(x, f) }"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (y,) = trtc.backend.run_model(constant, [np.float32([1, 2])])
    assert y.tolist() == [3, 6]
