"""The left side in float64: the same graph, every float twice as wide, the rule's numbers as they are written."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from trtc.rewrite.operators import schema

#: What becomes of each dtype in the truth, and where nothing computes in bfloat16.
_WIDE: Mapping[int, int] = {
    int(kind): int(TensorProto.DOUBLE) for kind in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
}
_SINGLE: Mapping[int, int] = {int(TensorProto.BFLOAT16): int(TensorProto.FLOAT)}
#: Attributes that say in which dtype an operator computes, or which it gives.
_DTYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype"})
#: Operators that compute in float32 unless an attribute says otherwise. (Not LayerNormalization and RMSNormalization:
#: whatever their `stash_type` says, ONNX Runtime and the reference compute in the dtype of the input.)
_PRECISIONS = {"Attention": "softmax_precision", "GroupNormalization": "stash_type"}


def doubled(model: onnx.ModelProto, numbers: Mapping[str, float]) -> onnx.ModelProto:
    """`model` in float64. numbers: what stands in place of uniform constants, by name."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    _graph(made.graph, numbers, _WIDE)
    _functions(made, _WIDE)
    return made


def without_bfloat(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` with float32 for bfloat16: ONNX Runtime has no kernels for that on the CPU, and the reference rounds
    inside of operators that ONNX lets compute in float32."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    _graph(made.graph, {}, _SINGLE)
    _functions(made, _SINGLE)
    return made


def _functions(model: onnx.ModelProto, table: Mapping[int, int]) -> None:
    for function in model.functions:
        for node in function.node:
            _attributes(node, table, {})


def _graph(graph: onnx.GraphProto, numbers: Mapping[str, float], table: Mapping[int, int]) -> None:
    narrow: dict[str, str] = {}
    for tensor in graph.initializer:
        if tensor.data_type in table:
            array = _retyped(tensor, table)
            number = numbers.get(tensor.name)
            if number is not None:
                array = np.full(array.shape, number, array.dtype)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for info in (*graph.input, *graph.output, *graph.value_info):
        kind = info.type.tensor_type
        kind.elem_type = table.get(kind.elem_type, kind.elem_type)
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        _attributes(node, table, numbers)
        precision = _PRECISIONS.get(node.op_type) if not node.domain and table is _WIDE else None
        if precision is not None:
            kept = [a for a in node.attribute if a.name != precision]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute(precision, TensorProto.DOUBLE)])
        nodes += [*(_narrowed(node, narrow) if table is _WIDE else ()), node]
    del graph.node[:]
    graph.node.extend(nodes)


def _attributes(node: onnx.NodeProto, table: Mapping[int, int], numbers: Mapping[str, float]) -> None:
    for attribute in node.attribute:
        if attribute.name in _DTYPE_ATTRIBUTES:
            attribute.i = table.get(attribute.i, attribute.i)
        if attribute.HasField("t") and attribute.t.data_type in table:
            attribute.t.CopyFrom(numpy_helper.from_array(_retyped(attribute.t, table)))
        if attribute.HasField("g"):
            _graph(attribute.g, numbers, table)


def _retyped(tensor: onnx.TensorProto, table: Mapping[int, int]) -> np.ndarray[Any, Any]:
    dtype = helper.tensor_dtype_to_np_dtype(table[tensor.data_type])
    return numpy_helper.to_array(tensor).astype(dtype)


def _narrowed(node: onnx.NodeProto, narrow: dict[str, str]) -> Iterable[onnx.NodeProto]:
    """Casts before inputs that are float32 in every form of the operator (the scales of Resize)."""
    known = schema(node.op_type, node.domain)
    if known is None or not known.types:
        return
    for at, name in enumerate(node.input):
        if name and known.types[min(at, len(known.types) - 1)] == "tensor(float)":
            if name not in narrow:
                narrow[name] = f"{name}/narrow"
                yield helper.make_node("Cast", [name], [narrow[name]], to=TensorProto.FLOAT)
            node.input[at] = narrow[name]


def wide(feeds: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs for a doubled model."""
    return {name: array.astype(np.float64) if _floating(array) else array for name, array in feeds.items()}


def single(feeds: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs for a model without bfloat16."""
    return {n: a.astype(np.float32) if a.dtype.name == "bfloat16" else a for n, a in feeds.items()}


def _floating(array: np.ndarray[Any, Any]) -> bool:
    return np.issubdtype(array.dtype, np.floating) or array.dtype.name == "bfloat16"


__all__ = ["doubled", "single", "wide", "without_bfloat"]
