# ruff: noqa: E501 - graphs are one line each
"""Reductions, selections, normalization, Dropout, quantization, recurrence and control flow, by value."""

import numpy as np
import pytest
from canonical_oracle import Case, canonical, check, parse, proto, run, same

from trtc.diagnostics import DiagnosticError

REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"),
    *("ReduceSum", "ReduceSumSquare"),
)

CASES = [
    Case(
        "reduce_empty_axes",
        11,
        "g (float[N,3] x) => (float[1,1] y) { y = ReduceMean(x) }",
        ("ReduceMean",),
    ),
    Case(
        "top_k_1",
        1,
        "g (float[N,7] x) => (float[N,3] v, int64[N,3] i) { v, i = TopK<k=3>(x) }",
        ("TopK",),
        oracle=lambda x: _top(x),
    ),
    Case(
        "top_k_10",
        10,
        "g (float[N,7] x) => (float[N,3] v, int64[N,3] i) <int64[1] k = {3}> { v, i = TopK<axis=1>(x, k) }",
        ("TopK",),
    ),
    Case("arg_max", 7, "g (float[N,7] x) => (int64[N] v) { v = ArgMax<axis=1, keepdims=0>(x) }", ("ArgMax",)),
    Case("cum_sum", 11, "g (float[N,7] x) => (float[N,7] v) <int64 a = {-1}> { v = CumSum(x, a) }", ("CumSum",)),
    Case(
        "cum_prod",
        26,
        "g (float[N,3,4] x) => (float[N,3,4] y) <int64 a = {-2}> { y = CumProd<exclusive=1, reverse=1>(x, a) }",
        (
            *("Shape", "Reshape", "Cast", "Shape", "Mod", "Add", "Slice", "Slice", "Slice"),
            *("Concat", "ReduceProd", "Concat", "ReduceProd", "Concat", "ReduceProd"),
            *("Concat", "Reshape", "Concat", "ConstantOfShape", "CastLike", "Scan", "Reshape"),
        ),
        oracle=lambda x: np.concatenate([np.cumprod(x[:, :0:-1], 1)[:, ::-1], np.ones_like(x[:, :1])], 1),
        tolerance=1e-5,
    ),
    Case(
        "batch_norm_7",
        7,
        "g (float[N,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[N,3,4] y) { y = BatchNormalization<epsilon=0.01>(x, s, b, m, v) }",
        ("BatchNormalization",),
        feeds={"v": np.array([0.5, 1, 2], dtype=np.float32)},
    ),
    Case(
        "batch_norm_test_mode",
        6,
        "g (float[N,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[N,3,4] y) { y = BatchNormalization<is_test=1, epsilon=0.01>(x, s, b, m, v) }",
        ("BatchNormalization",),
        feeds={"v": np.array([0.5, 1, 2], dtype=np.float32)},
        oracle=lambda x, s, b, m, v: (
            (x - m[:, None]) / np.sqrt(v[:, None] + np.float32(0.01)) * s[:, None] + b[:, None]
        ),
        tolerance=1e-5,
    ),
    Case(
        "batch_norm_per_activation",
        7,
        "g (float[N,3,4] x, float[3,4] s, float[3,4] b, float[3,4] m, float[3,4] v) => (float[N,3,4] y) { y = BatchNormalization<spatial=0>(x, s, b, m, v) }",
        ("CastLike", "Add", "Sqrt", "Sub", "Div", "Mul", "Add"),
        feeds={"v": np.arange(1, 13, dtype=np.float32).reshape(3, 4)},
        tolerance=1e-5,
    ),
    Case(
        "group_norm_18",
        18,
        "g (float[N,4,5] x, float[2] s, float[2] b) => (float[N,4,5] y) { y = GroupNormalization<num_groups=2>(x, s, b) }",
        ("Unsqueeze", "Expand", "Reshape", "Unsqueeze", "Expand", "Reshape", "GroupNormalization"),
        oracle=lambda x, s, b: _group(x, s, b),
        tolerance=1e-4,
    ),
    Case(
        "group_norm_18_dynamic",
        18,
        "g (float[2,C,5] x, float[2] s, float[2] b) => (float[2,C,5] y) { y = GroupNormalization<num_groups=2>(x, s, b) }",
        (
            *("Shape", "Div", "Concat", "Unsqueeze", "Expand", "Reshape"),
            *("Shape", "Div", "Concat", "Unsqueeze", "Expand", "Reshape", "GroupNormalization"),
        ),
        ({"C": 4}, {"C": 6}),
        oracle=lambda x, s, b: _group(x, s, b),
        tolerance=1e-4,
    ),
    Case(
        "layer_norm",
        17,
        "g (float[N,3,4] x, float[4] s) => (float[N,3,4] y) { y = LayerNormalization(x, s) }",
        ("LayerNormalization",),
        tolerance=1e-5,
    ),
    Case("dropout_7", 7, "g (float[N] x) => (float[N] y) { y = Dropout<ratio=0.3>(x) }", ("Dropout",)),
    Case(
        "dropout_6", 6, "g (float[N] x) => (float[N] y) { y = Dropout<is_test=1>(x) }", ("Dropout",), oracle=lambda x: x
    ),
    Case("dropout_12", 12, "g (float[N] x) => (float[N] y, bool[N] m) { y, m = Dropout(x) }", ("Dropout",)),
    Case(
        "dropout_mask_10",
        10,
        "g (float[N] x) => (float[N] y, bool[N] m) { y, m = Dropout(x) }",
        ("Shape", "ConstantOfShape", "Dropout"),
    ),
    Case(
        "dropout_mask_7",
        7,
        "g (float[N] x) => (float[N] y, float[N] m) { y, m = Dropout(x) }",
        ("Shape", "ConstantOfShape", "CastLike", "Dropout"),
    ),
    Case(
        "quantize_10",
        10,
        "g (float[N,3] x) => (uint8[N,3] y) <float s = {0.05}, uint8 z = {128}> { y = QuantizeLinear(x, s, z) }",
        ("QuantizeLinear",),
    ),
    Case(
        "dequantize_13",
        13,
        "g (int8[N,3] x) => (float[N,3] y) <float[3] s = {0.5, 1.0, 2.0}> { y = DequantizeLinear<axis=-1>(x, s) }",
        ("DequantizeLinear",),
    ),
    Case(
        "lstm_7",
        7,
        "g (float[4,N,3] x, float[1,8,3] w, float[1,8,2] r) => (float[4,1,N,2] y, float[1,N,2] h) { y, h = LSTM<hidden_size=2>(x, w, r) }",
        ("LSTM",),
        tolerance=1e-5,
    ),
    Case(
        "gru_both_ways",
        7,
        'g (float[4,N,3] x, float[2,6,3] w, float[2,6,2] r) => (float[4,2,N,2] y) { y = GRU<hidden_size=2, direction="bidirectional">(x, w, r) }',
        ("GRU",),
        tolerance=1e-5,
    ),
    Case(
        "scan_8",
        8,
        """g (float[N,2] s, float[N,5,2] x) => (float[N,2] e, float[N,5,2] y) {
            e, y = Scan<num_scan_inputs=1, body = b (float[2] a, float[2] i) => (float[2] o, float[2] p) {
                o = Add(a, i)
                p = Mul(o, a)
            }>(, s, x)
        }""",
        ("Scan",),
    ),
    Case(
        "loop_1",
        8,
        """g (float[3] x) => (float[3] y, float[k,3] z) <int64 m = {4}, bool c = {1}> {
            y, z = Loop<body = b (int64 i, bool d, float[3] a) => (bool e, float[3] o, float[3] p) {
                e = Identity(d)
                u = Unsqueeze<axes=[0]>(a)
                q = Squeeze<axes=[0]>(u)
                o = Add(q, x)
                p = Identity(o)
            }>(m, c, x)
        }""",
        ("Loop",),
    ),
    Case(
        "swiglu",
        28,
        "g (float[N] a, float[N] b) => (float[N] y) { y = SwiGLU(a, b) }",
        ("Sigmoid", "Mul", "Mul"),
        oracle=lambda a, b: (a / (1 + np.exp(-a)) * b).astype(np.float32),
    ),
    Case(
        "tensor_scatter",
        24,
        'g (float[2,6,N] c, float[2,3,N] u) => (float[2,6,N] y) <int64[2] i = {1, 5}> { y = TensorScatter<mode="circular">(c, u, i) }',
        (
            "Shape",
            "Squeeze",
            "Range",
            "Reshape",
            "Reshape",
            "Add",
            "Shape",
            "Mod",
            "Shape",
            "Expand",
            "ScatterElements",
        ),
        oracle=lambda c, u: _circular(c, u, (1, 5)),
    ),
]


