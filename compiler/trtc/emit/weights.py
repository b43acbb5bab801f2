"""Constants: arrays as TensorRT weights, without a copy where the type allows."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from trtc.emit.facts import refuse

#: numpy type for each `DataType` that constants of a network may have.
NUMPY: dict[str, Any] = {
    "FLOAT": np.float32,
    "HALF": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "INT32": np.int32,
    "INT64": np.int64,
    "BOOL": np.bool_,
    "INT8": np.int8,
    "UINT8": np.uint8,
    "FP8": ml_dtypes.float8_e4m3fn,
}
#: Types that `trt.Weights(ndarray)` does not know: handed over by pointer, and not given back.
BY_POINTER = ("BF16", "FP8")


def convert(array: np.ndarray, dtype: str, name: str, *, clamp: bool = False) -> np.ndarray:
    """`array` in the type that the engine carries it in; itself when it has that type already.

    Refuses a value that does not fit (`clamp`: brings integers to the nearest that does, for ends of slices).
    """
    wanted = np.dtype(NUMPY[dtype])
    if array.dtype == wanted:
        return array
    if wanted.kind in "iu" and array.dtype.kind in "iu":
        info = np.iinfo(wanted)
        if array.size and (array.min() < info.min or array.max() > info.max):
            if not clamp:
                refuse(
                    f"constant `{name}` holds {int(array.max() if array.max() > info.max else array.min())}, "
                    f"which does not fit {wanted.name}, the widest integer of this TensorRT",
                    "build for TensorRT 10 or newer, which has int64",
                )
            return np.clip(array, info.min, info.max).astype(wanted)
        return array.astype(wanted)
    if array.dtype == np.float64 and wanted.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            made = array.astype(wanted)
        if np.isinf(made).any() and not np.array_equal(np.isinf(made), np.isinf(array)):
            lost = array[np.isinf(made) & ~np.isinf(array)].flat[0]
            refuse(
                f"constant `{name}` holds {lost}, which overflows {wanted.name}",
                "TensorRT has no float64",
            )
        return made
    return array.astype(wanted)


def weights(trt: Any, array: np.ndarray, dtype: str, keepalive: list[Any]) -> Any:
    """`trt.Weights` on the memory of `array`, which `keepalive` then owns.

    The empty array becomes the null weights of that type: TensorRT rejects a pointer with a count of 0.
    """
    if array.size == 0:
        return trt.Weights(getattr(trt.DataType, dtype))
    if array.dtype.isnative and array.dtype == np.dtype(NUMPY[dtype]):
        # On the same memory, numpy's own type object: one that was given a byte order (also for int8, where it means
        # nothing) is not recognized by TensorRT's binding.
        array = array.view(NUMPY[dtype])
    if not array.flags.c_contiguous or not array.dtype.isnative:
        # Not ascontiguousarray: it turns 0-d into shape (1,).
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)
    keepalive.append(array)
    if dtype in BY_POINTER:
        return trt.Weights(getattr(trt.DataType, dtype), array.ctypes.data, array.size)
    return trt.Weights(array)
