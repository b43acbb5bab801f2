"""The only way a graph is changed: provenance, unique names and the interface of the model stay right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.ir import provenance
from trtc.ir.module import Module
from trtc.ir.nesting import subgraphs


def node(
    module: Module,
    op_type: str,
    inputs: Sequence[oir.Value | None],
    attributes: Mapping[str, Any] | None = None,
    *,
    origins: Iterable[oir.Node],
    rule: str,
    outputs: int | Sequence[str] = 1,
    domain: str = "",
    name: str | None = None,
) -> oir.Node:
    """A new node, not yet in a graph, that stands for what `origins` stand for.

    Attribute values are Python values, arrays wrapped as `oir.tensor(...)`, graphs, or ready `oir.Attr`s. Outputs
    without given names are named after the node.
    """
    sources = list(origins)
    base = name or (sources[0].name if sources and sources[0].name else op_type)
    unique = module.unique(base)
    attrs = [
        value if isinstance(value, oir.Attr) else oir.convenience.convert_attribute(key, value)
        for key, value in (attributes or {}).items()
        if value is not None
    ]
    made = oir.Node(
        domain,
        op_type,
        list(inputs),
        attrs,
        num_outputs=outputs if isinstance(outputs, int) else len(outputs),
        name=unique,
    )
    for at, value in enumerate(made.outputs):
        hint = f"{unique}_out{at or ''}" if isinstance(outputs, int) else outputs[at]
        value.name = module.unique(hint)
    provenance.stamp(made, sources, rule)
    return made


def constant(
    module: Module, array: np.ndarray | oir.TensorProtocol, hint: str, graph: oir.Graph | None = None
) -> oir.Value:
    """A new initializer of `graph` (default: the main graph, which every subgraph sees)."""
    owner = module.graph if graph is None else graph
    name = module.unique(hint)
    if isinstance(array, np.ndarray | np.generic):
        tensor = oir.tensor(np.asarray(array), name=name)
    elif array.name in (None, "", name):
        tensor = array
        tensor.name = name
    else:
        # The tensor is another value's too, and a file names an initializer by its tensor.
        tensor = oir.Tensor(array.numpy(), dtype=array.dtype, shape=oir.Shape(array.shape.numpy()), name=name)
    value = oir.Value(
        name=name, shape=oir.Shape(tensor.shape.numpy()), type=oir.TensorType(tensor.dtype), const_value=tensor
    )
    owner.register_initializer(value)
    return value


def insert_before(anchor: oir.Node, nodes: Sequence[oir.Node]) -> None:
    """Put `nodes`, in order, before `anchor` in the graph that holds it."""
    graph = _graph(anchor)
    graph.insert_before(anchor, nodes)


def replace(
    module: Module,
    old: Sequence[oir.Node],
    new: Sequence[oir.Node],
    values: Mapping[oir.Value, oir.Value],
    *,
    at: oir.Node | None = None,
) -> None:
    """Put `new` in the place of `old` (at the last of `old` in the order of the list, or at `at`) and remove `old`.

    `values` says which value stands for which from now on. Every other output of `old` must be unused.
    """
    anchor = at if at is not None else old[-1]
    if new:
        insert_before(anchor, new)
    for before, after in values.items():
        replace_value(module, before, after)
    # Users before producers, so that each is free of users when its turn comes.
    for dead in reversed(old):
        remove(module, dead)


def replace_value(module: Module, old: oir.Value, new: oir.Value) -> None:
    """Let every user of `old`, graph outputs included, use `new`.

    The interface keeps its names: an output of a graph keeps its name, and where `new` cannot bear it (an input, an
    initializer, an output already, a value of another graph) an Identity does.

    Takes time in proportion to the uses of `old`, each times the number of inputs of its node (onnx_ir keeps them in a
    tuple).
    """
    if old is new:
        return
    if old.is_graph_output():
        _replace_output(module, old, new)
        return
    _copy_fact(module, old, new)
    old.replace_all_uses_with(new)


def bears_output(old: oir.Value, new: oir.Value) -> bool:
    """Whether `new` can be the output of the graph that `old` is; otherwise an Identity has to be."""
    producer = new.producer()
    return producer is not None and producer.graph is old.graph and not new.is_graph_output()


def _replace_output(module: Module, old: oir.Value, new: oir.Value) -> None:
    graph = old.graph
    assert graph is not None
    if bears_output(old, new):
        name = old.name
        old.name = module.unique(f"{name}_replaced")
        new.name = name
        _copy_fact(module, old, new)
        old.replace_all_uses_with(new, replace_graph_outputs=True)
        return
    maker = old.producer()
    identity = node(module, "Identity", [new], origins=[maker] if maker is not None else [], rule="identity")
    if maker is not None:
        graph.insert_after(maker, identity)
    else:  # an input that is an output too
        graph.append(identity)
    out = identity.outputs[0]
    name = old.name
    old.name = module.unique(f"{name}_replaced")
    out.name = name
    _copy_fact(module, old, out)
    for user, at in old.uses():
        user.replace_input_with(at, new)
    old.replace_all_uses_with(out, replace_graph_outputs=True)


def _copy_fact(module: Module, old: oir.Value, new: oir.Value) -> None:
    fact = module.facts.get(old)
    if fact is not None and new not in module.facts:
        module.facts[new] = fact
    if new.type is None:
        new.type = old.type
    if new.shape is None:
        new.shape = old.shape


def remove(module: Module, dead: oir.Node) -> None:
    """Remove a node whose outputs nobody uses; what it and its subgraphs used has a user less.

    Raises:
        ValueError: an output is used or is an output of the graph.
    """
    del module
    graph = _graph(dead)
    for value in dead.outputs:
        if value.is_graph_output() or value.uses():
            raise ValueError(f"node {dead.name!r} cannot be removed: {value.name!r} is used")
    _detach(dead)
    # The check of `safe` collects all outputs of the graph on each call: done above in the time of this node alone.
    graph.remove(dead)


def _detach(dead: oir.Node) -> None:
    for at, value in enumerate(dead.inputs):
        if value is not None:
            dead.replace_input_with(at, None)
    for graph in subgraphs(dead):
        for inner in graph:
            _detach(inner)


def _graph(inside: oir.Node) -> oir.Graph | oir.Function:
    graph = inside.graph
    if graph is None:
        raise ValueError(f"node {inside.name!r} is in no graph")
    return graph  # pyright: ignore[reportReturnType]
