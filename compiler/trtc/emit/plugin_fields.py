"""Fields of plugins: values of the IR as `trt.PluginField` on memory that somebody owns."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import refuse
from trtc.ir.plugins import FieldData

_MAX_DIMS = 8

#: Word of a field's type -> numpy type, `PluginFieldType`. TensorRT has no type for bool and none without a sign:
#: plugins take the first as int32, the second by its bits.
_SCALARS: dict[str, tuple[Any, str]] = {
    "i8": (np.int8, "INT8"),
    "u8": (np.uint8, "INT8"),
    "i16": (np.int16, "INT16"),
    "i32": (np.int32, "INT32"),
    "i64": (np.int64, "INT64"),
    "bool": (np.int32, "INT32"),
    "f16": (np.float16, "FLOAT16"),
    "f32": (np.float32, "FLOAT32"),
    "f64": (np.float64, "FLOAT64"),
}

_WEIGHTS: dict[str, str] = {
    "float32": "FLOAT32",
    "float16": "FLOAT16",
    "bfloat16": "BF16",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float8_e4m3fn": "FP8",
}


def kind_of(entry: FieldData) -> str | None:
    """The name of the `PluginFieldType` of a field; None for weights, whose array decides."""
    if entry.type == "string":
        return "CHAR"
    if entry.type == "dims":
        return "DIMS"
    if entry.type == "bf16":
        return "BF16"
    return _SCALARS[entry.type][1] if entry.type in _SCALARS else None


def plugin_field(trt: Any, entry: FieldData, value: Any, wide_dims: bool, keepalive: list[Any]) -> Any:
    """The `PluginField` of a value. TensorRT keeps neither the array nor, in 8.6, the name: `keepalive` does.

    `wide_dims`: whether `Dims` holds int64, as from 10.0 on. Raises Refusal for a value that the type does not hold.
    """
    array, kind = _array(entry, value, wide_dims)
    member = getattr(trt.PluginFieldType, kind, None)
    if member is None:
        refuse(f"the field `{entry.name}` is {kind.lower()}, which plugins of this TensorRT do not have")
    name: Any = entry.name
    if hasattr(trt, "FallbackString"):
        # An object of our own: TensorRT holds on to the characters of a temporary one.
        name = trt.FallbackString(entry.name)
    made = trt.PluginField(name, array, member)
    keepalive += [array, name, made]
    return made


def _array(entry: FieldData, value: Any, wide_dims: bool) -> tuple[np.ndarray, str]:
    if entry.type == "string":
        if entry.list:
            refuse(f"the field `{entry.name}` is a list of strings, which TensorRT has no type for")
        text = value if isinstance(value, bytes) else str(value).encode()
        # The length is that of the text; plugins that look for the end of a C string find it right behind.
        return np.frombuffer(text + b"\0", np.int8)[: len(text)], "CHAR"
    if entry.type == "dims":
        return _dims(entry, value, wide_dims), "DIMS"
    if entry.type == "weights":
        return _weights(entry, value)
    if entry.type == "bf16":
        import ml_dtypes

        return np.atleast_1d(np.asarray(_numbers(value), np.float32).astype(ml_dtypes.bfloat16)).view(np.uint16), "BF16"
    wanted, kind = _SCALARS[entry.type]
    given = np.asarray(_numbers(value))
    made = np.atleast_1d(given.astype(wanted))
    if given.dtype.kind in "iu" and not np.array_equal(np.atleast_1d(given), made.astype(given.dtype)):
        refuse(f"the field `{entry.name}` is {entry.type}, which does not hold {value}")
    return (made.view(np.int8) if entry.type == "u8" else made), kind


def _numbers(value: Any) -> Any:
    return value.numpy() if isinstance(value, oir.TensorProtocol) else value


def _dims(entry: FieldData, value: Sequence[int], wide: bool) -> np.ndarray:
    """One `nvinfer1::Dims`: a count and room for eight."""
    sizes = [int(v) for v in value]
    if len(sizes) > _MAX_DIMS:
        refuse(f"the field `{entry.name}` has {len(sizes)} dims; TensorRT's limit is {_MAX_DIMS}")
    made = np.zeros(1, np.dtype([("count", "i4"), ("sizes", "i8" if wide else "i4", (_MAX_DIMS,))], align=True))
    made["count"] = len(sizes)
    made["sizes"][0, : len(sizes)] = sizes
    return made


def _weights(entry: FieldData, value: Any) -> tuple[np.ndarray, str]:
    array = np.asarray(_numbers(value))
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    kind = _WEIGHTS.get(array.dtype.name)
    if kind is None:
        refuse(f"the weights of the field `{entry.name}` are {array.dtype.name}, which plugins do not take")
    flat = np.ascontiguousarray(array.reshape(-1), dtype=array.dtype.newbyteorder("="))
    if kind in ("BF16", "FP8"):
        flat = flat.view(f"u{flat.dtype.itemsize}")  # types that Python's buffers do not know
    return flat, kind
