"""Reductions, cumulative sums, softmax, scale, normalization, local response."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

REDUCE = {"SUM": np.sum, "PROD": np.prod, "MAX": np.max, "MIN": np.min, "AVG": np.mean}


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(("mask", "axes"), [(0b010, (1,)), (0b101, (0, 2)), (0b111, (0, 1, 2))])
@pytest.mark.parametrize("name", REDUCE)
def test_reduce(net: Any, rng: Any, name: str, mask: int, axes: Any, keep: bool, dtype: Any) -> None:
    x = net.input((-1, 3, 2), dtype)
    out = net.network.add_reduce(x, getattr(net.trt.ReduceOperation, name), mask, keep).get_output(0)
    half = dtype == np.float16
    net.check(
        out,
        lambda x: REDUCE[name](x.astype(np.float64), axis=axes, keepdims=keep),
        *[(rng.uniform(0.5, 1.5, (n, 3, 2)).astype(dtype),) for n in (1, 3)],
        rtol=2e-3 if half else 1e-5,
    )


def test_the_average_of_every_channel_is_summed_alike(net: Any, rng: Any) -> None:
    """Channels that are equal have equal averages, to the last bit: a softmax of large ones is even."""
    x = net.input((-1, 1000, 13, 13), np.float32)
    average = net.network.add_reduce(x, net.trt.ReduceOperation.AVG, 0b1100, True).get_output(0)
    layer = net.network.add_softmax(average)
    layer.axes = 0b10
    one = (rng.uniform(1, 5, (1, 1, 13, 13)) * 1e9).astype(np.float32)
    net.check(
        layer.get_output(0), lambda x: np.full((1, 1000, 1, 1), 1e-3, np.float32), (np.repeat(one, 1000, 1),), rtol=1e-5
    )


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_averages_over_all_but_channels(net: Any, rng: Any, rank: int) -> None:
    x = net.input((-1, 2, 3, 4, 2)[:rank], np.float32)
    mask = sum(1 << axis for axis in range(2, rank))
    outs = [net.network.add_reduce(x, net.trt.ReduceOperation.AVG, mask, keep).get_output(0) for keep in (True, False)]
    axes = tuple(range(2, rank))
    net.check(
        outs,
        lambda x: tuple(x.astype(np.float64).mean(axes, keepdims=keep) for keep in (True, False)),
        (rng.standard_normal((2, 2, 3, 4, 2)[:rank]).astype(np.float32),),
        rtol=1e-5,
    )


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_reduce_integers(net: Any, dtype: Any) -> None:
    x = net.input((2, 3), dtype)
    outs = [net.network.add_reduce(x, getattr(net.trt.ReduceOperation, n), 2, False).get_output(0) for n in REDUCE]
    # -7 / 3 toward zero
    net.check(
        outs,
        lambda x: tuple(np.array(e) for e in ([6, -7], [-12, 16], [4, 1], [-1, -4], [2, -2])),
        (np.array([[3, -1, 4], [-4, -4, 1]], dtype),),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative(net: Any, exclusive: bool, reverse: bool, dtype: Any) -> None:
    x = net.input((2, 4), dtype)
    axis = net.network.add_constant((), np.array(1, np.int32)).get_output(0)
    out = net.network.add_cumulative(x, axis, net.trt.CumulativeOperation.SUM, exclusive, reverse).get_output(0)
    expected = {
        (False, False): [[1, 3, 6, 10], [5, 4, 4, 6]],
        (True, False): [[0, 1, 3, 6], [0, 5, 4, 4]],
        (False, True): [[10, 9, 7, 4], [6, 1, 2, 2]],
        (True, True): [[9, 7, 4, 0], [1, 2, 2, 0]],
    }[exclusive, reverse]
    net.check(out, lambda x: np.array(expected, dtype), (np.array([[1, 2, 3, 4], [5, -1, 0, 2]], dtype),))


def exponents(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax(net: Any, rng: Any, axis: int, dtype: Any) -> None:
    layer = net.network.add_softmax(net.input((2, 3, 4), dtype))
    layer.axes = 1 << axis
    data = rng.normal(0, 3, (2, 3, 4)).astype(dtype)
    net.check(layer.get_output(0), lambda x: exponents(x, axis), (data,), rtol=2e-3 if dtype == np.float16 else 1e-5)


def test_softmax_has_a_default_axis(net: Any, rng: Any) -> None:
    layer = net.network.add_softmax(net.input((2, 3, 4, 5)))
    net.check(layer.get_output(0), lambda x: exponents(x, 1), (rng.normal(size=(2, 3, 4, 5)).astype(np.float32),))


def test_ragged_softmax(net: Any, rng: Any) -> None:
    x, bounds = net.input((1, 3, 4)), net.input((1, 3, 1), np.int32)
    layer = net.network.add_ragged_softmax(x, bounds)

    def expected(x: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        out = np.zeros(x.shape)
        for z, n in enumerate(bounds[0, :, 0]):
            if n:
                out[0, z, :n] = exponents(x[0, z, :n], 0)
        return out

    case = (rng.normal(size=(1, 3, 4)).astype(np.float32), np.array([[[4], [2], [0]]], np.int32))
    net.check(layer.get_output(0), expected, case)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("mode", "axis", "shape"),
    [("UNIFORM", 1, (1,)), ("CHANNEL", 1, (3, 1)), ("CHANNEL", 2, (2,)), ("ELEMENTWISE", 1, (3, 2))],
)
def test_scale(net: Any, rng: Any, mode: str, axis: int, shape: Any, dtype: Any) -> None:
    x = net.input((2, 3, 2), dtype)
    shift, scale, power = (rng.uniform(0.5, 2, shape).astype(dtype) for _ in range(3))
    layer = net.network.add_scale_nd(x, getattr(net.trt.ScaleMode, mode), shift, scale, power, axis)
    wide = [a.astype(np.float64) for a in (scale, shift, power)]
    net.check(
        layer.get_output(0),
        lambda x: (x.astype(np.float64) * wide[0] + wide[1]) ** wide[2],
        (rng.uniform(0, 2, (2, 3, 2)).astype(dtype),),
        rtol=4e-3 if dtype == np.float16 else 1e-5,
    )


def test_scale_without_shift_and_power(net: Any) -> None:
    empty = net.trt.Weights(net.trt.float32)
    layer = net.network.add_scale(net.input((1, 2, 2, 1)), net.trt.ScaleMode.CHANNEL, empty, np.float32([2, -3]), empty)
    data = np.array([[[[1], [2]], [[3], [4]]]], np.float32)
    net.check(layer.get_output(0), lambda x: np.array([[[[2], [4]], [[-9], [-12]]]], np.float32), (data,))


def normalized(x: np.ndarray, axes: Any, epsilon: float) -> np.ndarray:
    x = x.astype(np.float64)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("mask", "axes", "shape"), [(0b1000, (3,), (1, 1, 1, 5)), (0b1100, (2, 3), (1, 4, 1, 1))])
def test_normalization(net: Any, rng: Any, mask: int, axes: Any, shape: Any, dtype: Any) -> None:
    x, s, b = net.input((2, 4, 3, 5), dtype), net.input(shape, dtype), net.input(shape, dtype)
    layer = net.network.add_normalization(x, s, b, mask)
    layer.epsilon = 0.01
    half = dtype == np.float16
    net.check(
        layer.get_output(0),
        lambda x, s, b: normalized(x, axes, 0.01) * s + b,
        tuple(rng.normal(1, 2, n).astype(dtype) for n in ((2, 4, 3, 5), shape, shape)),
        rtol=4e-3 if half else 1e-4,
        atol=1e-2 if half else 1e-5,
    )


@pytest.mark.parametrize("second", [False, True])
def test_group_normalization(net: Any, rng: Any, second: bool) -> None:
    """Scale and bias are per group in the first version and per channel in the second."""
    x = net.input((-1, 6, 2, 3))
    count = 6 if second else 2
    s, b = net.input((1, count, 1, 1)), net.input((1, count, 1, 1))
    add = net.network.add_normalization_v2 if second else net.network.add_normalization
    layer = add(x, s, b, 0b1100)
    layer.num_groups = 2

    def expected(x: np.ndarray, s: np.ndarray, b: np.ndarray) -> np.ndarray:
        out = normalized(x.reshape(-1, 2, 18), 2, 1e-5).reshape(x.shape)
        s, b = (np.repeat(a, 6 // count, 1) for a in (s, b))
        return out * s + b

    sizes = [((n, 6, 2, 3), (1, count, 1, 1), (1, count, 1, 1)) for n in (1, 3)]
    cases = [tuple(rng.normal(1, 2, s).astype(np.float32) for s in row) for row in sizes]
    net.check(layer.get_output(0), expected, *cases, rtol=1e-4, atol=1e-5)


def test_local_response(net: Any, rng: Any) -> None:
    layer = net.network.add_lrn(net.input((1, 5, 2, 2)), 3, 0.3, 0.75, 2.0)

    def expected(x: np.ndarray) -> np.ndarray:
        sums = [np.sum(x[:, max(0, c - 1) : c + 2].astype(np.float64) ** 2, 1) for c in range(5)]
        return x / (2 + 0.3 / 3 * np.stack(sums, 1)) ** 0.75

    net.check(layer.get_output(0), expected, (rng.normal(0, 3, (1, 5, 2, 2)).astype(np.float32),))
