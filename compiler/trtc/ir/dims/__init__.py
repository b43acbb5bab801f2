"""Symbolic dims: interned polynomials with integer coefficients over symbols and opaque atoms.

A `Dim` is an `int` or an `Expr`. Every distinct expression exists once, so `is` (and `==`) decides equality of what
was simplified to the same normal form. Atoms are symbols (`batch`), unknowns (`?scores_0`), and what a polynomial
cannot say: `floor(a/b)`, `mod(a, b)`, `min(a, b)`, `max(a, b)`.

Assumptions, used to simplify: a symbol is at least 1 (it is a dim of an input that is not empty), an unknown is at
least 0, a signed unknown (an element of an integer tensor) may be anything, a divisor is not zero. Divisions round
down, as in Python.

Nothing here imports onnx or numpy. An operation costs about a microsecond when it was done before, ten otherwise.
"""

from trtc.ir.dims.bounds import bounds
from trtc.ir.dims.division import ceildiv, exact_quotient, floordiv, mod
from trtc.ir.dims.expr import (
    MAX_TERMS,
    MAX_TEXT,
    Atom,
    Bounds,
    Dim,
    Expr,
    Monomial,
    add,
    mul,
    product,
    symbol,
    text,
    unknown,
)
from trtc.ir.dims.order import maximum, minimum
from trtc.ir.dims.reading import atoms, evaluate, is_signed, substitute, symbols, unknowns

__all__ = [
    "MAX_TERMS",
    "MAX_TEXT",
    "Atom",
    "Bounds",
    "Dim",
    "Expr",
    "Monomial",
    "add",
    "atoms",
    "bounds",
    "ceildiv",
    "evaluate",
    "exact_quotient",
    "floordiv",
    "is_signed",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "product",
    "substitute",
    "symbol",
    "symbols",
    "text",
    "unknown",
    "unknowns",
]
