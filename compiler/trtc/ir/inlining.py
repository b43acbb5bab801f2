"""The body of a function in the place of a call of it."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as oir

from trtc.ir import edit, provenance
from trtc.ir.module import Module, constant_tensor


def inline(module: Module, call: oir.Node, rule: str) -> list[oir.Node]:
    """Replace one call by the body of its function; every node that was made, those in subgraphs too.

    Attributes that refer to the call's, and their defaults, are resolved. Constants become initializers. The nodes'
    provenance is the call's name, a slash and the inner name; `rule` is who did it.
    """
    function = module.model.functions[call.op_identifier()]
    for domain, version in function.opset_imports.items():
        module.model.opset_imports.setdefault(domain, version)
    copier = _Copier(module, call, function, rule)
    nodes = copier.copy_nodes(function)
    values = {
        outer: new
        for outer, inner in zip(call.outputs, function.outputs, strict=False)
        if (new := copier.values.get(inner)) is not None
    }
    edit.replace(module, [call], nodes, values)
    return copier.made


class _Copier:
    """Copies of the nodes of a function for one call."""

    def __init__(self, module: Module, call: oir.Node, function: oir.Function, rule: str) -> None:
        self.module = module
        self.rule = rule
        self.call = call
        self.made: list[oir.Node] = []
        self.values: dict[oir.Value, oir.Value | None] = {
            value: call.inputs[at] if at < len(call.inputs) else None for at, value in enumerate(function.inputs)
        }
        # An attribute without a default that the call does not give is absent: what refers to it is left out.
        defaults = {name: attr for name, attr in function.attributes.items() if attr.value is not None}
        self.attributes: dict[str, oir.Attr] = {**defaults, **call.attributes}

    def copy_nodes(self, nodes: oir.Function | oir.Graph) -> list[oir.Node]:
        return [copy for node in nodes if (copy := self._copy(node)) is not None]

    def _copy(self, node: oir.Node) -> oir.Node | None:
        copy = oir.Node(
            node.domain,
            node.op_type,
            [None if value is None else self.values.get(value, value) for value in node.inputs],
            list(self._attributes(node)),
            overload=node.overload,
            num_outputs=len(node.outputs),
            name=self.module.unique(f"{self.call.name}/{node.name or node.op_type}"),
            metadata_props=dict(node.metadata_props),
        )
        for old, new in zip(node.outputs, copy.outputs, strict=True):
            self.values[old] = new
        if node.op_type == "Constant" and node.domain == "":
            tensor = constant_tensor(copy.outputs[0])
            if tensor is not None:
                hint = f"{self.call.name}/{node.outputs[0].name}"
                self.values[node.outputs[0]] = edit.constant(self.module, tensor, hint)
                return None
        for old, new in zip(node.outputs, copy.outputs, strict=True):
            if old.name:  # an output without a name is one that is left out
                new.name = self.module.unique(f"{self.call.name}/{old.name}")
            else:
                new.name = ""
        provenance.stamp_inner(copy, self.call, node, self.rule)
        self.made.append(copy)
        return copy

    def _attributes(self, node: oir.Node) -> Iterator[oir.Attr]:
        kind = oir.AttributeType
        for name, attr in node.attributes.items():
            if attr.is_ref():
                given = self.attributes.get(attr.ref_attr_name or "")
                if given is not None:
                    yield oir.Attr(name, given.type, given.value, given.ref_attr_name)
            elif attr.type == kind.GRAPH:
                yield oir.Attr(name, kind.GRAPH, self._graph(attr.as_graph()))
            elif attr.type == kind.GRAPHS:
                yield oir.Attr(name, kind.GRAPHS, [self._graph(graph) for graph in attr.as_graphs()])
            else:
                yield attr

    def _graph(self, graph: oir.Graph) -> oir.Graph:
        for value in (*graph.inputs, *graph.initializers.values()):
            if value not in self.values:
                name = self.module.unique(f"{self.call.name}/{value.name}")
                tensor = value.const_value
                if tensor is not None:
                    tensor = oir.Tensor(
                        tensor.numpy(), dtype=tensor.dtype, shape=oir.Shape(tensor.shape.numpy()), name=name
                    )
                self.values[value] = oir.Value(
                    name=name,
                    type=value.type,
                    shape=value.shape.copy() if value.shape is not None else None,
                    const_value=tensor,
                )
        nodes = self.copy_nodes(graph)
        return oir.Graph(
            [_present(self.values[value]) for value in graph.inputs],
            self._outputs(graph, nodes),
            nodes=nodes,
            initializers=[_present(self.values[value]) for value in graph.initializers.values()],
            opset_imports=dict(graph.opset_imports),
            name=self.module.unique(f"{self.call.name}/{graph.name or 'body'}"),
        )

    def _outputs(self, graph: oir.Graph, nodes: list[oir.Node]) -> list[oir.Value]:
        """The outputs of a copied subgraph. One that became a constant of the main graph, or that is a value from
        outside, needs an Identity: a graph gives out only what it holds."""
        own = {value for node in nodes for value in node.outputs}
        own.update(_present(self.values[value]) for value in (*graph.inputs, *graph.initializers.values()))
        found: list[oir.Value] = []
        for value in graph.outputs:
            new = _present(self.values.get(value, value))
            if new not in own:
                identity = edit.node(self.module, "Identity", [new], origins=[self.call], rule=self.rule)
                nodes.append(identity)
                new = identity.outputs[0]
            found.append(new)
        return found


def _present(value: oir.Value | None) -> oir.Value:
    assert value is not None, "an input of a subgraph always has a value"
    return value
