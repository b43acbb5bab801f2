"""What a rule leaves open, found without making anything: choices, operands, leaves and what their types say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from trtc.diagnostics import Span
from trtc.lang import rules
from trtc.lang.rules import Expr, Horizontal, Pattern, Rule, Type
from trtc.rewrite.operators import schema

#: Operators of two operands whose order does not matter.
COMMUTATIVE = frozenset({"Add", "Mul", "And", "Or", "Xor", "Equal", "Max", "Min", "Sum", "Mean"}) | {
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
}
INFIX = {
    "+": "Add",
    "-": "Sub",
    "*": "Mul",
    "/": "Div",
    "@": "MatMul",
    "==": "Equal",
    "<": "Less",
    "<=": "LessOrEqual",
    ">": "Greater",
    ">=": "GreaterOrEqual",
    "&&": "And",
    "||": "Or",
}


_MEMBER = re.compile(r"#\d+")


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing of which every option has to be tested. requires: what must be chosen elsewhere to get there."""

    label: str
    kind: str
    """`either`, `optional`, `input` or `order`."""
    options: tuple[str, ...]
    span: Span
    requires: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A type said of a leaf; the names of its dims belong to the scope `path`."""

    path: str
    type: Type
    owner: Pattern | Rule


@dataclass(slots=True)
class Leaf:
    """A value that the rule takes from outside."""

    name: str
    optional: bool = False
    const: bool = False
    constraints: list[Constraint] = field(default_factory=list[Constraint])


@dataclass(slots=True)
class Frame:
    """The names of a rule, or of one use of a pattern. path: "" for the rule itself."""

    path: str
    owner: Pattern | Rule
    equations: Mapping[str, tuple[rules.Equation, int]]
    captures: Mapping[str, rules.Equation]
    arguments: dict[str, tuple[Expr, Frame]] = field(default_factory=dict[str, "tuple[Expr, Frame]"])


def frame_of(path: str, owner: Pattern | Rule) -> Frame:
    """The frame of a rule or of a pattern without arguments."""
    equations: dict[str, tuple[rules.Equation, int]] = {}
    captures: dict[str, rules.Equation] = {}
    members = (owner.member,) if isinstance(owner, Horizontal) else ()
    for equation in (*owner.equations, *members):
        at = 0
        for target in equation.targets:
            if target.capture:
                captures[target.name] = equation
            else:
                equations[target.name] = (equation, at)
                at += 1
    return Frame(path, owner, equations, captures)


def called(frame: Frame, call: rules.Apply, copy: str = "") -> tuple[Pattern, Frame] | None:
    """The pattern that a call names, and the frame of this use of it; None when it names no pattern."""
    pattern = frame.owner.environment.patterns.get(call.callee)
    if pattern is None:
        return None
    inner = frame_of(f"{frame.path}{copy}/{pattern.name.text}@{call.span.start}", pattern)
    for parameter, argument in zip(pattern.parameters, call.inputs, strict=False):
        inner.arguments[parameter.name.text] = (argument, frame)
    for given in call.given:
        inner.arguments[given.name.text] = (given.value, frame)
    return pattern, inner


def source(frame: Frame, name: str) -> tuple[Frame, str, Expr | None]:
    """Where a name comes from, through the arguments of patterns: (frame, name, None), or an expression."""
    while name in frame.arguments and name not in frame.equations:
        expr, outer = frame.arguments[name]
        if isinstance(expr, rules.Typed):
            expr = expr.operand
        if not isinstance(expr, rules.Value):
            return outer, name, expr
        frame, name = outer, expr.name
    return frame, name, None


def leaf_key(frame: Frame, value: rules.Value, name: str) -> str:
    """`_` is another value each time."""
    return f"{frame.path}:{name}@{value.span.start}" if name == "_" else f"{frame.path}:{name}"


def general(label: str) -> str:
    """A label without the number of the member of a horizontal."""
    return _MEMBER.sub("", label)


def place(label: str, span: Span) -> str:
    return f"{label}@{span.start}"


@dataclass(slots=True)
class Survey:
    """The choices and leaves of a rule."""

    choices: dict[str, Choice] = field(default_factory=dict[str, Choice])
    leaves: dict[str, Leaf] = field(default_factory=dict[str, Leaf])
    names: set[str] = field(default_factory=set[str])
    """Operators that are named."""
    types: list[Type] = field(default_factory=list[Type])
    literals: list[float] = field(default_factory=list[float])
    tolerance: float = 0.0
    """The widest tolerance of an approximate constant."""
    shared: bool = False

    @classmethod
    def of(cls, rule: Rule) -> Survey:
        """Walks a rule from its targets, into the patterns that it uses."""
        survey = cls()
        frame = frame_of("", rule)
        walk = _Walk(survey)
        if isinstance(rule, Horizontal):
            walk.parameter(frame, rule.over)
            walk.expr(frame, rule.member.value, ())
        for name in frame.equations:
            walk.value(frame, rules.Value(name, False, None, rule.span), ())
        walk.guards(rule.guards)
        return survey


class _Walk:
    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.seen: set[tuple[str, int]] = set()

    def guards(self, guards: tuple[Expr, ...]) -> None:
        for guard in guards:
            self.numbers(guard)

    def numbers(self, expr: Expr, sign: float = 1.0) -> None:
        if isinstance(expr, rules.Literal_ | rules.Approximate):
            if isinstance(expr.value, int | float) and not isinstance(expr.value, bool):
                self.survey.literals.append(sign * float(expr.value))
        elif isinstance(expr, rules.Infix):
            self.numbers(expr.left)
            self.numbers(expr.right)
        elif isinstance(expr, rules.Prefix):
            self.numbers(expr.operand, -sign if expr.operator == "-" else sign)

    def parameter(self, frame: Frame, parameter: rules.Parameter) -> None:
        value = rules.Value(parameter.name.text, parameter.optional, parameter.type, parameter.span)
        self.value(frame, value, ())

    def value(self, frame: Frame, value: rules.Value, requires: tuple[tuple[str, int], ...]) -> None:
        home, name, expr = source(frame, value.name)
        if value.type is not None:
            self.survey.types.append(value.type)
        if expr is not None:
            self.expr(home, expr, requires)
            return
        found = home.equations.get(name)
        if found is not None:
            equation = found[0]
            mark = (home.path, equation.span.start)
            if mark not in self.seen:
                self.seen.add(mark)
                self.survey.shared |= equation.shared
                self.expr(home, equation.value, requires)
            return
        key = leaf_key(home, value, name)
        leaf = self.survey.leaves.setdefault(key, Leaf(name))
        optional = value.optional or any(
            p.optional and p.name.text == value.name and isinstance(frame.owner, Pattern)
            for p in getattr(frame.owner, "parameters", ())
        )
        if optional:
            leaf.optional = True
            self._choice(f"leaf{key}", "input", ("present", "absent"), value.span, requires)
        if value.type is not None:
            self._constrain(leaf, frame, value.type)

    def _constrain(self, leaf: Leaf, frame: Frame, type: Type) -> None:
        leaf.const |= type.const
        if not any(c.path == frame.path and c.type is type for c in leaf.constraints):
            leaf.constraints.append(Constraint(frame.path, type, frame.owner))

    def _choice(
        self, label: str, kind: str, options: tuple[str, ...], span: Span, requires: tuple[tuple[str, int], ...]
    ) -> None:
        if label not in self.survey.choices:
            self.survey.choices[label] = Choice(label, kind, options, span, requires)

    def expr(self, frame: Frame, expr: Expr, requires: tuple[tuple[str, int], ...]) -> None:
        survey = self.survey
        if isinstance(expr, rules.Value):
            self.value(frame, expr, requires)
        elif isinstance(expr, rules.Typed):
            survey.types.append(expr.type)
            self.expr(frame, expr.operand, requires)
            if isinstance(expr.operand, rules.Value):
                home, name, other = source(frame, expr.operand.name)
                key = leaf_key(home, expr.operand, name)
                if other is None and key in survey.leaves:
                    self._constrain(survey.leaves[key], frame, expr.type)
        elif isinstance(expr, rules.Approximate):
            survey.tolerance = max(survey.tolerance, expr.tolerance or 0.0)
        elif isinstance(expr, rules.Infix):
            op = INFIX.get(expr.operator, expr.operator)
            survey.names.add(op)
            self._order(frame, op, (expr.left, expr.right), expr.span, requires)
            self.expr(frame, expr.left, requires)
            self.expr(frame, expr.right, requires)
        elif isinstance(expr, rules.Prefix):
            self.expr(frame, expr.operand, requires)
        elif isinstance(expr, rules.Items | rules.Tuple_):
            for item in expr.items:
                # Elements of lists are dims and numbers, not values of the graph.
                if not isinstance(item, rules.Value):
                    self.expr(frame, item, requires)
        elif isinstance(expr, rules.Apply):
            self._apply(frame, expr, requires)

    def _order(
        self,
        frame: Frame,
        op: str,
        operands: tuple[Expr, ...],
        span: Span,
        requires: tuple[tuple[str, int], ...],
    ) -> None:
        same = (
            len(operands) == 2
            and isinstance(operands[0], rules.Value)
            and isinstance(operands[1], rules.Value)
            and operands[0].name == operands[1].name
        )
        if op in COMMUTATIVE and len(operands) == 2 and not same:
            self._choice(place(f"order{frame.path}", span), "order", ("as written", "swapped"), span, requires)

    def _apply(self, frame: Frame, call: rules.Apply, requires: tuple[tuple[str, int], ...]) -> None:
        if call.callee == "either":
            label = place(f"either{frame.path}", call.span)
            texts = tuple(" ".join(option.span.text.split()) for option in call.inputs)
            self._choice(label, "either", texts, call.span, requires)
            for at, option in enumerate(call.inputs):
                self.expr(frame, option, (*requires, (label, at)))
            return
        if call.optional:
            tied = next((v for v in call.inputs if self.optional_leaf(frame, v)), None)
            if tied is None:
                label = place(f"optional{frame.path}", call.span)
                self._choice(label, "optional", ("present", "absent"), call.span, requires)
                requires = (*requires, (label, 0))
        found = called(frame, call)
        if found is None:
            self.survey.names.add(call.callee)
            self._order(frame, call.callee, call.inputs, call.span, requires)
            for value in call.inputs:
                self.expr(frame, value, requires)
            domain, _, op = call.callee.rpartition(".")
            known = schema(op, domain)
            for given in call.given:
                # A name in an attribute is a dim or a dtype, not a value.
                if known is not None and given.name.text in known.attributes and isinstance(given.value, rules.Value):
                    continue
                self.expr(frame, given.value, requires)
            return
        pattern, inner = found
        for parameter in pattern.parameters:
            self._parameter(inner, parameter, requires)
        for target in pattern.targets:
            if not target.capture:
                self.value(inner, rules.Value(target.name, False, None, target.span), requires)
        self.guards(pattern.guards)

    def _parameter(self, inner: Frame, parameter: rules.Parameter, requires: tuple[tuple[str, int], ...]) -> None:
        name = parameter.name.text
        if name not in inner.arguments:
            return
        self.survey.types.append(parameter.type)
        value = rules.Value(name, parameter.optional, parameter.type, parameter.span)
        self.value(inner, value, requires)

    def optional_leaf(self, frame: Frame, expr: Expr) -> bool:
        return optional_leaf(frame, expr) is not None


def optional_leaf(frame: Frame, expr: Expr) -> str | None:
    """The key of the leaf that an operand is, if it may be absent."""
    if not isinstance(expr, rules.Value):
        return None
    optional = expr.optional
    name = expr.name
    while True:
        optional = optional or any(
            p.optional and p.name.text == name
            for p in (frame.owner.parameters if isinstance(frame.owner, Pattern) else ())
        )
        if name not in frame.arguments or name in frame.equations:
            break
        argument, outer = frame.arguments[name]
        if not isinstance(argument, rules.Value):
            return None
        frame, name = outer, argument.name
        optional = optional or argument.optional
    if not optional or name in frame.equations:
        return None
    return leaf_key(frame, expr, name)
