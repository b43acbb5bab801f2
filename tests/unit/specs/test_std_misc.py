"""std.misc: what training left, masks, and data movement that ONNX has an operator for."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_harness import Rewritten, rewritten

NUMBERS: dict[str, np.ndarray] = {
    "f0": np.array(0.0, np.float32),
    "f1": np.array(1.0, np.float32),
    "half": np.array(0.5, np.float32),
    "low": np.array(-10000.0, np.float32),
    "endless": np.array(-np.inf, np.float32),
    "n0": np.array(0, np.int64),
    "n1": np.array(1, np.int64),
    "yes": np.array(True),
    "no": np.array(False),
    "ones": np.ones(8, np.float32),
    "wide": np.ones((3, 2, 8), np.float32),
}


def misc(body: str, x: str = "float[2, 8] x", y: str = "float[2, 8] y", **weights: object) -> Rewritten:
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    every = {**NUMBERS, **{n: np.asarray(v) for n, v in weights.items()}}
    used = {name: value for name, value in every.items() if name in words}
    return rewritten("std.misc", f"g ({x}) => ({y}) {{ {body} }}", weights=used, times=3)


@pytest.mark.parametrize(
    "body",
    [
        "a = Identity(x) y = Relu(a)",
        "a = Dropout(x) y = Relu(a)",
        "a = Dropout(x, half) y = Relu(a)",
        "a = Dropout(x, half, no) y = Relu(a)",
        "a = Neg(x) b = Neg(a) y = Relu(b)",
        "a = Mul(f1, x) y = Relu(a)",
        "a = Mul(x, ones) y = Relu(a)",
        "a = Div(x, f1) y = Relu(a)",
        "a = Pow(x, f1) y = Relu(a)",
        "a = Pow(x, n1) y = Relu(a)",
        "a = Add(f0, x) y = Relu(a)",
        "a = Sub(x, f0) y = Relu(a)",
    ],
)
def test_what_changes_nothing_is_gone(body: str) -> None:
    found = misc(body)
    assert found.lines == ["y = Relu(x)"]
    found.same(rtol=0, atol=0)


@pytest.mark.parametrize(
    ("body", "y"),
    [
        ("a = Mul(x, wide) y = Relu(a)", "float[3, 2, 8] y"),
        ("a = Div(f1, x) y = Relu(a)", "float[2, 8] y"),
        ("a = Sub(f0, x) y = Relu(a)", "float[2, 8] y"),
        ("a = Dropout(x, half, yes) y = Relu(a)", "float[2, 8] y"),
    ],
)
def test_what_changes_something_stays(body: str, y: str) -> None:
    assert len(misc(body, y=y).lines) == 2


def test_an_output_that_is_an_input_keeps_its_identity() -> None:
    found = misc("y = Identity(x)")
    assert found.lines == ["y = Identity(x)"]
    assert not found.counts["drop_identity"]


MASKS = [
    ("n = Not(c) y = Where(n, a, b)", "Where(c, b, a)"),
    ("n = Not(c) m = Not(n) y = Where(m, a, b)", "Where(c, a, b)"),
    ("n = Cast<to = 1>(c) m = Equal(n, f1) y = Where(m, a, b)", "Where(c, a, b)"),
    ("n = Cast<to = 7>(c) m = Equal(n, n0) y = Where(m, a, b)", "Where(c, b, a)"),
    ("n = Cast<to = 1>(c) m = Greater(n, half) y = Where(m, a, b)", "Where(c, a, b)"),
    ("n = Cast<to = 1>(c) i = Sub(f1, n) m = Cast<to = 9>(i) y = Where(m, a, b)", "Where(c, b, a)"),
    ("m = Where(c, yes, no) y = Where(m, a, b)", "Where(c, a, b)"),
    ("m = Where(c, no, yes) y = Where(m, a, b)", "Where(c, b, a)"),
    ("m = And(yes, c) y = Where(m, a, b)", "Where(c, a, b)"),
    ("m = Or(c, no) y = Where(m, a, b)", "Where(c, a, b)"),
]


@pytest.mark.parametrize(("body", "line"), MASKS)
def test_masks_in_one_form(body: str, line: str) -> None:
    found = misc(body, "bool[2, 8] c, float[2, 8] a, float[2, 8] b")
    assert found.lines == [f"y = {line}"]
    if "yes, no" not in body and "no, yes" not in body:  # ONNX Runtime chooses between no booleans
        found.same(rtol=0, atol=0)


def test_additive_mask_of_a_boolean_one() -> None:
    found = misc("n = Cast<to = 1>(c) i = Sub(f1, n) y = Mul(i, low)", "bool[2, 8] c")
    assert found.operators == "Where"
    found.same(rtol=0, atol=0)


def test_an_infinite_additive_mask_stays() -> None:
    # 0 times infinity is no number, which a choice would not give.
    found = misc("n = Cast<to = 1>(c) i = Sub(f1, n) y = Mul(i, endless)", "bool[2, 8] c")
    assert found.operators == "Cast Sub Mul"


def test_masked_fill_of_an_inverted_mask() -> None:
    body = "n = Cast<to = 1>(m) i = Sub(f1, n) z = Cast<to = 9>(i) y = Where(z, low, i)"
    found = misc(body, "int64[2, 8] m")
    assert found.operators == "Equal Where"
    found.same(rtol=0, atol=0)


def test_choice_between_a_value_and_itself() -> None:
    found = misc("a = Where(c, x, x) y = Relu(a)", "bool[8] c, float[2, 8] x")
    assert found.lines == ["y = Relu(x)"]


# ---- images


def test_sizes_that_are_multiples_become_scales() -> None:
    body = (
        "s = Shape(x) n = Slice(s, i0, i2) h = Slice(s, i2, i4) d = Mul(h, twice) t = Concat<axis = 0>(n, d) "
        'y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, , , t)'
    )
    found = misc(body, "float[B, 3, H, 5] x", "float[B, 3, HH, 10] y", i0=[0], i2=[2], i4=[4], twice=[2, 2])
    assert found.counts["resize_by_scales"] == 1
    found.same(rtol=0, atol=0, B=2, H=3)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("a = Reshape(x, crd) t = Transpose<perm = [0, 1, 4, 2, 5, 3]>(a) y = Reshape(t, up)", "CRD"),
        ("a = Reshape(x, dcr) t = Transpose<perm = [0, 3, 4, 1, 5, 2]>(a) y = Reshape(t, up)", "DepthToSpace"),
    ],
)
def test_depth_to_space(body: str, line: str) -> None:
    found = misc(
        body,
        "float[2, 18, 4, 5] x",
        "float[2, 2, 12, 15] y",
        crd=[2, 2, 3, 3, 4, 5],
        dcr=[2, 3, 3, 2, 4, 5],
        up=[2, 2, 12, 15],
    )
    assert found.operators == "DepthToSpace"
    assert line in found.lines[0]
    found.same(rtol=0, atol=0)


def test_space_to_depth() -> None:
    found = misc(
        "a = Reshape(x, apart) t = Transpose<perm = [0, 3, 5, 1, 2, 4]>(a) y = Reshape(t, down)",
        "float[2, 3, 4, 6] x",
        "float[2, 12, 2, 3] y",
        apart=[2, 3, 2, 2, 3, 2],
        down=[2, 12, 2, 3],
    )
    assert found.lines == ["y = SpaceToDepth(x)[blocksize=2]"]
    found.same(rtol=0, atol=0)


def test_a_channel_shuffle_is_none_of_them() -> None:
    found = misc(
        "a = Reshape(x, apart) t = Transpose<perm = [0, 2, 1, 3, 4]>(a) y = Reshape(t, back)",
        "float[2, 6, 4, 5] x",
        "float[2, 6, 4, 5] y",
        apart=[2, 2, 3, 4, 5],
        back=[2, 6, 4, 5],
    )
    assert found.operators == "Reshape Transpose Reshape"


def test_nearest_neighbours_by_expand() -> None:
    found = misc(
        "a = Reshape(x, apart) e = Expand(a, wider) y = Reshape(e, up)",
        "float[2, 3, 4, 5] x",
        "float[2, 3, 8, 15] y",
        apart=[2, 3, 4, 1, 5, 1],
        wider=[2, 3, 4, 2, 5, 3],
        up=[2, 3, 8, 15],
    )
    assert found.operators == "Resize"
    found.same(rtol=0, atol=0)


def _corners(
    order: list[tuple[int, int]], shared: bool, axes: tuple[int, int] = (2, 3)
) -> tuple[str, dict[str, object]]:
    """Slices of the corners p0..p3 of 2x2 blocks: by a slice of rows that two corners share, or one each."""
    lines = [f"r{i} = Slice(x, k{i}, far, a{axes[0]}, k2)" for i in (0, 1)] if shared else []
    for at, (i, j) in enumerate(order):
        if shared:
            lines.append(f"p{at} = Slice(r{i}, k{j}, far, a{axes[1]}, k2)")
        else:
            lines.append(f"p{at} = Slice(x, k{i}{j}, fars, both, k22)")
    weights: dict[str, object] = {
        **{f"k{i}": [i] for i in (0, 1, 2)},
        **{f"k{i}{j}": [i, j] for i in (0, 1) for j in (0, 1)},
        **{f"a{a}": [a] for a in axes},
        "k22": [2, 2],
        "far": [2**62],
        "fars": [2**62, 2**62],
        "both": list(axes),
    }
    return " ".join(lines), weights


FOCUS = [(0, 0), (1, 0), (0, 1), (1, 1)]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("order", [FOCUS, sorted(FOCUS)])
def test_focus_becomes_one_convolution(order: list[tuple[int, int]], shared: bool) -> None:
    lines, weights = _corners(order, shared)
    weights["w"] = np.random.default_rng(0).standard_normal((6, 12, 3, 3)).astype(np.float32)
    found = misc(
        f"{lines} f = Concat<axis = 1>(p0, p1, p2, p3) y = Conv<pads = [1, 1, 1, 1]>(f, w)",
        "float[B, 3, 8, 10] x",
        "float[B, 6, 4, 5] y",
        **weights,
    )
    assert found.operators == "Conv", found.declined
    assert "const[6, 3, 6, 6]" in found.lines[0]
    found.same(rtol=1e-4, atol=1e-4, B=2)


@pytest.mark.parametrize("shared", [True, False])
def test_patch_merging_is_one_transpose(shared: bool) -> None:
    lines, weights = _corners(FOCUS, shared, (1, 2))
    found = misc(
        f"{lines} y = Concat<axis = 3>(p0, p1, p2, p3)", "float[B, 8, 6, 4] x", "float[B, 4, 3, 16] y", **weights
    )
    assert found.operators == "Reshape Transpose Reshape", found.declined
    found.same(rtol=0, atol=0, B=2)


def test_quantized_values_stay_as_they_are() -> None:
    body = (
        "q = QuantizeLinear(x, scale, point) d = DequantizeLinear(q, scale, point) r = Relu(d) "
        "p = QuantizeLinear(r, scale, point) y = DequantizeLinear(p, scale, point)"
    )
    weights = {"scale": np.array(0.1, np.float32), "point": np.array(3, np.int8)}
    graph = f"g (float[2, 8] x) => (float[2, 8] y) {{ {body} }}"
    for library in ("std.misc", "std.shape", "std.conv", "std.horizontal"):
        found = rewritten(library, graph, weights=weights, times=2)
        assert not found.counts.total()


def test_an_additive_mask_of_int64_keeps_every_digit() -> None:
    graph = """g (bool[4] c) => (int64[4] y) <int64 one = {1}, int64 low = {-9223372036854775807}> {
      n = Cast<to = 7>(c)  i = Sub(one, n)  y = Mul(i, low)
    }"""
    assert rewritten("std.misc", graph).lines == ["y = Where(c, 0, -9223372036854775807)"]
