"""fold_constants: what depends on constants only, within a budget."""

from __future__ import annotations

import numpy as np
import pytest
from pass_harness import assert_same, check, listing, load, messages, model, run, saved, values

from trtc.pipeline import Bytes
from trtc_passes import FoldConstants, InlineIf


def test_a_chain_of_constants_becomes_one_and_its_weights_are_freed() -> None:
    text = """g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}, float[2] v = {3, 4}>
    { a = Add(w, v)  b = Mul(a, a)  y = Add(x, b) }"""
    module, context = check(text, FoldConstants(), ["y = Add(x, [16.0, 36.0])"], shapes=({"N": 1}, {"N": 4}))
    assert messages(context, "applied") == [("Mul_0", "`b` is a constant of float 2")]
    assert list(module.graph.initializers) == ["b_folded"]


def test_one_session_computes_all_that_can_be_computed_together() -> None:
    text = """g (float[2] x) => (float[2] y, float[2] z) <float[2] w = {1, 2}>
    { a = Exp(w)  b = Neg(a)  c = Tanh(w)  d = Add(c, a)  y = Add(x, b)  z = Add(x, d) }"""
    module = load(model(text))
    _, context = run(module, FoldConstants())
    assert context.evaluator.sessions == 1
    assert [line.split("(")[0] for line in listing(module)] == ["y = Add", "z = Add"]


def test_shapes_that_inference_knows_fold_although_the_tensor_is_computed() -> None:
    text = """g (float[2,3,N] x) => (int64[2] y, int64[1] n)
    { a = Relu(x)  y = Shape <start = 0, end = 2> (a)  n = Shape <start = 2> (a) }"""
    check(text, FoldConstants(), ["a = Relu(x)", "y = Identity([2, 3])", "n = Shape(a)[start=2]"], shapes=({"N": 5},))


def test_an_output_that_is_constant_keeps_its_name() -> None:
    text = "g (float[1] x) => (float[2] y, float[1] z) <float[2] w = {1, -2}> { y = Abs(w)  z = Relu(x) }"
    check(text, FoldConstants(), ["y = Identity([1.0, 2.0])", "z = Relu(x)"])


def test_a_large_result_is_judged_before_it_is_computed() -> None:
    # 256 MiB from a file of 600 bytes: neither computed nor kept, although 3 elements are all that is used of it.
    text = """g (float[3] x) => (float[3] y)
    <int64[1] n = {1024}, int64[1] r = {65536}, int64[1] s = {0}, int64[1] e = {3}>
    { a = ConstantOfShape <value = float[1] {1.5}> (n)  b = Tile(a, r)  c = Slice(b, s, e)  y = Add(x, c) }"""
    _, context = check(
        text,
        FoldConstants(),
        ["b = Tile(const[1024], [65536])", "c = Slice(b, [0], [3])", "y = Add(x, c)"],
    )
    assert messages(context, "declined") == [("Tile_0", "the result has 268,435,456 bytes; max_size is 67,108,864")]


def test_growth_is_bytes_added_minus_bytes_freed() -> None:
    big = np.arange(4096, dtype=np.float32).reshape(64, 64)
    text = "g (float[2,64] x) => (float[2,64] y) { t = Transpose <perm = [1, 0]> (w)  y = MatMul(x, t) }"
    proto = model(text, {"w": big})
    module = load(proto)
    run(module, FoldConstants(max_growth=Bytes(0)))  # 16 KiB added, 16 KiB freed
    assert listing(module) == ["y = MatMul(x, const[64, 64])"]
    assert_same(proto, module)
    shared = (
        "g (float[2,64] x) => (float[2,64] y) { t = Transpose <perm = [1, 0]> (w) a = MatMul(x, t) y = MatMul(a, w) }"
    )
    module = load(model(shared, {"w": big}))
    result, context = run(module, FoldConstants(max_growth=Bytes(16383)))
    assert not result.changed
    assert messages(context, "declined") == [
        ("Transpose_0", "the constant would have 16,384 bytes; max_growth is 16,383")
    ]


def test_the_largest_results_are_left_out_first_and_a_loop_does_not_renew_the_budget() -> None:
    text = """g (float[8,1000] x) => (float[8,1000] y)
    <float[1] w = {2}, int64[2] s = {8, 1000}, int64[2] t = {1, 1000}>
    { a = Expand(w, s)  b = Expand(w, t)  c = Add(x, a)  y = Mul(c, b) }"""
    module = load(model(text))
    one = FoldConstants(max_growth=Bytes(32_000))
    run(module, one)
    left = ["a = Expand([2.0], [8, 1000])", "c = Add(x, a)", "y = Mul(c, const[1, 1000])"]
    assert listing(module) == left
    for _ in range(4):
        assert not run(module, one)[0].changed
    assert listing(module) == left


@pytest.mark.parametrize(
    ("text", "op_type"),
    [
        ("a = RandomNormal <shape = [2], seed = 1.0> ()  y = Add(x, a)", "RandomNormal"),
        ("a = Bernoulli <seed = 1.0> (w)  y = Add(x, a)", "Bernoulli"),
        ("a = DequantizeLinear(q, s, z)  y = Add(x, a)", "DequantizeLinear"),
        ("h = QuantizeLinear(w, s, z)  a = DequantizeLinear(h, s, z)  y = Add(x, a)", "QuantizeLinear"),
        ("a0, m = Dropout(w, r, yes)  y = Add(x, a0)", "Dropout"),
    ],
)
def test_random_and_quantized_values_stay(text: str, op_type: str) -> None:
    module = load(
        model(
            f"""g (float[2] x) => (float[2] y)
            <float[2] w = {{0.5, 0.25}}, float s = {{0.1}}, int8 z = {{0}}, int8[2] q = {{1, 2}}, float r = {{0.5}},
             bool yes = {{1}}> {{ {text} }}"""
        )
    )
    result, _ = run(module, FoldConstants())
    assert not result.changed
    assert op_type in [node.op_type for node in module.graph]


