"""std.shape: data movement in normal form, and what only looks as if it moved nothing."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_harness import Rewritten, rewritten

INTS: dict[str, list[int]] = {
    "none": [],
    "zero": [0],
    "one": [1],
    "two": [2],
    "three": [3],
    "four": [4],
    "minus": [-1],
    "far": [2**62],
    "ones3": [1, 1, 1],
    "same": [2, 3, 4],
    "flat": [6, 4],
    "no_pads": [0, 0, 0, 0, 0, 0],
    "shift": [0, 0, 1, 0, 0, -1],
    "ten": [10],
    "wide": [5, 2, 3, 4],
    "axes01": [0, 1],
    "halves": [2, 2],
}


def shape(body: str, x: str = "float[2, 3, 4] x", y: str = "float[?] y", times: int = 3) -> Rewritten:
    """The graph of a body from x to y after std.shape."""
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    weights = {name: np.array(value, np.int64) for name, value in INTS.items() if name in words}
    scalars = {"i0": 0, "i1": 1, "i_last": -1}
    weights |= {name: np.array(value, np.int64) for name, value in scalars.items() if name in words}
    return rewritten("std.shape", f"g ({x}) => ({y}) {{ {body} }}", weights=weights, times=times)


@pytest.mark.parametrize(
    "body",
    [
        "a = Transpose<perm = [0, 1, 2]>(x) y = Relu(a)",
        "a = Transpose<perm = [1, 2, 0]>(x) b = Transpose<perm = [2, 0, 1]>(a) y = Relu(b)",
        "a = Reshape(x, same) y = Relu(a)",
        "a = Reshape(x, flat) b = Reshape(a, same) y = Relu(b)",
        "a = Unsqueeze(x, one) b = Squeeze(a, one) y = Relu(b)",
        "a = Cast<to = 1>(x) y = Relu(a)",
        "a = Cast<to = 11>(x) b = Cast<to = 1>(a) y = Relu(b)",
        "a = CastLike(x, x) y = Relu(a)",
        "a = Expand(x, same) y = Relu(a)",
        "a = Expand(x, one) y = Relu(a)",
        "a = Tile(x, ones3) y = Relu(a)",
        "a = Slice(x, zero, far, one) y = Relu(a)",
        "a = Slice(x, zero, four, two, one) y = Relu(a)",
        "a = Pad(x, no_pads) y = Relu(a)",
        "a = Concat<axis = 1>(x) y = Relu(a)",
        "a, b = Split<axis = 2, num_outputs = 2>(x) c = Concat<axis = 2>(a, b) y = Relu(c)",
    ],
)
def test_what_moves_nothing_is_gone(body: str) -> None:
    found = shape(body, y="float[2, 3, 4] y")
    assert found.lines == ["y = Relu(x)"], found.declined
    found.same(rtol=0, atol=0)


@pytest.mark.parametrize(
    ("body", "y", "operators"),
    [
        ("a = Slice(x, minus, none2, one, minus) y = Relu(a)", "float[2, 3, 4] y", "Slice Relu"),
        ("a = Pad(x, shift) y = Relu(a)", "float[2, 3, 4] y", "Pad Relu"),
        ("a = Cast<to = 10>(x) b = Cast<to = 1>(a) y = Relu(b)", "float[2, 3, 4] y", "Cast Cast Relu"),
        ("a = Cast<to = 7>(x) y = Cast<to = 1>(a)", "float[2, 3, 4] y", "Cast Cast"),
        ("a, b = Split<axis = 2, num_outputs = 2>(x) y = Concat<axis = 2>(b, a)", "float[2, 3, 4] y", "Split Concat"),
        ("a, b = Split<axis = 2, num_outputs = 2>(x) y = Concat<axis = 0>(a, b)", "float[4, 3, 2] y", "Split Concat"),
    ],
)
def test_what_moves_something_stays(body: str, y: str, operators: str) -> None:
    INTS["none2"] = [-(2**62)]
    found = shape(body, y=y)
    assert found.operators == operators
    found.same(rtol=0, atol=0)


@pytest.mark.parametrize(
    ("body", "x", "y", "operators", "line"),
    [
        (
            "a = Transpose<perm = [1, 0, 2]>(x) y = Transpose<perm = [0, 2, 1]>(a)",
            "float[2, 3, 4] x",
            "float[3, 4, 2] y",
            "Transpose",
            "perm=[1, 2, 0]",
        ),
        (
            "a = Cast<to = 6>(x) b = Cast<to = 7>(a) y = Cast<to = 1>(b)",
            "uint8[3] x",
            "float[3] y",
            "Cast",
            "to=1",
        ),
        (
            "a = Slice(x, one, far, one) y = Slice(a, zero, far, two, two)",
            "float[2, 3, 4] x",
            "float[2, 2, 2] y",
            "Slice",
            "Slice(x, ",
        ),
        (
            "a = Slice(x, one, four, two) y = Slice(a, one, far, two)",
            "float[2, 3, 4] x",
            "float[2, 3, 2] y",
            "Slice",
            "Slice(x, ",
        ),
        (
            "a = Expand(x, same) y = Expand(a, wide)",
            "float[2, 1, 4] x",
            "float[5, 2, 3, 4] y",
            "Expand Expand",
            "Expand",
        ),
        (
            "a = Expand(x, same) y = Add(a, z)",
            "float[1, 4] x, float[2, 3, 4] z",
            "float[2, 3, 4] y",
            "Add",
            "Add(x, z)",
        ),
        ("a = Expand(x, same) y = Mul(z, a)", "float[1, 4] x, float[2, 3, 4] z", "float[2, 3, 4] y", "Mul", "(x, z)"),
        ("a = Expand(x, same) y = Mul(z, a)", "float[1, 4] x, float[2, 1, 4] z", "float[2, 3, 4] y", "Expand Mul", ""),
        (
            "a = Expand(x, same) y = Where(a, z, z)",
            "bool[1, 4] x, float[2, 3, 4] z",
            "float[2, 3, 4] y",
            "Where",
            "Where(x, z, z)",
        ),
    ],
)
def test_what_moves_twice_moves_once(body: str, x: str, y: str, operators: str, line: str) -> None:
    found = shape(body, x, y)
    assert found.operators == operators, found.declined
    assert line in found.lines[-1]
    found.same(rtol=0, atol=0)


SIZES = "float[B, 3, H, 5] x"


@pytest.mark.parametrize(
    ("body", "y", "line"),
    [
        ("s = Shape(x) g = Gather(s, i1) y = Unsqueeze(g, zero)", "int64[1] y", "y = Shape(x)[end=2, start=1]"),
        ("s = Shape(x) g = Gather(s, i_last) y = Reshape(g, minus)", "int64[1] y", "y = Shape(x)[end=4, start=3]"),
        ("s = Shape<start = 1>(x) y = Gather(s, one)", "int64[1] y", "y = Shape(x)[end=3, start=2]"),
        ("s = Shape(x) y = Slice(s, two, far, zero)", "int64[2] y", "y = Shape(x)[end=4, start=2]"),
        ("c = Cast<to = 11>(x) y = Shape(c)", "int64[4] y", "y = Shape(x)"),
        (
            "a = Shape<start = 0, end = 1>(x) b = Shape<start = 1, end = 3>(x) y = Concat<axis = 0>(a, b)",
            "int64[3] y",
            "y = Shape(x)[end=3]",
        ),
    ],
)
def test_shape_arithmetic(body: str, y: str, line: str) -> None:
    found = shape(body, SIZES, y)
    assert len(found.lines) == 1, found.lines
    told = found.lines[0]
    assert told.startswith("y = Shape(x)")
    for part in line.partition("[")[2].rstrip("]").split(", "):
        assert part in told
    found.same(rtol=0, atol=0, B=2, H=4)


def test_the_inner_step_stays_for_its_other_users() -> None:
    found = shape(
        "a = Transpose<perm = [1, 0, 2]>(x) b = Transpose<perm = [0, 2, 1]>(a) y = Relu(b) z = Relu(a)",
        y="float[3, 4, 2] y, float[3, 2, 4] z",
    )
    assert sorted(found.operators.split()) == ["Relu", "Relu", "Transpose", "Transpose"]
    found.same(rtol=0, atol=0)


def test_casts_to_text_stay() -> None:
    """Text shows the dtype that a number had: 123456789 is 1.2345679e+08 by way of float64."""
    done = rewritten("std.shape", "g (int32[N] x) => (string[N] y) { d = Cast<to = 11>(x)  y = Cast<to = 8>(d) }")
    assert done.operators == "Cast Cast"
