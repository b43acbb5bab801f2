"""Interval arithmetic over dims."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trtc.ir.dims.expr import Atom, Bounds, Dim, Expr, add, mul, single


def bounds(dim: Dim, ranges: Mapping[str, tuple[int, int]] | None = None) -> Bounds:
    """The least and the greatest value, None where there is no bound; not always the tightest.

    `ranges` gives both ends (included) of symbols by name; a symbol that is not there is at least 1.
    """
    if isinstance(dim, int):
        return dim, dim
    if ranges:
        return bounds_within(dim, ranges, 4)
    if dim.known_bounds is None:
        dim.known_bounds = bounds_within(dim, {}, 4)
    return dim.known_bounds


def bounds_within(dim: Dim, ranges: Mapping[str, tuple[int, int]], depth: int) -> Bounds:
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
        rest = mul(add(dim, mul(single(atom), -c * sign)), sign)
        if atom.kind == "floordiv" and isinstance(atom.args[1], int):
            by = atom.args[1]
            # (x - by + 1) / by <= floor(x/by) <= x / by
            over = add(atom.args[0], 1 - by) if c > 0 else atom.args[0]
            lo, _ = bounds_within(add(mul(rest, by), mul(over, c)), ranges, depth)
            return None if lo is None else -(-lo // by)
        if atom.kind in ("min", "max"):
            lows = [bounds_within(add(rest, mul(arg, c)), ranges, depth)[0] for arg in atom.args[:4]]
            if (atom.kind == "min") == (c < 0):
                # -min(x, y) is the greater of -x and -y: either is a bound from below.
                return max((lo for lo in lows if lo is not None), default=None)
            return _all(lows, min) if len(lows) == len(atom.args) else None
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
    each = [bounds_within(arg, ranges, depth - 1) for arg in atom.args]
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
