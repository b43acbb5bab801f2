"""Rules applied to a module: candidates by operator, matches claimed one after another, each replaced at once."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import onnx_ir as oir

from trtc import collector
from trtc.diagnostics import Remark, RemarkKind, plural
from trtc.ir import dims, edit, provenance
from trtc.ir.module import Module, constant_tensor
from trtc.lang import rules
from trtc.pipeline.passes import Context, PassResult
from trtc.rewrite import program as p
from trtc.rewrite.build import Builder, Declined, Workshop
from trtc.rewrite.dependence import circular
from trtc.rewrite.evaluate import failing, holds, said
from trtc.rewrite.functions import ABSENT
from trtc.rewrite.index import Index
from trtc.rewrite.match import Matcher, matcher
from trtc.rewrite.program import Program, compiled
from trtc.rewrite.state import OutOfBudget, State

if TYPE_CHECKING:
    from trtc.rewrite.state import Constants

#: Bytes that constants made by one application may add, beyond what becomes unused.
MAX_GROWTH: Final = 64 << 20

#: A weight with more users than any match has is not freed by one.
_POPULAR: Final = 256


@dataclass(slots=True)
class Rule:
    """A rewrite ready to run."""

    program: Program
    match: Matcher
    roots: frozenset[tuple[str, str]] | None

    @property
    def name(self) -> str:
        return self.program.rule.name.text


_PREPARED: dict[int, tuple[rules.Rewrite, Rule]] = {}


def prepare(rule: rules.Rewrite) -> Rule:
    """Compile a rule, once."""
    found = _PREPARED.get(id(rule))
    if found is not None and found[0] is rule:
        return found[1]
    program = compiled(rule)
    first = program.targets[0]
    made = Rule(program, matcher(first), p.roots(first))
    _PREPARED[id(rule)] = (rule, made)
    return made


def apply(
    module: Module, wanted: Sequence[rules.Rule], context: Context, *, max_growth: int = MAX_GROWTH
) -> PassResult:
    """Run rules once over a module: by benefit, then as declared. Counts are by name of the rule.

    What was matched is gone for the rules that follow; what a rule makes can be part of a later match, but is never
    the root of one in the same application.
    """
    with collector.paused():
        return _Run(module, context, max_growth).all(wanted)


class _Run:
    def __init__(self, module: Module, context: Context, max_growth: int) -> None:
        from trtc.rewrite.constants import Constants

        self.module = module
        self.context = context
        self.constants: Constants = Constants(module)
        plugins = getattr(context, "plugins", None)
        self.shop = Workshop(module, self.constants, context.evaluator, max_growth, plugins is not False)
        self.counts: Counter[str] = Counter()
        self.unsorted: set[oir.Graph] = set()
        self.index: Index

    def all(self, wanted: Sequence[rules.Rule]) -> PassResult:
        rewrites = [prepare(r) for r in wanted if isinstance(r, rules.Rewrite)]
        if wanted:
            self.index = Index(self.module, self.constants)
        for rule in sorted(rewrites, key=lambda r: -r.program.benefit):
            self._rule(rule, self.index.candidates(rule.program.targets[0], rule.roots))
            self._told(rule.program.rule)
        for one in wanted:
            if isinstance(one, rules.Horizontal):
                from trtc.rewrite.horizontal import merge

                self.counts[one.name.text] += merge(self.module, one, self.context, self.shop, self.index)
                self._told(one)
        for graph in self.unsorted:
            graph.sort()
        return PassResult.of(**self.counts)

    def _told(self, rule: rules.Rule) -> None:
        if self.context.watch is not None:
            self.context.watch(self.module, rule)

    def _rule(self, rule: Rule, candidates: Iterable[oir.Node]) -> None:
        state = State(self.module, self.constants, rule.program)
        own = not rule.program.rule.recursive
        for node in candidates:
            if node.graph is None or not node.outputs:
                continue
            if own and provenance.rule(node) == rule.name:
                continue
            state.clear()
            try:
                if not find(state, rule, node):
                    continue
            except OutOfBudget:
                self._declined(rule, node, "the attempt took too many steps: its alternatives do not fail early")
                continue
            if own and any(provenance.rule(made) == rule.name for made, shared in state.nodes if not shared):
                continue
            try:
                self._replace(rule, state, node)
            except Declined as error:
                self._declined(rule, node, str(error))

    # ---- one match

    def _replace(self, rule: Rule, state: State, node: oir.Node) -> None:
        rewrite = rule.program.rule
        matched = list(dict.fromkeys(made for made, _ in state.nodes))
        targets = [state.values[t.slot] for t in rule.program.targets]
        olds = [t for t in targets if t is not None]
        if len(olds) != len(targets):
            raise Declined("not every value that it replaces is there")
        exposed = outside_user(state, matched, olds)
        if exposed is not None:
            raise Declined(exposed)
        builder = Builder(self.shop, state, rule.program.scope, matched, rule.name)
        try:
            news = replacement(builder, rewrite, olds)
            check(self.module, olds, news)
            if builder.nodes and any(_empty(self.module, made) for made in matched):
                raise Declined("it is about tensors without elements, for which operators have rules of their own")
            if circular(olds, news):
                raise Declined("what it replaces is made from each other")
            # What the match frees is asked only where something is added: a weight may have very many users.
            growth = builder.added - freed(self.shop, matched) if builder.added else 0
            if growth > self.shop.budget:
                raise Declined(f"its constants would add {growth} bytes, and {self.shop.budget} are left")
        except BaseException:
            builder.discard()
            raise
        self.shop.budget -= max(growth, 0)
        for made in builder.nodes if rewrite.assumes else ():
            provenance.assume(made, rewrite.assumes)
        name = node.name
        span = rewrite.name.span
        commit(self.module, matched, olds, news, builder.nodes, self.unsorted)
        self.index.renew(news)
        self.counts[rule.name] += 1
        message = f"{plural(len(matched), 'operation')} became {len(builder.nodes)}"
        if rewrite.assumes:
            message += f", assuming {', '.join(sorted(rewrite.assumes))} values"
        self.context.remarks.append(Remark(RemarkKind.APPLIED, rule.name, message, name, span))

    def _declined(self, rule: Rule, node: oir.Node, why: str) -> None:
        span = rule.program.rule.name.span
        self.context.remarks.append(Remark(RemarkKind.DECLINED, rule.name, why, node.name, span))


def find(state: State, rule: Rule, node: oir.Node) -> bool:
    """Whether the rule matches with this node at its root: pattern, guards, and the further targets.

    Raises:
        OutOfBudget: the attempt was stopped.
    """

    def done() -> bool:
        return _others(state, rule) and _guards(state, rule)

    return any(rule.match(state, value, done) for value in node.outputs)


def _guards(state: State, rule: Rule) -> bool:
    mark = state.mark()
    pending = [*state.guards, *((guard, rule.program.scope) for guard in rule.program.rule.guards)]
    while True:
        # A guard may bind what one before it asks for: those of patterns inside come after those of the pattern that
        # uses them. Until nothing more is bound, what is open does not count yet.
        bound = sum(c is not None for c in state.captures)
        for guard, scope in pending:
            if not holds(state, guard, scope):
                if state.trace is not None:
                    failed = failing(state, guard, scope)
                    state.miss(failed.span, None, lambda failed=failed, scope=scope: said(state, failed, scope), 2)
                state.undo(mark)
                return False
        if bound == sum(c is not None for c in state.captures):
            return True


def _others(state: State, rule: Rule) -> bool:
    """Targets that the first one does not lead to are found from what is bound, by way of its users."""
    for target in rule.program.targets[1:]:
        if state.values[target.slot] is not None:
            continue
        run = matcher(target)
        for value in _climb(state, target):
            mark = state.mark()
            if run(state, value, lambda: True):
                break
            state.undo(mark)
        else:
            return state.miss(target.span, None, lambda target=target: f"nothing fits `{target.name}`", 1)
    return True


def _climb(state: State, target: p.Var) -> list[oir.Value]:
    """Values that may be a target: results of users, step by step, of what it is made of and is bound already."""

    def reach(node: p.Node | None) -> list[oir.Value]:
        if isinstance(node, p.Var):
            bound = state.values[node.slot]
            return [bound] if bound is not None else reach(node.definition)
        if isinstance(node, p.TypedNode | p.Guarded | p.View | p.OptionalInput):
            return reach(node.inner)
        if isinstance(node, p.Either):
            return [v for one, _ in node.alternatives for v in reach(one)]
        if isinstance(node, p.Output):
            return reach(node.op)
        if isinstance(node, p.Op):
            for one in node.inputs:
                below = reach(one)
                if below:
                    users = {u.node: None for v in below for u in v.uses() if u.node.op_type == node.op_type}
                    return [out for user in users for out in user.outputs]
        return []

    return reach(target)


def outside_user(state: State, matched: Sequence[oir.Node], olds: Sequence[oir.Value]) -> str | None:
    """What stops a match from being taken apart: an interior value that something outside uses."""
    inside = set(matched)
    replaced = set(olds)
    for node, shared in state.nodes:
        if shared:
            continue
        for value in node.outputs:
            if value in replaced:
                continue
            if value.is_graph_output():
                return f"`{value.name}`, inside the match, is an output of the graph"
            for use in value.uses():
                if use.node not in inside:
                    return f"`{value.name}`, inside the match, is also used by {use.node.op_type} `{use.node.name}`"
    return None


def replacement(builder: Builder, rewrite: rules.Rewrite, olds: Sequence[oir.Value]) -> list[oir.Value]:
    """The values of the right-hand side, one for each of `olds`. Raises Declined."""
    for let in rewrite.lets:
        made = builder.build(let.value)
        items = made if isinstance(made, list) else [made]
        for target, item in zip(let.targets, items, strict=False):
            builder.lets[target.name] = item
    made = builder.build(rewrite.replacement)
    items: list[Any] = made if isinstance(made, list) else [made]
    if len(items) != len(olds):
        raise Declined(f"it gives {len(items)} values for {len(olds)}")
    news: list[oir.Value] = []
    for item, old in zip(items, olds, strict=True):
        if item is ABSENT:
            raise Declined("the replacement is not there in this match")
        dtype = builder.module.dtype(old)
        news.append(builder.value(item, dtype or oir.DataType.FLOAT))
    return news


def check(module: Module, olds: Sequence[oir.Value], news: Sequence[oir.Value]) -> None:
    """Raises Declined where a replacement has not provably the dtype and shape of what it replaces."""
    from trtc.diagnostics import DiagnosticError

    for old, new in zip(olds, news, strict=True):
        try:
            before, after = module.fact(old), module.fact(new)
        except DiagnosticError as error:
            raise Declined(f"the replacement is not valid: {error.diagnostics[0].message}") from None
        if before.dtype is not None and before.dtype != after.dtype:
            found = "not known" if after.dtype is None else after.dtype.name.lower()
            raise Declined(f"the replacement's dtype is {found}, not {before.dtype.name.lower()}")
        if before.shape is not None and before.shape != after.shape:
            raise Declined(f"the replacement's shape is {_shape(after.shape)}, not {_shape(before.shape)}")


def _empty(module: Module, node: oir.Node) -> bool:
    """Whether an operand of a node is known to have no elements."""
    return any(value is not None and 0 in (module.shape(value) or ()) for value in node.inputs)


def _shape(shape: tuple[Any, ...] | None) -> str:
    return "not known" if shape is None else f"[{', '.join(dims.text(d) for d in shape)}]"


def freed(shop: Workshop, matched: Sequence[oir.Node]) -> int:
    """Bytes of constants that nothing but the match uses."""
    inside = set(matched)
    seen: set[oir.Value] = set()
    total = 0
    for node in matched:
        for value in node.inputs:
            if value is None or value in seen or value in shop.popular:
                continue
            seen.add(value)
            tensor = constant_tensor(value)
            if tensor is None:
                continue
            uses = value.uses()
            if len(uses) > _POPULAR:
                shop.popular.add(value)
            elif all(use.node in inside for use in uses):
                total += tensor.nbytes
    return total


def commit(
    module: Module,
    matched: Sequence[oir.Node],
    olds: Sequence[oir.Value],
    news: Sequence[oir.Value],
    nodes: Sequence[oir.Node],
    unsorted: set[oir.Graph],
) -> None:
    """Put new nodes into the graph, let everything use them, and remove what nothing uses any more."""
    anchor = olds[0].producer()
    assert anchor is not None
    if nodes:
        edit.insert_before(anchor, nodes)
    if len(olds) > 1 and isinstance(anchor.graph, oir.Graph):
        unsorted.add(anchor.graph)
    for old, new in zip(olds, news, strict=True):
        edit.replace_value(module, old, new)
    waiting = [node for node in matched if node.graph is not None]
    while waiting:
        left = [n for n in waiting if any(v.is_graph_output() or v.uses() for v in n.outputs)]
        if len(left) == len(waiting):
            break
        stays = set(left)
        for node in waiting:
            if node not in stays:
                edit.remove(module, node)
        waiting = left


__all__ = ["MAX_GROWTH", "Index", "Rule", "apply", "check", "commit", "find", "freed", "prepare"]
