"""Types of captures: dims that unify, and how the shapes on both ends of a view relate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as oir

from trtc.diagnostics import Span
from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.lang import rules, syntax
from trtc.rewrite.evaluate import Unbound, evaluate
from trtc.rewrite.program import Scope
from trtc.rewrite.state import State


def sure() -> bool:
    """What is left to be checked later: nothing."""
    return True


def type_matches(
    state: State, value: oir.Value, type: rules.Type, scope: Scope, span: Span
) -> Callable[[], bool] | None:
    """Compare the shape of a value with that of a type, binding dims.

    None when they differ; else what is still to be checked when more is bound (`sure`: nothing).
    """
    wanted = type.dims
    assert wanted is not None
    shape = state.module.shape(value)
    if shape is None:
        state.miss(span, value, lambda: f"the rank of {_called(value)} is not known", 1)
        return None
    at = next((i for i, d in enumerate(wanted) if isinstance(d, syntax.AnyDims)), None)
    if at is None:
        if len(shape) != len(wanted):
            state.miss(
                span, value, lambda: f"{_called(value)} has rank {len(shape)}, the pattern needs {_text(type)}", 1
            )
            return None
        pairs = list(zip(wanted, shape, strict=True))
    else:
        if len(shape) < len(wanted) - 1:
            state.miss(
                span, value, lambda: f"{_called(value)} has rank {len(shape)}, the pattern needs {_text(type)}", 1
            )
            return None
        tail = len(wanted) - at - 1
        pairs = [*zip(wanted[:at], shape, strict=False)]
        pairs += zip(wanted[at + 1 :], shape[len(shape) - tail :], strict=True) if tail else []
    late: list[tuple[syntax.Expression, Dim]] = []
    for expression, dim in pairs:
        assert not isinstance(expression, syntax.AnyDims)
        fits = _dim(state, expression, dim, scope)
        if fits is None:
            late.append((expression, dim))
        elif not fits:
            _differs(state, value, shape, type, span)
            return None
    if not late:
        return sure

    def check() -> bool:
        for expression, dim in late:
            if _dim(state, expression, dim, scope) is not True:
                return _differs(state, value, shape, type, span)
        return True

    return check


def _dim(state: State, expression: syntax.Expression, dim: Dim, scope: Scope) -> bool | None:
    """Whether a dim is what an expression says; None when that cannot be told yet."""
    if isinstance(expression, syntax.Number):
        return dim == expression.value
    if isinstance(expression, syntax.Reference):
        return _name(state, expression.text, dim, scope)
    found = _value(state, expression, scope)
    return None if found is None else found == dim


def _name(state: State, name: str, dim: Dim, scope: Scope) -> bool:
    if name == "_":
        return True
    if name in scope.environment.params:
        return dim == scope.environment.params[name]
    slot = scope.dims[name]
    bound = state.dims[slot]
    if bound is None:
        state.bind(state.dims, slot, dim)
        return True
    return bound == dim


def _value(state: State, expression: syntax.Expression, scope: Scope) -> Dim | None:
    """The value of arithmetic over bound dims."""
    if isinstance(expression, syntax.Number):
        return int(expression.value)
    if isinstance(expression, syntax.Reference):
        if expression.text in scope.environment.params:
            return int(scope.environment.params[expression.text])
        slot = scope.dims.get(expression.text)
        return None if slot is None else state.dims[slot]
    if isinstance(expression, syntax.Unary):
        operand = _value(state, expression.operand, scope)
        return None if operand is None else operand * -1 if expression.operator == "-" else operand
    if isinstance(expression, syntax.Binary):
        left, right = _value(state, expression.left, scope), _value(state, expression.right, scope)
        if left is None or right is None:
            return None
        if expression.operator == "+":
            return left + right
        if expression.operator == "-":
            return left - right
        if expression.operator == "*":
            return left * right
        return dims.exact_quotient(left, right) if right != 0 else None
    return None


def items_match(
    state: State, found: Sequence[Any], items: Sequence[rules.Expr], scope: Scope, rank: int | None = None
) -> bool:
    """Compare a list of integers with the items of a pattern, binding captures and dims. `rank`: items below zero
    count from the end."""
    if len(found) != len(items):
        return False
    for one, item in zip(found, items, strict=True):
        if isinstance(item, rules.Value) and item.name == "_":
            continue
        if isinstance(item, rules.Capture):
            slot = scope.captures[item.name]
            if state.captures[slot] is None:
                state.bind(state.captures, slot, one)
            elif state.captures[slot] != one:
                return False
            continue
        if isinstance(item, rules.Value) and item.name in scope.dims:
            if not _name(state, item.name, one, scope):
                return False
            continue
        try:
            wanted = evaluate(state, item, scope)
        except Unbound:
            return False
        if one == wanted:
            continue
        if rank is None or not isinstance(wanted, int) or wanted >= 0 or one != wanted + rank:
            return False
    return True


def related(
    state: State,
    view: oir.Value | None,
    inner: oir.Value | None,
    relation: tuple[str, rules.Expr | None],
    scope: Scope,
    span: Span,
) -> bool:
    """Whether `view` is to `inner` as the operator says."""
    shape = state.module.shape(view) if view is not None else None
    under = state.module.shape(inner) if inner is not None else None
    if shape is None or under is None:
        return state.miss(span, view, lambda: f"the rank of {_called(view)} is not known", 1)
    if _related(state, shape, under, relation, scope):
        return True
    return state.miss(
        span, view, lambda: f"{_called(view)} is {_shape(shape)}, from {_shape(under)}: not {span.text}", 1
    )


def _related(
    state: State, shape: Sequence[Dim], under: Sequence[Dim], relation: tuple[str, rules.Expr | None], scope: Scope
) -> bool:
    kind, said = relation
    if kind == "Reshape":
        assert isinstance(said, rules.Items)
        return len(shape) == len(said.items) and all(
            _reshaped(state, item, at, shape[at], under, scope) for at, item in enumerate(said.items)
        )
    if kind == "Flatten":
        axis = 1 if said is None else int(evaluate(state, said, scope))
        axis += len(under) if axis < 0 else 0
        return tuple(shape) == (dims.product(under[:axis]), dims.product(under[axis:]))
    assert said is not None
    axes = evaluate(state, said, scope)
    many, few = (shape, under) if kind == "Unsqueeze" else (under, shape)
    rank = len(many)
    positions = {int(a) + rank if a < 0 else int(a) for a in axes}
    if any(not 0 <= a < rank or many[a] != 1 for a in positions):
        return False
    return tuple(d for i, d in enumerate(many) if i not in positions) == tuple(few)


def _reshaped(state: State, item: rules.Expr, at: int, dim: Dim, under: Sequence[Dim], scope: Scope) -> bool:
    if isinstance(item, rules.Prefix) or (isinstance(item, rules.Literal_) and item.value == -1):
        return True  # -1: what is left
    if isinstance(item, rules.Literal_) and item.value == 0:
        return at < len(under) and under[at] == dim
    return items_match(state, (dim,), (item,), scope)


def _differs(state: State, value: oir.Value, shape: Sequence[Dim], type: rules.Type, span: Span) -> bool:
    return state.miss(
        span, value, lambda: f"the shape of {_called(value)} is {_shape(shape)}, the pattern needs {_text(type)}", 1
    )


def _called(value: oir.Value | None) -> str:
    return "what is not there" if value is None else f"`{value.name}`"


def _shape(shape: Sequence[Dim]) -> str:
    return f"[{', '.join(dims.text(d) for d in shape)}]"


def _text(type: rules.Type) -> str:
    return type.span.text
