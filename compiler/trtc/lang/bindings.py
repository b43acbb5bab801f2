"""Which names a match binds: always, or only in some of its alternatives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from trtc.lang import rules, syntax
from trtc.lang.vocabulary import OperatorSchema
from trtc.lang.walk import walk

#: A name of a value, or of a capture with its dollar.
Names = frozenset[str]
_NONE: Names = frozenset()


@dataclass(frozen=True, slots=True)
class Bound:
    """`always`: whatever alternatives are taken. `never`: names that no alternative binds are in neither."""

    always: Names = _NONE
    sometimes: Names = _NONE

    def __or__(self, other: Bound) -> Bound:
        """Both are matched."""
        return Bound(self.always | other.always, self.sometimes | other.sometimes)

    def either(self, other: Bound) -> Bound:
        """One of them is matched."""
        return Bound(self.always & other.always, self.sometimes | other.sometimes | self.always | other.always)


@dataclass(slots=True)
class Bindings:
    """The names of a match. `patterns`: what the callees mean that are patterns.

    equations: where each value is defined. always and sometimes: values and `$captures` reachable from the results.
    reached: the equations that are reachable from the results. optional: values that may be absent.
    """

    patterns: Mapping[str, rules.Pattern]
    schemas: Mapping[str, OperatorSchema] = field(default_factory=dict[str, OperatorSchema])
    equations: dict[str, rules.Equation] = field(default_factory=dict[str, rules.Equation])
    reached: list[rules.Equation] = field(default_factory=list[rules.Equation])
    circle: rules.Equation | None = None
    always: set[str] = field(default_factory=set[str])
    sometimes: set[str] = field(default_factory=set[str])
    optional: set[str] = field(default_factory=set[str])
    dims: set[str] = field(default_factory=set[str])
    _known: dict[int, Bound | None] = field(default_factory=dict[int, "Bound | None"])

    def match(
        self,
        equations: Sequence[rules.Equation],
        results: Iterable[rules.Target_],
        guards: Sequence[rules.Expr],
        parameters: Sequence[rules.Parameter] = (),
    ) -> None:
        """Finds what is bound when `results` are matched."""
        for equation in equations:
            for target in equation.targets:
                if target.name != "_":
                    self.equations.setdefault(f"${target.name}" if target.capture else target.name, equation)
            self._dims(equation.value)
        for parameter in parameters:
            self.always.add(parameter.name.text)
            self.type(parameter.type)
            if parameter.optional:
                self.optional.add(parameter.name.text)
        found = Bound()
        for target in results:
            found |= self.name(f"${target.name}" if target.capture else target.name)
        self.always |= found.always
        self.sometimes |= found.sometimes
        for guard in guards:
            self._guard(guard)
        self.sometimes -= self.always

    def name(self, name: str) -> Bound:
        """What matching a value binds."""
        equation = self.equations.get(name)
        own = Bound(frozenset({name}) - {"_"})
        if equation is None:
            return own
        key = id(equation)
        if key not in self._known:
            self._known[key] = None
            self.reached.append(equation)
            targets = frozenset(f"${t.name}" if t.capture else t.name for t in equation.targets) - {"_"}
            self._known[key] = Bound(targets) | self.expression(equation.value)
        elif self._known[key] is None:
            self.circle = self.circle or equation
        return own | (self._known[key] or Bound())

    def expression(self, value: rules.Expr) -> Bound:
        if isinstance(value, rules.Value):
            if value.optional:
                self.optional.add(value.name)
            return self.name(value.name)
        if isinstance(value, rules.Capture):
            return Bound(frozenset({f"${value.name}"}))
        if isinstance(value, rules.Apply):
            return self._apply(value)
        found = Bound()
        if isinstance(value, rules.Infix):
            return self.expression(value.left) | self.expression(value.right)
        if isinstance(value, (rules.Prefix, rules.Typed)):
            return self.expression(value.operand)
        if isinstance(value, (rules.Items, rules.Tuple_)):
            for item in value.items:
                found |= self.expression(item) if not isinstance(item, rules.Value) else Bound()
        return found

    def _apply(self, call: rules.Apply) -> Bound:
        inputs = [self.expression(i) for i in call.inputs]
        if call.callee == "either" and inputs:
            found = inputs[0]
            for other in inputs[1:]:
                found = found.either(other)
            return found
        pattern = self.patterns.get(call.callee)
        if pattern is not None:
            for parameter, argument in zip(pattern.parameters, call.inputs, strict=False):
                if parameter.optional and isinstance(argument, rules.Value):
                    self.optional.add(argument.name)
        for given in call.given:
            # A bare name behind `axis =` is a dim or a word; behind `min =` it is a value like any other.
            schema = self.schemas.get(call.callee)
            is_value = schema is not None and given.name.text not in schema.attributes
            if is_value or not isinstance(given.value, rules.Value):
                inputs.append(self.expression(given.value))
        found = Bound()
        for at, one in enumerate(inputs):
            found |= one.either(Bound()) if call.optional and at else one
        return found

    # ---- guards and dims

    def _guard(self, guard: rules.Expr) -> None:
        """`$alpha == 1.0 / $d` binds what is open yet."""
        if isinstance(guard, rules.Infix) and guard.operator == "&&":
            self._guard(guard.left)
            self._guard(guard.right)
        elif isinstance(guard, rules.Infix) and guard.operator == "==":
            for one, other in ((guard.left, guard.right), (guard.right, guard.left)):
                if isinstance(one, rules.Capture) and f"${one.name}" not in self.always:
                    parts = list(walk(other))
                    names = {f"${e.name}" for e in parts if isinstance(e, rules.Capture)}
                    # `$axis == -1` asks; it is no definition of a capture that the match does not know.
                    derived = any(isinstance(e, (rules.Capture, rules.Value, rules.Apply)) for e in parts)
                    if names <= self.always | self.sometimes and (derived or f"${one.name}" in self.sometimes):
                        self.always.add(f"${one.name}")
                        return

    def _dims(self, value: rules.Expr) -> None:
        for one in walk(value):
            if isinstance(one, (rules.Value, rules.Typed)) and one.type is not None:
                self.type(one.type)
            elif isinstance(one, rules.Items):
                self.dims.update(e.name for item in one.items for e in walk(item) if isinstance(e, rules.Value))

    def type(self, type_: rules.Type) -> None:
        for dim in type_.dims or ():
            self.dims.update(references(dim))
        self.dims.discard("_")


def references(dim: syntax.Expression | syntax.AnyDims) -> Iterable[str]:
    """The names in a dim."""
    if isinstance(dim, syntax.Reference):
        yield dim.text
    elif isinstance(dim, syntax.Binary):
        yield from references(dim.left)
        yield from references(dim.right)
    elif isinstance(dim, syntax.Unary):
        yield from references(dim.operand)
