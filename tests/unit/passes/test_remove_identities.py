"""remove_identities: what changes nothing goes; what looks like it stays."""

from __future__ import annotations

import numpy as np
import pytest
from pass_harness import assert_same, check, listing, load, model, run

from trtc_passes import RemoveIdentities

_CONSTANTS = """<float one = {1}, float zero = {0}, float[1] ones1 = {1}, int64[1] i0 = {0}, int64[1] i1 = {1},
int64[1] big = {9223372036854775807}, int64[1] minus = {-1}, int64[3] ones3 = {1, 1, 1},
int64[6] none = {0, 0, 0, 0, 0, 0},
int64[6] shift = {0, 0, 1, 0, 0, -1}, int64[3] shape = {0, -1, 4}, float[3] scales = {1, 1, 1}, int64[1] last = {2},
bool no = {0}, float[1,1,1,1] wide = {1}>"""


@pytest.mark.parametrize(
    "operation",
    [
        "Identity(x)",
        "Dropout(x)",
        "Dropout(x, zero, no)",
        "Cast <to = 1> (x)",
        "CastLike(x, one)",
        "Transpose <perm = [0, 1, 2]> (x)",
        "Reshape(x, shape)",
        "Expand(x, ones3)",
        "Tile(x, ones3)",
        "Slice(x, i0, big, i0)",
        "Pad(x, none)",
        "Concat <axis = 1> (x)",
        "Sum(x)",
        "Max(x)",
        "Mean(x)",
        "Add(x, neg)",
        "Sub(x, zero)",
        "Mul(one, x)",
        "Mul(x, ones1)",
        "Div(x, one)",
        "Pow(x, one)",
        "Clip(x)",
        "Split <num_outputs = 1> (x)",
        "ReduceSum <noop_with_empty_axes = 1> (x)",
        'Resize <mode = "nearest"> (x, , scales)',
    ],
)
def test_goes(operation: str) -> None:
    constants = _CONSTANTS.replace("<float one", "<float neg = {-0.0}, float one", 1)
    text = f"g (float[N,3,4] x) => (float[N,3,4] y) {constants} {{ a = {operation}  y = Relu(a) }}"
    check(text, RemoveIdentities(), ["y = Relu(x)"], shapes=({"N": 1}, {"N": 3}))


@pytest.mark.parametrize(
    ("operation", "shape"),
    [
        ("Slice(x, minus, small, last, minus)", "float[N,3,4]"),  # turned round, of equal shape
        ("Pad(x, shift)", "float[N,3,4]"),  # shifted, of equal shape
        ("Mul(x, wide)", "float[1,N,3,4]"),  # of a higher rank
        ("Sub(zero, x)", "float[N,3,4]"),
        ("Div(one, x)", "float[N,3,4]"),
        ("Pow(one, x)", "float[N,3,4]"),
        ("Cast <to = 11> (x)", "double[N,3,4]"),
        ("Transpose <perm = [0, 2, 1]> (x)", "float[N,4,3]"),
        ("ReduceSum(x, i1)", "float[N,1,4]"),
        ("ReduceL1 <noop_with_empty_axes = 1> (x)", "float"),
    ],
)
def test_stays(operation: str, shape: str) -> None:
    constants = _CONSTANTS.replace("<float one", "<int64[1] small = {-9223372036854775807}, float one", 1)
    if "ReduceL1" in operation:
        operation, shape = operation.replace("(x)", "(x, i0)"), "float[1,3,4]"
    text = f"g (float[N,3,4] x) => ({shape} y) {constants} {{ y = {operation} }}"
    module = load(model(text))
    assert not run(module, RemoveIdentities())[0].changed


def test_training_dropout_stays() -> None:
    text = "g (float[3] x) => (float[3] y) <float r = {0.5}, bool yes = {1}> { a = Dropout(x, r, yes)  y = Relu(a) }"
    assert not run(load(model(text)), RemoveIdentities())[0].changed


def test_a_mask_that_is_used_is_all_true_of_the_shape_at_run_time() -> None:
    text = """g (float[N,3] x) => (float[N,3] y, bool[N,3] mask) <float r = {0.9}> { y, mask = Dropout(x, r) }"""
    check(
        text,
        RemoveIdentities(),
        ["Dropout_0_1_out = Shape(x)", "mask = ConstantOfShape(Dropout_0_1_out)[value=[True]]", "y = Identity(x)"],
        shapes=({"N": 1}, {"N": 4}),
    )


