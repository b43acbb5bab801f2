"""What guards say before anything is matched: numbers that they ask for, and instances that they refuse."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from trtc.lang import rules
from trtc.lang.rules import Expr
from trtc.rewrite import functions
from trtc.rewrite.evaluate import same


class Unknown(Exception):
    """Something in an expression is not known (yet)."""


#: What a name or a capture stands for. Raises Unknown.
Lookup = Callable[[Expr], Any]

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) and a % b == 0 else a / b,
    "==": same,
    "!=": lambda a, b: not same(a, b),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "&&": lambda a, b: bool(a and b),
    "||": lambda a, b: bool(a or b),
}


def evaluate(expr: Expr, lookup: Lookup, known: functions.Known) -> Any:
    """The number, text, tuple or value that an expression is.

    Raises:
        Unknown: it cannot be said.
    """
    if isinstance(expr, rules.Literal_ | rules.Approximate):
        return expr.value
    if isinstance(expr, rules.Items):
        return tuple(evaluate(item, lookup, known) for item in expr.items)
    if isinstance(expr, rules.Typed):
        return evaluate(expr.operand, lookup, known)
    if isinstance(expr, rules.Prefix):
        operand = evaluate(expr.operand, lookup, known)
        return -operand if expr.operator == "-" else not operand if expr.operator == "!" else operand
    if isinstance(expr, rules.Infix):
        left, right = evaluate(expr.left, lookup, known), evaluate(expr.right, lookup, known)
        operator = _OPERATORS.get(expr.operator)
        if operator is None:
            raise Unknown(expr.operator)
        return operator(left, right)
    if isinstance(expr, rules.Apply):
        function = functions.FUNCTIONS.get(expr.callee)
        if function is None:
            raise Unknown(expr.callee)
        if expr.callee == "present":
            try:
                return lookup(expr.inputs[0]) is not None
            except Unknown:
                return False
        if expr.callee == "default":
            try:
                found = lookup(expr.inputs[0])
            except Unknown:
                found = None
            return evaluate(expr.inputs[1], lookup, known) if found is None else found
        arguments = [evaluate(one, lookup, known) for one in expr.inputs]
        named = {given.name.text: evaluate(given.value, lookup, known) for given in expr.given}
        return function.run(known, *arguments, **named)
    if isinstance(expr, rules.Value) and expr.name in functions.WORDS:
        return functions.WORDS[expr.name]
    return lookup(expr)


def conditions(guards: tuple[Expr, ...]) -> Iterator[Expr]:
    """The conditions that must all hold."""
    stack = list(guards)
    while stack:
        guard = stack.pop()
        if isinstance(guard, rules.Infix) and guard.operator == "&&":
            stack += [guard.left, guard.right]
        else:
            yield guard


def wanted(guards: tuple[Expr, ...], name: str) -> Iterator[Expr]:
    """What the guards allow a capture to be equal to."""
    stack = list(guards)
    while stack:
        guard = stack.pop()
        if not isinstance(guard, rules.Infix):
            continue
        if guard.operator in ("&&", "||"):
            stack += [guard.left, guard.right]
        elif guard.operator == "==":
            for one, other in ((guard.left, guard.right), (guard.right, guard.left)):
                if isinstance(one, rules.Capture) and one.name == name:
                    yield other


def broken(guard: Expr, lookup: Lookup, known: functions.Known) -> bool:
    """Whether a guard is known not to hold."""
    try:
        return not evaluate(guard, lookup, known)
    except Unknown:
        return False
    except (ArithmeticError, TypeError, ValueError, IndexError):
        return True


__all__ = ["Lookup", "Unknown", "broken", "conditions", "evaluate", "wanted"]
