"""simplify_shapes: computed shapes become constants or short computations."""

from __future__ import annotations

import numpy as np
import pytest
from pass_harness import assert_same, check, load, model, run

from trtc.ir import dims
from trtc_passes import Cse, Dce, SimplifyShapes
from trtc_passes.simplify_shapes import reshape_target

_N, _S, _SHAPES = dims.symbol("N"), dims.symbol("S"), ({"N": 1, "S": 1}, {"N": 3, "S": 5})


def test_split_heads_becomes_a_constant_target() -> None:
    text = """g (float[N,S,12] x) => (float[N,S,3,4] y)
    <int64 i0 = {0}, int64 i1 = {1}, int64[1] z = {0}, int64[1] h = {3}, int64[1] d = {4}>
    {
        s = Shape(x)  n = Gather(s, i0)  n1 = Unsqueeze(n, z)
        t = Shape(x)  l = Gather(t, i1)  l1 = Unsqueeze(l, z)
        to = Concat <axis = 0> (n1, l1, h, d)
        y = Reshape(x, to)
    }"""
    check(text, [SimplifyShapes(), Dce()], ["y = Reshape(x, [0, 0, 3, 4])"], shapes=_SHAPES)


def test_one_dim_that_has_to_be_computed_is_minus_one() -> None:
    text = """g (float[N,S,12] x) => (float[?,12] y)
    <int64 i0 = {0}, int64 i1 = {1}, int64[1] z = {0}, int64[1] w = {12}>
    {
        s = Shape(x)  n = Gather(s, i0)  l = Gather(s, i1)  p = Mul(n, l)  p1 = Unsqueeze(p, z)
        to = Concat <axis = 0> (p1, w)
        y = Reshape(x, to)
    }"""
    check(text, [SimplifyShapes(), Dce()], ["y = Reshape(x, [-1, 12])"], shapes=_SHAPES)


def test_every_consumer_of_a_shape_is_changed() -> None:
    text = """g (float[N,12] x) => (float[N,4,3] y, float[N,4,3] z)
    <int64[1] i0 = {0}, int64[1] four = {4}, int64[1] rest = {-1}>
    {
        s = Shape(x)  b = Gather(s, i0)  t = Concat <axis = 0> (b, four, rest)
        y = Reshape(x, t)  r = Relu(x)  z = Reshape(r, t)
    }"""
    check(
        text,
        [SimplifyShapes(), Cse(), Dce()],
        ["y = Reshape(x, [-1, 4, 3])", "r = Relu(x)", "z = Reshape(r, [-1, 4, 3])"],
        shapes=_SHAPES,
    )


def test_a_chain_that_must_stay_is_as_short_as_it_can_be() -> None:
    text = """g (float[N,S,12] x, float[1,1,1] w) => (float[N,S,7] y)
    <int64 i0 = {0}, int64 i1 = {1}, int64[1] z = {0}, int64[1] seven = {7}>
    {
        a = Relu(x)
        s = Shape(a)  n = Gather(s, i0)  n1 = Unsqueeze(n, z)
        t = Shape(a)  l = Gather(t, i1)  l1 = Unsqueeze(l, z)
        to = Concat <axis = 0> (n1, l1, seven)
        y = Expand(w, to)
    }"""
    check(
        text,
        [SimplifyShapes(), Dce()],
        [
            "Concat_0_1_out = Shape(x)[end=2]",
            "Concat_0_2_out = Concat(Concat_0_1_out, [7])[axis=0]",
            "y = Expand(w, Concat_0_2_out)",
        ],
        shapes=_SHAPES,
    )


