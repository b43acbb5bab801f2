"""std.conv: what goes into the weights, the bias and the padding of a convolution, and what must not."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_harness import Rewritten, rewritten


def tensor(*shape: int, seed: int = 0, low: float | None = None) -> np.ndarray:
    made = np.random.default_rng([*shape, seed]).standard_normal(shape)
    return (made if low is None else np.abs(made) + low).astype(np.float32)


NORM = {
    "gamma": tensor(6),
    "beta": tensor(6, seed=1),
    "mean": tensor(6, seed=2),
    "var": tensor(6, seed=3, low=0.1),
}
WEIGHTS = {
    "w": tensor(6, 4, 3, 3),
    "b": tensor(6, seed=4),
    "grouped": tensor(6, 2, 3, 3),
    "turned": tensor(4, 3, 2, 2),
    "s": tensor(6, 1, 1),
    "t": tensor(1, 6, 1, 1, seed=5),
    "one": tensor(1, seed=6),
    "before": tensor(4, 1, 1, seed=7),
    "nothing": np.zeros(1, np.float32),
    "gamma4": tensor(4),
    "var4": tensor(4, seed=3, low=0.1),
    "zero": np.array(0.0, np.float32),
    "minus": np.array(-np.inf, np.float32),
    "p": np.array([0, 0, 1, 1, 0, 0, 1, 2], np.int64),
    "some": np.array([1, 2, 0, 1], np.int64),
    "axes": np.array([2, -1], np.int64),
    "channels": np.array([0, 1, 1, 1, 0, 0, 1, 1], np.int64),
    **NORM,
}


def conv(body: str, channels: int = 6, x: str = "[2, 4, 8, 6]") -> Rewritten:
    """x => y after std.conv, three times over."""
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    weights = {name: value for name, value in WEIGHTS.items() if name in words}
    graph = f"g (float{x} x) => (float[A, {channels}, H, W] y) {{ {body} }}"
    return rewritten("std.conv", graph, weights=weights, times=3)


NORMALIZED = "y = BatchNormalization<momentum = 0.99, epsilon = 0.001>(c, gamma, beta, mean, var)"


@pytest.mark.parametrize(
    ("body", "operators"),
    [
        (f"c = Conv<pads = [1, 1, 1, 1]>(x, w, b) {NORMALIZED}", "Conv"),
        (f"c = Conv<strides = [2, 1]>(x, w) {NORMALIZED}", "Conv"),
        (f"c = Conv<group = 2>(x, grouped, b) {NORMALIZED}", "Conv"),
        (f"c = ConvTranspose<group = 2>(x, turned) {NORMALIZED}", "ConvTranspose"),
        (f"c = ConvTranspose<group = 2, strides = [2, 2]>(x, turned, b) {NORMALIZED}", "ConvTranspose"),
        ("c = Conv(x, w, b) y = Mul(s, c)", "Conv"),
        ("c = Conv(x, w) a = Div(c, s) y = Mul(a, one)", "Conv"),
        ("c = Conv<group = 2>(x, grouped) y = Add(t, c)", "Conv"),
        ("c = Conv(x, w, b) a = Sub(c, t) y = Add(a, one)", "Conv"),
        ("c = Conv(x, w, b) y = Sub(t, c)", "Conv"),
        ("c = ConvTranspose<group = 2>(x, turned, b) a = Mul(c, s) d = Sub(a, t) y = Div(d, one)", "ConvTranspose"),
        ("a = Mul(x, before) c = Div(a, one) y = Conv<pads = [1, 1, 1, 1]>(c, w)", "Conv"),
        ("a = Mul(x, before) y = Conv<group = 2>(a, grouped, b)", "Conv"),
        ("a = Mul(x, before) c = Sub(a, one) y = Conv<group = 2>(c, grouped)", "Conv"),
        ("a = Add(before, x) y = Conv<strides = [2, 2]>(a, w, b)", "Conv"),
        ("a = Mul(x, before) y = ConvTranspose<group = 2>(a, turned)", "ConvTranspose"),
        ("a = BatchNormalization(x, gamma4, gamma4, gamma4, var4) y = Conv(a, w, b)", "Conv"),
    ],
)
def test_goes_into_weights_and_bias(body: str, operators: str) -> None:
    found = conv(body)
    assert found.operators == operators, found.declined
    found.same(rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("body", "operators"),
    [
        # A shift would reach the padding, which is zeros.
        ("a = Add(x, before) y = Conv<pads = [1, 1, 1, 1]>(a, w)", "Add Conv"),
        ("a = BatchNormalization(x, gamma4, gamma4, gamma4, var4) y = Conv<pads = [0, 1, 0, 0]>(a, w)", None),
        ("a = Add(x, before) y = ConvTranspose<group = 2>(a, turned)", "Add ConvTranspose"),
        # Another user of what would go.
        ("c = Conv(x, w) a = Mul(c, s) y = Add(a, c)", "Conv Mul Add"),
        # Not by channel.
        ("c = Conv(x, w) k = ReduceMean<keepdims = 1>(c) y = Mul(c, k)", "Conv ReduceMean Mul"),
        # An infinite weight times an activation of zero is no number.
        ("c = Conv(x, w) y = Div(c, nothing)", "Conv Div"),
    ],
)
def test_what_is_not_exact_stays(body: str, operators: str | None) -> None:
    found = conv(body)
    assert found.operators == (operators or "BatchNormalization Conv")


def test_a_scale_that_widens_its_input_stays() -> None:
    found = conv("a = Mul(x, before) y = Conv(a, w)", x="[2, 1, 8, 6]")
    assert found.operators == "Mul Conv"


def test_a_weight_of_two_layers_is_changed_for_one() -> None:
    found = conv("c = Conv(x, w) d = Mul(c, s) e = Conv(x, w) y = Add(d, e)")
    assert found.operators == "Conv Conv Add"
    found.same(rtol=1e-4, atol=1e-4)


def test_mixed_dtypes_keep_that_of_the_layer() -> None:
    weights = {**NORM, "w": WEIGHTS["w"].astype(np.float16)}
    body = "c = Conv(x, w) y = BatchNormalization(c, gamma, beta, mean, var)"
    graph = f"g (float16[2, 4, 8, 6] x) => (float16[2, 6, 6, 4] y) {{ {body} }}"
    found = rewritten("std.conv", graph, weights=weights)
    assert found.operators == "Conv"
    assert {i.dtype.name for i in found.module.graph.initializers.values() if i.uses()} == {"FLOAT16"}


@pytest.mark.parametrize(
    ("body", "operators"),
    [
        ("c = Gemm<transB = 1, alpha = 0.5, beta = 2.0>(x, rows, b)", "Gemm"),
        ("c = Gemm(x, columns)", "Gemm"),
        ("c = MatMul(x, columns)", "MatMul Add"),
        ("d = MatMul(x, columns) c = Add(b, d)", "MatMul Add"),
    ],
)
def test_batch_norm_behind_a_product(body: str, operators: str) -> None:
    every = {"rows": tensor(6, 8), "columns": tensor(8, 6), "b": tensor(6, seed=4)}
    weights = {**NORM, **{n: v for n, v in every.items() if n in body.replace(")", " ").replace(",", " ")}}
    graph = f"g (float[N, 8] x) => (float[N, 6] y) {{ {body} {NORMALIZED} }}"
    found = rewritten("std.conv", graph, weights=weights)
    assert found.operators == operators, found.declined
    found.same(rtol=1e-4, atol=1e-4, N=3)


@pytest.mark.parametrize(
    ("body", "channels", "line"),
    [
        ("a = Pad(x, p) y = Conv<pads = [1, 0, 0, 0]>(a, w)", 6, "pads=[2, 1, 1, 2]"),
        ("a = Pad(x, p, zero) y = Conv(a, w)", 6, "pads=[1, 1, 1, 2]"),
        ("a = Pad(x, some, , axes) y = Conv(a, w)", 6, "pads=[1, 2, 0, 1]"),
        ("a = Pad(x, p) y = AveragePool<kernel_shape = [3, 3]>(a)", 4, "count_include_pad=1"),
        ("a = Pad(x, p, minus) y = MaxPool<kernel_shape = [3, 3]>(a)", 4, "pads=[1, 1, 1, 2]"),
        ("r = Relu(x) a = Pad(r, p) y = MaxPool<kernel_shape = [3, 3]>(a)", 4, "pads=[1, 1, 1, 2]"),
    ],
)
def test_padding_goes_into_windows(body: str, channels: int, line: str) -> None:
    found = conv(body, channels)
    assert "Pad" not in found.operators.split(), found.declined
    assert line in found.lines[-1]
    found.same(rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("body", "channels"),
    [
        ("a = Pad(x, p, one) y = Conv(a, w)", 6),
        ('a = Pad<mode = "reflect">(x, p) y = Conv(a, w)', 6),
        ("a = Pad(x, channels) s1 = AveragePool<kernel_shape = [3, 3]>(a) y = Relu(s1)", 6),
        # Padding of its own that is not counted.
        ("a = Pad(x, p) y = AveragePool<kernel_shape = [3, 3], pads = [1, 0, 0, 0]>(a)", 4),
        # A window of nothing but padding.
        ("a = Pad(x, p) y = AveragePool<kernel_shape = [2, 2]>(a)", 4),
        # Zeros are larger than what is negative.
        ("a = Pad(x, p) y = MaxPool<kernel_shape = [3, 3]>(a)", 4),
    ],
)
def test_padding_that_differs_stays(body: str, channels: int) -> None:
    found = conv(body, channels)
    assert "Pad" in found.operators.split()


def test_scales_and_shifts_in_a_row() -> None:
    found = conv("a = Div(x, before) c = Mul(a, one) d = Add(c, one) y = Sub(d, before)", 4)
    assert found.operators == "Mul Add"
    found.same(rtol=1e-4, atol=1e-4)
