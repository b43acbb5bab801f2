"""Rules against each other and against themselves, before there is any model. Imports neither onnx nor numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from trtc.diagnostics import Diagnostic, DiagnosticError, Label, Severity, Span
from trtc.lang import rules, syntax
from trtc.lang.spec import Apply, Fixpoint, Step
from trtc.lang.walk import applications, walk
from trtc.rewrite import program as p
from trtc.rewrite.covering import Cover, GivenUp, Ident, below, covers, facts, implies, operations
from trtc.rewrite.operators import ARITHMETIC


def check(steps: Sequence[Step], *, libraries: bool = False) -> list[Diagnostic]:
    """What is wrong with the rules of a pipeline, taken together: T0310 a rule that never runs since another takes its
    root, T0311 rules that match the same, T0312 a pattern that nothing matches, T0313 a rule that feeds itself.

    libraries: compare the rules of the standard library among themselves, too; its tests do.
    """
    found: dict[tuple[str, int, str], Diagnostic] = {}
    groups = dict.fromkeys((step.rules, repeated) for step, repeated in _applications(steps, repeated=False))
    for group, repeated in groups:
        for diagnostic in _step(group, repeated, libraries):
            span = diagnostic.span
            key = (diagnostic.code, span.start if span is not None else 0, diagnostic.message)
            found.setdefault(key, diagnostic)
    return list(found.values())


def _applications(steps: Sequence[Step], *, repeated: bool) -> Iterator[tuple[Apply, bool]]:
    for step in steps:
        if isinstance(step, Apply):
            yield step, repeated
        elif isinstance(step, Fixpoint):
            yield from _applications(step.steps, repeated=True)


def _step(wanted: Sequence[rules.Rule], repeated: bool, libraries: bool) -> Iterator[Diagnostic]:
    rewrites = [r for r in wanted if isinstance(r, rules.Rewrite)]
    own = [libraries or not r.library.startswith("std.") for r in rewrites]
    if not any(own):
        return
    programs: list[tuple[p.Program, bool]] = []
    for rule, mine in zip(rewrites, own, strict=True):
        try:
            programs.append((p.compiled(rule), mine))
        except DiagnosticError:
            continue  # it is said where it is compiled for a run
    for program, mine in programs:
        if mine:
            dead = _impossible(program)
            if dead is not None:
                yield _never(program, *dead)
            elif repeated and _feeds(program):
                yield _feeding(program)
    programs.sort(key=lambda pair: -pair[0].benefit)
    for (first, mine), (second, also) in combinations(programs, 2):
        if mine or also:
            yield from _pair(first, second)


def _pair(first: p.Program, second: p.Program) -> Iterator[Diagnostic]:
    """`first` runs before `second`."""
    one, other = p.roots(first.targets[0]), p.roots(second.targets[0])
    if one is not None and (other is None or not other <= one):
        return
    if len(first.targets) > 1 or any(
        type(first.rule.environment.plugins.get(c.callee)) is rules.Plugin for c in applications(first.rule)
    ):
        return  # a target without plugins declines it
    if not first.rule.recursive and one is not None and not one.isdisjoint(_made(first.rule)):
        return  # what it made itself it leaves to others
    name, taker = second.rule.name, first.rule.name
    if not first.rule.guards and covers(first, second):
        yield Diagnostic(
            "T0310",
            f"`{name.text}` can never run: `{taker.text}` always takes its root first",
            span=name.span,
            labels=(Label(taker.span, "this matches whatever the other matches"),),
            help=f"give it a higher benefit, such as `benefit = {first.benefit + 1}`, or apply it in a step before",
        )
    elif (
        _guards(first) == _guards(second)
        and covers(first, second, guards=False)
        and covers(second, first, guards=False)
    ):
        yield Diagnostic(
            "T0311",
            f"`{name.text}` and `{taker.text}` match the same: `{taker.text}` takes it first",
            span=name.span,
            labels=(Label(taker.span, "the other one"),),
            severity=Severity.WARNING,
            help="leave one of them out, or tell them apart by `where`",
        )


def _made(rule: rules.Rewrite) -> Iterator[tuple[str, str]]:
    """The operators that a replacement writes."""
    for root in (rule.replacement, *(let.value for let in rule.lets)):
        for expression in walk(root):
            if isinstance(expression, rules.Apply):
                domain, _, op_type = expression.callee.rpartition(".")
                yield domain, op_type
            elif isinstance(expression, rules.Infix):
                yield "", ARITHMETIC.get(expression.operator, "")
            elif isinstance(expression, rules.Prefix):
                yield "", "Neg"


def _guards(program: p.Program) -> set[str]:
    return {" ".join(guard.span.text.split()) for guard in program.rule.guards}


def _never(program: p.Program, span: Span, why: str) -> Diagnostic:
    name = program.rule.name
    return Diagnostic(
        "T0312",
        f"nothing can match `{name.text}`: {why}",
        span=span,
        labels=(Label(name.span, "in this rule"),) if span != name.span else (),
    )


def _feeding(program: p.Program) -> Diagnostic:
    rule = program.rule
    end = (
        "it is `recursive`, so that the fixpoint never settles"
        if rule.recursive
        else "a rule does not match what it made, but anything that copies those nodes makes it match again"
    )
    return Diagnostic(
        "T0313",
        f"`{rule.name.text}` makes what it matches, in a `fixpoint`",
        span=rule.replacement.span,
        labels=(Label(rule.name.span, "its match is in its own replacement"),),
        severity=Severity.WARNING,
        notes=(end,),
        help="add a `where` that does not hold for what it made",
    )


# ---- one pattern by itself


def _impossible(program: p.Program) -> tuple[Span, str] | None:
    """Why no graph can match a pattern."""
    for target in program.targets:
        dead = _dead(target, frozenset())
        if dead is not None:
            return dead
        by_value: dict[Ident, list[rules.Type]] = {}
        for (ident, _), (type, _) in facts(target).items():
            by_value.setdefault(ident, []).append(type)
        for types in by_value.values():
            for one, other in combinations(types, 2):
                why = _contradiction(one, other)
                if why is not None:
                    return other.span, why
    return None


def _dead(node: p.Node | None, seen: frozenset[int]) -> tuple[Span, str] | None:
    if node is None or id(node) in seen or isinstance(node, p.OptionalInput):
        return None
    seen = seen | {id(node)}
    if isinstance(node, p.Either):
        each = [_dead(one, seen) for one, _ in node.alternatives]
        return each[0] if all(one is not None for one in each) else None
    if isinstance(node, p.TypedNode) and node.type.const:
        inner = node.inner
        while isinstance(inner, p.Var | p.TypedNode | p.Guarded):
            inner = inner.definition if isinstance(inner, p.Var) else inner.inner
        op = inner.op if isinstance(inner, p.Output) else inner
        if isinstance(op, p.Op) and op.op_type != "Constant":
            return node.span, f"the result of {op.op_type} is no constant"
    return next((dead for dead in (_dead(one, seen) for one in below(node)) if dead is not None), None)


def _contradiction(one: rules.Type, other: rules.Type) -> str | None:
    a, b = one.dtype, other.dtype
    if a is not None and b is not None and not (implies(a, b) or implies(b, a)):
        return f"a value cannot be both {a} and {b}"
    if one.dims is None or other.dims is None:
        return None
    for x, y in ((one.dims, other.dims), (other.dims, one.dims)):
        loose = any(isinstance(d, syntax.AnyDims) for d in y)
        if any(isinstance(d, syntax.AnyDims) for d in x):
            continue
        if len(x) < len(y) - 1 if loose else len(x) != len(y):
            return f"a value cannot be both `{one.span.text}` and `{other.span.text}`"
    return None


def _feeds(program: p.Program) -> bool:
    """Whether the replacement of an unguarded rule holds what its pattern matches."""
    rule = program.rule
    if rule.guards or len(program.targets) > 1:
        return False
    compiler = p.Compiler(rule.environment)
    scope = compiler.scope()
    try:
        compiler.equations(rule.equations, scope)
        compiler.equations(rule.lets, scope)
        items = rule.replacement.items if isinstance(rule.replacement, rules.Tuple_) else (rule.replacement,)
        made = [compiler.expression(item, scope) for item in items]
    except (DiagnosticError, LookupError, ValueError, AssertionError):
        return False  # a replacement says more than a pattern can
    before = scope.values.get(rule.targets[0].name)
    known = facts(before)
    matched = {id(op) for op in operations(before)}
    for op in [op for node in made for op in operations(node) if id(op) not in matched]:
        try:
            if Cover(program, known | facts(op), True).root(op):
                return True
        except GivenUp:
            continue
    return False
