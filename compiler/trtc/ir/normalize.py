"""From what a file may say to what the rest of the compiler relies on: order, names, constant initializers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import onnx
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError, escape
from trtc.ir import provenance, versions
from trtc.ir.nesting import subgraphs
from trtc.ir.structure import Structure


def proto(model: onnx.ModelProto, found: Structure) -> None:
    """Rewrite the messages in place, before they are linked.

    Initializers stop being inputs (before IR version 4 every initializer had to be one; later it marked a default
    that a caller may override, which an engine cannot have). The default domain is spelled "". A subgraph that gives
    a value of an outer graph as its own output gets an Identity.
    """
    opsets = versions.of_model(model)
    del model.opset_import[:]
    for domain, version in sorted(opsets.items()):
        model.opset_import.add(domain=domain, version=version)
    for function in model.functions:
        kept = dict(versions.imports(function.opset_import))
        del function.opset_import[:]
        for domain, version in sorted(kept.items()):
            function.opset_import.add(domain=domain, version=version)
    _drop_inputs(model.graph)
    for at, (graph, index) in enumerate(found.passed_through):
        info = graph.output[index]
        name = f"{info.name}_outer_{at}"
        graph.node.add(op_type="Identity", input=[info.name], output=[name])
        info.name = name


def _drop_inputs(graph: onnx.GraphProto) -> None:
    weights = {tensor.name for tensor in graph.initializer}
    if weights:
        kept = [info for info in graph.input if info.name not in weights]
        if len(kept) != len(graph.input):
            copies = [onnx.ValueInfoProto.FromString(info.SerializeToString()) for info in kept]
            del graph.input[:]
            graph.input.extend(copies)


def graphs(model: oir.Model) -> Iterator[oir.Graph | oir.Function]:
    """The main graph, its subgraphs, then each function and its subgraphs; outer before inner."""
    for root in (model.graph, *model.functions.values()):
        yield from _nested(root)


def _nested(root: oir.Graph | oir.Function) -> Iterator[oir.Graph | oir.Function]:
    stack: list[oir.Graph | oir.Function] = [root]
    while stack:
        graph = stack.pop()
        yield graph
        inner: list[oir.Graph] = []
        for node in graph:
            inner.extend(subgraphs(node))
        stack.extend(reversed(inner))


def sort(model: oir.Model, file: str) -> None:
    """Put nodes behind those they read from, keeping their order otherwise. Raises DiagnosticError T0413 on a cycle."""
    for root in (model.graph, *model.functions.values()):
        try:
            root.sort()
        except ValueError:
            names = cycle(root)
            raise DiagnosticError(
                Diagnostic(
                    code="T0413",
                    message=escape(f"the graph has a cycle: {' -> '.join(f'`{name}`' for name in names)}"),
                    node=names[0] if names else None,
                    file=file,
                    help="a value cannot depend on itself; repetition is written with Loop or Scan",
                )
            ) from None


def cycle(root: oir.Graph | oir.Function) -> list[str]:
    """Names of the nodes of one cycle, the first again at the end; empty when there is none.

    A node with subgraphs reads what they read.
    """
    reads: dict[oir.Node, list[oir.Node]] = {}
    for node in root:
        found: dict[oir.Node, None] = {}
        for value in _read(node):
            producer = value.producer()
            if producer is not None and producer.graph is node.graph:
                found[producer] = None
        reads[node] = list(found)
    done: set[oir.Node] = set()
    for start in reads:
        if start in done:
            continue
        path: dict[oir.Node, Iterator[oir.Node]] = {start: iter(reads[start])}
        while path:
            node = next(reversed(path))
            following = next(path[node], None)
            if following is None:
                path.pop(node)
                done.add(node)
            elif following in path:
                nodes = list(path)
                loop = [*nodes[nodes.index(following) :], following]
                # Reads go against the flow; a reader expects the flow.
                return [n.name or n.op_type for n in reversed(loop)]
            elif following not in done:
                path[following] = iter(reads.get(following, []))
    return []


def _read(node: oir.Node) -> Iterator[oir.Value]:
    """The values that a node and its subgraphs read."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield from (value for value in current.inputs if value is not None)
        stack.extend(node for graph in subgraphs(current) for node in graph)


def names(model: oir.Model) -> None:
    """Unique names for nodes and values, and the name in the file as origin of each node.

    The main graph keeps its names; those of subgraphs give way. A function has names of its own.
    """
    for root in (model.graph, *model.functions.values()):
        nodes: set[str] = set()
        values: set[str] = set()
        members = list(_nested(root))
        given = {node.name for graph in members for node in graph if node.name}
        taken = {value.name for graph in members for value in _defined(graph) if value.name}
        counters: dict[str, int] = {}
        for graph in members:
            for node in graph:
                _name(node, nodes, given, counters)
                if graph is not root or isinstance(root, oir.Graph):
                    node.metadata_props.setdefault(provenance.ORIGIN, json.dumps([node.name], ensure_ascii=False))
            for value in list(_defined(graph)):
                name = value.name
                if not name:
                    continue
                if name in values:
                    name = _fresh(name, taken, counters)
                    value.name = name
                values.add(name)


def _name(node: oir.Node, seen: set[str], given: set[str], counters: dict[str, int]) -> None:
    old = node.name
    if not old:
        node.name = _fresh(node.op_type, given, counters, bare=False)
    elif old in seen:
        node.metadata_props.setdefault(provenance.ORIGIN, json.dumps([old], ensure_ascii=False))
        node.name = _fresh(old, given, counters)
    seen.add(node.name or "")


def _fresh(base: str, taken: set[str], counters: dict[str, int], *, bare: bool = True) -> str:
    number = counters.get(base, 1 if bare else 0)
    while True:
        name = f"{base}_{number}"
        number += 1
        if name not in taken:
            counters[base] = number
            taken.add(name)
            return name


def _defined(graph: oir.Graph | oir.Function) -> Iterator[oir.Value]:
    """The values that a graph defines; an initializer that is an input counts twice and is the same value."""
    yield from graph.inputs
    if isinstance(graph, oir.Graph):
        yield from list(graph.initializers.values())
    for node in graph:
        yield from node.outputs
