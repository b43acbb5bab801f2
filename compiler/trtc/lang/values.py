"""Expressions as typed values: parameters filled in, arithmetic done, types checked against what is wanted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from trtc.diagnostics import Span, suggest
from trtc.lang import syntax
from trtc.lang.report import Report, listing
from trtc.lang.vocabulary import ValueType

_MAX_BITS = 256

WANTED: Mapping[str, str] = {
    "bool": "`true` or `false`",
    "int": "a whole number",
    "float": "a number",
    "string": "a string in double quotes",
    "bytes": "a size such as `4MiB`",
    "ident": "a word",
    "ints": "a list of whole numbers such as `[1, 2]`",
    "floats": "a list of numbers such as `[8.6]`",
    "strings": 'a list of strings such as `["a"]`',
    "idents": "a list of words such as `[a, b]`",
}
_ELEMENT: Mapping[str, ValueType] = {
    "ints": "int",
    "floats": "float",
    "strings": "string",
    "idents": "ident",
}


@dataclass(frozen=True, slots=True)
class Value:
    """An evaluated expression. `type`: bool, int, float, bytes, string, ident (a bare word) or list (of Values)."""

    value: Any
    type: str
    span: Span

    def describe(self) -> str:
        """For `…, found THIS`."""
        if self.type == "list":
            return "a list"
        if self.type == "string":
            return f'the string "{self.value}"'
        if self.type == "bytes":
            return f"the size {self.span.text}" if self.span.text[:1].isdigit() else f"a size ({self.value} bytes)"
        if self.type in ("int", "float"):
            return f"the number {self.value}"
        return f"`{self.plain() if self.type != 'bool' else str(self.value).lower()}`"

    def plain(self) -> Any:
        """The Python value; lists as tuples."""
        return tuple(v.plain() for v in self.value) if self.type == "list" else self.value


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a place takes. `what` names it in messages: "`max_growth` of `fold_constants`"."""

    what: str
    type: ValueType
    choices: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None

    def describe(self) -> str:
        if self.choices:
            one = "one of" if self.type in ("string", "ident") else "a list of"
            return f"{one} {listing(self.choices, 30)}"
        return WANTED[self.type]


@dataclass(slots=True)
class Scope:
    """The parameters that are visible at a place, and which of them were used."""

    params: dict[str, Value] = field(default_factory=dict[str, Value])
    used: set[str] = field(default_factory=set[str])
    broken: set[str] = field(default_factory=set[str])
    """Parameters whose own value is in error: using them is not reported a second time."""
    later: frozenset[str] = frozenset()
    """Parameters that are declared in the file, further down perhaps."""

    def inner(self, params: Mapping[str, Value]) -> Scope:
        return Scope({**self.params, **params}, self.used, self.broken - params.keys(), self.later)


