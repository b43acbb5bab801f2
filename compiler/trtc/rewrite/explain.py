"""Why a rule did not match: for each place that came near, how far it came and what stopped it.

Two ways lead to a near miss. From the root of the pattern downwards: a node that may be the root, matched as far as it
goes. And from inside the pattern upwards: a piece of it that fits whole, and is not used as the pattern uses it.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import onnx_ir as oir

from trtc.diagnostics import DiagnosticError, Remark, RemarkKind, Span, plural
from trtc.ir import dims, provenance
from trtc.ir.module import Module
from trtc.ir.nesting import walk
from trtc.lang import rules
from trtc.rewrite import engine
from trtc.rewrite import program as p
from trtc.rewrite.constants import Constants
from trtc.rewrite.match import Matcher, matcher
from trtc.rewrite.operators import VIEWS
from trtc.rewrite.state import OutOfBudget, State

#: Pieces of a pattern that are looked for on their own, the largest first.
_PIECES: Final = 12
#: Users of a value that are tried on the way up.
_USERS: Final = 4
#: How near a match is that fits and was declined.
_WHOLE: Final = 3


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A place that a rule came near to matching. Plain data: it outlives the graph.

    root: the name of the candidate, a node of `op_type`. whole: everything fits, and the rewrite was declined.
    value: the value at which it stopped, with its type and what makes it. nodes: names of the nodes that fit.
    near: as in `state.Trace`.
    """

    rule: str
    root: str
    op_type: str
    matched: int
    operations: int
    whole: bool
    near: int
    reason: str
    span: Span | None
    value: str | None = None
    made_by: str | None = None
    nodes: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def progress(self) -> str:
        return f"{self.matched} of {plural(self.operations, 'operation')}"

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "rule": self.rule,
            "node": self.root,
            "op_type": self.op_type,
            "matched": self.matched,
            "operations": self.operations,
            "declined": self.whole,
            "reason": self.reason,
        }
        if self.span is not None:
            line, column = self.span.source.position(self.span.start)
            out["span"] = {"path": self.span.source.path, "line": line, "column": column, "text": self.span.text}
        out |= {"value": self.value, "made_by": self.made_by, "nodes": list(self.nodes), "origins": list(self.origins)}
        return out


@dataclass(slots=True)
class _Best:
    """The trace of one attempt that keeps the furthest miss: by operations, by nearness, by all that was bound; of
    equal ones the first."""

    key: tuple[int, int, int] = (-1, -1, 0)
    span: Span | None = None
    reason: Callable[[], str] = str
    value: oir.Value | None = None
    slots: frozenset[int] = frozenset()
    nodes: tuple[oir.Node, ...] = ()

    def miss(self, state: State, span: Span, value: oir.Value | None, reason: Callable[[], str], near: int) -> None:
        key = (len(state.ops) - state.ops.count(None), near, len(state.trail))
        if key > self.key:
            self.key, self.span, self.value = key, span, value
            # Of many attempts few are told. What a condition says reads bindings, which will be taken back.
            self.reason = _text(reason()) if near > 1 else reason
            self.slots = _bound(state)
            self.nodes = tuple(dict.fromkeys(node for node, _ in state.nodes))


@dataclass(slots=True)
class _Attempt:
    """What became of one attempt. `root`: the node that it began at."""

    root: oir.Node
    fits: bool
    slots: frozenset[int]
    nodes: tuple[oir.Node, ...]
    near: int
    reason: Callable[[], str]
    span: Span | None
    value: oir.Value | None = None

    @property
    def rank(self) -> tuple[int, int]:
        return len(self.slots), self.near


