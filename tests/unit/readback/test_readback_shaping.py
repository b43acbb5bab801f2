"""Constant, shape, shuffle, squeeze, concatenation, padding, reversed sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64, np.bool_])
def test_constants_and_their_concatenation(net: Any, dtype: Any) -> None:
    x = net.input((1, 3), dtype)
    c = net.constant([[1, 0, 3], [4, 5, 0]], dtype)
    layer = net.network.add_concatenation([c, x])
    layer.axis = 0
    data = np.array([[0, 1, 1]], dtype)
    net.check(layer.get_output(0), lambda x: np.array([[1, 0, 3], [4, 5, 0], [0, 1, 1]]).astype(dtype), (data,))


def test_constants_of_rank_zero_and_without_elements(net: Any) -> None:
    x = net.input((2, 3))
    scalar = net.network.add_constant((), np.array(2.5, np.float32)).get_output(0)
    empty = net.network.add_constant((0, 3), net.trt.Weights(net.trt.float32)).get_output(0)
    layer = net.network.add_concatenation([empty, x])
    layer.axis = 0
    net.check([scalar, layer.get_output(0)], lambda x: (np.float32(2.5), x), (np.ones((2, 3), np.float32),))


def test_concatenation_along_another_axis_with_a_dynamic_one(net: Any, rng: Any) -> None:
    x, y = net.input((-1, 2)), net.input((-1, 3))
    layer = net.network.add_concatenation([x, y])
    layer.axis = 1
    cases = [tuple(rng.normal(size=(n, k)).astype(np.float32) for k in (2, 3)) for n in (1, 4)]
    net.check(layer.get_output(0), lambda x, y: np.hstack([x, y]), *cases)


def test_shape(net: Any) -> None:
    x, s = net.input((-1, 3, 5)), net.input(())
    outs = [net.network.add_shape(t).get_output(0) for t in (x, s)]
    zero = np.array(0, np.float32)
    net.check(
        outs,
        lambda x, s: (np.array(x.shape), np.zeros(0, np.int64)),
        *[(np.zeros((n, 3, 5), np.float32), zero) for n in (1, 7)],
    )


SHUFFLES: list[tuple[dict[str, Any], Any]] = [
    ({"first_transpose": (2, 0, 1)}, lambda x: x.transpose(2, 0, 1)),
    ({"second_transpose": (1, 2, 0)}, lambda x: x.transpose(1, 2, 0)),
    ({"reshape_dims": (4, 6)}, lambda x: x.reshape(4, 6)),
    ({"reshape_dims": (0, -1)}, lambda x: x.reshape(2, 12)),
    # A placeholder copies a length of the tensor after the first transpose: (4, 2, 3).
    ({"first_transpose": (2, 0, 1), "reshape_dims": (0, 0, -1)}, lambda x: x.transpose(2, 0, 1)),
    ({"first_transpose": (2, 0, 1), "reshape_dims": (0, -1)}, lambda x: x.transpose(2, 0, 1).reshape(4, 6)),
    (
        {"first_transpose": (1, 0, 2), "reshape_dims": (6, 4), "second_transpose": (1, 0)},
        lambda x: x.transpose(1, 0, 2).reshape(6, 4).T,
    ),
    ({"reshape_dims": (-1,)}, lambda x: x.reshape(-1)),
]


@pytest.mark.parametrize("case", range(len(SHUFFLES)))
def test_shuffle(net: Any, case: int) -> None:
    properties, expected = SHUFFLES[case]
    layer = net.network.add_shuffle(net.input((2, 3, 4)))
    for name, value in properties.items():
        setattr(layer, name, value)
    net.check(layer.get_output(0), expected, (np.arange(24, dtype=np.float32).reshape(2, 3, 4),))


def test_shuffle_of_a_dynamic_tensor(net: Any) -> None:
    layer = net.network.add_shuffle(net.input((-1, 3, 4), np.int32))
    layer.first_transpose, layer.reshape_dims, layer.second_transpose = (1, 0, 2), (0, -1), (1, 0)
    net.check(
        layer.get_output(0),
        lambda x: x.transpose(1, 0, 2).reshape(3, -1).T,
        *[(np.arange(n * 12, dtype=np.int32).reshape(n, 3, 4),) for n in (1, 2, 5)],
    )


def test_shuffle_to_a_shape_made_at_run_time(net: Any) -> None:
    x = net.input((-1, 3, 4))
    shape = net.network.add_shape(x).get_output(0)
    first = net.network.add_slice(shape, (0,), (1,), (1,)).get_output(0)
    layer = net.network.add_concatenation([first, net.constant([-1], np.int64)])
    layer.axis = 0
    shuffle = net.network.add_shuffle(x)
    shuffle.set_input(1, layer.get_output(0))
    net.check(
        shuffle.get_output(0),
        lambda x: x.reshape(x.shape[0], 12),
        *[(np.arange(n * 12, dtype=np.float32).reshape(n, 3, 4),) for n in (1, 3)],
    )


def test_shuffle_where_zero_is_a_length(net: Any) -> None:
    layer = net.network.add_shuffle(net.input((0, 3)))
    layer.zero_is_placeholder = False
    layer.reshape_dims = (5, 0)
    net.check(layer.get_output(0), lambda x: np.zeros((5, 0), np.float32), (np.zeros((0, 3), np.float32),))


def test_squeeze_and_unsqueeze(net: Any) -> None:
    x = net.input((1, 3, 1, 2))
    network = net.network
    outs = [
        network.add_squeeze(x, net.constant([0, -2], np.int64)).get_output(0),
        network.add_squeeze(x, net.constant([2], np.int32)).get_output(0),
        network.add_unsqueeze(x, net.constant([0, 3], np.int64)).get_output(0),
        network.add_unsqueeze(x, net.constant([-1], np.int64)).get_output(0),
    ]
    net.check(
        outs,
        lambda x: (x[0, :, 0], x[:, :, 0], x[None, :, :, None], x[..., None]),
        (np.arange(6, dtype=np.float32).reshape(1, 3, 1, 2),),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_padding_pads_with_zeros_and_crops(net: Any, dtype: Any) -> None:
    out = net.network.add_padding_nd(net.input((1, 2, 3, 4), dtype), (1, -1), (0, 2)).get_output(0)

    def expected(x: np.ndarray) -> np.ndarray:
        return np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)))[..., 1:]

    net.check(out, expected, (np.arange(24).reshape(1, 2, 3, 4).astype(dtype),))


@pytest.mark.parametrize(("batch", "time"), [(0, 1), (1, 0), (2, 0), (1, 2)])
def test_reverse_sequence(net: Any, batch: int, time: int) -> None:
    x = net.input((3, 4, 5))
    count = (3, 4, 5)[batch]
    lengths = np.array([1, 3, 2, 0, 3][:count], np.int32)
    layer = net.network.add_reverse_sequence(x, net.input((count,), np.int32))
    layer.batch_axis, layer.sequence_axis = batch, time

    def expected(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        out = x.copy()
        for b, n in enumerate(lengths):
            for t in range(n):
                to, of = [slice(None)] * 3, [slice(None)] * 3
                to[batch] = of[batch] = b
                to[time], of[time] = t, n - 1 - t
                out[tuple(to)] = x[tuple(of)]
        return out

    net.check(layer.get_output(0), expected, (np.arange(60, dtype=np.float32).reshape(3, 4, 5), lengths))
