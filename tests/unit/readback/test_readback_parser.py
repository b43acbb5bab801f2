"""Networks that NVIDIA's own ONNX parser makes: a second author of networks, with ONNX's expected outputs."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from typing import Any

import numpy as np
import onnx
import pytest

trt = pytest.importorskip("tensorrt_rtx")

NAMES = [
    "test_basic_conv_with_padding",
    "test_conv_with_strides_and_asymmetric_padding",
    "test_convtranspose_pads",
    "test_cumsum_1d_reverse_exclusive",
    "test_depthtospace_crd_mode_example",
    "test_einsum_batch_diagonal",
    "test_gathernd_example_int32_batch_dim1",
    "test_gridsample_bilinear",
    "test_gru_defaults",
    "test_instancenorm_example",
    "test_layer_normalization_4d_axis1_expanded",
    "test_logsoftmax_axis_1",
    "test_lstm_with_peepholes",
    "test_mod_mixed_sign_int64",
    "test_range_int32_type_negative_delta_expanded",
    "test_reflect_pad",
    "test_resize_upsample_sizes_cubic",
    "test_reversesequence_batch",
    "test_scan9_sum",
    "test_scatter_elements_with_axis",
    "test_simple_rnn_bidirectional",
    "test_slice_neg_steps",
    "test_split_variable_parts_2d_opset18",
    "test_tile",
    "test_top_k_smallest",
    "test_where_long_example",
]


MODULES = (
    "conv convtranspose cumsum depthtospace einsum gathernd gridsample gru instance_normalization layernormalization"
    " instancenorm logsoftmax lstm mod pad rangeop resize reversesequence rnn scan scatterelements slice split tile"
    " topk where"
)


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    """The cases of some modules: `collect_testcases` would make all of them, which takes long."""
    node = importlib.import_module("onnx.backend.test.case.node")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name in MODULES.split():
            # Not every onnx has all of them: some were renamed.
            if importlib.util.find_spec(f"onnx.backend.test.case.node.{name}") is not None:
                importlib.import_module(f"onnx.backend.test.case.node.{name}")
    found = {case.name: case for case in node._NodeTestCases if case.name in NAMES}
    assert len(found) > len(NAMES) // 2
    return found


@pytest.mark.parametrize("name", NAMES)
def test_parsed_networks(net: Any, cases: dict[str, Any], name: str) -> None:
    case = cases.get(name)
    if case is None:
        pytest.skip("this onnx has no such case")
    parser = trt.OnnxParser(net.network, net.builder.logger)
    if not parser.parse(case.model.SerializeToString()):
        pytest.skip("this parser does not take the case")
    model = net.read()
    names = [value.name for value in case.model.graph.input]
    for inputs, outputs in case.data_sets:
        arrays = dict(zip(names, map(array, inputs), strict=True))
        given = [value.name for value in model.graph.inputs]
        types = [value.dtype.numpy() for value in model.graph.inputs if value.dtype is not None]
        for index, value in enumerate(model.graph.inputs):
            value.name = f"in{index}"
        # The network has float where the case has double.
        got = net.run(model, *[arrays[name].astype(dtype) for name, dtype in zip(given, types, strict=True)])
        for actual, expected in zip(got, map(array, outputs), strict=True):
            assert actual.shape == expected.shape
            np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-5)


def array(value: Any) -> np.ndarray:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
