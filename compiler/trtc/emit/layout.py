"""Shapes and the order of elements: nothing here computes."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, input_at, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.emit.shaping import KEEP, Unknown


def _bounds(node: oir.Node, rank: int) -> tuple[int, int]:
    """start and end of Shape, clamped like a slice of Python."""
    start, end = attr(node, "start", 0), attr(node, "end", None)
    first, last, _ = slice(start, end).indices(rank)
    return first, max(first, last)


@operator("Shape", types="FIBQU")
def shape(s: Scope, node: oir.Node) -> Any:
    """A constant where the dims are numbers."""
    value = given(node, 0)
    dims = s.shape(value)
    start, end = _bounds(node, len(dims))
    if all(isinstance(d, int) for d in dims[start:end]):
        return s.constant(np.asarray(dims[start:end], dtype=np.int64), s.caps.shape_dtype, "")
    tensor = s.shape_of(s.tensor(value))
    if (start, end) == (0, len(dims)):
        return tensor
    return s.add(s.net.add_slice(tensor, (start,), (end - start,), (1,)), "")


@operator("Size", types="FIBQU")
def size(s: Scope, node: oir.Node) -> Any:
    value = given(node, 0)
    static = s.static(value)
    if static is not None:
        return s.constant(np.asarray(int(np.prod(static, dtype=np.int64))), s.caps.shape_dtype, "", ())
    return s.reduce("PROD", s.shape_of(s.tensor(value)), [0], False)


def _known_rank(facts: Facts, node: oir.Node) -> None:
    facts.shape(node.outputs[0])


@operator("Reshape", types="FIBQ", check=_known_rank)
def reshape(s: Scope, node: oir.Node) -> Any:
    """By numbers where the dims are numbers, by -1 for one dim that is not, by arithmetic for more."""
    x_value, shape_value = given(node, 0), given(node, 1)
    x = s.tensor(x_value)
    have, want = s.shape(x_value), s.shape(node.outputs[0])
    dims = [KEEP if not isinstance(d, int) and at < len(have) and have[at] is d else d for at, d in enumerate(want)]
    try:
        return s.reshape(x, dims, "")
    except Unknown:
        return s.reshape_to(x, s.tensor(shape_value), "", zero_copies=not attr(node, "allowzero", 0))


@operator("Flatten", types="FIBQ")
def flatten(s: Scope, node: oir.Node) -> Any:
    value = given(node, 0)
    x = s.tensor(value)
    dims = s.shape(value)
    axis = attr(node, "axis", 1)
    axis = axis + len(dims) if axis < 0 else axis
    rows: Any = 1
    columns: Any = 1
    for at, dim in enumerate(dims):
        if at < axis:
            rows = rows * dim
        else:
            columns = columns * dim
    want = [rows, columns]
    return s.reshape(
        x, [KEEP if len(dims) > at and d is dims[at] and not isinstance(d, int) else d for at, d in enumerate(want)], ""
    )


@operator("Transpose", types="FIBQ")
def transpose(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    perm = attr(node, "perm") or tuple(reversed(range(len(x.shape))))
    return s.transpose(x, perm, "")


def _squeezed(facts: Facts, node: oir.Node) -> list[int]:
    dims = facts.shape(given(node, 0))
    axes = facts.ints(input_at(node, 1), "the axes")
    if axes is None:
        # A dim that is not a number is taken to be other than 1.
        return [at for at, d in enumerate(dims) if d == 1]
    return sorted(axis_of(a, len(dims)) for a in axes)


def _check_squeeze(facts: Facts, node: oir.Node) -> None:
    _squeezed(facts, node)


@operator("Squeeze", types="FIBQ", check=_check_squeeze)
def squeeze(s: Scope, node: oir.Node) -> Any:
    axes = _squeezed(s, node)
    x = s.input(node, 0)
    return s.squeeze(x, axes, "") if axes else x


def _unsqueezed(facts: Facts, node: oir.Node) -> list[int]:
    axes = facts.ints(given(node, 1), "the axes")
    assert axes is not None
    rank = facts.rank(given(node, 0)) + len(axes)
    return sorted(axis_of(a, rank) for a in axes)


def _check_unsqueeze(facts: Facts, node: oir.Node) -> None:
    _unsqueezed(facts, node)


@operator("Unsqueeze", types="FIBQ", check=_check_unsqueeze)
def unsqueeze(s: Scope, node: oir.Node) -> Any:
    axes = _unsqueezed(s, node)
    x = s.input(node, 0)
    return s.unsqueeze(x, axes, "") if axes else x


@operator("Concat", types="FIB", typed=None)
def concat(s: Scope, node: oir.Node) -> Any:
    tensors = [s.input(node, at) for at in range(len(node.inputs))]
    axis = axis_of(attr(node, "axis", 0), len(tensors[0].shape))
    if len(tensors) == 1:
        return tensors[0]
    return s.add(s.net.add_concatenation(tensors), "", axis=axis)


def _blocks(facts: Facts, node: oir.Node) -> None:
    rank = facts.rank(given(node, 0))
    if rank != 4:
        refuse(f"an input of rank {rank}")
    if not isinstance(facts.shape(given(node, 0))[1], int):
        refuse("the number of channels is not known when the network is built")


@operator("DepthToSpace", types="FIB", check=_blocks)
def depth_to_space(s: Scope, node: oir.Node) -> Any:
    value = given(node, 0)
    n, c, h, w = s.shape(value)
    assert isinstance(c, int)
    b = attr(node, "blocksize")
    inner = c // (b * b)
    if attr(node, "mode", "DCR") == "DCR":
        split, perm = [KEEP, b, b, inner, h, w], (0, 3, 4, 1, 5, 2)
    else:
        split, perm = [KEEP, inner, b, b, h, w], (0, 1, 4, 2, 5, 3)
    split[0] = n if isinstance(n, int) else KEEP
    apart = s.transpose(s.reshape(s.tensor(value), split, "split"), perm, "permute")
    return s.reshape(apart, [split[0], inner, h * b, w * b], "")


@operator("SpaceToDepth", types="FIB", check=_blocks)
def space_to_depth(s: Scope, node: oir.Node) -> Any:
    value = given(node, 0)
    n, c = s.shape(value)[:2]
    b = attr(node, "blocksize")
    _, depth, rows, columns = s.shape(node.outputs[0])
    first = n if isinstance(n, int) else KEEP
    apart = s.reshape(s.tensor(value), [first, c, rows, b, columns, b], "split")
    return s.reshape(s.transpose(apart, (0, 3, 5, 1, 2, 4), "permute"), [first, depth, rows, columns], "")


@operator("Expand", types="FIB", check=_known_rank)
def expand(s: Scope, node: oir.Node) -> Any:
    """A slice with stride 0 along what is repeated; both shapes broadcast, so a 1 in the target keeps the input's."""
    value, target = given(node, 0), given(node, 1)
    want = s.shape(node.outputs[0])
    rank = len(want)
    have: list[Any] = [1] * (rank - s.rank(value)) + list(s.shape(value))
    if tuple(have) == tuple(want):
        return s.tensor(value)
    x = s.operand(value, rank)
    ranges: dict[int, tuple[Any, Any, Any]] = {}
    try:
        for axis in range(rank):
            if have[axis] is want[axis] or have[axis] == want[axis]:
                continue
            stride = 0 if have[axis] == 1 else _stride(s, x, axis)
            ranges[axis] = (0, s.dim(want[axis]) if not isinstance(want[axis], int) else want[axis], stride)
    except Unknown:
        return _expand_to(s, x, s.tensor(target))
    return s.slice(x, ranges, "")