def test_the_same_elements_by_other_ways_are_computed_once() -> None:
    text = """g (float[N,S] x, float[S,N] v) => (int64 p, int64 q) <int64 i0 = {0}, int64 i1 = {1}, int64 one = {1}>
    {
        s = Shape(x)  t = Shape(v)  a = Gather(s, i0)  b = Gather(t, i1)
        p = Add(a, one)  q = Mul(b, a)
    }"""
    module, _ = check(
        text,
        [SimplifyShapes(), Dce()],
        ["s = Shape(x)", "a = Gather(s, 0)", "p = Add(a, 1)", "q = Mul(a, a)"],
        shapes=_SHAPES,
    )
    assert len(module.graph) == 4


def test_elements_that_depend_on_data_stay() -> None:
    text = """g (float[N,12] x, int64[1] k) => (float[?,?] y) <int64[1] rest = {-1}>
    { t = Concat <axis = 0> (k, rest)  y = Reshape(x, t) }"""
    module = load(proto := model(text))
    assert not run(module, SimplifyShapes())[0].changed
    for k in (1, 2, 3):
        feeds = {"x": np.arange(24, dtype=np.float32).reshape(2, 12), "k": np.array([k])}
        assert_same(proto, module, [feeds])


@pytest.mark.parametrize(
    ("data", "out", "allowzero", "target"),
    [
        ((2, 12), (2, 3, 4), 0, [2, 3, 4]),
        ((_N, 12), (_N, 3, 4), 0, [-1, 3, 4]),
        ((_N, _S), (_N, _S, 1), 0, [0, 0, 1]),
        ((_N, _S, 12), (_N * _S, 12), 0, [-1, 12]),
        ((_N, _S, 12), (_N, 12 * _S), 0, [0, -1]),
        ((_N, _S), (_S, _N), 0, None),  # both have moved
        ((_N, _S), (_N, _S, 1), 1, None),  # 0 would be a dim of 0
        ((0, 3), (3, 0), 0, None),  # 0 would copy the 3
        ((0, 3), (3, 0), 1, [3, 0]),
        ((3, 0), (1, 0), 0, [1, 0]),  # 0 copies the 0
        ((_N, 0), (0, _N), 0, None),  # -1 of nothing
    ],
)
def test_targets(data: tuple[object, ...], out: tuple[object, ...], allowzero: int, target: list[int] | None) -> None:
    module = load(model("g (float[N,S] x) => (float[N,S] y) { y = Relu(x) }"))
    assert reshape_target(module, data, out, allowzero) == target  # type: ignore[arg-type]


def test_a_branch_reads_the_dims_of_the_graph_around() -> None:
    text = """g (float[N,S] x, bool c) => (float[N,S] y)
    <int64 i0 = {0}, int64 i1 = {1}, int64[1] z = {0}, float one = {1}>
    {
        y = If (c) <
            then_branch = t () => (float[N,S] r)
            {
                h = Relu(x)  s = Shape(h)  n = Gather(s, i0)  n1 = Unsqueeze(n, z)  l = Gather(s, i1)
                l1 = Unsqueeze(l, z)  to = Concat <axis = 0> (n1, l1)  r = Expand(one, to)
            },
            else_branch = e () => (float[N,S] q) { q = Neg(x) }
        >
    }"""
    check(
        text,
        [SimplifyShapes(), Dce()],
        [
            "y = If(c)",
            "  else_branch -> q",
            "    q = Neg(x)",
            "  then_branch -> r",
            "    h = Relu(x)",
            "    s = Shape(h)",
            "    r = Expand(1.0, s)",
        ],
        shapes=_SHAPES,
    )


def test_a_concat_of_what_is_held_is_not_computed_again_and_again() -> None:
    module = load(
        model(
            "g (float[N,S] x, float[1] z) => (float[A,B] y) <int64[1] i = {0}, int64[1] c = {3}> "
            "{ s = Shape(x) n = Gather(s, i) t = Concat<axis=0>(n, c) y = Expand(z, t) }"
        )
    )
    run(module, SimplifyShapes())
    result, _ = run(module, SimplifyShapes())
    assert not result.changed
    assert [node.op_type for node in module.graph] == ["Shape", "Gather", "Concat", "Expand"]
