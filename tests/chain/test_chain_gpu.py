"""The same operators on standard TensorRT: every network by value, and engines of those that a GPU may do otherwise."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from chain_harness import APART, GIVEN, compare, emission_cases, parse, skip_where_the_reference_is_wrong, wrong

import trtc
from trtc import targets
from trtc.diagnostics import DiagnosticError

pytestmark = pytest.mark.gpu

CASES = emission_cases()


def _weights(count: int) -> str:
    return "{" + ",".join(str((5 * i % 7 - 3) / 5) for i in range(count)) + "}"


#: What is run on the GPU: loops and conditions, order and ties, what is composed where this TensorRT has no layer.
ENGINES = {
    **{
        name: CASES[name]
        for name in (
            *("Softmax", "Gelu tanh", "PRelu", "Mod", "Clip", "CumSum", "TopK", "ArgMax", "Trilu"),
            *("GroupNormalization", "InstanceNormalization", "LayerNormalization", "RMSNormalization"),
        )
        if name in CASES
    },
    "LSTM": "(float[T,N,3] x) => (float[T,1,N,2] y, float[1,N,2] h) "
    f"<float[1,8,3] w = {_weights(24)}, float[1,8,2] r = {_weights(16)}> "
    "{ y, h = LSTM<hidden_size = 2>(x, w, r) }",
    "GRU reverse": "(float[T,N,3] x) => (float[T,1,N,2] y) "
    f"<float[1,6,3] w = {_weights(18)}, float[1,6,2] r = {_weights(12)}> "
    '{ y = GRU<hidden_size = 2, direction = "reverse">(x, w, r) }',
    "If": """(float[N,4] x, bool c) => (float[N,4] y) { y = If (c) <
        then_branch = yes () => (float[N,4] a) { a = Exp(x) },
        else_branch = no () => (float[N,4] b) { b = Neg(x) }> }""",
    "Loop that never runs": """(float[N,4] x) => (float[N,4] y) <int64 m = {5}, bool c = {0}> { y = Loop (m, c, x) <
        body = g (int64 i, bool ci, float[N,4] s) => (bool co, float[N,4] t) { co = Identity(ci) t = Add(s, s) }> }""",
    "Loop": """(float[N,4] x) => (float[N,4] y) <int64 m = {5}, bool c = {1}> { y = Loop (m, c, x) <
        body = g (int64 i, bool ci, float[N,4] s) => (bool co, float[N,4] t) { co = Identity(ci) t = Mul(s, x) }> }""",
    "MaxPool dilated": "(float[N,1,9,9] x) => (float[N,1,A,B] y) "
    "{ y = MaxPool<kernel_shape = [2,2], dilations = [3,2], strides = [2,1]>(x) }",
}


@pytest.fixture(scope="module", autouse=True)
def standard_tensorrt() -> None:
    """Skips where standard TensorRT cannot build, and says why."""
    status = targets.status("tensorrt")
    if not status.can_build:
        pytest.skip(f"needs a GPU and TensorRT: {status.reason}")


@pytest.mark.parametrize("name", [name for name in CASES if name not in APART])
def test_the_network_computes_what_the_graph_does(name: str) -> None:
    skip_where_the_reference_is_wrong(name)
    try:
        found = compare(CASES[name], "tensorrt", GIVEN.get(name))
    except DiagnosticError as error:
        # What this generation has no way to hold is declined by name; anything else is a fault.
        if {d.code for d in error.diagnostics} != {"T0701"}:
            raise
        pytest.skip(str(error.diagnostics[0].message))
    assert wrong(found) == []


@pytest.mark.parametrize("name", ENGINES)
def test_the_engine_computes_what_the_graph_does(name: str, tmp_path: Path) -> None:
    onnx.save(parse(ENGINES[name]), tmp_path / "m.onnx")
    dims = {d: "2..3..4" for d in ("N", "T", "H", "W") if f"{d}," in ENGINES[name] or f",{d}]" in ENGINES[name]}
    result = trtc.compile(tmp_path / "m.onnx", target="tensorrt", dim=dims, isolate=False)
    print(result.table)
    assert [(r.rung, r.status, r.reason) for r in result.rungs][2] == ("engine", "passed", "")
