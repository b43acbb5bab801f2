"""Siblings over one input merged into one wider operation: N of them, of whatever widths.

A member is a match of the member pattern. Members over the same value, with equal `same` captures, are a group; the
largest groups come first, then the ones that come first in the graph. Each group becomes one operation and a Split.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError, Remark, RemarkKind
from trtc.ir import provenance
from trtc.ir.module import Module, constant_tensor
from trtc.ir.nesting import walk
from trtc.lang import rules
from trtc.pipeline.passes import Context
from trtc.rewrite import engine
from trtc.rewrite.build import Builder, Declined, Workshop
from trtc.rewrite.dependence import made_from
from trtc.rewrite.functions import ABSENT
from trtc.rewrite.match import matcher
from trtc.rewrite.merge_cost import STRUCTURAL, Cost
from trtc.rewrite.program import Compiler, Program, TypedNode, Var, least
from trtc.rewrite.program import roots as roots_of
from trtc.rewrite.state import OutOfBudget, State

#: Names of horizontals that ran: what one of them made is no member of another.
_RAN: Final[set[str]] = set()


@dataclass(frozen=True, slots=True)
class Member:
    """One sibling. `others`: values that it takes besides the shared input and constants."""

    state: State
    result: oir.Value
    over: oir.Value
    key: tuple[Any, ...]
    nodes: tuple[oir.Node, ...]
    others: tuple[oir.Value, ...]
    at: int
    """Place of its result in the graph."""


@dataclass(frozen=True, slots=True)
class Siblings:
    """A horizontal ready to run. over: the slot of the shared input."""

    horizontal: rules.Horizontal
    rule: engine.Rule
    over: int

    @property
    def name(self) -> str:
        return self.horizontal.name.text


_PREPARED: Final[dict[int, Siblings]] = {}


def prepare(horizontal: rules.Horizontal) -> Siblings:
    """Compile the member pattern, once."""
    found = _PREPARED.get(id(horizontal))
    if found is None or found.horizontal is not horizontal:
        found = _PREPARED[id(horizontal)] = _compiled(horizontal)
    return found


def _compiled(horizontal: rules.Horizontal) -> Siblings:
    """Compile the member pattern.

    Raises:
        DiagnosticError: T0340 for what the checker of the language cannot know.
    """
    compiler = Compiler(horizontal.environment)
    scope = compiler.scope()
    over = compiler.var(horizontal.over.name.text, horizontal.over.span)
    type_ = horizontal.over.type
    compiler.type(type_, scope)
    plain = type_.dtype is None and type_.dims is None and not type_.const
    scope.values[over.name] = over if plain else TypedNode(over, type_, scope, horizontal.over.span)
    compiler.equations((*horizontal.equations, horizontal.member), scope)
    for capture in horizontal.same:
        compiler.capture(capture.name, scope)
    target = scope.values.get(horizontal.member.targets[0].name)
    if not isinstance(target, Var) or target.definition is None:
        raise DiagnosticError(Diagnostic("T0340", "a member has one result, which has a name", span=horizontal.span))
    rewrite = rules.Rewrite(
        name=horizontal.name,
        library=horizontal.library,
        equations=(*horizontal.equations, horizontal.member),
        guards=horizontal.guards,
        targets=horizontal.member.targets[:1],
        lets=(),
        replacement=horizontal.merge,
        tests=(),
        benefit=None,
        recursive=False,
        assumes=frozenset(),
        doc=horizontal.doc,
        span=horizontal.span,
        environment=horizontal.environment,
    )
    program = Program(
        rewrite,
        scope,
        (target,),
        compiler.values,
        compiler.captures,
        compiler.dims,
        compiler.ops,
        tuple(compiler.names),
        least(target),
    )
    return Siblings(horizontal, engine.Rule(program, matcher(target), roots_of(target)), over.slot)


def merge(
    module: Module,
    horizontal: rules.Horizontal,
    context: Context,
    shop: Workshop,
    index: engine.Index | None = None,
    cost: Cost = STRUCTURAL,
) -> int:
    """Merge the groups of siblings that `horizontal` describes; how many there were.

    `index`: one of the module, where there is one already. `cost` says of each group whether the merge is worth it.
    """
    siblings = prepare(horizontal)
    _RAN.add(siblings.name)
    index = index or engine.Index(module, shop.constants)
    members = _Finder(module, shop, siblings, index).members()
    groups: dict[tuple[Any, ...], list[Member]] = {}
    by_input: dict[oir.Value, list[Member]] = {}
    for member in sorted(members, key=lambda m: m.at):
        groups.setdefault((member.over, member.key), []).append(member)
        by_input.setdefault(member.over, []).append(member)
    speaker = _Speaker(siblings, context)
    merged: set[oir.Value] = set()
    count = 0
    for group in sorted(groups.values(), key=lambda g: (-len(g), g[0].at)):
        left = [m for m in group if all(node.graph is not None for node in m.nodes)]
        chosen = _independent(left, speaker)
        if len(chosen) < 2:
            continue
        names = [m.result.name or "" for m in chosen]  # an output of the graph gives its name to what replaces it
        try:
            why = cost.declines(module, chosen[0].over, [m.result for m in chosen], [m.nodes for m in chosen])
            if why is not None:
                raise Declined(why)
            index.renew(_merge(module, siblings, chosen, shop))
        except Declined as error:
            speaker.declined(chosen, str(error))
            continue
        merged.update(m.result for m in chosen)
        speaker.applied(chosen, names)
        count += 1
    for over, alike in by_input.items():
        alone = [m for m in alike if m.result not in merged and len(groups[m.over, m.key]) == 1]
        if alone and len(alike) > 1:
            speaker.apart(over, alone)
    return count


class _Finder:
    """Finds the members: matches that share no node, those of the most operations first."""

    def __init__(self, module: Module, shop: Workshop, siblings: Siblings, index: engine.Index) -> None:
        self._module = module
        self._shop = shop
        self._siblings = siblings
        self._index = index
        self._places: dict[oir.Node, int] = {}

    def members(self) -> list[Member]:
        rule = self._siblings.rule
        found: list[Member] = []
        candidates = self._index.candidates(rule.program.targets[0], rule.roots)
        if len(candidates) > 1:
            self._places = {node: at for at, node in enumerate(walk(self._module.graph))}
        state = self._new()
        for node in candidates:
            if node.graph is None:
                continue
            state.clear()
            try:
                fits = engine.find(state, rule, node)
            except OutOfBudget:
                continue
            member = self._member(state) if fits else None
            if member is not None:
                found.append(member)
                state = self._new()
        claimed: set[oir.Node] = set()
        kept: list[Member] = []
        for member in sorted(found, key=lambda m: (-len(m.nodes), m.at)):
            if claimed.isdisjoint(member.nodes):
                claimed.update(member.nodes)
                kept.append(member)
        return kept

    def _new(self) -> State:
        return State(self._module, self._shop.constants, self._siblings.rule.program)

    def _member(self, state: State) -> Member | None:
        """What matched, unless something outside uses its inside or a horizontal made it."""
        program = self._siblings.rule.program
        over, result = state.values[self._siblings.over], state.values[program.targets[0].slot]
        root = result.producer() if result is not None else None
        if over is None or result is None or root is None or constant_tensor(over) is not None:
            return None
        nodes = tuple(dict.fromkeys(node for node, _ in state.nodes))
        if any(provenance.rule(node) in _RAN for node in nodes):
            return None
        if engine.outside_user(state, nodes, [result]) is not None:
            return None
        same = tuple(state.captures[program.scope.captures[c.name]] for c in self._siblings.horizontal.same)
        inside = set(nodes)
        others = {
            value: None
            for node in nodes
            for value in node.inputs
            if value is not None and value is not over and constant_tensor(value) is None
            if value.producer() not in inside
        }
        key = (same, self._module.dtype(result), root.graph)
        return Member(state, result, over, key, nodes, tuple(others), self._places.get(root, 0))


def _independent(group: Sequence[Member], speaker: _Speaker) -> list[Member]:
    """The members of a group of which none is made from another's result."""
    chosen: list[Member] = []
    results: set[oir.Value] = set()
    for member in group:
        if member.others and results and made_from(member.others, results):
            speaker.declined([member], "it is made from the result of another member")
            continue
        chosen.append(member)
        results.add(member.result)
    return chosen


