"""Reductions along axes, and what else chooses along an axis."""

from __future__ import annotations

import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.fact import Fact
from trtc.ir.infer.op import Op, Shape, rule
from trtc.ir.infer.values import fit

INT64 = oir.DataType.INT64


# fmt: off
_REDUCTIONS = (
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare",
)
# fmt: on


@rule(*_REDUCTIONS)
def reduction(op: Op) -> Fact:
    fact, keep = op.fact(0), bool(op.int("keepdims", 1))
    x = fact.shape
    axes: tuple[int, ...] | None = op.ints("axes") or ()
    if op.has(1):
        axes = op.numbers(1)
    if axes is not None and not axes:
        if op.int("noop_with_empty_axes", 0):
            return Fact(fact.dtype, x)
        return Fact(fact.dtype, () if not keep else None if x is None else (1,) * len(x), _total(op))
    if x is None:
        return Fact(fact.dtype)
    if axes is None:
        count = op.shape(1)
        if keep:
            return Fact(fact.dtype, tuple(1 if d == 1 else op.unknown(i) for i, d in enumerate(x)))
        if count is None or len(count) != 1 or not isinstance(count[0], int) or count[0] > len(x):
            return Fact(fact.dtype)
        return Fact(fact.dtype, op.unknowns(len(x) - count[0]))
    chosen = {op.normal(axis, len(x)) for axis in axes}
    shape = tuple(1 if i in chosen else d for i, d in enumerate(x) if keep or i not in chosen)
    return Fact(fact.dtype, shape, _total(op) if len(x) == 1 else None)


def _total(op: Op) -> tuple[Dim, ...] | None:
    """The element of a full reduction of known integers."""
    value, name = op.value(0), op.node.op_type
    if value is None or not value:
        return None
    if name == "ReduceProd":
        return fit(op.dtype(0), (dims.product(value),))
    made: Dim = value[0]
    for d in value[1:]:
        if name == "ReduceSum":
            made = made + d
        elif name == "ReduceMax":
            made = dims.maximum(made, d)
        elif name == "ReduceMin":
            made = dims.minimum(made, d)
        else:
            return None
    return fit(op.dtype(0), (made,))


@rule("ArgMax", "ArgMin")
def arg(op: Op) -> Fact:
    x = op.shape(0)
    if x is None:
        return Fact(INT64)
    axis, keep = op.axis("axis", len(x), 0), op.int("keepdims", 1)
    return Fact(INT64, tuple(1 if i == axis else d for i, d in enumerate(x) if keep or i != axis))


@rule("CumSum", inputs=2)
def cumsum(op: Op) -> Fact:
    x, axis = op.shape(0), op.number(1)
    if x is not None and axis is not None:
        op.normal(axis, len(x))
    return Fact(op.dtype(0), x)


@rule("TopK", inputs=2)
def topk(op: Op) -> list[Fact]:
    x, k = op.shape(0), op.elements(1)
    if x is None:
        return [Fact(op.dtype(0)), Fact(INT64)]
    axis = op.axis("axis", len(x), -1)
    assert axis is not None
    size: Dim = op.unknown(axis) if k is None or len(k) != 1 or dims.is_signed(k[0]) else k[0]
    most = x[axis]
    if isinstance(size, int) and isinstance(most, int) and not 0 <= size <= most:
        op.fail("T0619", f"{op.label} takes {size} of {most} elements")
    shape: Shape = (*x[:axis], size, *x[axis + 1 :])
    return [Fact(op.dtype(0), shape), Fact(INT64, shape)]


@rule("NonZero")
def nonzero(op: Op) -> Fact:
    x, value = op.shape(0), op.numbers(0)
    if x is None:
        return Fact(INT64, op.unknowns(2))
    found = op.unknown(1) if value is None else sum(1 for d in value if d)
    if value is not None and len(x) == 1:
        at = tuple(i for i, d in enumerate(value) if d)
        return Fact(INT64, (1, len(at)), at)
    return Fact(INT64, (max(len(x), 1) if x else 0, found))


@rule("Unique")
def unique(op: Op) -> list[Fact]:
    x = op.shape(0)
    count = op.unknown(0)
    first: Shape | None = (count,)
    size: Shape | None = None if x is None else (dims.product(x),)
    if op.attribute("axis") is not None:
        first = None
        if x is not None:
            axis = op.axis("axis", len(x))
            assert axis is not None
            first, size = (*x[:axis], count, *x[axis + 1 :]), (x[axis],)
    return [Fact(op.dtype(0), first), Fact(INT64, (count,)), Fact(INT64, size), Fact(INT64, (count,))]


@rule("Compress", inputs=2)
def compress(op: Op) -> Fact:
    x, keep = op.shape(0), op.numbers(1)
    found = None if keep is None else sum(1 for d in keep if d)
    if op.attribute("axis") is None:
        return Fact(op.dtype(0), (op.unknown(0) if found is None else found,))
    if x is None:
        return Fact(op.dtype(0))
    axis = op.axis("axis", len(x))
    assert axis is not None
    return Fact(op.dtype(0), (*x[:axis], op.unknown(axis) if found is None else found, *x[axis + 1 :]))


@rule("NonMaxSuppression", inputs=2)
def non_max_suppression(op: Op) -> Fact:
    return Fact(INT64, (op.unknown(0), 3))
