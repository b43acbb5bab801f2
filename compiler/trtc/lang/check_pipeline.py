"""Pipelines: calls of passes with typed options, named pipelines expanded in place, expectations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trtc.diagnostics import Label, Span
from trtc.lang import rules, spec, syntax
from trtc.lang.identity import domain_of
from trtc.lang.libraries import Definition, Libraries, Unit
from trtc.lang.report import Report, article, did_you_mean
from trtc.lang.scopes import KINDS, Declared
from trtc.lang.values import Evaluator, Scope, Value, Wanted
from trtc.lang.vocabulary import Option, PassSignature, Vocabulary

DEFAULT_LIMIT = 8
_MAX_LIMIT = 1000
_MAX_STEPS = 10_000


class PipelineChecker:
    """Turns the steps of a pipeline into those of a `Spec`."""

    def __init__(self, vocabulary: Vocabulary, libraries: Libraries, report: Report) -> None:
        self.vocabulary = vocabulary
        self.libraries = libraries
        self.report = report
        self.applied: dict[str, rules.Rule] = {}
        """The rules that the steps so far apply, by name."""
        self._calls: list[tuple[Definition, Span]] = []
        self._circles: set[frozenset[int]] = set()
        self._made = 0
        self._defining = False

    def steps(self, steps: Sequence[syntax.Step], unit: Unit, scope: Scope) -> tuple[spec.Step, ...]:
        made: list[spec.Step] = []
        for step in steps:
            self._made += 1
            if self._made > _MAX_STEPS:
                self.report.error("T0221", f"the pipeline has more than {_MAX_STEPS} steps", step.span)
                break
            if isinstance(step, syntax.Call):
                made += self._call(step, unit, scope)
            elif isinstance(step, syntax.Fixpoint):
                made.append(self._fixpoint(step, unit, scope))
            elif isinstance(step, syntax.Expect):
                made.append(self._expect(step, unit, scope))
            elif isinstance(step, syntax.Checkpoint):
                made += self._checkpoint(step, scope)
            else:
                made.append(self._apply(step, unit))
        return tuple(made)

    def standard(self, unit: Unit) -> tuple[spec.Step, ...]:
        """What runs where no pipeline is written: `standard()`."""
        definition = unit.visible.get("standard") or self.libraries.standard("standard")
        return self._expand(definition, {}, None) if definition is not None else ()

    def define(self, definition: Definition) -> None:
        """Checks a pipeline as if it were called with its defaults, after whatever a caller applies before it."""
        self._defining = True
        self._expand(definition, {}, None)
        self._defining = False
        self.applied.clear()

    # ---- steps

    def _call(self, call: syntax.Call, unit: Unit, scope: Scope) -> tuple[spec.Step, ...]:
        name = call.callee.text
        signature = self.vocabulary.passes.get(name)
        if signature is not None:
            return (spec.PassCall(name, self._options(call, signature, scope), call.span),)
        definition = unit.visible.get(name) or self.libraries.standard(name)
        if definition is not None:
            return self._called(call, definition, scope)
        declared = unit.rules.visible.get(name)
        if isinstance(declared, rules.Extern) and declared.kind == "pass":
            return self._extern(call, scope)
        if f"pass.{name}" in self.vocabulary.not_built:
            self.report.not_built(f"the pass `{name}`", call.callee.span)
            return ()
        if isinstance(declared, (rules.Rewrite, rules.Horizontal)):
            help = f"write `apply({name})`"
            self.report.error("T0304", f"`{name}` is a rule, no pass", call.callee.span, help=help)
            return ()
        known = [*self.vocabulary.passes, *unit.visible, *self.libraries.standard_names()]
        self.report.error(
            "T0203",
            f"unknown pass or pipeline `{name}`",
            call.callee.span,
            help=did_you_mean(name, known, "passes and pipelines"),
        )
        return ()

    def _extern(self, call: syntax.Call, scope: Scope) -> tuple[spec.Step, ...]:
        """A pass in Python: its options are known only once it is loaded."""
        if "extern.pass" in self.vocabulary.not_built:
            self.report.not_built("passes in Python that a spec names", call.callee.span)
            return ()
        evaluator = Evaluator(self.report, scope)
        options: dict[str, Any] = {}
        for argument in call.arguments:
            value = evaluator.evaluate(argument.value)
            if argument.name is None:
                help = "write `name = value`"
                self.report.error(
                    "T0204", f"options of `{call.callee.text}` are given by name", argument.span, help=help
                )
            elif value is not None:
                options[argument.name.text] = value.plain()
        return (spec.PassCall(call.callee.text, options, call.span),)

    def _options(self, call: syntax.Call, signature: PassSignature, scope: Scope) -> dict[str, Any]:
        known = {o.name: o for o in signature.options}
        evaluator = Evaluator(self.report, scope)
        options: dict[str, Any] = {}
        for name, expression in self._named(call.arguments, call.callee.text, list(known)).items():
            option: Option = known[name.text]
            wanted = Wanted(f"`{name.text}` of `{signature.name}`", option.type, option.choices, option.min, option.max)
            value = evaluator.take(expression, wanted)
            if value is not None:
                options[name.text] = value
        return options

    def _named(
        self, arguments: Sequence[syntax.Argument], owner: str, known: Sequence[str]
    ) -> dict[syntax.Name, syntax.Expression]:
        """Arguments by name; unknown, doubled and nameless ones are reported and left out."""
        found: dict[str, syntax.Name] = {}
        values: dict[syntax.Name, syntax.Expression] = {}
        for argument in arguments:
            name = argument.name
            if name is None:
                example = f"`{known[0]} = {argument.span.text}`" if len(known) == 1 else "`name = value`"
                help = f"write {example}" if known else f"`{owner}` has no options"
                if len(known) > 1:
                    help = f"write {example} with one of {', '.join(f'`{k}`' for k in known)}"
                message = (
                    f"options of `{owner}` are given by name"
                    if known
                    else f"`{owner}` takes nothing in its parentheses"
                )
                self.report.error("T0204", message, argument.span, help=help if known else f"write `{owner}()`")
            elif name.text in found:
                self.report.duplicate(f"`{name.text}` is given", name.span, found[name.text].span)
            elif name.text not in known:
                help = did_you_mean(name.text, known, "options") if known else f"`{owner}` has no options"
                self.report.error("T0204", f"`{owner}` has no option `{name.text}`", name.span, help=help)
            else:
                found[name.text] = name
                values[name] = argument.value
        return values

    def _fixpoint(self, step: syntax.Fixpoint, unit: Unit, scope: Scope) -> spec.Fixpoint:
        limit = DEFAULT_LIMIT
        wanted = Wanted("`limit` of `fixpoint`", "int", min=1, max=_MAX_LIMIT)
        for expression in self._named(step.arguments, "fixpoint", ["limit"]).values():
            limit = Evaluator(self.report, scope).take(expression, wanted) or DEFAULT_LIMIT
        return spec.Fixpoint(limit, self.steps(step.steps, unit, scope), step.span)

    # ---- rules

    def _apply(self, step: syntax.Apply, unit: Unit) -> spec.Apply:
        found: dict[rules.Rule, None] = {}
        for argument in step.arguments:
            if argument.name is not None or not isinstance(argument.value, syntax.Reference):
                help = "write `apply(std.norm, fuse_gelu)`"
                self.report.error("T0302", "`apply` takes names of rules and libraries", argument.span, help=help)
            else:
                found.update(dict.fromkeys(self._rules(argument.value, unit)))
        if not step.arguments:
            help = "write `apply(std.norm, fuse_gelu)`"
            self.report.error("T0302", "`apply` without a rule", step.span, help=help)
        self.applied.update((rule.name.text, rule) for rule in found)
        return spec.Apply(tuple(found), step.span)

    def _rules(self, name: syntax.Reference, unit: Unit) -> tuple[rules.Rule, ...]:
        """The rules that a name in `apply` stands for."""
        text = name.text
        declared = unit.rules.visible.get(text) or self.libraries.qualified(text, unit)
        if isinstance(declared, (rules.Rewrite, rules.Horizontal)):
            return (declared,)
        library = self.libraries.library(text, unit)
        if library is not None:
            return library.rules.rules()
        if declared is not None:
            what = KINDS[type(declared)]
            labels = (Label(declared.name.span, f"it is {article(what)}"),)
            help = "`apply` takes a `rewrite` or a `horizontal`, or all those of a library"
            self.report.error("T0304", f"`{text}` is no rule", name.span, labels=labels, help=help)
        elif text in unit.rules.ambiguous:
            self._ambiguous(name, unit.rules.ambiguous[text])
        elif text in self.libraries.vocabulary.libraries and not self.libraries.broken(text):
            help = f"write `use {text}` at the top of the file"
            self.report.error("T0302", f"the library `{text}` is not used", name.span, help=help)
        elif text in self.vocabulary.passes or text in unit.visible:
            what = "pass" if text in self.vocabulary.passes else "pipeline"
            self.report.error(
                "T0304", f"`{text}` is {article(what)}", name.span, help=f"call it without `apply`: `{text}()`"
            )
        elif not self.libraries.broken(text):
            known = [r for r, d in unit.rules.visible.items() if isinstance(d, (rules.Rewrite, rules.Horizontal))]
            help = did_you_mean(text, [*known, *self.vocabulary.libraries], "rules and libraries")
            self.report.error("T0302", f"unknown rule or library `{text}`", name.span, help=help)
        return ()

    def _ambiguous(self, name: syntax.Reference, declared: Sequence[Declared]) -> None:
        labels = tuple(Label(d.name.span, "it is defined here") for d in declared)
        help = "write it with its library, such as `std.norm.NAME`"
        self.report.error("T0303", f"`{name.text}` may mean several things", name.span, labels=labels, help=help)

    def _checkpoint(self, step: syntax.Checkpoint, scope: Scope) -> tuple[spec.Step, ...]:
        if len(step.arguments) != 1 or step.arguments[0].name is not None:
            self.report.error("T0204", 'a checkpoint takes its name: `checkpoint("fused")`', step.span)
            return ()
        wanted = Wanted("the name of a checkpoint", "string")
        name = Evaluator(self.report, scope).take(step.arguments[0].value, wanted)
        return (spec.Checkpoint(name, step.span),) if name is not None else ()

    # ---- named pipelines

    def _called(self, call: syntax.Call, definition: Definition, scope: Scope) -> tuple[spec.Step, ...]:
        known = [p.name.text for p in definition.declaration.parameters if p.name is not None]
        named = self._named(call.arguments, call.callee.text, known)
        given = {name.text: expression for name, expression in named.items()}
        evaluator = Evaluator(self.report, scope)
        values = {name: evaluator.evaluate(expression) for name, expression in given.items()}
        return self._expand(definition, values, call.callee.span)

    def _expand(
        self, definition: Definition, given: Mapping[str, Value | None], span: Span | None
    ) -> tuple[spec.Step, ...]:
        at = next((i for i, (d, _) in enumerate(self._calls) if d is definition), None)
        where = span or definition.name.span
        if at is not None:
            circle = frozenset(id(d) for d, _ in self._calls[at:])
            chain = tuple(Label(s, "by way of this call") for _, s in self._calls[at + 1 :])
            if circle not in self._circles:
                self._circles.add(circle)
                self.report.error("T0221", f"pipeline `{definition.name.text}` calls itself", where, labels=chain)
            return ()
        unit = definition.unit
        scope = self._bind(definition, given)
        self._calls.append((definition, where))
        if span is not None:
            self.report.calls.append(span)
        made = self.steps(definition.declaration.steps, unit, scope)
        if span is not None:
            self.report.calls.pop()
        self._calls.pop()
        return made

    def _bind(self, definition: Definition, given: Mapping[str, Value | None]) -> Scope:
        """The scope inside a pipeline: each parameter has the type of its default."""
        scope = definition.unit.scope.inner({})
        owner = definition.name.text
        for parameter in definition.declaration.parameters:
            if parameter.name is None:
                self.report.error(
                    "T0204",
                    f"a parameter of pipeline `{owner}` needs a name and a default: `name = value`",
                    parameter.span,
                )
                continue
            name = parameter.name.text
            default = Evaluator(self.report, scope).evaluate(parameter.value)
            value = given.get(name, default)
            if name in given and value is not None and default is not None:
                value = self._typed(value, default, f"`{name}` of `{owner}`")
            if value is None:
                scope.broken.add(name)
            else:
                scope.params[name] = value
        return scope

    def _typed(self, value: Value, default: Value, what: str) -> Value | None:
        if default.type == "list" or value.type == default.type:
            if value.type == default.type:
                return value
            self.report.error("T0205", f"{what} must be a list, found {value.describe()}", value.span)
            return None
        wanted: Any = default.type
        converted = Evaluator(self.report, Scope()).convert(value, Wanted(what, wanted))
        return None if converted is None else Value(converted, default.type, value.span)

    # ---- expect

    def _expect(self, step: syntax.Expect, unit: Unit, scope: Scope) -> spec.Expect:
        conditions: list[spec.Condition] = []
        for condition in step.conditions:
            left = self._term(condition.left, unit, scope)
            right = self._term(condition.right, unit, scope)
            if left is not None and right is not None:
                text = " ".join(condition.span.text.split())
                conditions.append(spec.Condition(left, condition.operator, right, text, condition.span))
        if not step.conditions:
            self.report.error(
                "T0218", "`expect` without a condition", step.span, help="write `expect(count(Conv) == 0)`"
            )
        return spec.Expect(tuple(conditions), step.span)

    def _term(self, expression: syntax.Expression, unit: Unit, scope: Scope) -> spec.Term | None:
        if isinstance(expression, syntax.Call):
            return self._count(expression, unit)
        if isinstance(expression, syntax.Binary) and expression.operator != "/":
            left, right = self._term(expression.left, unit, scope), self._term(expression.right, unit, scope)
            if left is None or right is None:
                return None
            term = spec.Arithmetic(expression.operator, left, right)
            constant = isinstance(left, int) and isinstance(right, int)
            return spec.evaluate(term, lambda _: 0) if constant else term
        if isinstance(expression, syntax.Reference) and expression.text not in scope.params:
            return self._rule_count(expression, unit, scope)
        return Evaluator(self.report, scope).take(expression, Wanted("what is compared", "int"))

    def _count(self, call: syntax.Call, unit: Unit) -> spec.Count | None:
        operators = self.vocabulary.operators
        argument = call.arguments[0].value if len(call.arguments) == 1 else None
        if call.callee.text != "count":
            self.report.error(
                "T0218",
                f"`{call.callee.text}(…)` cannot be compared",
                call.callee.span,
                help="`count(Conv)` is the number of Conv nodes in the graph",
            )
            return None
        if not isinstance(argument, syntax.Reference) or call.arguments[0].name is not None:
            self.report.error("T0218", "`count` takes the name of one operator: `count(Conv)`", call.span)
            return None
        own = unit.rules.visible.get(argument.text) or self.libraries.qualified(argument.text, unit)
        if isinstance(own, rules.Operator):
            return spec.Count(own.name.text, domain_of(own))
        domain, _, op_type = argument.text.rpartition(".")
        if not domain and operators and op_type not in operators:
            own = [name for name, one in unit.rules.visible.items() if isinstance(one, rules.Operator)]
            self.report.error(
                "T0218",
                f"`{op_type}` is not an ONNX operator",
                argument.span,
                help=did_you_mean(op_type, [*own, *operators], "operators")
                if did_you_mean(op_type, [*own, *operators], "").startswith("did")
                else "operators of other domains are written with theirs: `count(com.microsoft.FusedMatMul)`",
            )
            return None
        return spec.Count(op_type, domain)

    def _rule_count(self, name: syntax.Reference, unit: Unit, scope: Scope) -> spec.RuleCount | None:
        """A rule, as the number of times it was applied."""
        text = name.text
        rule = self.applied.get(text)
        declared = unit.rules.visible.get(text) or self.libraries.qualified(text, unit)
        if rule is None and isinstance(declared, (rules.Rewrite, rules.Horizontal)):
            rule = declared
            if self.applied.get(rule.name.text) is not rule and not self._defining:
                help = f"write `apply({text})` above it, or expect what is left: `count(Erf) == 0`"
                self.report.error("T0325", f"no `apply` before this applies `{text}`", name.span, help=help)
                return None
        if rule is not None:
            return spec.RuleCount(rule.name.text)
        if text in scope.broken:
            return None
        if declared is not None:
            what = KINDS[type(declared)]
            self.report.error("T0304", f"`{text}` is {article(what)}, no rule: it cannot be counted", name.span)
            return None
        if text in self.vocabulary.operators:
            help = f"to count nodes write `count({text})`"
        elif text in self.vocabulary.passes:
            help = "a pass cannot be counted: expect what it leaves, such as `count(Conv) == 0`"
        else:
            known = [*scope.params, *self.applied]
            help = did_you_mean(text, known, "parameters and applied rules") if known else "apply a rule before it"
        self.report.error("T0207", f"unknown name `{text}`", name.span, help=help)
        return None
