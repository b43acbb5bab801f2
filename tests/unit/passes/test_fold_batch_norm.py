"""fold_batch_norm: scales and shifts of channels go into the weights beside them."""

from __future__ import annotations

import numpy as np
import pytest
from pass_harness import assert_same, load, messages, model, run, saved, values

from trtc import ir
from trtc.ir import Module
from trtc_passes import FoldBatchNorm

_RNG = np.random.default_rng(3)


def _norm(channels: int, prefix: str = "", dtype: type = np.float32) -> dict[str, np.ndarray]:
    return {
        f"{prefix}s": _RNG.uniform(0.5, 2, channels).astype(dtype),
        f"{prefix}b": _RNG.normal(size=channels).astype(dtype),
        f"{prefix}m": _RNG.normal(size=channels).astype(dtype),
        f"{prefix}v": _RNG.uniform(0.5, 2, channels).astype(dtype),
    }


def _weight(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _RNG.normal(size=shape).astype(dtype)


def _ops(module: Module) -> list[str]:
    return [node.op_type for node in module.graph]


def _folds(text: str, weights: dict[str, np.ndarray], ops: list[str]) -> Module:
    """The nodes that are left, equal values at two batch sizes, and nothing to do the second time."""
    proto = model(text, weights)
    module = load(proto)
    run(module, FoldBatchNorm())
    assert _ops(module) == ops
    for batch in (1, 3):
        assert_same(proto, module, rtol=1e-4, atol=1e-5, N=batch)
    assert not run(module, FoldBatchNorm())[0].changed
    return module


def _declined(text: str, weights: dict[str, np.ndarray]) -> list[tuple[str | None, str]]:
    module = load(model(text, weights))
    before = _ops(module)
    result, context = run(module, FoldBatchNorm())
    assert not result.changed
    assert _ops(module) == before
    return messages(context, "declined")


@pytest.mark.parametrize("bias", ["", ", c"])
def test_conv(bias: str) -> None:
    text = f"""g (float[N,3,6,6] x) => (float[N,4,4,4] y)
    {{ h = Conv(x, w{bias})  n = BatchNormalization <epsilon = 0.01> (h, s, b, m, v)  y = Relu(n) }}"""
    weights = {"w": _weight(4, 3, 3, 3), **_norm(4), **({"c": _weight(4)} if bias else {})}
    module = _folds(text, weights, ["Conv", "Relu"])
    conv = module.graph[0]
    assert ir.origins(conv) == ("Conv_0", "BatchNormalization_0")
    assert ir.rule(conv) == "fold_batch_norm"
    scale = weights["s"] / np.sqrt(weights["v"].astype(np.float64) + np.float32(0.01))
    expected = (weights["w"] * scale.reshape(4, 1, 1, 1)).astype(np.float32)
    np.testing.assert_array_equal(module.constant(conv.inputs[1]), expected)


def test_conv_transpose_scales_the_output_channels_of_each_group() -> None:
    # Input and output channels are equal in number, so that scaling the wrong axis would pass every shape check.
    text = """g (float[N,4,5,5] x) => (float[N,4,7,7] y)
    { h = ConvTranspose <group = 2> (x, w)  y = BatchNormalization(h, s, b, m, v) }"""
    _folds(text, {"w": _weight(4, 2, 3, 3), **_norm(4)}, ["ConvTranspose"])


def test_depthwise_conv() -> None:
    text = """g (float[N,4,5,5] x) => (float[N,4,3,3] y)
    { h = Conv <group = 4> (x, w)  y = BatchNormalization(h, s, b, m, v) }"""
    _folds(text, {"w": _weight(4, 1, 3, 3), **_norm(4)}, ["Conv"])


@pytest.mark.parametrize("attributes", ["", "<transB = 1>", "<alpha = 0.5, beta = 2.0>"])
@pytest.mark.parametrize("bias", [None, (4,), (1, 4), ()])
def test_gemm(attributes: str, bias: tuple[int, ...] | None) -> None:
    text = f"""g (float[N,3] x) => (float[N,4] y)
    {{ h = Gemm {attributes} (x, w{"" if bias is None else ", c"})  y = BatchNormalization(h, s, b, m, v) }}"""
    weights = {"w": _weight(4, 3) if "transB" in attributes else _weight(3, 4), **_norm(4)}
    if bias is not None:
        weights["c"] = _weight(*bias)
    _folds(text, weights, ["Gemm"])


def test_matmul_becomes_a_gemm_for_the_shift_and_stays_for_a_scale() -> None:
    text = "g (float[N,3] x) => (float[N,4] y) { h = MatMul(x, w)  y = BatchNormalization(h, s, b, m, v) }"
    _folds(text, {"w": _weight(3, 4), **_norm(4)}, ["Gemm"])
    text = "g (float[N,5,3] x) => (float[N,5,4] y) { h = MatMul(x, w)  y = Mul(h, f) }"
    _folds(text, {"w": _weight(3, 4), "f": _weight(4)}, ["MatMul"])


@pytest.mark.parametrize(
    "affine",
    ["Mul(h, f)", "Mul(f, h)", "Add(h, f)", "Sub(h, f)", "Sub(f, h)", "Div(h, f)"],
)
@pytest.mark.parametrize("shape", [(4, 1, 1), (1, 4, 1, 1), (1, 1, 1), ()])
def test_arithmetic_by_channel(affine: str, shape: tuple[int, ...]) -> None:
    text = f"g (float[N,3,4,4] x) => (float[N,4,2,2] y) {{ h = Conv(x, w, c)  y = {affine} }}"
    _folds(text, {"w": _weight(4, 3, 3, 3), "c": _weight(4), "f": np.abs(_weight(*shape)) + np.float32(1)}, ["Conv"])


@pytest.mark.parametrize(
    ("affine", "shape"),
    [
        ("Mul(h, f)", (4,)),  # along the width, which is as large as the channels
        ("Mul(h, f)", (1, 4, 4, 1)),
        ("Mul(h, f)", (1, 1, 4, 1, 1)),  # of a higher rank
        ("Div(f, h)", (4, 1, 1)),
        ("Mul(h, h)", (1,)),
    ],
)
def test_arithmetic_that_is_not_by_channel_stays(affine: str, shape: tuple[int, ...]) -> None:
    kind = "float[1,N,4,4,4]" if len(shape) == 5 else "float[N,4,4,4]"
    text = f"g (float[N,3,6,6] x) => ({kind} y) {{ h = Conv(x, w)  y = {affine} }}"
    _declined(text, {"w": _weight(4, 3, 3, 3), "f": _weight(*shape)})


def test_before_a_conv_without_padding() -> None:
    text = """g (float[N,4,5,5] x) => (float[N,6,3,3] y)
    { n = BatchNormalization(x, s, b, m, v)  h = Mul(n, f)  i = Add(h, t)  y = Conv <group = 2> (i, w) }"""
    weights = {"w": _weight(6, 2, 3, 3), **_norm(4), "f": _weight(4, 1, 1), "t": _weight(1, 4, 1, 1)}
    _folds(text, weights, ["Conv"])


def test_a_shift_before_padding_stays_and_a_scale_goes() -> None:
    text = """g (float[N,4,5,5] x) => (float[N,2,5,5] y)
    { n = BatchNormalization(x, s, b, m, v)  h = Mul(n, f)  y = Conv <pads = [1, 1, 1, 1]> (h, w) }"""
    weights = {"w": _weight(2, 4, 3, 3), **_norm(4), "f": _weight(4, 1, 1)}
    proto = model(text, weights)
    module = load(proto)
    _, context = run(module, FoldBatchNorm())
    assert _ops(module) == ["BatchNormalization", "Conv"]
    assert messages(context, "declined") == [
        ("BatchNormalization_0", "`Conv_0_1` pads with zeros, which the shift must not reach")
    ]
    assert_same(proto, module, rtol=1e-4, atol=1e-5)


def test_a_shared_weight_is_copied_for_each_layer() -> None:
    text = """g (float[N,3,4,4] x) => (float[N,4,2,2] y, float[N,4,2,2] z)
    {
        h = Conv(x, w)  y = BatchNormalization(h, s, b, m, v)
        i = Conv(x, w)  z = BatchNormalization(i, ps, pb, pm, pv)
    }"""
    module = _folds(text, {"w": _weight(4, 3, 3, 3), **_norm(4), **_norm(4, "p")}, ["Conv", "Conv"])
    assert module.graph[0].inputs[1] is not module.graph[1].inputs[1]


def test_a_second_user_in_a_subgraph_is_a_user() -> None:
    text = """g (float[N,3,4,4] x, bool q) => (float[N,4,2,2] y)
    {
        h = Conv(x, w)
        n = BatchNormalization(h, s, b, m, v)
        z = If (q) <
            then_branch = t () => (float[N,4,2,2] r) { r = Neg(h) },
            else_branch = e () => (float[N,4,2,2] o) { o = Abs(h) }
        >
        y = Add(n, z)
    }"""
    assert _declined(text, {"w": _weight(4, 3, 3, 3), **_norm(4)}) == [
        ("BatchNormalization_0", "the result of `Conv_0` has another user")
    ]


def test_a_result_that_is_an_output_stays() -> None:
    text = """g (float[N,3,4,4] x) => (float[N,4,2,2] y, float[N,4,2,2] h)
    { h = Conv(x, w)  y = BatchNormalization(h, s, b, m, v) }"""
    assert _declined(text, {"w": _weight(4, 3, 3, 3), **_norm(4)}) == [
        ("BatchNormalization_0", "the result of `Conv_0` has another user")
    ]


def test_weights_that_are_not_constant_and_norms_without_a_layer_stay() -> None:
    text = """g (float[N,3,4,4] x, float[4,3,3,3] w) => (float[N,4,2,2] y)
    { h = Conv(x, w)  y = BatchNormalization(h, s, b, m, v) }"""
    assert _declined(text, _norm(4)) == [("BatchNormalization_0", "the weight of `Conv_0` is not a constant")]
    text = "g (float[N,4,2,2] x) => (float[N,4,2,2] y) { h = Relu(x)  y = BatchNormalization(h, s, b, m, v) }"
    assert _declined(text, _norm(4)) == [
        ("BatchNormalization_0", "no Conv, ConvTranspose, Gemm or MatMul makes its input")
    ]


def test_dequantized_weights_stay() -> None:
    text = """g (float[N,3,4,4] x) => (float[N,4,2,2] y) <float ws = {0.1}, int8 z = {0}>
    { w = DequantizeLinear(q, ws, z)  h = Conv(x, w)  y = BatchNormalization(h, s, b, m, v) }"""
    weights = {"q": _RNG.integers(-9, 9, (4, 3, 3, 3)).astype(np.int8), **_norm(4)}
    assert _declined(text, weights) == [("BatchNormalization_0", "the weight of `Conv_0` is not a constant")]


def test_float16_is_rounded_once_and_declined_where_it_overflows() -> None:
    text = """g (float16[N,2,2,2] x) => (float16[N,2,2,2] y)
    { h = Conv(x, w)  y = BatchNormalization <epsilon = 0.001> (h, s, b, m, v) }"""
    half = {
        "w": _weight(2, 2, 1, 1, dtype=np.float16),
        "s": np.array([1, 2], np.float16),
        "b": np.array([0, 1], np.float16),
        "m": np.array([0.1, 0.2], np.float16),
        "v": np.array([1e-7, 1e-4], np.float16),  # below the resolution of float16: 1e-7 is 1.2e-7
    }
    module = load(model(text, half))
    run(module, FoldBatchNorm())
    assert _ops(module) == ["Conv"]
    scale = half["s"].astype(np.float64) / np.sqrt(half["v"].astype(np.float64) + np.float32(0.001))
    expected = (half["w"].astype(np.float64) * scale.reshape(2, 1, 1, 1)).astype(np.float16)
    np.testing.assert_array_equal(module.constant(module.graph[0].inputs[1]), expected)
    large = {**half, "s": np.array([60000, 1], np.float16), "w": np.full((2, 2, 1, 1), 100, np.float16)}
    assert _declined(text, large) == [("BatchNormalization_0", "the scaled weights overflow float16")]


def test_two_types_in_one_norm() -> None:
    text = """g (float16[N,2,2,2] x) => (float16[N,2,2,2] y)
    { h = Conv(x, w)  y = BatchNormalization(h, s, b, m, v) }"""
    weights = {"w": _weight(2, 2, 1, 1, dtype=np.float16), **_norm(2)}
    module = load(model(text, weights))
    run(module, FoldBatchNorm())
    assert _ops(module) == ["Conv"]
    assert module.constant(module.graph[0].inputs[2]).dtype == np.float16


def test_a_norm_in_training_mode_keeps_its_statistics() -> None:
    # Loading spells it out in simpler operators: nothing of it is a scale by constants.
    text = """g (float[N,3,4,4] x) => (float[N,4,2,2] y, float[4] rm, float[4] rv)
    { h = Conv(x, w)  y, rm, rv = BatchNormalization <training_mode = 1> (h, s, b, m, v) }"""
    proto = model(text, {"w": _weight(4, 3, 3, 3), **_norm(4)})
    module = load(proto)
    assert not run(module, FoldBatchNorm())[0].changed
    assert_same(proto, module, rtol=1e-4, atol=1e-4)


def test_without_affine_only_norms_fold() -> None:
    text = """g (float[N,3,4,4] x) => (float[N,4,2,2] y)
    { h = Conv(x, w)  n = BatchNormalization(h, s, b, m, v)  y = Mul(n, f) }"""
    module = load(model(text, {"w": _weight(4, 3, 3, 3), **_norm(4), "f": _weight(4, 1, 1)}))
    run(module, FoldBatchNorm(affine=False))
    assert _ops(module) == ["Conv", "Mul"]


def test_fifty_layers_that_share_half_a_million_weights_all_fold() -> None:
    weights = {"w": _weight(256, 256, 3, 3), **_norm(256)}
    body = "\n".join(
        f"c{i} = Conv <pads = [1, 1, 1, 1]> (x{i}, w)  x{i + 1} = BatchNormalization(c{i}, s, b, m, v)"
        for i in range(50)
    )
    module = load(model(f"g (float[1,256,2,2] x0) => (float[1,256,2,2] x50) {{ {body} }}", weights))
    result, _ = run(module, FoldBatchNorm())
    assert result.counts == {"folded": 50}
    one = {"x0": np.zeros((1, 256, 2, 2), np.float32)}
    assert values(saved(module), one)["x50"].shape == (1, 256, 2, 2)