def _merge(module: Module, siblings: Siblings, group: Sequence[Member], shop: Workshop) -> list[oir.Value]:
    """Put one operation and a Split in the place of the members; its results. Raises Declined."""
    first = group[0]
    nodes = list(dict.fromkeys(node for member in group for node in member.nodes))
    builder = Builder(shop, first.state, siblings.rule.program.scope, nodes, siblings.name)
    builder.siblings = tuple(member.state for member in group)
    horizontal = siblings.horizontal
    olds = [member.result for member in group]
    try:
        wide = builder.build(horizontal.merge)
        if not isinstance(wide, oir.Value):
            raise Declined("the merged operation is not a value of the graph")
        axis = builder.build(horizontal.axis)
        sizes: list[int] = []
        for member in group:
            builder.state = member.state
            size = builder.build(horizontal.sizes)
            if isinstance(size, bool) or not isinstance(size, int):
                raise Declined("the size of a member's result is not known")
            sizes.append(size)
        builder.state = first.state
        news = builder.op("", "Split", [wide, tuple(sizes)], {"axis": axis})
        engine.check(module, olds, news)
        freed = engine.freed(shop, nodes)
        if builder.added - freed > shop.budget:
            raise Declined(f"its constants would add {builder.added - freed} bytes, and {shop.budget} are left")
    except BaseException:
        builder.discard()
        raise
    shop.budget -= max(builder.added - freed, 0)
    unsorted: set[oir.Graph] = set()
    engine.commit(module, nodes, olds, news, builder.nodes, unsorted)
    if any(member.others for member in group):
        for graph in unsorted:
            graph.sort()
    return news


