"""Mechanical mutants of a rule: one thing changed, so that refutation can be asked whether it would have noticed.

Not made are those that cannot do harm: the engine replaces nothing by what has another shape or dtype, so that guards
which only say that, and lists which only decide the shape, may go; guards about what is worth it change no value.

A mutant is a changed constant, axis, attribute, order of the operands of an operator that does not commute, exchanged
arguments, or a dropped guard. Changes of the right-hand side of a constant by less than any dtype could show are not
made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from trtc.lang import rules
from trtc.lang.rules import Expr, Horizontal, Pattern, Rule
from trtc.rewrite.refute.survey import COMMUTATIVE

_INFIX_OTHER = {"+": "-", "-": "+", "*": "/", "/": "*"}
#: Functions of which the order of the arguments matters.
_ORDERED = frozenset({"compose"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed rule. kind: `constant`, `axis`, `order`, `attribute`, `guard` or `argument`."""

    rule: Rule
    kind: str
    change: str

    @property
    def label(self) -> str:
        name = f"{self.rule.library}.{self.rule.name.text}" if self.rule.library else self.rule.name.text
        return f"{name}: {self.kind}: {self.change}"


#: Functions of guards that ask for what the engine sees to by itself, or for what only pays.
_CHECKED = frozenset(
    {"same_shape", "stands_for", "pads_of_space", "dtype", "is_const", "is_whole", "divides", "rank", "broadcasts_to"}
)
#: Lists of which another one gives another shape, or the same values.
_SHAPES = frozenset({"shape", "pads", "kernel_shape", "scales"})

#: (what was changed, the changed expression)
_Change = tuple[str, str, Expr]


def mutants(rule: Rule) -> Iterator[Mutant]:
    """All mutants of a rule: of its replacement, its guards, its pattern, and the patterns that it uses."""
    if isinstance(rule, Horizontal):
        for field in ("merge", "sizes", "axis"):
            for kind, text, made in _changed(getattr(rule, field), right=True):
                yield Mutant(dataclasses.replace(rule, **{field: made}), kind, f"{field}: {text}")
    else:
        for kind, text, made in _changed(rule.replacement, right=True):
            yield Mutant(dataclasses.replace(rule, replacement=made), kind, text)
        for at, let in enumerate(rule.lets):
            for kind, text, made in _changed(let.value, right=True):
                lets = (*rule.lets[:at], dataclasses.replace(let, value=made), *rule.lets[at + 1 :])
                yield Mutant(dataclasses.replace(rule, lets=lets), kind, text)
    yield from _without_guards(rule)
    yield from _pattern(rule)
    for name, pattern in _used(rule).items():
        for made, kind, text in _of_pattern(pattern):
            yield Mutant(_with_pattern(rule, name, made), kind, f"in {name}: {text}")


def _without_guards(rule: Rule) -> Iterator[Mutant]:
    for at, guard in enumerate(rule.guards):
        for made, text in _less(guard):
            rest = (*rule.guards[:at], *([made] if made is not None else []), *rule.guards[at + 1 :])
            yield Mutant(dataclasses.replace(rule, guards=rest), "guard", f"without `{text}`")


def _less(guard: Expr) -> Iterator[tuple[Expr | None, str]]:
    """A guard with one of its conditions gone."""
    if isinstance(guard, rules.Infix) and guard.operator == "&&":
        for made, text in _less(guard.left):
            yield (guard.right if made is None else dataclasses.replace(guard, left=made)), text
        for made, text in _less(guard.right):
            yield (guard.left if made is None else dataclasses.replace(guard, right=made)), text
    elif not _binds(guard) and not _checked(guard):
        yield None, " ".join(guard.span.text.split())


def _checked(guard: Expr) -> bool:
    """Whether a condition speaks of shapes, dtypes and constants alone."""
    if isinstance(guard, rules.Infix):
        # `<` and the like between dims may be what a rule rests on.
        equal = guard.operator in ("==", "||", "+", "-", "*", "/") or "(" in guard.span.text
        return equal and _checked(guard.left) and _checked(guard.right)
    if isinstance(guard, rules.Prefix):
        return _checked(guard.operand)
    if isinstance(guard, rules.Apply):
        return guard.callee in _CHECKED
    return isinstance(guard, rules.Value | rules.Literal_)


