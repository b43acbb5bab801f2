"""Calls of the model's own functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.pipeline import PassResult
from trtc.pipeline.options import option

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context

_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class InlineFunctions:
    """Puts the bodies of the model's functions in the place of the calls.

        x ──> mine.Swish(alpha = 2) ──> y     =>     x ──> Mul(2) ──> Sigmoid ──> Mul ──> y
                                                     └──────────────────────────┘

    Nested calls, overloads, subgraphs in bodies, attributes that refer to the call's and their defaults are all
    resolved. The inner nodes' provenance is the call's name, a slash and the inner name. Linear in the nodes that
    result, which are counted before anything is done.

    Raises T0520 when more nodes than `budget` would result, T0521 for a function that calls itself.
    """

    name: ClassVar[str] = "inline_functions"

    budget: int = option(100_000, "largest number of nodes that the bodies may add")
    keep: tuple[str, ...] = option((), "domains, or `domain::Name`, whose functions stay calls")

    def run(self, module: Module, context: Context) -> PassResult:
        if not module.model.functions:
            return PassResult(False)
        calls = [node for node in module.nodes() if self._inlined(module, node.op_identifier())]
        self._check_budget(module, calls)
        count = 0
        while calls:
            call = calls.pop()
            made = _inline(module, call)
            count += 1
            calls += [node for node in made if self._inlined(module, node.op_identifier())]
        if count:
            context.applied(f"inlined {count} calls")
        return PassResult.of(inlined=count)

    def _inlined(self, module: Module, key: _Key) -> bool:
        kept = key[0] in self.keep or f"{key[0]}::{key[1]}" in self.keep
        return key in module.model.functions and not kept

    def _check_budget(self, module: Module, calls: list[oir.Node]) -> None:
        sizes: dict[_Key, int] = {}
        total = 0
        for call in calls:
            total += self._size(module, call.op_identifier(), sizes)
            if total > self.budget:
                raise DiagnosticError(
                    Diagnostic(
                        "T0520",
                        f"the functions of the model expand to more than {self.budget:,} nodes",
                        node=call.name,
                        notes=(f"`{_text(call.op_identifier())}` alone expands to {sizes[call.op_identifier()]:,}",),
                        help="raise the limit with inline_functions(budget = …) if you trust the model",
                    )
                )

    def _size(self, module: Module, root: _Key, sizes: dict[_Key, int]) -> int:
        """Nodes that a call of `root` becomes. Functions are walked without recursion: nesting has no limit."""
        inner: dict[_Key, list[_Key]] = {}
        stack, open_keys = [root], set[_Key]()
        while stack:
            key = stack[-1]
            if key in sizes:
                stack.pop()
                continue
            if key not in inner:
                nodes = [node.op_identifier() for node in module.model.functions[key].all_nodes()]
                inner[key] = nodes
                open_keys.add(key)
                for called in nodes:
                    if called in open_keys:
                        raise DiagnosticError(
                            Diagnostic(
                                "T0521",
                                f"the function `{_text(called)}` calls itself",
                                notes=("ONNX functions are not recursive: a body may only call other functions",),
                            )
                        )
                    if called not in sizes and self._inlined(module, called):
                        stack.append(called)
                continue
            sizes[key] = sum(sizes[called] if self._inlined(module, called) else 1 for called in inner[key])
            open_keys.discard(key)
            stack.pop()
        return sizes[root]


def _text(key: _Key) -> str:
    return f"{key[0]}::{key[1]}" + (f":{key[2]}" if key[2] else "")


def _inline(module: Module, call: oir.Node) -> list[oir.Node]:
    """Replace one call; every node that was made, those in subgraphs too."""
    from trtc.ir import edit

    function = module.model.functions[call.op_identifier()]
    for domain, version in function.opset_imports.items():
        module.model.opset_imports.setdefault(domain, version)
    copier = _Copier(module, call, function)
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

    def __init__(self, module: Module, call: oir.Node, function: oir.Function) -> None:
        self.module = module
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
        import onnx_ir as oir

        from trtc.ir import edit, provenance
        from trtc.ir.module import constant_tensor

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
        provenance.stamp_inner(copy, self.call, node, "inline_functions")
        self.made.append(copy)
        return copy

    def _attributes(self, node: oir.Node) -> Iterator[oir.Attr]:
        import onnx_ir as oir

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
        import onnx_ir as oir

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
        from trtc.ir import edit

        own = {value for node in nodes for value in node.outputs}
        own.update(_present(self.values[value]) for value in (*graph.inputs, *graph.initializers.values()))
        found: list[oir.Value] = []
        for value in graph.outputs:
            new = _present(self.values.get(value, value))
            if new not in own:
                identity = edit.node(self.module, "Identity", [new], origins=[self.call], rule="inline_functions")
                nodes.append(identity)
                new = identity.outputs[0]
            found.append(new)
        return found


def _present(value: oir.Value | None) -> oir.Value:
    assert value is not None, "an input of a subgraph always has a value"
    return value
