"""Expressions of rules: what may stand where, and whether every name in them means something."""

from __future__ import annotations

from collections.abc import Iterable

from trtc.diagnostics import Label, Span, suggest
from trtc.lang import rules, syntax
from trtc.lang.bindings import Bindings, references
from trtc.lang.check_calls import CallChecker, Place
from trtc.lang.check_interface import DTYPES

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_FORGIVING = ("present", "default")
_BOOLEAN = (*_COMPARISONS, "&&", "||")


class ExpressionChecker:
    """Checks the expressions of one declaration, once it is known what its match binds."""

    def __init__(self, calls: CallChecker, bindings: Bindings, owner: str) -> None:
        self.calls = calls
        self.bindings = bindings
        self.owner = owner
        self.error = calls.error
        self.lets: set[str] = set()
        self._forgiving = 0
        """Above zero where what is absent does no harm: inside `default(…, 1.0)`."""
        self.members = False
        """Whether `concat(w, axis = …)` may stand here: the right-hand side of a horizontal."""

    # ---- the match

    def match(self, value: rules.Expr) -> None:
        if isinstance(value, rules.Value):
            if value.type is not None:
                self.type(value.type)
        elif isinstance(value, rules.Typed):
            self.type(value.type)
            self.match(value.operand)
        elif isinstance(value, rules.Literal_):
            if isinstance(value.value, str):
                self.error("T0321", "a text is no value of a graph", value.span, "texts are values of attributes")
        elif isinstance(value, rules.Tuple_):
            help = "several results stand on the left: `(a, b) = Split(x)`"
            self.error("T0321", "a pattern is one value", value.span, help)
        elif isinstance(value, rules.Infix):
            if value.operator in _BOOLEAN:
                help = "conditions are written `where a == b`; operators of ONNX by name: `Equal(a, b)`"
                self.error("T0321", f"`{value.operator}` belongs in a guard", value.span, help)
                return
            for side in (value.left, value.right):
                if isinstance(side, rules.Value) and side.optional:
                    help = f"write the operator by name: `Add?(…, {side.name})`"
                    self.error("T0317", f"`{side.name}?` cannot be an operand of `{value.operator}`", side.span, help)
                self.match(side)
        elif isinstance(value, rules.Prefix):
            self.match(value.operand)
        elif isinstance(value, rules.Items):
            self._items(value, "match")
        elif isinstance(value, rules.Apply):
            self._matched_call(value)

    def _matched_call(self, call: rules.Apply) -> None:
        self.calls.call(call, "match")
        for operand in call.inputs:
            self.match(operand)
        schema = self.calls.schema(call.callee)
        for given in call.given:
            if schema is not None and self.calls.is_input(schema, given.name.text, len(call.inputs)):
                self.match(given.value)
            elif isinstance(given.value, (rules.Apply, rules.Infix, rules.Prefix, rules.Value)):
                self.number(given.value, "match")
            elif isinstance(given.value, rules.Items):
                self._items(given.value, "match")

    def _items(self, value: rules.Items, place: Place) -> None:
        for item in value.items:
            if isinstance(item, (rules.Items, rules.Tuple_)):
                self.error("T0321", "a list in a list is no value here", item.span)
            elif place != "match" or not isinstance(item, (rules.Value, rules.Literal_, rules.Capture)):
                self.number(item, place)

    # ---- guards

    def guard(self, value: rules.Expr) -> None:
        """A condition."""
        if isinstance(value, rules.Infix) and value.operator in ("&&", "||"):
            self.guard(value.left)
            self.guard(value.right)
        elif isinstance(value, rules.Prefix) and value.operator == "!":
            self.guard(value.operand)
        elif isinstance(value, rules.Infix) and value.operator in _COMPARISONS:
            self.number(value.left, "guard")
            self.number(value.right, "guard")
        elif isinstance(value, rules.Apply) or (isinstance(value, rules.Literal_) and isinstance(value.value, bool)):
            self.number(value, "guard")
        else:
            self.error("T0321", "this is no condition", value.span, "compare it: `where $alpha == 1.0`")

    # ---- numbers: guards, attributes, sizes

    def number(self, value: rules.Expr, place: Place) -> None:
        """What is computed of names, captures, dims and functions."""
        if isinstance(value, rules.Value):
            if place != "match" or value.name != "_":
                self._name(value, place)
        elif isinstance(value, rules.Capture):
            if place != "match":
                self.capture(value, place)
        elif isinstance(value, rules.Infix):
            if value.operator == "@":
                self.error("T0321", "`@` multiplies values of the graph, not numbers", value.span)
            self.number(value.left, place)
            self.number(value.right, place)
        elif isinstance(value, rules.Prefix):
            self.number(value.operand, place)
        elif isinstance(value, rules.Items):
            self._items(value, place)
        elif isinstance(value, rules.Apply):
            self._function(value, place)
        elif isinstance(value, rules.Approximate):
            if place != "match":
                help = "in a guard say a range: `0.70 < $a && $a < 0.71`" if place == "guard" else "write the number"
                self.error("T0321", "`~` belongs in a pattern", value.span, help)
        elif isinstance(value, (rules.Typed, rules.Tuple_)):
            self.error("T0321", "this is no number", value.span)

    def _function(self, call: rules.Apply, place: Place) -> None:
        self.calls.call(call, "guard" if place == "guard" else "number")
        for at, operand in enumerate(call.inputs):
            self._forgiving += at == 0 and call.callee in _FORGIVING
            self.number(operand, place)
            self._forgiving -= at == 0 and call.callee in _FORGIVING
        for given in call.given:
            self.number(given.value, place)

    def _name(self, value: rules.Value, place: Place) -> None:
        if value.name in DTYPES or value.name in self.lets:
            return
        if place == "match":
            if value.name not in self.bindings.dims | self.bindings.always | self.bindings.sometimes:
                help = "a capture is written with a dollar, and `_` is anything"
                self.error("T0314", f"`{value.name}` means nothing here", value.span, help)
        elif self._known(value) and place != "guard":
            self._absent(value)

    def _known(self, value: rules.Value | rules.Capture) -> bool:
        """Whether the match binds a name; reports it where it does not."""
        names = self.bindings
        if isinstance(value, rules.Capture):
            name, shown = f"${value.name}", f"${value.name}"
        else:
            name, shown = value.name, value.name
        if name in names.always or name in names.sometimes or name in names.dims or name in self.lets:
            return True
        known = [*names.always, *names.sometimes, *names.dims]
        alike = [k for k in known if k.startswith("$") == name.startswith("$")]
        close = suggest(name, alike)
        swapped = name.removeprefix("$") if name.startswith("$") else f"${name}"
        if close is None and swapped in known:
            close = swapped
        help = f"did you mean `{close}`?" if close else None
        if name in names.equations:
            help = "its equation has no part in what is replaced"
        self.error("T0314", f"nothing in the match of `{self.owner}` binds `{shown}`", value.span, help)
        return False

    def capture(self, value: rules.Capture, place: Place) -> None:
        if not self._known(value) or place == "guard" or self._forgiving:
            return
        if f"${value.name}" in self.bindings.sometimes:
            name = f"${value.name}"
            help = f"bind it in the others, too: `where {name} == …`, or write `default({name}, …)`"
            self.error("T0317", f"only some alternatives of the match bind `{name}`", value.span, help)

    def _absent(self, value: rules.Value) -> None:
        """A value that may be absent where one is needed."""
        name = value.name
        if value.optional or self._forgiving:
            return
        if name in self.bindings.optional:
            help = f"pass it on as `{name}?`, or say what stands for it: `default({name}, …)`"
            self.error("T0317", f"`{name}` may be absent", value.span, help)
        elif name in self.bindings.sometimes:
            help = f"pass it on as `{name}?`, or say what stands for it: `default({name}, …)`"
            self.error("T0317", f"only some alternatives of the match bind `{name}`", value.span, help)

    # ---- right-hand sides

    def build(self, value: rules.Expr) -> None:
        """A value of the graph that is made."""
        if isinstance(value, rules.Value):
            self._built_name(value)
        elif isinstance(value, rules.Capture):
            self.capture(value, "build")
        elif isinstance(value, rules.Literal_):
            if isinstance(value.value, str):
                self.error("T0321", "a text is no value of a graph", value.span, "texts are values of attributes")
        elif isinstance(value, rules.Infix):
            if value.operator in _BOOLEAN:
                help = "operators of ONNX are written by name: `Equal(a, b)`"
                self.error("T0321", f"`{value.operator}` belongs in a guard", value.span, help)
            else:
                self.build(value.left)
                self.build(value.right)
        elif isinstance(value, rules.Prefix):
            if value.operator == "!":
                self.error("T0321", "`!` belongs in a guard", value.span, "write `Not(…)`")
            self.build(value.operand)
        elif isinstance(value, rules.Items):
            self._items(value, "build")
        elif isinstance(value, rules.Apply):
            self._built_call(value)
        elif isinstance(value, rules.Approximate):
            self.error("T0321", "`~` belongs in a pattern", value.span, "write the number that is meant")
        elif isinstance(value, rules.Typed):
            help = "the result has the dtype and shape of what it replaces"
            self.error("T0321", "a type belongs in a pattern", value.span, help)
        else:
            self.error("T0321", "several values stand only behind `with`", value.span)

    def _built_name(self, value: rules.Value) -> None:
        if value.name == "_":
            self.error("T0321", "`_` belongs in a pattern", value.span)
        elif value.type is not None:
            help = "the result has the dtype and shape of what it replaces"
            self.error("T0321", "a type belongs in a pattern", value.span, help)
        elif value.name not in self.lets and self._known(value):
            self._absent(value)

    def _built_call(self, call: rules.Apply) -> None:
        if self.members and call.callee == "concat":
            self._concat(call)
            return
        self.calls.call(call, "build")
        if call.spread is not None and call.spread not in self.bindings.equations:
            help = "`..y` copies what is not mentioned from the operation that made the matched value `y`"
            span = call.span
            self.error("T0329", f"no operation of the match makes `{call.spread}`", span, help)
        if self.calls.is_function(call.callee, "build"):
            for at, operand in enumerate(call.inputs):
                self._forgiving += at == 0 and call.callee in _FORGIVING
                if isinstance(operand, (rules.Value, rules.Apply, rules.Infix)):
                    self.build(operand)
                else:
                    self.number(operand, "build")
                self._forgiving -= at == 0 and call.callee in _FORGIVING
            for given in call.given:
                self.number(given.value, "build")
            return
        for operand in call.inputs:
            self.build(operand)
        schema = self.calls.schema(call.callee)
        for given in call.given:
            if schema is not None and self.calls.is_input(schema, given.name.text, len(call.inputs)):
                self.build(given.value)
            else:
                self.number(given.value, "build")

    def _concat(self, call: rules.Apply) -> None:
        if len(call.inputs) != 1 or [g.name.text for g in call.given] != ["axis"]:
            self.error("T0306", "`concat` takes a value of the members and an axis: `concat(w, axis = 0)`", call.span)
        for operand in call.inputs:
            if isinstance(operand, rules.Value):
                self._known(operand)
            else:
                self.build(operand)
        for given in call.given:
            self.number(given.value, "build")

    # ---- types

    def type(self, type_: rules.Type) -> None:
        spread = [d for d in type_.dims or () if isinstance(d, syntax.AnyDims)]
        if len(spread) > 1:
            labels = (Label(spread[0].span, "the first"),)
            self.error("T0322", "`...` stands twice in one shape", spread[1].span, None, labels)
        for dim in type_.dims or ():
            if not isinstance(dim, syntax.AnyDims):
                self._dim(dim)

    def _dim(self, dim: syntax.Expression) -> None:
        if isinstance(dim, syntax.Number):
            if not isinstance(dim.value, int):
                self.error("T0322", f"a dim is a whole number or a name, found `{dim.span.text}`", dim.span)
        elif isinstance(dim, syntax.Binary):
            self._dim(dim.left)
            self._dim(dim.right)
        elif isinstance(dim, syntax.Unary):
            self._dim(dim.operand)
        elif not isinstance(dim, syntax.Reference) or "." in dim.text:
            self.error("T0322", f"a dim is a whole number or a name, found `{dim.span.text}`", dim.span)


def spans(targets: Iterable[rules.Target_]) -> dict[str, Span]:
    """Where each value is defined."""
    return {t.name: t.span for t in targets if not t.capture}


__all__ = ["ExpressionChecker", "references", "spans"]
