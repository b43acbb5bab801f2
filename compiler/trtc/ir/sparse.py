# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Sparse tensors, written out densely: neither `onnx_ir` nor TensorRT has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import onnx
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError, escape
from trtc.ir.limits import Limits
from trtc.ir.wire_tensors import data_type

#: The array of a tensor in the skeleton, wherever its data lies.
Reader = Callable[[onnx.TensorProto], np.ndarray]


class Densifier:
    """Turns sparse initializers and `sparse_value`s into dense tensors, within one budget for the whole model."""

    def __init__(self, read: Reader, keep: Callable[[np.ndarray, oir.DataType], int], file: str, limits: Limits):
        self._read = read
        self._keep = keep
        self._file = file
        self._left = limits.dense_bytes
        self._limits = limits

    def model(self, proto: onnx.ModelProto) -> None:
        """Rewrite `proto` in place. Raises DiagnosticError T0407 (bad indices), T0408 (dims), T0419 (budget)."""
        for graph in _graphs(proto):
            for sparse in graph.sparse_initializer:
                graph.initializer.append(self._dense(sparse, sparse.values.name))
            del graph.sparse_initializer[:]
        for nodes in [*(g.node for g in _graphs(proto)), *(f.node for f in proto.functions)]:
            for node in nodes:
                for attribute in node.attribute:
                    if attribute.HasField("sparse_tensor"):
                        self._attribute(node, attribute)

    def _attribute(self, node: onnx.NodeProto, attribute: onnx.AttributeProto) -> None:
        dense = self._dense(attribute.sparse_tensor, node.output[0] if node.output else attribute.name)
        attribute.ClearField("sparse_tensor")
        attribute.t.CopyFrom(dense)
        attribute.type = onnx.AttributeProto.TENSOR
        if attribute.name == "sparse_value":
            attribute.name = "value"

    def _dense(self, sparse: onnx.SparseTensorProto, name: str) -> onnx.TensorProto:
        dims = list(sparse.dims)
        dtype = data_type(sparse.values.data_type)
        if len(dims) > self._limits.rank or any(d < 0 for d in dims):
            raise self._error("T0408", name, f"sparse dims {dims[:8]} are not dims of a tensor")
        if dtype is None or dtype == oir.DataType.STRING or dtype.bitwidth < 8:
            raise self._error("T0409", name, f"a sparse tensor of type {sparse.values.data_type} is not supported")
        elements = math.prod(dims)
        self._left -= elements * dtype.bitwidth // 8
        if self._left < 0:
            raise self._error(
                "T0419",
                name,
                f"sparse tensor of dims {dims} takes {elements * dtype.bitwidth // 8:,} bytes when dense, the budget "
                f"for all of them is {self._limits.dense_bytes:,}",
            )
        values = self._read(sparse.values).reshape(-1)
        flat = self._flat_indices(sparse, name, dims, len(values), elements)
        array = np.zeros(elements, values.dtype)
        array[flat] = values
        array = array.reshape(dims)
        array.flags.writeable = False
        dense = onnx.TensorProto(name=name, data_type=int(dtype), dims=dims)
        dense.segment.begin = self._keep(array, dtype)
        return dense

    def _flat_indices(
        self, sparse: onnx.SparseTensorProto, name: str, dims: list[int], count: int, elements: int
    ) -> np.ndarray:
        if sparse.indices.data_type != onnx.TensorProto.INT64:
            raise self._error("T0407", name, "indices of a sparse tensor are INT64")
        indices = self._read(sparse.indices)
        if indices.ndim == 1 and len(indices) == count:
            flat = indices
        elif indices.ndim == 2 and indices.shape == (count, len(dims)):
            if count and ((indices < 0) | (indices >= np.array(dims, np.int64))).any():
                raise self._error("T0407", name, f"an index of a sparse tensor is outside of dims {dims}")
            flat = np.zeros(count, np.int64)
            for axis, dim in enumerate(dims):
                flat = flat * dim + indices[:, axis]
        else:
            raise self._error(
                "T0407",
                name,
                f"{count} sparse values need indices of shape [{count}] or [{count}, {len(dims)}], "
                f"not {list(indices.shape)}",
            )
        if count and (int(flat.min()) < 0 or int(flat.max()) >= elements):
            raise self._error("T0407", name, f"an index of a sparse tensor is outside of dims {dims}")
        return flat

    def _error(self, code: str, name: str, message: str) -> DiagnosticError:
        return DiagnosticError(Diagnostic(code, escape(f"tensor `{name}`: {message}"), node=name, file=self._file))


def _graphs(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    """Every graph of the model and of its functions, outer before inner."""
    stack: list[onnx.GraphProto] = [proto.graph]
    nodes = [node for function in proto.functions for node in function.node]
    while stack or nodes:
        if stack:
            graph = stack.pop()
            yield graph
            found = graph.node
        else:
            found, nodes = nodes, []
        for node in found:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    stack.append(attribute.g)
                stack.extend(attribute.graphs)
