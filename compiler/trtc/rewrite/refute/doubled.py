"""The left side in float64: the same graph, every float twice as wide, the rule's numbers as they are written."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from trtc.rewrite.operators import schema

_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})
#: Attributes that say in which dtype an operator computes, or which it gives.
_DTYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype"})
#: Operators that compute in float32 unless an attribute says otherwise. (Not LayerNormalization and RMSNormalization:
#: whatever their `stash_type` says, ONNX Runtime and the reference compute in the dtype of the input.)
_PRECISIONS = {"Attention": "softmax_precision", "GroupNormalization": "stash_type"}


def doubled(model: onnx.ModelProto, numbers: Mapping[str, float]) -> onnx.ModelProto:
    """`model` in float64. numbers: what stands in place of uniform constants, by name."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    _graph(made.graph, numbers)
    return made


def _graph(graph: onnx.GraphProto, numbers: Mapping[str, float]) -> None:
    narrow: dict[str, str] = {}
    for tensor in graph.initializer:
        if tensor.data_type in _FLOATS:
            array = numpy_helper.to_array(tensor).astype(np.float64)
            number = numbers.get(tensor.name)
            if number is not None:
                array = np.full(array.shape, number)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for info in (*graph.input, *graph.output, *graph.value_info):
        kind = info.type.tensor_type
        if kind.elem_type in _FLOATS:
            kind.elem_type = TensorProto.DOUBLE
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in _DTYPE_ATTRIBUTES and attribute.i in _FLOATS:
                attribute.i = TensorProto.DOUBLE
            if attribute.HasField("t") and attribute.t.data_type in _FLOATS:
                attribute.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(attribute.t).astype(np.float64)))
            if attribute.HasField("g"):
                _graph(attribute.g, numbers)
        precision = _PRECISIONS.get(node.op_type) if not node.domain else None
        if precision is not None:
            kept = [a for a in node.attribute if a.name != precision]
            del node.attribute[:]
            node.attribute.extend([*kept, onnx.helper.make_attribute(precision, TensorProto.DOUBLE)])
        nodes += [*_narrowed(node, narrow), node]
    del graph.node[:]
    graph.node.extend(nodes)


def _narrowed(node: onnx.NodeProto, narrow: dict[str, str]) -> Iterable[onnx.NodeProto]:
    """Casts before inputs that are float32 in every form of the operator (the scales of Resize)."""
    known = schema(node.op_type, node.domain)
    if known is None or not known.types:
        return
    for at, name in enumerate(node.input):
        if name and known.types[min(at, len(known.types) - 1)] == "tensor(float)":
            if name not in narrow:
                narrow[name] = f"{name}/narrow"
                yield onnx.helper.make_node("Cast", [name], [narrow[name]], to=TensorProto.FLOAT)
            node.input[at] = narrow[name]


def wide(feeds: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs for a doubled model."""
    return {
        name: array.astype(np.float64) if np.issubdtype(array.dtype, np.floating) else array
        for name, array in feeds.items()
    }


__all__ = ["doubled", "wide"]
