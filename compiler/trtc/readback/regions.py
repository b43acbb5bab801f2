"""Which layers belong to which loop body or branch, and an order in which they can be read.

TensorRT's network is flat: a loop or a conditional is known only by its boundary layers. ONNX wants subgraphs, so
every layer gets a region: the network itself, the body of a loop, or a branch of a conditional.

- A layer is in a loop when it depends on an iterator or a recurrence of the loop and not through an output of it.
- A layer goes into a branch when nothing outside the branch uses it: the branch that is not taken may divide by zero.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.readback.layers import Layer, describe, refuse


@dataclass(eq=False, slots=True)
class Loop:
    """A loop by its boundary layers."""

    name: str
    limits: list[Layer] = field(default_factory=list[Layer])
    iterators: list[Layer] = field(default_factory=list[Layer])
    recurrences: list[Layer] = field(default_factory=list[Layer])
    outputs: list[Layer] = field(default_factory=list[Layer])

    def limit(self, kind: str) -> Any | None:
        """The tensor of the trip limit COUNT or WHILE."""
        return next((layer.inputs[0] for layer in self.limits if layer.handle.kind.name == kind), None)


@dataclass(eq=False, slots=True)
class Conditional:
    """An if-conditional by its condition and its output layers."""

    name: str
    condition: Layer | None = None
    outputs: list[Layer] = field(default_factory=list[Layer])


@dataclass(eq=False, slots=True)
class Region:
    """The network (no owner), a loop body (branch 0), or branch 0 (true) or 1 (false) of a conditional."""

    parent: Region | None
    owner: Loop | Conditional | None = None
    branch: int = 0
    units: list[Unit] = field(default_factory=list["Unit"])
    depth: int = 0


Unit = Layer | Loop | Conditional
#: A node of the dependency graph: a layer, or the start or end of a loop, or the end of a conditional.
_Node = Layer | tuple[str, Loop] | Conditional


@dataclass(eq=False, slots=True)
class Plan:
    """The network's region with everything in it in reading order, and the regions of each loop and conditional."""

    root: Region
    bodies: dict[Loop, Region]
    branches: dict[Conditional, tuple[Region, Region]]
    producers: dict[Any, Layer]


_LOOP_LISTS = {"ITERATOR": "iterators", "RECURRENCE": "recurrences", "LOOP_OUTPUT": "outputs", "TRIP_LIMIT": "limits"}
_INSIDE = ("ITERATOR", "RECURRENCE")


def plan(layers: list[Layer], outputs: Iterable[Any]) -> Plan:
    """Regions and order of `layers`; `outputs` are the tensors that the network gives out.

    Linear in layers and uses but for the number of loops that a layer is nested in.
    """
    producers = {tensor: layer for layer in layers for tensor in layer.outputs}
    owners = _owners(layers)
    graph = _dependencies(layers, producers, owners)
    order = _sorted(graph, layers)
    inside = _loops_of(order, graph)
    return _assign(order, graph, inside, producers, owners, outputs)


def _owners(layers: list[Layer]) -> dict[Layer, Loop | Conditional]:
    """The loop or conditional of each boundary layer."""
    loops: dict[Any, Loop] = {}
    conditionals: dict[Any, Conditional] = {}
    owners: dict[Layer, Loop | Conditional] = {}
    for layer in layers:
        if layer.kind in _LOOP_LISTS:
            handle = layer.handle.loop
            loop = loops.setdefault(handle, Loop(handle.name))
            getattr(loop, _LOOP_LISTS[layer.kind]).append(layer)
            owners[layer] = loop
        elif layer.kind in ("CONDITION", "CONDITIONAL_OUTPUT"):
            handle = layer.handle.conditional
            conditional = conditionals.setdefault(handle, Conditional(handle.name))
            if layer.kind == "CONDITION":
                conditional.condition = layer
            else:
                conditional.outputs.append(layer)
            owners[layer] = conditional
    return owners


_Graph = dict[_Node, list[_Node]]


def _dependencies(layers: list[Layer], producers: dict[Any, Layer], owners: dict[Layer, Loop | Conditional]) -> _Graph:
    """What must be read before each node. The back edge of a recurrence goes to the end of its loop."""
    graph: _Graph = {}

    def made_by(tensors: Iterable[Any]) -> list[_Node]:
        return [producers[t] for t in tensors if t is not None and t in producers]

    for layer in layers:
        owner = owners.get(layer)
        if isinstance(owner, Loop):
            start, end = ("start", owner), ("end", owner)
            graph.setdefault(start, [])
            graph.setdefault(end, [start])
            if layer.kind == "LOOP_OUTPUT":
                graph[layer] = [end]
                graph[end] += made_by(layer.inputs[:1])
                graph[start] += made_by(layer.inputs[1:2])
            elif layer.kind == "TRIP_LIMIT":
                graph[layer] = []
                graph[start if layer.handle.kind.name == "COUNT" else end] += made_by(layer.inputs)
            else:
                graph[layer] = [start]
                graph[start] += made_by(layer.inputs[:1])
                graph[end] += made_by(layer.inputs[1:])
        elif isinstance(owner, Conditional):
            graph.setdefault(owner, [])
            graph[owner] += made_by(layer.inputs)
            graph[layer] = [owner] if layer.kind == "CONDITIONAL_OUTPUT" else []
        else:
            graph[layer] = made_by(layer.inputs)
    return graph


