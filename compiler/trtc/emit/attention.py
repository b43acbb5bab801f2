"""Attention and rotary embedding."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, given, input_at, refuse, used
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.ir import provenance
from trtc.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class _Heads:
    """Sizes of an Attention that are known when the network is built."""

    query: int
    key: int
    width: int
    packed: bool
    """Inputs of rank 3, (batch, length, heads * width)."""


def _heads(facts: Facts, node: oir.Node) -> _Heads:
    q, k = facts.shape(given(node, 0)), facts.shape(given(node, 1))
    packed = len(q) == 3
    if packed:
        query, key = attr(node, "q_num_heads"), attr(node, "kv_num_heads")
        if not query or not key:
            refuse("inputs of rank 3 without q_num_heads and kv_num_heads")
        width: Dim = q[2] // query
    else:
        query, key, width = q[1], k[1], q[3]
    if not isinstance(query, int) or not isinstance(key, int) or not isinstance(width, int):
        refuse("the number of heads or their width is not known when the network is built")
    return _Heads(query, key, width, packed)


def _check(facts: Facts, node: oir.Node) -> None:
    _heads(facts, node)
    mask = input_at(node, 3)
    if mask is not None and not 2 <= facts.rank(mask) <= 4:
        refuse(f"a mask of rank {facts.rank(mask)}")
    if input_at(node, 6) is not None:
        refuse("nonpad_kv_seqlen", "give a mask")


@operator("Attention", typed=(0, 1, 2), check=_check)
def attention(s: Scope, node: oir.Node) -> Any:
    """TensorRT's attention where it has one and the node asks for nothing else; it does not scale, so the query is
    scaled before. Otherwise the product, the softmax and the product."""
    heads = _heads(s, node)
    q, k, v = (_split_heads(s, node, at, heads.query if at == 0 else heads.key, heads) for at in range(3))
    past = None
    if input_at(node, 4) is not None and input_at(node, 5) is not None:
        past = s.input(node, 4)
        k = s.concat([past, k], 2, "present_key")
        v = s.concat([s.input(node, 5), v], 2, "present_value")
    scale = attr(node, "scale") or 1 / math.sqrt(heads.width)
    causal = bool(attr(node, "is_causal", 0))
    softcap = attr(node, "softcap", 0.0)
    mask_value = input_at(node, 3)
    # A causal mask and another exclude each other in the layer: then both are one mask.
    mask = None if mask_value is None else s.operand(mask_value, 4)
    plain = not softcap and not used(node, 3)
    kind = s.caps.attention
    if kind == "attention" and causal and past is not None:
        kind = None  # the older layer aligns its causal mask with the first key only
    # The layer wants keys and values of one width.
    causal_only = causal and mask is None
    native = plain and kind is not None and k.shape[3] == v.shape[3]
    if causal and (mask is not None or not native):
        mask = _with_causal(s, mask, q, k, past)
        causal = False
    seen = None if mask is None or causal_only or _finite(s, node, mask_value) else _seen(s, mask)
    if native:
        y, scores = _layer(s, q, k, v, mask, scale, causal, past is not None, kind), None
        if seen is not None:
            y = s.select(seen, y, s.scalar(0, y), "masked_rows")
    else:
        y, scores = _products(s, node, q, k, v, mask, seen, scale, softcap, heads)
    if heads.packed:
        want = s.shape(node.outputs[0])
        y = s.reshape(s.transpose(y, (0, 2, 1, 3), "heads_last"), [*(_keep(d) for d in want[:2]), want[2]], "join")
    return (y, k, v, scores)[: len(node.outputs)]


def _keep(dim: Dim) -> Any:
    from trtc.emit.shaping import KEEP

    return dim if isinstance(dim, int) else KEEP


def _split_heads(s: Scope, node: oir.Node, at: int, count: int, heads: _Heads) -> Any:
    """(batch, heads, length, width)."""
    value = given(node, at)
    x = s.tensor(value)
    if not heads.packed:
        return x
    b, length, features = s.shape(value)
    x = s.reshape(x, [_keep(b), _keep(length), count, features // count], "split")
    return s.transpose(x, (0, 2, 1, 3), "heads_first")


def _with_causal(s: Scope, mask: Any, q: Any, k: Any, past: Any) -> Any:
    """`mask` with what follows the query left out: key j is seen by query i when j <= i + length of the past."""
    dtype = s.caps.shape_dtype
    rows, columns = (_iota(s, s.sizes(t)[2], axis) for t, axis in ((q, 2), (k, 3)))
    if past is not None:
        offset = s.sizes(past)[2]
        if isinstance(offset, int):
            shift = s.constant(np.asarray(offset), dtype, "past", (1, 1, 1, 1))
        else:
            shift = s.reshape(offset, [1, 1, 1, 1], "past")
        rows = s.elementwise("SUM", rows, shift, "rows")
    seen = s.unary("NOT", s.elementwise("GREATER", columns, rows, "later"), "causal")
    if mask is None:
        return seen
    if s.type_of(mask) == "BOOL":
        return s.elementwise("AND", mask, seen, "mask")
    return s.select(seen, mask, s.scalar(-math.inf, mask), "mask")


def _finite(s: Scope, node: oir.Node, mask: oir.Value | None) -> bool:
    """A mask that only adds finite numbers hides no key; with a causal one there is always the first.

    A rule that made the node of a softmax may have assumed that: then there was no row of zeros before it either.
    """
    if mask is not None and s.dtype(mask) != oir.DataType.BOOL and "finite" in provenance.assumptions(node):
        return True
    array = s.array(mask)
    return array is not None and array.dtype != np.bool_ and bool(np.isfinite(array.astype(np.float32)).all())


def _seen(s: Scope, mask: Any) -> Any:
    """Queries that see some key: the others have a row of zeros, where a softmax over nothing would be NaN."""
    if s.type_of(mask) != "BOOL":
        most = s.reduce("MAX", mask, [3], True, "some_key")
        return s.elementwise("GREATER", most, s.scalar(-math.inf, most), "seen")
    count = s.reduce("MAX", s.cast(mask, "INT32", "mask_int"), [3], True, "some_key")
    return s.elementwise("GREATER", count, s.scalar(0, count), "seen")


def _iota(s: Scope, size: Any, axis: int) -> Any:
    dtype = s.caps.shape_dtype
    shape = [1, 1, 1, 1]
    if isinstance(size, int):
        shape[axis] = size
        return s.constant(np.arange(size), dtype, "index", tuple(shape))
    return s.unsqueeze(s.linspace(size, 0, 1, dtype, "index"), [a for a in range(4) if a != axis], "index_rank")


def _layer(
    s: Scope, q: Any, k: Any, v: Any, mask: Any, scale: float, causal: bool, past: bool, kind: str | None
) -> Any:
    trt = s.trt
    q = s.elementwise("PROD", q, s.scalar(scale, q, "scale"), "scaled")
    if kind == "attention_v2":
        kinds = trt.CausalMaskKind
        aligned = kinds.NONE if not causal else kinds.LOWER_RIGHT if past else kinds.UPPER_LEFT
        made = s.net.add_attention_v2(q, k, v, trt.AttentionNormalizationOp.SOFTMAX, aligned)
    else:
        made = s.net.add_attention(q, k, v, trt.AttentionNormalizationOp.SOFTMAX, causal)
    if mask is not None and s.type_of(mask) != "BOOL":
        mask = s.cast(mask, s.type_of(q), "mask_type")
    # Decomposable: float32 and odd widths have no fused kernel, and would fail the build.
    properties: dict[str, Any] = {"decomposable": True}
    if mask is not None:
        properties["mask"] = mask
    return s.add(made, "", **properties)


def _products(
    s: Scope, node: oir.Node, q: Any, k: Any, v: Any, mask: Any, seen: Any, scale: float, softcap: float, heads: _Heads
) -> tuple[Any, Any]:
    """softmax(softcap(Q K') + mask) V; and the scores at the place that qk_matmul_output_mode names."""
    if heads.query != heads.key:
        k, v = (_repeat(s, t, heads) for t in (k, v))
    if s.type_of(q) == "FLOAT":
        # As frameworks write it: what looks for attention in the network finds it.
        scores = s.matmul(q, k, "scores", trans_b=True)
        stages = [scores if scale == 1.0 else s.elementwise("PROD", scores, s.scalar(scale, scores, "scale"), "scaled")]
    else:
        # Both factors by the root of the scale, as ONNX does: less range in half precision.
        root = math.sqrt(scale)
        q = s.elementwise("PROD", q, s.scalar(root, q, "scale"), "query_scaled")
        k = s.elementwise("PROD", k, s.scalar(root, k, "scale"), "key_scaled")
        stages = [s.matmul(q, k, "scores", trans_b=True)]
    capped = stages[0]
    if softcap:
        ratio = s.elementwise("DIV", capped, s.scalar(softcap, capped, "softcap"), "cap_ratio")
        tanh = s.activation("TANH", ratio, "cap_tanh")
        capped = s.elementwise("PROD", tanh, s.scalar(softcap, capped, "softcap"), "capped")
    masked = capped
    if mask is not None and s.type_of(mask) == "BOOL":
        masked = s.select(mask, masked, s.scalar(-math.inf, masked), "masked")
    elif mask is not None:
        masked = s.elementwise("SUM", masked, s.cast(mask, s.type_of(masked)), "masked")
    weights = s.softmax(masked, 3, "softmax")
    if seen is not None:
        weights = s.select(seen, weights, s.scalar(0, weights), "masked_rows")
    stages += [capped, masked, weights]
    return s.matmul(weights, v, ""), stages[attr(node, "qk_matmul_output_mode", 0)]


def _repeat(s: Scope, tensor: Any, heads: _Heads) -> Any:
    """Each key or value head for the query heads that share it."""
    index = np.arange(heads.query) // (heads.query // heads.key)
    return s.add(s.net.add_gather(tensor, s.constant(index, s.caps.shape_dtype, "heads"), 1), "repeat")


def _check_rotary(facts: Facts, node: oir.Node) -> None:
    x = facts.shape(given(node, 0))
    if len(x) == 3 and not attr(node, "num_heads", 0):
        refuse("an input of rank 3 without num_heads")
    if not isinstance(x[-1], int):
        refuse("the width of a head is not known when the network is built")


@operator("RotaryEmbedding", typed=(0, 1, 2), check=_check_rotary)
def rotary_embedding(s: Scope, node: oir.Node) -> Any:
    """Halves (or even and odd features) a, b of the first `rotary_embedding_dim` features become
    a cos - b sin and b cos + a sin."""
    value = given(node, 0)
    dims = s.shape(value)
    x = s.tensor(value)
    packed = len(dims) == 3
    if packed:
        heads = attr(node, "num_heads")
        assert isinstance(dims[2], int)
        x = s.reshape(x, [_keep(dims[0]), _keep(dims[1]), heads, dims[2] // heads], "split")
    head_axis = 2 if packed else 1
    width = int(x.shape[3])
    turned = attr(node, "rotary_embedding_dim", 0) or width
    half = turned // 2
    cosine, sine = (_cache(s, node, at, head_axis, s.type_of(x)) for at in (1, 2))
    interleaved = bool(attr(node, "interleaved", 0))
    stride = 2 if interleaved else 1
    a = s.slice(x, {3: (0, half, stride)}, "first")
    b = s.slice(x, {3: (1 if interleaved else half, half, stride)}, "second")
    left = s.elementwise(
        "SUB", s.elementwise("PROD", a, cosine, "a_cos"), s.elementwise("PROD", b, sine, "b_sin"), "real"
    )
    right = s.elementwise(
        "SUM", s.elementwise("PROD", b, cosine, "b_cos"), s.elementwise("PROD", a, sine, "a_sin"), "imaginary"
    )
    if interleaved:
        pair = s.concat([s.unsqueeze(left, [4]), s.unsqueeze(right, [4])], 4, "pairs")
        y = s.reshape(pair, [*_sizes(s, pair)[:3], turned], "interleave")
    else:
        y = s.concat([left, right], 3, "halves")
    if turned < width:
        y = s.concat([y, s.slice(x, {3: (turned, width - turned, 1)}, "rest")], 3, "join_rest")
    if packed:
        y = s.reshape(y, [_keep(dims[0]), _keep(dims[1]), dims[2]], "join")
    return y


def _sizes(s: Scope, tensor: Any) -> list[Any]:
    from trtc.emit.shaping import KEEP

    return [int(d) if d >= 0 else KEEP for d in tensor.shape]


def _cache(s: Scope, node: oir.Node, at: int, head_axis: int, dtype: str) -> Any:
    """Cosines or sines as (batch, 1, length, half), or (batch, length, 1, half)."""
    cache = s.input(node, at)
    positions = input_at(node, 3)
    if positions is not None:
        cache = s.add(s.net.add_gather(cache, s.tensor(positions), 0), "positions")
    return s.cast(s.unsqueeze(cache, [head_axis], "heads"), dtype)
