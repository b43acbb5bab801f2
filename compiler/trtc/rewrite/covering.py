"""Whether one pattern matches wherever another does, decided on the patterns alone.

The other pattern is taken for a graph, and the first is matched against it: for every alternative that the other may
take, there must be one of the first. Where it cannot be told, the answer is no. Imports neither onnx nor numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from trtc.lang import rules, syntax
from trtc.rewrite import program as p

Ident: TypeAlias = "tuple[Any, ...]"
#: What is known of values: type and scope by (value, key of the type).
Facts: TypeAlias = "dict[tuple[Ident, tuple[Any, ...]], tuple[rules.Type, p.Scope]]"

_FLOATS = frozenset({"float", "f16", "bf16", "f32", "f64"})
_INTS = frozenset({"int", "i4", "i8", "i16", "i32", "i64", "u4", "u8", "u16", "u32", "u64"})
#: Steps after which a comparison of two patterns is given up.
_BUDGET = 20_000


def covers(general: p.Program, specific: p.Program, *, guards: bool = True) -> bool:
    """Whether `general` matches at the root of `specific` wherever that matches. False where that cannot be told.

    guards: whether a guard within the pattern of `general` makes it untold.
    """
    target = specific.targets[0]
    try:
        return Cover(general, facts(target), guards).root(target, specific.targets[1:])
    except GivenUp:
        return False


class GivenUp(Exception):
    """The comparison took too many steps."""


Then: TypeAlias = Callable[[], bool]


@dataclass(slots=True)
class _Place:
    """A pattern node taken for a value of a graph. idents: the names under which something is known of it."""

    node: p.Node
    idents: tuple[Ident, ...]
    types: tuple[tuple[rules.Type, p.Scope], ...] = ()


@dataclass(slots=True)
class Cover:
    general: p.Program
    facts: Facts
    guards: bool
    values: dict[int, Ident] = field(default_factory=dict[int, Ident])
    captures: dict[int, Ident] = field(default_factory=dict[int, Ident])
    dims: dict[int, str] = field(default_factory=dict[int, str])
    ops: dict[int, p.Op] = field(default_factory=dict[int, p.Op])
    chosen: dict[int, p.Node] = field(default_factory=dict[int, p.Node])
    steps: int = 0

    def root(self, specific: p.Node, others: Sequence[p.Node] = ()) -> bool:
        """`others`: further values that the specific rule replaces, which may have users outside."""
        target = self.general.targets[0]
        return self.fits(target, specific, lambda: self._enclosed(specific, others), root=True)

    def _enclosed(self, specific: p.Node, others: Sequence[p.Node]) -> bool:
        """Whether everything that the specific pattern has around the operations of this match is in the match."""
        matched = {id(s): g for g, s in self._pairs()}
        heads = {id(op) for op in operations(self._place(specific).node)[:1]}
        for other in others:
            node = self._place(other).node
            if id(node.op if isinstance(node, p.Output) else node) in matched:
                return False
        waiting: list[tuple[p.Node | None, p.Op | None]] = [(node, None) for node in (specific, *others)]
        seen: set[tuple[int, int]] = set()
        while waiting:
            node, parent = waiting.pop()
            if node is None or (id(node), id(parent)) in seen:
                continue
            seen.add((id(node), id(parent)))
            if isinstance(node, p.Either):
                taken = self.chosen.get(id(node))
                waiting += [(one, parent) for one in ([taken] if taken else [a for a, _ in node.alternatives])]
            elif isinstance(node, p.Op):
                g = matched.get(id(node))
                inner = g is not None and not g.shared and id(node) not in heads
                if inner and (parent is None or id(parent) not in matched):
                    return False
                waiting += [(one, node) for one in node.inputs]
            else:
                waiting += [(one, parent) for one in below(node)]
        return True

    def _pairs(self) -> list[tuple[p.Op, p.Op]]:
        of_general = {op.slot: op for op in operations(self.general.targets[0])}
        return [(of_general[slot], op) for slot, op in self.ops.items()]

    def _saved(self) -> tuple[dict[Any, Any], ...]:
        return dict(self.values), dict(self.captures), dict(self.dims), dict(self.ops), dict(self.chosen)

    def _restore(self, saved: tuple[dict[Any, Any], ...]) -> None:
        self.values, self.captures, self.dims, self.ops, self.chosen = map(dict, saved)

    def _trying(self, attempt: Then) -> bool:
        saved = self._saved()
        if attempt():
            return True
        self._restore(saved)
        return False

    def _place(self, node: p.Node) -> _Place:
        """A node of the specific pattern without the names and types around it."""
        idents: list[Ident] = []
        types: list[tuple[rules.Type, p.Scope]] = []
        while True:
            idents.append(_ident(node))
            if isinstance(node, p.Var) and node.definition is not None:
                node = node.definition
            elif isinstance(node, p.TypedNode):
                types.append((node.type, node.scope))
                node = node.inner
            elif isinstance(node, p.Guarded):
                node = node.inner
            elif isinstance(node, p.Either) and id(node) in self.chosen:
                node = self.chosen[id(node)]
            else:
                return _Place(node, tuple(idents), tuple(types))

    def fits(self, g: p.Node, s: p.Node, then: Then, *, root: bool = False) -> bool:
        """Whether `g` matches the value that `s` stands for, and then the rest, whatever alternative `s` takes."""
        self.steps += 1
        if self.steps > _BUDGET:
            raise GivenUp
        place = self._place(s)
        if isinstance(place.node, p.Either):
            return self._every(g, s, place.node, then, root)
        if isinstance(g, p.Var):
            return self._var(g, s, place, then, root)
        if isinstance(g, p.TypedNode):
            return self._typed(g.type, g.scope, place) and self.fits(g.inner, s, then, root=root)
        if isinstance(g, p.Guarded):
            return not (self.guards and g.guards) and self.fits(g.inner, s, then, root=root)
        if isinstance(g, p.OptionalInput):
            if isinstance(place.node, p.OptionalInput):
                inner = place.node.inner
                return self._trying(lambda: self.fits(g.inner, inner, then)) and then()
            return self.fits(g.inner, s, then)
        if isinstance(place.node, p.OptionalInput):
            return False
        if isinstance(g, p.Either):
            # An alternative that fixes captures may contradict them elsewhere.
            usable = [one for one, defaults in g.alternatives if not defaults]
            return any(self._trying(lambda one=one: self.fits(one, s, then, root=root)) for one in usable)
        if isinstance(g, p.Wildcard):
            return then()
        return self._plain(g, place.node, then, root)

    def _every(self, g: p.Node, s: p.Node, either: p.Either, then: Then, root: bool) -> bool:
        saved = self._saved()
        for one, _ in either.alternatives:
            self._restore(saved)
            self.chosen[id(either)] = one
            if not self.fits(g, s, then, root=root):
                return False
        return True

    def _var(self, g: p.Var, s: p.Node, place: _Place, then: Then, root: bool) -> bool:
        if isinstance(place.node, p.OptionalInput):
            return False
        ident = place.idents[-1]
        bound = self.values.get(g.slot)
        if bound is not None:
            return bound == ident and then()
        self.values[g.slot] = ident
        return then() if g.definition is None else self.fits(g.definition, s, then, root=root)

    def _plain(self, g: p.Node, s: p.Node, then: Then, root: bool) -> bool:
        if isinstance(g, p.Op | p.Output) and isinstance(s, p.Op | p.Output):
            one, other = (n.op if isinstance(n, p.Output) else n for n in (g, s))
            same = (g.index if isinstance(g, p.Output) else 0) == (s.index if isinstance(s, p.Output) else 0)
            return same and self._op(one, other, then, root)
        if isinstance(g, p.Number) and isinstance(s, p.Number):
            return _number(g, s) and then()
        if isinstance(g, p.Captured):
            if g.whole or not isinstance(s, p.Number | p.Captured) or (isinstance(s, p.Captured) and s.whole):
                return isinstance(s, p.Captured) and g.whole == s.whole and self._capture(g.slot, _ident(s)) and then()
            return self._capture(g.slot, _ident(s)) and then()
        if isinstance(g, p.Ints) and isinstance(s, p.Ints):
            same = len(g.items) == len(s.items)
            return same and all(map(self._item, g.items, s.items, [g.scope] * len(g.items))) and then()
        if isinstance(g, p.View):
            if isinstance(s, p.View) and (g.relation is None or _relation(g) == _relation(s)):
                inner = s.inner
                return self._trying(lambda: self.fits(g.inner, inner, then))
            return g.relation is None and self.fits(g.inner, s, then)
        return False

    def _op(self, g: p.Op, s: p.Op, then: Then, root: bool) -> bool:
        bound = self.ops.get(g.slot)
        if bound is not None:
            return bound is s and then()
        if (g.domain, g.op_type) != (s.domain, s.op_type) or (s.shared and not g.shared and not root):
            return False
        if g.op_type == "Split" and g.outputs != s.outputs:
            return False
        if not self._attributes(g, s):
            return False
        self.ops[g.slot] = s
        count = max(len(g.inputs), len(s.inputs))
        given = [*s.inputs, *[None] * (count - len(s.inputs))]
        wanted = [*g.inputs, *[None] * (count - len(g.inputs))]
        if self._trying(lambda: self._feed(wanted, given, 0, then)):
            return True
        return g.commutative and self._feed(wanted[::-1], given, 0, then)

    def _feed(self, wanted: list[p.Node | None], given: list[p.Node | None], at: int, then: Then) -> bool:
        if at == len(wanted):
            return then()
        one, other = wanted[at], given[at]
        if other is None:
            return (one is None or isinstance(one, p.OptionalInput)) and self._feed(wanted, given, at + 1, then)
        return one is not None and self.fits(one, other, lambda: self._feed(wanted, given, at + 1, then))

    # ---- attributes, numbers, types

    def _attributes(self, g: p.Op, s: p.Op) -> bool:
        said, asked = dict(s.attributes), dict(g.attributes)
        if not g.rest:
            if s.rest:
                return False
            for name, value in said.items():
                if name not in asked and not _same(value, _default(g, name)):
                    return False
        for name, value in asked.items():
            if isinstance(value, rules.Value) and value.name == "_":
                continue
            if name not in said:
                default = _default(g, name)
                if s.rest or default is None:
                    return False
                if isinstance(value, rules.Capture):
                    if not self._capture(g.scope.captures[value.name], ("attribute", default)):
                        return False
                elif not _same(value, default):
                    return False
            elif not self._item(value, said[name], g.scope):
                return False
        return True

    def _item(self, g: rules.Expr, s: rules.Expr, scope: p.Scope) -> bool:
        if isinstance(g, rules.Value) and g.name == "_":
            return True
        if isinstance(g, rules.Capture):
            plain = _plain(s)
            ident = ("attribute", plain) if plain is not None else ("attribute of", s.span.text)
            return self._capture(scope.captures[g.name], ident)
        plain = _plain(s)
        return plain is not None and _same(g, plain)

    def _capture(self, slot: int, ident: Ident) -> bool:
        return self.captures.setdefault(slot, ident) == ident

    def _typed(self, type: rules.Type, scope: p.Scope, place: _Place) -> bool:
        """Whether the specific pattern says of a value what a type asks."""
        known = list(place.types)
        known += [fact for (ident, _), fact in self.facts.items() if ident in place.idents]
        node = place.node.inner if isinstance(place.node, p.OptionalInput) else place.node
        constant = isinstance(node, p.Number | p.Captured | p.Ints) or any(t.const for t, _ in known)
        if type.const and not constant:
            return False
        if type.dtype is not None and not any(implies(t.dtype, type.dtype) for t, _ in known):
            real = isinstance(node, p.Number) and isinstance(node.value, float) and not node.value.is_integer()
            if not (type.dtype == "float" and real):
                return False
        if type.dims is None or all(isinstance(d, syntax.AnyDims) for d in type.dims):
            return True
        wanted = type.dims
        return any(
            t.dims is not None and self._trying(lambda dims=t.dims: self._dims(wanted, scope, dims)) for t, _ in known
        )

    def _dims(self, wanted: Sequence[Any], scope: p.Scope, said: Sequence[Any]) -> bool:
        loose = [isinstance(d, syntax.AnyDims) for d in wanted]
        if any(loose) and not any(isinstance(d, syntax.AnyDims) for d in said):
            at = loose.index(True)
            tail = len(wanted) - at - 1
            if len(said) < len(wanted) - 1:
                return False
            wanted = [*wanted[:at], *wanted[at + 1 :]]
            said = [*said[:at], *said[len(said) - tail :]]
        return len(wanted) == len(said) and all(map(self._dim, wanted, said, [scope] * len(wanted)))

    def _dim(self, g: Any, s: Any, scope: p.Scope) -> bool:
        if isinstance(g, syntax.AnyDims) or isinstance(s, syntax.AnyDims):
            return isinstance(g, syntax.AnyDims) and isinstance(s, syntax.AnyDims)
        if isinstance(g, syntax.Reference) and g.text == "_":
            return True
        if isinstance(g, syntax.Reference) and g.text in scope.dims:
            if isinstance(s, syntax.Reference) and s.text == "_":
                return self.dims.setdefault(scope.dims[g.text], f"_{s.span.start}") == f"_{s.span.start}"
            return self.dims.setdefault(scope.dims[g.text], s.span.text) == s.span.text
        return isinstance(g, syntax.Number) and isinstance(s, syntax.Number) and g.value == s.value


def _ident(node: p.Node) -> Ident:
    if isinstance(node, p.Var):
        return "value", node.slot
    if isinstance(node, p.Op):
        return "op", node.slot, 0
    if isinstance(node, p.Output):
        return "op", node.op.slot, node.index
    if isinstance(node, p.Number):
        return "number", node.value, node.tolerance
    if isinstance(node, p.Captured):
        return "capture", node.slot
    return "node", id(node)


def _number(g: p.Number, s: p.Number) -> bool:
    if isinstance(g.value, bool) != isinstance(s.value, bool):
        return False
    if g.tolerance is None:
        return s.tolerance is None and g.value == s.value
    if s.tolerance is not None:
        return g.value == s.value and (s.tolerance <= g.tolerance or g.tolerance == s.tolerance)
    return abs(g.value - s.value) <= (g.tolerance or 1e-6) * abs(g.value)


def _relation(view: p.View) -> tuple[str, str] | None:
    if view.relation is None:
        return None
    kind, said = view.relation
    plain = None if said is None else _plain(said)
    return None if said is not None and plain is None else (kind, repr(plain))


def _plain(value: rules.Expr) -> Any:
    """What a literal is worth; None for what is no literal."""
    if isinstance(value, rules.Literal_):
        return value.value
    if isinstance(value, rules.Prefix) and value.operator == "-":
        inner = _plain(value.operand)
        return -inner if isinstance(inner, int | float) else None
    if isinstance(value, rules.Items):
        items = [_plain(item) for item in value.items]
        return None if any(item is None for item in items) else tuple(items)
    return None


def _same(value: rules.Expr, other: Any) -> bool:
    """Whether an expression of an attribute stands for exactly this."""
    if other is None:
        return False
    if isinstance(value, rules.Approximate) and isinstance(other, int | float):
        return abs(value.value - other) <= (value.tolerance or 1e-6) * abs(value.value)
    return _plain(value) == other


def _default(op: p.Op, name: str) -> Any:
    from trtc.ir.schemas import schemas

    known = schemas().get(op.op_type) if not op.domain else None
    attribute = known.attributes.get(name) if known is not None else None
    return attribute.default if attribute is not None else None


def implies(said: str | None, wanted: str) -> bool:
    return said == wanted or (wanted == "float" and said in _FLOATS) or (wanted == "int" and said in _INTS)


def facts(node: p.Node | None, seen: frozenset[int] = frozenset()) -> Facts:
    """The types that hold in every match. Of alternatives, what all of them say."""
    if node is None or id(node) in seen:
        return {}
    seen = seen | {id(node)}
    if isinstance(node, p.Either):
        each = [facts(one, seen) for one, _ in node.alternatives]
        return {key: fact for key, fact in each[0].items() if all(key in other for other in each[1:])}
    found: Facts = {}
    if isinstance(node, p.TypedNode):
        type = node.type
        dims = None if type.dims is None else tuple(d.span.text for d in type.dims)
        inner = node.inner.inner if isinstance(node.inner, p.OptionalInput) else node.inner
        found[_ident(inner), (type.const, type.dtype, dims)] = (type, node.scope)
    for one in below(node):
        found |= facts(one, seen)
    return found


def below(node: p.Node) -> Iterator[p.Node | None]:
    if isinstance(node, p.Var):
        yield node.definition
    elif isinstance(node, p.TypedNode | p.Guarded | p.View | p.OptionalInput):
        yield node.inner
    elif isinstance(node, p.Output):
        yield node.op
    elif isinstance(node, p.Op):
        yield from node.inputs


def operations(node: p.Node | None) -> list[p.Op]:
    found: dict[int, p.Op] = {}
    waiting, seen = [node], set[int]()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, p.Op):
            found[id(one)] = one
        waiting += [a for a, _ in one.alternatives] if isinstance(one, p.Either) else list(below(one))
    return list(found.values())
