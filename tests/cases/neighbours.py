"""A small model in text, inputs for it, and what other runtimes answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes  # noqa: F401 - names bfloat16
import numpy as np
import onnx
import onnx.parser

from trtc.evaluate import session

nan = float("nan")
inf = float("inf")

Feeds = dict[str, "np.ndarray | Normal"]


class Normal:
    """Numbers of a normal distribution, drawn anew for each input by its name."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.shape, self.dtype = shape, dtype

    def draw(self, name: str) -> np.ndarray:
        return np.random.default_rng(list(name.encode())).normal(size=self.shape).astype(self.dtype)


def normal(*shape: int, dtype: str = "float32") -> Normal:
    return Normal(shape, dtype)


def array(dtype: str, values: Sequence[float], shape: tuple[int, ...] | None = None) -> np.ndarray:
    made = np.array(values, dtype=np.dtype(dtype))
    return made if shape is None else made.reshape(shape)


def empty(dtype: str, *shape: int) -> np.ndarray:
    return np.zeros(shape, dtype)


class Case:
    """`text` is a graph without its name, in ONNX's text form; each of `feeds` is one set of inputs."""

    def __init__(self, text: str, *feeds: Feeds, opset: int = 21, domains: str = "") -> None:
        self.model: Any = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}{domains}]> g {text}')
        self.feeds = [
            {name: value.draw(name) if isinstance(value, Normal) else value for name, value in one.items()}
            for one in feeds
        ]


def truth(model: Any, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What ONNX Runtime computes with optimizations off, or onnx's own evaluator where that does not run it."""
    try:
        running = session(model.SerializeToString())
        return list(running.run(None, {i.name: feeds[i.name] for i in running.get_inputs()}))
    except Exception:
        from onnx.reference import ReferenceEvaluator

        return [np.asarray(value) for value in ReferenceEvaluator(model).run(None, feeds)]


def check(got: Sequence[Any], expected: Sequence[Any]) -> None:
    """Dtypes, shapes and values, NaN equal to NaN."""
    for have, want in zip(got, expected, strict=True):
        have, want = np.asarray(have), np.asarray(want)
        assert (have.dtype, have.shape) == (want.dtype, want.shape)
        if want.dtype.kind in "fV":
            tolerance = 2e-2 if want.dtype.itemsize == 2 else 1e-4
            have, want = have.astype(np.float64), want.astype(np.float64)
            np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance, equal_nan=True)
        else:
            np.testing.assert_array_equal(have, want)