@dataclass(slots=True)
class Explainer:
    """Explains one rule on one module as it is now.

    remarks: what was said while the rule ran; a match that fits was declined for the reason that stands there.
    """

    module: Module
    rule: engine.Rule
    remarks: Sequence[Remark] = ()
    untaken: str = "it matches now: a later `apply` of the rule, or a `fixpoint`, would take it"
    """Why a match that fits stays, where no remark says it."""
    _constants: Constants = field(init=False)
    _places: dict[oir.Node, int] = field(init=False)
    _groups: dict[tuple[str, str], list[oir.Node]] = field(init=False)
    _parents: dict[p.Op, list[p.Op]] = field(init=False)
    _ops: list[p.Op] = field(init=False)
    _handles: dict[p.Op, list[p.Node]] = field(init=False)
    _matchers: dict[int, Matcher] = field(init=False)
    _declined: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._constants = Constants(self.module)
        self._places, self._groups = {}, {}
        for at, node in enumerate(walk(self.module.graph)):
            self._places[node] = at
            self._groups.setdefault((node.domain, node.op_type), []).append(node)
        self._parents, self._handles, self._matchers = {}, {}, {}
        for target in self.rule.program.targets:
            self._survey(target, None, set())
        self._ops = list(self._parents)
        self._declined = {
            r.node: r.message
            for r in self.remarks
            if r.kind is RemarkKind.DECLINED and r.source == self.rule.name and r.node is not None
        }

    def _survey(self, node: p.Node | None, parent: p.Op | None, seen: set[tuple[int, int]]) -> None:
        """Every operation of the pattern, and the operations that use it."""
        if node is None or (id(node), id(parent)) in seen:
            return
        seen.add((id(node), id(parent)))
        if isinstance(node, p.Op | p.Output):
            op = node.op if isinstance(node, p.Output) else node
            handles = self._handles.setdefault(op, [])
            if node not in handles:
                handles.append(node)
            new = op not in self._parents
            parents = self._parents.setdefault(op, [])
            if parent is not None and parent not in parents:
                parents.append(parent)
            if new:
                for one in op.inputs:
                    self._survey(one, op, seen)
            return
        for one in children(node):
            self._survey(one, parent, seen)

    # ---- what is asked

    def misses(self, limit: int = 5) -> list[NearMiss]:
        """The nearest misses, the nearest first; of places that share operations only the nearest."""
        found: list[_Attempt] = []
        keys = self.rule.roots if self.rule.roots is not None else frozenset(self._groups)
        for node in self._in_order(n for key in keys for n in self._groups.get(key, ())):
            attempt = self._at_root(node)
            if attempt is not None:
                found.append(attempt)
        reached = max((len(a.slots) for a in found), default=0)
        found += self._pieces(reached if limit == 1 else reached - 2)
        return [self._told(a) for a in self._apart(found, limit)]

    def at(self, nodes: Sequence[oir.Node], limit: int = 5) -> list[NearMiss]:
        """What became of these nodes at every position of the pattern that they may have, the nearest first."""
        found: list[_Attempt] = []
        for node in nodes:
            for op in self._ops:
                if (op.domain, op.op_type) == (node.domain, node.op_type):
                    attempt = self._upward(op, node)
                    if attempt is not None:
                        found.append(attempt)
        found.sort(key=lambda a: (-a.rank[0], -a.rank[1]))
        told: dict[tuple[Any, ...], NearMiss] = {}
        for attempt in found:
            miss = self._told(attempt)
            told.setdefault((miss.span, miss.reason), miss)
        return list(told.values())[:limit]

    def operators(self) -> list[str]:
        """The operators of the pattern."""
        return list(dict.fromkeys(op.op_type for op in self._ops))

    # ---- attempts

    def _at_root(self, node: oir.Node) -> _Attempt | None:
        """The whole rule at a node; None where it is not there any more, or the rule made it."""
        if node.graph is None or not node.outputs:
            return None
        recursive = self.rule.program.rule.recursive
        if not recursive and provenance.rule(node) == self.rule.name:
            return None
        best = _Best()
        state = self._state(best)
        try:
            if not engine.find(state, self.rule, node):
                return _Attempt(node, False, best.slots, best.nodes, best.key[1], best.reason, best.span, best.value)
        except OutOfBudget:
            reason = "the attempt took too many steps: its alternatives do not fail early"
            return _Attempt(
                node, False, best.slots, best.nodes, best.key[1], _text(reason), self.rule.program.rule.name.span
            )
        return self._whole(node, state)

    def _whole(self, node: oir.Node, state: State) -> _Attempt:
        """A match that fits, and why it was not taken."""
        rewrite = self.rule.program.rule
        matched = tuple(dict.fromkeys(made for made, _ in state.nodes))
        olds = [v for v in (state.values[t.slot] for t in self.rule.program.targets) if v is not None]
        span, value = rewrite.name.span, None
        reason = self._declined.get(node.name or "")
        own = [n for n, shared in state.nodes if not shared and provenance.rule(n) == self.rule.name]
        exposed = engine.outside_user(state, matched, olds)
        if exposed is not None:
            reason = exposed
            where = next((n for n in matched if any(f"`{v.name}`" in exposed for v in n.outputs)), None)
            op = next((op for op in self._ops if where is not None and state.ops[op.slot] is where), None)
            span = op.span if op is not None else span
            value = where.outputs[0] if where is not None else None
        elif own and not rewrite.recursive:
            reason = f"`{self.rule.name}` made {own[0].op_type} `{own[0].name}` itself, and it is not `recursive`"
        elif reason is not None:
            span = rewrite.replacement.span
        else:
            # Of siblings, the remark at one of them names all.
            named = (m for m in self._declined.values() if any(f"`{v.name}`" in m for v in olds))
            reason = next(named, self.untaken)
        return _Attempt(node, True, _bound(state), matched, _WHOLE, _text(reason), span, value)

    def _piece(self, op: p.Op, node: oir.Node) -> _Attempt | None:
        """One operation of the pattern, with all that is below it, at a node."""
        last: _Attempt | None = None
        for handle in self._handles[op]:
            index = handle.index if isinstance(handle, p.Output) else 0
            if index >= len(node.outputs):
                continue
            run = self._matchers.get(id(handle))
            if run is None:
                run = self._matchers[id(handle)] = matcher(handle)
            best = _Best()
            state = self._state(best)
            try:
                if run(state, node.outputs[index], lambda: True):
                    nodes = tuple(dict.fromkeys(made for made, _ in state.nodes))
                    return _Attempt(node, True, _bound(state), nodes, 0, str, op.span)
            except OutOfBudget:
                continue
            last = _Attempt(node, False, best.slots, best.nodes, best.key[1], best.reason, best.span, best.value)
        return last

    def _pieces(self, reached: int) -> list[_Attempt]:
        """Pieces of the pattern, of more than `reached` operations, that fit whole; each followed upwards to where it
        stops."""
        heads = set(p.heads(self.rule.program.targets[0]) or ())
        inner = [(p.least(op), op) for op in self._ops if op not in heads]
        inner.sort(key=lambda pair: -pair[0])
        found: list[_Attempt] = []
        seen: set[oir.Node] = set()
        for size, op in inner[:_PIECES]:
            if size < 2 or size <= reached:
                break
            for node in self._groups.get((op.domain, op.op_type), ()):
                if node in seen or node.graph is None:
                    continue
                piece = self._piece(op, node)
                if piece is None or not piece.fits:
                    continue
                seen.update(piece.nodes)
                attempt = self._above(op, piece, 0)
                if attempt is not None:
                    found.append(attempt)
                    reached = max(reached, len(attempt.slots) - 2)
        return found

    def _upward(self, op: p.Op, node: oir.Node) -> _Attempt | None:
        """A node at a position: downwards as far as it goes and, where all of that fits, upwards."""
        piece = self._piece(op, node)
        if piece is None or not piece.fits:
            return piece
        return self._above(op, piece, 0)

    def _above(self, op: p.Op, piece: _Attempt, depth: int) -> _Attempt | None:
        """Where the way up from a piece that fits stops."""
        found: list[_Attempt] = []
        if op in (p.heads(self.rule.program.targets[0]) or ()):
            at_root = self._at_root(piece.root)
            if at_root is not None:
                found.append(at_root)
        users = _users(piece.root)
        for parent in self._parents[op] if depth < 64 else ():
            fitting = [u for u in users if (u.domain, u.op_type) == (parent.domain, parent.op_type)]
            if not fitting:
                reason = _used(piece.root, users, parent.op_type)
                value = piece.root.outputs[0]
                found.append(
                    _Attempt(piece.root, False, piece.slots, piece.nodes, 1, _text(reason), parent.span, value)
                )
            for user in fitting[:_USERS]:
                above = self._piece(parent, user)
                if above is None:
                    continue
                if above.fits:
                    higher = self._above(parent, above, depth + 1)
                    found += [higher] if higher is not None else []
                else:
                    above.slots |= piece.slots
                    above.nodes = tuple(dict.fromkeys((*above.nodes, *piece.nodes)))
                    found.append(above)
        return max(found, key=lambda a: a.rank, default=None)

    def _state(self, best: _Best) -> State:
        state = State(self.module, self._constants, self.rule.program)
        state.trace = best
        return state

    # ---- the choice

    def _in_order(self, nodes: Iterable[oir.Node]) -> list[oir.Node]:
        return sorted(nodes, key=lambda n: self._places[n])

    def _apart(self, found: list[_Attempt], limit: int) -> list[_Attempt]:
        """The best attempts that do not tell of the same place."""
        found.sort(key=lambda a: (-a.rank[0], -a.rank[1], self._places.get(a.root, 0)))
        kept: list[_Attempt] = []
        taken: set[oir.Node] = set()
        furthest = len(found[0].slots) if found else 0
        if furthest < 2 and self.rule.program.benefit > 3:
            limit = 1  # hardly more than an operator in common: one is enough to say so
        for attempt in found:
            if kept and 2 * len(attempt.slots) <= furthest:
                break  # too far from a match to be one that was meant
            nodes = {attempt.root, *attempt.nodes}
            if attempt.root in taken or 2 * len(nodes & taken) > len(nodes):
                continue
            taken |= nodes
            kept.append(attempt)
            if len(kept) == limit:
                break
        return kept

    def _told(self, attempt: _Attempt) -> NearMiss:
        root = attempt.root
        total = sum(self._operations(target, attempt.slots, set()) for target in self.rule.program.targets)
        total = max(total, len(attempt.slots))
        # An operation whose operand is another than the pattern's does not fit, though everything below it may.
        matched = len(attempt.slots) if attempt.near > 1 else min(len(attempt.slots), total - 1)
        value = attempt.value
        return NearMiss(
            rule=self.rule.name,
            root=root.name or "",
            op_type=root.op_type,
            matched=matched,
            operations=total,
            whole=attempt.near == _WHOLE,
            near=attempt.near,
            reason=attempt.reason(),
            span=attempt.span,
            value=None if value is None else f"{value.name} {_type(self.module, value)}",
            made_by=None if value is None else _maker(value),
            nodes=tuple(node.name or node.op_type for node in attempt.nodes),
            origins=provenance.origins(root),
        )

    def _operations(self, node: p.Node | None, slots: frozenset[int], seen: set[int]) -> int:
        """How many operations the pattern has in the alternatives that an attempt took."""
        if node is None or id(node) in seen:
            return 0
        if isinstance(node, p.Either):
            reach = [(len(slots & _slots(one)), -p.least(one), one) for one, _ in node.alternatives]
            return self._operations(max(reach, key=lambda r: r[:2])[2], slots, seen)
        seen.add(id(node))
        return isinstance(node, p.Op) + sum(self._operations(one, slots, seen) for one in children(node))


