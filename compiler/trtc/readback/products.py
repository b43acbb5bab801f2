"""Matrix products, einsum, attention and rotary embeddings."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math

import onnx_ir as oir

from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope
from trtc.readback.types import is_half

_BOOL = oir.DataType.BOOL
_INT64 = oir.DataType.INT64


def matrix_multiply(scope: Scope, layer: Layer) -> None:
    """A VECTOR operand is a row on the left and a column on the right; its unit axis is not in the output."""
    handle = layer.handle
    operands: list[oir.Value] = []
    for index, op in enumerate((handle.op0.name, handle.op1.name)):
        value, rank = scope.wide_input(layer, index), len(layer.inputs[index].shape)
        if op == "TRANSPOSE":
            value = scope.op("Transpose", value, perm=[*range(rank - 2), rank - 1, rank - 2])
        elif op == "VECTOR":
            value = scope.op("Unsqueeze", value, scope.ints(rank - 1 if index == 0 else rank))
        elif op != "NONE":
            raise refuse(layer, "T0953", f"has the matrix operation {op}, which has no reading")
        operands.append(value)
    out = scope.op("MatMul", *operands)
    units = [axis for op, axis in ((handle.op0.name, -2), (handle.op1.name, -1)) if op == "VECTOR"]
    scope.bind(layer, scope.op("Squeeze", out, scope.ints(*units)) if units else out)


def einsum(scope: Scope, layer: Layer) -> None:
    inputs = [scope.wide_input(layer, i) for i in range(len(layer.inputs))]
    scope.bind(layer, scope.op("Einsum", *inputs, equation=layer.handle.equation))


def attention(scope: Scope, layer: Layer) -> None:
    """softmax(Q K^T, masked) V for (batch, heads, length, width), with no scaling of its own.

    Fewer key/value heads are repeated consecutively. A boolean mask keeps where it is true, a float mask is added.
    A causal mask keeps j <= i (UPPER_LEFT) or j <= i + S_kv - S_q (LOWER_RIGHT).
    """
    attention = layer.handle.attention
    _refuse_unread(layer, attention)
    query, key, value = (scope.wide_input(layer, i) for i in range(3))
    key, value = (_repeat_heads(scope, layer, v, query) for v in (key, value))
    scores = scope.op("MatMul", query, scope.op("Transpose", key, perm=[0, 1, 3, 2]))
    if layer.input(3) is not None:
        mask = scope.wide_input(layer, 3)
        if mask.dtype == _BOOL:
            scores = scope.where(mask, scores, scope.floats(-math.inf))
        else:
            scores = scope.op("Add", scores, mask)
    causal = _causal(scope, attention, scores)
    if causal is not None:
        scores = scope.where(causal, scores, scope.floats(-math.inf))
    if attention.norm_op.name == "SOFTMAX":
        scores = scope.op("Softmax", scores, axis=-1)
    scope.bind(layer, scope.op("MatMul", scores, value))


def _refuse_unread(layer: Layer, attention: object) -> None:
    forms = [getattr(attention, name, None) for name in ("query_form", "key_value_form")]
    if any(form is not None and form.name != "PADDED_BHND" for form in forms):
        raise refuse(layer, "T0953", "takes packed sequences, which have no reading")
    if any(layer.input(i) is not None for i in (5, 6)):
        raise refuse(layer, "T0953", "has sequence lengths, which have no reading")
    if layer.input(4) is not None:
        raise refuse(layer, "T0953", "quantizes its probabilities, which has no reading")


def _repeat_heads(scope: Scope, layer: Layer, value: oir.Value, query: oir.Value) -> oir.Value:
    if layer.inputs[0].shape[1] == layer.inputs[1].shape[1] >= 0:
        return value
    heads, groups = scope.dim(query, 1), scope.dim(value, 1)
    index = scope.op("Div", scope.iota(heads), scope.op("Div", heads, groups))
    return scope.op("Gather", value, index, axis=1)


def _causal(scope: Scope, attention: object, scores: oir.Value) -> oir.Value | None:
    """True where a key is seen, (S_q, S_kv); None without a causal mask."""
    kind = getattr(attention, "causal_kind", None)
    name = kind.name if kind is not None else ("UPPER_LEFT" if getattr(attention, "causal", False) else "NONE")
    if name == "NONE":
        return None
    queries, keys = scope.dim(scores, 2), scope.dim(scores, 3)
    row = scope.op("Unsqueeze", scope.iota(queries), scope.ints(1))
    if name == "LOWER_RIGHT":
        row = scope.op("Add", row, scope.op("Sub", keys, queries))
    return scope.op("LessOrEqual", scope.iota(keys), row, dtype=_BOOL)


def rotary_embedding(scope: Scope, layer: Layer) -> None:
    """x1 cos - x2 sin, x2 cos + x1 sin for (batch, heads, length, width), on the first `rotary_embedding_dim` features.

    x1 and x2 are the two halves of these features, or the even and the odd ones when interleaved. The caches are
    (batch, length, half), or (positions, half) with position numbers (batch, length) at input 3.
    """
    handle = layer.handle
    x = scope.wide_input(layer, 0)
    width = int(layer.inputs[0].shape[3])
    if width < 0:
        raise refuse(layer, "T0953", "has a dynamic width")
    turned = int(handle.rotary_embedding_dim) or width
    caches: list[oir.Value] = []
    for index in (1, 2):
        cache = scope.wide_input(layer, index)
        if layer.input(3) is not None:
            cache = scope.op("Gather", cache, scope.cast(scope.input(layer, 3), _INT64), axis=0)
        caches.append(scope.op("Unsqueeze", cache, scope.ints(1)))
    cosine, sine = caches

    def part(start: int, end: int, step: int = 1) -> oir.Value:
        return scope.op("Slice", x, *(scope.ints(n) for n in (start, end, 3, step)))

    half, interleaved = turned // 2, bool(handle.interleaved)
    first = part(0, turned, 2) if interleaved else part(0, half)
    second = part(1, turned, 2) if interleaved else part(half, turned)
    real = scope.op("Sub", scope.op("Mul", first, cosine), scope.op("Mul", second, sine))
    imaginary = scope.op("Add", scope.op("Mul", second, cosine), scope.op("Mul", first, sine))
    if interleaved:
        pairs = [scope.op("Unsqueeze", v, scope.ints(4)) for v in (real, imaginary)]
        out = scope.reshape(scope.op("Concat", *pairs, axis=4), 0, 0, 0, turned)
    else:
        out = scope.op("Concat", real, imaginary, axis=3)
    if turned < width:
        out = scope.op("Concat", out, part(turned, width), axis=3)
    assert not is_half(out.dtype)
    scope.bind(layer, out)