@pytest.mark.parametrize("values_", ["{2, 0}", "{-1, 3}"])
def test_integer_division_that_kills_the_process_stays(values_: str) -> None:
    # By zero, and of the least integer by -1; the divisor is itself computed in the batch before.
    text = f"""g (int32[2] x) => (int32[2] y)
    <int32[2] a = {{-2147483648, 7}}, int32[2] d = {values_}, int32[2] z = {{0, 0}}>
    {{ e = Add(d, z)  q = Div(a, e)  y = Add(x, q) }}"""
    module = load(model(text))
    _, context = run(module, FoldConstants())
    values_text = values_.replace("{", "[").replace("}", "]")
    assert listing(module) == [f"q = Div([-2147483648, 7], {values_text})", "y = Add(x, q)"]
    assert messages(context, "declined")[0][1].startswith("division of ")
    assert not run(module, FoldConstants())[0].changed


def test_integer_division_rounds_toward_zero_as_onnx_says() -> None:
    text = """g (int32[4] x) => (int32[4] y) <int32[4] a = {-7, 7, -7, 7}, int32[4] d = {2, -2, -2, 2}>
    { q = Div(a, d)  y = Add(x, q) }"""
    check(text, FoldConstants(), ["y = Add(x, [-3, -3, 3, 3])"])


def test_doubles_fold_in_double() -> None:
    text = """g (float[2] x) => (float[2] y)
    <double one = {1.0}, double tiny = {1e-12}, double huge = {1e12}>
    { a = Add(one, tiny)  b = Sub(a, one)  c = Mul(b, huge)  d = Cast <to = 1> (c)  y = Mul(x, d) }"""
    module = load(model(text))
    run(module, FoldConstants())
    (line,) = listing(module)
    factor = float(line.removeprefix("y = Mul(x, ").removesuffix(")"))
    assert abs(factor - 1.0) < 1e-3  # in float32 it would be 0


def test_each_float16_operation_rounds_and_one_that_overflows_stays() -> None:
    half = {name: np.array(number, np.float16) for name, number in (("a", 2048), ("b", 1), ("c", 1e-3), ("h", 300))}
    text = """g (float16[2] x) => (float16[2] y) { s = Add(a, b)  t = Sub(s, a)  y = Add(x, t) }"""
    module = load(model(text, {k: half[k] for k in "ab"}))
    run(module, FoldConstants())
    assert listing(module) == ["y = Add(x, 0.0)"]  # 2048 + 1 is 2048 in float16
    text = "g (float16[2] x) => (float16[2] y) { s = Mul(h, h)  t = Mul(s, c)  y = Mul(x, t) }"
    module = load(model(text, {k: half[k] for k in "hc"}))
    result, context = run(module, FoldConstants())
    assert not result.changed
    assert messages(context, "declined") == [
        ("Mul_0", "the result overflows float16: a runtime that computes in float32 gives another one")
    ]


def test_captured_constants_fold_inside_a_loop_and_the_condition_of_an_if() -> None:
    text = """g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, int64 n = {3}, bool t = {1}>
    {
        y = Loop (n, t, x) <
            body = b (int64 i, bool c, float[2] s) => (bool co, float[2] so)
            { co = Identity(c)  k = Exp(w)  k0 = Log(k)  so = Add(s, k0) }
        >
    }"""
    module = load(proto := model(text))
    run(module, FoldConstants())
    assert [line.strip().split("(")[0] for line in listing(module)][-1] == "so = Add"
    assert not any("Exp" in line for line in listing(module))
    assert_same(proto, module, rtol=1e-6)
    text = """g (float[2] x) => (float[2] y) <float one = {1}, float two = {2}>
    {
        c = Less(one, two)
        y = If (c) <
            then_branch = t () => (float[2] a) { a = Exp(x) },
            else_branch = e () => (float[2] b) { b = Neg(x) }
        >
    }"""
    check(text, [FoldConstants(), InlineIf()], ["y = Exp(x)"])


def test_sequences_and_strings_stay() -> None:
    text = """g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, int64 at = {0}>
    { s = SequenceConstruct(w, w)  a = SequenceAt(s, at)  y = Add(x, a) }"""
    module = load(model(text))
    assert not run(module, FoldConstants())[0].changed


def test_a_custom_operator_named_like_a_standard_one_is_not_computed() -> None:
    functions = """<domain: "mine", opset_import: ["" : 23]> Relu (x) => (y) { y = Neg(x) }"""
    text = "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = mine.Relu(w)  y = Add(x, a) }"
    module = load(proto := model(text, functions=functions))
    assert not run(module, FoldConstants())[0].changed
    one = {"x": np.zeros(2, np.float32)}
    assert values(proto, one)["y"].tolist() == values(saved(module), one)["y"].tolist() == [-1.0, -2.0]


def test_ten_times_the_nodes_take_one_session_still() -> None:
    def sessions(count: int) -> tuple[int, int]:
        chain = "\n".join(f"v{i + 1} = Neg(v{i})" for i in range(count))
        module = load(
            model(f"g (float[2] x) => (float[2] y) <float[2] v0 = {{1, 2}}> {{ {chain} y = Add(x, v{count}) }}")
        )
        _, context = run(module, FoldConstants())
        return context.evaluator.sessions, len(module.graph)

    assert sessions(100) == sessions(1000) == (1, 1)
