"""Runs a pipeline. Timing, snapshots, verification and dumps are instruments that hang on it, and live nowhere else."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from trtc import collector
from trtc.diagnostics import Diagnostic, DiagnosticError, Label, Remark, RemarkKind, Severity
from trtc.lang.spec import (
    Apply,
    Arithmetic,
    Checkpoint,
    Condition,
    Count,
    Expect,
    Fixpoint,
    PassCall,
    RuleCount,
    Term,
    applied_rules,
    evaluate,
)
from trtc.pipeline.passes import Context, Pass

if TYPE_CHECKING:
    from trtc.ir.module import Module
    from trtc.lang.rules import Rule
    from trtc.lang.spec import Step
    from trtc.rewrite.explain import NearMiss

#: How many nodes a failed `expect` shows.
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class StepRecord:
    """What one run of one pass did. `seconds` is wall time."""

    name: str
    changed: bool
    counts: Mapping[str, int]
    nodes_before: int
    nodes_after: int
    seconds: float
    remarks: tuple[Remark, ...]

    def to_json(self) -> dict[str, Any]:
        """Without the time, which is never the same twice."""
        return {
            "pass": self.name,
            "changed": self.changed,
            "counts": dict(self.counts),
            "nodes_before": self.nodes_before,
            "nodes_after": self.nodes_after,
        }


class Instrument(Protocol):
    """Called after every pass, and at every checkpoint with a record that changed nothing."""

    def after(self, module: Module, record: StepRecord) -> None: ...


class Verify:
    """The IR verifier after every pass that changed something. A pass that breaks the IR is a fault of the pass."""

    def after(self, module: Module, record: StepRecord) -> None:
        if not record.changed:
            return
        from trtc.ir.verifier import verify

        try:
            verify(module)
        except DiagnosticError as error:
            raise DiagnosticError(
                Diagnostic(
                    "T0503",
                    f"the pass `{record.name}` left a graph that is not valid",
                    notes=tuple(d.message for d in error.diagnostics[:3]),
                    help="this is a fault of the pass; leave it out of the pipeline and report it",
                ),
                *error.diagnostics,
            ) from error


@dataclass(slots=True)
class Outcome:
    """Everything a run of the pipeline leaves besides the module."""

    records: list[StepRecord] = field(default_factory=list[StepRecord])
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    applied: Counter[str] = field(default_factory=Counter[str])
    """How often each rule was applied."""
    nearest: dict[str, NearMiss] = field(default_factory=dict[str, "NearMiss"])
    """Of rules that an `expect` counts and that fell short of it: the nearest miss when they ran last."""

    @property
    def remarks(self) -> list[Remark]:
        return [remark for record in self.records for remark in record.remarks]


def run(
    module: Module,
    steps: Sequence[Step],
    passes: Mapping[str, type[Pass]],
    context: Context,
    instruments: Sequence[Instrument] = (),
) -> Outcome:
    """Run `steps` on `module`, in place.

    Raises:
        DiagnosticError: T0501 an `expect` does not hold, T0503 a pass broke the IR, or what a pass raises.
    """
    outcome = Outcome()
    if context.watch is None:
        context.watch = _watch(steps, context, outcome)
    with collector.paused():
        _run(module, steps, passes, context, instruments, outcome)
    return outcome


def _run(
    module: Module,
    steps: Sequence[Step],
    passes: Mapping[str, type[Pass]],
    context: Context,
    instruments: Sequence[Instrument],
    outcome: Outcome,
) -> set[str]:
    """Names of the passes that changed the module."""
    changed: set[str] = set()
    for step in steps:
        if isinstance(step, PassCall):
            record = _call(module, step, passes, context, _count(module, outcome))
            outcome.records.append(record)
            if record.changed:
                changed.add(record.name)
            for instrument in instruments:
                instrument.after(module, record)
        elif isinstance(step, Apply):
            record = _apply(module, step, context, _count(module, outcome))
            outcome.records.append(record)
            outcome.applied.update(record.counts)
            changed |= {rule for rule, count in record.counts.items() if count}
            for instrument in instruments:
                instrument.after(module, record)
        elif isinstance(step, Fixpoint):
            changed |= _fixpoint(module, step, passes, context, instruments, outcome)
        elif isinstance(step, Expect):
            _expect(module, step, outcome)
        else:
            assert isinstance(step, Checkpoint)
            count = _count(module, outcome)
            record = StepRecord(f"checkpoint {step.name}", False, {}, count, count, 0.0, ())
            for instrument in instruments:
                instrument.after(module, record)
    return changed


def _watch(steps: Sequence[Step], context: Context, outcome: Outcome) -> Callable[[Module, Rule], None] | None:
    """Looks for the nearest miss of a rule that an `expect` counts, where it fell short when it had just run: the
    graph is as the rule saw it then, without what it matched."""
    counted: dict[str, list[Condition]] = {}
    for condition in _conditions(steps):
        for name in {*_rules(condition.left), *_rules(condition.right)}:
            counted.setdefault(name, []).append(condition)
    if not counted:
        return None

    def watch(module: Module, rule: Rule) -> None:
        name = rule.name.text
        if name not in counted:
            return
        now = outcome.applied + Counter(r.source for r in context.remarks if r.kind is RemarkKind.APPLIED)

        def count(of: Count | RuleCount) -> int:
            return now[of.name] if isinstance(of, RuleCount) else 0

        # How many nodes there will be is not known yet.
        if not any(_operators(c.left) + _operators(c.right) or not c.holds(count) for c in counted[name]):
            outcome.nearest.pop(name, None)
            return
        from trtc.rewrite.explain import nearest

        found = nearest(module, rule, context.remarks)
        if found is not None:
            outcome.nearest[name] = found

    return watch


def _conditions(steps: Sequence[Step]) -> Iterator[Condition]:
    for step in steps:
        if isinstance(step, Expect):
            yield from step.conditions
        elif isinstance(step, Fixpoint):
            yield from _conditions(step.steps)


def _count(module: Module, outcome: Outcome) -> int:
    """How many nodes there are: as many as the last pass left."""
    return outcome.records[-1].nodes_after if outcome.records else sum(1 for _ in module.nodes())


def _call(
    module: Module, step: PassCall, passes: Mapping[str, type[Pass]], context: Context, before: int
) -> StepRecord:
    made = passes[step.name](**step.options)
    context.source, context.span, context.remarks = step.name, step.span, []
    begin = time.perf_counter()
    result = made.run(module, context)
    seconds = time.perf_counter() - begin
    after = sum(1 for _ in module.nodes()) if result.changed else before
    return StepRecord(step.name, result.changed, result.counts, before, after, seconds, tuple(context.remarks))


def _apply(module: Module, step: Apply, context: Context, before: int) -> StepRecord:
    from trtc.rewrite.engine import apply

    context.source, context.span, context.remarks = "apply", step.span, []
    begin = time.perf_counter()
    result = apply(module, step.rules, context)
    seconds = time.perf_counter() - begin
    after = sum(1 for _ in module.nodes()) if result.changed else before
    return StepRecord("apply", result.changed, result.counts, before, after, seconds, tuple(context.remarks))


def _fixpoint(
    module: Module,
    step: Fixpoint,
    passes: Mapping[str, type[Pass]],
    context: Context,
    instruments: Sequence[Instrument],
    outcome: Outcome,
) -> set[str]:
    ever: set[str] = set()
    last: set[str] = set()
    for _ in range(step.limit):
        last = _run(module, step.steps, passes, context, instruments, outcome)
        if not last:
            return ever
        ever |= last
    # The graph is right whatever the order of passes: not settling costs time and a chance, so it is a warning.
    outcome.warnings.append(
        Diagnostic(
            "T0502",
            f"the fixpoint did not settle in {step.limit} rounds: "
            f"{', '.join(f'`{name}`' for name in sorted(last))} still changed the graph in the last",
            span=step.span,
            severity=Severity.WARNING,
            labels=tuple(
                Label(rule.name.span, "this rule") for rule in applied_rules(step.steps) if rule.name.text in last
            ),
            help="give it a higher `limit`, or take apart passes and rules that undo each other",
        )
    )
    return ever


def _expect(module: Module, step: Expect, outcome: Outcome) -> None:
    counts = Counter((node.domain, node.op_type) for node in module.nodes())

    def count(of: Count | RuleCount) -> int:
        return outcome.applied[of.name] if isinstance(of, RuleCount) else counts[(of.domain, of.op_type)]

    problems: list[Diagnostic] = []
    for condition in step.conditions:
        if condition.holds(count):
            continue
        named = [*_operators(condition.left), *_operators(condition.right)]
        notes = [note for operator in named for note in _nearest(module, operator, outcome.remarks)]
        missed, help = _missed(condition, count, outcome)
        problems.append(
            Diagnostic(
                "T0501",
                f"expected {condition.text}, got {evaluate(condition.left, count)}",
                span=condition.span,
                notes=(*missed, *notes),
                help=help,
            )
        )
    if problems:
        raise DiagnosticError.of(problems)


def _missed(condition: Condition, count: Callable[[Count | RuleCount], int], outcome: Outcome) -> tuple[list[str], str]:
    """Notes on the nearest miss of each rule that a condition counts, and where to see more."""
    path = condition.span.source.path if condition.span is not None else "SPEC"
    more = evaluate(condition.left, count) > evaluate(condition.right, count)
    notes: list[str] = []
    help = "`trtc dump` shows the graph; `trtc compile --dump-after all` shows it after every pass"
    for name, few in [*((n, not more) for n in _rules(condition.left)), *((n, more) for n in _rules(condition.right))]:
        help = f"see `trtc why {path} {name}`"
        near = outcome.nearest.get(name)
        if not few:
            continue
        if near is None:
            notes.append(f"nearest miss of `{name}`: no node that could be its root is in the graph")
            continue
        of = f" of `{name}`" if len(_rules(condition.left) + _rules(condition.right)) > 1 else ""
        notes.append(f"nearest miss{of}: {near.root} matched {near.progress}")
        if near.span is not None:
            file = near.span.source.path
            where = f"line {near.span.line}" if file == path else f"{file}:{near.span.line}"
            notes.append(f"stopped at {where} `{' '.join(near.span.text.split())}`: {near.reason}")
        else:
            notes.append(f"stopped: {near.reason}")
        help = f"see `trtc why {path} {name} --at {near.root}`"
    return notes, help


def _rules(term: Term) -> list[str]:
    """The rules that one side of a condition counts."""
    if isinstance(term, RuleCount):
        return [term.name]
    if isinstance(term, Arithmetic):
        return [*_rules(term.left), *_rules(term.right)]
    return []


def _operators(term: Term) -> list[str]:
    """The operators that one side of a condition counts."""
    if isinstance(term, Count):
        return [term.op_type]
    if isinstance(term, Arithmetic):
        return [*_operators(term.left), *_operators(term.right)]
    return []


def _nearest(module: Module, operator: str, remarks: Sequence[Remark]) -> list[str]:
    """The nodes of an operator that are there, each with the last reason a pass gave for leaving it."""
    left = [node.name or "" for node in module.nodes() if node.op_type == operator]
    reasons = {r.node: f"{r.source}: {r.message}" for r in remarks if r.kind is RemarkKind.DECLINED and r.node}
    notes = [f"{name}: {reasons[name]}" if name in reasons else f"{name}" for name in left[:_SHOWN]]
    if len(left) > _SHOWN:
        notes.append(f"and {len(left) - _SHOWN} more")
    return notes
