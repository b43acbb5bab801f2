"""std.packed: heads that stay side by side in the last axis, and attention that must keep them apart."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_harness import Rewritten, rewritten

SHAPES: dict[str, int | list[int]] = {
    "apart": [0, 0, 4, 8],
    "apart2": [0, 0, 2, 8],
    "together": [0, 0, 32],
    "flat": [-1, 32],
    "three": [0, 0, 3, 4, 8],
    "ones": [1, 1, 1],
    "zero": [0],
    "mixed": [0, 4, -1, 8],
    "i0": 0,
    "i1": 1,
    "i2": 2,
}
HEADS = "q1 = Reshape(q, apart) qh = Transpose<perm=[0,2,1,3]>(q1) "
KEYS = (
    "k1 = Reshape(k, {0}) kh = Transpose<perm=[0,2,1,3]>(k1) v1 = Reshape(v, {0}) vh = Transpose<perm=[0,2,1,3]>(v1) "
)
BACK = "t = Transpose<perm=[0,2,1,3]>(o) y = Reshape(t, together)"


def packed(body: str, *inputs: str, y: str = "float[N, S, 32] y") -> Rewritten:
    weights = {name: np.array(value, np.int64) for name, value in SHAPES.items() if f", {name})" in body}
    return rewritten("std.packed", f"g ({', '.join(inputs)}) => ({y}) {{ {body} }}", weights=weights)


QKV = ("float[N, S, 32] q", "float[N, T, 32] k", "float[N, T, 32] v")


def test_attention_between_linear_layers() -> None:
    found = packed(HEADS + KEYS.format("apart") + "o = Attention<scale=0.5>(qh, kh, vh) " + BACK, *QKV)
    assert found.operators == "Attention"
    (node,) = found.module.nodes()
    assert node.attributes["q_num_heads"].as_int() == node.attributes["kv_num_heads"].as_int() == 4
    assert node.attributes["scale"].as_float() == 0.5
    found.same(N=2, S=3, T=5)


def test_fewer_heads_of_keys_and_a_mask() -> None:
    inputs = ("float[N, S, 32] q", "float[N, T, 16] k", "float[N, T, 16] v", "bool[N, 1, S, T] mask")
    found = packed(HEADS + KEYS.format("apart2") + "o = Attention(qh, kh, vh, mask) " + BACK, *inputs)
    (node,) = found.module.nodes()
    assert (node.attributes["q_num_heads"].as_int(), node.attributes["kv_num_heads"].as_int()) == (4, 2)
    assert [value.name for value in node.inputs if value is not None] == ["q", "k", "v", "mask"]


PIECES = {
    "Split": "a, b, c = Split<axis=0>(t, ones) qh = Squeeze(a, zero) kh = Squeeze(b, zero) vh = Squeeze(c, zero) ",
    "Gather": "qh = Gather<axis=0>(t, i0) kh = Gather<axis=0>(t, i1) vh = Gather<axis=0>(t, i2) ",
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_query_key_and_value_of_one_layer(pieces: str) -> None:
    turned = "r = Reshape(x, three) t = Transpose<perm=[2,0,3,1,4]>(r) "
    back = "u = Transpose<perm=[0,2,1,3]>(o) y = Reshape(u, together)"
    found = packed(turned + pieces + "o = Attention(qh, kh, vh) " + back, "float[N, S, 96] x")
    assert found.operators == "Split Attention"
    found.same(N=2, S=3)


def test_keys_that_are_also_an_output_stay() -> None:
    body = HEADS + KEYS.format("apart") + "o = Attention(qh, kh, vh) " + BACK
    found = packed(body, *QKV, y="float[N, S, 32] y, float[N, 4, T, 8] kh")
    assert found.operators.count("Attention") == 1
    found.same(N=2, S=3, T=5)


def test_batch_and_length_that_are_merged_after_it_stay_apart() -> None:
    back = "t = Transpose<perm=[0,2,1,3]>(o) y = Reshape(t, flat)"
    body = HEADS + KEYS.format("apart") + "o = Attention(qh, kh, vh) " + back
    found = packed(body, *QKV, y="float[M, 32] y")
    assert found.counts["attention_of_packed_heads"] == 0


def test_a_view_that_mixes_length_and_heads_stays() -> None:
    """[N, S, 32] to [N, 4, S, 8] without a transpose is another matter."""
    body = "qh = Reshape(q, mixed) kh = Reshape(k, mixed) vh = Reshape(v, mixed) o = Attention(qh, kh, vh) " + BACK
    found = packed(body, "float[N, 4, 32] q", "float[N, 4, 32] k", "float[N, 4, 32] v", y="float[N, 4, 32] y")
    assert found.counts["attention_of_packed_heads"] == 0
