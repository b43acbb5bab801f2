"""What a spec may name: passes, targets, builder settings, operators, libraries. Plain data, given to the checker.

The language knows no other room of trtc; whoever calls it gathers these from where they live.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from trtc.lang.report import Report
    from trtc.lang.spec import Step

ValueType: TypeAlias = Literal[
    "bool", "int", "float", "string", "bytes", "ident", "ints", "floats", "strings", "idents"
]
"""`bytes` is a size such as `4MiB` (or a whole number of bytes); `ident` a bare word such as `fast`, one of the
choices where there are any (quotes are allowed, too); the plural types are lists."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a pass or of a target. `default` None: there is none, the option may be left out."""

    name: str
    type: ValueType
    default: Any = None
    doc: str = ""
    choices: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True)
class PassSignature:
    name: str
    options: tuple[Option, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class BuilderField:
    """One setting of the builder: for `bytes`, `int` and `float` with its range, both ends included."""

    name: str
    type: ValueType
    choices: tuple[str, ...] = ()
    doc: str = ""
    min: float | None = None
    max: float | None = None


@dataclass(frozen=True, slots=True)
class TargetSignature:
    name: str
    options: tuple[Option, ...] = ()
    doc: str = ""


class AttributeSchema(Protocol):
    """type: int, ints, float, floats, string, strings, tensor, graph."""

    @property
    def type(self) -> str: ...
    @property
    def required(self) -> bool: ...


class OperatorSchema(Protocol):
    """least: how many inputs there must be. outputs: how many there may be; None: any number."""

    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def optional(self) -> frozenset[str]: ...
    @property
    def variadic(self) -> bool: ...
    @property
    def least(self) -> int: ...
    @property
    def outputs(self) -> int | None: ...
    @property
    def attributes(self) -> Mapping[str, AttributeSchema]: ...


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Everything nameable.

    operators: ONNX operators of the default domain, for `count(Conv)`; empty: not checked.
    schemas: what rules may say of them.
    functions: those of guards and right-hand sides: how many values each takes, at least and at most (None: any).
    check_rules: looks at the rules that the steps of a pipeline apply, for what is wrong between them.
    libraries: name as written behind `use` (`std.standard`) -> path to print, text. Pipelines of libraries whose name
        begins with `std.` need no `use`.
    rungs: of verification, in their order.
    not_built: names that the language knows and this version refuses by name: `builder.calibrator`, `emit.report`,
        `target.tensorrt_rtx.compute`, `verify.tensors`, `use.std.conv`, `rung.engine`, `target.tensorrt_llm`.
    """

    passes: Mapping[str, PassSignature] = field(default_factory=dict[str, PassSignature])
    targets: Mapping[str, TargetSignature] = field(default_factory=dict[str, TargetSignature])
    builder: Mapping[str, BuilderField] = field(default_factory=dict[str, BuilderField])
    operators: frozenset[str] = frozenset()
    schemas: Mapping[str, OperatorSchema] = field(default_factory=dict[str, OperatorSchema])
    functions: Mapping[str, tuple[int, int | None]] = field(default_factory=dict[str, "tuple[int, int | None]"])
    check_rules: Callable[[Sequence[Step], Report], None] | None = None
    libraries: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    rungs: tuple[str, ...] = ("graph", "network", "engine")
    not_built: frozenset[str] = frozenset()
