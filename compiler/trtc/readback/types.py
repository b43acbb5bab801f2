"""TensorRT data types as ONNX data types, and how a value of each is carried through the ONNX model.

ONNX Runtime has next to no kernels for the 8- and 4-bit floats and for 4-bit integers, so their values travel in a
wider type that holds each of them exactly; only where they enter or leave the network do they have their own type.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as oir

#: By the name of `trt.DataType`, since the numbers differ between generations.
ONNX_TYPES: dict[str, oir.DataType] = {
    "FLOAT": oir.DataType.FLOAT,
    "HALF": oir.DataType.FLOAT16,
    "BF16": oir.DataType.BFLOAT16,
    "INT8": oir.DataType.INT8,
    "INT32": oir.DataType.INT32,
    "INT64": oir.DataType.INT64,
    "BOOL": oir.DataType.BOOL,
    "UINT8": oir.DataType.UINT8,
    "FP8": oir.DataType.FLOAT8E4M3FN,
    "INT4": oir.DataType.INT4,
    "FP4": oir.DataType.FLOAT4E2M1,
    "E8M0": oir.DataType.FLOAT8E8M0,
}

_CARRIED: dict[oir.DataType, oir.DataType] = {
    oir.DataType.FLOAT8E4M3FN: oir.DataType.FLOAT,
    oir.DataType.FLOAT4E2M1: oir.DataType.FLOAT,
    oir.DataType.FLOAT8E8M0: oir.DataType.FLOAT,
    oir.DataType.INT4: oir.DataType.INT8,
}

#: Arrays of these types come from the side table of weights: `trt.Weights` does not give them back.
NUMPY_TYPES: dict[str, Any] = {
    "BF16": ml_dtypes.bfloat16,
    "FP8": ml_dtypes.float8_e4m3fn,
    "INT4": ml_dtypes.int4,
    "FP4": ml_dtypes.float4_e2m1fn,
    "E8M0": ml_dtypes.float8_e8m0fnu,
}


def tensor_type(tensor: Any) -> oir.DataType:
    """The ONNX type with the same values as the type of an `ITensor`."""
    return ONNX_TYPES[tensor.dtype.name]


def carried(dtype: oir.DataType) -> oir.DataType:
    """The type in which values of `dtype` travel between the nodes of the model."""
    return _CARRIED.get(dtype, dtype)


def is_half(dtype: oir.DataType | None) -> bool:
    """Whether arithmetic on `dtype` is done in float32 and rounded back, as TensorRT's kernels accumulate."""
    return dtype in (oir.DataType.FLOAT16, oir.DataType.BFLOAT16)


def is_integer(dtype: oir.DataType | None) -> bool:
    return dtype in (oir.DataType.INT8, oir.DataType.UINT8, oir.DataType.INT32, oir.DataType.INT64)


def carried_array(array: np.ndarray) -> np.ndarray:
    """`array` in the type it travels in: exact, and a view where the type is already right."""
    if array.dtype == ml_dtypes.int4:
        return array.astype(np.int8)
    narrow: tuple[Any, ...] = (ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu)
    if any(array.dtype == dtype for dtype in narrow):
        return array.astype(np.float32)
    return array
