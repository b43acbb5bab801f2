"""The capability table, of the real module and of stand-ins for generations that are not installed."""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any

import pytest

from trtc import targets
from trtc.targets import Capabilities


def _class(name: str, **members: Any) -> type:
    return type(name, (), members)


def _method(doc: str) -> Any:
    def method(self: Any, *args: Any) -> None: ...

    method.__doc__ = doc
    return method


def fake_8_6() -> Any:
    """The parts of TensorRT 8.6 that the table looks at."""
    methods = {
        "add_activation": _method("add_activation(input: ITensor)"),
        "add_cast": _method("add_cast(input: ITensor)"),
        "add_fill": _method("add_fill(shape: Dims, op: FillOperation)"),
        "add_quantize": _method("add_quantize(input: ITensor, scale: ITensor)"),
        "add_topk": _method("add_topk(input: ITensor, op: TopKOperation, k: int, axes: int)"),
        "add_normalization": _method("add_normalization(input: ITensor)"),
        "add_plugin_v2": _method("add_plugin_v2(inputs: list)"),
    }
    return SimpleNamespace(
        __version__="8.6.1",
        INetworkDefinition=_class("INetworkDefinition", **methods),
        NetworkDefinitionCreationFlag=enum.IntEnum(
            "NetworkDefinitionCreationFlag", {"EXPLICIT_BATCH": 0, "EXPLICIT_PRECISION": 1}
        ),
        DataType=enum.Enum("DataType", ["FLOAT", "HALF", "INT8", "INT32", "BOOL", "UINT8", "FP8"]),
        ActivationType=enum.Enum("ActivationType", ["RELU", "SIGMOID", "CLIP"]),
        UnaryOperation=enum.Enum("UnaryOperation", ["EXP", "ABS", "NEG", "SIGN", "ISINF"]),
        ISliceLayer=_class("ISliceLayer", start=None),
        ILayer=_class("ILayer", metadata=None, set_output_type=None),
        ITensor=_class("ITensor", set_dimension_name=None),
        INormalizationLayer=_class("INormalizationLayer", compute_precision=None),
        IBuilderConfig=_class("IBuilderConfig"),
    )


def test_8_6_has_neither_int64_nor_strong_typing() -> None:
    table = Capabilities.of(fake_8_6(), runs_on=("8.x",), can_build_without_gpu=False)
    assert table.strongly_typed is False
    assert table.network_flags == 1  # explicit batch
    assert table.shape_dtype == "INT32"
    assert "INT64" not in table.dtypes
    assert "BF16" not in table.dtypes
    assert not table.bool_constants
    assert not table.slice_axes
    assert not table.squeeze_layer
    assert not table.cumulative
    assert not table.normalization_v2
    assert table.attention is None
    assert table.plugins
    assert table.compute_precision
    assert not table.fill_output_type
    assert not table.quantize_output_type
    assert not table.topk_indices_type
    assert table.int_unary == {"SIGN"}
    assert not table.has("ActivationType.GELU_ERF")
    assert table.has("UnaryOperation.ISINF")
    assert not table.has("UnaryOperation.ISNAN")


def test_10_x_is_strongly_typed_by_flag() -> None:
    fake = fake_8_6()
    fake.__version__ = "10.9.0.34"
    fake.NetworkDefinitionCreationFlag = enum.IntEnum(
        "NetworkDefinitionCreationFlag", {"EXPLICIT_BATCH": 0, "STRONGLY_TYPED": 1}
    )
    fake.DataType = enum.Enum("DataType", ["FLOAT", "HALF", "BF16", "INT32", "INT64", "BOOL"])
    fake.INetworkDefinition.add_quantize.__doc__ = (
        "1. add_quantize(input, scale)\n2. add_quantize(output_type: DataType)"
    )
    table = Capabilities.of(fake, runs_on=("8.x",), can_build_without_gpu=False)
    assert table.network_flags == 2
    assert table.strongly_typed
    assert table.shape_dtype == "INT64"
    assert table.quantize_output_type
    assert not table.int_pow
    assert table.int_unary == {"SIGN", "ABS"}


def test_tensorrt_rtx() -> None:
    pytest.importorskip("tensorrt_rtx")
    table = targets.load("tensorrt_rtx").capabilities
    assert table.strongly_typed
    assert table.network_flags == 1
    assert table.shape_dtype == "INT64"
    assert table.attention == "attention_v2"
    assert table.slice_axes
    assert table.squeeze_layer
    assert table.cumulative
    assert table.normalization_v2
    assert table.fill_output_type
    assert table.quantize_output_type
    assert table.topk_indices_type
    assert table.compute_capabilities
    assert table.can_build_without_gpu
    assert not table.plugins
    assert not table.compute_precision
    assert "9.0" not in table.runs_on
