"""Removal of what nothing uses."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trtc.pipeline import PassResult

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context


@dataclass(frozen=True, slots=True)
class Dce:
    """Removes nodes, initializers, outputs and functions that nothing uses.

        x ──> Relu ──> y                x ──> Relu ──> y
        │
        └──> Exp ──> unused     =>
        w (initializer, unused)

    Inputs of the model stay, used or not: callers feed them. Subgraphs are swept too; an If loses outputs that nobody
    reads, in both branches. Optional outputs at the end of a node's list are dropped where nobody reads them.
    """

    name: ClassVar[str] = "dce"

    def run(self, module: Module, context: Context) -> PassResult:
        model = module.model
        counts = {"nodes": 0, "outputs": 0, "initializers": 0, "functions": 0}
        # Functions first: a body that goes takes its calls with it, so that one sweep is enough.
        counts["functions"] += _drop_functions(model)
        for function in model.functions.values():
            _sweep(module, function.graph, counts, context)
        _sweep(module, model.graph, counts, context)
        for graph in module.graphs():
            for value in list(graph.initializers.values()):
                if not value.uses() and not value.is_graph_output() and not value.is_graph_input():
                    del graph.initializers[value.name or ""]
                    counts["initializers"] += 1
        counts["functions"] += _drop_functions(model)
        counts["opset_imports"] = _drop_imports(model)
        for what, count in counts.items():
            if count:
                context.applied(f"removed {count} unused {what.replace('_', ' ')}")
        return PassResult.of(**counts)


def _sweep(module: Module, graph: oir.Graph, counts: dict[str, int], context: Context) -> None:
    """From the last node to the first: when a node is looked at, all its users have been."""
    from trtc.ir import edit
    from trtc.ir.nesting import subgraphs
    from trtc_passes.operators import used

    for node in reversed(graph):
        alive = [used(value) for value in node.outputs]
        if not any(alive):
            edit.remove(module, node)
            counts["nodes"] += 1
            continue
        if not all(alive):
            if node.op_type == "If" and node.domain == "":
                counts["outputs"] += alive.count(False)
                node = _narrow_if(module, node, alive)
            else:
                counts["outputs"] += _trim(node, alive)
        for inner in subgraphs(node):
            _sweep(module, inner, counts, context)


def _trim(node: oir.Node, alive: list[bool]) -> int:
    """Drop unused outputs at the end that the operator lets be absent."""
    keep = len(alive) - alive[::-1].index(True)
    keep = max(keep, _least_outputs(node.domain, node.op_type))
    dropped = len(alive) - keep
    if dropped > 0:
        node.resize_outputs(keep)
    return max(dropped, 0)


@functools.lru_cache(maxsize=512)
def _least_outputs(domain: str, op_type: str) -> int:
    """How many outputs a node of the operator must have at least; an unknown operator keeps all of its."""
    import onnx

    from trtc.ir.module import OPSET

    if domain != "":
        return 1 << 30
    try:
        schema = onnx.defs.get_schema(op_type, OPSET, domain)
    except onnx.defs.SchemaError:
        return 1 << 30
    if any(out.option == onnx.defs.OpSchema.FormalParameterOption.Variadic for out in schema.outputs):
        return 1 << 30  # the number of outputs of a Split or a Loop means something
    return max(schema.min_output, 1)


def _narrow_if(module: Module, node: oir.Node, alive: list[bool]) -> oir.Node:
    """An If with only the outputs that are used; the subgraphs move over."""
    from trtc.ir import edit
    from trtc.ir.nesting import subgraphs

    kept = [at for at, yes in enumerate(alive) if yes]
    for graph in subgraphs(node):
        outputs = [graph.outputs[at] for at in kept]
        graph.outputs[:] = outputs
    names = [node.outputs[at].name or "out" for at in kept]
    new = edit.node(
        module,
        "If",
        node.inputs,
        {attr.name: attr for attr in node.attributes.values()},
        origins=[node],
        rule="dce",
        outputs=names,
    )
    # The graphs are the new node's now: removing the old one must not take their uses away.
    node.attributes.clear()
    edit.replace(module, [node], [new], {node.outputs[at]: new.outputs[i] for i, at in enumerate(kept)})
    return new


def _drop_functions(model: oir.Model) -> int:
    """Remove functions that neither the graph nor a function that stays calls."""
    if not model.functions:
        return 0
    reached: set[tuple[str, str, str]] = set()
    waiting = [node.op_identifier() for node in model.graph.all_nodes()]
    while waiting:
        called = waiting.pop()
        function = model.functions.get(called)
        if function is None or called in reached:
            continue
        reached.add(called)
        waiting += [node.op_identifier() for node in function.all_nodes()]
    dead = [key for key in model.functions if key not in reached]
    for key in dead:
        del model.functions[key]
    return len(dead)


def _drop_imports(model: oir.Model) -> int:
    """Remove opset imports of domains that no node is of; the default domain stays."""
    bodies = (model.graph, *model.functions.values())
    kept = {"", *(node.domain for body in bodies for node in body.all_nodes())}
    dead = [domain for domain in model.opset_imports if domain not in kept]
    for domain in dead:
        del model.opset_imports[domain]
    return len(dead)
