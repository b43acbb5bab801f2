"""What a dim is made of, and its number for given symbols."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from trtc.ir.dims.division import floordiv, mod
from trtc.ir.dims.expr import Atom, Dim, Expr, add, mul, single
from trtc.ir.dims.order import maximum, minimum


def evaluate(dim: Dim, env: Mapping[str, int]) -> int:
    """The number for given symbols. KeyError for a symbol (or `?unknown`) that `env` does not have."""
    if isinstance(dim, int):
        return dim
    total = 0
    for m, c in dim.terms.items():
        for atom in m:
            c *= _evaluate_atom(atom, env)
        total += c
    return total


def _evaluate_atom(atom: Atom, env: Mapping[str, int]) -> int:
    if not atom.args:
        return env[atom.key]
    args = [evaluate(arg, env) for arg in atom.args]
    if atom.kind == "floordiv":
        return args[0] // args[1]
    if atom.kind == "mod":
        return args[0] % args[1]
    return min(args) if atom.kind == "min" else max(args)


def substitute(dim: Dim, env: Mapping[str, Dim]) -> Dim:
    """The dim with symbols (and `?unknown`s) replaced, simplified anew; others stay."""
    if isinstance(dim, int):
        return dim
    total: Dim = 0
    for m, c in dim.terms.items():
        part: Dim = c
        for atom in m:
            part = mul(part, _substitute_atom(atom, env))
        total = add(total, part)
    return total


def _substitute_atom(atom: Atom, env: Mapping[str, Dim]) -> Dim:
    if not atom.args:
        return env.get(atom.key, single(atom))
    args = [substitute(arg, env) for arg in atom.args]
    if all(new is old for new, old in zip(args, atom.args, strict=True)):
        return single(atom)
    if atom.kind == "floordiv":
        return floordiv(args[0], args[1])
    if atom.kind == "mod":
        return mod(args[0], args[1])
    return reduce(minimum if atom.kind == "min" else maximum, args)


def atoms(dim: Dim) -> frozenset[Atom]:
    """The symbols and unknowns in a dim, those inside of other atoms too."""
    if isinstance(dim, int):
        return frozenset()
    found: set[Atom] = set()
    for m in dim.terms:
        for atom in m:
            if atom.args:
                found.update(*(atoms(arg) for arg in atom.args))
            else:
                found.add(atom)
    return frozenset(found)


def symbols(dim: Dim) -> frozenset[str]:
    """The names of the symbols in a dim; unknowns are not symbols."""
    return frozenset(atom.name for atom in atoms(dim) if atom.kind == "symbol")


def unknowns(dim: Dim) -> frozenset[str]:
    """The unknowns in a dim, as `?name`."""
    return frozenset(atom.key for atom in atoms(dim) if atom.kind != "symbol")


def is_signed(dim: Dim) -> bool:
    """Whether a dim is made of elements of integer tensors of which not even the sign is known."""
    return isinstance(dim, Expr) and any(atom.kind == "signed" for atom in atoms(dim))