def _sorted(graph: _Graph, layers: list[Layer]) -> list[_Node]:
    """Dependencies first, otherwise in the order of insertion."""
    rank: dict[_Node, int] = {}
    for node in graph:  # the graph was filled in the order of the layers
        rank[node] = len(rank)
    users: dict[_Node, list[_Node]] = {node: [] for node in graph}
    missing: dict[_Node, int] = {}
    for node, needs in graph.items():
        distinct = set(needs)
        missing[node] = len(distinct)
        for need in distinct:
            users[need].append(node)
    by_rank = list(graph)
    ready = [rank[node] for node, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order: list[_Node] = []
    while ready:
        node = by_rank[heapq.heappop(ready)]
        order.append(node)
        for user in users[node]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, rank[user])
    if len(order) < len(graph):
        done = set(order)
        stuck = [layer for layer in layers if layer not in done]
        raise DiagnosticError(
            Diagnostic(
                code="T0955",
                message="the layers of the network form a cycle",
                node=stuck[0].name,
                notes=tuple(describe(layer) for layer in stuck[:5]),
            )
        )
    return order


def _loops_of(order: list[_Node], graph: _Graph) -> dict[_Node, frozenset[Loop]]:
    """The loops that each node is inside of, from its dependencies.

    What depends on an output of a loop is outside it. Only the end of a loop knows all of the loops around it, since
    a body may use an outer iterator that no input of the loop depends on; so a second sweep follows, until nothing
    changes.
    """
    none: frozenset[Loop] = frozenset()
    inside: dict[_Node, frozenset[Loop]] = dict.fromkeys(order, none)
    around: dict[Loop, frozenset[Loop]] = {}
    changed = True
    while changed:
        changed = False
        for node in order:
            found = none.union(*(inside[need] for need in graph[node]))
            if isinstance(node, tuple):
                edge, loop = node
                if edge == "end":
                    found -= {loop}
                outer = around.get(loop, none) | found
                changed |= outer != around.get(loop, none)
                around[loop] = outer
                found = outer | {loop} if edge == "start" else outer
            # an iterator depends on the start of its loop only, an output on its end only
            changed |= found != inside[node]
            inside[node] = found
    return inside


def _assign(
    order: list[_Node],
    graph: _Graph,
    inside: dict[_Node, frozenset[Loop]],
    producers: dict[Any, Layer],
    owners: dict[Layer, Loop | Conditional],
    outputs: Iterable[Any],
) -> Plan:
    """Each node goes to the innermost region around all of its uses, but not into a loop that it is not inside of."""
    root = Region(None)
    made = Plan(root, {}, {}, producers)
    uses: dict[_Node, Region] = {}
    for tensor in outputs:
        if tensor in producers:
            uses[producers[tensor]] = root
    homes: dict[_Node, Region] = {}
    for node in reversed(order):
        wanted = uses.get(node)
        loops = inside[node] - {node[1]} if isinstance(node, tuple) else inside[node]
        if wanted is None and loops:
            continue  # in the body of a loop and never used: it has no region, and no effect
        home = _outside(wanted or root, loops)
        homes[node] = home
        _use_inputs(node, home, graph, made, uses, producers, owners)
    for node in order:
        home = homes.get(node)
        if home is None:
            continue
        owner = owners.get(node) if isinstance(node, Layer) else None
        if isinstance(node, Conditional) or (isinstance(node, Layer) and owner is None):
            home.units.append(node)
        elif isinstance(node, tuple) and node[0] == "end":
            home.units.append(node[1])
    return made


def _use_inputs(
    node: _Node,
    home: Region,
    graph: _Graph,
    made: Plan,
    uses: dict[_Node, Region],
    producers: dict[Any, Layer],
    owners: dict[Layer, Loop | Conditional],
) -> None:
    """Record that `node` at `home` uses what it depends on."""
    if isinstance(node, tuple) and node[0] == "end":
        loop = node[1]
        body = made.bodies[loop] = Region(home, loop, depth=home.depth + 1)
        for need in graph[node]:
            _use(uses, need, home if need == ("start", loop) else body)
    elif isinstance(node, Conditional):
        branches = tuple(Region(home, node, i, depth=home.depth + 1) for i in range(2))
        made.branches[node] = (branches[0], branches[1])
        if node.condition is None:
            raise refuse(node.outputs[0], "T0955", "belongs to a conditional without a condition")
        _use_tensor(uses, node.condition.inputs[0], home, producers)
        for layer in node.outputs:
            for branch, tensor in zip(branches, layer.inputs, strict=True):
                _use_tensor(uses, tensor, branch, producers)
    else:
        # Boundary layers are read with their loop, where it stands.
        for need in graph[node]:
            _use(uses, need, home)


def _use_tensor(uses: dict[_Node, Region], tensor: Any, region: Region, producers: dict[Any, Layer]) -> None:
    if tensor in producers:
        _use(uses, producers[tensor], region)


def _use(uses: dict[_Node, Region], node: _Node, region: Region) -> None:
    known = uses.get(node)
    uses[node] = region if known is None else _common(known, region)


def _common(a: Region, b: Region) -> Region:
    """The innermost region around both."""
    while a is not b:
        if a.depth >= b.depth:
            assert a.parent is not None
            a = a.parent
        else:
            assert b.parent is not None
            b = b.parent
    return a


def _outside(region: Region, loops: frozenset[Loop]) -> Region:
    """`region`, or what is around the outermost loop body that contains it and is not one of `loops`."""
    found, at = region, region
    while at.parent is not None:
        if isinstance(at.owner, Loop) and at.owner not in loops:
            found = at.parent
        at = at.parent
    return found
