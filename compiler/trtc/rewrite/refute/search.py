"""The search for a counterexample: instances of a rule until enough were compared and every choice was covered."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import onnx_ir as oir

from trtc.lang.rules import Rule
from trtc.rewrite.refute import batch
from trtc.rewrite.refute.batch import Verdict
from trtc.rewrite.refute.instance import Instance, empty_module
from trtc.rewrite.refute.sketch import Sketch
from trtc.rewrite.refute.survey import Choice, Survey, general
from trtc.rewrite.refute.tape import Decisions, Rejected, Tape

#: Instances of each alternative, option and order.
LEAST = 20
#: Candidates in one model.
_BATCH = 64
_FIRST = 24
#: Candidates that are made for one instance that is wanted, before the search gives up.
_PATIENCE = 12
_ATTEMPTS = 40
"""Sketches for one candidate."""


@dataclass(slots=True)
class Coverage:
    """How often each option of a choice was in an instance that was compared."""

    choice: Choice
    counts: list[int]

    @property
    def untested(self) -> tuple[str, ...]:
        return tuple(o for o, n in zip(self.choice.options, self.counts, strict=True) if n == 0)

    @property
    def thin(self) -> tuple[str, ...]:
        """Options of fewer instances than there should be, and not of none."""
        return tuple(o for o, n in zip(self.choice.options, self.counts, strict=True) if 0 < n < LEAST)


@dataclass(slots=True)
class Found:
    """What the search found out about a rule."""

    rule: Rule
    survey: Survey
    coverage: list[Coverage]
    tested: Counter[str] = field(default_factory=Counter[str])
    """Instances that were compared, by dtype."""
    candidates: int = 0
    fired: int = 0
    worst: float = 0.0
    """The largest error of a right side, as a share of what was allowed."""
    uncertain: int = 0
    """Instances whose truth nothing computes in float64."""
    counterexample: Verdict | None = None
    errors: Counter[str] = field(default_factory=Counter[str])
    """Why instances that the rule fired on were not compared."""
    faults: Counter[str] = field(default_factory=Counter[str])
    """What the engine raised."""
    rejected: Counter[str] = field(default_factory=Counter[str])
    seconds: float = 0.0

    @property
    def instances(self) -> int:
        return sum(self.tested.values())


def candidate(
    rule: Rule, survey: Survey, prefix: str, base: oir.DataType, tape: Tape, *, special: bool = False
) -> Instance:
    """One instance by the decisions of a tape. Raises Rejected."""
    instance = Instance(prefix, base, seed=tape.seed, special=special)
    try:
        Sketch(empty_module(), rule, survey, tape, instance).make()
    except (ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as error:
        raise Rejected(f"{type(error).__name__}: {error}") from error
    return instance


def search(
    rule: Rule,
    *,
    instances: int = 200,
    seed: int = 0,
    half: float = 0.2,
    seconds: float | None = None,
    progress: Callable[[Found], None] | None = None,
) -> Found:
    """Compare `instances` instances of a rule, or stop at the first counterexample.

    half: the share of them in float16. seconds: give up then, with what was found.
    """
    began = time.process_time()
    survey = Survey.of(rule)
    coverage = [Coverage(choice, [0] * len(choice.options)) for choice in survey.choices.values()]
    found = Found(rule, survey, coverage)
    source = _Source(rule, survey, coverage, random.Random(seed))
    size = _FIRST
    while not _enough(found, instances):
        made = source.batch(size, half if _halves(survey) else 0.0, found)
        if not made:
            break
        found.candidates += len(made)
        for verdict in batch.run(rule, made):
            _count(found, verdict, source)
            if verdict.fired and verdict.difference is not None and found.counterexample is None:
                found.counterexample = verdict
        found.seconds = time.process_time() - began
        if progress is not None:
            progress(found)
        if found.counterexample is not None or found.faults or (not found.instances and found.fired > 2 * _BATCH):
            break
        if found.candidates > _PATIENCE * instances or (not found.fired and found.candidates > instances):
            break
        if seconds is not None and found.seconds > seconds:
            break
        size = _BATCH
    found.seconds = time.process_time() - began
    return found


def _enough(found: Found, instances: int) -> bool:
    if found.instances < instances:
        return False
    if all(min(c.counts) >= min(LEAST, instances) for c in found.coverage):
        return True
    return found.instances >= 2 * instances


def _count(found: Found, verdict: Verdict, source: _Source) -> None:
    if verdict.fault and verdict.error is not None:
        found.faults[verdict.error] += 1
    if not verdict.fired:
        if verdict.error is not None:
            found.rejected[verdict.error] += 1
        return
    found.fired += 1
    if verdict.error is not None:
        found.errors[verdict.error] += 1
        return
    instance = verdict.instance
    found.tested[instance.base.short_name()] += 1
    found.uncertain += not verdict.certain
    if verdict.difference is None:
        found.worst = max(found.worst, verdict.ratio)
    source.good.append(instance.decisions)
    chosen: dict[str, set[int]] = {}
    for label, at in instance.decisions.items():
        chosen.setdefault(general(label), set()).add(at)
    for coverage in found.coverage:
        for at in chosen.get(coverage.choice.label, ()):
            coverage.counts[at] += 1


def _halves(survey: Survey) -> bool:
    """Whether `float` may be float16: no type insists on a float dtype."""
    return all(t.dtype in (None, "float", "int", "bool", "i64", "i32") for t in survey.types)


class _Source:
    """Makes candidates: what is covered least first, by decisions like those that worked."""

    def __init__(self, rule: Rule, survey: Survey, coverage: Sequence[Coverage], rng: random.Random) -> None:
        self.rule = rule
        self.survey = survey
        self.coverage = coverage
        self.random = rng
        self.good: list[Decisions] = []
        self._number = 0
        self._of = {c.choice.label: c for c in coverage}

    def batch(self, size: int, half: float, found: Found) -> list[Instance]:
        made: list[Instance] = []
        for _ in range(size):
            base = oir.DataType.FLOAT16 if self.random.random() < half else oir.DataType.FLOAT
            instance = self._one(base, found)
            if instance is not None:
                made.append(instance)
        return made

    def _one(self, base: oir.DataType, found: Found) -> Instance | None:
        for _ in range(_ATTEMPTS):
            self._number += 1
            special = "finite" not in getattr(self.rule, "assumes", ()) and self.random.random() < 0.12
            target = self._target(found)
            fixed = self._like_a_good_one() if target is None else {}
            tape = Tape(fixed, self.random.getrandbits(32), self._steering(target or {}))
            try:
                return candidate(self.rule, self.survey, f"i{self._number}/", base, tape, special=special)
            except Rejected as error:
                found.rejected[str(error)] += 1
        return None

    def _target(self, found: Found) -> dict[str, int] | None:
        """The choices that lead to what is covered least; None where all is covered well, and sometimes."""
        thin = [(count, at, c.choice) for c in self.coverage for at, count in enumerate(c.counts) if count < LEAST + 4]
        if not thin or self.random.random() < (0.1 if found.instances > 100 else 0.4):
            return None
        least = min(count for count, _, _ in thin)
        _, at, choice = self.random.choice([one for one in thin if one[0] <= least + 4])
        return {**dict(choice.requires), choice.label: at}

    def _steering(self, target: dict[str, int]) -> Callable[[str, int], int | None]:
        def steer(label: str, count: int) -> int | None:
            wanted = target.get(general(label))
            return wanted if wanted is not None and wanted < count else None

        return steer

    def _like_a_good_one(self) -> Decisions:
        """The decisions of an instance that worked, some of them forgotten."""
        if len(self.good) < 4 or self.random.random() < 0.5:
            return {}
        chosen = self.random.choice(self.good)
        forget = self.random.choice((0.1, 0.3, 0.5))
        return {label: at for label, at in chosen.items() if self.random.random() > forget}


__all__ = ["LEAST", "Coverage", "Found", "candidate", "search"]
