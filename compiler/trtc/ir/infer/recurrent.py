"""Recurrent networks and attention."""

from __future__ import annotations

from trtc.ir.dims import Dim
from trtc.ir.infer.fact import Fact
from trtc.ir.infer.linear import check_inner
from trtc.ir.infer.op import Op, rule


@rule("LSTM", "GRU", "RNN", inputs=3)
def recurrent(op: Op) -> list[Fact]:
    """x [seq, batch, in] (layout 1: [batch, seq, in]), w [dirs, gates*hidden, in], r [dirs, gates*hidden, hidden]."""
    x, w, r, dtype = op.shape(0), op.shape(1), op.shape(2), op.dtype(0)
    for at in range(3):
        op.rank(at, 3, 3)
    directions = 2 if op.str("direction", "forward") == "bidirectional" else 1
    hidden: Dim = op.int("hidden_size") or (op.unknown(3) if r is None else r[2])
    if x is not None and w is not None:
        check_inner(op, x[2], w[2], x, w)
    batch_first = bool(op.int("layout", 0))
    seq, batch = (op.unknown(0), op.unknown(2)) if x is None else (x[1], x[0]) if batch_first else (x[0], x[1])
    y = (batch, seq, directions, hidden) if batch_first else (seq, directions, batch, hidden)
    last = (batch, directions, hidden) if batch_first else (directions, batch, hidden)
    return [Fact(dtype, y), Fact(dtype, last), Fact(dtype, last)]


@rule("Attention", inputs=3)
def attention(op: Op) -> list[Fact]:
    """q [batch, heads, seq, head] or [batch, seq, heads*head]; k and v likewise; past [batch, heads, past, head]."""
    q, k, v = op.shape(0), op.shape(1), op.shape(2)
    dtype, key_dtype, value_dtype = op.dtype(0), op.dtype(1), op.dtype(2)
    for at in range(3):
        op.rank(at, 3, 4)
    if q is None or k is None or v is None:
        return [Fact(dtype), Fact(key_dtype), Fact(value_dtype), Fact(dtype)]
    q_heads, kv_heads = op.int("q_num_heads", 0), op.int("kv_num_heads", 0)
    if len(q) == 4:
        heads, seq = q[1], q[2]
    else:
        if not q_heads:
            op.fail("T0618", f"{op.label} has no `q_num_heads`", "inputs of rank 3 need it")
        heads, seq = q_heads, q[1]
    if len(k) == 4 and len(v) == 4:
        k_heads, v_heads, length, k_size, v_size = k[1], v[1], k[2], k[3], v[3]
    else:
        if not kv_heads:
            op.fail("T0618", f"{op.label} has no `kv_num_heads`", "inputs of rank 3 need it")
        k_heads = v_heads = kv_heads
        length, k_size, v_size = k[1], k[-1] // kv_heads, v[-1] // kv_heads
    if op.has(4):
        past = op.shape(4)
        length = op.unknown(2, 1) if past is None or len(past) != 4 else past[2] + length
    y = (q[0], heads, seq, v_size) if len(q) == 4 else (q[0], seq, heads * v_size)
    return [
        Fact(dtype, y),
        Fact(key_dtype, (k[0], k_heads, length, k_size)),
        Fact(value_dtype, (v[0], v_heads, length, v_size)),
        Fact(dtype, (q[0], heads, seq, length)),
    ]


@rule("RotaryEmbedding", inputs=3)
def rotary_embedding(op: Op) -> Fact:
    op.rank(0, 3, 4)
    return Fact(op.same_dtype(0, 1, 2), op.shape(0))
