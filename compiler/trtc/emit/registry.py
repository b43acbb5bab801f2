"""Which operators can be emitted, by what function, for which types. Imports no TensorRT."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx_ir as oir

from trtc.emit.facts import BOOLS, FLOATS, INTS, Facts

if TYPE_CHECKING:
    from trtc.emit.scope import Scope

Emit = Callable[["Scope", oir.Node], Any]
Check = Callable[[Facts, oir.Node], Any]

_KINDS = {
    "F": FLOATS,
    "I": INTS,
    "B": BOOLS,
    "Q": frozenset({oir.DataType.INT8}),
    "U": frozenset({oir.DataType.UINT8}),
}

#: One module per operator family; importing them fills the table.
FAMILIES = (
    "activation",
    "attention",
    "control",
    "convolution",
    "elementwise",
    "gather",
    "generate",
    "layout",
    "matrix",
    "normalization",
    "pad",
    "pooling",
    "quantization",
    "recurrent",
    "reduction",
    "resize",
    "slicing",
    "sorting",
    "unary",
)


@dataclass(frozen=True, slots=True)
class Operator:
    """How one operator is emitted.

    `types` are the types of the inputs `typed`. `check` raises `Refusal` where a node of the operator cannot be
    emitted; it runs for every node before the first layer is added. `note` is what `trtc ops` prints.
    """

    op: str
    domain: str
    types: frozenset[oir.DataType]
    typed: tuple[int, ...] | None
    emit: Emit
    check: Check | None
    note: str


_TABLE: dict[tuple[str, str], Operator] = {}


def operator(
    *ops: str,
    types: str = "F",
    typed: tuple[int, ...] | None = (0,),
    check: Check | None = None,
    note: str = "",
    domain: str = "",
) -> Callable[[Emit], Emit]:
    """Register a function that emits the operators `ops`.

    `types` is made of F (float32, float16, bfloat16, and double as float32), I (int32, int64), B (bool), Q (int8),
    U (uint8). `typed` are the inputs that must have them; None means all.
    """
    allowed = frozenset(t for kind in types for t in _KINDS[kind])

    def register(emit: Emit) -> Emit:
        for op in ops:
            _TABLE[domain, op] = Operator(op, domain, allowed, typed, emit, check, note)
        return emit

    return register


def table() -> dict[tuple[str, str], Operator]:
    """Every operator by domain and name."""
    for family in FAMILIES:
        importlib.import_module(f"trtc.emit.{family}")
    return _TABLE


def operators() -> list[tuple[str, str, str]]:
    """Domain, operator and note of everything that can be emitted, sorted; for `trtc ops`."""
    return sorted((o.domain, o.op, o.note) for o in table().values())
