"""Symbolic dims: interned polynomials with integer coefficients over symbols and opaque atoms.

A `Dim` is an `int` or an `Expr`. Every distinct expression exists once, so `is` (and `==`) decides equality of what
was simplified to the same normal form. Atoms are symbols (`batch`), unknowns (`?scores_0`), and what a polynomial
cannot say: `floor(a/b)`, `mod(a, b)`, `min(a, b)`, `max(a, b)`.

Assumptions, used to simplify: a symbol is at least 1 (it is a dim of an input that is not empty), an unknown is at
least 0, a signed unknown (an element of an integer tensor) may be anything, a divisor is not zero. Divisions round
down, as in Python.

Nothing here imports onnx or numpy. An operation costs about a microsecond when it was done before, ten otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from math import gcd
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

    __slots__ = ("_bounds", "_text", "terms")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms: Final = terms
        self._text: str | None = None
        self._bounds: tuple[int | None, int | None] | None = None

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
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return mod(self, other)

    def __rmod__(self, other: int) -> Dim:
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
_MEMO: dict[tuple[str, Dim, Dim], Dim] = {}


def symbol(name: str) -> Expr:
    """The dim called `name`, at least 1."""
    return _single(_atom("symbol", name, name))


def unknown(name: str, *, signed: bool = False) -> Expr:
    """A number that nothing is known of: at least 0, or any integer when `signed`. Its text is `?name`.

    The same name is the same number. Names taken from the value and axis that the number belongs to make inference
    repeatable: inferring a node twice gives the identical dims.
    """
    return _single(_atom("signed" if signed else "unknown", f"?{name}", name))


def _atom(kind: str, key: str, name: str = "", args: tuple[Dim, ...] = ()) -> Atom:
    at = (kind, name, args)
    found = _ATOMS.get(at)
    return found if found is not None else _ATOMS.setdefault(at, Atom(kind, key, name, args))


def _single(atom: Atom) -> Expr:
    made = _make({(atom,): 1})
    assert isinstance(made, Expr)
    return made


def _make(terms: dict[Monomial, int]) -> Dim:
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
        return _collapse(_render(terms))
    return _EXPRS.setdefault(key, Expr(terms))


def _collapse(rendered: str) -> Expr:
    """An unknown in place of an expression that grew too large; the same expression gives the same unknown."""
    return unknown("e" + hashlib.blake2b(rendered.encode(), digest_size=10).hexdigest(), signed=True)


def _terms(dim: Dim) -> dict[Monomial, int]:
    if isinstance(dim, int):
        return {(): dim} if dim else {}
    return dim.terms


def _remember(key: tuple[str, Dim, Dim], result: Dim) -> Dim:
    if len(_MEMO) > _CACHE_LIMIT:
        _MEMO.clear()
    _MEMO[key] = result
    return result


def add(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int):
        if isinstance(b, int):
            return a + b
        a, b = b, a
    if b == 0:
        return a
    key = ("+", a, b)
    found = _MEMO.get(key)
    if found is not None:
        return found
    terms = dict(a.terms)
    for monomial, c in _terms(b).items():
        total = terms.get(monomial, 0) + c
        if total:
            terms[monomial] = total
        else:
            del terms[monomial]
    return _remember(key, _make(terms))


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
        found = _MEMO.get(key)
        return found if found is not None else _remember(key, _make({m: c * b for m, c in a.terms.items()}))
    key = ("*", a, b)
    found = _MEMO.get(key)
    if found is not None:
        return found
    terms: dict[Monomial, int] = {}
    for m, c in a.terms.items():
        for n, d in b.terms.items():
            monomial = tuple(sorted(m + n, key=_key)) if m and n else m or n
            total = terms.get(monomial, 0) + c * d
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
    return _remember(key, _make(terms))


def _key(atom: Atom) -> str:
    return atom.key


def product(dims: Iterator[Dim] | tuple[Dim, ...] | list[Dim]) -> Dim:
    """The product of all, 1 of none."""
    return reduce(mul, dims, 1)


# Division


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
    found = _MEMO.get(key)
    if found is not None:
        return found
    if isinstance(b, int):
        assert isinstance(a, Expr)
        return _remember(key, _floordiv_number(a, b))
    return _remember(key, _floordiv_expr(a, b))


def exact_quotient(a: Dim, b: Dim) -> Dim | None:
    """The polynomial q with a == q*b for every value of the symbols, None when there is none."""
    if isinstance(b, int):
        if b == 0:
            return None
        if isinstance(a, int):
            return a // b if a % b == 0 else None
        return _make({m: c // b for m, c in a.terms.items()}) if all(c % b == 0 for c in a.terms.values()) else None
    if a is b:
        return 1
    if a == 0:
        return 0
    lead = max(b.terms, key=_grade)
    lead_c = b.terms[lead]
    rest, quotient = dict(_terms(a)), dict[Monomial, int]()
    for _ in range(MAX_TERMS):
        if not rest:
            return _make(quotient)
        top = max(rest, key=_grade)
        over = _without(top, lead)
        if over is None or rest[top] % lead_c:
            return None
        c = rest[top] // lead_c
        quotient[over] = quotient.get(over, 0) + c
        for m, d in b.terms.items():
            monomial = tuple(sorted(m + over, key=_key))
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


def _without(monomial: Monomial, part: Monomial) -> Monomial | None:
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
    whole, remainder = _make(quotient), _make(rest)
    if isinstance(remainder, int):  # in [0, b): the constant's remainder
        return whole
    lo, hi = bounds(remainder)
    if lo is not None and hi is not None and lo // b == hi // b:
        return add(whole, lo // b)
    shared = reduce(gcd, (c for m, c in rest.items() if m), b)
    if shared > 1:
        # floor((g*x + c) / (g*b)) == floor((x + floor(c/g)) / b)
        remainder = _make({m: c // shared for m, c in rest.items() if c // shared})
        b //= shared
        rest = _terms(remainder)
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
        for m, c in _terms(a).items():
            over = _without(m, divisor)
            if over is not None and c % by == 0:
                quotient[over] = quotient.get(over, 0) + c // by
            else:
                rest[m] = c
        whole, a = _make(quotient), _make(rest)
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
        over = _without(m, common)
        assert over is not None
        terms[over] = c // scale
    return _make(terms)


def _floor_atom(a: Dim, b: Dim) -> Dim:
    return _opaque("floordiv", f"floor({_factor_text(a)}/{_factor_text(b)})", (a, b))


def _opaque(kind: str, key: str, args: tuple[Dim, ...]) -> Expr:
    return _collapse(key) if len(key) > MAX_TEXT else _single(_atom(kind, key, "", args))


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
        a = _make({m: c % b for m, c in a.terms.items() if c % b})
    elif exact_quotient(a, b) is not None:
        return 0
    elif len(b.terms) == 1:
        ((divisor, by),) = b.terms.items()
        a = _make({m: c for m, c in _terms(a).items() if c % by or _without(m, divisor) is None})
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    (lo, hi), (least, _) = bounds(a), bounds(b)
    if lo is not None and lo >= 0 and hi is not None and least is not None and hi < least:
        return a
    return _opaque("mod", f"mod({text(a)}, {text(b)})", (a, b))


# Order


def minimum(a: Dim, b: Dim) -> Dim:
    return _extreme("min", a, b)


def maximum(a: Dim, b: Dim) -> Dim:
    return _extreme("max", a, b)


def _extreme(kind: str, a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if kind == "min" else max(a, b)
    if a is b:
        return a
    key = (kind, a, b)
    found = _MEMO.get(key)
    if found is not None:
        return found
    args = list(_arguments(kind, a))
    for new in _arguments(kind, b):
        _insert(kind, args, new)
    if len(args) == 1:
        return _remember(key, args[0])
    args.sort(key=_argument_key)
    return _remember(key, _opaque(kind, f"{kind}({', '.join(text(arg) for arg in args)})", tuple(args)))


def _arguments(kind: str, a: Dim) -> tuple[Dim, ...]:
    """The arguments of a that is itself a min (or max), else a alone."""
    if isinstance(a, Expr) and len(a.terms) == 1:
        ((m, c),) = a.terms.items()
        if c == 1 and len(m) == 1 and m[0].kind == kind:
            return m[0].args
    return (a,)


def _insert(kind: str, args: list[Dim], new: Dim) -> None:
    """Adds an argument unless an argument there beats it, and drops those that it beats."""
    for old in list(args):
        lo, hi = bounds(add(new, mul(old, -1)))
        if kind == "max":
            lo, hi = (None if hi is None else -hi), (None if lo is None else -lo)
        if lo is not None and lo >= 0:
            return
        if hi is not None and hi <= 0:
            args.remove(old)
    args.append(new)


def _argument_key(a: Dim) -> tuple[bool, str]:
    return isinstance(a, int), text(a)


def bounds(dim: Dim, ranges: Mapping[str, tuple[int, int]] | None = None) -> Bounds:
    """The least and the greatest value, None where there is no bound; not always the tightest.

    `ranges` gives both ends (included) of symbols by name; a symbol that is not there is at least 1.
    """
    if isinstance(dim, int):
        return dim, dim
    if ranges:
        return _bounds(dim, ranges, 4)
    if dim._bounds is None:  # pyright: ignore[reportPrivateUsage]
        dim._bounds = _bounds(dim, {}, 4)  # pyright: ignore[reportPrivateUsage]
    return dim._bounds  # pyright: ignore[reportPrivateUsage]


def _bounds(dim: Dim, ranges: Mapping[str, tuple[int, int]], depth: int) -> Bounds:
    if isinstance(dim, int):
        return dim, dim
    total: Bounds = (0, 0)
    opaque = False
    for m, c in dim.terms.items():
        part: Bounds = (c, c)
        for atom in m:
            opaque = opaque or atom.kind in _RELAXED
            part = _times(part, _atom_bounds(atom, ranges, depth))
        total = _plus(total, part)
    if opaque and depth and len(dim.terms) > 1:
        # Intervals forget that the same symbol is in two terms; putting a linear bound in place of an atom keeps it.
        lo, hi = total
        total = _tighter(lo, _relaxed(dim, ranges, depth - 1, 1), max), hi
        upper = _relaxed(dim, ranges, depth - 1, -1)
        total = total[0], _tighter(hi, None if upper is None else -upper, min)
    return total


_RELAXED = ("floordiv", "min", "max")


def _tighter(a: int | None, b: int | None, choose: Callable[[int, int], int]) -> int | None:
    if a is None or b is None:
        return b if a is None else a
    return choose(a, b)


def _relaxed(dim: Expr, ranges: Mapping[str, tuple[int, int]], depth: int, sign: int) -> int | None:
    """A lower bound of `sign * dim` by replacing one opaque atom that stands alone in its term."""
    for m, c in dim.terms.items():
        if len(m) != 1:
            continue
        atom, c = m[0], c * sign
        rest = mul(add(dim, mul(_single(atom), -c * sign)), sign)
        if atom.kind == "floordiv" and isinstance(atom.args[1], int):
            by = atom.args[1]
            # (x - by + 1) / by <= floor(x/by) <= x / by
            over = add(atom.args[0], 1 - by) if c > 0 else atom.args[0]
            lo, _ = _bounds(add(mul(rest, by), mul(over, c)), ranges, depth)
            return None if lo is None else -(-lo // by)
        if (atom.kind == "min" and c < 0) or (atom.kind == "max" and c > 0):
            lows = [_bounds(add(rest, mul(arg, c)), ranges, depth)[0] for arg in atom.args[:4]]
            return max((lo for lo in lows if lo is not None), default=None)
    return None


def _atom_bounds(atom: Atom, ranges: Mapping[str, tuple[int, int]], depth: int) -> Bounds:
    kind = atom.kind
    if kind == "symbol":
        return ranges.get(atom.name, (1, None))
    if kind == "unknown":
        return 0, None
    if kind == "signed":
        return None, None
    if not depth:
        return None, None
    each = [_bounds(arg, ranges, depth - 1) for arg in atom.args]
    if kind == "min":
        highs = [hi for _, hi in each if hi is not None]
        lows = [lo for lo, _ in each]
        return _all(lows, min), min(highs, default=None)
    if kind == "max":
        lows = [lo for lo, _ in each if lo is not None]
        return max(lows, default=None), _all([hi for _, hi in each], max)
    (lo, hi), (least, most) = each
    if least is None or least <= 0:
        return None, None
    if kind == "mod":
        return 0, None if most is None else most - 1
    low = None if lo is None else (0 if most is None else lo // most) if lo >= 0 else lo // least
    high = None if hi is None else hi // least if hi >= 0 else (-1 if most is None else hi // most)
    return low, high


def _all(ends: list[int | None], choose: Callable[[list[int]], int]) -> int | None:
    known = [end for end in ends if end is not None]
    return choose(known) if len(known) == len(ends) else None


def _plus(a: Bounds, b: Bounds) -> Bounds:
    return (
        None if a[0] is None or b[0] is None else a[0] + b[0],
        None if a[1] is None or b[1] is None else a[1] + b[1],
    )


def _times(a: Bounds, b: Bounds) -> Bounds:
    infinity = float("inf")
    corners = [
        0 if x == 0 or y == 0 else x * y
        for x in (-infinity if a[0] is None else a[0], infinity if a[1] is None else a[1])
        for y in (-infinity if b[0] is None else b[0], infinity if b[1] is None else b[1])
    ]
    lo, hi = min(corners), max(corners)
    return (None if lo == -infinity else int(lo)), (None if hi == infinity else int(hi))


# Reading


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
        return env.get(atom.key, _single(atom))
    args = [substitute(arg, env) for arg in atom.args]
    if all(new is old for new, old in zip(args, atom.args, strict=True)):
        return _single(atom)
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


def text(dim: Dim) -> str:
    """Readable and the same in every run: `2*batch`, `floor((h + 1)/2) - 1`, `max(0, n - 3)`."""
    if isinstance(dim, int):
        return str(dim)
    if dim._text is None:  # pyright: ignore[reportPrivateUsage]
        dim._text = _render(dim.terms)  # pyright: ignore[reportPrivateUsage]
    return dim._text  # pyright: ignore[reportPrivateUsage]


def _render(terms: Mapping[Monomial, int]) -> str:
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


def _factor_text(dim: Dim) -> str:
    """The text of a dim as the operand of a division."""
    shown = text(dim)
    if isinstance(dim, int):
        return shown
    single = len(dim.terms) == 1 and len(next(iter(dim.terms))) == 1 and next(iter(dim.terms.values())) == 1
    return shown if single else f"({shown})"
