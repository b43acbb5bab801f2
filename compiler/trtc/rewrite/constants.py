"""What matching asks of constants, asked once each."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.ir.module import Module, constant_tensor

#: A constant of more elements is never one number.
_UNIFORM = 1 << 20
#: A list of integers in a rule is not longer.
_LIST = 4096


class Constants:
    """The constants of one module as numbers and lists, remembered."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._uniform: dict[oir.Value, bool | int | float | None] = {}
        self._ints: dict[oir.Value, tuple[int, ...] | None] = {}

    def is_constant(self, value: oir.Value | None) -> bool:
        return constant_tensor(value) is not None

    def uniform(self, value: oir.Value) -> bool | int | float | None:
        """The one number that a constant is filled with; None for others."""
        if value in self._uniform:
            return self._uniform[value]
        found = self._uniform[value] = _uniform(constant_tensor(value))
        return found

    def ints(self, value: oir.Value) -> tuple[int, ...] | None:
        """The elements of a constant list of integers."""
        if value in self._ints:
            return self._ints[value]
        tensor = constant_tensor(value)
        found: tuple[int, ...] | None = None
        if tensor is not None and tensor.dtype in INTEGERS and len(tensor.shape) <= 1 and tensor.size <= _LIST:
            found = tuple(int(v) for v in tensor.numpy().reshape(-1))
        self._ints[value] = found
        return found


INTEGERS = frozenset(
    {
        *(oir.DataType.INT64, oir.DataType.INT32, oir.DataType.INT16, oir.DataType.INT8),
        *(oir.DataType.UINT64, oir.DataType.UINT32, oir.DataType.UINT16, oir.DataType.UINT8),
    }
)
FLOATS = frozenset({oir.DataType.FLOAT, oir.DataType.FLOAT16, oir.DataType.BFLOAT16, oir.DataType.DOUBLE})

DTYPES = {
    "bool": oir.DataType.BOOL,
    "bf16": oir.DataType.BFLOAT16,
    "f16": oir.DataType.FLOAT16,
    "f32": oir.DataType.FLOAT,
    "f64": oir.DataType.DOUBLE,
    "f8e4m3": oir.DataType.FLOAT8E4M3FN,
    "f8e5m2": oir.DataType.FLOAT8E5M2,
    "i4": oir.DataType.INT4,
    "i8": oir.DataType.INT8,
    "i16": oir.DataType.INT16,
    "i32": oir.DataType.INT32,
    "i64": oir.DataType.INT64,
    "u4": oir.DataType.UINT4,
    "u8": oir.DataType.UINT8,
    "u16": oir.DataType.UINT16,
    "u32": oir.DataType.UINT32,
    "u64": oir.DataType.UINT64,
}


def _uniform(tensor: oir.TensorProtocol | None) -> bool | int | float | None:
    if tensor is None or tensor.size == 0 or tensor.size > _UNIFORM:
        return None
    array: Any = tensor.numpy()
    flat = array.reshape(-1)
    first = flat[0]
    if flat.size > 1 and (flat[-1] != first or not (flat == first).all()):
        return None
    if array.dtype == np.bool_:
        return bool(first)
    if tensor.dtype in INTEGERS:
        return int(first)
    if tensor.dtype in FLOATS:
        return float(first)
    return None


def rounded(number: float, dtype: oir.DataType) -> float:
    """A number after the cast to a dtype."""
    return float(np.asarray(number).astype(dtype.numpy()))


def relative_ulp(dtype: oir.DataType) -> float:
    """The distance of 1.0 to the next number of a floating dtype."""
    return {oir.DataType.FLOAT16: 2.0**-10, oir.DataType.BFLOAT16: 2.0**-7, oir.DataType.FLOAT: 2.0**-23}.get(
        dtype, 2.0**-52
    )
