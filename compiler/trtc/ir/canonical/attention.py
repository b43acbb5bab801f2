"""Attention of opsets 24 and 25, and the cache update that goes with it."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir.canonical.site import Site, restate

_NONPAD = 6


@restate("Attention", since=24, facts=True)
def attention_mask(site: Site) -> None:
    """A count of valid keys per sample (24), sliding windows (25) and a short mask become one boolean or float mask."""
    left = site.literal("left_window_size", -1)
    right = site.literal("right_window_size", -1)
    site.take("left_window_size")
    site.take("right_window_size")
    nonpad, mask = site.input(_NONPAD), site.input(3)
    windowed = left >= 0 or right >= 0
    if nonpad is None and not windowed:
        if mask is not None:
            site.set_input(3, _padded(site, mask))
        return
    causal = bool(site.literal("is_causal", 0))
    allowed = _allowed(site, nonpad, left, 0 if causal else right)
    if mask is not None:
        allowed = _joined(site, _padded(site, mask), allowed)
    site.set_input(3, allowed)
    site.set("is_causal", 0)
    site.set_input(_NONPAD, None)


def _lengths(site: Site) -> tuple[oir.Value, oir.Value, oir.Value | None]:
    """Lengths of the queries, of all keys, and of the keys that were there before: vectors of one element."""
    # (batch, sequence, hidden) or (batch, heads, sequence, head): the sequence is the last but one either way.
    q, k, past = site.required(0), site.required(1), site.input(4)
    queries = site.op("Shape", q, start=-2, end=-1)
    keys = site.op("Shape", k, start=-2, end=-1)
    if past is None:
        return queries, keys, None
    before = site.op("Shape", past, start=-2, end=-1)
    return queries, site.op("Add", keys, before), before


def _allowed(site: Site, nonpad: oir.Value | None, left: int, right: int) -> oir.Value:
    """Booleans of shape (batch or 1, 1, queries, keys): which key each query may attend.

    A query stands at p = offset + index, and attends keys from p - left to p + right (no bound when negative), where
    offset is the count of keys before it: those of the past, or of the valid ones less the queries.
    """
    queries, keys, past = _lengths(site)
    zero, one = site.constant(np.array(0, dtype=np.int64), "zero"), site.constant(np.array(1, dtype=np.int64), "one")
    scalar = site.ints([], "scalar")
    columns = site.op("Range", zero, site.op("Reshape", keys, scalar), one)
    rows = site.op("Range", zero, site.op("Reshape", queries, scalar), one)
    place = site.op("Unsqueeze", rows, site.ints([1], "column"))
    offset = past
    valid: oir.Value | None = None
    if nonpad is not None:
        count = site.op("Reshape", nonpad, site.ints([-1, 1, 1, 1], "per_sample"))
        valid = site.op("Less", columns, count)
        offset = site.op("Sub", count, queries)
    if offset is not None:
        place = site.op("Add", place, offset)
    parts = [] if valid is None else [valid]
    if right >= 0:
        parts.append(site.op("LessOrEqual", columns, site.op("Add", place, site.ints([right], "right"))))
    if left >= 0:
        parts.append(site.op("GreaterOrEqual", columns, site.op("Sub", place, site.ints([left], "left"))))
    allowed = parts[0]
    for part in parts[1:]:
        allowed = site.op("And", allowed, part)
    if nonpad is not None:
        return allowed
    return site.op("Unsqueeze", allowed, site.ints([0, 1], "batch_head"))


def _padded(site: Site, mask: oir.Value) -> oir.Value:
    """A mask with a column for every key: those that it lacks may not be attended."""
    shape, keys_shape = site.shape(mask), site.shape(site.required(1))
    past = site.input(4)
    past_shape = None if past is None else site.shape(past)
    if shape is not None and keys_shape is not None and (past is None or past_shape is not None):
        before = 0 if past_shape is None else past_shape[-2]
        if shape[-1] == keys_shape[-2] + before:
            return mask
    _, keys, _ = _lengths(site)
    missing = site.op("Sub", keys, site.op("Shape", mask, start=-1))
    pads = site.op("Concat", site.ints([0], "begin"), missing, axis=0)
    dtype = site.dtype(mask)
    if dtype == oir.DataType.BOOL:
        fill = site.constant(np.array(False), "masked")
    elif dtype is None:
        raise site.refusal("T0655", "the dtype of the mask of Attention is not known, and it may be short of keys")
    else:
        fill = site.constant(np.array(-np.inf).astype(dtype.numpy()), "masked")
    return site.op("Pad", mask, pads, fill, site.ints([-1], "last"))


def _joined(site: Site, mask: oir.Value, allowed: oir.Value) -> oir.Value:
    dtype = site.dtype(mask)
    if dtype == oir.DataType.BOOL:
        return site.op("And", mask, allowed)
    minus = site.like(-np.inf, mask, "minus_infinity")
    return site.op("Where", allowed, mask, minus)


@restate("TensorScatter", since=24, facts=True)
def tensor_scatter(site: Site) -> None:
    """Opset 24: rows of an update written to a cache, from an index per sample on: ScatterElements along the axis."""
    cache, update, start = site.required(0), site.required(1), site.input(2)
    rank = site.rank(cache) or site.rank(update)
    if rank is None:
        raise site.refusal("T0655", "TensorScatter (opset 24) is restated as ScatterElements, which needs its rank")
    axis = site.literal("axis", -2) % rank
    circular = site.literal("mode", "linear") == "circular"
    zero, one = site.constant(np.array(0, dtype=np.int64), "zero"), site.constant(np.array(1, dtype=np.int64), "one")
    length = site.op("Squeeze", site.op("Shape", update, start=axis, end=axis + 1), site.ints([0], "only"))
    steps = site.op("Range", zero, length, one)
    place = site.op("Reshape", steps, site.ints([1] * axis + [-1] + [1] * (rank - axis - 1), "along"))
    if start is not None:
        first = site.op("Reshape", start, site.ints([-1] + [1] * (rank - 1), "per_sample"))
        place = site.op("Add", place, first)
    if circular:
        place = site.op("Mod", place, site.op("Shape", cache, start=axis, end=axis + 1))
    indices = site.op("Expand", place, site.op("Shape", update))
    site.become("ScatterElements", cache, indices, update, axis=axis, reduction="none")
