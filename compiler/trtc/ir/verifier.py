"""Is the graph still well-formed? Runs after every pass, so it is linear and quick (about 10 ms for 1,000 nodes)."""

from __future__ import annotations

import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError, escape
from trtc.ir import normalize, provenance
from trtc.ir.module import Module
from trtc.ir.nesting import subgraphs

_MOST = 20


def verify(module: Module) -> None:
    """Raises DiagnosticError with up to 20 diagnostics T0680 to T0688 when an invariant of the IR does not hold.

    Checked: every value has one definition and a name of its own; what a node reads is defined before it, in its graph
    or around it; outputs are produced; nodes know their graph; functions that are called exist and none calls itself;
    dtypes that were inferred still hold.
    """
    check = _Check(module)
    check.root(module.model.graph)
    for function in module.model.functions.values():
        check.root(function)
    check.functions()
    if check.found:
        raise DiagnosticError.of(check.found[:_MOST])


class _Check:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.found: list[Diagnostic] = []
        self.node_names: dict[str, oir.Node] = {}
        self.value_names: dict[str, oir.Value] = {}
        self.calls: dict[tuple[str, str, str], set[tuple[str, str, str]]] = {}
        self.caller: tuple[str, str, str] | None = None

    def add(self, code: str, message: str, node: oir.Node | None = None, name: str | None = None) -> None:
        notes: tuple[str, ...] = ()
        if node is not None:
            made = provenance.rule(node)
            notes = (f"made by {made}",) if made else ()
            name = node.name or node.op_type
        if len(self.found) < _MOST:
            self.found.append(Diagnostic(code=code, message=escape(message), node=name, notes=notes))

    def root(self, graph: oir.Graph | oir.Function) -> None:
        """A graph that sees nothing around it: the main graph, or a function."""
        self.node_names.clear()
        self.value_names.clear()
        self.caller = None
        if isinstance(graph, oir.Function):
            self.caller = graph.identifier()
            self.calls[self.caller] = set()
        self.graph(graph, set())

    def graph(self, graph: oir.Graph | oir.Function, visible: set[oir.Value]) -> None:
        """`visible`: values of the graphs around, defined so far. It grows during the walk, and shrinks back."""
        own: list[oir.Value] = []
        for value in graph.inputs:
            self.define(value, graph, visible, own)
            if value.producer() is not None:
                self.add("T0680", f"graph input `{value.name}` is also the output of a node", value.producer())
        if isinstance(graph, oir.Graph):
            for name, value in graph.initializers.items():
                self.initializer(name, value, graph, visible, own)
        members = graph.graph if isinstance(graph, oir.Function) else graph
        for node in graph:
            if node.graph is not members:
                self.add("T0685", f"node `{node.name}` is listed in a graph that it does not belong to", node)
            self.node(node, visible)
            for index, value in enumerate(node.outputs):
                if value.producer() is not node or value.index() != index:
                    message = f"output {index} of node `{node.name}`, `{value.name}`, says another node makes it"
                    self.add("T0680", message, node)
                if value.name:
                    self.define(value, graph, visible, own)
                elif value.uses():
                    self.add("T0681", f"output {index} of node `{node.name}` is used but has no name", node)
        for value in graph.outputs:
            if value not in visible:
                self.add(
                    "T0683", f"graph output `{value.name}` of `{graph.name}` is produced nowhere", None, value.name
                )
        visible.difference_update(own)

    def initializer(
        self, name: str, value: oir.Value, graph: oir.Graph, visible: set[oir.Value], own: list[oir.Value]
    ) -> None:
        if value.is_graph_input():
            self.add("T0680", f"initializer `{name}` is also a graph input", None, name)
            return
        if name != value.name:
            self.add("T0681", f"initializer `{value.name}` is registered as `{name}`", None, name)
        if value.const_value is None:
            self.add("T0686", f"initializer `{name}` has no data", None, name)
        elif value.dtype is not None and value.dtype != value.const_value.dtype:
            message = f"initializer `{name}` is {value.dtype.name}, its data {value.const_value.dtype.name}"
            self.add("T0686", message, None, name)
        if value.producer() is not None:
            self.add("T0680", f"initializer `{name}` is also the output of a node", value.producer())
        self.define(value, graph, visible, own)

    def define(
        self,
        value: oir.Value,
        graph: oir.Graph | oir.Function,
        visible: set[oir.Value],
        own: list[oir.Value],
    ) -> None:
        if value in visible:
            self.add("T0680", f"`{value.name}` is defined twice", value.producer(), value.name)
            return
        visible.add(value)
        own.append(value)
        name = value.name
        if not name:
            self.add("T0681", f"a value of graph `{graph.name}` has no name", value.producer())
            return
        other = self.value_names.setdefault(name, value)
        if other is not value:
            self.add("T0681", f"two values are called `{name}`", value.producer(), name)
        fact = self.module.facts.get(value)
        unsaid = (None, oir.DataType.UNDEFINED)
        if fact is not None and fact.dtype is not None and value.dtype not in unsaid and fact.dtype != value.dtype:
            self.add(
                "T0686",
                f"`{name}` was inferred to be {fact.dtype.name} and is now {value.dtype.name}",
                value.producer(),
                name,
            )

    def node(self, node: oir.Node, visible: set[oir.Value]) -> None:
        if not node.name:
            self.add("T0681", f"a node {node.op_type} has no name", node)
        elif self.node_names.setdefault(node.name, node) is not node:
            self.add("T0681", f"two nodes are called `{node.name}`", node)
        for index, value in enumerate(node.inputs):
            if value is not None and value not in visible:
                self.unseen(node, index, value)
        target = node.op_identifier()
        if target in self.module.model.functions:
            if self.caller is not None:
                self.calls[self.caller].add(target)
        elif node.domain not in ("", "ai.onnx") and node.domain not in self.module.model.graph.opset_imports:
            message = f"node `{node.name}` calls {node.domain}::{node.op_type}, which is no function of the model"
            self.add("T0687", f"{message}, and no opset of the domain is imported", node)
        for graph in subgraphs(node):
            self.graph(graph, visible)

    def unseen(self, node: oir.Node, index: int, value: oir.Value) -> None:
        what = f"input {index} of node `{node.name}`, `{value.name}`,"
        producer = value.producer()
        if producer is None:
            self.add("T0682", f"{what} is defined nowhere: no node, input or initializer that it can see", node)
        elif producer.graph is None:
            message = f"{what} comes from node `{producer.name}`, which is in no graph any more"
            self.add("T0682", message, node)
        elif producer is node or self.after(node, producer):
            names = normalize.cycle(producer.graph)
            if names:
                self.add("T0684", f"the graph has a cycle: {' -> '.join(f'`{n}`' for n in names)}", node)
            else:
                self.add("T0684", f"{what} is made by node `{producer.name}`, which stands after it", node)
        else:
            message = f"{what} is made by node `{producer.name}` in a graph that it cannot see into"
            self.add("T0682", message, node)

    def after(self, node: oir.Node, producer: oir.Node) -> bool:
        """Does `producer` stand in the graph of `node`, or in one around it?"""
        around = {node.graph}
        root: oir.Graph | oir.Function
        for root in (self.module.model.graph, *self.module.model.functions.values()):
            path = _path_to(root, node)
            if path:
                around |= set(path)
        return producer.graph in around

    def functions(self) -> None:
        """T0688: recursion. Every function of the model is looked at, called or not."""
        done: set[tuple[str, str, str]] = set()
        for root in self.calls:
            path: dict[tuple[str, str, str], list[tuple[str, str, str]]] = {}
            if root not in done:
                path[root] = sorted(self.calls[root])
            while path:
                current = next(reversed(path))
                if not path[current]:
                    path.pop(current)
                    done.add(current)
                    continue
                callee = path[current].pop()
                if callee in path:
                    self.add("T0688", f"function `{callee[0]}::{callee[1]}` calls itself", None, callee[1])
                elif callee not in done and callee in self.calls:
                    path[callee] = sorted(self.calls[callee])


def _path_to(root: oir.Graph | oir.Function, node: oir.Node) -> list[oir.Graph | None]:
    """The graphs from `root` down to the one of `node`; only on the way to an error, so it may look everywhere."""
    stack: list[tuple[oir.Graph | oir.Function, tuple[oir.Graph | None, ...]]] = [(root, ())]
    while stack:
        graph, outer = stack.pop()
        here = (*outer, graph.graph if isinstance(graph, oir.Function) else graph)
        for member in graph:
            if member is node:
                return list(here)
            stack.extend((inner, here) for inner in subgraphs(member))
    return []
