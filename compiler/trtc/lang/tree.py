"""From lark's tree to the syntax tree. Literals are resolved here: escapes, sizes, numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from lark import Token, Tree

from trtc.diagnostics import Diagnostic, Source, Span
from trtc.lang import syntax
from trtc.lang.rule_tree import RuleBuilder

Child: TypeAlias = "Tree[Token] | Token"

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_MAX_DIGITS = 40


class TreeBuilder:
    """Makes the nodes of one source, which is the library of that name or ("") a user's file.

    Mistakes that the grammar lets through, inside literals for one, are collected in `errors`.
    """

    def __init__(self, source: Source, library: str = "") -> None:
        self.source = source
        self.errors: list[Diagnostic] = []
        self._rules = RuleBuilder(self, library)
        self._expressions: dict[str, Callable[[Tree[Token]], syntax.Expression]] = {
            "dotted": self.reference,
            "call": self.call,
            "list": lambda tree: syntax.List(tuple(self.expression(c) for c in tree.children), self.span(tree)),
            "unary": self._unary,
            "binary": self._binary,
        }
        self._declarations: dict[str, Callable[[Tree[Token], str | None], syntax.Declaration]] = {
            "use": self._use,
            "param": self._param,
            "dim": self._dim,
            "model": lambda t, _: syntax.Model(self.expression(t.children[0]), self.span(t)),
            "input": self._input,
            "output": self._output,
            "profile": self._profile,
            "target": self._target,
            "builder": lambda t, _: syntax.Builder(self._entries(_tree(t.children[0])), self.span(t)),
            "pipeline": self._pipeline,
            "verify": self._verify,
            "emit": self._emit,
            "precision": self._precision,
        }

    # ---- places and tokens

    def span(self, child: Child) -> Span:
        if isinstance(child, Token):
            return self.source.span(child.start_pos or 0, child.end_pos or 0)
        if child.meta.empty:
            return self.source.span(0, 0)
        return self.source.span(child.meta.start_pos, child.meta.end_pos)

    def name(self, child: Child) -> syntax.Name:
        return syntax.Name(str(child), self.span(child))

    def string(self, child: Child) -> syntax.String:
        span = self.span(child)
        text = str(child)
        try:
            value = json.loads(text, strict=False) if "\\" in text else text[1:-1]
            value.encode("utf-8")
        except ValueError:
            bad = re.search(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})', text.replace("\\\\", "  "))
            at = span.start + (bad.start() if bad else 0)
            self.errors.append(
                Diagnostic(
                    "T0107",
                    f"`{text[bad.start() : bad.start() + 2]}` means nothing in a string" if bad else "bad string",
                    span=self.source.span(at, at + 2) if bad else span,
                    help='a backslash is written `\\\\`, a quote `\\"`; paths may use `/` on every system',
                )
            )
            value = text[1:-1]
        return syntax.String(value, span)

    def _doc(self, token: Child) -> str:
        return str(token)[3:-3].strip()

    # ---- expressions

    def expression(self, child: Child) -> syntax.Expression:
        if isinstance(child, Token):
            if child.type == "STRING":
                return self.string(child)
            if child.type == "SIZE":
                return self._size(child)
            return self._number(child)
        return self._expressions[child.data](child)

    def _number(self, token: Token) -> syntax.Number:
        span = self.span(token)
        value: int | float = 0
        if len(token) > _MAX_DIGITS:
            self.errors.append(Diagnostic("T0109", f"a number of {len(token)} digits is too long", span=span))
        else:
            value = int(token) if token.type == "INT" else float(token)
        if value == float("inf"):
            self.errors.append(Diagnostic("T0109", f"`{token}` is larger than any float64", span=span))
        return syntax.Number(value, span)

    def _size(self, token: Token) -> syntax.Size:
        span = self.span(token)
        match = re.fullmatch(r"([0-9.]+)(\w+)", token)
        digits, unit = match.groups() if match else ("0", "")
        if unit not in UNITS or len(digits) > _MAX_DIGITS:
            self.errors.append(
                Diagnostic("T0109", f"`{token}` is not a number", span=span, help=_unit_help(digits, unit))
            )
            return syntax.Size(0, span)
        whole, _, fraction = digits.partition(".")
        scaled = int(whole + fraction) * UNITS[unit]
        size, rest = divmod(scaled, 10 ** len(fraction))
        if rest:
            self.errors.append(Diagnostic("T0109", f"`{token}` is not a whole number of bytes", span=span))
        return syntax.Size(size, span)

    def reference(self, tree: Child) -> syntax.Reference:
        return syntax.Reference(".".join(str(c) for c in _tree(tree).children), self.span(tree))

    def call(self, tree: Tree[Token]) -> syntax.Call:
        callee, *arguments = tree.children
        return syntax.Call(self.reference(callee), self.arguments(arguments), self.span(tree))

    def arguments(self, children: list[Child]) -> tuple[syntax.Argument, ...]:
        found: list[syntax.Argument] = []
        for tree in map(_tree, children):
            name = self.name(tree.children[0]) if len(tree.children) == 2 else None
            found.append(syntax.Argument(name, self.expression(tree.children[-1]), self.span(tree)))
        return tuple(found)

    def _unary(self, tree: Tree[Token]) -> syntax.Unary:
        operator, operand = tree.children
        return syntax.Unary(str(operator), self.expression(operand), self.span(tree))

    def _binary(self, tree: Tree[Token]) -> syntax.Binary:
        left, operator, right = tree.children
        return syntax.Binary(str(operator), self.expression(left), self.expression(right), self.span(tree))

    def _tensor(self, child: Child) -> syntax.Tensor:
        children = list(_tree(child).children)
        dtype = None
        if children and isinstance(children[0], Token) and children[0].type == "NAME":
            dtype = self.name(children.pop(0))
        return syntax.Tensor(dtype, self.dims(children), self.span(child))

    def dims(self, children: Sequence[Child]) -> tuple[syntax.Expression | syntax.AnyDims, ...]:
        return tuple(
            syntax.AnyDims(self.span(c)) if isinstance(c, Token) and c.type == "ELLIPSIS" else self.expression(c)
            for c in children
        )

    def entry(self, child: Child) -> syntax.Entry:
        name, value = _tree(child).children
        return syntax.Entry(self.name(name), self.expression(value), self.span(child))

    def _entries(self, block: Tree[Token]) -> tuple[syntax.Entry, ...]:
        return tuple(self.entry(c) for c in block.children if _tree(c).data == "entry")

    # ---- declarations

    def file(self, tree: Tree[Token]) -> syntax.File:
        version, *items = tree.children
        declarations = tuple(self._item(_tree(item)) for item in items)
        return syntax.File(int(str(version)), declarations, self.span(tree), self._rules.environment)

    def _item(self, tree: Tree[Token]) -> syntax.Declaration:
        doc = self._doc(tree.children[0]) if len(tree.children) == 2 else None
        declaration = _tree(tree.children[-1])
        make = self._declarations.get(declaration.data)
        return make(declaration, doc) if make else self._rules.declaration(declaration, doc)

    def _use(self, tree: Tree[Token], _: str | None) -> syntax.Use:
        target = tree.children[0]
        made = self.string(target) if isinstance(target, Token) else self.reference(target)
        return syntax.Use(made, self.span(tree))

    def _param(self, tree: Tree[Token], doc: str | None) -> syntax.Param:
        name, default = tree.children
        return syntax.Param(self.name(name), self.expression(default), doc, self.span(tree))

    def _dim(self, tree: Tree[Token], doc: str | None) -> syntax.Dim:
        name, low, high = tree.children
        return syntax.Dim(self.name(name), self.expression(low), self.expression(high), doc, self.span(tree))

    def _input(self, tree: Tree[Token], _: str | None) -> syntax.Input:
        name, what = tree.children
        is_tensor = isinstance(what, Tree) and what.data == "tensor"
        tensor = self._tensor(what) if is_tensor else None
        value = None if is_tensor else self.expression(what)
        return syntax.Input(self.string(name), tensor, value, self.span(tree))

    def _output(self, tree: Tree[Token], _: str | None) -> syntax.Output:
        name, tensor = tree.children
        return syntax.Output(self.string(name), self._tensor(tensor), self.span(tree))

    def _profile(self, tree: Tree[Token], _: str | None) -> syntax.Profile:
        name, *entries = tree.children
        return syntax.Profile(self.string(name), tuple(map(self._profile_entry, entries)), self.span(tree))

    def _profile_entry(self, child: Child) -> syntax.ProfileEntry:
        name, *rest = _tree(child).children
        bounds: list[syntax.Bound] = []
        value: syntax.Expression | None = None
        for part in rest:
            if isinstance(part, Tree) and part.data == "bound":
                kind, bound = part.children
                bounds.append(syntax.Bound(str(kind), self.expression(bound), self.span(part)))
            else:
                value = self.expression(part)
        return syntax.ProfileEntry(self.name(name), value, tuple(bounds), self.span(child))

    def _target(self, tree: Tree[Token], _: str | None) -> syntax.Target:
        name, *blocks = tree.children
        entries = self._entries(_tree(blocks[0])) if blocks else ()
        return syntax.Target(self.name(name), entries, self.span(tree))

    def _verify(self, tree: Tree[Token], _: str | None) -> syntax.Verify:
        tolerances: list[syntax.ToleranceBlock] = []
        for child in map(_tree, tree.children):
            if child.data == "tolerance":
                name, block = child.children
                entries = self._entries(_tree(block))
                tolerances.append(syntax.ToleranceBlock(self.string(name), entries, self.span(child)))
        return syntax.Verify(self._entries(tree), tuple(tolerances), self.span(tree))

    def _emit(self, tree: Tree[Token], _: str | None) -> syntax.Emit:
        nested = [_tree(c) for c in tree.children if _tree(c).data == "nested"]
        made = tuple(syntax.Nested(self.name(t.children[0]), self.span(t)) for t in nested)
        return syntax.Emit(self._entries(tree), made, self.span(tree))

    def _pipeline(self, tree: Tree[Token], doc: str | None) -> syntax.Pipeline:
        name: syntax.Name | None = None
        parameters: tuple[syntax.Argument, ...] = ()
        *signature, steps = map(_tree, tree.children)
        if signature:
            first, *rest = signature[0].children
            name, parameters = self.name(first), self.arguments(rest)
        return syntax.Pipeline(name, parameters, self._steps(steps), doc, self.span(tree))

    def _steps(self, tree: Tree[Token]) -> tuple[syntax.Step, ...]:
        return tuple(self._step(_tree(child)) for child in tree.children)

    def _step(self, tree: Tree[Token]) -> syntax.Step:
        span = self.span(tree)
        if tree.data == "call":
            return self.call(tree)
        if tree.data == "fixpoint":
            *arguments, steps = tree.children
            return syntax.Fixpoint(self.arguments(arguments), self._steps(_tree(steps)), span)
        if tree.data == "apply":
            return syntax.Apply(self.arguments(tree.children), span)
        if tree.data == "checkpoint":
            return syntax.Checkpoint(self.arguments(tree.children), span)
        conditions: list[syntax.Condition] = []
        for condition in map(_tree, tree.children):
            left, operator, right = condition.children
            sides = self.expression(left), self.expression(right)
            conditions.append(syntax.Condition(sides[0], str(operator), sides[1], self.span(condition)))
        return syntax.Expect(tuple(conditions), span)

    def _precision(self, tree: Tree[Token], _: str | None) -> syntax.Precision:
        return syntax.Precision(self.span(tree))


def _tree(child: Child) -> Tree[Token]:
    assert isinstance(child, Tree)
    return child


def _unit_help(digits: str, unit: str) -> str:
    lowered = unit.lower().removesuffix("ytes").removesuffix("yte")
    short = {"k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB"}.get(lowered[:1])
    if short and lowered in (short[0].lower(), f"{short[0].lower()}b", short.lower()):
        return f"sizes are powers of two: write `{digits}{short}`"
    return "a number may be followed only by a unit of size: `KiB`, `MiB`, `GiB` or `TiB`"
