"""Which integers an input may hold, found from the graph: an index stays inside its table."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.module import Module

if TYPE_CHECKING:
    from trtc.ir.dims import Dim

#: Operators that hand on the values of their first input, or of every input, one by one.
_CARRIES_FIRST = frozenset(
    """
    DepthToSpace Dropout Expand Flatten Gather GatherElements GatherND Identity Pad ReduceMax ReduceMin Reshape Slice
    SpaceToDepth Split Squeeze Tile Transpose Trilu Unsqueeze
    """.split()  # noqa: SIM905
)
_CARRIES_ALL = frozenset(["Concat"])

#: The position of an index among the inputs, and the axis attribute of what it indexes into input 0.
_INDEXED = {
    ("Gather", 1): "axis",
    ("GatherElements", 1): "axis",
    ("ScatterElements", 1): "axis",
}

#: Inputs that decide a shape: such an input cannot be drawn at random.
_SHAPES = {
    ("Reshape", 1),
    ("Expand", 1),
    ("Tile", 1),
    ("ConstantOfShape", 0),
    ("Range", 0),
    ("Range", 1),
    ("Range", 2),
    ("Slice", 1),
    ("Slice", 2),
    ("Slice", 3),
    ("Slice", 4),
    ("Pad", 1),
    ("Resize", 2),
    ("Resize", 3),
    ("TopK", 1),
    ("OneHot", 1),
    ("Split", 1),
    ("Unsqueeze", 1),
    ("Squeeze", 1),
    ("CenterCropPad", 1),
}

#: Inputs that integers are divided by: zero there ends the process of ONNX Runtime.
_DIVISORS = {("Div", 1), ("Mod", 1)}

#: Drawn from 0 and 1 when nothing bounds the values and they are read as numbers: a mask, a flag, a segment id.
MASK = (0, 1)


class ShapeInput(Exception):
    """The values of this input decide shapes."""


def integer_range(module: Module, value: oir.Value, env: dict[str, int]) -> tuple[int, int] | None:
    """The inclusive range of integers that the graph accepts for an input, None when nothing bounds it.

    `env` gives every symbolic dim a number. Negative indices are legal in ONNX and not drawn. Offsets are
    followed: an index that is used as `ids + 2` may go to two less than the end of its table.

    Raises:
        ShapeInput: the values of the input decide a shape.
    """
    low, high, bounded = 0, 2**31 - 1, False
    for node, index, offset in _uses(module, value):
        if (node.op_type, index) in _SHAPES:
            raise ShapeInput(f"{node.op_type} `{node.name}`")
        if (node.op_type, index) in _DIVISORS:
            low = max(low, 1 - offset)
        limit = _limit(module, node, index, env)
        if limit is not None:
            low, high, bounded = max(low, -offset), min(high, limit - 1 - offset), True
    if not bounded and low > 0:
        return (low, low + 9)
    return (low, max(low, high)) if bounded else None


def shape_inputs(module: Module) -> list[tuple[oir.Value, oir.Node]]:
    """Inputs of the graph whose values decide a shape, each with the first node that takes them as one."""
    found: list[tuple[oir.Value, oir.Node]] = []
    for value in module.graph.inputs:
        dtype = module.dtype(value)
        if dtype is None or not dtype.is_integer():
            continue
        taker = next((n for n, index, _ in _uses(module, value) if (n.op_type, index) in _SHAPES), None)
        if taker is not None:
            found.append((value, taker))
    return found


def _uses(module: Module, value: oir.Value) -> Iterator[tuple[oir.Node, int, int]]:
    """Every place where the values of `value` arrive one by one: node, position among its inputs, what was added."""
    queue: deque[tuple[oir.Value, int]] = deque([(value, 0)])
    seen: set[tuple[oir.Value, int]] = {(value, 0)}
    while queue:
        current, offset = queue.popleft()
        for node, index in current.uses():
            yield node, index, offset
            shift = _shift(module, node, index)
            if shift is None or (node.op_type, index) in _INDEXED:
                continue
            for out in node.outputs:
                step = (out, offset + shift)
                if step not in seen:
                    seen.add(step)
                    queue.append(step)


def _limit(module: Module, node: oir.Node, index: int, env: dict[str, int]) -> int | None:
    """The number of entries that input `index` of `node` selects from, when it is an index."""
    if node.domain != "":
        return None
    name = _INDEXED.get((node.op_type, index))
    if name is not None:
        shape = module.shape(node.inputs[0]) if node.inputs[0] is not None else None
        attr = node.attributes.get(name)
        axis = attr.as_int() if attr is not None else 0
        return _number(shape[axis], env) if shape is not None and shape else None
    if (node.op_type, index) in (("GatherND", 1), ("ScatterND", 1)):
        shape = module.shape(node.inputs[0]) if node.inputs[0] is not None else None
        indices = module.shape(node.inputs[1]) if node.inputs[1] is not None else None
        if shape is None or indices is None or not isinstance(indices[-1], int):
            return None
        attr = node.attributes.get("batch_dims")
        first = attr.as_int() if attr is not None else 0
        sizes = [_number(d, env) for d in shape[first : first + indices[-1]]]
        return min((s for s in sizes if s is not None), default=None)
    if (node.op_type, index) == ("OneHot", 0):
        depth = module.constant(node.inputs[1])
        return int(depth.reshape(-1)[0]) if depth is not None and depth.size else None
    return None


def _number(dim: Dim, env: dict[str, int]) -> int | None:
    try:
        return dims.evaluate(dim, env)
    except (KeyError, ValueError):
        return None


def _shift(module: Module, node: oir.Node, index: int) -> int | None:
    """What is added to the values on the way through `node`; None when they do not come out one by one."""
    op = node.op_type
    if node.domain != "":
        return None
    if (op in _CARRIES_FIRST and index == 0) or op in _CARRIES_ALL or (op == "Where" and index > 0):
        return 0
    if op == "Cast":
        to = oir.DataType(node.attributes["to"].as_int())
        return 0 if to.is_integer() or to.is_floating_point() else None
    if op in ("Add", "Sub") and not (op == "Sub" and index == 1):
        other = module.constant(node.inputs[1 - index])
        if other is not None and other.size == 1 and float(other.reshape(-1)[0]).is_integer():
            amount = int(other.reshape(-1)[0])
            return amount if op == "Add" else -amount
    return None