def _binds(guard: Expr) -> bool:
    """Whether a guard may be there to bind a capture: without it the right-hand side has no meaning."""
    return (
        isinstance(guard, rules.Infix)
        and guard.operator == "=="
        and (isinstance(guard.left, rules.Capture) or isinstance(guard.right, rules.Capture))
    )


def _pattern(rule: Rule) -> Iterator[Mutant]:
    equations = (rule.member,) if isinstance(rule, Horizontal) else rule.equations
    for at, equation in enumerate(equations):
        for kind, text, made in _changed(equation.value, right=False):
            changed = dataclasses.replace(equation, value=made)
            if isinstance(rule, Horizontal):
                yield Mutant(dataclasses.replace(rule, member=changed), kind, f"in the pattern: {text}")
            else:
                rest = (*equations[:at], changed, *equations[at + 1 :])
                yield Mutant(dataclasses.replace(rule, equations=rest), kind, f"in the pattern: {text}")


def _of_pattern(pattern: Pattern) -> Iterator[tuple[Pattern, str, str]]:
    for at, equation in enumerate(pattern.equations):
        for kind, text, made in _changed(equation.value, right=False):
            rest = (*pattern.equations[:at], dataclasses.replace(equation, value=made), *pattern.equations[at + 1 :])
            yield dataclasses.replace(pattern, equations=rest), kind, text
    for at, guard in enumerate(pattern.guards):
        for made, text in _less(guard):
            rest = (*pattern.guards[:at], *([made] if made is not None else []), *pattern.guards[at + 1 :])
            yield dataclasses.replace(pattern, guards=rest), "guard", f"without `{text}`"


def _used(rule: Rule) -> dict[str, Pattern]:
    """The patterns that a rule uses, by the name that it calls them; not those that only these use."""
    found: dict[str, Pattern] = {}
    equations = (rule.member, *rule.equations) if isinstance(rule, Horizontal) else rule.equations
    for equation in equations:
        for expr in _walk(equation.value):
            if isinstance(expr, rules.Apply) and expr.callee in rule.environment.patterns:
                found[expr.callee] = rule.environment.patterns[expr.callee]
    return found


def _with_pattern(rule: Rule, name: str, pattern: Pattern) -> Rule:
    old = rule.environment
    patterns = {**old.patterns, name: pattern}
    return dataclasses.replace(rule, environment=rules.Environment(patterns, old.plugins, old.externs, old.params))


def _walk(expr: Expr) -> Iterator[Expr]:
    yield expr
    for child, _ in _children(expr):
        yield from _walk(child)


def _children(expr: Expr) -> list[tuple[Expr, Callable[[Expr], Expr]]]:
    """The expressions right inside, each with what puts another in its place."""
    made: list[tuple[Expr, Callable[[Expr], Expr]]] = []
    if isinstance(expr, rules.Apply):
        for at, one in enumerate(expr.inputs):
            made.append((one, _input(expr, at)))
        for at, given in enumerate(expr.given):
            made.append((given.value, _given(expr, at)))
    elif isinstance(expr, rules.Items | rules.Tuple_):
        for at, one in enumerate(expr.items):
            made.append((one, _item(expr, at)))
    elif isinstance(expr, rules.Infix):
        made.append((expr.left, lambda new: dataclasses.replace(expr, left=new)))
        made.append((expr.right, lambda new: dataclasses.replace(expr, right=new)))
    elif isinstance(expr, rules.Prefix | rules.Typed):
        made.append((expr.operand, lambda new: dataclasses.replace(expr, operand=new)))
    return made


def _input(expr: rules.Apply, at: int) -> Callable[[Expr], Expr]:
    return lambda new: dataclasses.replace(expr, inputs=(*expr.inputs[:at], new, *expr.inputs[at + 1 :]))


def _given(expr: rules.Apply, at: int) -> Callable[[Expr], Expr]:
    def put(new: Expr) -> Expr:
        changed = dataclasses.replace(expr.given[at], value=new)
        return dataclasses.replace(expr, given=(*expr.given[:at], changed, *expr.given[at + 1 :]))

    return put