def _stride(s: Scope, x: Any, axis: int) -> Any:
    """0 where the dim is 1, else 1, for a dim that is not a number."""
    less = s.arithmetic("SUB", s.dim_of(x, axis), s.shape_constant([1]))
    return s.arithmetic("MIN", less, s.shape_constant([1]), "stride")


def _expand_to(s: Scope, x: Any, target: Any) -> Any:
    rank = len(x.shape)
    missing = rank - target.shape[0]
    if missing:
        target = s.concat([s.shape_constant([1] * missing), target], 0, "target")
    have = s.shape_of(x)
    one = s.shape_constant([1])
    sizes = s.select(s.arithmetic("EQUAL", target, one), have, target, "size")
    sizes = s.select(s.arithmetic("EQUAL", have, one), target, sizes, "size")
    strides = s.arithmetic("MIN", s.arithmetic("SUB", have, one), one, "stride")
    made = s.net.add_slice(x, (0,) * rank, (1,) * rank, (1,) * rank)
    return s.add(made, "", {2: sizes, 3: strides})


@operator("Tile", types="FIB", check=_known_rank)
def tile(s: Scope, node: oir.Node) -> Any:
    value = given(node, 0)
    x = s.tensor(value)
    have, want = s.shape(value), s.shape(node.outputs[0])
    ranges = {at: (0, w, 1) for at, (h, w) in enumerate(zip(have, want, strict=True)) if not (h is w or h == w)}
    if not ranges:
        return x
    try:
        return s.slice(x, ranges, "", mode="WRAP")
    except Unknown:
        rank = len(want)
        sizes = s.arithmetic("PROD", s.shape_of(x), s.tensor(given(node, 1)), "size")
        made = s.net.add_slice(x, (0,) * rank, (1,) * rank, (1,) * rank)
        return s.add(made, "", {2: sizes}, mode=s.trt.SampleMode.WRAP)
