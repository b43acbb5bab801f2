"""Rules as the language says them: expressions of patterns and replacements, and the declarations made of them.

These are both the syntax tree and, once the checker has passed them and given each its `Environment`, what
`trtc.rewrite` compiles. Every node knows its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from trtc.diagnostics import Span
from trtc.lang.syntax import AnyDims, Argument, Expression, Name

# ---- expressions


@dataclass(frozen=True, slots=True)
class Literal_:
    """`2`, `-2.0`, `inf`, `"none"`, `true`: matches exactly after the cast to the tensor's dtype."""

    value: bool | int | float | str
    span: Span


@dataclass(frozen=True, slots=True)
class Approximate:
    """`~1.41421356` (`tolerance` None: the larger of 1e-6 and 2 ulp of the dtype, relative) or `~1.414(1e-3)`."""

    value: float
    tolerance: float | None
    span: Span


@dataclass(frozen=True, slots=True)
class Value:
    """A name: a value of the graph; in a guard and on a right-hand side also a dim or a `param`. `optional`: `b?`.

    `type` is there where the name is typed in place: `w: const float[K, C]`. The name `_` is a new one each time.
    """

    name: str
    optional: bool
    type: Type | None
    span: Span


@dataclass(frozen=True, slots=True)
class Capture:
    """`$p`: an attribute or the number in a uniform constant. `name` is without the dollar."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Items:
    """`[0, 1, 3, 2]`."""

    items: tuple[Expr, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Given:
    """`axis = -1` in a call."""

    name: Name
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Apply:
    """`Conv(x, w, b?, group = 1, ..)`: an operator, a pattern, a plugin, `either`, `view`, a function or a constraint.

    callee: as written, dots included (`com.microsoft.Gelu`). optional: `Cast?(x)`. rest: `..`, attributes that are
    not mentioned may be anything. spread: `..c` on a right-hand side, what is not mentioned is as at the node that
    made the value `c`.
    """

    callee: str
    optional: bool
    inputs: tuple[Expr, ...]
    given: tuple[Given, ...]
    rest: bool
    spread: str | None
    span: Span
    name_span: Span


@dataclass(frozen=True, slots=True)
class Infix:
    """`+ - * / @`, `== != < <= > >=`, `&& ||`."""

    operator: str
    left: Expr
    right: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Prefix:
    """`-x`, `+x`, `!x`."""

    operator: str
    operand: Expr
    span: Span


@dataclass(frozen=True, slots=True)
class Typed:
    """`(view(p) : float[N, C])`."""

    operand: Expr
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Tuple_:
    """`(a, b)` on a right-hand side with several outputs."""

    items: tuple[Expr, ...]
    span: Span


Expr: TypeAlias = Literal_ | Approximate | Value | Capture | Items | Apply | Infix | Prefix | Typed | Tuple_


@dataclass(frozen=True, slots=True)
class Type:
    """`const float[K, ..., 1]`. dtype: a word of `DTYPES`, or `float` or `int` for the class; None: any.

    dims: None where no shape is said; `[]` is a scalar. A dim is a number, a name that unifies, `_`, arithmetic over
    names, or `...` (any number of dims, at most one in a type).
    """

    const: bool
    dtype: str | None
    dims: tuple[Expression | AnyDims, ...] | None
    span: Span


@dataclass(frozen=True, slots=True)
class Parameter:
    """`x: float[..., H]`, `mask?: float[_, _, _, T]`."""

    name: Name
    optional: bool
    type: Type
    span: Span


@dataclass(frozen=True, slots=True)
class Target_:
    """What an equation defines: a value, or `$alpha`, the latter with what it is where an optional call is absent."""

    name: str
    capture: bool
    default: Expr | None
    span: Span


@dataclass(frozen=True, slots=True)
class Equation:
    """`(y, $eps) = layer_norm(x, gamma, beta)`. shared: the value may have users outside the match."""

    targets: tuple[Target_, ...]
    value: Expr
    shared: bool
    span: Span


# ---- declarations


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """What the names in the rules of one file mean. Filled by the checker; compared by identity only.

    Patterns and plugins, among them operators of a spec's own, by the name that the file calls them (`layer_norm`,
    `std.norm.layer_norm`).
    """

    patterns: dict[str, Pattern] = field(default_factory=dict["str", "Pattern"])
    plugins: dict[str, Plugin] = field(default_factory=dict["str", "Plugin"])
    externs: dict[str, Extern] = field(default_factory=dict["str", "Extern"])
    params: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A named piece of graph."""

    name: Name
    parameters: tuple[Parameter, ...]
    targets: tuple[Target_, ...]
    equations: tuple[Equation, ...]
    guards: tuple[Expr, ...]
    doc: str | None
    span: Span
    environment: Environment = field(default_factory=Environment, repr=False)


