"""Common subexpressions."""

from __future__ import annotations

import struct
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from trtc.pipeline import PassResult

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context

#: Exactly the same result for either order of two operands, bit for bit.
_COMMUTATIVE = frozenset({"Add", "Mul", "And", "Or", "Xor", "Equal", "BitwiseAnd", "BitwiseOr", "BitwiseXor"})


@dataclass(frozen=True, slots=True)
class Cse:
    """Computes equal things once, and stores equal constants once.

        x ──> Exp ──> a ──> Mul ──> y          x ──> Exp ──> a ══> Mul ──> y
        │                    │           =>
        └───> Exp ──> b ─────┘

    Equal are operator, domain, every attribute and the inputs (in either order where the operator commutes).
    A node of a subgraph also meets what the graph around it computed before. Random operators, operators with
    subgraphs and operators that nobody knows stay. Outputs of the model keep their names.
    """

    name: ClassVar[str] = "cse"

    def run(self, module: Module, context: Context) -> PassResult:
        constants = _merge_constants(module, context)
        nodes = _visit(module, module.graph, _Scope(None), context)
        return PassResult.of(nodes=nodes, constants=constants)


@dataclass(slots=True)
class _Scope:
    """What has been computed so far in a graph and in the graphs around it."""

    outer: _Scope | None
    known: dict[Hashable, oir.Node] = field(default_factory=dict[Hashable, Any])
    functions: dict[tuple[str, str, str], bool] = field(default_factory=dict[tuple[str, str, str], bool])
    """Which functions give the same result every time; one dict for all scopes."""

    def find(self, key: Hashable) -> oir.Node | None:
        scope: _Scope | None = self
        while scope is not None:
            found = scope.known.get(key)
            if found is not None:
                return found
            scope = scope.outer
        return None


def _visit(module: Module, graph: oir.Graph, scope: _Scope, context: Context) -> int:
    from trtc.ir import edit, provenance
    from trtc.ir.nesting import subgraphs

    merged = 0
    for node in graph:
        inner = list(subgraphs(node))
        for one in inner:
            merged += _visit(module, one, _Scope(scope, functions=scope.functions), context)
        if inner:
            continue
        key = _key(module, node, scope)
        if key is None:
            continue
        first = scope.find(key)
        if first is None:
            scope.known[key] = node
            continue
        context.applied(f"the same as `{first.name}`", node)
        provenance.stamp(first, [first, node], provenance.rule(first))
        edit.replace(module, [node], [], dict(zip(node.outputs, first.outputs, strict=True)))
        merged += 1
    return merged


def _key(module: Module, node: oir.Node, scope: _Scope) -> Hashable | None:
    """Equal for nodes that compute the same; None for one that is never merged."""
    from trtc_passes.operators import deterministic

    # An Identity is where an output of the model is another value: merging two would only make another.
    if (node.op_type == "Identity" and node.domain == "") or not deterministic(module, node, scope.functions):
        return None
    attributes: list[Hashable] = []
    for name in sorted(node.attributes):
        attr = attribute_key(node.attributes[name])
        if attr is None:
            return None
        attributes.append((name, attr))
    inputs = tuple(0 if value is None else id(value) for value in node.inputs)
    if node.domain == "" and node.op_type in _COMMUTATIVE:
        inputs = tuple(sorted(inputs))
    return (*node.op_identifier(), inputs, len(node.outputs), tuple(attributes))


def attribute_key(attr: oir.Attr) -> Hashable | None:
    """A hashable that is equal for equal attributes, bit for bit; None for graphs and other things without content."""
    import onnx_ir as oir

    from trtc_passes.digests import tensor_digest

    kind = oir.AttributeType
    if attr.is_ref():
        return ("ref", attr.ref_attr_name)
    if attr.type == kind.FLOAT:
        return (int(attr.type), struct.pack("<d", attr.as_float()))
    if attr.type == kind.FLOATS:
        floats = attr.as_floats()
        return (int(attr.type), struct.pack(f"<{len(floats)}d", *floats))
    if attr.type in (kind.INT, kind.INTS, kind.STRING, kind.STRINGS):
        return (int(attr.type), attr.value)
    if attr.type in (kind.TENSOR, kind.TENSORS):
        tensors = [attr.as_tensor()] if attr.type == kind.TENSOR else attr.as_tensors()
        return (int(attr.type), tuple((int(t.dtype), tuple(t.shape), tensor_digest(t)) for t in tensors))
    return None


def _merge_constants(module: Module, context: Context) -> int:
    """One initializer for each content. Those of the main graph are found first, and every subgraph sees them."""
    from trtc.ir import edit
    from trtc_passes.digests import digest, sample

    # Most tensors have a dtype and shape of their own: nothing of those is read. Then 64 KiB, then all.
    buckets: dict[Hashable, list[oir.Value]] = {}
    for depth, graph in enumerate(module.graphs()):
        for value in graph.initializers.values():
            tensor = value.const_value
            if tensor is None or value.is_graph_input() or (depth and value.is_graph_output()):
                continue
            buckets.setdefault((int(tensor.dtype), tuple(tensor.shape)), []).append(value)
    merged = 0
    for bucket in buckets.values():
        if len(bucket) < 2:
            continue
        alike: dict[bytes, list[oir.Value]] = {}
        for value in bucket:
            assert value.const_value is not None
            alike.setdefault(sample(value.const_value), []).append(value)
        for group in alike.values():
            if len(group) < 2:
                continue
            first: dict[bytes, oir.Value] = {}
            for value in group:
                kept = first.setdefault(digest(value), value)
                if kept is value or value.is_graph_output():
                    continue
                if kept.graph is not module.graph and kept.graph is not value.graph:
                    continue
                owner = value.graph
                assert owner is not None
                edit.replace_value(module, value, kept)
                del owner.initializers[value.name or ""]
                context.applied(f"constant `{value.name}` is the same as `{kept.name}`")
                merged += 1
    return merged
