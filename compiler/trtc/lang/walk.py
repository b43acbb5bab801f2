"""Walking over the expressions of rules, and rebuilding them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, cast

from trtc.lang import rules

Declared = rules.Pattern | rules.Rewrite | rules.Horizontal | rules.Plugin | rules.Extern


def children(expression: rules.Expr) -> tuple[rules.Expr, ...]:
    """The operands of an expression, in the order of the text."""
    if isinstance(expression, rules.Apply):
        return (*expression.inputs, *(g.value for g in expression.given))
    if isinstance(expression, rules.Infix):
        return (expression.left, expression.right)
    if isinstance(expression, (rules.Prefix, rules.Typed)):
        return (expression.operand,)
    if isinstance(expression, (rules.Items, rules.Tuple_)):
        return expression.items
    return ()


def walk(expression: rules.Expr) -> Iterator[rules.Expr]:
    """An expression and everything inside it, outermost first, in the order of the text."""
    stack = [expression]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(reversed(children(one)))


def roots(declared: Declared) -> Iterator[rules.Expr]:
    """The outermost expressions of a declaration."""
    if isinstance(declared, rules.Pattern):
        yield from (t.default for t in declared.targets if t.default is not None)
        yield from (e.value for e in declared.equations)
        yield from declared.guards
    elif isinstance(declared, rules.Rewrite):
        yield from (e.value for e in declared.equations)
        yield from declared.guards
        yield from (e.value for e in declared.lets)
        yield declared.replacement
    elif isinstance(declared, rules.Horizontal):
        yield from (e.value for e in (*declared.equations, declared.member))
        yield from declared.guards
        yield from (declared.merge, declared.axis, declared.sizes)
    elif isinstance(declared, rules.Plugin):
        yield from (f.value for f in declared.fields)
        yield from (e.value for e in declared.meaning)


def applications(declared: Declared) -> Iterator[rules.Apply]:
    """Every call inside a declaration."""
    for root in roots(declared):
        yield from (e for e in walk(root) if isinstance(e, rules.Apply))


def rebuilt(node: Any, change: Callable[[Any], Any]) -> Any:
    """`node` with `change` done to every dataclass inside it, innermost first; parts that stay the same stay the same.

    Spans and environments are left alone.
    """
    if isinstance(node, tuple):
        items = cast("tuple[Any, ...]", node)
        made = tuple(rebuilt(item, change) for item in items)
        return made if any(a is not b for a, b in zip(made, items, strict=True)) else items
    if not dataclasses.is_dataclass(node) or isinstance(node, (type, rules.Environment)):
        return node
    updates: dict[str, Any] = {}
    for field in dataclasses.fields(node):
        if field.name in ("span", "name_span", "environment"):
            continue
        old = getattr(node, field.name)
        new = rebuilt(old, change)
        if new is not old:
            updates[field.name] = new
    return change(dataclasses.replace(node, **updates) if updates else node)
