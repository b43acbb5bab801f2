"""Calls in rules: what the name before the parenthesis means, and whether it takes what stands between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from trtc.diagnostics import Label, Span, plural
from trtc.lang import rules
from trtc.lang.report import Report, article, did_you_mean, listing
from trtc.lang.scopes import KINDS, Declared, RuleScope
from trtc.lang.vocabulary import OperatorSchema, Vocabulary

Place: TypeAlias = Literal["match", "guard", "build", "number"]
"""Where an expression stands: in a pattern, in a guard, on a right-hand side, or where a number is computed."""

#: What is part of the language itself.
SPECIAL = ("either", "view")
DTYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "stash_type", "softmax_precision", "saturate")

_LISTS = {"ints": int, "floats": float, "strings": str}
_SCALARS = {"int": "a whole number", "float": "a number", "string": "a string"}


class CallChecker:
    """Checks calls against the operators, the functions and what the file declares."""

    def __init__(self, report: Report, vocabulary: Vocabulary, scope: RuleScope, found: Mapping[str, Declared]) -> None:
        self.report = report
        self.vocabulary = vocabulary
        self.scope = scope
        self.qualified = found
        """Names with their library before them, such as `std.norm.layer_norm`."""

    def declared(self, callee: str) -> Declared | None:
        return self.scope.visible.get(callee) or self.qualified.get(callee)

    def schema(self, callee: str) -> OperatorSchema | None:
        return self.vocabulary.schemas.get(callee)

    def is_function(self, callee: str, place: Place) -> bool:
        """Whether a name means a function here: a pattern of its name stands only where no function can."""
        declared = self.declared(callee)
        return callee in self.vocabulary.functions and (
            declared is None or (place != "match" and isinstance(declared, rules.Pattern))
        )

    # ---- what is called

    def call(self, call: rules.Apply, place: Place) -> None:
        """Reports what is wrong with a call as such; its operands are not looked into."""
        declared = self.declared(call.callee)
        if call.callee in SPECIAL:
            self._special(call, place)
        elif self.is_function(call.callee, place):
            self._function(call, place)
        elif declared is not None:
            self._declared(call, declared, place)
        elif call.callee in self.scope.ambiguous:
            labels = tuple(Label(d.name.span, "it is defined here") for d in self.scope.ambiguous[call.callee])
            help = f"write it with its library, such as `std.norm.{call.callee}`"
            self.error("T0303", f"`{call.callee}` may mean several things", call.name_span, help, labels)
        elif (schema := self.schema(call.callee)) is not None:
            self._operator(call, schema, place)
        elif (
            self.vocabulary.schemas
            and call.callee not in self.vocabulary.operators
            and ("." not in call.callee or self._library(call.callee))
        ):
            self._unknown(call, place)
        self._marks(call, place)

    def _library(self, callee: str) -> bool:
        """Whether a name with dots begins as a library does: other domains than ONNX's are not known here."""
        return callee.rpartition(".")[0] in self.vocabulary.libraries

    def _unknown(self, call: rules.Apply, place: Place) -> None:
        known = [n for n, d in self.scope.visible.items() if not isinstance(d, (rules.Rewrite, rules.Horizontal))]
        names = [*known, *self.vocabulary.functions]
        if place in ("match", "build"):
            names = [*known, *self.vocabulary.schemas, *self.vocabulary.functions, *SPECIAL]
        what = "function or constraint" if place in ("guard", "number") else "operator, pattern, plugin or function"
        help = did_you_mean(call.callee, names, "patterns and plugins")
        if not help.startswith("did") and place in ("match", "build"):
            help = "operators of other domains are written with theirs: `com.microsoft.FusedMatMul(a, b)`"
        self.error("T0301", f"unknown {what} `{call.callee}`", call.name_span, help)

    def _special(self, call: rules.Apply, place: Place) -> None:
        if place != "match":
            help = "write `Reshape(x, [N, C])`" if call.callee == "view" else "a right-hand side says one thing"
            self.error("T0321", f"`{call.callee}` belongs in a pattern", call.name_span, help)
        elif call.callee == "either" and len(call.inputs) < 2:
            self.error("T0306", "`either` takes two alternatives or more", call.span)
        elif call.callee == "view" and len(call.inputs) != 1:
            help = "the shape of the result is its type: `(view(x) : float[N, C])`"
            self.error("T0306", "`view` takes one value", call.span, help)
        for given in call.given:
            self.error("T0305", f"`{call.callee}` takes nothing by name", given.name.span)

    def _declared(self, call: rules.Apply, declared: Declared, place: Place) -> None:
        name, kind = call.callee, KINDS[type(declared)]
        labels = (Label(declared.name.span, f"it is {article(kind)}"),)
        if isinstance(declared, (rules.Rewrite, rules.Horizontal)):
            help = f"rules run in a pipeline: `apply({name})`; what others use is a `pattern`"
            self.error("T0304", f"`{name}` cannot be called", call.name_span, help, labels)
        elif isinstance(declared, rules.Extern):
            if declared.kind == "pass":
                self.error("T0304", f"`{name}` is a pass: it runs in a pipeline", call.name_span, None, labels)
            elif place == "match":
                help = f"write `where {name}(…)`"
                self.error("T0304", f"the constraint `{name}` belongs in a guard", call.name_span, help, labels)
            elif declared.parameters:
                self._arity(call, declared.parameters, declared.name.span, "constraint")
        elif isinstance(declared, rules.Pattern):
            if place != "match":
                where = "a guard" if place == "guard" else "a right-hand side"
                self.error("T0304", f"the pattern `{name}` cannot stand in {where}", call.name_span, None, labels)
            else:
                self._arity(call, declared.parameters, declared.name.span, "pattern")
        elif place in ("guard", "number"):
            self.error("T0304", f"the {kind} `{name}` computes no number", call.name_span, None, labels)
        else:
            self._arity(call, declared.parameters, declared.name.span, kind)
            self._fields(call, declared, kind)

    def _arity(self, call: rules.Apply, parameters: Sequence[rules.Parameter], where: Span, kind: str) -> None:
        least = max((at + 1 for at, p in enumerate(parameters) if not p.optional), default=0)
        if kind == "pattern":
            least = len(parameters)
        if not least <= len(call.inputs) <= len(parameters):
            labels = (Label(where, f"{kind} {call.callee}({', '.join(p.span.text for p in parameters)})"),)
            message = f"`{call.callee}` takes {plural(len(parameters), 'value')}, found {len(call.inputs)}"
            help = "an optional value that is not there is `_`" if least < len(parameters) else None
            self.error("T0306", message, call.span, help, labels)
        for given in call.given:
            if kind not in ("plugin", "operator"):
                self.error("T0305", f"the {kind} `{call.callee}` takes nothing by name", given.name.span)

    def _fields(self, call: rules.Apply, declared: rules.Plugin, kind: str) -> None:
        known = [field.name.text for field in declared.fields]
        seen: dict[str, Span] = {}
        for given in call.given:
            name = given.name.text
            if name in seen:
                self.report.duplicate(f"`{name}` is given", given.name.span, seen[name])
            seen.setdefault(name, given.name.span)
            if name not in known:
                help = did_you_mean(name, known, "fields") if known else f"the {kind} has no fields"
                self.error("T0305", f"the {kind} `{call.callee}` has no field `{name}`", given.name.span, help)

    def _function(self, call: rules.Apply, place: Place) -> None:
        least, most = self.vocabulary.functions[call.callee]
        count = len(call.inputs) + len(call.given)
        if place == "match":
            help = f"write `where … {call.callee}(…)`"
            self.error("T0304", f"the function `{call.callee}` belongs in a guard", call.name_span, help)
        elif count < least or (most is not None and count > most):
            wanted = f"at least {plural(least, 'value')}" if most is None else plural(most, "value")
            self.error("T0306", f"`{call.callee}` takes {wanted}, found {count}", call.span)

    # ---- operators

    def _operator(self, call: rules.Apply, schema: OperatorSchema, place: Place) -> None:
        name = call.callee
        if place in ("guard", "number"):
            help = f"functions: {listing(self.vocabulary.functions, 40)}"
            self.error("T0304", f"the operator `{name}` computes no number", call.name_span, help)
            return
        by_name = {g.name.text for g in call.given if self.is_input(schema, g.name.text, len(call.inputs))}
        needed = [n for at, n in enumerate(schema.inputs) if at < schema.least and n not in by_name]
        missing = [n for n in needed if schema.inputs.index(n) >= len(call.inputs)]
        if not schema.variadic and len(call.inputs) > len(schema.inputs):
            message = f"`{name}` has {plural(len(schema.inputs), 'input')}, found {len(call.inputs)}"
            self.error("T0306", message, call.span, f"its inputs: {listing(schema.inputs)}")
        elif missing and call.spread is None and not (place == "match" and call.rest):
            self.error("T0306", f"the input `{missing[0]}` of `{name}` is missing", call.span, _inputs(schema))
        self._given(call, schema)
        if place == "build" and call.spread is None:
            given = {g.name.text for g in call.given}
            for attribute, known in schema.attributes.items():
                if known.required and attribute not in given:
                    self.error("T0307", f"`{name}` needs the attribute `{attribute}`", call.span)

    @staticmethod
    def is_input(schema: OperatorSchema, name: str, positional: int) -> bool:
        """Whether a name in a call is that of an input."""
        return name in schema.inputs and name not in schema.attributes and schema.inputs.index(name) >= positional

    def _given(self, call: rules.Apply, schema: OperatorSchema) -> None:
        seen: dict[str, Span] = {}
        for given in call.given:
            name = given.name.text
            if name in seen:
                self.report.duplicate(f"`{name}` is given", given.name.span, seen[name])
            seen.setdefault(name, given.name.span)
            if name in schema.attributes:
                self._value(given, schema.attributes[name].type, call.callee)
            elif name in schema.inputs:
                if not self.is_input(schema, name, len(call.inputs)):
                    self.error("T0305", f"the input `{name}` is given twice", given.name.span)
            else:
                names = [*schema.attributes, *schema.inputs]
                help = did_you_mean(name, names, "attributes and inputs")
                self.error("T0305", f"`{call.callee}` has no attribute or input `{name}`", given.name.span, help)

    def _value(self, given: rules.Given, kind: str, owner: str) -> None:
        """A literal where an attribute of another type is wanted."""
        value, name = given.value, given.name.text
        items = value.items if isinstance(value, rules.Items) else None
        if kind in _LISTS:
            if isinstance(value, (rules.Literal_, rules.Approximate)):
                help = f"write `{name} = [{value.span.text}]`"
                self.error("T0307", f"`{name}` of `{owner}` is a list", value.span, help)
            for item in items or ():
                self._scalar(item, kind[:-1], f"every item of `{name}`")
        elif kind in _SCALARS:
            if items is not None:
                self.error("T0307", f"`{name}` of `{owner}` is {_SCALARS[kind]}, not a list", value.span)
            self._scalar(value, kind, f"`{name}` of `{owner}`")
        elif isinstance(value, (rules.Literal_, rules.Items, rules.Approximate)):
            self.error("T0307", f"`{name}` of `{owner}` is a {kind}: it cannot be written", value.span)

    def _scalar(self, value: rules.Expr, kind: str, what: str) -> None:
        if isinstance(value, rules.Approximate) and kind != "float":
            self.error("T0307", f"{what} is {_SCALARS[kind]}: `~` is for floats", value.span)
        if not isinstance(value, rules.Literal_):
            return
        found = value.value
        fits = isinstance(found, str) if kind == "string" else not isinstance(found, str)
        if not fits or (kind == "int" and isinstance(found, float)):
            self.error("T0307", f"{what} is {_SCALARS[kind]}, found `{value.span.text}`", value.span)

    # ---- marks

    def _marks(self, call: rules.Apply, place: Place) -> None:
        if call.optional and place not in ("match", "build"):
            self.error("T0321", f"`{call.callee}?` belongs in a pattern", call.name_span)
        elif call.optional and not call.inputs:
            self.error("T0306", f"`{call.callee}?` needs an input, which it is where it is absent", call.span)
        if call.rest and place != "match":
            help = "to copy what is not mentioned from a matched node, write `..y`"
            self.error("T0321", "`..` belongs in a pattern", call.span, help)
        if call.spread is not None and place != "build":
            help = "in a pattern `..` alone lets what is not mentioned be anything"
            self.error("T0321", f"`..{call.spread}` belongs on a right-hand side", call.span, help)

    def error(
        self, code: str, message: str, span: Span, help: str | None = None, labels: tuple[Label, ...] = ()
    ) -> None:
        self.report.error(code, message, span, labels=labels, help=help)


def _inputs(schema: OperatorSchema) -> str:
    names = ", ".join(f"{n}?" if n in schema.optional else n for n in schema.inputs)
    return f"its inputs are `{names}`"
