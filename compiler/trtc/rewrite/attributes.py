"""Attributes of a node against those of a pattern: mentioned ones match, the others hold their defaults."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.lang import rules
from trtc.rewrite.evaluate import Unbound, evaluate
from trtc.rewrite.operators import AXES, FILLED, IMPLIED, Schema, schema
from trtc.rewrite.program import Op
from trtc.rewrite.shapes import items_match
from trtc.rewrite.state import State


def attributes_matcher(node: Op) -> Callable[[State, oir.Node], bool]:
    """A function that says whether a node of the right operator has the attributes of the pattern."""
    known = schema(node.op_type, node.domain)
    mentioned = {name for name, _ in node.attributes}
    wanted = tuple((name, value, _default(known, name)) for name, value in node.attributes)
    axis = AXES.get(node.op_type) if not node.domain else None
    scope, span, rest = node.scope, node.span, node.rest

    def match(state: State, made: oir.Node) -> bool:
        attributes = made.attributes
        if not rest:
            for name, attr in attributes.items():
                if name not in mentioned and not _is_default(known, state, made, name, attr):
                    return state.miss(
                        span,
                        made.outputs[0],
                        lambda name=name, attr=attr: f"`{name}` of `{made.name}` is {_show(attr)}, not its default",
                        1,
                    )
        for name, value, default in wanted:
            attr = attributes.get(name)
            found = plain(attr) if attr is not None else default
            if not _matches(state, made, name, value, found, scope, axis):
                return state.miss(
                    value.span,
                    made.outputs[0],
                    lambda name=name, value=value, found=found: _differs(made, name, value, found),
                    1,
                )
        return True

    return match


def _matches(
    state: State, made: oir.Node, name: str, value: rules.Expr, found: Any, scope: Any, axis: tuple[str, bool] | None
) -> bool:
    if isinstance(value, rules.Capture):
        if found is None:
            return False
        slot = scope.captures[value.name]
        bound = state.captures[slot]
        if bound is None:
            state.bind(state.captures, slot, found)
            return True
        return bound == found
    if isinstance(value, rules.Value) and value.name == "_":
        return True
    if found is None:
        return False
    if isinstance(value, rules.Approximate):
        tolerance = value.tolerance or 1e-6
        return isinstance(found, int | float) and abs(found - value.value) <= tolerance * abs(value.value)
    rank = None
    if axis is not None and axis[0] == name:
        reference = made.outputs[0] if axis[1] else made.inputs[0]
        shape = state.module.shape(reference) if reference is not None else None
        rank = None if shape is None else len(shape)
    if isinstance(value, rules.Items):
        return isinstance(found, tuple) and items_match(state, found, value.items, scope, rank)
    try:
        wanted = evaluate(state, value, scope)
    except Unbound:
        return False
    if isinstance(found, float):
        return isinstance(wanted, int | float) and float(np.float32(wanted)) == found
    if isinstance(found, tuple) and isinstance(wanted, tuple):
        return items_equal(found, wanted, rank)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(found, int) and isinstance(wanted, int):
        return found == int(wanted) or (rank is not None and found % rank == int(wanted) % rank)
    return bool(found == wanted)


def items_equal(found: tuple[Any, ...], wanted: tuple[Any, ...], rank: int | None) -> bool:
    """Whether two lists are equal; with a rank, axes may count from either end."""
    if len(found) != len(wanted):
        return False
    return all(a == b or (rank is not None and a % rank == b % rank) for a, b in zip(found, wanted, strict=True))


def _default(known: Schema | None, name: str) -> Any:
    found = None if known is None else known.defaults.get(name)
    return float(np.float32(found)) if isinstance(found, float) else found


def _is_default(known: Schema | None, state: State, made: oir.Node, name: str, attr: oir.Attr) -> bool:
    if attr.is_ref():
        return False
    value = plain(attr)
    if name in IMPLIED and name != "output_shape":
        return True
    if known is not None and name in known.defaults:
        default = _default(known, name)
        if value == default:
            return True
        return name == "axis" and _last_axis(state, made, value, default)
    if name in FILLED and isinstance(value, tuple):
        return all(v == FILLED[name] for v in value)
    if name == "perm" and isinstance(value, tuple):
        return value == tuple(range(len(value)))[::-1]
    return name == "auto_pad" and value == "NOTSET"


def _last_axis(state: State, made: oir.Node, value: Any, default: Any) -> bool:
    """Axes of the module count from the front; the default of some operators counts from the end."""
    source = made.inputs[0]
    shape = None if source is None else state.module.shape(source)
    rank = None if shape is None else len(shape)
    return rank is not None and isinstance(value, int) and value == default + rank


def plain(attr: oir.Attr) -> Any:
    """The value of an attribute: a number, a text, a tuple; a tensor or a graph as it is."""
    kind = attr.type
    if attr.is_ref():
        return None
    if kind == oir.AttributeType.FLOAT:
        return float(np.float32(attr.as_float()))
    if kind == oir.AttributeType.INT:
        return int(attr.as_int())
    if kind == oir.AttributeType.STRING:
        return attr.as_string()
    if kind == oir.AttributeType.INTS:
        return tuple(int(v) for v in attr.as_ints())
    if kind == oir.AttributeType.FLOATS:
        return tuple(float(np.float32(v)) for v in attr.as_floats())
    if kind == oir.AttributeType.STRINGS:
        return tuple(attr.as_strings())
    return attr.value


def _differs(made: oir.Node, name: str, value: rules.Expr, found: Any) -> str:
    what = "not given" if found is None else _text(found)
    if isinstance(value, rules.Capture):
        return f"`{name}` of `{made.name}` is {what}, and `{value.span.text}` is another already"
    return f"`{name}` of `{made.name}` is {what}, the pattern needs {value.span.text}"


def _show(attr: oir.Attr) -> str:
    return _text(plain(attr))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:.9g}" if isinstance(value, float) else str(list(value) if isinstance(value, tuple) else value)