def _top(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(-x, axis=-1)[:, :3]
    return np.take_along_axis(x, order, -1), order


def _group(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    parts = x.reshape(x.shape[0], len(scale), -1)
    normal = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + np.float32(1e-5))
    return (normal * scale[:, None] + bias[:, None]).reshape(x.shape)


def _circular(cache: np.ndarray, update: np.ndarray, start: tuple[int, ...]) -> np.ndarray:
    out = cache.copy()
    for sample, first in enumerate(start):
        for step in range(update.shape[1]):
            out[sample, (first + step) % cache.shape[1]] = update[sample, step]
    return out


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_values(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("op_type", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions_take_axes_as_input(op_type: str, keepdims: int) -> None:
    shape = "N,1" if keepdims else "N"
    graph = f"g (float[N,3] x) => (float[{shape}] y) {{ y = {op_type}<axes=[-1], keepdims={keepdims}>(x) }}"
    model = parse(11, graph)
    module = canonical(model)
    axes = module.graph[0].inputs[1]
    assert np.asarray(module.constant(axes)).tolist() == [1]
    for count in (2, 5):
        x = np.random.default_rng(count).uniform(0.5, 2, (count, 3)).astype(np.float32)
        same(run(proto(module), {"x": x}), run(model, {"x": x}), 1e-5)


@pytest.mark.parametrize("opset", [14, 15])
def test_batch_normalization_that_trains_is_composed(opset: int) -> None:
    graph = (
        "g (float[N,3,W] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[N,3,W] y, float[3] p, float[3] q) "
        "{ y, p, q = BatchNormalization<training_mode=1, momentum=0.8, epsilon=0.01>(x, s, b, m, v) }"
    )
    module = canonical(parse(opset, graph))
    assert "BatchNormalization" not in {node.op_type for node in module.nodes()}
    for count, width in ((2, 4), (3, 7)):
        random = np.random.default_rng(count)
        x = random.standard_normal((count, 3, width)).astype(np.float32)
        s, b, m, v = (random.uniform(0.5, 2, 3).astype(np.float32) for _ in range(4))
        mean, var = x.mean((0, 2)), x.var((0, 2))
        wide = (x - mean[:, None]) / np.sqrt(var[:, None] + np.float32(0.01)) * s[:, None] + b[:, None]
        got = run(proto(module), {"x": x, "s": s, "b": b, "m": m, "v": v})
        same(got, [wide, m * 0.8 + mean * np.float32(0.2), v * np.float32(0.8) + var * np.float32(0.2)], 1e-4)


def test_batch_normalization_with_used_statistics_before_14_is_refused() -> None:
    graph = (
        "g (float[N,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[N,3] y, float[3] p) "
        "{ y, p, q = BatchNormalization(x, s, b, m, v) }"
    )
    with pytest.raises(DiagnosticError) as error:
        canonical(parse(9, graph))
    assert [d.code for d in error.value.diagnostics] == ["T0656"]


def test_unused_statistics_are_dropped() -> None:
    graph = (
        "g (float[N,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[N,3] y) "
        "{ y, p, q = BatchNormalization(x, s, b, m, v) }"
    )
    node = canonical(parse(9, graph)).graph[0]
    assert len(node.outputs) == 1


def test_recurrent_defaults() -> None:
    case = next(c for c in CASES if c.name == "gru_both_ways")
    attributes = check(case).graph[0].attributes
    assert attributes["activations"].value == ("Sigmoid", "Tanh") * 2
    assert (attributes["linear_before_reset"].value, attributes["layout"].value) == (0, 0)


def test_scan_of_opset_8_runs_over_the_batch() -> None:
    node = check(next(c for c in CASES if c.name == "scan_8")).graph[0]
    assert node.attributes["num_scan_inputs"].value == 2
    inner = node.attributes["body"].as_graph()[0]
    assert (inner.op_type, inner.attributes["num_scan_inputs"].value) == ("Scan", 1)


def test_scan_of_opset_8_with_lengths_is_refused() -> None:
    graph = """g (int64[N] l, float[N,2] s, float[N,5,2] x) => (float[N,2] e, float[N,5,2] y) {
        e, y = Scan<num_scan_inputs=1, body = b (float[2] a, float[2] i) => (float[2] o, float[2] p) {
            o = Add(a, i)
            p = Identity(o)
        }>(l, s, x)
    }"""
    with pytest.raises(DiagnosticError) as error:
        canonical(parse(8, graph))
    assert [d.code for d in error.value.diagnostics] == ["T0657"]


def test_losses_are_their_parts() -> None:
    graph = (
        "g (float[N,C] x, int64[N] t, float[C] w) => (float y, float[N,C] p) "
        '{ y, p = SoftmaxCrossEntropyLoss<reduction = "mean", ignore_index = 2>(x, t, w) }'
    )
    model = parse(13, graph)
    module = canonical(model)
    assert not {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"} & {node.op_type for node in module.graph}
    # A class of probability zero costs nothing where the target is ignored.
    x = np.array([[0, 0, -np.inf], [1, 3, 2], [0, 0, 5]], np.float32)
    feeds = {"x": x, "t": np.array([0, 1, 2]), "w": np.array([1, 3, 5], np.float32)}
    with np.errstate(divide="ignore"):
        p = np.log(np.exp(x) / np.exp(x).sum(1, keepdims=True))
    same(run(proto(module), feeds), [np.float32((-p[0, 0] - 3 * p[1, 1]) / 4), p])
