# ruff: noqa: E501
"""int8 and uint8: quantization with zero points, and uint8 within a network, where TensorRT has none."""

from __future__ import annotations

import numpy as np
import pytest
from in_onnxruntime import compare

X = np.asarray([[-13.3, 0.0, 1.26, 50.0], [0.05, -0.05, 0.15, 12.7]], np.float32)
BYTES = np.asarray([[1, 200, 128, 255], [0, 3, 127, 129]], np.uint8)
PLAN = ((1, 4), (2, 4), (3, 4))


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("zero", [0, 3, 100])
@pytest.mark.parametrize("outputs", ["y", "q", "yq"])
def test_quantization_there_and_back(kind: str, zero: int, outputs: str) -> None:
    """It may be within the network, at its edge, or both."""
    results = ", ".join(f"{kind if name == 'q' else 'float'}[N,4] {name}" for name in outputs)
    built = compare(
        f"(float[N,4] x) => ({results}) <float s = {{0.1}}, {kind} z = {{{zero}}}> "
        "{ q = QuantizeLinear(x, s, z) \n y = DequantizeLinear(q, s, z) }",
        {"x": X},
    )
    assert built.plan(x=PLAN)


def test_zero_points_per_channel() -> None:
    built = compare(
        "(float[N,4] x) => (float[N,4] y) <float[4] s = {0.1, 0.2, 0.3, 0.4}, uint8[4] z = {3, 128, 200, 0}> "
        "{ q = QuantizeLinear<axis = 1>(x, s, z) \n y = DequantizeLinear<axis = 1>(q, s, z) }",
        {"x": X},
    )
    assert built.plan(x=PLAN)


def test_uint8_from_outside() -> None:
    built = compare(
        "(uint8[N,4] x) => (float[N,4] y, float[N,4] f, uint8[N,4] c) <float s = {0.1}, uint8 z = {128}> "
        "{ y = DequantizeLinear(x, s, z) \n i = Identity(x) \n f = Cast<to = 1>(i) \n c = Identity(i) }",
        {"x": BYTES},
    )
    assert built.plan(x=PLAN)


@pytest.mark.parametrize("source", [np.int64, np.int32, np.float32, np.bool_])
def test_casts_to_uint8_keep_the_low_bits(source: type) -> None:
    kind = {np.int64: "int64", np.int32: "int32", np.float32: "float", np.bool_: "bool"}[source]
    values = [[-1, 256, 128, 1000], [0, 255, -129, 1]] if source in (np.int64, np.int32) else [[0, 1, 1, 0]]
    built = compare(
        f"({kind}[N,4] x) => (float[N,4] y, uint8[N,4] z) {{ a = Cast<to = 2>(x) \n y = Cast<to = 1>(a) \n z = Cast<to = 2>(x) }}",
        {"x": np.asarray(values, source)},
    )
    assert built.plan(x=PLAN)


def test_a_constant_of_int8_that_is_no_weight() -> None:
    built = compare(
        "(float[N,4] x) => (int8[4] y) <int8[4] w = {10, -20, 30, 127}> { z = ReduceMax<keepdims = 0>(x) \n y = Identity(w) }",
        {"x": X},
    )
    assert "CAST" in built.types()
