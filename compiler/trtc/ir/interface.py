"""What a spec says of inputs, outputs and dims, applied to a model: asserted, refined, frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError, Span, suggest
from trtc.ir import dims, edit
from trtc.ir.dims import Dim, Expr
from trtc.ir.infer.fact import Fact
from trtc.ir.module import Module


@dataclass(frozen=True, slots=True)
class Declared:
    """One `input` or `output` of a spec.

    `shape` has an int, the name of a dim, or None (any) for each dim; a shape of None says nothing. `rest` is the
    position of an ellipsis, None without one. `value` freezes an input.
    """

    name: str
    dtype: str | None = None
    shape: tuple[int | str | None, ...] | None = None
    rest: int | None = None
    value: Any = None
    span: Span | None = None

    @classmethod
    def of(cls, name: str, dtype: str | None, shape: Sequence[Any] | None, value: Any, span: Span | None) -> Declared:
        """From dims that may hold one `...`."""
        if shape is None:
            return cls(name, dtype, None, None, value, span)
        rest = next((k for k, d in enumerate(shape) if d is ...), None)
        return cls(name, dtype, tuple(d for d in shape if d is not ...), rest, value, span)


#: Names of dtypes in the language, by ONNX data type.
DTYPES: Mapping[str, oir.DataType] = {
    "f16": oir.DataType.FLOAT16,
    "bf16": oir.DataType.BFLOAT16,
    "f32": oir.DataType.FLOAT,
    "f64": oir.DataType.DOUBLE,
    "f8e4m3": oir.DataType.FLOAT8E4M3FN,
    "f8e5m2": oir.DataType.FLOAT8E5M2,
    "i4": oir.DataType.INT4,
    "i8": oir.DataType.INT8,
    "i16": oir.DataType.INT16,
    "i32": oir.DataType.INT32,
    "i64": oir.DataType.INT64,
    "u4": oir.DataType.UINT4,
    "u8": oir.DataType.UINT8,
    "u16": oir.DataType.UINT16,
    "u32": oir.DataType.UINT32,
    "u64": oir.DataType.UINT64,
    "bool": oir.DataType.BOOL,
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def dtype_name(dtype: oir.DataType | None) -> str:
    """The language's name of a dtype (`f32`), ONNX's own in lower case where it has none."""
    return "?" if dtype is None else _NAMES.get(dtype, dtype.name.lower())


def type_text(module: Module, value: oir.Value) -> str:
    """A type as the language writes it: `f32[batch, 3, 224, 224]`."""
    fact = module.fact(value)
    if fact.shape is None:
        return f"{dtype_name(fact.dtype)}[...]"
    return f"{dtype_name(fact.dtype)}[{', '.join(dims.text(d) for d in fact.shape)}]"


def apply_inputs(module: Module, declared: Sequence[Declared]) -> None:
    """Assert, refine and freeze inputs. Run before anything else is inferred.

    A name or a number in a declared shape replaces the dim of the model where that is symbolic, in every input that
    has the same symbol; a number against a different number is an error.

    Raises:
        DiagnosticError: T0570 no such input, T0574 a dtype or dim that contradicts the model, T0575 a frozen value
            that does not fit.
    """
    problems: list[Diagnostic] = []
    inputs = {value.name or "": value for value in module.graph.inputs}
    renamed: dict[str, Dim] = {}
    for one in declared:
        value = inputs.get(one.name)
        if value is None:
            problems.append(_unknown("input", one, inputs))
        elif one.value is not None:
            problem = _freeze(module, value, one)
            problems += [problem] if problem is not None else []
        else:
            problems += _check(module, value, one, renamed, "input")
    if problems:
        raise DiagnosticError.of(problems)
    if renamed:
        _rename(module, renamed)


def fix_dims(module: Module) -> dict[str, int]:
    """Put the number for every dim whose declared range holds one number; these dims, which are then no symbols.

    What depends on such a dim is known before the engine is built: shapes, and the branch that an If takes.
    """
    fixed = {name: low for name, (low, high) in module.symbols.items() if low == high}
    if fixed:
        for name in fixed:
            del module.symbols[name]
        _rename(module, fixed)
    return fixed


def check_outputs(module: Module, declared: Sequence[Declared]) -> None:
    """Compare declared outputs with what is inferred. Raises DiagnosticError T0570, T0574."""
    problems: list[Diagnostic] = []
    outputs = {value.name or "": value for value in module.graph.outputs}
    for one in declared:
        value = outputs.get(one.name)
        if value is None:
            problems.append(_unknown("output", one, outputs))
        else:
            problems += _check(module, value, one, {}, "output")
    if problems:
        raise DiagnosticError.of(problems)


def _unknown(what: str, one: Declared, known: Mapping[str, object]) -> Diagnostic:
    close = suggest(one.name, known)
    return Diagnostic(
        "T0570",
        f"the model has no {what} `{one.name}`",
        span=one.span,
        notes=(f"its {what}s: {', '.join(known)}",),
        help=f"did you mean `{close}`?" if close else None,
    )


def _check(module: Module, value: oir.Value, one: Declared, renamed: dict[str, Dim], what: str) -> list[Diagnostic]:
    fact = module.fact(value)
    found: list[str] = []
    if one.dtype is not None and fact.dtype is not None and DTYPES[one.dtype] != fact.dtype:
        found.append(f"its dtype is {dtype_name(fact.dtype)}")
    if one.shape is not None and fact.shape is not None and not found:
        wanted = _spread(one, len(fact.shape))
        if wanted is None:
            found.append(f"it has rank {len(fact.shape)}")
        else:
            for at, (have, want) in enumerate(zip(fact.shape, wanted, strict=True)):
                trouble = _unify(have, want, renamed, refine=what == "input")
                if trouble is not None:
                    found.append(f"dim {at}: {trouble}")
    elif one.shape is not None and fact.shape is None and what == "input":
        wanted = _spread(one, len(one.shape))
        if wanted is not None and None not in wanted:
            made = tuple(d if isinstance(d, int) else dims.symbol(str(d)) for d in wanted)
            module.facts[value] = replace(fact, shape=made)
    if not found:
        return []
    return [
        Diagnostic(
            "T0574",
            f"the {what} `{one.name}` of the model is not what the spec says",
            span=one.span,
            notes=(f"the model says {type_text(module, value)}", *found),
        )
    ]


def _spread(one: Declared, rank: int) -> tuple[int | str | None, ...] | None:
    """The declared dims for a rank, the ellipsis filled with "any"; None when the ranks differ."""
    assert one.shape is not None
    if one.rest is None:
        return one.shape if len(one.shape) == rank else None
    missing = rank - len(one.shape)
    if missing < 0:
        return None
    return (*one.shape[: one.rest], *([None] * missing), *one.shape[one.rest :])


def _unify(have: Dim, want: int | str | None, renamed: dict[str, Dim], *, refine: bool) -> str | None:
    if want is None:
        return None
    if isinstance(have, int):
        if isinstance(want, int):
            return None if have == want else f"{have}, not {want}"
        return f"the model has the number {have}, the spec the symbolic `{want}`" if refine else None
    new: Dim = want if isinstance(want, int) else dims.symbol(want)
    if have == new:
        return None
    if not refine:
        # An output's dim follows from the inputs: a name for it is documentation, a number is a claim.
        return f"`{dims.text(have)}`, not {want}" if isinstance(want, int) else None
    name = dims.text(have)
    if name in renamed and renamed[name] != new:
        other = renamed[name]
        return f"the model has the same dim here as where the spec says `{dims.text(other)}`"
    renamed[name] = new
    return None


def _rename(module: Module, renamed: Mapping[str, Dim]) -> None:
    """Put other dims for the symbols of the inputs; everything else is inferred again from there."""
    kept: dict[oir.Value, Fact] = {}
    for value in module.graph.inputs:
        fact = module.fact(value)
        if fact.shape is not None:
            fact = replace(fact, shape=tuple(_substitute(d, renamed) for d in fact.shape))
        kept[value] = fact
    module.facts.clear()
    module.facts.update(kept)


def _substitute(dim: Dim, renamed: Mapping[str, Dim]) -> Dim:
    return dims.substitute(dim, dict(renamed)) if isinstance(dim, Expr) else dim


def _freeze(module: Module, value: oir.Value, one: Declared) -> Diagnostic | None:
    fact = module.fact(value)
    name = value.name or ""
    if fact.dtype is None:
        return Diagnostic("T0575", f"the input `{name}` has no type to freeze it with", span=one.span)
    try:
        given = np.asarray(one.value)
        array = given.astype(fact.dtype.numpy())
    except (ValueError, TypeError) as error:
        return Diagnostic("T0575", f"the value of `{name}` is not a rectangular array: {error}", span=one.span)
    exact = np.issubdtype(array.dtype, np.floating) or np.array_equal(array.astype(given.dtype), given)
    if not exact:
        return Diagnostic(
            "T0575", f"the value of `{name}` does not fit its dtype {dtype_name(fact.dtype)}", span=one.span
        )
    if fact.shape is not None:
        fits = len(fact.shape) == array.ndim and all(
            not isinstance(d, int) or d == n for d, n in zip(fact.shape, array.shape, strict=True)
        )
        if not fits:
            return Diagnostic(
                "T0575",
                f"the value of `{name}` has shape {list(array.shape)}, the model wants {type_text(module, value)}",
                span=one.span,
            )
    graph = module.graph
    constant = edit.constant(module, array, f"{name}_frozen")
    if value.is_graph_output():
        edit.replace_value(module, value, constant)
    value.replace_all_uses_with(constant)
    graph.inputs.remove(value)
    return None
