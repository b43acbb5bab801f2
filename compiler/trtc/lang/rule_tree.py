"""From lark's tree to the rules of a file: patterns, rewrites, horizontals, plugins and functions in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from lark import Token, Tree

from trtc.diagnostics import Diagnostic, Label, Span
from trtc.lang import rules, syntax

if TYPE_CHECKING:
    from trtc.lang.tree import TreeBuilder

Child: TypeAlias = "Tree[Token] | Token"
Declared: TypeAlias = rules.Pattern | rules.Rewrite | rules.Horizontal | rules.Plugin | rules.Extern

_WORDS = {"true": True, "false": False, "inf": float("inf")}
#: How tightly operators bind.
_LEVELS = {"OR": 1, "AND": 2, "COMPARE": 3, "SUM": 4, "PRODUCT": 5, "AT": 5}
_COMPARISON = 3
_PLUGIN_SETTINGS = ("creator", "version", "namespace", "library")


class RuleBuilder:
    """Makes the rules of one file. `library` is the name of the library that the file is, "" for a user's file.

    All rules of a file share one `Environment`, which is empty until the file is checked.
    """

    def __init__(self, builder: TreeBuilder, library: str) -> None:
        self._builder = builder
        self.library = library
        self.environment = rules.Environment()
        self._span = builder.span
        self._name = builder.name
        self._expressions: dict[str, Callable[[Tree[Token]], rules.Expr]] = {
            "value_name": self._value,
            "typed_name": self._value,
            "approximate": self._approximate,
            "plist": lambda t: rules.Items(self._all(t.children), self._span(t)),
            "tuple": lambda t: rules.Tuple_(self._all(t.children), self._span(t)),
            "pcall": self._apply,
            "group": lambda t: self.expression(t.children[0]),
            "of_type": self._of_type,
            "operation": self._operation,
        }

    def declaration(self, tree: Tree[Token], doc: str | None) -> Declared:
        span = self._span(tree)
        if tree.data == "pattern":
            name, parameters, results, *body = tree.children
            return rules.Pattern(
                self._name(name),
                self._parameters(parameters),
                tuple(self._result(c) for c in _tree(results).children),
                tuple(self._equation(c) for c in _named(body, "assignment")),
                self._guards(body),
                doc,
                span,
                self.environment,
            )
        if tree.data == "rewrite":
            return self._rewrite(tree, doc)
        if tree.data == "horizontal":
            return self._horizontal(tree, doc)
        if tree.data == "plugin":
            return self._plugin(tree.children, doc, span)
        if tree.data == "operator":
            return self._own_operator(tree.children, doc, span)
        (inner,) = map(_tree, tree.children)
        if inner.data == "extern_plugin":
            return self._plugin(inner.children, doc, span)
        return self._extern(inner, doc, span)

    # ---- expressions

    def expression(self, child: Child) -> rules.Expr:
        if isinstance(child, Token):
            span = self._span(child)
            if child.type == "CAPTURE":
                return rules.Capture(str(child)[1:], span)
            made: Any = self._builder.expression(child)
            return rules.Literal_(made.value, span)
        return self._expressions[child.data](child)

    def _all(self, children: Sequence[Child]) -> tuple[rules.Expr, ...]:
        return tuple(map(self.expression, children))

    def _value(self, tree: Tree[Token]) -> rules.Expr:
        name, span = str(tree.children[0]), self._span(tree)
        if len(tree.children) == 1 and name in _WORDS:
            return rules.Literal_(_WORDS[name], span)
        last = tree.children[-1]
        type_ = self._type(last) if isinstance(last, Tree) else None
        return rules.Value(name, _has(tree.children, "QUESTION"), type_, span)

    def _approximate(self, tree: Tree[Token]) -> rules.Expr:
        signs = [c for c in tree.children if isinstance(c, Token) and c.type == "SUM"]
        numbers = [self._number(c) for c in tree.children if isinstance(c, Token) and c.type in ("INT", "FLOAT")]
        sign = -1.0 if signs and signs[0] == "-" else 1.0
        tolerance = numbers[1] if len(numbers) > 1 else None
        return rules.Approximate(sign * numbers[0], tolerance, self._span(tree))

    def _number(self, token: Child) -> float:
        made: Any = self._builder.expression(token)
        return float(made.value)

    def _apply(self, tree: Tree[Token]) -> rules.Expr:
        names = [c for c in tree.children if isinstance(c, Token) and c.type == "NAME"]
        inputs: list[rules.Expr] = []
        given: list[rules.Given] = []
        rest, spread = False, None
        for child in tree.children:
            if isinstance(child, Token) and child.type in ("NAME", "QUESTION"):
                continue
            if isinstance(child, Tree) and child.data == "given":
                given.append(self._given(child))
            elif isinstance(child, Tree) and child.data == "rest":
                rest = rest or not child.children
                spread = str(child.children[0]) if child.children else spread
            else:
                inputs.append(self.expression(child))
        start, end = self._span(names[0]), self._span(names[-1])
        return rules.Apply(
            ".".join(map(str, names)),
            _has(tree.children, "QUESTION"),
            tuple(inputs),
            tuple(given),
            rest,
            spread,
            self._span(tree),
            start.source.span(start.start, end.end),
        )

    def _given(self, tree: Child) -> rules.Given:
        name, value = _tree(tree).children
        return rules.Given(self._name(name), self.expression(value), self._span(tree))

    def _of_type(self, tree: Tree[Token]) -> rules.Expr:
        operand, type_ = tree.children
        return rules.Typed(self.expression(operand), self._type(type_), self._span(tree))

    # ---- operators

    def _operation(self, tree: Tree[Token]) -> rules.Expr:
        parts = list(reversed(tree.children))
        return self._climb(parts, 0)[0]

    def _climb(self, parts: list[Child], least: int) -> tuple[rules.Expr, int, int]:
        """The expression that `parts` (last first) begin with, of operators that bind as `least` or more tightly.

        With it come the places where its text begins and ends, parentheses included.
        """
        left, start, end = self._operand(parts)
        while parts and (level := _LEVELS[_type(parts[-1])]) >= least:
            operator = parts.pop()
            right, _, end = self._climb(parts, level + 1)
            span = self._builder.source.span(start, end)
            left = rules.Infix(str(operator), left, right, span)
            if level == _COMPARISON and parts and _type(parts[-1]) == "COMPARE":
                help = "write `a < b && b < c`"
                self._error("T0101", "comparisons do not follow one another", self._span(parts[-1]), help=help)
        return left, start, end

    def _operand(self, parts: list[Child]) -> tuple[rules.Expr, int, int]:
        first = parts.pop()
        place = self._span(first)
        if _type(first) not in ("SUM", "NOT"):
            return self.expression(first), place.start, place.end
        # `!` negates a comparison, a sign the one operand behind it.
        operand, _, end = self._climb(parts, _COMPARISON) if _type(first) == "NOT" else self._operand(parts)
        span = self._builder.source.span(place.start, end)
        if isinstance(operand, rules.Literal_) and first != "!" and not isinstance(operand.value, (bool, str)):
            return rules.Literal_(-operand.value if first == "-" else operand.value, span), place.start, end
        return rules.Prefix(str(first), operand, span), place.start, end

    # ---- types and names

    def _type(self, child: Child) -> rules.Type:
        tree = _tree(child)
        dtypes = [c for c in tree.children if isinstance(c, Token) and c.type == "DTYPE"]
        shapes = _named(tree.children, "shape")
        dims = self._builder.dims(shapes[0].children) if shapes else None
        return rules.Type(_has(tree.children, "CONST"), str(dtypes[0]) if dtypes else None, dims, self._span(tree))

    def _parameters(self, child: Child) -> tuple[rules.Parameter, ...]:
        return tuple(self._parameter(c) for c in _tree(child).children)

    def _parameter(self, child: Child) -> rules.Parameter:
        tree = _tree(child)
        last = tree.children[-1]
        type_ = self._type(last) if isinstance(last, Tree) else rules.Type(False, None, None, self._span(tree))
        return rules.Parameter(self._name(tree.children[0]), _has(tree.children, "QUESTION"), type_, self._span(tree))

    def _target(self, token: Child, default: rules.Expr | None = None) -> rules.Target_:
        text = str(token)
        return rules.Target_(text.removeprefix("$"), text.startswith("$"), default, self._span(token))

    def _result(self, child: Child) -> rules.Target_:
        token, *default = _tree(child).children
        return self._target(token, self.expression(default[0]) if default else None)

    def _equation(self, child: Child) -> rules.Equation:
        *_, targets, value = _tree(child).children
        return rules.Equation(
            tuple(map(self._target, _tree(targets).children)),
            self.expression(value),
            _has(_tree(child).children, "SHARED"),
            self._span(child),
        )

    def _guards(self, body: Sequence[Child]) -> tuple[rules.Expr, ...]:
        return tuple(self.expression(c.children[0]) for c in _named(body, "guard"))

    def _tests(self, body: Sequence[Child]) -> tuple[rules.Test, ...]:
        made: list[rules.Test] = []
        for test in _named(body, "test"):
            tensors: list[rules.TestTensor] = []
            for tensor in map(_tree, test.children):
                name, *types = tensor.children
                tensors.append(rules.TestTensor(str(name), tuple(map(self._type, types)), self._span(tensor)))
            made.append(rules.Test(tuple(tensors), self._span(test)))
        return tuple(made)

    # ---- declarations

    def _rewrite(self, tree: Tree[Token], doc: str | None) -> rules.Rewrite:
        first, *body = tree.children
        name, span = self._name(first), self._span(tree)
        match = self._one(body, "match", name)
        replace = self._one(body, "replace", name)
        benefit = self._one(body, "benefit", name, required=False)
        targets: tuple[rules.Target_, ...] = ()
        lets: tuple[rules.Equation, ...] = ()
        replacement: rules.Expr = rules.Literal_(0, span)
        if replace is not None:
            names, value = replace.children
            targets = tuple(map(self._target, _tree(names).children))
            if isinstance(value, Tree) and value.data == "lets":
                lets = tuple(map(self._equation, value.children))
                values = [rules.Value(t.name, False, None, t.span) for t in targets]
                replacement = values[0] if len(values) == 1 else rules.Tuple_(tuple(values), self._span(value))
            else:
                replacement = self.expression(value)
        return rules.Rewrite(
            name=name,
            library=self.library,
            equations=tuple(map(self._equation, match.children)) if match is not None else (),
            guards=self._guards(body),
            targets=targets,
            lets=lets,
            replacement=replacement,
            tests=self._tests(body),
            benefit=self._benefit(benefit),
            recursive=bool(_named(body, "recursive")),
            assumes=frozenset(str(word) for part in _named(body, "assumes") for word in part.children),
            doc=doc,
            span=span,
            environment=self.environment,
        )

    def _benefit(self, part: Tree[Token] | None) -> int | None:
        if part is None:
            return None
        number: Any = self._builder.expression(part.children[0])
        if isinstance(number, syntax.Number) and isinstance(number.value, int):
            return number.value
        self._error("T0318", f"`benefit` is a whole number, found `{number.span.text}`", number.span)
        return None

    def _horizontal(self, tree: Tree[Token], doc: str | None) -> rules.Horizontal:
        first, *body = tree.children
        name, span = self._name(first), self._span(tree)
        over, member = self._one(body, "over", name), self._one(body, "member", name)
        merge, split = self._one(body, "merge", name), self._one(body, "split", name)
        nothing = rules.Literal_(0, span)
        equations = tuple(map(self._equation, member.children)) if member is not None else ()
        sizes: dict[str, rules.Expr] = {}
        for given in [self._given(c) for c in (split.children if split is not None else ())]:
            if given.name.text not in ("axis", "sizes"):
                help = "`split` says `axis = …, sizes = …`"
                self._error("T0319", f"`split` has no `{given.name.text}`", given.name.span, help=help)
            sizes[given.name.text] = given.value
        if split is not None and not {"axis", "sizes"} <= sizes.keys():
            self._error("T0319", "`split` says where the results lie: `axis = …, sizes = …`", self._span(split))
        same = [c for part in _named(body, "same") for c in part.children]
        return rules.Horizontal(
            name=name,
            library=self.library,
            over=self._parameter(over.children[0])
            if over is not None
            else rules.Parameter(name, False, rules.Type(False, None, None, span), span),
            member=equations[-1] if equations else rules.Equation((), nothing, False, span),
            equations=equations[:-1],
            same=tuple(rules.Capture(str(c)[1:], self._span(c)) for c in same),
            guards=self._guards(body),
            merge=self.expression(merge.children[0]) if merge is not None else nothing,
            axis=sizes.get("axis", nothing),
            sizes=sizes.get("sizes", nothing),
            tests=self._tests(body),
            doc=doc,
            span=span,
            environment=self.environment,
        )

    def _plugin(self, children: Sequence[Child], doc: str | None, span: Span) -> rules.Plugin:
        name, parameters, outputs, *body = children
        settings: dict[str, Any] = {}
        places: dict[str, Span] = {}
        for tree in _named(body, "entry"):
            entry = self._builder.entry(tree)
            key = entry.name.text
            if key not in _PLUGIN_SETTINGS:
                known = ", ".join(f"`{s}`" for s in _PLUGIN_SETTINGS)
                self._error("T0320", f"a plugin has no setting `{key}`", entry.name.span, help=f"settings: {known}")
            elif not isinstance(entry.value, syntax.String):
                self._error("T0320", f"`{key}` of a plugin is a string in double quotes", entry.value.span)
            elif key in places:
                self._twice(f"`{key}` is set", entry.name.span, places[key])
            else:
                settings[key] = entry.value.value
            places.setdefault(key, entry.name.span)
        place = next((self._builder.string(c).value for c in body if isinstance(c, Token)), None)
        return rules.Plugin(
            name=self._name(name),
            parameters=self._parameters(parameters),
            outputs=self._parameters(outputs),
            settings=settings,
            fields=tuple(self._field(f) for block in _named(body, "fields") for f in block.children),
            meaning=tuple(self._equation(e) for part in _named(body, "meaning") for e in part.children),
            extern=place,
            doc=doc,
            span=span,
            environment=self.environment,
        )

    def _own_operator(self, children: Sequence[Child], doc: str | None, span: Span) -> rules.Operator:
        name, parameters, outputs, *body = children
        for tree in _named(body, "entry"):
            key = self._builder.entry(tree).name
            help = "only a `plugin` is made by a creator; fields stand in `fields { … }`"
            self._error("T0320", f"an operator has no setting `{key.text}`", key.span, help=help)
        return rules.Operator(
            name=self._name(name),
            parameters=self._parameters(parameters),
            outputs=self._parameters(outputs),
            settings={},
            fields=tuple(self._field(f) for block in _named(body, "fields") for f in block.children),
            meaning=tuple(self._equation(e) for part in _named(body, "meaning") for e in part.children),
            extern=None,
            doc=doc,
            span=span,
            environment=self.environment,
            library=self.library,
        )

    def _field(self, child: Child) -> rules.Field:
        name, type_, *rest = _tree(child).children
        return rules.Field(
            self._name(name), str(type_), _has(rest, "LIST"), self.expression(rest[-1]), self._span(child)
        )

    def _extern(self, tree: Tree[Token], doc: str | None, span: Span) -> rules.Extern:
        kind, name, *rest = tree.children
        word: Literal["constraint", "pass"] = "pass" if kind == "pass" else "constraint"
        strings = [self._builder.string(c).value for c in rest if isinstance(c, Token)]
        parameters = _named(rest, "parameters")
        return rules.Extern(
            kind=word,
            name=self._name(name),
            parameters=self._parameters(parameters[0]) if parameters else (),
            place=strings[0],
            sampler=strings[1] if len(strings) > 1 else None,
            doc=doc,
            span=span,
        )

    # ---- mistakes that the grammar lets through

    def _one(
        self, body: Sequence[Child], part: str, owner: syntax.Name, *, required: bool = True
    ) -> Tree[Token] | None:
        found = _named(body, part)
        for again in found[1:]:
            self._twice(f"`{part}` of `{owner.text}` is written", self._head(again, part), self._head(found[0], part))
        if not found and required:
            self._error("T0319", f"`{owner.text}` has no `{part}`", owner.span)
        return found[0] if found else None

    def _head(self, tree: Tree[Token], keyword: str) -> Span:
        start = self._span(tree).start
        return self._builder.source.span(start, start + len(keyword))

    def _twice(self, what: str, span: Span, first: Span) -> None:
        self._builder.errors.append(
            Diagnostic("T0202", f"{what} twice", span=span, labels=(Label(first, "first here"),))
        )

    def _error(self, code: str, message: str, span: Span, *, help: str | None = None) -> None:
        self._builder.errors.append(Diagnostic(code, message, span=span, help=help))


def _type(child: Child) -> str:
    return child.type if isinstance(child, Token) else ""


def _tree(child: Child) -> Tree[Token]:
    assert isinstance(child, Tree)
    return child


def _named(children: Sequence[Child], data: str) -> list[Tree[Token]]:
    return [c for c in children if isinstance(c, Tree) and c.data == data]


def _has(children: Sequence[Child], terminal: str) -> bool:
    return any(isinstance(c, Token) and c.type == terminal for c in children)
