"""A counterexample made small: fewer and shorter dims, simpler numbers, as long as it stays one."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import onnx_ir as oir

from trtc.lang.rules import Rule
from trtc.rewrite.refute import batch
from trtc.rewrite.refute.batch import Verdict
from trtc.rewrite.refute.data import Array
from trtc.rewrite.refute.instance import Instance
from trtc.rewrite.refute.search import candidate
from trtc.rewrite.refute.survey import Survey
from trtc.rewrite.refute.tape import Decisions, Rejected, Tape

#: Decisions that make an instance smaller when they are 0, in the order in which that is tried.
_SMALLER = ("members", "sizes", "size", "shape", "optional", "leaf", "near", "off", "form", "view", "used", "const")


def shrink(rule: Rule, survey: Survey, verdict: Verdict, seconds: float = 5.0) -> Verdict:
    """The smallest counterexample that is found in `seconds`."""
    until = time.monotonic() + seconds
    best = verdict
    if verdict.instance.special:
        best = _again(rule, survey, best, best.instance.decisions, special=False) or best
    for decisions in _decisions(best.instance.decisions):
        if time.monotonic() > until:
            return best
        best = _again(rule, survey, best, decisions(best.instance.decisions), special=best.instance.special) or best
    return _numbers(rule, best, until)


class _Change:
    """Some answers replaced by smaller ones."""

    def __init__(self, answers: Decisions) -> None:
        self._answers = answers

    def __call__(self, decisions: Decisions) -> Decisions:
        return {**decisions, **self._answers}


def _decisions(start: Decisions) -> Iterator[_Change]:
    def rank(label: str) -> int:
        return next((k for k, prefix in enumerate(_SMALLER) if label.startswith(prefix)), len(_SMALLER))

    labels = sorted((label for label, at in start.items() if at), key=rank)
    yield _Change({label: 0 for label in labels if label.startswith(("form", "view", "near", "data"))})
    # Sizes are drawn one by one in this mode, the smallest first.
    sizes = {label: 0 for label in start if label.startswith("size/")}
    for at in (1, 2, 0):
        yield _Change({"sizes": 3, **dict.fromkeys(sizes, at)})
    for label in labels:
        if label.startswith("data"):
            yield _Change({label: 0})
    for label in labels:
        if not label.startswith(("either", "order", "data", "test")):
            for at in {0, start[label] // 2}:
                yield _Change({label: at})


def _again(rule: Rule, survey: Survey, best: Verdict, decisions: Decisions, *, special: bool) -> Verdict | None:
    """The verdict on an instance of these decisions, if it is a counterexample that is smaller."""
    old = best.instance
    if decisions == old.decisions and special == old.special:
        return None
    try:
        made = candidate(rule, survey, "i0/", old.base, Tape(decisions, old.seed, _zero), special=special)
    except Rejected:
        return None
    if _size(made) > _size(old) or (made.decisions == old.decisions and special == old.special):
        return None
    return _refuted(rule, made)


def _zero(_label: str, _count: int) -> int:
    return 0


def _refuted(rule: Rule, instance: Instance) -> Verdict | None:
    (verdict,) = batch.run(rule, [instance])
    return verdict if verdict.fired and verdict.difference is not None else None


def _size(instance: Instance) -> tuple[int, int]:
    elements = sum(a.size for a in instance.inputs.values())
    elements += sum(v.const_value.size for v in instance.constants if v.const_value is not None)
    return elements, len(instance.nodes)


def _numbers(rule: Rule, best: Verdict, until: float) -> Verdict:
    """Simpler values in each leaf: one number throughout, whole numbers, few digits."""
    for name in list(best.instance.leaves):
        for simpler in _SIMPLER:
            if time.monotonic() > until:
                return best
            made = _with(best.instance, name, simpler)
            if made is not None:
                best = _refuted(rule, made) or best
    return best


def _with(instance: Instance, name: str, simpler: Callable[[Array], Array]) -> Instance | None:
    value = instance.leaves[name]
    found = instance.inputs.get(value)
    constant = value.const_value
    array: Array | None = found if found is not None else None if constant is None else constant.numpy()
    if array is None or not np.issubdtype(array.dtype, np.floating) or not array.size:
        return None
    with np.errstate(all="ignore"):
        changed = np.asarray(simpler(array)).astype(array.dtype)
    if np.array_equal(changed, array, equal_nan=True):
        return None
    if found is not None:
        return replace(instance, inputs={**instance.inputs, value: changed})
    twin = oir.Value(
        name=value.name, shape=value.shape, type=value.type, const_value=oir.Tensor(changed, name=value.name)
    )
    constants = [twin if v is value else v for v in instance.constants]
    return replace(instance, constants=constants, leaves={**instance.leaves, name: twin})


def _first_only(a: Array) -> Array:
    return np.where(np.arange(a.size).reshape(a.shape) == 0, a, 0)


def _one_digit(a: Array) -> Array:
    return np.round(a.astype(np.float64), 1)


def _all_like_the_first(a: Array) -> Array:
    return np.full_like(a, a.reshape(-1)[0])


def _without_infinities(a: Array) -> Array:
    return np.where(np.isfinite(a), a, 1)


#: Ways to simplify a tensor, the simplest result first.
_SIMPLER: tuple[Callable[[Array], Array], ...] = (
    np.ones_like,
    np.zeros_like,
    _all_like_the_first,
    _first_only,
    np.round,
    _one_digit,
    _without_infinities,
)


__all__ = ["shrink"]