def test_several_meet_on_one_edge() -> None:
    text = """g (float[N] x) => (float[N] y) <float one = {1}, float zero = {0}>
    { a = Identity(x)  b = Dropout(a)  c = Cast <to = 1> (b)  d = Mul(c, one)  e = Div(d, one)  y = Add(e, zero) }"""
    check(text, RemoveIdentities(), ["y = Identity(x)"], shapes=({"N": 1}, {"N": 7}))
    module = load(model(text))
    run(module, RemoveIdentities(signed_zeros=True))
    assert listing(module) == ["y = Add(x, 0.0)"]


def test_the_sign_of_a_zero_is_what_the_option_is_for() -> None:
    text = "g (float[1] x) => (float[1] y) <float zero = {0}> { a = Add(x, zero)  y = Reciprocal(a) }"
    proto = model(text)
    module = load(proto)
    run(module, RemoveIdentities(signed_zeros=True))
    assert_same(proto, module, [{"x": np.array([-0.0], np.float32)}])


def test_outputs_that_are_an_input_a_constant_or_another_output_keep_an_identity() -> None:
    text = """g (float[2] x) => (float[2] a, float[2] b, float[2] c, float[2] d, float[2] e) <float[2] w = {1, 2}>
    { a = Identity(x)  b = Identity(w)  c = Exp(x)  d = Identity(c)  h = Neg(x)  e = Identity(h) }"""
    check(
        text,
        RemoveIdentities(),
        ["a = Identity(x)", "b = Identity([1.0, 2.0])", "c = Exp(x)", "d = Identity(c)", "e = Neg(x)"],
    )


@pytest.mark.parametrize(
    "chain",
    [
        "a = Not(x)  b = Not(a)",
        "a = Unsqueeze(x, one)  b = Squeeze(a, one)",
        "a = Flatten(x)  b = Reshape(a, back)",
    ],
)
def test_what_undoes_itself(chain: str) -> None:
    text = f"""g (bool[N,3,4] x) => (bool[N,3,4] y) <int64[1] one = {{1}}, int64[3] back = {{-1, 3, 4}}, bool f = {{0}}>
    {{ {chain}  y = Or(b, f) }}"""
    module = load(proto := model(text))
    run(module, RemoveIdentities())
    assert listing(module)[-1] == "y = Or(x, False)"
    assert_same(proto, module, N=1)
    assert_same(proto, module, N=4)


def test_negative_axes_count_from_the_rank_between() -> None:
    text = """g (float[2,1,3] x) => (float[2,3] y, float[2,1,3] z) <int64[1] m2 = {-2}, int64[1] m1 = {-1}>
    { a = Squeeze(x, m2)  b = Unsqueeze(a, m2)  y = Relu(a)  z = Relu(b) }"""
    check(text, RemoveIdentities(), ["a = Squeeze(x, [1])", "y = Relu(a)", "z = Relu(x)"])


def test_a_reduction_over_a_dim_of_one_that_stays() -> None:
    text = """g (float[N,1,4] x) => (float[N,1,4] y) <int64[1] axis = {1}> { a = ReduceMean(x, axis)  y = Relu(a) }"""
    check(text, RemoveIdentities(), ["y = Relu(x)"], shapes=({"N": 1}, {"N": 3}))


def test_inside_a_branch() -> None:
    text = """g (float[3] x, bool c) => (float[3] y)
    {
        y = If (c) <
            then_branch = t () => (float[3] a) { h = Identity(x) a = Relu(h) },
            else_branch = e () => (float[3] b) { b = Identity(x) }
        >
    }"""
    check(
        text,
        RemoveIdentities(),
        ["y = If(c)", "  else_branch -> b", "    b = Identity(x)", "  then_branch -> a", "    a = Relu(x)"],
    )


def test_ten_times_the_nodes_take_ten_times_the_edits() -> None:
    def removed(count: int) -> int:
        chain = "\n".join(f"v{i + 1} = Identity(v{i})" for i in range(count))
        module = load(model(f"g (float[2] v0) => (float[2] y) {{ {chain} y = Relu(v{count}) }}"))
        result, _ = run(module, RemoveIdentities())
        assert listing(module) == ["y = Relu(v0)"]
        return result.counts["removed"]

    assert removed(2000) == 10 * removed(200)
