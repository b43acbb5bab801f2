"""A model under compilation: `onnx_ir` for storage, plus what a compiler needs on top."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as oir

from trtc.ir.nesting import walk

if TYPE_CHECKING:
    from trtc.ir.dims import Dim
    from trtc.ir.infer.fact import Fact

#: Every module is brought to this opset of ai.onnx and this IR version: the newest that the reference runs on
#: every supported Python (onnxruntime 1.23 is the last for Python 3.10).
OPSET = 23
IR_VERSION = 11


class Module:
    """The model that the pipeline works on.

    Facts (dtype, symbolic shape, value of small integer tensors) are inferred on demand and kept: a rewrite puts a
    value of the same dtype and shape in place of another, so a fact once known never becomes wrong.
    """

    __slots__ = ("_names", "_next", "facts", "model", "opset", "path", "symbols")

    def __init__(self, model: oir.Model, path: Path | None = None, opset: int = OPSET) -> None:
        self.model = model
        self.path = path
        """The file it came from, if any."""
        self.opset = opset
        """The opset of ai.onnx that the file was written for."""
        self.symbols: dict[str, tuple[int, int]] = {}
        """Declared range, both ends included, by name of a symbolic dim."""
        self.facts: dict[oir.Value, Fact] = {}
        self._names: set[str] | None = None
        self._next: dict[str, int] = {}

    @property
    def graph(self) -> oir.Graph:
        return self.model.graph

    def fact(self, value: oir.Value) -> Fact:
        """What is known of a value; inferred when asked for the first time."""
        found = self.facts.get(value)
        if found is None:
            from trtc.ir.infer import fact

            found = fact(self, value)
        return found

    def shape(self, value: oir.Value) -> tuple[Dim, ...] | None:
        """The dims of a value (ints and expressions over symbols), None when the rank is not known."""
        return self.fact(value).shape

    def dtype(self, value: oir.Value) -> oir.DataType | None:
        return self.fact(value).dtype

    def static_shape(self, value: oir.Value) -> tuple[int, ...] | None:
        """The shape when every dim is a number, else None."""
        shape = self.shape(value)
        if shape is None or not all(isinstance(d, int) for d in shape):
            return None
        return shape  # pyright: ignore[reportReturnType]

    def constant(self, value: oir.Value | None) -> np.ndarray | None:
        """The array of a constant, without a copy; None for anything that is not a constant."""
        tensor = constant_tensor(value)
        return None if tensor is None else tensor.numpy()

    def unique(self, base: str) -> str:
        """A name that no value and no node bears yet: `base`, or `base_1`, `base_2`…"""
        if self._names is None:
            self._names = set(_all_names(self.model))
        name = base
        while name in self._names:
            count = self._next.get(base, 0) + 1
            self._next[base] = count
            name = f"{base}_{count}"
        self._names.add(name)
        return name

    def nodes(self) -> Iterator[oir.Node]:
        """Every node of the graph and of its subgraphs, not of functions, in order."""
        return walk(self.model.graph)

    def graphs(self) -> Iterator[oir.Graph]:
        """The main graph and every subgraph, outer before inner."""
        yield self.model.graph
        yield from self.model.graph.subgraphs()


def constant_tensor(value: oir.Value | None) -> oir.TensorProtocol | None:
    """The tensor of an initializer or of the output of a Constant node, else None."""
    if value is None or value.is_graph_input():
        return None
    if value.const_value is not None and (value.is_initializer() or value.producer() is None):
        return value.const_value
    node = value.producer()
    if node is not None and node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
        return oir.convenience.get_const_tensor(value)
    return None


def _all_names(model: oir.Model) -> Iterator[str]:
    graphs: list[oir.Graph | oir.Function] = [
        model.graph,
        *model.graph.subgraphs(),
        *model.functions.values(),
    ]
    for graph in graphs:
        for value in graph.inputs:
            if value.name:
                yield value.name
        if isinstance(graph, oir.Graph):
            yield from graph.initializers
        for node in graph:
            if node.name:
                yield node.name
            for value in node.outputs:
                if value.name:
                    yield value.name
