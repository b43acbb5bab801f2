"""The part of a module that a drawing shows: boxes and edges, without a place for them yet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError, escape, plural, suggest
from trtc.dump.describe import attribute_line, operand_lines, short, tooltip, value_type
from trtc.dump.families import OTHER, Family, family
from trtc.ir.module import Module

Kind = Literal["node", "input", "output", "cut"]


@dataclass(frozen=True, slots=True)
class Box:
    """A node, an input or output of the graph, or (`cut`) what stands for nodes that are left out."""

    kind: Kind
    title: str
    lines: tuple[str, ...]
    family: Family
    tooltip: str
    asked: bool = False
    """The node that the drawing is around."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A value on its way from a box to a box; `captured` where a subgraph of the target uses it."""

    source: int
    target: int
    label: str
    tooltip: str
    captured: bool


@dataclass(frozen=True, slots=True)
class View:
    title: str
    note: str | None
    """What is left out, when something is."""
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]


def view(module: Module, *, limit: int = 500, around: str | None = None) -> View:
    """The main graph with at most `limit` nodes: those nearest to `around` (the name of a node or of a value), or
    the first in topological order.

    Constants stand as lines in the boxes of their users; a subgraph stands as a line in the box of its node. Raises
    DiagnosticError (T1106) when nothing is named `around`, ValueError for a limit below 1. Linear in the graph.
    """
    if limit < 1:
        raise ValueError(f"a drawing shows at least one node, not {limit}")
    nodes = [node for node in module.graph if node.op_type != "Constant" or node.domain]
    start = [] if around is None else _find(module, nodes, around)
    shown, note = _choose(nodes, start, limit, around)
    return _Builder(module, nodes, shown, frozenset(start)).build(note)


def _choose(
    nodes: list[oir.Node], start: list[oir.Node], limit: int, around: str | None
) -> tuple[set[oir.Node], str | None]:
    if len(nodes) <= limit:
        return set(nodes), None
    left = f"shows {limit:,} of {plural(len(nodes), 'node')}"
    rest = len(nodes) - limit
    gone = "one is" if rest == 1 else f"{rest:,} are"
    if around is None:
        last = escape(nodes[limit - 1].name or nodes[limit - 1].op_type)
        note = f"{left}: those up to `{short(last)}` in topological order; {gone} left out"
        return set(nodes[:limit]), note
    kept = set(_by_distance(start, limit)[:limit])
    return kept, f"{left}: those nearest to `{short(escape(around))}`; {gone} left out"


def _by_distance(start: list[oir.Node], limit: int) -> list[oir.Node]:
    """At least `limit` nodes, if there are so many, by distance from `start`."""
    seen: dict[oir.Node, None] = dict.fromkeys(start)
    ring = list(seen)
    while ring and len(seen) < limit:
        nearby: dict[oir.Node, None] = {}
        for node in ring:
            for other in (*_producers(node), *_consumers(node)):
                if other not in seen:
                    nearby[other] = None
        ring = list(nearby)
        seen.update(nearby)
    return list(seen)


def _find(module: Module, nodes: list[oir.Node], name: str) -> list[oir.Node]:
    named = [node for node in nodes if node.name == name]
    if named:
        return named
    for node in nodes:
        if any(value.name == name for value in node.outputs):
            return [node]
    for value in module.graph.inputs:
        if value.name == name:
            return list(dict.fromkeys(_outer(use.node, module) for use in value.uses()))
    close = suggest(name, [node.name for node in nodes if node.name])
    raise DiagnosticError(
        Diagnostic(
            "T1106",
            f"no node or value is named `{escape(name)}`",
            file=None if module.path is None else str(module.path),
            help=None if close is None else f"did you mean `{escape(close)}`?",
        )
    )


def _outer(node: oir.Node, module: Module) -> oir.Node:
    """The node of the main graph that holds `node`."""
    found = node
    while isinstance(found.graph, oir.Graph) and found.graph is not module.graph:
        parent = _parent(module, found.graph)
        if parent is None:
            break
        found = parent
    return found


def _parent(module: Module, graph: oir.Graph) -> oir.Node | None:
    for node in module.nodes():
        for attr in node.attributes.values():
            if attr.type == oir.AttributeType.GRAPH and attr.value is graph:
                return node
            if attr.type == oir.AttributeType.GRAPHS and any(g is graph for g in attr.as_graphs()):
                return node
    return None


def _producers(node: oir.Node) -> list[oir.Node]:
    makers = [v.producer() for v in node.inputs if v is not None]
    return [m for m in makers if m is not None and m.graph is node.graph]


def _consumers(node: oir.Node) -> list[oir.Node]:
    return [use.node for v in node.outputs for use in v.uses() if use.node.graph is node.graph]


