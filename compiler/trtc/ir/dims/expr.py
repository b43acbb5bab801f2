"""Interned polynomials: what a dim is, sums, products and text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final, NoReturn, TypeAlias

MAX_TERMS: Final = 64
"""An expression of more monomials becomes an unknown of its own: dims stay cheap whatever a model does."""


MAX_TEXT: Final = 2000
"""An atom whose text is longer becomes an unknown too: nested atoms would otherwise grow without bound."""


_CACHE_LIMIT: Final = 200_000


class Atom:
    """What a monomial is a product of. `key` is its text; atoms are ordered by it, so order is never by creation."""

    __slots__ = ("args", "key", "kind", "name")

    def __init__(self, kind: str, key: str, name: str = "", args: tuple[Dim, ...] = ()) -> None:
        self.kind = kind
        """"symbol", "unknown", "signed", "floordiv", "mod", "min" or "max"."""
        self.key = key
        self.name = name
        self.args = args

    def __repr__(self) -> str:
        return self.key


Monomial: TypeAlias = tuple[Atom, ...]
"""Atoms with repetition, sorted by key; the empty one is 1."""


class Expr:
    """An interned polynomial that is not a constant. Make it with the functions and operators here only."""

    __slots__ = ("known_bounds", "known_text", "terms")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms: Final = terms
        self.known_text: str | None = None
        self.known_bounds: tuple[int | None, int | None] | None = None

    def __add__(self, other: Dim) -> Dim:
        return add(self, other)

    def __radd__(self, other: int) -> Dim:
        return add(self, other)

    def __sub__(self, other: Dim) -> Dim:
        return add(self, mul(other, -1))

    def __rsub__(self, other: int) -> Dim:
        return add(other, mul(self, -1))

    def __mul__(self, other: Dim) -> Dim:
        return mul(self, other)

    def __rmul__(self, other: int) -> Dim:
        return mul(self, other)

    def __floordiv__(self, other: Dim) -> Dim:
        from trtc.ir.dims.division import floordiv

        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        from trtc.ir.dims.division import floordiv

        return floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        from trtc.ir.dims.division import mod

        return mod(self, other)

    def __rmod__(self, other: int) -> Dim:
        from trtc.ir.dims.division import mod

        return mod(other, self)

    def __neg__(self) -> Dim:
        return mul(self, -1)

    def __repr__(self) -> str:
        return text(self)

    def __deepcopy__(self, memo: object) -> Expr:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a dim cannot be pickled: it is equal by identity only")


Dim: TypeAlias = int | Expr


Bounds: TypeAlias = tuple[int | None, int | None]


# Dict operations on these are atomic under the interpreter's lock; `setdefault` keeps one object per expression
# when two threads build the same. They are never emptied: identity must last.
_ATOMS: dict[tuple[str, str, tuple[Dim, ...]], Atom] = {}


_EXPRS: dict[frozenset[tuple[Monomial, int]], Expr] = {}


# These only remember results, and are emptied when they grow.
MEMO: dict[tuple[str, Dim, Dim], Dim] = {}


def symbol(name: str) -> Expr:
    """The dim called `name`, at least 1."""
    return single(atom_of("symbol", name, name))


def unknown(name: str, *, signed: bool = False) -> Expr:
    """A number that nothing is known of: at least 0, or any integer when `signed`. Its text is `?name`.

    The same name is the same number. Names taken from the value and axis that the number belongs to make inference
    repeatable: inferring a node twice gives the identical dims.
    """
    return single(atom_of("signed" if signed else "unknown", f"?{name}", name))


def atom_of(kind: str, key: str, name: str = "", args: tuple[Dim, ...] = ()) -> Atom:
    at = (kind, name, args)
    found = _ATOMS.get(at)
    return found if found is not None else _ATOMS.setdefault(at, Atom(kind, key, name, args))


def single(atom: Atom) -> Expr:
    made = make({(atom,): 1})
    assert isinstance(made, Expr)
    return made


def make(terms: dict[Monomial, int]) -> Dim:
    """The interned dim of a sum of monomials; coefficients are not zero."""
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    key = frozenset(terms.items())
    found = _EXPRS.get(key)
    if found is not None:
        return found
    if len(terms) > MAX_TERMS:
        return collapse(render(terms))
    return _EXPRS.setdefault(key, Expr(terms))


def collapse(rendered: str) -> Expr:
    """An unknown in place of an expression that grew too large; the same expression gives the same unknown."""
    return unknown("e" + hashlib.blake2b(rendered.encode(), digest_size=10).hexdigest(), signed=True)


def terms_of(dim: Dim) -> dict[Monomial, int]:
    if isinstance(dim, int):
        return {(): dim} if dim else {}
    return dim.terms


def remember(key: tuple[str, Dim, Dim], result: Dim) -> Dim:
    if len(MEMO) > _CACHE_LIMIT:
        MEMO.clear()
    MEMO[key] = result
    return result


def add(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int):
        if isinstance(b, int):
            return a + b
        a, b = b, a
    if b == 0:
        return a
    key = ("+", a, b)
    found = MEMO.get(key)
    if found is not None:
        return found
    terms = dict(a.terms)
    for monomial, c in terms_of(b).items():
        total = terms.get(monomial, 0) + c
        if total:
            terms[monomial] = total
        else:
            del terms[monomial]
    return remember(key, make(terms))


def mul(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int):
        if isinstance(b, int):
            return a * b
        a, b = b, a
    if isinstance(b, int):
        if b == 1:
            return a
        if b == 0:
            return 0
        key = ("*", a, b)
        found = MEMO.get(key)
        return found if found is not None else remember(key, make({m: c * b for m, c in a.terms.items()}))
    key = ("*", a, b)
    found = MEMO.get(key)
    if found is not None:
        return found
    terms: dict[Monomial, int] = {}
    for m, c in a.terms.items():
        for n, d in b.terms.items():
            monomial = tuple(sorted(m + n, key=key_of)) if m and n else m or n
            total = terms.get(monomial, 0) + c * d
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
    return remember(key, make(terms))


def key_of(atom: Atom) -> str:
    return atom.key


def product(dims: Iterable[Dim]) -> Dim:
    """The product of all, 1 of none."""
    return reduce(mul, dims, 1)


def opaque(kind: str, key: str, args: tuple[Dim, ...]) -> Expr:
    return collapse(key) if len(key) > MAX_TEXT else single(atom_of(kind, key, "", args))


def text(dim: Dim) -> str:
    """Readable and the same in every run: `2*batch`, `floor((h + 1)/2) - 1`, `max(0, n - 3)`."""
    if isinstance(dim, int):
        return str(dim)
    if dim.known_text is None:
        dim.known_text = render(dim.terms)
    return dim.known_text


def render(terms: Mapping[Monomial, int]) -> str:
    order = sorted(terms, key=lambda m: (-len(m), [atom.key for atom in m]))
    first = next((m for m in order if terms[m] > 0), None)
    if first is not None:
        order.remove(first)
        order.insert(0, first)
    out: list[str] = []
    for m in order:
        c = terms[m]
        factors = _powers(m)
        if not factors or abs(c) != 1:
            factors = [str(abs(c)), *factors]
        sign = "-" if c < 0 else "+"
        out.append(f" {sign} " if out else ("-" if c < 0 else ""))
        out.append("*".join(factors))
    return "".join(out)


def _powers(monomial: Monomial) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(monomial):
        atom, start = monomial[at], at
        while at < len(monomial) and monomial[at] is atom:
            at += 1
        out.append(atom.key if at - start == 1 else f"{atom.key}^{at - start}")
    return out


def factor_text(dim: Dim) -> str:
    """The text of a dim as the operand of a division."""
    shown = text(dim)
    if isinstance(dim, int):
        return shown
    single = len(dim.terms) == 1 and len(next(iter(dim.terms))) == 1 and next(iter(dim.terms.values())) == 1
    return shown if single else f"({shown})"
