"""Polygraphy runners: a model in ONNX Runtime, an engine in a child process, both answering as the original would."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false, reportUntypedBaseClass=false

from __future__ import annotations

import gc
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from polygraphy.backend.base import BaseRunner
from polygraphy.common import TensorMetadata

from trtc.evaluate import session
from trtc.verify.interface import Interface


class ValueDoesNotFit(Exception):
    """A value of an input or output has no equal in the dtype of the other side."""


def cast_exact(name: str, array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """`array` as `dtype`. An integer that does not fit is an error, not a wrap, a float not an infinity; floats round,
    as the target does."""
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore"):
        cast = array.astype(dtype)
    if array.dtype == np.float64 and not np.array_equal(np.isinf(cast.astype(np.float64)), np.isinf(array)):
        raise ValueDoesNotFit(f"`{name}` holds values that {dtype} cannot: {array.min()} to {array.max()}")
    integers = np.issubdtype(array.dtype, np.integer) and np.issubdtype(dtype, np.integer)
    if integers and not np.array_equal(cast.astype(array.dtype), array):
        raise ValueDoesNotFit(f"`{name}` holds values that {dtype} cannot: {array.min()} to {array.max()}")
    return cast


_ORT_TYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(string)": "object",
}
#: What numpy has from ml_dtypes. ONNX Runtime's Python takes it as raw bits and hands it out not at all.
_ML_TYPES = {
    "tensor(bfloat16)": "bfloat16",
    "tensor(float8e4m3fn)": "float8_e4m3fn",
    "tensor(float8e5m2)": "float8_e5m2",
}


def ort_dtype(text: str) -> np.dtype[Any]:
    """The numpy dtype of a type as ONNX Runtime writes it: `tensor(int64)`."""
    if text in _ML_TYPES:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, _ML_TYPES[text]))
    return np.dtype(_ORT_TYPES.get(text) or text.removeprefix("tensor(").removesuffix(")"))


def feed_value(array: np.ndarray[Any, Any]) -> Any:
    """An `OrtValue` over an array, without a copy; also of dtypes that numpy has from ml_dtypes."""
    import onnxruntime as ort

    if array.dtype.kind == "V" or array.dtype.name in _ML_TYPES.values():
        import onnx

        number = int(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))
        bits = np.ascontiguousarray(array).view(f"uint{array.dtype.itemsize * 8}").reshape(array.shape)
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number)
    return ort.OrtValue.ortvalue_from_numpy(array)


def fetch_value(value: Any) -> np.ndarray[Any, Any]:
    """The array of an `OrtValue`."""
    if value.data_type() not in _ML_TYPES:
        return np.asarray(value.numpy())
    import ctypes

    bits = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return np.frombuffer(bits, ort_dtype(value.data_type())).reshape(value.shape())


#: The one input that Polygraphy hands to a runner here: which point to run. Given the arrays themselves, Comparator
#: would cast, transpose and rename them until they fit the metadata of a runner, and a fault would not show.
POINT = "point"


class PointRunner(BaseRunner):  # type: ignore[misc]
    """A runner that runs the points of a verification, by their number, on arrays exactly as given."""

    def __init__(self, points: Sequence[Mapping[str, np.ndarray[Any, Any]]], interface: Interface, name: str) -> None:
        super().__init__(name=name)
        self._points = points
        self._interface = interface

    def get_input_metadata_impl(self) -> TensorMetadata:
        return TensorMetadata().add(POINT, dtype=np.dtype(np.int64), shape=(1,))

    def infer_impl(self, feed_dict: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        begin = time.perf_counter()
        answers = self.answer(int(feed_dict[POINT][0]))
        self.inference_time = time.perf_counter() - begin
        return {n: cast_exact(n, np.asarray(answers[n]), dtype) for n, dtype in self._interface.outputs.items()}

    def answer(self, point: int) -> Mapping[str, np.ndarray[Any, Any]]:
        """Outputs of a point by name, in whatever dtypes the candidate has."""
        raise NotImplementedError


class OrtRunner(PointRunner):
    """A model in ONNX Runtime, optimizations off. The bindings of a target may differ in dtype: both ends cast."""

    def __init__(self, model: Path, points: Any, interface: Interface, name: str) -> None:
        super().__init__(points, interface, name)
        self._model = model
        self._session: Any = None

    def activate_impl(self) -> None:
        self._session = session(self._model)

    def answer(self, point: int) -> Mapping[str, np.ndarray[Any, Any]]:
        given = self._points[point]
        feeds = {
            i.name: feed_value(cast_exact(i.name, given[i.name], ort_dtype(i.type))) for i in self._session.get_inputs()
        }
        names = list(self._interface.outputs)
        values = self._session.run_with_ort_values(names, feeds)
        return {name: fetch_value(value) for name, value in zip(names, values, strict=True)}

    def deactivate_impl(self) -> None:
        self._session = None
        gc.collect()  # a session holds a copy of every weight: let it go before the next one comes


class ReferenceRunner(PointRunner):
    """The original model in the reference implementation of the onnx package, for what ONNX Runtime does not run."""

    def __init__(self, model: Path, points: Any, interface: Interface, name: str) -> None:
        super().__init__(points, interface, name)
        self._model = model
        self._evaluator: Any = None

    def activate_impl(self) -> None:
        from onnx.reference import ReferenceEvaluator

        self._evaluator = ReferenceEvaluator(str(self._model))

    def answer(self, point: int) -> Mapping[str, np.ndarray[Any, Any]]:
        import onnx

        given = self._points[point]
        feeds = {
            name: cast_exact(name, given[name], onnx.helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type))
            for name, kind in zip(self._evaluator.input_names, self._evaluator.input_types, strict=True)
        }
        names = list(self._interface.outputs)
        return dict(zip(names, self._evaluator.run(names, feeds), strict=True))

    def deactivate_impl(self) -> None:
        self._evaluator = None
