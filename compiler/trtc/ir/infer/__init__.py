"""Inference of dtypes, symbolic shapes and the elements of small integer tensors, for every operator of ai.onnx 23 (and
a few of com.microsoft).

`infer_all(module)` goes forward through a graph, `fact(module, value)` back from one value; both fill `module.facts`.
Shapes that a file declares for inner values and outputs are never trusted. One module here is one operator family;
a rule is a small function from an `Op` to facts.
"""

from trtc.ir.infer import (
    contrib,
    control,
    elementwise,
    generate,
    image,
    indexing,
    layout,
    linear,
    normalization,
    recurrent,
    reduction,
    sequences,
    text,
    windows,
)
from trtc.ir.infer.fact import MAX_VALUE, UNKNOWN, Fact
from trtc.ir.infer.op import RULES, Op, rule, show
from trtc.ir.infer.sources import input_fact
from trtc.ir.infer.walk import fact, infer_all, infer_node

FAMILIES = (
    contrib,
    control,
    elementwise,
    generate,
    image,
    indexing,
    layout,
    linear,
    normalization,
    recurrent,
    reduction,
    sequences,
    text,
    windows,
)
"""The modules whose rules are registered by importing them."""

__all__ = [
    "FAMILIES",
    "MAX_VALUE",
    "RULES",
    "UNKNOWN",
    "Fact",
    "Op",
    "fact",
    "infer_all",
    "infer_node",
    "input_fact",
    "rule",
    "show",
]
