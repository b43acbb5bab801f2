"""Operators of com.microsoft."""

from __future__ import annotations

import pytest
from infer_cases import fact_of, text_of

CASES = [
    ("float[B,S,8] x", "y = com.microsoft.FastGelu(x)", "float[B, S, 8]"),
    ("float[B,S,8] x, float[8] g", "y = com.microsoft.SkipLayerNormalization(x, x, g)", "float[B, S, 8]"),
    ("float[B,S,8] x, float[B,T,8] z", "y = com.microsoft.FusedMatMul<transB = 1>(x, z)", "float[B, S, T]"),
    ("float[N,8] x, float[4,8] w", "y = com.microsoft.FusedGemm<transB = 1>(x, w)", "float[N, 4]"),
    (
        "float[B,S,32] q, float[B,T,32] k, float[B,T,64] v",
        "y = com.microsoft.MultiHeadAttention<num_heads = 4>(q, k, v)",
        "float[B, S, 64]",
    ),
    (
        "float[B,S,32] x, uint8[64,1,16] w, float[64] s",
        "y = com.microsoft.MatMulNBits<N = 64, K = 32, bits = 4, block_size = 32>(x, w, s)",
        "float[B, S, 64]",
    ),
    ("float[B,S] x", "y = com.microsoft.NeverHeardOf(x)", "?[?]"),
]


@pytest.mark.parametrize(("inputs", "body", "expected"), CASES)
def test_fact(inputs: str, body: str, expected: str) -> None:
    assert text_of(fact_of(inputs, body)) == expected
