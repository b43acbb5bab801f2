"""Sequences and optionals. The fact of a sequence says what all its elements have in common."""

from __future__ import annotations

import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.fact import Fact
from trtc.ir.infer.op import Op, Shape, rule

INT64, BOOL = oir.DataType.INT64, oir.DataType.BOOL


def common_shape(op: Op, a: Shape | None, b: Shape | None, output: int = 0) -> Shape | None:
    """What two shapes have in common: a dim in which they differ is unknown."""
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x is y or x == y else op.unknown(i, output) for i, (x, y) in enumerate(zip(a, b, strict=True)))


@rule("SequenceConstruct")
def sequence_construct(op: Op) -> Fact:
    dtype, shape = op.same_dtype(), op.shape(0)
    for fact in op.facts[1:]:
        shape = common_shape(op, shape, fact.shape)
    return Fact(dtype, shape, kind="sequence")


@rule("SequenceEmpty", inputs=0)
def sequence_empty(op: Op) -> Fact:
    return Fact(op.data_type("dtype", 1), kind="sequence")


@rule("SequenceInsert", inputs=2)
def sequence_insert(op: Op) -> Fact:
    sequence, element = op.fact(0), op.fact(1)
    producer = op.node.inputs[0]
    node = None if producer is None else producer.producer()
    shape = common_shape(op, sequence.shape, element.shape)
    if node is not None and node.op_type == "SequenceEmpty":
        shape = element.shape
    return Fact(op.same_dtype(0, 1), shape, kind="sequence")


@rule("SequenceErase")
def sequence_erase(op: Op) -> Fact:
    return op.fact(0)


@rule("SequenceAt", inputs=2)
def sequence_at(op: Op) -> Fact:
    """An element; a dim in which the elements may differ is not the same number for another element."""
    fact = op.fact(0)
    return Fact(fact.dtype, fresh_unknowns(op, fact.shape))


def fresh_unknowns(op: Op, shape: Shape | None) -> Shape | None:
    """Unknown dims of a sequence's element are those of no element in particular: each read gets its own."""
    if shape is None:
        return None
    return tuple(op.unknown(i) if dims.unknowns(d) else d for i, d in enumerate(shape))


@rule("SequenceLength")
def sequence_length(op: Op) -> Fact:
    return Fact(INT64, ())


@rule("SplitToSequence")
def split_to_sequence(op: Op) -> Fact:
    x, dtype = op.shape(0), op.dtype(0)
    if x is None:
        return Fact(dtype, kind="sequence")
    axis = op.axis("axis", len(x), 0)
    assert axis is not None
    if not op.has(1):
        rest = (*x[:axis], *x[axis + 1 :])
        return Fact(dtype, (*x[:axis], 1, *x[axis + 1 :]) if op.int("keepdims", 1) else rest, kind="sequence")
    sizes = op.numbers(1)
    size: Dim = op.unknown(axis)
    if sizes is not None and sizes:
        if op.shape(1) == () and isinstance(x[axis], int):
            size = sizes[0] if x[axis] % sizes[0] == 0 else size
        elif op.shape(1) != () and len(set(sizes)) == 1:
            size = sizes[0]
    return Fact(dtype, (*x[:axis], size, *x[axis + 1 :]), kind="sequence")


@rule("ConcatFromSequence")
def concat_from_sequence(op: Op) -> Fact:
    x, dtype = op.shape(0), op.dtype(0)
    if x is None:
        return Fact(dtype)
    if op.int("new_axis", 0):
        axis = op.axis("axis", len(x) + 1) or 0
        shape = (*x[:axis], op.unknown(axis), *x[axis:])
    else:
        axis = op.axis("axis", len(x)) or 0
        shape = (*x[:axis], op.unknown(axis), *x[axis + 1 :])
    return Fact(dtype, tuple(op.unknown(i) if dims.unknowns(d) else d for i, d in enumerate(shape)))


# Optionals


@rule("Optional", inputs=0)
def optional(op: Op) -> Fact:
    fact = op.fact(0)
    if fact.kind == "sequence" or not op.has(0):
        return Fact(kind="optional")
    return Fact(fact.dtype, fact.shape, kind="optional")


@rule("OptionalGetElement")
def optional_get_element(op: Op) -> Fact:
    fact = op.fact(0)
    return Fact(fact.dtype, fact.shape) if fact.kind == "optional" else fact


@rule("OptionalHasElement", inputs=0)
def optional_has_element(op: Op) -> Fact:
    return Fact(BOOL, ())
