"""The float64 kernels of refutation against ONNX Runtime in float32."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from trtc.evaluate import session
from trtc.rewrite.refute.kernels import KERNELS

_CONV = [
    ([2, 3, 7, 8], [4, 3, 3, 2], {"strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2]}),
    ([1, 4, 9], [6, 2, 3], {"group": 2, "pads": [1, 1]}),
    ([1, 2, 5, 5, 4], [2, 1, 2, 2, 2], {"group": 2, "strides": [2, 2, 1]}),
    ([1, 3, 5, 6], [2, 3, 3, 3], {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
]
_TRANSPOSED = [
    ([2, 4, 5, 4], [4, 3, 3, 2], {"strides": [2, 3], "pads": [1, 0, 0, 1], "output_padding": [1, 2]}),
    ([1, 4, 6], [4, 2, 3], {"group": 2, "dilations": [2]}),
]
_POOLS = [
    ("AveragePool", [2, 3, 7, 8], {"kernel_shape": [3, 2], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ("AveragePool", [1, 2, 7, 7], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    ("AveragePool", [1, 2, 8, 8], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    ("MaxPool", [2, 3, 7, 8], {"kernel_shape": [3, 2], "pads": [1, 1, 1, 0], "strides": [2, 3], "dilations": [1, 2]}),
    ("MaxPool", [1, 2, 8, 8], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
]


def _both(op: str, arrays: list[Any], attributes: dict[str, Any]) -> tuple[Any, Any]:
    names = [f"x{k}" for k in range(len(arrays))]
    node = helper.make_node(op, names, ["y"], **attributes)

    def model(kind: int) -> onnx.ModelProto:
        inputs = [helper.make_tensor_value_info(n, kind, a.shape) for n, a in zip(names, arrays, strict=True)]
        graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)

    feeds = dict(zip(names, arrays, strict=True))
    running = session(model(onnx.TensorProto.FLOAT).SerializeToString())
    wanted = running.run(None, {n: a.astype(np.float32) for n, a in feeds.items()})[0]
    found = ReferenceEvaluator(model(onnx.TensorProto.DOUBLE), new_ops=KERNELS).run(None, feeds)[0]
    return wanted, found


def _random(*shape: int) -> Any:
    return np.random.default_rng(3).standard_normal(shape)


@pytest.mark.parametrize(("x", "w", "attributes"), _CONV)
def test_conv(x: list[int], w: list[int], attributes: dict[str, Any]) -> None:
    wanted, found = _both("Conv", [_random(*x), _random(*w), _random(w[0])], attributes)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("x", "w", "attributes"), _TRANSPOSED)
def test_conv_transpose(x: list[int], w: list[int], attributes: dict[str, Any]) -> None:
    bias = _random(w[1] * attributes.get("group", 1))
    wanted, found = _both("ConvTranspose", [_random(*x), _random(*w), bias], attributes)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("op", "x", "attributes"), _POOLS)
def test_pools(op: str, x: list[int], attributes: dict[str, Any]) -> None:
    wanted, found = _both(op, [_random(*x)], attributes)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_an_infinity_stays_in_its_windows() -> None:
    x = np.zeros((1, 1, 6))
    x[0, 0, 5] = np.inf
    wanted, found = _both("Conv", [x, np.ones((1, 1, 2))], {})
    np.testing.assert_array_equal(found, wanted)
    assert np.isfinite(found[0, 0, :4]).all()
    assert np.isinf(found[0, 0, 4])