def children(node: p.Node | None) -> Iterator[p.Node | None]:
    """The pattern nodes directly below one."""
    if isinstance(node, p.Var):
        yield node.definition
    elif isinstance(node, p.TypedNode | p.Guarded | p.View | p.OptionalInput):
        yield node.inner
    elif isinstance(node, p.Output):
        yield node.op
    elif isinstance(node, p.Op):
        yield from node.inputs
    elif isinstance(node, p.Either):
        for one, _ in node.alternatives:
            yield one


def _text(text: str) -> Callable[[], str]:
    return lambda: text


def _slots(node: p.Node | None) -> frozenset[int]:
    """Slots of all operations at or below a pattern node."""
    found: set[int] = set()
    waiting, seen = [node], set[int]()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, p.Op):
            found.add(one.slot)
        waiting += children(one)
    return frozenset(found)


def _bound(state: State) -> frozenset[int]:
    return frozenset(at for at, op in enumerate(state.ops) if op is not None)


def _users(node: oir.Node) -> list[oir.Node]:
    """What uses the results of a node, views in between looked through."""
    found: dict[oir.Node, None] = {}
    waiting = list(node.outputs)
    for value in waiting:
        for use in value.uses():
            if use.node not in found:
                found[use.node] = None
                if use.node.op_type in VIEWS and not use.node.domain and len(waiting) < 64:
                    waiting += use.node.outputs
    return list(found)