class Evaluator:
    """Evaluates expressions in a scope. Every method returns None where it reported an error."""

    def __init__(self, report: Report, scope: Scope) -> None:
        self.report = report
        self.scope = scope

    def evaluate(self, expression: syntax.Expression) -> Value | None:
        span = expression.span
        if isinstance(expression, syntax.Number):
            return Value(expression.value, "int" if isinstance(expression.value, int) else "float", span)
        if isinstance(expression, syntax.Size):
            return Value(expression.bytes, "bytes", span)
        if isinstance(expression, syntax.String):
            return Value(expression.value, "string", span)
        if isinstance(expression, syntax.Reference):
            return self._reference(expression)
        if isinstance(expression, syntax.List):
            items = [self.evaluate(item) for item in expression.items]
            kept = tuple(v for v in items if v is not None)
            return Value(kept, "list", span) if len(kept) == len(items) else None
        if isinstance(expression, syntax.Unary):
            operand = self.evaluate(expression.operand)
            zero = Value(0, "int", span)
            return self._arithmetic(expression.operator, zero, operand, span)
        if isinstance(expression, syntax.Binary):
            left, right = self.evaluate(expression.left), self.evaluate(expression.right)
            return self._arithmetic(expression.operator, left, right, span)
        self.report.error(
            "T0205",
            f"`{expression.callee.text}(…)` is not a value that can stand here",
            span,
            help="`count(…)` belongs in `expect`, `random(…)` behind `inputs =`",
        )
        return None

    def _reference(self, name: syntax.Reference) -> Value | None:
        if name.text in ("true", "false"):
            return Value(name.text == "true", "bool", name.span)
        if name.text in self.scope.params:
            self.scope.used.add(name.text)
            return replace(self.scope.params[name.text], span=name.span)
        if name.text in self.scope.broken:
            self.scope.used.add(name.text)
            return None
        return Value(name.text, "ident", name.span)

    def _arithmetic(self, operator: str, left: Value | None, right: Value | None, span: Span) -> Value | None:
        if left is None or right is None:
            return None
        for side in (left, right):
            if side.type == "ident":
                self.unknown_name(side)
                return None
            if side.type not in ("int", "float", "bytes"):
                self.report.error("T0205", f"`{operator}` takes numbers, found {side.describe()}", side.span)
                return None
        a, b = left.value, right.value
        kind = (
            "float" if "float" in (left.type, right.type) else "bytes" if "bytes" in (left.type, right.type) else "int"
        )
        if operator == "/" and b == 0:
            self.report.error("T0225", "division by zero", right.span)
            return None
        if kind != "float" and operator == "/" and a % b:
            self.report.error("T0225", f"{a} / {b} is not a whole number", span, help=f"write `{a}.0` for a fraction")
            return None
        if kind != "float" and max(abs(a), abs(b)).bit_length() > _MAX_BITS:
            self.report.error("T0225", "this number is too large", span)
            return None
        if operator == "/":
            result = a / b if kind == "float" else a // b
        else:
            result = a + b if operator == "+" else a - b if operator == "-" else a * b
        if kind == "float" and not math.isfinite(result):
            self.report.error("T0225", "this number is larger than any float64", span)
            return None
        return Value(result, kind, span)

    def unknown_name(self, value: Value) -> None:
        close = suggest(value.value, self.scope.params)
        if close and value.value not in self.scope.later:
            help = f"did you mean `{close}`?"
        elif value.value in self.scope.later:
            help = f"`{value.value}` is declared further down: move its `param` up"
        elif value.value in ("True", "False"):
            help = f"write `{value.value.lower()}`"
        else:
            help = f"a parameter is declared with `param {value.value.rpartition('.')[2]} = …`"
        self.report.error("T0207", f"unknown name `{value.value}`", value.span, help=help)

    # ---- against a type

    def take(self, expression: syntax.Expression, wanted: Wanted) -> Any:
        """The Python value of an expression where `wanted` stands, or None with an error reported."""
        bare = expression.text if isinstance(expression, syntax.Reference) else None
        if bare is not None and bare in wanted.choices:
            return bare  # a choice is a word of its own, whatever parameters there are
        value = self.evaluate(expression)
        return None if value is None else self.convert(value, wanted)

    def convert(self, value: Value, wanted: Wanted) -> Any:
        """`value` as the Python value of a type, or None with an error reported."""
        if wanted.type in _ELEMENT:
            return self._convert_list(value, wanted)
        result = self._scalar(value, wanted)
        if result is None:
            return None
        low, high = wanted.min, wanted.max
        if isinstance(result, bool) or not isinstance(result, (int, float)):
            return result
        if (low is not None and result < low) or (high is not None and result > high):
            self.report.error(
                "T0206",
                f"{wanted.what} must be {_range(low, high)}, found {value.describe()}",
                value.span,
            )
            return None
        return result

    def _convert_list(self, value: Value, wanted: Wanted) -> tuple[Any, ...] | None:
        if value.type != "list":
            text = value.span.text
            self._mismatch(value, wanted, help=f"a list is written in brackets: `[{text}]`")
            return None
        one = replace(wanted, what=f"every item of {wanted.what}", type=_ELEMENT[wanted.type])
        items = [self.convert(item, one) for item in value.value]
        return None if any(item is None for item in items) else tuple(items)

    def _scalar(self, value: Value, wanted: Wanted) -> Any:
        kind, type = value.type, wanted.type
        if type in ("string", "ident") and kind in ("int", "float") and str(value.value) in wanted.choices:
            return str(value.value)  # a choice that reads as a number: `compute = [8.6]`
        if type in ("string", "ident") and (
            kind == "string" or (kind == "ident" and (wanted.choices or type == "ident"))
        ):
            if wanted.choices and value.value not in wanted.choices:
                close = suggest(value.value, wanted.choices)
                self.report.error(
                    "T0206",
                    f"{wanted.what} must be {wanted.describe()}, found {value.describe()}",
                    value.span,
                    help=f"did you mean `{close}`?" if close else None,
                )
                return None
            return value.value
        if kind == type:
            return value.value
        if kind == "int" and type in ("float", "bytes"):
            return self._from_int(value, wanted)
        if kind == "ident" and type in ("int", "float", "bytes", "bool"):
            self.unknown_name(value)
            return None
        help = None
        if type == "string" and kind == "ident":
            help = f'write it in double quotes: `"{value.value}"`'
        elif type == "bool" and kind == "int" and value.value in (0, 1):
            help = f"write `{'true' if value.value else 'false'}`"
        elif kind == "string" and type in ("int", "float", "bool", "bytes"):
            help = "numbers, sizes, `true` and `false` are written without quotes"
        self._mismatch(value, wanted, help=help)
        return None

    def _from_int(self, value: Value, wanted: Wanted) -> int | float | None:
        if wanted.type == "float":
            return float(value.value)
        if value.value < 0:
            self._mismatch(value, wanted)
            return None
        return value.value

    def _mismatch(self, value: Value, wanted: Wanted, help: str | None = None) -> None:
        self.report.error(
            "T0205", f"{wanted.what} must be {wanted.describe()}, found {value.describe()}", value.span, help=help
        )


def _range(low: float | None, high: float | None) -> str:
    def text(number: float) -> str:
        return str(int(number)) if float(number).is_integer() else str(number)

    if low is not None and high is not None:
        return f"between {text(low)} and {text(high)}"
    return f"at least {text(low)}" if low is not None else f"at most {text(high or 0)}"
