"""std.horizontal: siblings over one input, of whatever number and widths."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_harness import Rewritten, rewritten


def tensor(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([*shape, seed]).standard_normal(shape).astype(np.float32)


def merged(graph: str, **weights: np.ndarray) -> Rewritten:
    found = rewritten("std.horizontal", graph, weights=weights, times=2)
    return found.same(rtol=1e-4, atol=1e-4, B=2, S=3)


HEADS = "g (float[B, S, 32] x) => (float[B, S, 8] u, float[B, S, 8] v, float[B, S, 24] z)"
RELU = "u = Relu(q) v = Relu(k) z = Relu(r)"


def test_projections_of_different_widths_become_one() -> None:
    body = "a = MatMul(x, wq) q = Add(a, bq) c = MatMul(x, wk) k = Add(bk, c) d = MatMul(x, wr) r = Add(d, br)"
    found = merged(
        f"{HEADS} {{ {body} {RELU} }}",
        wq=tensor(32, 8),
        bq=tensor(8),
        wk=tensor(32, 8, seed=1),
        bk=tensor(8, seed=1),
        wr=tensor(32, 24),
        br=tensor(24),
    )
    assert found.counts["merge_projections"] == 1
    assert found.operators == "MatMul Add Split Relu Relu Relu"
    assert [i.shape.numpy() for i in found.module.graph.initializers.values() if i.uses() and i.shape] == [
        (32, 40),
        (40,),
        (3,),
    ]


def test_a_sibling_without_a_bias_gets_zeros() -> None:
    body = "a = MatMul(x, wq) q = Add(a, bq) k = MatMul(x, wk) d = MatMul(x, wr) r = Add(d, br)"
    found = merged(
        f"{HEADS} {{ {body} {RELU} }}",
        wq=tensor(32, 8),
        bq=tensor(8),
        wk=tensor(32, 8, seed=1),
        wr=tensor(32, 24),
        br=tensor(24),
    )
    assert found.operators == "MatMul Add Split Relu Relu Relu"


def test_without_any_bias_there_is_none() -> None:
    body = "q = MatMul(x, wq) k = MatMul(x, wk) r = MatMul(x, wr)"
    found = merged(f"{HEADS} {{ {body} {RELU} }}", wq=tensor(32, 8), wk=tensor(32, 8, seed=1), wr=tensor(32, 24))
    assert found.operators == "MatMul Split Relu Relu Relu"


def test_gate_and_up() -> None:
    found = merged(
        "g (float[B, S, 32] x) => (float[B, S, 40] y) "
        "{ gate = MatMul(x, a) up = MatMul(x, b) s = Sigmoid(gate) m = Mul(gate, s) y = Mul(m, up) }",
        a=tensor(32, 40),
        b=tensor(32, 40, seed=1),
    )
    assert found.operators == "MatMul Split Sigmoid Mul Mul"


@pytest.mark.parametrize("rows", [True, False])
def test_gemm(rows: bool) -> None:
    turn = "<transB = 1>" if rows else ""
    found = merged(
        f"g (float[B, 32] x) => (float[B, 8] u, float[B, 4] v) "
        f"{{ p = Gemm{turn}(x, a, c) q = Gemm{turn}(x, b) u = Relu(p) v = Relu(q) }}",
        a=tensor(8, 32) if rows else tensor(32, 8),
        b=tensor(4, 32) if rows else tensor(32, 4),
        c=tensor(8),
    )
    assert found.operators == "Gemm Split Relu Relu"
    assert ("const[12, 32]" if rows else "const[32, 12]") in found.lines[0]


INCEPTION = "g (float[B, 16, 5, 5] x) => (float[B, 4, 5, 5] u, float[B, 6, 5, 5] v)"


def test_branches_with_a_relu() -> None:
    found = merged(
        f"{INCEPTION} {{ p = Conv(x, a, c) q = Conv(x, b, d) r = Relu(p) s = Relu(q) u = Conv(r, e) v = Conv(s, f) }}",
        a=tensor(4, 16, 1, 1),
        b=tensor(6, 16, 1, 1),
        c=tensor(4),
        d=tensor(6),
        e=tensor(4, 4, 1, 1),
        f=tensor(6, 6, 1, 1),
    )
    assert found.counts["merge_conv_relu"] == 1
    assert found.operators == "Conv Relu Split Conv Conv"


def test_other_geometry_stays_and_says_so() -> None:
    found = merged(
        f"{INCEPTION} {{ p = Conv(x, a) q = Conv<pads = [1, 1, 1, 1]>(x, b) u = Sigmoid(p) v = Sigmoid(q) }}",
        a=tensor(4, 16, 1, 1),
        b=tensor(6, 16, 3, 3),
    )
    assert found.operators == "Conv Conv Sigmoid Sigmoid"
    assert any("none of its siblings over `x` has $k = (1, 1)" in line for line in found.declined)


def test_grouped_convolutions_stay() -> None:
    found = merged(
        f"{INCEPTION} {{ p = Conv<group = 2>(x, a) q = Conv<group = 2>(x, b) u = Sigmoid(p) v = Sigmoid(q) }}",
        a=tensor(4, 8, 1, 1),
        b=tensor(6, 8, 1, 1),
    )
    assert found.operators == "Conv Conv Sigmoid Sigmoid"


def test_a_merge_that_only_adds_copies_stays() -> None:
    # The first convolution of a bottleneck and the one of its shortcut: each takes what follows into its kernel.
    found = merged(
        "g (float[B, 8, 5, 5] x, float[B, 32, 5, 5] r) => (float[B, 8, 5, 5] u, float[B, 32, 5, 5] v) "
        "{ p = Conv(x, a) q = Conv(x, b) u = Relu(p) v = Add(q, r) }",
        a=tensor(8, 8, 1, 1),
        b=tensor(32, 8, 1, 1),
    )
    assert found.operators == "Conv Conv Relu Add"
    assert any("add copies that move" in line for line in found.declined)


def test_large_outputs_of_the_model_are_not_cut_from_one() -> None:
    found = merged(
        "g (float[B, 8] x) => (float[B, 100] u, float[B, 1] v) { u = MatMul(x, a) v = MatMul(x, b) }",
        a=tensor(8, 100),
        b=tensor(8, 1),
    )
    assert found.operators == "MatMul MatMul"
