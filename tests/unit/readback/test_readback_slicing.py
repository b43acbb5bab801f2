"""Slice layers, against indices computed one by one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest


def sliced(x: np.ndarray, start: Any, size: Any, stride: Any, mode: str = "STRICT_BOUNDS", fill: Any = 0) -> np.ndarray:
    """out[i] = x[start + i * stride], and what each mode makes of an index outside."""
    out = np.empty(tuple(size), x.dtype)
    for at in itertools.product(*(range(n) for n in size)):
        index = [s + i * t for s, i, t in zip(start, at, stride, strict=True)]
        outside = any(not 0 <= i < d for i, d in zip(index, x.shape, strict=True))
        if mode == "FILL" and outside:
            out[at] = fill
            continue
        for k, d in enumerate(x.shape):
            if mode == "CLAMP":
                index[k] = min(max(index[k], 0), d - 1)
            elif mode == "WRAP":
                index[k] = index[k] % d
            elif mode == "REFLECT":
                while not 0 <= index[k] < d:  # mirror at the edge that it is beyond
                    index[k] = 0 if d == 1 else (-index[k] if index[k] < 0 else 2 * (d - 1) - index[k])
        assert all(i >= 0 for i in index)
        out[at] = x[tuple(index)]
    return out


DATA = np.arange(1, 25).reshape(2, 3, 4)

STRICT = [
    ((0, 1, 0), (2, 2, 4), (1, 1, 1)),
    ((1, 0, 3), (2, 3, 4), (-1, 1, -1)),
    ((0, 2, 1), (2, 2, 2), (1, -2, 2)),
    ((1, 1, 0), (5, 1, 4), (0, 1, 1)),  # a stride of zero repeats
    ((1, 2, 3), (3, 2, 4), (0, 0, 0)),
    ((0, 0, 0), (2, 0, 4), (1, 1, 1)),
    ((0, 2, 0), (2, 3, 4), (1, -1, 1)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.bool_])
@pytest.mark.parametrize("case", range(len(STRICT)))
def test_strict(net: Any, case: int, dtype: Any) -> None:
    layer = net.network.add_slice(net.input((2, 3, 4), dtype), *STRICT[case])
    net.check(layer.get_output(0), lambda x: sliced(x, *STRICT[case]), (DATA.astype(dtype),))


OUTSIDE = [
    ((-2, -1, -5), (5, 6, 14), (1, 1, 1)),
    ((1, 3, 6), (3, 4, 5), (-1, -1, -2)),
    ((-1, 0, 2), (4, 3, 3), (1, 1, 3)),
    ((0, 1, -3), (2, 1, 3), (1, 1, 1)),  # FILL: nothing of the data
    ((1, -1, 1), (4, 6, 2), (0, 1, 1)),
]


@pytest.mark.parametrize("mode", ["FILL", "CLAMP", "WRAP", "REFLECT"])
@pytest.mark.parametrize("case", range(len(OUTSIDE)))
def test_modes(net: Any, mode: str, case: int) -> None:
    layer = net.network.add_slice(net.input((2, 3, 4)), *OUTSIDE[case])
    layer.mode = getattr(net.trt.SampleMode, mode)
    net.check(layer.get_output(0), lambda x: sliced(x, *OUTSIDE[case], mode), (DATA.astype(np.float32),))


def test_reflection_in_one_element(net: Any) -> None:
    layer = net.network.add_slice(net.input((1, 2)), (-1, -3), (3, 7), (1, 1))
    layer.mode = net.trt.SampleMode.REFLECT
    expected = [[6, 5, 6, 5, 6, 5, 6]] * 3
    net.check(layer.get_output(0), lambda x: np.array(expected, np.float32), (np.array([[5, 6]], np.float32),))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("stride", [1, 2])
def test_fill_value(net: Any, dtype: Any, stride: int) -> None:
    layer = net.network.add_slice(net.input((3,), dtype), (-1,), (5,), (stride,))
    layer.mode = net.trt.SampleMode.FILL
    layer.set_input(4, net.input((), dtype))
    expected = {1: [9, 1, 2, 3, 9], 2: [9, 2, 9, 9, 9]}[stride]
    net.check(
        layer.get_output(0),
        lambda x, f: np.array(expected).astype(dtype),
        (np.array([1, 2, 3]).astype(dtype), np.array(9).astype(dtype)),
    )


def test_axes_leave_the_others_whole(net: Any) -> None:
    x = net.input((-1, 3, 4))
    layer = net.network.add_slice(x, (3, 1), (2, 2), (-2, 1))
    layer.axes = (-1, 1)
    net.check(
        layer.get_output(0),
        lambda x: x[:, 1:3, 3::-2],
        *[(np.arange(n * 12, dtype=np.float32).reshape(n, 3, 4),) for n in (1, 3)],
    )


@pytest.mark.parametrize("mode", ["STRICT_BOUNDS", "FILL", "CLAMP", "WRAP", "REFLECT"])
def test_parameters_at_run_time(net: Any, mode: str) -> None:
    """Start and stride are inputs; the size is made from the shape of another."""
    x, like = net.input((-1, 3)), net.input((-1, -1))
    start, stride = net.input((2,), np.int64), net.input((2,), np.int32)
    layer = net.network.add_slice(x, (0, 0), (1, 1), (1, 1))
    layer.set_input(1, start)
    layer.set_input(2, net.network.add_shape(like).get_output(0))
    layer.set_input(3, stride)
    layer.mode = getattr(net.trt.SampleMode, mode)
    x0 = np.arange(12, dtype=np.float32).reshape(4, 3)

    def case(size: tuple[int, int], start: list[int], stride: list[int]) -> tuple[np.ndarray, ...]:
        return x0, np.zeros(size, np.float32), np.array(start), np.array(stride, np.int32)

    cases = [case((2, 3), [3, 0], [-1, 1]), case((2, 5), [1, 2], [2, 0]), case((0, 2), [0, 0], [1, 1])]
    if mode != "STRICT_BOUNDS":
        cases.append(case((6, 7), [-1, -3], [1, 1]))
    net.check(layer.get_output(0), lambda x, like, start, stride: sliced(x, start, like.shape, stride, mode), *cases)


def test_a_strict_index_outside_is_an_error_when_it_runs(net: Any) -> None:
    x, start = net.input((4,)), net.input((1,), np.int64)
    layer = net.network.add_slice(x, (0,), (2,), (1,))
    layer.set_input(1, start)
    net.out(layer.get_output(0))
    model = net.read()
    data = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(net.run(model, data, np.array([2]))[0], [2, 3])
    for outside in (-1, 3):
        with pytest.raises(Exception, match="out of"):
            net.run(model, data, np.array([outside]))