class _Speaker:
    """Remarks of one horizontal."""

    def __init__(self, siblings: Siblings, context: Context) -> None:
        self._siblings = siblings
        self._context = context

    def applied(self, group: Sequence[Member], names: Sequence[str]) -> None:
        listed = ", ".join(f"`{name}`" for name in names)
        self._say(
            RemarkKind.APPLIED, group[0], f"{len(group)} siblings over `{group[0].over.name}` became one: {listed}"
        )

    def declined(self, group: Sequence[Member], why: str) -> None:
        names = ", ".join(f"`{m.result.name}`" for m in group)
        self._say(RemarkKind.DECLINED, group[0], f"{names} stay: {why}")

    def apart(self, over: oir.Value, alone: Sequence[Member]) -> None:
        """Members over one value that differ in what has to be the same."""
        scope = self._siblings.rule.program.scope
        for member in alone:
            said = [
                f"${c.name} = {member.state.captures[scope.captures[c.name]]}" for c in self._siblings.horizontal.same
            ]
            what = ", ".join(said) or "its dtype or its graph"
            why = f"none of its siblings over `{over.name}` has {what}, too"
            self._say(RemarkKind.DECLINED, member, f"`{member.result.name}` stays: {why}")

    def _say(self, kind: RemarkKind, member: Member, message: str) -> None:
        node = member.nodes[0].name
        self._context.remarks.append(
            Remark(kind, self._siblings.name, message, node, self._siblings.horizontal.name.span)
        )


__all__ = ["ABSENT", "Member", "Siblings", "merge", "prepare"]
