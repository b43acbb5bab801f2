"""Values through the whole chain to the network, read back: the numbers are ONNX's own or follow from its text."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import trtc.backend
from trtc.diagnostics import DiagnosticError


def run(opset: int, graph: str, *inputs: Any) -> list[np.ndarray[Any, Any]]:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> g {graph}')
    return [np.asarray(a) for a in trtc.backend.run_model(model, list(inputs))]


def test_bfloat16_goes_in_and_comes_out() -> None:
    x = np.array([1.5, -2.0, 3.25], ml_dtypes.bfloat16)
    (y,) = run(23, "(bfloat16[3] x) => (bfloat16[3] y) { y = Add(x, x) }", x)
    assert y.dtype == ml_dtypes.bfloat16
    assert y.tolist() == [3.0, -4.0, 6.5]


@pytest.mark.parametrize("kind", ["float", "float16"])
def test_a_remainder_by_infinity_is_the_dividend(kind: str) -> None:
    dtype = {"float": np.float32, "float16": np.float16}[kind]
    a = np.array([3, -3, 0, np.inf, np.nan, 5.5, -5.5], dtype)
    b = np.array([np.inf, np.inf, -np.inf, np.inf, np.inf, 2, 2], dtype)
    (y,) = run(23, f"({kind}[7] a, {kind}[7] b) => ({kind}[7] y) {{ y = Mod<fmod = 1>(a, b) }}", a, b)
    np.testing.assert_array_equal(y, np.array([3, -3, 0, np.nan, np.nan, 1.5, -1.5], dtype))


@pytest.mark.skipif(onnx.defs.onnx_opset_version() < 28, reason=f"onnx {onnx.__version__} has no opset 28")
@pytest.mark.parametrize("kind", ["float", "float16"])
def test_a_floored_remainder_by_infinity_has_the_sign_of_the_divisor(kind: str) -> None:
    dtype = {"float": np.float32, "float16": np.float16}[kind]
    a = np.array([3, -3, 0, np.inf, np.nan, 5.5, -5.5], dtype)
    b = np.array([np.inf, np.inf, -np.inf, np.inf, np.inf, 2, 2], dtype)
    (y,) = run(28, f"({kind}[7] a, {kind}[7] b) => ({kind}[7] y) {{ y = Mod(a, b) }}", a, b)
    np.testing.assert_array_equal(y, np.array([3, np.inf, 0, np.nan, np.nan, 1.5, 0.5], dtype))


def test_a_double_beyond_float32_is_an_error_not_an_infinity() -> None:
    graph = "(double[2] x) => (double[2] y) { y = Neg(x) }"
    (y,) = run(23, graph, np.array([1e30, -np.inf]))
    assert y.tolist() == [-float(np.float32(1e30)), np.inf]
    with pytest.raises(DiagnosticError, match="1e\\+200") as error:
        run(23, graph, np.array([1e200, 1.0]))
    assert [d.code for d in error.value.diagnostics] == ["T0705"]


def test_bfloat16_weights_are_in_the_network_that_is_read() -> None:
    x = np.array([1, 2], ml_dtypes.bfloat16)
    graph = "(bfloat16[2] x) => (bfloat16[2] y) { h = Constant<value_float = 0.5>() b = CastLike(h, x) y = Mul(x, b) }"
    assert run(23, graph, x)[0].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("mask", ["float", "bool"])
@pytest.mark.parametrize("scores", ["", ", scores"])
def test_a_query_that_sees_no_key_gives_zeros(mask: str, scores: str) -> None:
    graph = (
        f"(float[1,1,2,2] q, float[1,1,2,2] k, float[1,1,2,2] v, {mask}[2,2] m) => "
        f"(float[1,1,2,2] y{', float[1,1,2,2] scores' if scores else ''}) "
        f"{{ y{', , , scores' if scores else ''} = Attention<qk_matmul_output_mode = 3>(q, k, v, m) }}"
    )
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    allowed = np.array([[False, False], [True, False]])
    given = allowed if mask == "bool" else np.where(allowed, np.float32(0.5), np.float32(-np.inf))
    y, *rest = run(23, graph, x, x, x, given)
    assert y.tolist() == [[[[0, 0], [0, 1]]]]
    assert [r.tolist() for r in rest] == ([[[[[0, 0], [1, 0]]]]] if scores else [])


def test_one_group_normalizes_over_all_channels() -> None:
    x = np.arange(2 * 4 * 3 * 2, dtype=np.float32).reshape(2, 4, 3, 2) ** 2
    text = "(float[2,4,3,2] x) => (float[2,4,3,2] y) <float[4] s = {1, 2, 3, 4}, float[4] b = {5, 1, 2, -1}> "
    (y,) = run(21, text + "{ y = GroupNormalization<num_groups = 1>(x, s, b) }", x)
    rows = x.reshape(2, -1)
    unit = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)
    scale, bias = (np.array(c, np.float32).reshape(1, 4, 1, 1) for c in ([1, 2, 3, 4], [5, 1, 2, -1]))
    np.testing.assert_allclose(y, unit.reshape(x.shape) * scale + bias, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("start", "step", "expected"), [(-1, -1, [3, 2, 1]), (-9, -1, [1]), (1, -2, [2]), (9, 2, [])])
def test_a_slice_to_the_end_of_int64(start: int, step: int, expected: list[int]) -> None:
    end = -(2**63) if step < 0 else 2**63 - 1
    text = f"<int64[1] s = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{0}}, int64[1] t = {{{step}}}>"
    (y,) = run(23, f"(int32[N] x) => (int32[M] y) {text} {{ y = Slice(x, s, e, a, t) }}", np.array([1, 2, 3], np.int32))
    assert y.tolist() == expected


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("known", [True, False])
def test_zero_points_along_an_axis(kind: str, known: bool) -> None:
    """saturate(round(x / scale) + zero), half to even, and back."""
    parameters = "" if known else f", float[2] s, {kind}[2] z"
    constants = f"<float[2] s = {{0.5, 2}}, {kind}[2] z = {{3, 100}}>" if known else ""
    graph = (
        f"(float[2,4] x{parameters}) => ({kind}[2,4] q, float[2,4] y) {constants} "
        "{ q = QuantizeLinear<axis = 0>(x, s, z) y = DequantizeLinear<axis = 0>(q, s, z) }"
    )
    x = np.float32([[0.25, 0.75, -1e9, 1e9], [1, 3, -5, 60]])
    given = [] if known else [np.float32([0.5, 2]), np.array([3, 100], kind)]
    q, y = run(23, graph, x, *given)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    assert q.dtype == kind
    assert q.tolist() == [[3, 5, low, high], [100, 102, 98, min(130, high)]]
    assert y.tolist() == [[0, 1, (low - 3) / 2, (high - 3) / 2], [0, 4, -4, (min(130, high) - 100) * 2]]


def test_constants_with_zero_points_are_dequantized() -> None:
    graph = (
        "(float[2] x) => (float[2] y) <uint8[2] w = {10, 255}, float s = {0.5}, uint8 z = {10}> "
        "{ d = DequantizeLinear(w, s, z) y = Add(x, d) }"
    )
    assert run(23, graph, np.float32([0, 1]))[0].tolist() == [0, 123.5]
