"""What an expression of a guard or of an attribute is worth, given what a match bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from trtc.ir.dims import Dim
from trtc.lang import rules
from trtc.rewrite import functions
from trtc.rewrite.program import Captured, Node, OptionalInput, Scope, TypedNode, Var
from trtc.rewrite.state import State


class Unbound(Exception):
    """A name that stands for nothing in this match: an untaken alternative would have bound it."""


ABSENT: Final = functions.ABSENT


def evaluate(state: State, value: rules.Expr, scope: Scope) -> Any:
    """A number, bool, text, tuple, dim, or value of the graph.

    Raises:
        Unbound: something in it was not bound.
    """
    if isinstance(value, rules.Literal_):
        return value.value
    if isinstance(value, rules.Approximate):
        return value.value
    if isinstance(value, rules.Capture):
        found = state.captures[scope.captures[value.name]] if value.name in scope.captures else None
        if found is None:
            raise Unbound(value.name)
        return found
    if isinstance(value, rules.Items):
        return tuple(evaluate(state, item, scope) for item in value.items)
    if isinstance(value, rules.Value):
        return lookup(state, value.name, scope)
    if isinstance(value, rules.Prefix):
        operand = evaluate(state, value.operand, scope)
        return {"-": lambda: -operand, "+": lambda: operand, "!": lambda: not operand}[value.operator]()
    if isinstance(value, rules.Infix):
        return _infix(state, value, scope)
    if isinstance(value, rules.Apply):
        return _call(state, value, scope)
    if isinstance(value, rules.Typed):
        return evaluate(state, value.operand, scope)
    raise Unbound("tuple")


def lookup(state: State, name: str, scope: Scope) -> Any:
    """What a name stands for: a value of the graph, a dim, or a param."""
    node = scope.values.get(name)
    if node is not None:
        slot = slot_of(node)
        found = state.values[slot] if slot is not None else None
        if found is None:
            raise Unbound(name)
        return found
    if name in scope.dims:
        dim = state.dims[scope.dims[name]]
        if dim is None:
            raise Unbound(name)
        return dim
    if name in scope.environment.params:
        return scope.environment.params[name]
    if name in functions.WORDS:
        return functions.WORDS[name]
    raise Unbound(name)


def slot_of(node: Node) -> int | None:
    """The slot of the value that a name stands for."""
    while isinstance(node, TypedNode | OptionalInput):
        node = node.inner
    return node.slot if isinstance(node, Var) else None


def _infix(state: State, value: rules.Infix, scope: Scope) -> Any:
    if value.operator in ("&&", "||"):
        decides = value.operator == "||"
        try:
            left = bool(evaluate(state, value.left, scope))
        except Unbound:
            return bool(evaluate(state, value.right, scope))  # what does not count decides nothing
        if left == decides:
            return left
        try:
            return bool(evaluate(state, value.right, scope))
        except Unbound:
            return left
    left, right = evaluate(state, value.left, scope), evaluate(state, value.right, scope)
    return OPERATORS[value.operator](left, right)


def _divide(left: Any, right: Any) -> Any:
    from trtc.ir import dims

    if isinstance(left, float) or isinstance(right, float):
        return left / right
    if isinstance(left, int) and isinstance(right, int):
        return left // right if left % right == 0 else left / right
    quotient = dims.exact_quotient(left, right)
    if quotient is None:
        raise Unbound("a quotient that is not whole")
    return quotient


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(left: Any, right: Any) -> bool:
        try:
            return bool(compare(left, right))
        except TypeError:  # a symbolic dim: nothing is known of its order
            return False

    return compared


def same(left: Any, right: Any) -> bool:
    """Equality; floats that a division made are equal within 1e-6 of each other, as constants of a file are."""
    if isinstance(left, float) or isinstance(right, float):
        if isinstance(left, int | float) and isinstance(right, int | float):
            return abs(left - right) <= 1e-6 * max(abs(left), abs(right))
        return False
    return bool(left == right)


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "==": same,
    "!=": lambda a, b: not same(a, b),
    "<": _ordered(lambda a, b: a < b),
    "<=": _ordered(lambda a, b: a <= b),
    ">": _ordered(lambda a, b: a > b),
    ">=": _ordered(lambda a, b: a >= b),
}


def _call(state: State, call: rules.Apply, scope: Scope) -> Any:
    if call.callee == "present":
        name = call.inputs[0]
        assert isinstance(name, rules.Value)
        node = scope.values.get(name.name)
        slot = slot_of(node) if node is not None else None
        return slot is not None and state.values[slot] is not None
    function = functions.FUNCTIONS.get(call.callee)
    if function is None:
        extern = scope.environment.externs.get(call.callee)
        if extern is None:
            raise Unbound(call.callee)
        from trtc.rewrite.externs import ask

        return ask(extern, state.module, [evaluate(state, one, scope) for one in call.inputs])
    if call.callee == "default":
        try:
            return evaluate(state, call.inputs[0], scope)
        except Unbound:
            return evaluate(state, call.inputs[1], scope)
    arguments = [evaluate(state, one, scope) for one in call.inputs]
    named = {given.name.text: evaluate(state, given.value, scope) for given in call.given}
    return function.run(functions.Known(state.module, state.constants), *arguments, **named)


def holds(state: State, guard: rules.Expr, scope: Scope) -> bool:
    """Whether a guard holds. `$a == expression` binds a capture that is still open; a condition over what an untaken
    alternative would have bound does not count."""
    if isinstance(guard, rules.Infix) and guard.operator == "&&":
        return holds(state, guard.left, scope) and holds(state, guard.right, scope)
    if isinstance(guard, rules.Infix) and guard.operator == "==":
        for one, other in ((guard.left, guard.right), (guard.right, guard.left)):
            if isinstance(one, rules.Capture) and state.captures[scope.captures[one.name]] is None:
                try:
                    found = evaluate(state, other, scope)
                except Unbound:
                    return True
                except (ArithmeticError, TypeError, ValueError, IndexError):  # 1 / $d of a zero
                    return False
                state.bind(state.captures, scope.captures[one.name], found)
                return True
    try:
        return bool(evaluate(state, guard, scope))
    except Unbound:
        return True
    except (ArithmeticError, TypeError, ValueError, IndexError):
        return False


def failing(state: State, guard: rules.Expr, scope: Scope) -> rules.Expr:
    """The part of a guard that does not hold."""
    if isinstance(guard, rules.Infix) and guard.operator == "&&":
        return failing(state, guard.right if holds(state, guard.left, scope) else guard.left, scope)
    return guard


def said(state: State, guard: rules.Expr, scope: Scope) -> str:
    """That a guard does not hold, and what the names in it stand for."""
    from trtc.ir import dims

    found: dict[str, str] = {}
    pending: list[rules.Expr] = [guard]
    while pending:
        one = pending.pop(0)
        if isinstance(one, rules.Capture | rules.Value):
            try:
                worth = evaluate(state, one, scope)
            except Unbound:
                continue
            if isinstance(worth, float):
                found[one.span.text] = f"{worth:.9g}"
            elif isinstance(worth, bool | int | str | tuple):
                found[one.span.text] = str(list(worth) if isinstance(worth, tuple) else worth)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            elif dim_or_number(worth) is not None:
                found[one.span.text] = dims.text(worth)
            else:
                found[one.span.text] = f"`{worth.name}`"
        elif isinstance(one, rules.Infix):
            pending += [one.left, one.right]
        elif isinstance(one, rules.Prefix):
            pending.append(one.operand)
        elif isinstance(one, rules.Apply):
            pending += one.inputs
    values = ", ".join(f"{name} is {value}" for name, value in found.items())
    return f"`{guard.span.text}` does not hold" + (f": {values}" if values else "")


def dim_or_number(value: Any) -> Dim | None:
    """A value that may stand in a shape."""
    from trtc.ir.dims import Expr

    return value if isinstance(value, int | Expr) and not isinstance(value, bool) else None


__all__ = [
    "ABSENT",
    "Captured",
    "Unbound",
    "dim_or_number",
    "evaluate",
    "failing",
    "holds",
    "lookup",
    "said",
    "same",
    "slot_of",
]
