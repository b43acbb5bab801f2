"""Functions of one name under names of their own: ONNX's reference evaluator does not tell overloads apart."""

from __future__ import annotations

from collections.abc import Iterable

import onnx


def named_apart(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model`, or a copy in which no function has an overload."""
    if not any(function.overload for function in model.functions):
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for function in made.functions:
        _nodes(function.node)
        if function.overload:
            function.name, function.overload = f"{function.name}_{function.overload}", ""
    _nodes(made.graph.node)
    return made


def _nodes(nodes: Iterable[onnx.NodeProto]) -> None:
    for node in nodes:
        if node.overload:
            node.op_type, node.overload = f"{node.op_type}_{node.overload}", ""
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _nodes(attribute.g.node)
            for graph in attribute.graphs:
                _nodes(graph.node)


__all__ = ["named_apart"]
