"""A symbolic dim as shape arithmetic in the network."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from trtc.ir import dims

if TYPE_CHECKING:
    from trtc.emit.shaping import Shaping

_OPS = {"floordiv": "FLOOR_DIV", "min": "MIN", "max": "MAX"}


def compute(s: Shaping, dim: dims.Expr) -> Any:
    """`dim` as a tensor of shape [1]. Raises `Unknown` when an atom has no tensor to come from.

    FLOOR_DIV rounds down like the dims do, for both signs.
    """
    positive: list[Any] = []
    negative: list[Any] = []
    for monomial, coefficient in dim.terms.items():
        factors = [_atom(s, atom) for atom in monomial]
        if abs(coefficient) != 1 or not factors:
            factors.append(s.shape_constant([abs(coefficient)]))
        product = reduce(lambda a, b: s.arithmetic("PROD", a, b), factors)
        (positive if coefficient > 0 else negative).append(product)
    total = reduce(lambda a, b: s.arithmetic("SUM", a, b), positive or [s.shape_constant([0])])
    return reduce(lambda a, b: s.arithmetic("SUB", a, b), negative, total)


def _atom(s: Shaping, atom: dims.Atom) -> Any:
    from trtc.emit.shaping import Unknown

    if atom.kind == "symbol":
        return s.home(dims.symbol(atom.name))
    if atom.kind in ("unknown", "signed"):
        return s.home(dims.unknown(atom.name, signed=atom.kind == "signed"))
    args = [s.dim(arg) for arg in atom.args]
    if atom.kind == "mod":
        a, b = args
        quotient = s.arithmetic("FLOOR_DIV", a, b)
        return s.arithmetic("SUB", a, s.arithmetic("PROD", quotient, b))
    if atom.kind in _OPS:
        return reduce(lambda a, b: s.arithmetic(_OPS[atom.kind], a, b), args)
    raise Unknown(dims.text(dims.symbol(atom.key)))