def _used(node: oir.Node, users: Sequence[oir.Node], wanted: str) -> str:
    """That a result is not used as the pattern uses it."""
    name = f"`{node.outputs[0].name}`"
    if any(v.is_graph_output() for v in node.outputs):
        return f"{name} is an output of the graph, the pattern needs {wanted} behind it"
    if not users:
        return f"nothing uses {name}, the pattern needs {wanted} behind it"
    shown = ", ".join(f"{u.op_type} `{u.name}`" for u in users[:2]) + (", …" if len(users) > 2 else "")
    return f"{name} is used by {shown}, the pattern needs {wanted}"


def _type(module: Module, value: oir.Value) -> str:
    try:
        fact = module.fact(value)
    except DiagnosticError:
        return "?"
    dtype = "?" if fact.dtype is None else fact.dtype.name.lower()
    return f"{dtype}[{'...' if fact.shape is None else ', '.join(dims.text(d) for d in fact.shape)}]"


def _maker(value: oir.Value) -> str:
    made = value.producer()
    if made is None:
        return "an input of the graph" if value.is_graph_input() else "a constant"
    inputs = ", ".join("-" if v is None else v.name or "" for v in made.inputs)
    return f"{made.op_type} {made.name}({inputs})"


def explainer(module: Module, rule: rules.Rule, remarks: Sequence[Remark] = ()) -> Explainer:
    """The explainer of a rule; of a horizontal, that of its members."""
    if isinstance(rule, rules.Rewrite):
        return Explainer(module, engine.prepare(rule), remarks)
    from trtc.rewrite.horizontal import prepare

    return Explainer(
        module, prepare(rule).rule, remarks, "it has no sibling: nothing else of this form takes its input"
    )


def nearest(module: Module, rule: rules.Rule, remarks: Sequence[Remark] = ()) -> NearMiss | None:
    """The nearest miss of a rule on a module as it is now; None where nothing begins to match."""
    found = explainer(module, rule, remarks).misses(1)
    return found[0] if found else None


__all__ = ["Explainer", "NearMiss", "children", "explainer", "nearest"]
