"""Quotients and remainders of dims."""

from __future__ import annotations

from functools import reduce
from math import gcd

from trtc.ir.dims.bounds import bounds
from trtc.ir.dims.expr import (
    MAX_TERMS,
    MEMO,
    Atom,
    Dim,
    Expr,
    Monomial,
    add,
    factor_text,
    key_of,
    make,
    mul,
    opaque,
    remember,
    terms_of,
    text,
)


def floordiv(a: Dim, b: Dim) -> Dim:
    """The quotient rounded down. ZeroDivisionError when `b` is 0."""
    if isinstance(b, int):
        if isinstance(a, int):
            return a // b
        if b == 1:
            return a
        if b == 0:
            raise ZeroDivisionError("floor division of a dim by zero")
        if b < 0:
            return floordiv(mul(a, -1), -b)
    elif a is b:
        return 1
    if a == 0:
        return 0
    key = ("/", a, b)
    found = MEMO.get(key)
    if found is not None:
        return found
    if isinstance(b, int):
        assert isinstance(a, Expr)
        return remember(key, _floordiv_number(a, b))
    return remember(key, _floordiv_expr(a, b))


def exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """The polynomial q with a == q*b for every value of the symbols, None when there is none."""
    if isinstance(b, int):
        if b == 0:
            return None
        if isinstance(a, int):
            return a // b if a % b == 0 else None
        return make({m: c // b for m, c in a.terms.items()}) if all(c % b == 0 for c in a.terms.values()) else None
    if a is b:
        return 1
    if a == 0:
        return 0
    lead = max(b.terms, key=_grade)
    lead_c = b.terms[lead]
    rest, quotient = dict(terms_of(a)), dict[Monomial, int]()
    for _ in range(MAX_TERMS):
        if not rest:
            return make(quotient)
        top = max(rest, key=_grade)
        over = without(top, lead)
        if over is None or rest[top] % lead_c:
            return None
        c = rest[top] // lead_c
        quotient[over] = quotient.get(over, 0) + c
        for m, d in b.terms.items():
            monomial = tuple(sorted(m + over, key=key_of))
            total = rest.get(monomial, 0) - c * d
            if total:
                rest[monomial] = total
            else:
                rest.pop(monomial, None)
    return None


class _Reversed(tuple[str, ...]):
    """A tuple of keys that compares the other way round."""

    __slots__ = ()

    def __lt__(self, other: tuple[str, ...]) -> bool:
        return tuple(other) < tuple(self)

    def __gt__(self, other: tuple[str, ...]) -> bool:
        return tuple(other) > tuple(self)


def _grade(monomial: Monomial) -> tuple[int, _Reversed]:
    """Graded lexicographic order: compatible with multiplication, as polynomial division needs."""
    return len(monomial), _Reversed(atom.key for atom in monomial)


def without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """The monomial divided by another, None when that does not divide it."""
    if not part:
        return monomial
    left = list(monomial)
    for atom in part:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _floordiv_number(a: Expr, b: int) -> Dim:
    quotient, rest = dict[Monomial, int](), dict[Monomial, int]()
    for m, c in a.terms.items():
        q, r = divmod(c, b)
        if q:
            quotient[m] = q
        if r:
            rest[m] = r
    whole, remainder = make(quotient), make(rest)
    if isinstance(remainder, int):  # in [0, b): the constant's remainder
        return whole
    lo, hi = bounds(remainder)
    if lo is not None and hi is not None and lo // b == hi // b:
        return add(whole, lo // b)
    shared = reduce(gcd, (c for m, c in rest.items() if m), b)
    if shared > 1:
        # floor((g*x + c) / (g*b)) == floor((x + floor(c/g)) / b)
        remainder = make({m: c // shared for m, c in rest.items() if c // shared})
        b //= shared
        rest = terms_of(remainder)
        return add(whole, floordiv(remainder, b))
    inner = next((m[0] for m, c in rest.items() if len(m) == 1 and c == 1 and m[0].kind == "floordiv"), None)
    if inner is not None and len(rest) == (2 if () in rest else 1) and isinstance(inner.args[1], int):
        # floor((floor(x/m) + c) / b) == floor((x + c*m) / (m*b))
        over, by = inner.args
        return add(whole, floordiv(add(over, rest.get((), 0) * by), by * b))
    return add(whole, _floor_atom(remainder, b))


def _floordiv_expr(a: Dim, b: Expr) -> Dim:
    exact = exact_quotient(a, b)
    if exact is not None:
        return exact
    whole: Dim = 0
    if len(b.terms) == 1:
        ((divisor, by),) = b.terms.items()
        quotient, rest = dict[Monomial, int](), dict[Monomial, int]()
        for m, c in terms_of(a).items():
            over = without(m, divisor)
            if over is not None and c % by == 0:
                quotient[over] = quotient.get(over, 0) + c // by
            else:
                rest[m] = c
        whole, a = make(quotient), make(rest)
    if isinstance(a, int):
        lo, _ = bounds(b)
        if lo is not None and 0 <= a < lo:
            return whole
        return add(whole, _floor_atom(a, b))
    common, scale = _content(a, b)
    if common or scale > 1:
        return add(whole, floordiv(_cancel(a, common, scale), _cancel(b, common, scale)))
    return add(whole, _floor_atom(a, b))


def _content(a: Expr, b: Expr) -> tuple[Monomial, int]:
    """The greatest monomial and number that divide every term of both."""
    monomials = [*a.terms, *b.terms]
    common = list(monomials[0])
    for m in monomials[1:]:
        left, kept = list(m), list[Atom]()
        for atom in common:
            if atom in left:
                left.remove(atom)
                kept.append(atom)
        common = kept
        if not common:
            break
    return tuple(common), reduce(gcd, [*a.terms.values(), *b.terms.values()])


def _cancel(a: Expr, common: Monomial, scale: int) -> Dim:
    terms: dict[Monomial, int] = {}
    for m, c in a.terms.items():
        over = without(m, common)
        assert over is not None
        terms[over] = c // scale
    return make(terms)


def _floor_atom(a: Dim, b: Dim) -> Dim:
    return opaque("floordiv", f"floor({factor_text(a)}/{factor_text(b)})", (a, b))


def ceildiv(a: Dim, b: Dim) -> Dim:
    """The quotient rounded up; `b` is positive."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    exact = exact_quotient(a, b)
    return exact if exact is not None else floordiv(add(add(a, b), -1), b)


def mod(a: Dim, b: Dim) -> Dim:
    """`a - b*floor(a/b)`: of the sign of `b`, as in Python."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if isinstance(b, int):
        assert isinstance(a, Expr)
        if b <= 0:
            return add(a, mul(mul(floordiv(a, b), b), -1))
        a = make({m: c % b for m, c in a.terms.items() if c % b})
    elif exact_quotient(a, b) is not None:
        return 0
    elif len(b.terms) == 1:
        ((divisor, by),) = b.terms.items()
        a = make({m: c for m, c in terms_of(a).items() if c % by or without(m, divisor) is None})
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    (lo, hi), (least, _) = bounds(a), bounds(b)
    if lo is not None and lo >= 0 and hi is not None and least is not None and hi < least:
        return a
    return opaque("mod", f"mod({text(a)}, {text(b)})", (a, b))
