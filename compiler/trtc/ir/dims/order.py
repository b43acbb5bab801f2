"""The lesser and the greater of dims."""

from __future__ import annotations

from trtc.ir.dims.bounds import bounds
from trtc.ir.dims.expr import MEMO, Dim, Expr, add, mul, opaque, remember, text


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
    found = MEMO.get(key)
    if found is not None:
        return found
    args = list(_arguments(kind, a))
    for new in _arguments(kind, b):
        _insert(kind, args, new)
    if len(args) == 1:
        return remember(key, args[0])
    args.sort(key=_argument_key)
    return remember(key, opaque(kind, f"{kind}({', '.join(text(arg) for arg in args)})", tuple(args)))


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
