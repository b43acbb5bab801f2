# ruff: noqa: E501 - graphs are one line each
"""Broadcasting before opset 7, bounds of Clip, the flattening Softmax, and newer units, by value."""

import numpy as np
import pytest
from canonical_oracle import Case, canonical, check, parse, proto, run, same

LEGACY = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
}

CASES = [
    Case(
        "add_axis",
        6,
        "g (float[N,3,4] x, float[3] b) => (float[N,3,4] y) { y = Add<axis=1, broadcast=1>(x, b) }",
        ("Unsqueeze", "Add"),
        oracle=lambda x, b: x + b[:, None],
    ),
    Case(
        "add_negative_axis",
        6,
        "g (float[N,3,4] x, float[3] b) => (float[N,3,4] y) { y = Add<axis=-2, broadcast=1>(x, b) }",
        ("Unsqueeze", "Add"),
        oracle=lambda x, b: x + b[:, None],
    ),
    Case(
        "add_axis_inner",
        6,
        "g (float[N,3,4,5] x, float[3,4] b) => (float[N,3,4,5] y) { y = Add<axis=1, broadcast=1>(x, b) }",
        ("Unsqueeze", "Add"),
        oracle=lambda x, b: x + b[:, :, None],
    ),
    Case(
        "add_suffix",
        6,
        "g (float[N,3] x, float[3] b) => (float[N,3] y) { y = Add<broadcast=1>(x, b) }",
        ("Add",),
        oracle=lambda x, b: x + b,
    ),
    Case(
        "add_equal_shapes",
        6,
        "g (float[N,3] x, float[N,3] b) => (float[N,3] y) { y = Add(x, b) }",
        ("Add",),
        oracle=lambda x, b: x + b,
    ),
    Case(
        "and_axis",
        1,
        "g (bool[3,N] x, bool[3] b) => (bool[3,N] y) { y = And<axis=0, broadcast=1>(x, b) }",
        ("Unsqueeze", "And"),
        oracle=lambda x, b: x & b[:, None],
    ),
    Case(
        "greater_axis",
        1,
        "g (float[3,N] x, float[3] b) => (bool[3,N] y) { y = Greater<axis=0, broadcast=1>(x, b) }",
        ("Unsqueeze", "Greater"),
        oracle=lambda x, b: x > b[:, None],
    ),
    Case(
        "gemm_broadcast",
        6,
        "g (float[N,3] a, float[3,4] b, float[4] c) => (float[N,4] y) { y = Gemm<broadcast=1, alpha=0.5>(a, b, c) }",
        ("Gemm",),
        oracle=lambda a, b, c: np.float32(0.5) * (a @ b) + c,
        tolerance=1e-5,
    ),
    Case(
        "gemm_7",
        7,
        "g (float[3,N] a, float[3,4] b, float[4] c) => (float[N,4] y) { y = Gemm<transA=1, beta=2.0>(a, b, c) }",
        ("Gemm",),
    ),
    Case(
        "prelu_channel",
        6,
        "g (float[N,3,4] x, float[3] s) => (float[N,3,4] y) { y = PRelu(x, s) }",
        ("Reshape", "PRelu"),
        oracle=lambda x, s: np.where(x < 0, x * s[:, None], x),
    ),
    Case(
        "prelu_shared",
        6,
        "g (float[N,3,4] x, float[1] s) => (float[N,3,4] y) { y = PRelu(x, s) }",
        ("Reshape", "PRelu"),
        oracle=lambda x, s: np.where(x < 0, x * s, x),
    ),
    Case("relu", 6, "g (float[N] x) => (float[N] y) { y = Relu(x) }", ("Relu",)),
    Case(
        "sum_consumed",
        1,
        "g (float[N] a, float[N] b) => (float[N] y) { y = Sum<consumed_inputs=[0,0]>(a, b) }",
        ("Sum",),
        oracle=lambda a, b: a + b,
    ),
    Case("mean", 8, "g (float[N,3] a, float[3] b) => (float[N,3] y) { y = Mean(a, b) }", ("Mean",)),
    Case(
        "selu_rounded",
        1,
        "g (float[N] x) => (float[N] y) { y = Selu(x) }",
        ("Selu",),
        oracle=lambda x: np.where(
            x > 0, np.float32(1.0507) * x, np.float32(1.0507) * np.float32(1.6732) * (np.exp(x) - 1)
        ).astype(np.float32),
    ),
    Case("clip_both", 6, "g (float[N] x) => (float[N] y) { y = Clip<min=-0.5, max=1.0>(x) }", ("Clip",)),
    Case(
        "clip_default",
        10,
        "g (float[3] x) => (float[3] y) { y = Clip<max=1.0>(x) }",
        ("Clip",),
        feeds={"x": np.array([-np.inf, np.nan, 2], dtype=np.float32)},
    ),
    Case(
        "clip_half",
        10,
        "g (float16[N] x) => (float16[N] y) { y = Clip<max=1.0>(x) }",
        ("Clip",),
        oracle=lambda x: np.minimum(x, np.float16(1)),
    ),
    Case(
        "clip_1",
        1,
        "g (float[N] x) => (float[N] y) { y = Clip<min=0.0>(x) }",
        ("Clip",),
        oracle=lambda x: np.maximum(x, np.float32(0)),
    ),
    Case("softmax_last", 11, "g (float[N,3] x) => (float[N,3] y) { y = Softmax(x) }", ("Softmax",)),
    Case("softmax_ones", 9, "g (float[N,3,1,1] x) => (float[N,3,1,1] y) { y = Softmax<axis=1>(x) }", ("Softmax",)),
    Case(
        "softmax_flat",
        11,
        "g (float[N,3,4] x) => (float[N,3,4] y) { y = Softmax(x) }",
        ("Flatten", "Softmax", "Shape", "Reshape"),
    ),
    Case(
        "softmax_zero",
        11,
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis=0>(x) }",
        ("Flatten", "Softmax", "Reshape"),
    ),
    Case(
        "softmax_negative",
        11,
        "g (float[N,3,4] x) => (float[N,3,4] y) { y = Softmax<axis=-2>(x) }",
        ("Flatten", "Softmax", "Shape", "Reshape"),
    ),
    Case(
        "log_softmax_flat",
        8,
        "g (float[N,3,4] x) => (float[N,3,4] y) { y = LogSoftmax<axis=1>(x) }",
        ("Flatten", "LogSoftmax", "Shape", "Reshape"),
    ),
    Case(
        "hardmax_flat",
        11,
        "g (float[N,3,4] x) => (float[N,3,4] y) { y = Hardmax<axis=1>(x) }",
        ("Flatten", "Hardmax", "Shape", "Reshape"),
    ),
    Case("softmax_13", 13, "g (float[N,3,4] x) => (float[N,3,4] y) { y = Softmax<axis=1>(x) }", ("Softmax",)),
    Case(
        "cast_by_name",
        1,
        'g (float[N] x) => (int32[N] y) { y = Cast<to="INT32">(x) }',
        ("Cast",),
        oracle=lambda x: x.astype(np.int32),
    ),
    Case("mod", 10, "g (int64[N] a) => (int64[N] y) <int64 b = {-3}> { y = Mod(a, b) }", ("Mod",)),
    Case(
        "swish",
        24,
        "g (float[N] x) => (float[N] y) { y = Swish<alpha=1.5>(x) }",
        ("Mul", "Sigmoid", "Mul"),
        oracle=lambda x: (x / (1 + np.exp(-1.5 * x))).astype(np.float32),
    ),
    Case("equal", 7, "g (int64[N,3] a, int64[3] b) => (bool[N,3] y) { y = Equal(a, b) }", ("Equal",)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_values(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("op_type", LEGACY)
def test_legacy_broadcast_of_every_arithmetic_operator(op_type: str) -> None:
    graph = f"g (float[2,3,4] x, float[3] b) => (float[2,3,4] y) {{ y = {op_type}<axis=1, broadcast=1>(x, b) }}"
    x = np.random.default_rng(0).uniform(0.5, 2, (2, 3, 4)).astype(np.float32)
    b = np.array([1, 2, 3], dtype=np.float32)
    got = run(proto(canonical(parse(6, graph))), {"x": x, "b": b})
    same(got, [LEGACY[op_type](x, b[:, None])])


def test_legacy_broadcast_of_unknown_rank() -> None:
    """The rank of what a function or an optional step gives may be unknown; shapes are then put together at run time."""
    model = parse(6, "g (float[2,3,4] x, float[3] b) => (float[2,3,4] y) { y = Add<axis=1, broadcast=1>(x, b) }")
    for info in model.graph.input:
        info.type.tensor_type.ClearField("shape")
    restated = canonical(model)
    assert [node.op_type for node in restated.graph][-2:] == ["Reshape", "Add"]
    x, b = np.ones((2, 3, 4), dtype=np.float32), np.arange(3, dtype=np.float32)
    same(run(proto(restated), {"x": x, "b": b}), [x + b[:, None]])


def test_clip_bounds_are_scalars_of_the_dtype() -> None:
    module = canonical(parse(10, "g (double[N] x) => (double[N] y) { y = Clip<min=-0.5, max=1.0>(x) }"))
    bounds = [module.constant(value) for value in module.graph[0].inputs[1:]]
    assert [(b.dtype, b.shape, float(b)) for b in bounds if b is not None] == [
        (np.float64, (), -0.5),
        (np.float64, (), 1.0),
    ]


def test_dead_attributes_go() -> None:
    module = canonical(parse(1, "g (float[N] x) => (float[N] y) { y = Relu<consumed_inputs=[0]>(x) }"))
    assert dict(module.graph[0].attributes) == {}
