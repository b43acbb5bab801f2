"""std.attention: the forms that exporters write attention and rotary embeddings in, and what must be left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as oir
import pytest
from onnx.reference import ReferenceEvaluator
from rewrite_harness import Rewritten, rewritten

RNG = np.random.default_rng(0)
Q, KT, V, OUT = "float[2,4,6,8] q", "float[2,4,8,10] kt", "float[2,4,10,8] v", "float[2,4,6,8] o"
END = "p = Softmax<axis = -1>({s}) o = MatMul(p, v)"
INF = np.float32(-np.inf)


def attention(
    body: str,
    *more: str,
    times: int = 1,
    inputs: str = f"{Q}, {KT}, {V}",
    out: str = OUT,
    **weights: np.ndarray | np.float32 | float,
) -> Rewritten:
    """A graph of `inputs` and `more` after std.attention. Weights that are numbers are float32."""
    arrays = {k: w if isinstance(w, np.ndarray) else np.array(w, np.float32) for k, w in weights.items()}
    given = ", ".join((inputs, *more))
    return rewritten("std.attention", f"g ({given}) => ({out}) {{ {body} }}", weights=arrays, times=times)


def reference(model: onnx.ModelProto, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    return ReferenceEvaluator(model).run(None, given)


def count(found: Rewritten, operator: str) -> int:
    return found.operators.split().count(operator)


def scale(found: Rewritten) -> float:
    (node,) = [n for n in found.module.nodes() if n.op_type == "Attention"]
    return float(node.attributes["scale"].value)


SCALES = {
    "product, Mul": ("m = MatMul(q, kt) s = Mul(m, c)", 0.25, 0.25),
    "product, Mul swapped": ("m = MatMul(q, kt) s = Mul(c, m)", 0.25, 0.25),
    "product, Div": ("m = MatMul(q, kt) s = Div(m, c)", 3.0, 1 / 3),
    "query, Mul": ("a = Mul(q, c) s = MatMul(a, kt)", 0.25, 0.25),
    "query, Div": ("a = Div(q, c) s = MatMul(a, kt)", 3.0, 1 / 3),
    "keys, Div": ("b = Div(kt, c) s = MatMul(q, b)", 3.0, 1 / 3),
    "both, roots": ("a = Mul(q, c) b = Mul(kt, c) s = MatMul(a, b)", 0.5, 0.25),
    "both, Div and Mul": ("a = Div(q, d) b = Mul(kt, c) s = MatMul(a, b)", 0.5, 0.25),
    "none": ("s = MatMul(q, kt)", 1.0, 1.0),
}


@pytest.mark.parametrize("name", SCALES)
def test_every_place_of_the_scale_reaches_attention(name: str) -> None:
    body, number, expected = SCALES[name]
    wanted = {"c": number, "d": 2.0}
    used = {k: v for k, v in wanted.items() if f"{k})" in body or f"({k}," in body}
    found = attention(f"{body} {END.format(s='s')}", **used).same()
    assert found.counts["fuse_attention"] == 1
    assert scale(found) == pytest.approx(expected, rel=1e-6)
    assert found.operators == "Transpose Attention"


@pytest.mark.parametrize("mask", ["2,1,6,10", "1,4,6,10", "2,4,6,10", "6,10", "4,6,10"])
def test_masks_that_broadcast(mask: str) -> None:
    found = attention(f"m = MatMul(q, kt) s = Add(m, mask) {END.format(s='s')}", f"float[{mask}] mask").same()
    assert found.operators == "Transpose Attention"


def test_a_mask_over_the_keys_gets_a_row_for_each_query() -> None:
    found = attention(f"m = MatMul(q, kt) s = Add(mask, m) {END.format(s='s')}", "float[2,1,1,10] mask").same()
    assert found.counts["fuse_attention_key_mask"] == 1
    assert found.operators == "Transpose Expand Attention"


def test_a_mask_that_makes_the_scores_larger_is_left() -> None:
    found = attention(
        f"m = MatMul(q, kt) s = Add(m, mask) {END.format(s='s')}",
        "float[2,1,6,10] mask",
        inputs=f"float[1,4,6,8] q, float[1,4,8,10] kt, {V}",
    )
    assert count(found, "Attention") == 0


def test_the_guard_of_sdpa_with_a_query_that_sees_nothing() -> None:
    mask = np.zeros((2, 1, 6, 10), np.float32)
    mask[0, 0, 2] = -np.inf
    mask[1, 0, 3, 4:] = -np.inf
    guard = "w = Softmax<axis = -1>(s) n = IsNaN(w) p = Where(n, zero, w) o = MatMul(p, v)"
    found = attention(f"m = MatMul(q, kt) s = Add(m, mask) {guard}", mask=mask, zero=0.0).same()
    assert found.operators == "Transpose Attention"


def test_position_bias_and_mask_are_joined() -> None:
    body = f"m = MatMul(q, kt) a = Add(m, bias) s = Add(a, mask) {END.format(s='s')}"
    found = attention(body, "float[1,4,6,10] bias", "float[2,1,6,10] mask").same()
    assert found.counts["attention_join_masks"] == 1
    assert found.operators == "Add Transpose Attention"


def test_a_scale_after_the_bias() -> None:
    body = f"m = MatMul(q, kt) a = Add(m, bias) s = Div(a, c) {END.format(s='s')}"
    found = attention(body, "float[1,4,6,10] bias", c=4.0).same()
    assert scale(found) == 0.25
    assert found.operators == "Mul Transpose Attention"


def test_a_scale_on_keys_before_their_transpose() -> None:
    body = f"b = Div(k, c) kt = Transpose<perm = [0,1,3,2]>(b) s = MatMul(q, kt) {END.format(s='s')}"
    found = attention(body, inputs=f"{Q}, float[2,4,10,8] k, {V}", c=4.0).same()
    assert scale(found) == 0.25


def test_a_number_for_each_head() -> None:
    body = f"m = MatMul(q, kt) s = Mul(m, c) {END.format(s='s')}"
    found = attention(body, c=RNG.random((4, 1, 1)).astype(np.float32)).same()
    assert found.operators == "Mul Transpose Attention"


SEEN = np.tril(np.ones((6, 10), bool), 4)[None, None]
FILLS = [-np.inf, -3.4028234663852886e38, -1e9, -1e4]


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("hidden", [False, True])
def test_filled_scores(fill: float, hidden: bool) -> None:
    where = "Where(b, f, m)" if hidden else "Where(b, m, f)"
    body = f"m = MatMul(q, kt) s = {where} {END.format(s='s')}"
    found = attention(body, f=fill, b=~SEEN if hidden else SEEN).same()
    assert count(found, "Attention") == 1


@pytest.mark.parametrize("fill", FILLS[2:])
def test_a_query_that_sees_nothing_has_equal_weights_where_the_fill_is_finite(fill: float) -> None:
    seen = SEEN.copy()
    seen[0, 0, 3] = False
    found = attention(f"m = MatMul(q, kt) s = Where(b, m, f) {END.format(s='s')}", f=fill, b=seen).same()
    assert count(found, "Attention") == 1


def test_the_lowest_float_is_not_infinity() -> None:
    # By ONNX a query whose keys are all masked by the lowest float has equal weights. ONNX Runtime takes it for -inf.
    seen = SEEN.copy()
    seen[0, 0, 3] = False
    found = attention(f"m = MatMul(q, kt) s = Where(b, m, f) {END.format(s='s')}", f=FILLS[1], b=seen)
    assert count(found, "Attention") == 1
    given = {
        "q": RNG.standard_normal((2, 4, 6, 8)).astype(np.float32),
        "kt": RNG.standard_normal((2, 4, 8, 10)).astype(np.float32),
        "v": RNG.standard_normal((2, 4, 10, 8)).astype(np.float32),
    }
    (before,) = reference(found.before, given)
    (after,) = reference(oir.serde.serialize_model(found.module.model), given)
    np.testing.assert_allclose(before[:, :, 3], np.broadcast_to(given["v"].mean(2), (2, 4, 8)), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-5)


def test_a_finite_fill_in_half_precision_is_left() -> None:
    body = f"m = MatMul(q, kt) s = Where(b, m, f) {END.format(s='s')}"
    half = f"{Q}, {KT}, {V}".replace("float", "float16")
    found = attention(body, inputs=half, out=OUT.replace("float", "float16"), f=np.array(-1e4, np.float16), b=SEEN)
    assert count(found, "Attention") == 0


def test_a_mask_of_infinities_is_what_is_seen() -> None:
    body = f"mask = Where(b, z, f) m = MatMul(q, kt) s = Add(m, mask) {END.format(s='s')}"
    found = attention(body, "bool[2,1,6,10] b", times=2, z=0.0, f=INF)
    assert found.counts["attention_boolean_mask"] == 1
    assert found.operators == "Transpose Attention"


@pytest.mark.parametrize("batch", [1, 3])
def test_the_mask_of_shifted_windows(batch: int) -> None:
    m = 4 * batch
    body = (
        "s0 = MatMul(q, kt) s1 = Add(s0, bias) s5 = Reshape(s1, five) a5 = Add(s5, mask) s = Reshape(a5, four) "
        + END.format(s="s")
    )
    found = attention(
        body,
        times=2,
        inputs=f"float[{m},3,5,8] q, float[{m},3,8,5] kt, float[{m},3,5,8] v, float[1,3,5,5] bias",
        out=f"float[{m},3,5,8] o",
        five=np.array([batch, 4, 3, 5, 5]),
        four=np.array([-1, 3, 5, 5]),
        mask=np.where(RNG.random((1, 4, 1, 5, 5)) < 0.3, np.float32(-100), np.float32(0)),
    ).same()
    assert count(found, "Attention") == 1
    assert count(found, "Softmax") == 0


def test_values_before_weights() -> None:
    body = "s = MatMul(q, kt) p = Softmax<axis = -1>(s) t = Transpose<perm = [0,1,3,2]>(p) o = MatMul(vt, t)"
    found = attention(body, times=2, inputs=f"{Q}, {KT}, float[2,4,8,10] vt", out="float[2,4,8,6] o").same()
    assert count(found, "Attention") == 1


@pytest.mark.parametrize("masked", [False, True])
def test_heads_merged_with_the_batch(masked: bool) -> None:
    add = "s4 = Reshape(s3, four) a4 = Add(s4, mask) s = Reshape(a4, three)" if masked else "s = Identity(s3)"
    scores = add if masked else ""
    last = "s" if masked else "s3"
    body = (
        "q3 = Reshape(q, merge) k3 = Reshape(k, merge) v3 = Reshape(v, merge) kt = Transpose<perm = [0,2,1]>(k3) "
        f"s3 = MatMul(q3, kt) {scores} p = Softmax<axis = -1>({last}) o3 = MatMul(p, v3) o = Reshape(o3, split)"
    )
    weights: dict[str, Any] = {"merge": np.array([8, -1, 8]), "split": np.array([2, 4, 6, 8])}
    if masked:
        weights |= {"four": np.array([2, 4, 6, 10]), "three": np.array([8, 6, 10])}
    more = ("float[2,1,6,10] mask",) if masked else ()
    found = attention(body, *more, inputs=f"{Q}, float[2,4,10,8] k, {V}", **weights).same()
    assert found.counts["fuse_merged_attention"] == 1
    assert found.operators == "Attention"


def test_a_softmax_over_another_view_of_merged_scores_is_left() -> None:
    body = (
        "q3 = Reshape(q, merge) k3 = Reshape(k, merge) v3 = Reshape(v, merge) kt = Transpose<perm = [0,2,1]>(k3) "
        "s3 = MatMul(q3, kt) s4 = Unsqueeze(s3, end) p4 = Softmax<axis = -1>(s4) p = Squeeze(p4, end) "
        "o3 = MatMul(p, v3) o = Reshape(o3, split)"
    )
    weights = {"merge": np.array([8, -1, 8]), "split": np.array([2, 4, 6, 8]), "end": np.array([3])}
    assert count(attention(body, inputs=f"{Q}, float[2,4,10,8] k, {V}", **weights), "Attention") == 0


@pytest.mark.parametrize("mask", [None, "1,6,10", "4,6,10"])
def test_rank_3(mask: str | None) -> None:
    add = "s = Add(m, mask)" if mask else ""
    body = f"m = MatMul(q, kt) {add} {END.format(s='s' if mask else 'm')}"
    more = (f"float[{mask}] mask",) if mask else ()
    found = attention(
        body, *more, inputs="float[4,6,8] q, float[4,8,10] kt, float[4,10,8] v", out="float[4,6,8] o"
    ).same()
    assert count(found, "Attention") == 1


REPEAT = "{x}5 = Unsqueeze({x}, two) {x}e = Expand({x}5, sizes) {x}r = Reshape({x}e, merge)"


def test_keys_and_values_repeated_for_their_heads() -> None:
    body = (
        f"{REPEAT.format(x='k')} {REPEAT.format(x='v')} kt = Transpose<perm = [0,1,3,2]>(kr) m = MatMul(q, kt) "
        "s = Mul(m, c) p = Softmax<axis = -1>(s) o = MatMul(p, vr)"
    )
    found = attention(
        body,
        inputs=f"{Q}, float[2,2,10,8] k, float[2,2,10,8] v",
        two=np.array([2]),
        sizes=np.array([2, 2, 2, 10, 8]),
        merge=np.array([2, 4, 10, 8]),
        c=0.25,
    ).same()
    assert found.operators == "Attention"


def test_heads_tiled_in_another_order_are_not_repeats() -> None:
    body = (
        "k4 = Tile(k, reps) v4 = Tile(v, reps) kt = Transpose<perm = [0,1,3,2]>(k4) s = MatMul(q, kt) "
        "p = Softmax<axis = -1>(s) o = MatMul(p, v4)"
    )
    found = attention(body, inputs=f"{Q}, float[2,2,10,8] k, float[2,2,10,8] v", reps=np.array([1, 2, 1, 1])).same()
    assert found.operators.startswith("Tile Tile")


def test_one_head_of_keys_for_all_queries() -> None:
    found = attention(
        f"s = MatMul(q, kt) {END.format(s='s')}", inputs=f"{Q}, float[2,1,8,10] kt, float[2,1,10,8] v"
    ).same()
    assert found.operators == "Transpose Attention"


LOOKALIKES = {
    "another axis": "s = MatMul(q, kt) p = Softmax<axis = 2>(s) o = MatMul(p, v)",
    "a negative scale": f"m = MatMul(q, kt) s = Mul(m, c) {END.format(s='s')}",
    "a scale by a tensor": f"m = MatMul(q, kt) s = Mul(m, w) {END.format(s='s')}",
}


@pytest.mark.parametrize("name", LOOKALIKES)
def test_lookalikes_are_left(name: str) -> None:
    body = LOOKALIKES[name]
    given: dict[str, Any] = {"c": -0.5} if "c)" in body else {}
    if "w)" in body:
        given["w"] = RNG.random((6, 10)).astype(np.float32)
    assert count(attention(body, **given), "Attention") == 0


def test_weights_that_are_an_output_stay() -> None:
    found = attention(f"s = MatMul(q, kt) {END.format(s='s')}", out=f"{OUT}, float[2,4,6,10] p")
    assert count(found, "Attention") == 0
    assert any("output of the graph" in d for d in found.declined)


# ---- rotary embeddings

X = "float[2,4,6,8] x"
Y = "float[2,4,6,8] y"
WAVES = "e = Concat<axis = -1>(f, f) c0 = Cos(e) s0 = Sin(e)"
SLICES = "a = Slice(x, n0, n4, last, one) b = Slice(x, n4, n8, last, one)"
TURN = "n = Neg(b) r = Concat<axis = -1>(n, a) xc = Mul(x, c) rs = Mul(r, s) y = Add(xc, rs)"
NUMBERS = {
    "n0": np.array([0]),
    "n1": np.array([1]),
    "n2": np.array([2]),
    "n4": np.array([4]),
    "n8": np.array([8]),
    "last": np.array([3]),
    "one": np.array([1]),
    "axis": np.array([1]),
    "halves": np.array([4, 4]),
    "fifth": np.array([4]),
    "whole": np.array([2, 4, 6, 8]),
}


def rotary(body: str, *inputs: str, times: int = 1, **weights: np.ndarray) -> Rewritten:
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    known = {k: v for k, v in NUMBERS.items() if k in words} | weights
    return rewritten(
        "std.attention", f"g ({', '.join((X, *inputs))}) => ({Y}) {{ {body} }}", weights=known, times=times
    )


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("split", [False, True])
def test_rotate_half(batch: int, split: bool) -> None:
    halves = "a, b = Split<axis = -1>(x, halves)" if split else SLICES
    body = f"{WAVES} c = Unsqueeze(c0, axis) s = Unsqueeze(s0, axis) {halves} {TURN}"
    found = rotary(body, f"float[{batch},6,4] f").same()
    assert found.counts["fuse_rotary"] == 1
    assert count(found, "RotaryEmbedding") == 1


def test_rotate_half_of_constants() -> None:
    angles = RNG.random((6, 4)).astype(np.float32)
    full = np.concatenate([angles, angles], -1)
    found = rotary(f"{SLICES} {TURN}", c=np.cos(full), s=np.sin(full)).same()
    assert count(found, "RotaryEmbedding") == 1


def test_constants_whose_halves_differ_are_left() -> None:
    full = RNG.random((6, 8)).astype(np.float32)
    assert count(rotary(f"{SLICES} {TURN}", c=np.cos(full), s=np.sin(full)), "RotaryEmbedding") == 0


def test_rotate_half_of_tables() -> None:
    angles = RNG.random((12, 4)).astype(np.float32)
    full = np.concatenate([angles, angles], -1)
    body = f"cg = Gather(tc, ids) sg = Gather(ts, ids) c = Unsqueeze(cg, axis) s = Unsqueeze(sg, axis) {SLICES} {TURN}"
    found = rotary(body, ids=np.array([[3, 1, 4, 1, 5, 9]]), tc=np.cos(full), ts=np.sin(full)).same()
    assert found.counts["fuse_rotary_of_tables"] == 1


def test_cosines_of_half_the_width() -> None:
    body = f"{SLICES} ac = Mul(a, c) bs = Mul(b, s) l = Sub(ac, bs) bc = Mul(b, c) as = Mul(a, s) r = Add(bc, as)"
    found = rotary(f"{body} y = Concat<axis = -1>(l, r)", "float[1,1,6,4] c", "float[1,1,6,4] s").same()
    assert found.counts["fuse_rotary_of_halves"] == 1


def test_every_two_of_constants() -> None:
    pairs = np.repeat(RNG.random((6, 4)).astype(np.float32), 2, -1)
    body = (
        "a = Slice(x, n0, n8, last, n2) b = Slice(x, n1, n8, last, n2) m = Neg(b) mu = Unsqueeze(m, fifth) "
        "au = Unsqueeze(a, fifth) r5 = Concat<axis = -1>(mu, au) r = Reshape(r5, whole) "
        "xc = Mul(x, c) rs = Mul(r, s) y = Add(xc, rs)"
    )
    found = rotary(body, c=np.cos(pairs), s=np.sin(pairs)).same()
    assert found.counts["fuse_interleaved_rotary_of_constants"] == 1


def test_halves_turned_the_other_way_are_left() -> None:
    turn = "n = Neg(a) r = Concat<axis = -1>(b, n) xc = Mul(x, c) rs = Mul(r, s) y = Add(xc, rs)"
    body = f"{WAVES} c = Unsqueeze(c0, axis) s = Unsqueeze(s0, axis) {SLICES} {turn}"
    assert count(rotary(body, "float[1,6,4] f"), "RotaryEmbedding") == 0


def test_every_other_element_is_not_the_first_half() -> None:
    halves = "a = Slice(x, n0, n8, last, n2) b = Slice(x, n4, n8, last, one)"
    body = f"{WAVES} c = Unsqueeze(c0, axis) s = Unsqueeze(s0, axis) {halves} {TURN}"
    assert count(rotary(body, "float[1,6,4] f"), "RotaryEmbedding") == 0
