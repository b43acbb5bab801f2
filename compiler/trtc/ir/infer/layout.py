"""Operators that give elements another shape: Reshape, Transpose, Concat, Split, Expand, Shape and the like."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.broadcast import broadcast
from trtc.ir.infer.fact import MAX_VALUE, Fact, Ratio
from trtc.ir.infer.op import Op, Shape, rule, show_shape, static
from trtc.ir.infer.values import count, moved, picked, small, spread

INT64 = oir.DataType.INT64


def as_dim(element: Dim) -> Dim:
    """An element of an integer tensor used as a dim: legal only where it is not negative."""
    return dims.maximum(element, 0) if dims.is_signed(element) else element


def same_elements(fact: Fact, shape: Shape | None) -> Fact:
    """The fact with another shape, elements in the same order."""
    if not small(shape):
        return Fact(fact.dtype, shape)
    return Fact(fact.dtype, shape, fact.value, real=fact.real)


# Shape queries


@rule("Shape")
def shape_of(op: Op) -> Fact:
    x = op.shape(0)
    if x is None:
        return Fact(INT64, op.unknowns(1))
    value = x[slice(op.int("start", 0), op.int("end", len(x)))]
    return Fact(INT64, (len(value),), value)


@rule("Size")
def size_of(op: Op) -> Fact:
    x = op.shape(0)
    return Fact(INT64, (), None if x is None else (dims.product(x),))


# Reshape and its special cases


@rule("Reshape", inputs=2)
def reshape(op: Op) -> Fact:
    fact, target = op.fact(0), op.elements(1)
    if target is None:
        length = op.shape(1)
        if length is not None and len(length) == 1 and isinstance(length[0], int) and length[0] <= MAX_VALUE:
            return Fact(fact.dtype, op.unknowns(length[0]))
        return Fact(fact.dtype)
    return same_elements(fact, _reshaped(op, fact.shape, target))


def _reshaped(op: Op, x: Shape | None, target: Shape) -> Shape:
    out: list[Dim] = list(target)
    # The place that is computed from the rest: -1, or the only element that is not known (it may be -1 at run time,
    # and where it is not, the quotient is what it must be).
    holes = [at for at, d in enumerate(target) if d == -1]
    if len(holes) > 1 or any(isinstance(d, int) and d < -1 for d in target):
        op.fail("T0615", f"the target of {op.label} is {show_shape(target)}", "at most one -1, and nothing below it")
    strange = [at for at, d in enumerate(target) if dims.is_signed(d)]
    for at, d in enumerate(target):
        if at in strange:
            out[at] = op.unknown(at)
        elif d == 0 and not op.int("allowzero", 0):
            if x is not None and at >= len(x):
                op.fail("T0615", f"{op.label} copies dim {at}, the input has {len(x)}", f"target {show_shape(target)}")
            out[at] = op.unknown(at) if x is None else x[at]
    holes = holes + strange
    if x is None:
        for at in holes:
            out[at] = op.unknown(at)
        return tuple(out)
    if len(holes) == 1:
        at = holes[0]
        out[at] = _quotient(op, x, [d for i, d in enumerate(out) if i != at], at, target)
    elif holes:
        for at in holes:
            out[at] = op.unknown(at)
    elif static(x) and static(out) and count(x) != count(out):
        op.fail(
            "T0615",
            f"{op.label} cannot make {show_shape(tuple(out))} of {show_shape(x)}",
            f"{count(x)} elements against {count(out)}",
        )
    return tuple(out)


def _quotient(op: Op, x: Shape, others: list[Dim], at: int, target: Shape) -> Dim:
    total, divisor = dims.product(x), dims.product(others)
    exact = dims.exact_quotient(total, divisor)
    if exact is not None and divisor != 0:
        return exact
    if isinstance(total, int) and isinstance(divisor, int):
        if divisor == 0:
            return op.unknown(at)
        op.fail(
            "T0615",
            f"{op.label} cannot make {show_shape(target)} of {show_shape(x)}",
            f"{total} elements do not divide by {divisor}",
        )
    least, _ = dims.bounds(divisor)
    return dims.floordiv(total, divisor) if least is not None and least > 0 else op.unknown(at)


@rule("Flatten")
def flatten(op: Op) -> Fact:
    fact = op.fact(0)
    if fact.shape is None:
        return Fact(fact.dtype, op.unknowns(2))
    axis = op.normal(op.int("axis", 1), len(fact.shape), end=True) or 0
    return same_elements(fact, (dims.product(fact.shape[:axis]), dims.product(fact.shape[axis:])))


def _axes(op: Op) -> tuple[int, ...] | None:
    """The axes of Squeeze or Unsqueeze; None when they are given but not known."""
    return op.numbers(1) if op.has(1) else op.ints("axes", ())


@rule("Squeeze")
def squeeze(op: Op) -> Fact:
    fact, axes = op.fact(0), _axes(op)
    x = fact.shape
    if x is None:
        return Fact(fact.dtype)
    if not op.has(1) and not axes:
        # Every 1 goes: which those are is known only where every dim is a number.
        return same_elements(fact, tuple(d for d in x if d != 1)) if static(x) else Fact(fact.dtype)
    if axes is None:
        length = count(op.shape(1))
        return Fact(fact.dtype, None if length is None or length > len(x) else op.unknowns(len(x) - length))
    chosen = {op.normal(axis, len(x)) for axis in axes}
    for axis in chosen:
        d = x[axis or 0]
        if isinstance(d, int) and d != 1:
            op.fail("T0619", f"{op.label} removes axis {axis} of size {d}", f"input {show_shape(x)}; it must be 1")
    return same_elements(fact, tuple(d for i, d in enumerate(x) if i not in chosen))


@rule("Unsqueeze")
def unsqueeze(op: Op) -> Fact:
    fact, axes = op.fact(0), _axes(op)
    if fact.shape is None:
        return Fact(fact.dtype)
    if axes is None:
        length = count(op.shape(1))
        return Fact(fact.dtype, None if length is None else op.unknowns(len(fact.shape) + length))
    rank = len(fact.shape) + len(axes)
    chosen = {op.normal(axis, rank) for axis in axes}
    if len(chosen) != len(axes):
        op.fail("T0612", f"axes {list(axes)} of {op.label} name one axis twice")
    rest = iter(fact.shape)
    return same_elements(fact, tuple(1 if i in chosen else next(rest) for i in range(rank)))


@rule("Transpose")
def transpose(op: Op) -> Fact:
    fact = op.fact(0)
    x = fact.shape
    perm = op.ints("perm")
    if x is None:
        return Fact(fact.dtype, None if perm is None else op.unknowns(len(perm)))
    if perm is None:
        perm = tuple(range(len(x)))[::-1]
    if sorted(perm) != list(range(len(x))):
        op.fail(
            "T0622", f"perm {list(perm)} of {op.label} is no permutation of {len(x)} axes", f"input {show_shape(x)}"
        )
    return moved(fact, tuple(x[i] for i in perm), lambda a: np.transpose(a, perm))


# Joining, cutting, repeating


@rule("Concat")
def concat(op: Op) -> Fact:
    dtype, facts = op.same_dtype(), op.facts
    known = [fact.shape for fact in facts if fact.shape is not None]
    if not known:
        return Fact(dtype)
    rank = len(known[0])
    if any(len(shape) != rank for shape in known):
        op.fail("T0616", f"inputs of {op.label} differ in rank", " and ".join(show_shape(s) for s in known))
    axis = op.axis("axis", rank)
    assert axis is not None
    out: list[Dim] = list(known[0])
    for shape in known[1:]:
        for at, d in enumerate(shape):
            if at == axis or d is out[at]:
                continue
            if isinstance(d, int) and isinstance(out[at], int) and d != out[at]:
                op.fail(
                    "T0616",
                    f"inputs of {op.label} differ on axis {at}",
                    f"{show_shape(known[0])} and {show_shape(shape)}: only axis {axis} may differ",
                )
            if isinstance(d, int):
                out[at] = d
    if len(known) != len(facts):
        out[axis] = op.unknown(axis)
        return Fact(dtype, tuple(out))
    joined: Dim = 0
    for shape in known:
        joined = joined + shape[axis]
    out[axis] = joined
    return _concatenated(op, Fact(dtype, tuple(out)))


def _concatenated(op: Op, made: Fact) -> Fact:
    shape, facts = made.shape, op.facts
    if shape is None or len(shape) != 1 or not small(shape):
        return made
    if all(fact.real is not None for fact in facts):
        return Fact(made.dtype, shape, real=tuple(r for fact in facts for r in fact.real or ()))
    if all(fact.value is None for fact in facts) or made.dtype not in (INT64, oir.DataType.INT32):
        return made
    parts = [op.elements(at) for at in range(len(facts))]
    if any(part is None for part in parts):
        return made
    return Fact(made.dtype, shape, tuple(d for part in parts for d in part or ()))


@rule("Split")
def split(op: Op) -> list[Fact]:
    fact, outputs = op.fact(0), op.outputs
    x = fact.shape
    if x is None:
        return [Fact(fact.dtype)] * outputs
    axis = op.axis("axis", len(x), 0)
    assert axis is not None
    sizes = _split_sizes(op, x, axis)
    facts: list[Fact] = []
    start = 0
    for size in sizes:
        shape = (*x[:axis], size, *x[axis + 1 :])
        made = Fact(fact.dtype, shape)
        if len(x) == 1 and isinstance(size, int) and static(sizes):
            at = range(start, start + size)
            made = Fact(fact.dtype, shape, picked(fact.value, at), real=picked(fact.real, at))
            start += size
        facts.append(made)
    return facts


def _split_sizes(op: Op, x: Shape, axis: int) -> list[Dim]:
    total, outputs = x[axis], op.outputs
    if op.has(1):
        given = op.elements(1)
        if given is None:
            return [op.unknown(axis, i) for i in range(outputs)]
        if len(given) != outputs:
            op.fail("T0619", f"{op.label} has {len(given)} sizes and {outputs} outputs")
        whole = sum(d for d in given if isinstance(d, int))
        if static(given) and isinstance(total, int) and whole != total:
            op.fail("T0619", f"sizes {show_shape(given)} of {op.label} add up to {whole}", f"axis {axis} has {total}")
        return [as_dim(d) for d in given]
    parts = op.int("num_outputs", outputs)
    if parts != outputs:
        op.fail("T0619", f"{op.label} has num_outputs {parts} and {outputs} outputs")
    each = dims.ceildiv(total, parts)
    if isinstance(total, int) and isinstance(each, int):
        return [max(0, min(each, total - each * i)) for i in range(parts)]
    return [*[each] * (parts - 1), total - each * (parts - 1)]


@rule("Expand", inputs=2)
def expand(op: Op) -> Fact:
    fact, target = op.fact(0), op.elements(1)
    if target is None:
        length = count(op.shape(1))
        rank = None if length is None or fact.shape is None else max(length, len(fact.shape))
        return Fact(fact.dtype, None if rank is None else op.unknowns(rank))
    shape = broadcast(op, [fact.shape, tuple(as_dim(d) for d in target)], "the input and the target shape")
    if fact.shape is None or shape is None or not small(shape) or (fact.value is None and fact.real is None):
        return Fact(fact.dtype, shape)
    value = None if fact.value is None else spread(fact.value, fact.shape, shape)
    real: tuple[Ratio, ...] | None = None if fact.real is None else spread(fact.real, fact.shape, shape)
    return Fact(fact.dtype, shape, value, real=real)


@rule("Tile", inputs=2)
def tile(op: Op) -> Fact:
    fact, repeats = op.fact(0), op.elements(1)
    if fact.shape is None:
        return Fact(fact.dtype)
    if repeats is None:
        return Fact(fact.dtype, op.unknowns(len(fact.shape)))
    if len(repeats) != len(fact.shape):
        op.fail("T0617", f"{op.label} has {len(repeats)} repeats", f"input {show_shape(fact.shape)}")
    shape = tuple(d * as_dim(r) for d, r in zip(fact.shape, repeats, strict=True))
    times = op.numbers(1)
    return Fact(fact.dtype, shape) if times is None else moved(fact, shape, lambda a: np.tile(a, times))


@rule("DepthToSpace", "SpaceToDepth")
def depth_space(op: Op) -> Fact:
    x, block = op.shape(0), op.int("blocksize", 1)
    op.rank(0, 4, 4)
    if x is None:
        return Fact(op.dtype(0), op.unknowns(4))
    n, c, h, w = x
    if block < 1:
        op.fail("T0622", f"blocksize of {op.label} is {block}", "it must be at least 1")
    if op.node.op_type == "DepthToSpace":
        parts: tuple[tuple[Dim, int], ...] = ((c, block * block),)
        shape = (n, c // (block * block), h * block, w * block)
    else:
        parts = ((h, block), (w, block))
        shape = (n, c * block * block, h // block, w // block)
    for d, by in parts:
        if isinstance(d, int) and d % by:
            op.fail("T0619", f"{d} does not divide by {by} in {op.label}", f"input {show_shape(x)}, blocksize {block}")
    return Fact(op.dtype(0), shape)
