"""The syntax tree: what a file says, before anybody asks whether it makes sense. Every node knows its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from trtc.diagnostics import Span

if TYPE_CHECKING:
    from trtc.lang import rules

# ---- expressions


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier where the grammar wants one: what is declared, the key of an entry, the name of an option."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    """`12` or `1e-4`."""

    value: int | float
    span: Span


@dataclass(frozen=True, slots=True)
class Size:
    """`4MiB`, as bytes."""

    bytes: int
    span: Span


@dataclass(frozen=True, slots=True)
class String:
    """`"text"`; `value` has its escapes resolved."""

    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Reference:
    """A name used as a value: `layers`, `true`, `std.conv`."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class List:
    items: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Call:
    """`name(arguments)`: a step of a pipeline, or a value such as `random(seed = 7)` or `count(Conv)`."""

    callee: Reference
    arguments: tuple[Argument, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Argument:
    """`name = value`, or a value alone (`name` is None)."""

    name: Name | None
    value: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x` or `+x`."""

    operator: str
    operand: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Binary:
    """`left operator right` with one of `+ - * /`."""

    operator: str
    left: Expression
    right: Expression
    span: Span


Expression: TypeAlias = Number | Size | String | Reference | List | Call | Unary | Binary


@dataclass(frozen=True, slots=True)
class AnyDims:
    """`...` in a shape: any number of dimensions."""

    span: Span


@dataclass(frozen=True, slots=True)
class Tensor:
    """`f32[batch, 3, 224, 224]`; without `dtype` only the shape is said."""

    dtype: Name | None
    dims: tuple[Expression | AnyDims, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Entry:
    """`name = value` in a block."""

    name: Name
    value: Expression
    span: Span


# ---- declarations


@dataclass(frozen=True, slots=True)
class Use:
    """`use std.norm` or `use "./mine.trtspec"`."""

    target: Reference | String
    span: Span


@dataclass(frozen=True, slots=True)
class Param:
    name: Name
    default: Expression
    doc: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Dim:
    name: Name
    low: Expression
    high: Expression
    doc: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Model:
    path: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Input:
    """`input "x" : tensor` or `input "x" = value`: exactly one of `tensor` and `value` is there."""

    name: String
    tensor: Tensor | None
    value: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class Output:
    name: String
    tensor: Tensor
    span: Span


@dataclass(frozen=True, slots=True)
class Bound:
    """`min 1`, `opt 8` or `max 64`."""

    kind: str
    value: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class ProfileEntry:
    """`batch = 1` (`value`) or `batch = min 1 opt 8 max 64` (`bounds`)."""

    name: Name
    value: Expression | None
    bounds: tuple[Bound, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Profile:
    name: String
    entries: tuple[ProfileEntry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Target:
    name: Name
    entries: tuple[Entry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Builder:
    entries: tuple[Entry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ToleranceBlock:
    """`output "y" { rtol = 1e-4 }` inside `verify`."""

    name: String
    entries: tuple[Entry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Verify:
    entries: tuple[Entry, ...]
    tolerances: tuple[ToleranceBlock, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Nested:
    """A block inside `emit`, whose content is not looked at: none is built yet."""

    name: Name
    span: Span


@dataclass(frozen=True, slots=True)
class Emit:
    entries: tuple[Entry, ...]
    nested: tuple[Nested, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Fixpoint:
    arguments: tuple[Argument, ...]
    steps: tuple[Step, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Apply:
    """`apply(rules)`: names of rules and of libraries."""

    arguments: tuple[Argument, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Condition:
    """`left operator right` with one of `== != < <= > >=`."""

    left: Expression
    operator: str
    right: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class Expect:
    conditions: tuple[Condition, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Checkpoint:
    arguments: tuple[Argument, ...]
    span: Span


Step: TypeAlias = Call | Fixpoint | Apply | Expect | Checkpoint


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`pipeline { … }`, or with a name and parameters a pipeline that others call."""

    name: Name | None
    parameters: tuple[Argument, ...]
    steps: tuple[Step, ...]
    doc: str | None
    span: Span


@dataclass(frozen=True, slots=True)
class Precision:
    """`precision { … }`: parsed, and refused by name until it is built."""

    span: Span


_Rule: TypeAlias = "rules.Pattern | rules.Rewrite | rules.Horizontal | rules.Plugin | rules.Extern"
Declaration: TypeAlias = (
    "Use | Param | Dim | Model | Input | Output | Profile | Target | Builder | Pipeline | Verify | Emit | _Other"
)
_Other: TypeAlias = "Precision | _Rule"


@dataclass(frozen=True, slots=True)
class File:
    """A whole file. `version` is the number of the header; `environment` that of all its rules."""

    version: int
    declarations: tuple[Declaration, ...]
    span: Span
    environment: rules.Environment
