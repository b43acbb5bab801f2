"""Graphs inside nodes: the bodies of If, Loop and Scan, and what they take from outside."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as oir

_HOLDING = (oir.AttributeType.GRAPH, oir.AttributeType.GRAPHS)


def graphs_of(attribute: oir.Attr) -> Iterator[oir.Graph]:
    """The graphs that an attribute holds: one, several, or (as for most) none."""
    if attribute.is_ref() or attribute.value is None:
        return
    if attribute.type == oir.AttributeType.GRAPH:
        yield attribute.as_graph()
    elif attribute.type == oir.AttributeType.GRAPHS:
        yield from attribute.as_graphs()


def subgraphs(node: oir.Node) -> Iterator[oir.Graph]:
    """The graphs in the attributes of a node, not those inside them."""
    for attribute in node.attributes.values():
        yield from graphs_of(attribute)


def walk(graph: oir.Graph) -> Iterator[oir.Node]:
    """Every node of a graph, each followed by those of the graphs inside it; the graph may be edited meanwhile."""
    for node in graph:
        yield node
        for attribute in node.attributes.values():
            if attribute.type in _HOLDING:
                for inner in graphs_of(attribute):
                    yield from walk(inner)


def taken(node: oir.Node) -> Iterator[oir.Value]:
    """What a node takes: its inputs, and what its subgraphs capture. A value may come more than once."""
    yield from (value for value in node.inputs if value is not None)
    for graph in subgraphs(node):
        yield from captured(graph)


def captured(graph: oir.Graph) -> list[oir.Value]:
    """Values of outer graphs that a subgraph uses, each once, in order of first use."""
    own: set[oir.Value] = {*graph.inputs, *graph.initializers.values()}
    seen: dict[oir.Value, None] = {}
    for node in graph:
        for value in taken(node):
            if value not in own:
                seen.setdefault(value, None)
        own.update(node.outputs)
    for value in graph.outputs:
        if value not in own:
            seen.setdefault(value, None)
    return list(seen)
