"""Attributes that became inputs, and Pad, Split, Tile, Scatter, by value."""

import numpy as np
import pytest
from canonical_oracle import Case, check

N = ({"N": 2}, {"N": 5})

CASES = [
    Case("squeeze_axes", 11, "g (float[1,N,1] x) => (float[N,1] y) { y = Squeeze<axes=[0]>(x) }", ("Squeeze",)),
    Case("squeeze_negative", 11, "g (float[1,N,1] x) => (float[1,N] y) { y = Squeeze<axes=[-1]>(x) }", ("Squeeze",)),
    Case("squeeze_all", 7, "g (float[1,3,1] x) => (float[3] y) { y = Squeeze(x) }", ("Squeeze",)),
    Case(
        "unsqueeze_axes", 11, "g (float[N,3] x) => (float[1,N,3,1] y) { y = Unsqueeze<axes=[0,-1]>(x) }", ("Unsqueeze",)
    ),
    Case(
        "reshape_attribute",
        1,
        "g (float[2,6] x) => (float[3,4] y) { y = Reshape<shape=[3,-1], consumed_inputs=[0]>(x) }",
        ("Reshape",),
        oracle=lambda x: x.reshape(3, 4),
    ),
    Case(
        "slice_attributes",
        9,
        "g (float[N,8] x) => (float[N,k] y) { y = Slice<axes=[1], starts=[1], ends=[-2]>(x) }",
        ("Slice",),
    ),
    Case(
        "slice_no_axes", 7, "g (float[N,8] x) => (float[M,k] y) { y = Slice<starts=[1,2], ends=[9,5]>(x) }", ("Slice",)
    ),
    Case(
        "split_sizes",
        11,
        "g (float[N,6] x) => (float[N,2] y, float[N,4] z) { y, z = Split<axis=-1, split=[2,4]>(x) }",
        ("Split",),
    ),
    Case("split_equal", 11, "g (float[N,6] x) => (float[N,3] y, float[N,3] z) { y, z = Split<axis=1>(x) }", ("Split",)),
    Case("split_equal_13", 13, "g (float[4,N] x) => (float[2,N] y, float[2,N] z) { y, z = Split(x) }", ("Split",)),
    Case(
        "split_input",
        1,
        "g (float[N,6] x) => (float[N,2] y, float[N,4] z) <float[2] s = {2, 4}> { y, z = Split<axis=1>(x, s) }",
        ("Cast", "Split"),
        oracle=lambda x: (x[:, :2], x[:, 2:]),
    ),
    Case("pad_constant", 10, "g (float[N,3] x) => (float[N,6] y) { y = Pad<pads=[0,1,0,2], value=1.5>(x) }", ("Pad",)),
    Case("pad_double", 10, "g (double[N,3] x) => (double[N,6] y) { y = Pad<pads=[0,1,0,2], value=1.5>(x) }", ("Pad",)),
    Case(
        "pad_reflect", 7, 'g (float[N,4] x) => (float[N,7] y) { y = Pad<mode="reflect", pads=[0,1,0,2]>(x) }', ("Pad",)
    ),
    Case("pad_negative", 10, "g (float[N,5] x) => (float[N,3] y) { y = Pad<pads=[0,-1,0,-1]>(x) }", ("Pad",)),
    Case(
        "pad_paddings",
        1,
        "g (float[N,3] x) => (float[N,6] y) { y = Pad<paddings=[0,1,0,2], value=2.0>(x) }",
        ("Pad",),
        oracle=lambda x: np.pad(x, [(0, 0), (1, 2)], constant_values=2.0),
    ),
    Case(
        "pad_axes",
        18,
        "g (float[N,3] x, int64[2] p) => (float[N,k] y) <int64[1] a = {-1}> { y = Pad(x, p, , a) }",
        ("Pad",),
    ),
    Case(
        "tile_one_axis",
        1,
        "g (float[N,3] x) => (float[N,6] y) <float t = {2}, float a = {1}> { y = Tile(x, t, a) }",
        ("Cast", "Reshape", "Cast", "Reshape", "Shape", "Shape", "ConstantOfShape", "ScatterND", "Tile"),
        oracle=lambda x: np.tile(x, (1, 2)),
    ),
    Case(
        "concat_default_axis",
        1,
        "g (float[2,N] x, float[2,3] z) => (float[2,k] y) { y = Concat(x, z) }",
        ("Concat",),
        oracle=lambda x, z: np.concatenate([x, z], 1),
    ),
    Case(
        "scatter",
        9,
        "g (float[N,4] x, int64[2,4] i, float[2,4] u) => (float[N,4] y) { y = Scatter<axis=0>(x, i, u) }",
        ("ScatterElements",),
        feeds={"i": np.array([[0, 1, 0, 1], [1, 0, 1, 0]])},
    ),
    Case(
        "scatter_deprecated",
        11,
        "g (float[N,4] x, int64[2,4] i, float[2,4] u) => (float[N,4] y) { y = Scatter<axis=-2>(x, i, u) }",
        ("ScatterElements",),
        feeds={"i": np.array([[0, 1, 0, 1], [1, 0, 1, 0]])},
        oracle=lambda x, i, u: _scatter(x, i, u),
    ),
    Case("flatten_9", 9, "g (float[N,3,4] x) => (float[N,12] y) { y = Flatten(x) }", ("Flatten",)),
    Case("expand_8", 8, "g (float[N,1] x) => (float[N,3] y) <int64[2] s = {1, 3}> { y = Expand(x, s) }", ("Expand",)),
    Case("transpose", 7, "g (float[N,3,4] x) => (float[4,3,N] y) { y = Transpose(x) }", ("Transpose",)),
    Case(
        "depth_to_space",
        7,
        "g (float[N,8,2,3] x) => (float[N,2,4,6] y) { y = DepthToSpace<blocksize=2>(x) }",
        ("DepthToSpace",),
    ),
]


def _scatter(x: np.ndarray, i: np.ndarray, u: np.ndarray) -> np.ndarray:
    y = x.copy()
    np.put_along_axis(y, i, u, 0)
    return y


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_values(case: Case) -> None:
    check(case)


def test_axes_are_constants_counted_from_the_front() -> None:
    module = check(CASES[3])
    node = module.graph[0]
    axes = node.inputs[1]
    assert axes is not None
    assert axes.is_initializer()
    assert np.asarray(module.constant(axes)).tolist() == [0, 3]


def test_split_says_how_many_outputs() -> None:
    node = check(CASES[8]).graph[0]
    assert node.attributes["num_outputs"].value == 2


def test_transpose_writes_its_permutation() -> None:
    node = check(next(c for c in CASES if c.name == "transpose")).graph[0]
    assert node.attributes["perm"].value == (2, 1, 0)
