"""Facts of values that no node makes: graph inputs and constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Final

import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.fact import UNKNOWN, Fact
from trtc.ir.infer.generate import from_tensor
from trtc.ir.infer.op import Host

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ARITHMETIC: Final = re.compile(r"[A-Za-z0-9_+\-*/() ]{1,200}")


class Names:
    """Names of symbols, one to every name of a dim in the model."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._given: dict[str, str] = {}

    def keep(self, name: str) -> None:
        """Reserves a name that is an identifier already: another that would become the same yields to it."""
        self._given[name] = name
        self._taken.add(name)

    def of(self, name: str) -> str:
        """The identifier for a dim name: the same for the same name, never the same for two."""
        found = self._given.get(name)
        if found is None:
            found = self.fresh(name)
            self._given[name] = found
        return found

    def fresh(self, name: str) -> str:
        base = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not base or not _IDENTIFIER.fullmatch(base):
            base = f"_{base}"
        made, count = base, 1
        while made in self._taken:
            count += 1
            made = f"{base}_{count}"
        self._taken.add(made)
        return made


def input_facts(host: Host) -> dict[oir.Value, Fact]:
    """The facts of every input of the main graph; names of dims become identifiers, nameless dims get one."""
    inputs = list(host.model.graph.inputs)
    names = Names()
    for name in _dim_names(inputs):
        if _IDENTIFIER.fullmatch(name):
            names.keep(name)
    return {value: _input_fact(value, names) for value in inputs}


def input_fact(host: Host, value: oir.Value) -> Fact:
    """The fact of one input of the main graph."""
    return input_facts(host).get(value, UNKNOWN)


def _dim_names(inputs: Iterable[oir.Value]) -> Iterable[str]:
    for value in inputs:
        for d in value.shape or ():
            if isinstance(d, oir.SymbolicDim) and d.value is not None:
                yield str(d.value)


def _input_fact(value: oir.Value, names: Names) -> Fact:
    kind, inner = "tensor", value.type
    while isinstance(inner, (oir.SequenceType, oir.OptionalType)):
        if kind != "tensor":
            return Fact(kind="optional")
        kind = "sequence" if isinstance(inner, oir.SequenceType) else "optional"
        inner = inner.elem_type
    dtype = None if inner is None else inner.dtype
    if dtype == oir.DataType.UNDEFINED:
        dtype = None
    if value.shape is None:
        return Fact(dtype, kind=kind)
    return Fact(dtype, tuple(_dim(value, i, d, names) for i, d in enumerate(value.shape)), kind=kind)


def _dim(value: oir.Value, axis: int, d: int | oir.SymbolicDim, names: Names) -> Dim:
    if isinstance(d, int) and d >= 0:
        return d
    name = "" if isinstance(d, int) else str(d.value or "").strip()
    if name in ("", "?", "-1", "None", "unk__") or name.lstrip("-").isdigit():
        return dims.symbol(names.fresh(f"{value.name}_{axis}"))
    if not _IDENTIFIER.fullmatch(name) and _ARITHMETIC.fullmatch(name):
        parsed = _parse(name, names)
        if parsed is not None:
            return parsed
    return dims.symbol(names.of(name))


def _parse(text: str, names: Names) -> Dim | None:
    """A dim written as arithmetic (`2*seq`, `seq + 1`), None when it is not."""
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    made = _arithmetic(tree, names)
    return made if isinstance(made, dims.Expr) else None


def _arithmetic(tree: ast.expr, names: Names) -> Dim | None:
    if isinstance(tree, ast.Constant):
        return tree.value if type(tree.value) is int and abs(tree.value) < 1 << 31 else None
    if isinstance(tree, ast.Name):
        return dims.symbol(names.of(tree.id))
    if not isinstance(tree, ast.BinOp):
        return None
    left, right = _arithmetic(tree.left, names), _arithmetic(tree.right, names)
    if left is None or right is None:
        return None
    if isinstance(tree.op, ast.Add):
        return left + right
    if isinstance(tree.op, ast.Sub):
        return left - right
    if isinstance(tree.op, ast.Mult):
        return left * right
    if isinstance(tree.op, ast.FloorDiv) and right != 0:
        return dims.floordiv(left, right)
    return None


def constant_fact(value: oir.Value) -> Fact:
    """The fact of an initializer."""
    tensor = value.const_value
    if tensor is None:
        return Fact(value.dtype)
    return from_tensor(tensor)
