"""Patterns, rewrites, horizontals, plugins and Python functions: whether each makes sense by itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from trtc.diagnostics import Label, Span, plural
from trtc.lang import rules, syntax
from trtc.lang.bindings import Bindings
from trtc.lang.check_calls import SPECIAL, CallChecker
from trtc.lang.check_expressions import ExpressionChecker
from trtc.lang.report import Report, did_you_mean
from trtc.lang.scopes import KINDS, Declared, RuleScope
from trtc.lang.vocabulary import Vocabulary
from trtc.lang.walk import applications, walk

_ASSUMES = ("finite", "moderate")
_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class RuleChecker:
    """Checks what a file declares. `pipelines`: the names of those that the file may call."""

    def __init__(
        self,
        report: Report,
        vocabulary: Vocabulary,
        scope: RuleScope,
        qualified: Mapping[str, Declared],
        pipelines: Iterable[str],
    ) -> None:
        self.report = report
        self.vocabulary = vocabulary
        self.scope = scope
        self.calls = CallChecker(report, vocabulary, scope, qualified)
        self.pipelines = frozenset(pipelines)
        self.patterns = {n: d for n, d in {**qualified, **scope.visible}.items() if isinstance(d, rules.Pattern)}
        self.error = self.calls.error

    def check(self) -> None:
        self._circles()
        for declared in self.scope.own.values():
            self._collision(declared)
            if isinstance(declared, rules.Pattern):
                self._pattern(declared)
            elif isinstance(declared, rules.Rewrite):
                self._rewrite(declared)
            elif isinstance(declared, rules.Horizontal):
                self._horizontal(declared)
            elif isinstance(declared, rules.Plugin):
                self._plugin(declared)
            else:
                self._place(declared.place, declared.name.span)
                self._parameters(declared.parameters, self._expressions(Bindings({}), declared.name.text))

    # ---- names

    def _collision(self, declared: Declared) -> None:
        name, kind = declared.name, KINDS[type(declared)]
        other = ""
        if name.text in self.vocabulary.passes:
            other = "a pass"
        elif name.text in self.pipelines:
            other = "a pipeline"
        elif name.text in self.vocabulary.operators:
            other = "an operator of ONNX"
        elif name.text in SPECIAL or (
            name.text in self.vocabulary.functions and isinstance(declared, (rules.Plugin, rules.Extern))
        ):
            other = "a function of the language"
        if other:
            self.error("T0323", f"the {kind} `{name.text}` has the name of {other}", name.span, "call it otherwise")

    def _circles(self) -> None:
        """Patterns and operators that call themselves, by way of others perhaps."""
        state: dict[str, int] = {}
        own = {n: d for n, d in self.scope.own.items() if isinstance(d, (rules.Pattern, rules.Plugin))}

        def visit(pattern: rules.Pattern | rules.Plugin, chain: tuple[rules.Apply, ...]) -> None:
            name = pattern.name.text
            state[name] = 1
            for call in applications(pattern):
                called = own.get(call.callee)
                if called is None:
                    continue
                if state.get(call.callee) == 1:
                    labels = tuple(Label(c.name_span, "by way of this call") for c in chain)
                    message = f"{KINDS[type(called)]} `{call.callee}` uses itself"
                    self.error("T0309", message, call.name_span, None, labels)
                elif call.callee not in state:
                    visit(called, (*chain, call))
            state[name] = 2

        for pattern in own.values():
            if pattern.name.text not in state:
                visit(pattern, ())

    def _expressions(self, bindings: Bindings, owner: str) -> ExpressionChecker:
        return ExpressionChecker(self.calls, bindings, owner)

    def _parameters(self, parameters: Sequence[rules.Parameter], expressions: ExpressionChecker) -> None:
        seen: dict[str, Span] = {}
        for parameter in parameters:
            name = parameter.name.text
            if name in seen:
                self.report.duplicate(f"`{name}` is a parameter", parameter.name.span, seen[name])
            seen.setdefault(name, parameter.name.span)
            expressions.type(parameter.type)

    # ---- matches

    def _match(
        self, equations: Sequence[rules.Equation], expressions: ExpressionChecker, parameters: Mapping[str, Span]
    ) -> None:
        """What patterns and rewrites share: the equations of a match."""
        seen = dict(parameters)
        bindings = expressions.bindings
        for equation in equations:
            expressions.match(equation.value)
            self._results(equation)
            for target in equation.targets:
                if target.name == "_" or target.capture:
                    continue
                if target.name in seen:
                    labels = (Label(seen[target.name], "first here"),)
                    help = "what may be either is one value: `y = either(a, b)`"
                    self.error("T0327", f"`{target.name}` is defined twice", target.span, help, labels)
                seen.setdefault(target.name, target.span)
        if bindings.circle is not None:
            name = bindings.circle.targets[0].name
            self.error("T0309", f"`{name}` depends on itself", bindings.circle.targets[0].span)
        reached = {id(e) for e in bindings.reached}
        left = [e for e in equations if id(e) not in reached]
        used = {e.name for one in left for e in walk(one.value) if isinstance(e, rules.Value)}
        for equation in left:
            names = [t.name for t in equation.targets if not t.capture]
            if not used & set(names):
                shown = names[0] if names else equation.targets[0].name
                help = "every equation must lead to a value that is replaced"
                self.error("T0315", f"nothing that is matched uses `{shown}`", equation.span, help)

    def _results(self, equation: rules.Equation) -> None:
        """The left side of an equation against what the right side gives."""
        values = [t for t in equation.targets if not t.capture]
        captures = [t for t in equation.targets if t.capture]
        call = equation.value
        if not isinstance(call, rules.Apply):
            if len(equation.targets) > 1 or captures:
                self.error("T0308", "only a call gives several results", equation.value.span)
            return
        pattern = self.patterns.get(call.callee)
        if pattern is not None:
            self._pattern_results(values, captures, call, pattern)
            return
        if captures:
            help = f"an attribute is captured where it is given: `axis = ${captures[0].name}`"
            self.error("T0308", f"`{call.callee}` gives no `${captures[0].name}`", captures[0].span, help)
        schema = self.calls.schema(call.callee)
        if schema is not None and schema.outputs is not None and len(values) > schema.outputs:
            message = f"`{call.callee}` has {plural(schema.outputs, 'output')}, found {len(values)}"
            self.error("T0308", message, values[schema.outputs].span)

    def _pattern_results(
        self,
        values: Sequence[rules.Target_],
        captures: Sequence[rules.Target_],
        call: rules.Apply,
        pattern: rules.Pattern,
    ) -> None:
        given = [t for t in pattern.targets if not t.capture]
        given_captures = [t for t in pattern.targets if t.capture]
        labels = (Label(pattern.name.span, "it is defined here"),)
        if len(values) != len(given):
            message = f"pattern `{call.callee}` gives {plural(len(given), 'value')}, found {len(values)}"
            self.error("T0308", message, call.name_span, None, labels)
        elif len(captures) > len(given_captures):
            extra = captures[len(given_captures)]
            message = f"pattern `{call.callee}` gives no `${extra.name}`"
            self.error("T0308", message, extra.span, "its captures are listed behind `->`", labels)
        elif call.optional:
            for mine, its in zip(captures, given_captures, strict=False):
                if its.default is None:
                    help = f"say it there: `-> (y, ${its.name} = 1.0)`"
                    labels = (Label(its.span, "it has no default"),)
                    message = f"what `${mine.name}` is where `{call.callee}` is absent is not said"
                    self.error("T0317", message, mine.span, help, labels)

    def _pattern(self, pattern: rules.Pattern) -> None:
        bindings = Bindings(self.patterns, self.vocabulary.schemas)
        bindings.match(pattern.equations, pattern.targets, pattern.guards, pattern.parameters)
        expressions = self._expressions(bindings, pattern.name.text)
        self._parameters(pattern.parameters, expressions)
        parameters = {p.name.text: p.name.span for p in pattern.parameters}
        self._match(pattern.equations, expressions, parameters)
        for guard in pattern.guards:
            expressions.guard(guard)
        for target in pattern.targets:
            if target.default is not None:
                expressions.number(target.default, "build")
            if target.capture:
                expressions.capture(rules.Capture(target.name, target.span), "build")
            elif target.name not in bindings.equations:
                help = "each value behind `->` has an equation"
                self.error("T0316", f"no equation of `{pattern.name.text}` defines `{target.name}`", target.span, help)
        self._strangers(pattern, bindings)

    def _strangers(self, pattern: rules.Pattern, bindings: Bindings) -> None:
        """A name in a pattern that is nothing but written once is a slip, or should be `_`."""
        found: dict[str, list[rules.Value]] = {}
        for equation in pattern.equations:
            for value in _values(equation.value):
                if value.name not in bindings.equations and value.name != "_":
                    found.setdefault(value.name, []).append(value)
        parameters = [p.name.text for p in pattern.parameters]
        for name, places in found.items():
            if name in parameters or len(places) > 1 or places[0].type is not None:
                continue
            close = did_you_mean(name, [*parameters, *bindings.equations], "")
            help = close if close.startswith("did") else "anything is written `_`, any constant `_: const`"
            message = f"`{name}` is neither a parameter of `{pattern.name.text}` nor defined in it"
            self.error("T0314", message, places[0].span, help)

    # ---- rewrites

    def _rewrite(self, rewrite: rules.Rewrite) -> None:
        bindings = Bindings(self.patterns, self.vocabulary.schemas)
        bindings.match(rewrite.equations, rewrite.targets, rewrite.guards)
        expressions = self._expressions(bindings, rewrite.name.text)
        self._match(rewrite.equations, expressions, {})
        for guard in rewrite.guards:
            expressions.guard(guard)
        seen: dict[str, Span] = {}
        for target in rewrite.targets:
            if target.capture:
                self.error("T0316", f"`${target.name}` is no value: it cannot be replaced", target.span)
            elif target.name not in bindings.equations:
                names = [n for n in bindings.equations if not n.startswith("$")]
                help = did_you_mean(target.name, names, "values that the match makes")
                self.error("T0316", f"no equation of the match makes `{target.name}`", target.span, help)
            elif target.name in seen:
                self.report.duplicate(f"`{target.name}` is replaced", target.span, seen[target.name])
            seen.setdefault(target.name, target.span)
        self._replacement(rewrite, expressions)
        for word in sorted(rewrite.assumes - set(_ASSUMES)):
            place = _word(rewrite.span, "assumes", word)
            self.error(
                "T0324", f"`assumes {word}` means nothing", place, "write `assumes finite` or `assumes moderate`"
            )
        self._tests(rewrite.tests, _leaves(rewrite.equations, bindings), 1)

    def _replacement(self, rewrite: rules.Rewrite, expressions: ExpressionChecker) -> None:
        targets = {t.name for t in rewrite.targets}
        defined: dict[str, Span] = {}
        for let in rewrite.lets:
            expressions.build(let.value)
            if let.shared:
                self.error("T0321", "`shared` belongs in a pattern", let.span)
            self._results(let)
            for target in let.targets:
                first = defined.get(target.name)
                if first is None and target.name not in targets and target.name in expressions.bindings.always:
                    self.error("T0327", f"`{target.name}` is a value of the match already", target.span)
                elif first is not None:
                    self.error(
                        "T0327", f"`{target.name}` is defined twice", target.span, None, (Label(first, "first here"),)
                    )
                defined.setdefault(target.name, target.span)
                expressions.lets.add(target.name)
        if rewrite.lets:
            for target in rewrite.targets:
                if target.name not in defined:
                    self.error("T0316", f"the block behind `with` does not define `{target.name}`", target.span)
            used = {e.name for let in rewrite.lets for e in walk(let.value) if isinstance(e, rules.Value)}
            for name, span in defined.items():
                if name not in used | targets | {"_"}:
                    self.error("T0315", f"nothing uses `{name}`", span)
            return
        value = rewrite.replacement
        if isinstance(value, rules.Tuple_):
            if len(value.items) != len(rewrite.targets):
                message = f"{plural(len(rewrite.targets), 'value')} replaced, {len(value.items)} given"
                self.error("T0308", message, value.span)
            for item in value.items:
                expressions.build(item)
            return
        expressions.build(value)
        if len(rewrite.targets) > 1:
            outputs: int | None = 1
            if isinstance(value, rules.Apply):
                declared, schema = self.calls.declared(value.callee), self.calls.schema(value.callee)
                outputs = schema.outputs if schema is not None else None
                outputs = len(declared.outputs) if isinstance(declared, rules.Plugin) else outputs
            if outputs is not None and outputs < len(rewrite.targets):
                help = "write `with (a, b)`, or a block: `with { t = …  a = …  b = … }`"
                message = f"{plural(len(rewrite.targets), 'value')} replaced, {outputs} given"
                self.error("T0308", message, value.span, help)

    def _tests(self, tests: Sequence[rules.Test], leaves: Sequence[str], most: int | None) -> None:
        for test in tests:
            seen: dict[str, Span] = {}
            for tensor in test.tensors:
                if tensor.name in seen:
                    self.report.duplicate(f"`{tensor.name}` is given", tensor.span, seen[tensor.name])
                seen.setdefault(tensor.name, tensor.span)
                if tensor.name not in leaves:
                    help = did_you_mean(tensor.name, leaves, "inputs of the match")
                    self.error("T0328", f"`{tensor.name}` is no input of the match", tensor.span, help)
                if most is not None and len(tensor.types) > most:
                    message = f"`{tensor.name}` has one type: only the members of a `horizontal` have several"
                    self.error("T0328", message, tensor.span)
                for type_ in tensor.types:
                    sizes = [d.value if isinstance(d, syntax.Number) else None for d in type_.dims or ()]
                    if type_.dtype is None or type_.dims is None or not all(isinstance(s, int) for s in sizes):
                        help = "write a dtype and sizes in numbers: `f32[2, 8, 64]`"
                        self.error("T0328", f"`{type_.span.text}` is no shape to test with", type_.span, help)

    # ---- horizontals

    def _horizontal(self, rule: rules.Horizontal) -> None:
        over = rule.over.name
        equations = (*rule.equations, rule.member)
        bindings = Bindings(self.patterns, self.vocabulary.schemas)
        bindings.match(equations, rule.member.targets, rule.guards, (rule.over,))
        expressions = self._expressions(bindings, rule.name.text)
        expressions.type(rule.over.type)
        self._match(equations, expressions, {over.text: over.span})
        values = [v for e in bindings.reached for v in _values(e.value)]
        if not any(v.name == over.text for v in values):
            self.error("T0326", f"`member` never uses `{over.text}`, which siblings share", rule.member.span)
        if len([t for t in rule.member.targets if not t.capture]) != 1:
            self.error("T0326", "a member has one result", rule.member.span)
        for capture in rule.same:
            expressions.capture(capture, "build")
        for guard in rule.guards:
            expressions.guard(guard)
        expressions.members = True
        expressions.build(rule.merge)
        same = {c.name for c in rule.same}
        for one in walk(rule.merge):
            if isinstance(one, rules.Capture) and one.name not in same and f"${one.name}" in bindings.always:
                help = f"add it to `same`: `same ${one.name}`"
                self.error("T0326", f"`${one.name}` may differ from member to member", one.span, help)
        for value in (rule.axis, rule.sizes):
            expressions.number(value, "build")
        self._tests(rule.tests, [over.text, *_leaves(equations, bindings)], None)

    # ---- plugins

    def _plugin(self, plugin: rules.Plugin) -> None:
        bindings = Bindings({})
        bindings.match((), (), (), plugin.parameters)
        bindings.optional.clear()
        # The meaning may depend on the fields: `$score_threshold` is the value at the call.
        bindings.always.update(f"${field.name.text}" for field in plugin.fields)
        expressions = self._expressions(bindings, plugin.name.text)
        self._parameters((*plugin.parameters, *plugin.outputs), expressions)
        for output in plugin.outputs:
            bindings.type(output.type)
        defined: dict[str, Span] = {p.name.text: p.name.span for p in plugin.parameters}
        for equation in plugin.meaning:
            expressions.build(equation.value)
            for target in equation.targets:
                if target.name in defined:
                    labels = (Label(defined[target.name], "first here"),)
                    self.error("T0327", f"`{target.name}` is defined twice", target.span, None, labels)
                defined.setdefault(target.name, target.span)
                expressions.lets.add(target.name)
        if plugin.extern is not None:
            self._place(plugin.extern, plugin.name.span)
        elif not plugin.meaning:
            help = 'write `meaning y = …`, or name Python that stands for it: `extern plugin … from "module:name"`'
            kind = KINDS[type(plugin)]
            help = "write `meaning y = …`" if isinstance(plugin, rules.Operator) else help
            self.error("T0320", f"the {kind} `{plugin.name.text}` has no meaning", plugin.name.span, help)
        for output in plugin.outputs:
            if plugin.meaning and output.name.text not in defined:
                message = f"the meaning of `{plugin.name.text}` does not define `{output.name.text}`"
                self.error("T0316", message, output.name.span)
        self._fields(plugin, bindings, expressions)

    def _fields(self, plugin: rules.Plugin, bindings: Bindings, expressions: ExpressionChecker) -> None:
        seen: dict[str, Span] = {}
        constants = {p.name.text for p in plugin.parameters if p.type.const}
        for field in plugin.fields:
            name, value = field.name.text, field.value
            if name in seen:
                self.report.duplicate(f"the field `{name}` is given", field.name.span, seen[name])
            seen.setdefault(name, field.name.span)
            wanted = ""
            if field.list or field.type == "dims":
                wanted = "" if not isinstance(value, rules.Literal_) else "a list"
            elif isinstance(value, rules.Items):
                wanted = "one value, not a list"
            elif field.type == "weights":
                named = isinstance(value, rules.Value) and value.name in constants
                wanted = "" if named else "a parameter of the plugin that is `const`"
            elif isinstance(value, rules.Literal_):
                text = isinstance(value.value, str)
                if text != (field.type == "string"):
                    wanted = "a string in double quotes" if field.type == "string" else "a number"
                elif isinstance(value.value, float) and field.type[0] in "iu":
                    wanted = "a whole number"
            if field.type == "weights" and isinstance(plugin, rules.Operator):
                self.error("T0320", f"the field `{name}` is weights: make it a parameter of the operator", field.span)
            elif wanted:
                self.error("T0320", f"the field `{name}` is {wanted}, found `{value.span.text}`", value.span)
            elif field.type != "weights":
                expressions.number(value, "build")

    def _place(self, place: str, span: Span) -> None:
        if not _PLACE.fullmatch(place):
            self.error("T0320", f'"{place}" does not say where the Python is', span, 'write `from "module:name"`')


def _leaves(equations: Sequence[rules.Equation], bindings: Bindings) -> list[str]:
    """The inputs of a match."""
    names = dict.fromkeys(v.name for e in equations for v in _values(e.value))
    return [n for n in names if n not in bindings.equations and n != "_"]


def _values(value: rules.Expr) -> list[rules.Value]:
    """The values of the graph in an expression: not the names in lists, which are dims."""
    if isinstance(value, rules.Value):
        return [value]
    if isinstance(value, rules.Items):
        return []
    if isinstance(value, rules.Apply):
        parts = (*value.inputs, *(g.value for g in value.given))
    elif isinstance(value, rules.Infix):
        parts = (value.left, value.right)
    elif isinstance(value, (rules.Prefix, rules.Typed)):
        parts = (value.operand,)
    else:
        parts = ()
    return [v for part in parts for v in _values(part)]


def _word(span: Span, keyword: str, word: str) -> Span:
    """Where a word stands behind its keyword."""
    source = span.source
    found = re.compile(rf"\b{keyword}\b[\w\s,]*?\b({word})\b").search(source.text, span.start, span.end)
    return source.span(found.start(1), found.end(1)) if found else span