def _item(expr: rules.Items | rules.Tuple_, at: int) -> Callable[[Expr], Expr]:
    return lambda new: dataclasses.replace(expr, items=(*expr.items[:at], new, *expr.items[at + 1 :]))


def _changed(expr: Expr, *, right: bool) -> Iterator[_Change]:
    """The expression with one thing in it changed."""
    yield from _here(expr, right=right)
    for child, put in _children(expr):
        for kind, text, made in _changed(child, right=right):
            yield kind, text, put(made)


def _here(expr: Expr, *, right: bool) -> Iterator[_Change]:
    text = " ".join(expr.span.text.split())
    if isinstance(expr, rules.Literal_ | rules.Approximate):
        number = expr.value
        if isinstance(number, bool | str):
            return
        if isinstance(number, float):
            other = number * 1.25 if number else 0.25
            yield "constant", f"`{text}` becomes {other:g}", _number(expr, other)
    elif isinstance(expr, rules.Infix):
        if expr.operator in ("-", "/", "@"):
            yield "order", f"`{text}` the other way round", dataclasses.replace(expr, left=expr.right, right=expr.left)
        if right and expr.operator in _INFIX_OTHER:
            other_operator = _INFIX_OTHER[expr.operator]
            yield "argument", f"`{text}` with {other_operator}", dataclasses.replace(expr, operator=other_operator)
    elif isinstance(expr, rules.Apply):
        yield from _call(expr, text, right=right)


def _call(expr: rules.Apply, text: str, *, right: bool) -> Iterator[_Change]:
    for at, given in enumerate(expr.given):
        name, value = given.name.text, given.value
        if name in _SHAPES:
            continue
        for other, shown in _other_values(name, value):
            kind = "axis" if name in ("axis", "axes", "perm") else "attribute"
            yield kind, f"{expr.callee}: {name} = {shown}", _given(expr, at)(other)
        # `..y` copies it all the same.
        if right and isinstance(value, rules.Capture) and name != "perm" and not (expr.rest or expr.spread is not None):
            kept = (*expr.given[:at], *expr.given[at + 1 :])
            yield "attribute", f"{expr.callee}: no {name}", dataclasses.replace(expr, given=kept)
    if (
        right
        and len(expr.inputs) > 1
        and expr.callee not in COMMUTATIVE
        and (expr.callee[0].isupper() or expr.callee in _ORDERED)
    ):
        for at in range(len(expr.inputs) - 1):
            one, two = expr.inputs[at], expr.inputs[at + 1]
            if one == two or isinstance(two, rules.Items):
                continue
            swapped = (*expr.inputs[:at], two, one, *expr.inputs[at + 2 :])
            yield (
                "argument",
                f"`{text}` with arguments {at} and {at + 1} exchanged",
                dataclasses.replace(expr, inputs=swapped),
            )


def _other_values(name: str, value: Expr) -> Iterator[tuple[Expr, str]]:
    if name in ("to", "softmax_precision", "stash_type"):
        return  # a dtype: the number beside it is another matter altogether
    if isinstance(value, rules.Literal_) and isinstance(value.value, int) and not isinstance(value.value, bool):
        flags = ("transA", "transB", "keepdims", "is_causal", "interleaved", "count_include_pad", "ceil_mode")
        other = 1 - value.value if name in flags else value.value + 1 if value.value != -1 else 0
        yield _number(value, other), str(other)
    elif isinstance(value, rules.Prefix) and isinstance(value.operand, rules.Literal_):
        yield _number(value.operand, 0), "0"
    elif isinstance(value, rules.Literal_) and name == "approximate":
        other_text = "tanh" if value.value == "none" else "none"
        yield dataclasses.replace(value, value=other_text), other_text
    elif isinstance(value, rules.Items) and len(value.items) > 1:
        yield dataclasses.replace(value, items=(*value.items[:-2], value.items[-1], value.items[-2])), "reordered"
    elif isinstance(value, rules.Items) and len(value.items) == 1:
        for other, shown in _other_values("axis", value.items[0]):
            yield dataclasses.replace(value, items=(other,)), f"[{shown}]"


def _number(expr: rules.Literal_ | rules.Approximate, number: Any) -> Expr:
    return dataclasses.replace(expr, value=number)


__all__ = ["Mutant", "mutants"]
