"""The operators of com.microsoft that optimized exports contain most often (ONNX Runtime's ContribOperators.md)."""

from __future__ import annotations

import onnx_ir as oir

from trtc.ir.dims import Dim
from trtc.ir.infer.broadcast import broadcast
from trtc.ir.infer.fact import UNKNOWN, Fact
from trtc.ir.infer.linear import check_inner, product_shape
from trtc.ir.infer.op import Op, Shape, rule, static

DOMAIN = "com.microsoft"


@rule("Gelu", "FastGelu", "QuickGelu", "BiasGelu", domain=DOMAIN)
def gelu(op: Op) -> Fact:
    return Fact(op.dtype(0), op.shape(0))


@rule("BiasAdd", inputs=3, domain=DOMAIN)
def bias_add(op: Op) -> Fact:
    return Fact(op.same_dtype(), op.shape(0))


@rule("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", inputs=3, domain=DOMAIN)
def skip_layer_normalization(op: Op) -> list[Fact]:
    """Outputs: result, mean, inverse deviation, and the sum of input and skip."""
    x, dtype = op.shape(0), op.dtype(0)
    kept: Shape | None = None if x is None else (*x[:-1], 1)
    statistic = Fact(oir.DataType.FLOAT, kept)
    return [Fact(dtype, x), statistic, statistic, Fact(dtype, x)]


@rule("FusedMatMul", "TransposeMatMul", inputs=2, domain=DOMAIN)
def fused_matmul(op: Op) -> Fact:
    """MatMul of operands whose last two dims are swapped when transA or transB says so."""
    dtype = op.same_dtype(0, 1)
    a, b = op.shape(0), op.shape(1)
    if op.int("transBatchA", 0) or op.int("transBatchB", 0):
        return Fact(dtype, None if a is None else op.unknowns(len(a)))
    return Fact(dtype, product_shape(op, _swapped(a, op.int("transA", 0)), _swapped(b, op.int("transB", 0))))


def _swapped(shape: Shape | None, swap: int) -> Shape | None:
    return (*shape[:-2], shape[-1], shape[-2]) if swap and shape is not None and len(shape) > 1 else shape


@rule("FusedGemm", inputs=2, domain=DOMAIN)
def fused_gemm(op: Op) -> Fact:
    dtype, a, b = op.same_dtype(), op.shape(0), op.shape(1)
    op.rank(0, 2, 2)
    op.rank(1, 2, 2)
    if a is None or b is None:
        return Fact(dtype, op.unknowns(2))
    a, b = (_swapped(a, op.int("transA", 0)) or a), (_swapped(b, op.int("transB", 0)) or b)
    check_inner(op, a[1], b[0], a, b)
    return Fact(dtype, (a[0], b[1]))


@rule("MultiHeadAttention", domain=DOMAIN)
def multi_head_attention(op: Op) -> list[Fact]:
    """q [batch, seq, hidden] with k and v [batch, keys, hidden]; packed forms are not followed beyond their rank."""
    q, k, v, dtype, heads = op.shape(0), op.shape(1), op.shape(2), op.dtype(0), op.int("num_heads", 0)
    if q is None or len(q) != 3 or v is None or heads < 1 or op.has(6) or op.has(7):
        rank = 3 if q is not None and len(q) in (3, 5) else None
        return [Fact(dtype, None if rank is None else op.unknowns(rank)), Fact(dtype), Fact(dtype)]
    hidden: Dim = v[2] if len(v) == 3 else v[1] * v[3]
    present = [UNKNOWN, UNKNOWN]
    if k is not None and len(k) == 3 and len(v) == 3:
        present = [Fact(dtype, (q[0], heads, x[1], x[2] // heads)) for x in (k, v)]
    return [Fact(dtype, (q[0], q[1], hidden)), *present]


@rule("RotaryEmbedding", inputs=4, domain=DOMAIN)
def rotary_embedding(op: Op) -> Fact:
    return Fact(op.dtype(0), op.shape(0))


@rule("QuantizeLinear", inputs=2, domain=DOMAIN)
def quantize_linear(op: Op) -> Fact:
    return Fact(op.dtype(2) if op.has(2) else oir.DataType.UINT8, op.shape(0))


@rule("DequantizeLinear", inputs=2, domain=DOMAIN)
def dequantize_linear(op: Op) -> Fact:
    return Fact(op.dtype(1), op.shape(0))


@rule("QLinearAdd", "QLinearMul", inputs=7, domain=DOMAIN)
def qlinear_binary(op: Op) -> Fact:
    return Fact(op.dtype(0), broadcast(op, [op.shape(0), op.shape(3)]))


@rule("MatMulNBits", inputs=3, domain=DOMAIN)
def matmul_n_bits(op: Op) -> Fact:
    """a [*, K] with packed weights of [N, K]: [*, N]."""
    a, rows, inner = op.shape(0), op.int("N", 0), op.int("K", 0)
    if a is None:
        return Fact(op.dtype(0))
    if a and static(a[-1:]) and a[-1] != inner:
        check_inner(op, a[-1], inner, a, (rows, inner))
    return Fact(op.dtype(0), (*a[:-1], rows))
