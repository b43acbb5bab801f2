"""One harness for the room: a network built with the TensorRT API, read back, run, and compared with numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as oir
import pytest

from trtc.evaluate import session
from trtc.readback import read

trt = pytest.importorskip("tensorrt_rtx")


class _Log(trt.ILogger):
    def __init__(self) -> None:
        trt.ILogger.__init__(self)

    def log(self, severity: Any, message: str) -> None:
        pass


_LOG = _Log()


class Net:
    """A network in the making, and what it computes when read back.

    `input` and `constant` give tensors; `network` is there for the layers. `check` compares one or more tensors with
    a function of the inputs, for each tuple of input arrays.
    """

    def __init__(self, builder: Any) -> None:
        self.trt = trt
        self.builder = builder
        self.network = builder.create_network(0)
        self.arrays: list[np.ndarray] = []

    def input(self, shape: Sequence[int], dtype: Any = np.float32) -> Any:
        return self.network.add_input(f"in{self.network.num_inputs}", trt.DataType(trt_type(dtype)), tuple(shape))

    def constant(self, values: Any, dtype: Any = None) -> Any:
        array = np.array(values, dtype, order="C")
        return self.network.add_constant(array.shape, array).get_output(0)

    def out(self, *tensors: Any) -> None:
        for tensor in tensors:
            tensor.name = f"out{self.network.num_outputs}"
            self.network.mark_output(tensor)

    def read(self, **options: Any) -> oir.Model:
        return read(self.network, trt, **options)

    def run(self, model: oir.Model, *arrays: np.ndarray) -> list[np.ndarray]:
        """The outputs of ONNX Runtime with all graph optimizations off."""
        proto = oir.to_proto(model)
        onnx.checker.check_model(proto)
        return session(proto.SerializeToString()).run(None, {f"in{i}": array for i, array in enumerate(arrays)})

    def check(
        self,
        tensors: Any,
        expected: Callable[..., Any],
        *cases: tuple[np.ndarray, ...],
        rtol: float = 1e-5,
        atol: float = 1e-6,
        **options: Any,
    ) -> oir.Model:
        tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        self.out(*tensors)
        model = self.read(**options)
        assert cases, "a check without a case checks nothing"
        for arrays in cases:
            wanted = expected(*arrays)
            wanted = wanted if isinstance(wanted, tuple) else (wanted,)
            got = self.run(model, *arrays)
            assert len(got) == len(wanted) == len(tensors)
            for tensor, actual, want in zip(tensors, got, wanted, strict=True):
                want = np.asarray(want)
                assert actual.shape == want.shape
                dims = tuple(tensor.shape)
                assert len(dims) == actual.ndim
                assert all(d in (-1, n) for d, n in zip(dims, actual.shape, strict=True)), (dims, actual.shape)
                assert actual.dtype == trt.nptype(tensor.dtype)
                if want.dtype.kind in "fc":
                    np.testing.assert_allclose(actual.astype(np.float64), want, rtol=rtol, atol=atol)
                else:
                    np.testing.assert_array_equal(actual, want)
        return model


def trt_type(dtype: Any) -> Any:
    names = {
        np.float32: trt.float32,
        np.float16: trt.float16,
        np.int32: trt.int32,
        np.int64: trt.int64,
        np.bool_: trt.bool,
        bool: trt.bool,
        np.int8: trt.int8,
        np.uint8: trt.uint8,
    }
    return names.get(dtype, dtype)


@pytest.fixture(scope="session")
def builder() -> Any:
    return trt.Builder(_LOG)


@pytest.fixture
def net(builder: Any) -> Net:
    return Net(builder)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)
