"""A spec with every name resolved, every parameter filled in and every path absolute: what the compiler runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import EllipsisType
from typing import Any, TypeAlias

from trtc.diagnostics import Source, Span
from trtc.lang.rules import Extern, Plugin, Rule

DimSpec: TypeAlias = "int | str | EllipsisType | None"
"""A dimension of a tensor: fixed, the name of a declared dim, any (`_`), or `...` for any number of them."""

Frozen: TypeAlias = "bool | int | float | tuple[Frozen, ...]"
"""The value of a frozen input: a scalar or nested tuples, regular as an array."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """What a spec says of an input or output of the model.

    dtype: one of `trtc.lang.DTYPES` (`f32`, …), or None where it is not said.
    dims: None where nothing is said of the shape (a frozen input).
    value: the value that a frozen input has instead of being an input, else None.
    """

    name: str
    dtype: str | None = None
    dims: tuple[DimSpec, ...] | None = None
    value: Frozen | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """An optimization profile: dim -> (min, opt, max)."""

    name: str
    dims: Mapping[str, tuple[int, int, int]]
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    span: Span | None = None


# ---- pipeline


@dataclass(frozen=True, slots=True)
class PassCall:
    """A pass and the options that the spec gives it (its defaults are not filled in)."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Fixpoint:
    """Runs `steps` until none changes anything, at most `limit` times."""

    limit: int
    steps: tuple[Step, ...]
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Keeps the graph at this place under a name."""

    name: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """`apply(std.norm, fuse_gelu)`: the rules in the order of naming, those of a library in the order of its file."""

    rules: tuple[Rule, ...]
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """`count(Conv)`: the number of nodes of an operator. `domain` is "" for ONNX's own."""

    op_type: str
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class RuleCount:
    """`fuse_gelu`: how often the rules of this name were applied so far."""

    name: str


Term: TypeAlias = int | Count | RuleCount | Arithmetic

_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """`left comparison right`; `text` is how the spec writes it."""

    left: Term
    comparison: str
    right: Term
    text: str
    span: Span | None = None

    def holds(self, count: Callable[[Count | RuleCount], int]) -> bool:
        return _COMPARE[self.comparison](evaluate(self.left, count), evaluate(self.right, count))


def evaluate(term: Term, count: Callable[[Count | RuleCount], int]) -> int:
    """The value of one side of a condition; `count` counts nodes of an operator and applications of a rule."""
    if isinstance(term, int):
        return term
    if isinstance(term, (Count, RuleCount)):
        return count(term)
    return _ARITHMETIC[term.operator](evaluate(term.left, count), evaluate(term.right, count))


@dataclass(frozen=True, slots=True)
class Expect:
    conditions: tuple[Condition, ...]
    span: Span | None = None


Step: TypeAlias = PassCall | Fixpoint | Apply | Expect | Checkpoint


def applied_rules(steps: Sequence[Step]) -> Iterator[Rule]:
    """The rules that steps apply, those in fixpoints too, as often as they do."""
    for step in steps:
        if isinstance(step, Apply):
            yield from step.rules
        elif isinstance(step, Fixpoint):
            yield from applied_rules(step.steps)


# ---- verification


@dataclass(frozen=True, slots=True)
class Random:
    """Random inputs."""

    seed: int = 0


@dataclass(frozen=True, slots=True)
class Tolerance:
    """None: the default of the verification."""

    rtol: float | None = None
    atol: float | None = None
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Verify:
    """require: rungs that must pass. inputs: random, a file of arrays, a Python loader (code!), or None: not said."""

    require: tuple[str, ...] = ("graph", "network")
    inputs: Random | Path | None = None
    outputs: Mapping[str, Tolerance] = field(default_factory=dict[str, Tolerance])
    span: Span | None = None


# ---- the whole


@dataclass(frozen=True, slots=True)
class Spec:
    """One compilation.

    path: the file of the spec (absolute), or of the model where there is no spec.
    emit: kind (`engine`, `onnx`, `readback`) -> absolute path.
    rules: those that the spec's own file declares, applied or not; with its plugins and the Python it names, those
        of used files included.
    files: every file that was read for it, the spec first.
    """

    path: Path
    model: Path
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dims: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()
    profiles: tuple[Profile, ...] = ()
    target: Target | None = None
    builder: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pipeline: tuple[Step, ...] = ()
    verify: Verify = field(default_factory=Verify)
    emit: Mapping[str, Path] = field(default_factory=dict[str, Path])
    rules: tuple[Rule, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    externs: tuple[Extern, ...] = ()
    source: Source | None = None
    files: tuple[Path, ...] = ()

    @classmethod
    def for_model(
        cls,
        path: Path,
        *,
        pipeline: tuple[Step, ...] = (),
        dims: Mapping[str, tuple[int, int, int]] | None = None,
        target: Target | None = None,
        builder: Mapping[str, Any] | None = None,
        verify: Verify | None = None,
        emit: Mapping[str, Path] | None = None,
    ) -> Spec:
        """The spec of a bare model. `dims`: dim -> (min, opt, max), which is its range and a profile at once."""
        ranges = {name: (low, high) for name, (low, _, high) in (dims or {}).items()}
        return cls(
            path=path.absolute(),
            model=path.absolute(),
            dims=ranges,
            profiles=(Profile("default", dict(dims)),) if dims else (),
            target=target,
            builder=dict(builder or {}),
            pipeline=pipeline,
            verify=verify or Verify(),
            emit={kind: file.absolute() for kind, file in (emit or {}).items()},
        )

    @property
    def folder(self) -> Path:
        return self.path.parent
