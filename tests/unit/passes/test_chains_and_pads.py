"""merge_chains and fold_pad."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir
import pytest
from pass_harness import assert_same, check, listing, load, messages, model, run

from trtc_passes import FoldPad, MergeChains, RemoveIdentities
from trtc_passes.merge_chains import lossless


def test_transposes_compose() -> None:
    text = """g (float[N,3,4] x) => (float[4,N,3] y)
    { a = Transpose <perm = [0, 2, 1]> (x)  y = Transpose <perm = [1, 0, 2]> (a) }"""
    check(text, MergeChains(), ["y = Transpose(x)[perm=[2, 0, 1]]"], shapes=({"N": 1}, {"N": 5}))


def test_transposes_that_undo_each_other_go() -> None:
    text = """g (float[N,3,4] x) => (float[N,3,4] y)
    { a = Transpose <perm = [1, 2, 0]> (x)  b = Transpose <perm = [2, 0, 1]> (a)  y = Relu(b) }"""
    check(text, [MergeChains(), RemoveIdentities()], ["y = Relu(x)"], shapes=({"N": 2},))


def test_the_first_stays_where_something_else_uses_it() -> None:
    text = """g (float[2,3] x) => (float[2,3] y, float[3,2] z)
    { a = Transpose <perm = [1, 0]> (x)  y = Transpose <perm = [1, 0]> (a)  z = Relu(a) }"""
    check(
        text,
        MergeChains(),
        ["a = Transpose(x)[perm=[1, 0]]", "y = Transpose(x)[perm=[0, 1]]", "z = Relu(a)"],
    )


_NAMES = {1: "float", 10: "float16", 11: "double", 6: "int32", 7: "int64", 9: "bool", 3: "int8", 2: "uint8"}


@pytest.mark.parametrize(
    ("start", "middle", "end", "merges"),
    [
        (10, 1, 11, True),
        (1, 11, 1, True),
        (6, 7, 1, True),
        (3, 1, 7, True),
        (9, 6, 1, True),
        (6, 11, 6, True),
        (1, 6, 1, False),
        (1, 10, 1, False),
        (1, 9, 1, False),
        (11, 1, 11, False),
        (7, 6, 7, False),
        (6, 1, 6, False),
        (3, 2, 3, False),
        (7, 11, 7, False),
    ],
)
def test_casts_merge_only_where_nothing_is_lost(start: int, middle: int, end: int, merges: bool) -> None:
    text = f"""g ({_NAMES[start]}[N] x) => ({_NAMES[end]}[N] y)
    {{ a = Cast <to = {middle}> (x)  y = Cast <to = {end}> (a) }}"""
    proto = model(text)
    module = load(proto)
    run(module, MergeChains())
    assert len(module.graph) == (1 if merges else 2)
    assert_same(proto, module, N=1)
    assert_same(proto, module, N=8)


def test_lossless_by_trying_every_number_of_small_types() -> None:
    small = {oir.DataType.INT8: np.int8, oir.DataType.UINT8: np.uint8, oir.DataType.FLOAT16: np.float16}
    wide = {**small, oir.DataType.INT16: np.int16, oir.DataType.INT32: np.int32, oir.DataType.FLOAT: np.float32}
    for start, numpy_start in small.items():
        every = np.arange(1 << (8 * np.dtype(numpy_start).itemsize), dtype=np.uint32)
        numbers = every.astype(f"u{np.dtype(numpy_start).itemsize}").view(numpy_start)
        for end, numpy_end in wide.items():
            with np.errstate(all="ignore"):
                kept = numbers.astype(numpy_end).astype(numpy_start)
                exact = numbers.astype(np.float64) == numbers.astype(numpy_end).astype(np.float64)
            same = bool((exact | np.isnan(numbers.astype(np.float64))).all()) and kept.dtype == numbers.dtype
            assert lossless(start, end) == same, (start, end)


def test_a_reshape_skips_the_view_before_it_unless_a_zero_copies_from_there() -> None:
    text = """g (float[N,3,4] x) => (float[N,2,6] y, float[N,4,3] z)
    <int64[2] flat = {-1, 12}, int64[3] to = {-1, 2, 6}, int64[3] copy = {0, 4, 3}>
    { a = Reshape(x, flat)  y = Reshape(a, to)  z = Reshape(a, copy) }"""
    check(
        text,
        MergeChains(),
        ["a = Reshape(x, [-1, 12])", "y = Reshape(x, [-1, 2, 6])", "z = Reshape(a, [0, 4, 3])"],
        shapes=({"N": 1}, {"N": 4}),
    )


_PADS = "int64[8] p = {0, 0, 1, 2, 0, 0, 3, 0}"


def test_a_pad_of_zeros_goes_into_a_conv_and_a_pool_that_counts_it() -> None:
    text = f"""g (float[N,2,5,5] x) => (float[N,1,7,5] y, float[N,2,6,4] z) <{_PADS}>
    {{ a = Pad(x, p)  y = Conv(a, w)  z = AveragePool <kernel_shape = [4, 4]> (a) }}"""
    module, _ = check(
        text,
        FoldPad(),
        [
            "y = Conv(x, const[1, 2, 3, 3])[pads=[1, 2, 3, 0]]",
            "z = AveragePool(x)[count_include_pad=1, pads=[1, 2, 3, 0]]",
        ],
        weights={"w": np.random.default_rng(0).normal(size=(1, 2, 3, 3)).astype(np.float32)},
        rtol=1e-5,
        atol=1e-6,
        shapes=({"N": 1}, {"N": 2}),
    )
    assert len(module.graph) == 2


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("a = Pad(x, p, one)  y = Conv(a, w)", "it does not pad with a constant zero"),
        ('a = Pad <mode = "reflect"> (x, p)  y = Conv(a, w)', "it pads by mode reflect"),
        (
            "a = Pad(x, p)  y = MaxPool <kernel_shape = [3, 3]> (a)",
            "`MaxPool_0` pads with minus infinity, not with zeros",
        ),
        (
            "a = Pad(x, p)  y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)",
            "`AveragePool_0` counts the zeros of the Pad, but not its own padding",
        ),
        ("a = Pad(x, c)  y = Conv(a, w)", "it pads the batch or the channels"),
        ("a = Pad(x, n)  y = Conv(a, w)", "it crops"),
    ],
)
def test_other_pads_stay(body: str, reason: str) -> None:
    text = f"""g (float[2,2,5,5] x) => (float[?,?,?,?] y) <int64[8] p = {{0, 0, 1, 1, 0, 0, 1, 1}}, float one = {{1}},
    int64[8] c = {{0, 0, 1, 1, 1, 0, 1, 1}}, int64[8] n = {{0, 0, 1, 1, 0, 0, -1, 1}}> {{ {body} }}"""
    module = load(model(text, {"w": np.ones((1, 2, 3, 3), np.float32)}))
    before = listing(module)
    result, context = run(module, FoldPad())
    assert not result.changed
    assert listing(module) == before
    assert messages(context, "declined") == [("Pad_0", reason)]


def test_a_pad_before_padding_that_depends_on_the_size_stays() -> None:
    text = """g (float[N,2,H,5] x) => (float[?,?,?,?] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
    { a = Pad(x, p)  y = Conv <auto_pad = "SAME_UPPER", strides = [2, 2]> (a, w) }"""
    module = load(model(text, {"w": np.ones((1, 2, 3, 3), np.float32)}))
    result, context = run(module, FoldPad())
    assert not result.changed
    assert messages(context, "declined") == [("Pad_0", "`Conv_0` derives its padding from the size of its input")]