def captured(node: oir.Node) -> list[oir.Value]:
    """Values of the outside that the subgraphs of `node` use, each once, in order of use."""
    inner: set[oir.Graph] = set()
    found: dict[oir.Value, None] = {}
    stack = [g for a in node.attributes.values() for g in _graphs(a)]
    nodes: list[oir.Node] = []
    while stack:
        graph = stack.pop(0)
        inner.add(graph)
        for inside in graph:
            nodes.append(inside)
            stack += [g for a in inside.attributes.values() for g in _graphs(a)]
    ends = [v for graph in inner for v in graph.outputs]
    for value in [*(v for inside in nodes for v in inside.inputs if v is not None), *ends]:
        if value.graph not in inner:
            found[value] = None
    return list(found)


def _graphs(attr: oir.Attr) -> list[oir.Graph]:
    if attr.is_ref():
        return []
    if attr.type == oir.AttributeType.GRAPH:
        return [attr.as_graph()]
    return list(attr.as_graphs()) if attr.type == oir.AttributeType.GRAPHS else []


class _Builder:
    def __init__(self, module: Module, nodes: list[oir.Node], shown: set[oir.Node], asked: frozenset[oir.Node]) -> None:
        self.module = module
        self.asked = asked
        self.all = nodes
        self.shown = shown
        self.hidden = set(nodes) - shown
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self.source: dict[oir.Value, int] = {}
        self.labelled: set[oir.Value] = set()

    def build(self, note: str | None) -> View:
        graph = self.module.graph
        kept = [node for node in self.all if node in self.shown]
        needed = {v for node in kept for v in (*node.inputs, *captured(node)) if v is not None}
        ends = [v for v in graph.outputs if _shown_end(v, self.shown, note)]
        for value in graph.inputs:
            if note is None or value in needed or value in ends:
                self.source[value] = self._add_value("input", value)
        for node in kept:
            at = len(self.boxes)
            box = _node_box(self.module, node)
            self.boxes.append(replace(box, asked=True) if node in self.asked else box)
            for value in node.outputs:
                self.source[value] = at
        targets = {node: self.source[node.outputs[0]] for node in kept if node.outputs}
        for node in kept:
            if node in targets:
                self._connect(node, targets[node])
        self._cut_outputs(kept)
        for value in ends:
            at = self._add_value("output", value)
            if value in self.source:
                self._edge(value, self.source[value], at, captured=False)
        title = escape(graph.name or "graph")
        return View(f"{short(title)} · {plural(len(self.all), 'node')}", note, tuple(self.boxes), tuple(self.edges))

    def _add_value(self, kind: Kind, value: oir.Value) -> int:
        name = escape(value.name or "")
        text = f"{kind} {name}\n{value_type(self.module, value)}"
        self.boxes.append(Box(kind, short(name, 36), (value_type(self.module, value),), OTHER, text))
        return len(self.boxes) - 1

    def _connect(self, node: oir.Node, at: int) -> None:
        missing: dict[oir.Node, None] = {}
        uses = [(v, False) for v in dict.fromkeys(v for v in node.inputs if v is not None)]
        uses += [(v, True) for v in captured(node)]
        for value, inside in uses:
            if value in self.source:
                self._edge(value, self.source[value], at, captured=inside)
            elif (maker := value.producer()) is not None and maker in self.hidden:
                missing[maker] = None
        if missing:
            cut = self._add_cut(len(missing))
            self.edges.append(Edge(cut, at, "", "", False))

    def _cut_outputs(self, kept: list[oir.Node]) -> None:
        for node in kept:
            gone = {n for n in _consumers(node) if n in self.hidden}
            if gone:
                source = self.source[node.outputs[0]]
                self.edges.append(Edge(source, self._add_cut(len(gone)), "", "", False))

    def _add_cut(self, count: int) -> int:
        text = f"{plural(count, 'node')} not shown"
        self.boxes.append(Box("cut", f"… {count:,} more", (), OTHER, text))
        return len(self.boxes) - 1

    def _edge(self, value: oir.Value, source: int, target: int, *, captured: bool) -> None:
        kind = value_type(self.module, value)
        # A value with many users is labelled once; the tooltip of every edge says it.
        ends = self.boxes[source].kind == "input" or self.boxes[target].kind == "output"
        label = "" if value in self.labelled or ends else kind
        self.labelled.add(value)
        text = f"{escape(value.name or '')}\n{kind}" + ("\nused by a subgraph" if captured else "")
        self.edges.append(Edge(source, target, short(label, 44), text, captured))


def _shown_end(value: oir.Value, shown: set[oir.Node], note: str | None) -> bool:
    maker = value.producer()
    return note is None or (maker is not None and maker in shown)


def _node_box(module: Module, node: oir.Node) -> Box:
    title = escape(node.op_type)
    lines = list(operand_lines(module, node))
    if text := attribute_line(node):
        lines.insert(0, text)
    inside = Counter(
        {escape(a.name): sum(1 for g in _graphs(a) for _ in g) for a in node.attributes.values() if _graphs(a)}
    )
    lines += [f"{name}: {plural(count, 'node')}" for name, count in inside.items()]
    if node.domain:
        lines.insert(0, short(escape(node.domain), 36))
    return Box("node", short(title, 32), tuple(lines), family(node.domain, node.op_type), tooltip(module, node))