@dataclass(frozen=True, slots=True)
class TestTensor:
    """`w: f32[32, 16], f32[32, 8]` in a test: one type, or one for each member of a horizontal."""

    name: str
    types: tuple[Type, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Test:
    """`test { x: f32[2, 8, 64] }`: shapes that the rule must hold for; dims of equal size vary together."""

    tensors: tuple[TestTensor, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Rewrite:
    """match, guard, replacement, test.

    library: `std.norm`, or "" for a rule of the spec's own files. benefit None: the number of required operations.
    assumes: the words after `assumes` (`finite`). Equations of `lets` may be used by `replacement`.
    """

    name: Name
    library: str
    equations: tuple[Equation, ...]
    guards: tuple[Expr, ...]
    targets: tuple[Target_, ...]
    lets: tuple[Equation, ...]
    replacement: Expr
    tests: tuple[Test, ...]
    benefit: int | None
    recursive: bool
    assumes: frozenset[str]
    doc: str | None
    span: Span
    environment: Environment = field(default_factory=Environment, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Horizontal:
    """Siblings over one input merged into one wider operation.

    over: the shared input. equations and member: the pattern of a sibling; `member` is the last equation, whose only
    target is the result. same: captures that must be equal in all members. In `merge`, `concat(w, axis = 0)` is the w
    of every member in order. axis and sizes: where each member's result lies in the merged one.
    """

    name: Name
    library: str
    over: Parameter
    member: Equation
    equations: tuple[Equation, ...]
    same: tuple[Capture, ...]
    guards: tuple[Expr, ...]
    merge: Expr
    axis: Expr
    sizes: Expr
    tests: tuple[Test, ...]
    doc: str | None
    span: Span
    environment: Environment = field(default_factory=Environment, repr=False)


@dataclass(frozen=True, slots=True)
class Field:
    """`type_id: i32 = 1`: a field of a plugin. type: `i32`, `f32`, `string`, `weights`, `dims`, or a list `i32[]`."""

    name: Name
    type: str
    list: bool
    value: Expr
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Plugin:
    """A TensorRT plugin as an operator with a signature, fields and a meaning.

    settings: creator, version, namespace, library (texts), as written. meaning: the equations of its body; empty
    where `extern` names a Python function or an IPluginV3 class ("module:name") that stands for it.
    """

    name: Name
    parameters: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    settings: Mapping[str, Any]
    fields: tuple[Field, ...]
    meaning: tuple[Equation, ...]
    extern: str | None
    doc: str | None
    span: Span
    environment: Environment = field(default_factory=Environment, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Operator(Plugin):
    """An operator of a spec's own: as a plugin, but what the target has nothing for is its meaning.

    library: `std.activation`, or "" for an operator of the spec's own files.
    """

    library: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Extern:
    """`extern constraint fits(x) from "mine:fits"`. Loaded only with `--allow-code`.

    sampler: the function ("module:name") that makes values for which the constraint holds, where one is named.
    """

    kind: Literal["constraint", "pass"]
    name: Name
    parameters: tuple[Parameter, ...]
    place: str
    sampler: str | None
    doc: str | None
    span: Span


Rule: TypeAlias = Rewrite | Horizontal

__all__ = [
    "AnyDims",
    "Apply",
    "Approximate",
    "Argument",
    "Capture",
    "Environment",
    "Equation",
    "Expr",
    "Extern",
    "Field",
    "Given",
    "Horizontal",
    "Infix",
    "Items",
    "Literal_",
    "Operator",
    "Parameter",
    "Pattern",
    "Plugin",
    "Prefix",
    "Rewrite",
    "Rule",
    "Target_",
    "Test",
    "TestTensor",
    "Tuple_",
    "Type",
    "Typed",
    "Value",
]
