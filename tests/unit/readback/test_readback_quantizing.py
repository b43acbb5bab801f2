"""Quantize and dequantize, and weights that only the side table has."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from trtc.diagnostics import DiagnosticError


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_int8_per_tensor_rounds_to_even_and_saturates(net: Any, dtype: Any) -> None:
    x, scale = net.input((8,), dtype), net.constant(0.5, dtype)
    q = net.network.add_quantize(x, scale, net.trt.int8).get_output(0)
    out = net.network.add_dequantize(q, scale, x.dtype).get_output(0)
    data = np.array([0.25, 0.75, -0.25, -0.75, 1.3, 63.4, 80, -80], dtype)
    net.check(out, lambda x: np.array([0, 1, 0, -1, 1.5, 63.5, 63.5, -64]), (data,))


def test_int8_per_channel(net: Any) -> None:
    x, scale = net.input((2, 3)), net.constant([1, 0.5, 0.25], np.float32)
    quantize = net.network.add_quantize(x, scale, net.trt.int8)
    quantize.axis = 1
    dequantize = net.network.add_dequantize(quantize.get_output(0), scale, net.trt.float32)
    dequantize.axis = 1
    data = np.array([[1.4, 1.4, 1.4], [-200, -200, -200]], np.float32)
    net.check(dequantize.get_output(0), lambda x: np.array([[1, 1.5, 1.5], [-128, -64, -32]]), (data,))


def test_fp8(net: Any) -> None:
    x, scale = net.input((6,)), net.constant(2, np.float32)
    q = net.network.add_quantize(x, scale, net.trt.fp8).get_output(0)
    out = net.network.add_dequantize(q, scale, net.trt.float32).get_output(0)
    # Between 16 and 32 the numbers of e4m3 are 2 apart, below 2**-6 they are 2**-9 apart.
    data = np.array([2 * 17, 2 * 19, 2 * 449, -1e6, 2 * 2.0**-10, 2 * 1.5 * 2.0**-9], np.float32)
    net.check(out, lambda x: np.array([32, 40, 896, -896, 0, 2 * 2 * 2.0**-9]), (data,))


def test_int4_weights_in_blocks(net: Any) -> None:
    """The values come from the side table: TensorRT does not give them back."""
    packed = np.array([0x21, 0xF8, 0x43, 0x65], np.uint8)  # low nibble first: 1 2 -8 -1 3 4 5 6
    layer = net.network.add_constant((2, 4), net.trt.Weights(net.trt.int4, packed.ctypes.data, 8))
    layer.name = "weights"
    scale = net.constant([[1, 10], [0.5, 2]], np.float32)
    out = net.network.add_dequantize(layer.get_output(0), scale, net.trt.float32).get_output(0)
    total = net.network.add_elementwise(out, net.input((2, 4)), net.trt.ElementWiseOperation.SUM).get_output(0)
    values = np.array([[1, 2, -8, -1], [3, 4, 5, 6]], ml_dtypes.int4)
    expected = np.array([[1, 2, -80, -10], [1.5, 2, 10, 12]])
    net.check(total, lambda x: expected, (np.zeros((2, 4), np.float32),), weights={"weights": values})


def test_bfloat16_weights(net: Any) -> None:
    buffer = np.array([1.5, -2, 3, 0.25], ml_dtypes.bfloat16)
    layer = net.network.add_constant((1, 4), net.trt.Weights(net.trt.bfloat16, buffer.ctypes.data, 4))
    layer.name = "w"
    wide = net.network.add_cast(layer.get_output(0), net.trt.float32).get_output(0)
    total = net.network.add_elementwise(wide, net.input((1, 4)), net.trt.ElementWiseOperation.PROD).get_output(0)
    net.out(total)
    with pytest.raises(DiagnosticError) as caught:
        net.read()
    assert caught.value.diagnostics[0].code == "T0951"
    assert caught.value.diagnostics[0].node == "w"
    with pytest.raises(DiagnosticError, match="T0952"):
        net.read(weights={"w": buffer[:3]})
    for given in (buffer, buffer.view(np.uint16), buffer.astype(np.float32)):
        (out,) = net.run(net.read(weights={"w": given}), np.full((1, 4), 2, np.float32))
        np.testing.assert_array_equal(out, [[3, -4, 6, 0.5]])


def test_bfloat16_kernel(net: Any) -> None:
    x = net.input((1, 1, 1, 3))
    narrow = net.network.add_cast(x, net.trt.bfloat16).get_output(0)
    buffer = np.array([1.5, 2], ml_dtypes.bfloat16)
    empty = net.trt.Weights(net.trt.bfloat16)
    weights = net.trt.Weights(net.trt.bfloat16, buffer.ctypes.data, 2)
    layer = net.network.add_convolution_nd(narrow, 1, (1, 2), weights, empty)
    layer.name = "conv"
    out = net.network.add_cast(layer.get_output(0), net.trt.float32).get_output(0)
    data = np.array([[[[1, 2, 3]]]], np.float32)
    net.check(out, lambda x: np.array([[[[5.5, 9]]]]), (data,), weights={"conv:kernel": buffer})
