"""Sizes of the leaves of an instance: those of a test block, varied, or else what the types leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from trtc.lang import rules, syntax
from trtc.lang.rules import Expr, Type
from trtc.lang.syntax import AnyDims, Expression
from trtc.rewrite.refute.tape import Rejected, Tape

#: Sizes to take in the place of a size, the simplest first.
_SMALL = (1, 2, 3, 4, 5, 6, 7, 8)
_LARGE = (1, 2, 4, 6, 8, 10, 12, 16, 24)
_COMPOSITE = 8
#: An instance of more elements in one leaf gets the sizes of its test.
MAX_ELEMENTS = 1 << 12

Shape = tuple[int, ...]


@dataclass(slots=True)
class Dims:
    """Numbers of the names of dims, by (path of the scope, name)."""

    known: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def number(self, path: str, dim: Expression | Expr, params: Mapping[str, object]) -> int | None:
        """A dim as a number; None when a name in it is not known."""
        if isinstance(dim, syntax.Number | rules.Literal_):
            return dim.value if isinstance(dim.value, int) else None
        name = _name(dim)
        if name is not None:
            if (path, name) in self.known:
                return self.known[path, name]
            value = params.get(name)
            return value if isinstance(value, int) else None
        operands = _operands(dim)
        if operands is None:
            return None
        operator, left, right = operands
        a, b = self.number(path, left, params), self.number(path, right, params)
        if a is None or b is None:
            return None
        if operator == "/":
            if b == 0 or a % b:
                raise Rejected(f"{a} / {b} is not a whole number")
            return a // b
        return {"+": a + b, "-": a - b, "*": a * b}.get(operator)

    def bind(self, path: str, dim: Expression | Expr, size: int, params: Mapping[str, object]) -> bool:
        """Make `dim` be `size`. False where more than one name in it is open.

        Raises:
            Rejected: it is another number already.
        """
        known = self.number(path, dim, params)
        if known is not None:
            if known != size:
                raise Rejected(f"a dim is {known} and {size}")
            return True
        name = _name(dim)
        if name == "_":
            return True
        if name is not None:
            self.known[path, name] = size
            return True
        operands = _operands(dim)
        if operands is None:
            return False
        operator, left, right = operands
        for one, other, first in ((left, right, True), (right, left, False)):
            number = self.number(path, other, params)
            if number is not None:
                return self.bind(path, one, _inverse(operator, size, number, first), params)
        return False

    def unify(self, path: str, type: Type, shape: Sequence[int], params: Mapping[str, object]) -> bool:
        """Bind the dims of a type to those of a shape. False where some stay open."""
        if type.dims is None:
            return True
        before, rest, after = _parts(type.dims)
        if len(shape) < len(before) + len(after) or (not rest and len(shape) != len(before) + len(after)):
            raise Rejected("a shape has another rank than its type")
        pairs = [*zip(before, shape, strict=False)]
        if after:
            pairs += zip(after, shape[-len(after) :], strict=True)
        done = True
        # Names first: what is computed from them comes after.
        for dim, size in sorted(pairs, key=lambda p: _operands(p[0]) is not None):
            done &= self.bind(path, dim, size, params)
        return done

    def make(
        self,
        path: str,
        items: Sequence[Expression | AnyDims | Expr],
        params: Mapping[str, object],
        tape: Tape,
        label: str,
        total: int | None = None,
        like: Sequence[int] = (),
    ) -> Shape:
        """A shape of a type; open names get numbers. With `total`, the shape has so many elements.

        like: a shape to take dims from before inventing some.
        """
        before, rest, after = _parts(items)
        shape: list[int | None] = [self.number(path, dim, params) for dim in before]
        filling = self._filling(before, after, path, params, total, like) if rest and total is not None else []
        if filling:
            # Mostly as it was: what is joined to others later has to be like them.
            shape += tape.pick(f"{label}/rest", filling, (24, *[1] * (len(filling) - 1)))
        elif rest:
            extra = tape.draw(f"{label}/rank", 3)
            shape += [tape.pick(f"{label}/extra{k}", (1, 2, 3), (1, 3, 3)) for k in range(extra)]
        shape += [self.number(path, dim, params) for dim in after]
        written: list[Expression | Expr | None] = [*before, *[None] * (len(shape) - len(before) - len(after)), *after]
        open_ = [at for at, size in enumerate(shape) if size is None]
        for at in open_:
            dim = written[at]
            assert dim is not None
            number = self.number(path, dim, params)  # a name may stand twice
            if number is None:
                number = self._open(tape, f"{label}/{at}", shape, at, total, like)
                if _name(dim) is not None:
                    self.bind(path, dim, number, params)
                elif total is None:
                    number = self._through_names(path, dim, params, tape, f"{label}/{at}")
                else:
                    self.bind(path, dim, number, params)
            shape[at] = number
        made = tuple(size for size in shape if size is not None)
        if total is not None and prod(made) != total:
            raise Rejected(f"{made} has not {total} elements")
        return made

    def _filling(
        self,
        before: Sequence[Expression | Expr],
        after: Sequence[Expression | Expr],
        path: str,
        params: Mapping[str, object],
        total: int,
        like: Sequence[int],
    ) -> list[Shape]:
        """What `...` may stand for: the front of `like`, or all that is left where the other dims are known."""
        known = [self.number(path, dim, params) for dim in (*before, *after)]
        product = prod(n for n in known if n is not None)
        if product == 0 or total % product:
            return []
        left = total // product
        if None in known:
            ends = range(max(len(like) - known.count(None), 0), -1, -1)
            return [tuple(like[:k]) for k in ends if prod(like[:k]) and left % prod(like[:k]) == 0]
        fronts = [tuple(like[:k]) for k in range(len(like), -1, -1) if prod(like[:k]) == left]
        return [*fronts, (left,)]

    def _open(
        self, tape: Tape, label: str, shape: Sequence[int | None], at: int, total: int | None, like: Sequence[int]
    ) -> int:
        if total is None:
            return tape.pick(label, (1, 2, 3, 4, 6, 8), (1, 3, 3, 3, 2, 2))
        rest = prod(s for s in shape if s is not None) or 1
        if total % rest:
            raise Rejected(f"{total} elements do not fill {list(shape)}")
        left = total // rest
        if sum(s is None for s in shape) == 1:
            return left
        if at < len(like) and left % like[at] == 0 and tape.draw(f"{label}/like", 4):
            return like[at]
        return tape.pick(label, [d for d in range(1, left + 1) if left % d == 0][:12])

    def _through_names(
        self, path: str, dim: Expression | Expr, params: Mapping[str, object], tape: Tape, label: str
    ) -> int:
        for name in sorted(_names(dim)):
            if (path, name) not in self.known and name not in params:
                self.known[path, name] = tape.pick(f"{label}/{name}", (1, 2, 3, 4), (1, 3, 3, 3))
        number = self.number(path, dim, params)
        if number is None or number < 1:
            raise Rejected("a dim has no number")
        return number


def _parts(
    items: Sequence[Expression | AnyDims | Expr],
) -> tuple[list[Expression | Expr], bool, list[Expression | Expr]]:
    at = next((i for i, d in enumerate(items) if isinstance(d, AnyDims)), None)
    dims = [d for d in items if not isinstance(d, AnyDims)]
    return (dims, False, []) if at is None else (dims[:at], True, dims[at:])


def _name(dim: Expression | Expr) -> str | None:
    if isinstance(dim, syntax.Reference):
        return dim.text
    return dim.name if isinstance(dim, rules.Value) else None


def _operands(dim: Expression | Expr) -> tuple[str, Expression | Expr, Expression | Expr] | None:
    return (dim.operator, dim.left, dim.right) if isinstance(dim, syntax.Binary | rules.Infix) else None


def _names(dim: Expression | Expr) -> set[str]:
    name = _name(dim)
    if name is not None:
        return {name}
    operands = _operands(dim)
    return set() if operands is None else _names(operands[1]) | _names(operands[2])


def _inverse(operator: str, size: int, number: int, first: bool) -> int:
    """The unknown of `unknown operator number == size` (first), or of `number operator unknown == size`."""
    if operator == "+":
        found = size - number
    elif operator == "-":
        found = size + number if first else number - size
    elif operator == "*":
        if number == 0 or size % number:
            raise Rejected(f"{size} is no multiple of {number}")
        found = size // number
    elif operator == "/" and first:
        found = size * number
    else:
        raise Rejected("a dim cannot be found")
    if found < 1:
        raise Rejected("a dim would not be positive")
    return found


def varied(sizes: Sequence[int], tape: Tape) -> dict[int, int]:
    """Another number for each size of a test; equal sizes stay equal.

    1 stays 1 mostly. A size may be what it is because of others (2 of them in a product, twice another, a sum):
    most ways of varying keep one of these relations.
    """
    distinct = sorted(set(sizes))
    mode = tape.draw("sizes", 7, (3, 3, 2, 3, 2, 3, 2))
    if mode == 1:
        return {size: size for size in distinct}
    if mode == 6:
        # All alike: what mixes axes up has no other shape to betray it.
        same = tape.pick("sizes/same", (2, 4, 3))
        return {size: size if size == 1 else same for size in distinct}
    one = tape.pick("sizes/only", distinct) if mode == 5 and distinct else None
    made: dict[int, int] = {}
    for size in distinct:
        if mode == 5 and size != one:
            made[size] = size
        elif size == 1:
            made[size] = tape.pick("size/1", (1, 2, 3), (8, 1, 1))
        else:
            made[size] = _related(size, made, mode, tape) or _other(size, tape)
    return made


def _related(size: int, made: Mapping[int, int], mode: int, tape: Tape) -> int | None:
    smaller = [s for s in made if s > 1]
    found: list[int] = []
    if mode in (0, 2):
        found += [made[a] * made[size // a] for a in smaller if size % a == 0 and size // a in made and size // a > 1]
    if mode in (0, 3) and not found:
        found += [made[a] * (size // a) for a in smaller if size % a == 0 and size // a in (2, 3, 4)]
    if mode == 4:
        found += [made[a] + made[size - a] for a in smaller if size - a in made]
    return tape.pick(f"size/{size}/of", found) if found else None


def _other(size: int, tape: Tape) -> int:
    if size % 2 == 0 and tape.draw("sizes/even", 8) > 0:
        # An even size is one of pairs or halves, perhaps.
        return tape.pick(f"size/{size}", (2, 4, 6, 8, 10, 12) if size >= _COMPOSITE else (2, 4, 6, 8), None)
    if size < _COMPOSITE:
        return tape.pick(f"size/{size}", _SMALL, (1, 3, 3, 3, 2, 2, 1, 1))
    return tape.pick(f"size/{size}", _LARGE, (0.5, 0.5, 3, 2, 3, 2, 2, 1, 1))


__all__ = ["MAX_ELEMENTS", "Dims", "Shape", "varied"]
