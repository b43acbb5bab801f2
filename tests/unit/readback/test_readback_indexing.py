"""Gather, scatter, one-hot, non-zero, top-k, non-maximum suppression, cache updates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.bool_])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_along_an_axis(net: Any, axis: int, dtype: Any) -> None:
    x, index = net.input((2, 3, 4), dtype), net.input((2, 2), np.int32)
    out = net.network.add_gather(x, index, axis).get_output(0)
    data = (np.arange(24).reshape(2, 3, 4) % 5).astype(dtype)
    net.check(out, lambda x, i: np.take(x, i, axis), (data, np.array([[0, 1], [-1, 0]], np.int32)))


def test_gather_with_one_number_drops_the_axis(net: Any) -> None:
    x, index = net.input((-1, 3)), net.input((), np.int64)
    out = net.network.add_gather(x, index, 1).get_output(0)
    net.check(out, lambda x, i: x[:, i], (np.arange(6, dtype=np.float32).reshape(2, 3), np.array(2)))


@pytest.mark.parametrize(("axis", "batches"), [(1, (3, 3)), (2, (3, 3)), (2, (3, 1)), (1, (1, 3))])
def test_gather_with_an_elementwise_batch(net: Any, axis: int, batches: tuple[int, int]) -> None:
    x, index = net.input((batches[0], 4, 5)), net.input((batches[1], 2, 2), np.int32)
    layer = net.network.add_gather(x, index, axis)
    layer.num_elementwise_dims = 1

    def expected(x: np.ndarray, index: np.ndarray) -> np.ndarray:
        rows = range(max(batches))
        return np.stack([np.take(x[b % batches[0]], index[b % batches[1]], axis - 1) for b in rows])

    data = np.arange(batches[0] * 20, dtype=np.float32).reshape(batches[0], 4, 5)
    net.check(layer.get_output(0), expected, (data, np.arange(batches[1] * 4).reshape(-1, 2, 2).astype(np.int32) % 4))


def test_gather_elements(net: Any) -> None:
    x, index = net.input((3, 4)), net.input((2, 4), np.int64)
    layer = net.network.add_gather_v2(x, index, net.trt.GatherMode.ELEMENT)
    layer.axis = 0
    data, at = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([[0, 1, 2, 0], [2, 2, 1, 0]])
    expected = [[0, 5, 10, 3], [8, 9, 6, 3]]
    net.check(layer.get_output(0), lambda x, i: np.array(expected, np.float32), (data, at))


@pytest.mark.parametrize("batch", [0, 1])
def test_gather_nd(net: Any, batch: int) -> None:
    x, index = net.input((2, 3, 4), np.int32), net.input((2, 2, 2), np.int32)
    layer = net.network.add_gather_v2(x, index, net.trt.GatherMode.ND)
    layer.num_elementwise_dims = batch
    at = np.array([[[0, 1], [1, 2]], [[1, 0], [0, 2]]], np.int32)

    def expected(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        if batch:
            return np.array([[x[b][tuple(i[b, k])] for k in range(2)] for b in range(2)])
        return np.array([[x[tuple(i[b, k])] for k in range(2)] for b in range(2)])

    net.check(layer.get_output(0), expected, (np.arange(24, dtype=np.int32).reshape(2, 3, 4), at))


def test_scatter(net: Any) -> None:
    x = net.input((3, 4))
    index, updates = net.input((2, 2), np.int32), net.input((2, 2))
    element = net.network.add_scatter(x, index, updates, net.trt.ScatterMode.ELEMENT)
    element.axis = 1
    points = net.input((2, 2), np.int64)
    nd = net.network.add_scatter(x, points, net.input((2,)), net.trt.ScatterMode.ND)

    def expected(x: np.ndarray, i: np.ndarray, u: np.ndarray, p: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        a, b = x.copy(), x.copy()
        a[0, 3], a[0, 0], a[1, 1], a[1, 2] = 10, 11, 12, 13
        b[2, 1], b[0, 3] = 20, 21
        return a, b

    case = (
        np.zeros((3, 4), np.float32),
        np.array([[3, 0], [1, 2]], np.int32),
        np.array([[10, 11], [12, 13]], np.float32),
        np.array([[2, 1], [0, 3]]),
        np.array([20, 21], np.float32),
    )
    net.check([element.get_output(0), nd.get_output(0)], expected, case)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64, np.bool_])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot(net: Any, axis: int, dtype: Any) -> None:
    index, values = net.input((2, 2), np.int32), net.input((2,), dtype)
    depth = net.constant(3, np.int32)
    out = net.network.add_one_hot(index, values, depth, axis).get_output(0)

    def expected(i: np.ndarray, v: np.ndarray) -> np.ndarray:
        hot = np.where(i[..., None] == np.arange(3), v[1], v[0])
        return np.moveaxis(hot, -1, axis)

    net.check(out, expected, (np.array([[0, 2], [1, 7]], np.int32), np.array([0, 5]).astype(dtype)))


def test_non_zero(net: Any) -> None:
    x = net.input((2, 3))
    out = net.network.add_non_zero(x).get_output(0)
    net.check(
        out,
        lambda x: np.array([[0, 0, 1], [0, 2, 1]], np.int32),
        (np.array([[1, 0, -2], [0, 3, 0]], np.float32),),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
@pytest.mark.parametrize("op", ["MAX", "MIN"])
@pytest.mark.parametrize("axis", [0, 1])
def test_top_k(net: Any, rng: Any, op: str, axis: int, dtype: Any) -> None:
    x = net.input((4, 5), dtype)
    layer = net.network.add_topk(x, getattr(net.trt.TopKOperation, op), 3, 1 << axis)
    data = rng.permutation(20).reshape(4, 5).astype(dtype)

    def expected(x: np.ndarray) -> tuple[np.ndarray, ...]:
        order = np.argsort(-x if op == "MAX" else x, axis, kind="stable").take(range(3), axis)
        return np.take_along_axis(x, order, axis), order.astype(np.int32)

    net.check([layer.get_output(0), layer.get_output(1)], expected, (data,))


def test_top_k_with_k_at_run_time(net: Any) -> None:
    x, k = net.input((2, 5)), net.input((), np.int32)
    layer = net.network.add_topk(x, net.trt.TopKOperation.MAX, 1, 2)
    layer.set_input(1, k)
    data = np.array([[3, 1, 4, 1.5, 9], [2, 6, 5, 3.5, 8]], np.float32)
    net.check(
        layer.get_output(0), lambda x, k: -np.sort(-x, 1)[:, :k], *[(data, np.array(n, np.int32)) for n in (1, 4)]
    )


def test_boxes_come_by_batch_and_then_by_score(net: Any) -> None:
    boxes, scores = net.input((1, 4, 4)), net.input((1, 4, 2))
    layer = net.network.add_nms(boxes, scores, net.constant(2, np.int32))
    layer.set_input(3, net.constant(0.5, np.float32))
    layer.set_input(4, net.constant(0.2, np.float32))
    layer.bounding_box_format = net.trt.BoundingBoxFormat.CORNER_PAIRS
    net.out(layer.get_output(0))
    # Box 1 overlaps box 0 by 0.9; box 3 has no score above the threshold in class 0.
    corners = np.array([[[0, 0, 1, 1], [0, 0, 0.9, 1], [2, 2, 3, 3], [4, 4, 5, 5]]], np.float32)
    points = np.array([[[0.9, 0.3], [0.8, 0.1], [0.7, 0.95], [0.1, 0.5]]], np.float32)
    (rows,) = net.run(net.read(), corners, points)
    assert rows.tolist() == [[0, 1, 2], [0, 0, 0], [0, 0, 2], [0, 1, 3]]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_cache_update(net: Any, dtype: Any) -> None:
    cache, update = net.input((2, 3, 5, 4), dtype), net.input((2, 3, 2, 4), dtype)
    at = net.input((2,), np.int32)
    layer = net.network.add_kv_cache_update(cache, update, at, net.trt.KVCacheMode.LINEAR)

    def expected(cache: np.ndarray, update: np.ndarray, at: np.ndarray) -> np.ndarray:
        out = cache.copy()
        out[0, :, 1:3] = update[0]
        out[1, :, 4:5] = update[1, :, :1]  # the second row would be outside
        return out

    case = (
        np.zeros((2, 3, 5, 4), dtype),
        np.arange(1, 49).reshape(2, 3, 2, 4).astype(dtype),
        np.array([1, 4], np.int32),
    )
    net.check(layer.get_output(0), expected, case)
