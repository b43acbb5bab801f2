"""Operators on strings."""

from __future__ import annotations

import onnx_ir as oir

from trtc.ir.dims import Dim
from trtc.ir.infer.broadcast import broadcast
from trtc.ir.infer.fact import Fact
from trtc.ir.infer.op import Op, rule

STRING = oir.DataType.STRING


@rule("StringConcat", inputs=2)
def string_concat(op: Op) -> Fact:
    return Fact(STRING, broadcast(op, [op.shape(0), op.shape(1)]))


@rule("StringSplit")
def string_split(op: Op) -> list[Fact]:
    x = op.shape(0)
    parts = None if x is None else (*x, op.unknown(len(x)))
    return [Fact(STRING, parts), Fact(oir.DataType.INT64, x)]


@rule("StringNormalizer")
def string_normalizer(op: Op) -> Fact:
    """[C] or [1, C]; words that are dropped leave fewer, and when none is left one empty string."""
    x = op.shape(0)
    if x is None:
        return Fact(STRING)
    count: Dim = op.unknown(len(x) - 1) if op.attribute("stopwords") is not None else x[-1]
    return Fact(STRING, (*x[:-1], count))


@rule("RegexFullMatch")
def regex_full_match(op: Op) -> Fact:
    return Fact(oir.DataType.BOOL, op.shape(0))


@rule("TfIdfVectorizer")
def tf_idf_vectorizer(op: Op) -> Fact:
    """[C] or [N, C] to [size] or [N, size]."""
    x, size = op.shape(0), max(op.ints("ngram_indexes", (0,)), default=0) + 1
    return Fact(oir.DataType.FLOAT, None if x is None else (*x[:-1], size))
