# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""An `onnx_ir` model as protobuf messages, with the data of large tensors left out.

Parallel to `onnx_ir.serde`, which copies every tensor into the message; here a tensor leaves a number
(`segment.begin`) and its bytes are written later, straight from the array. What has no tensors is left to `serde`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir as oir
from onnx_ir import serde

if TYPE_CHECKING:
    from trtc.ir.module import Module

#: Data of at most this many bytes is written into the message itself.
SMALL = 256

#: Dtype and dims (a number, a name, or None when not known) of a value; None when nothing is known.
Describe = Callable[[oir.Value], "tuple[oir.DataType, tuple[int | str | None, ...] | None] | None"]


class Serializer:
    """Collects in `tensors` what the messages leave out: the tensor of number i is `tensors[i]`."""

    def __init__(self, describe: Describe | None = None) -> None:
        self.tensors: list[oir.TensorProtocol] = []
        self._describe = describe

    def model(self, model: oir.Model, ir_version: int) -> onnx.ModelProto:
        proto = onnx.ModelProto(ir_version=ir_version, producer_name="trtc")
        for name in ("domain", "doc_string", "model_version"):
            value = getattr(model, name)
            if value:
                setattr(proto, name, value)
        _opsets(proto.opset_import, model.graph.opset_imports)
        _properties(proto.metadata_props, model.metadata_props)
        self._graph(proto.graph, model.graph)
        functions = sorted(model.functions.values(), key=lambda f: (f.domain, f.name, f.overload))
        for function in functions:
            proto.functions.append(self.function(function))
        return proto

    def _graph(self, proto: onnx.GraphProto, graph: oir.Graph) -> None:
        proto.name = graph.name or "graph"
        if graph.doc_string:
            proto.doc_string = graph.doc_string
        for value in graph.inputs:
            self._value(proto.input.add(), value)
        for value in graph.initializers.values():
            if value.const_value is not None:
                self._tensor(proto.initializer.add(), value.const_value, value.name or "")
        for node in graph:
            self._node(proto.node.add(), node)
            for value in node.outputs:
                if value.name and not value.is_graph_output():
                    self._info(proto.value_info, value)
        for value in graph.outputs:
            self._value(proto.output.add(), value)
        _properties(proto.metadata_props, graph.metadata_props)

    def function(self, function: oir.Function) -> onnx.FunctionProto:
        proto = onnx.FunctionProto()
        proto.domain, proto.name = function.domain, function.name
        if function.overload:
            proto.overload = function.overload
        if function.doc_string:
            proto.doc_string = function.doc_string
        _opsets(proto.opset_import, function.opset_imports)
        proto.input.extend(value.name or "" for value in function.inputs)
        proto.output.extend(value.name or "" for value in function.outputs)
        for attribute in function.attributes.values():
            if attribute.value is None:
                proto.attribute.append(attribute.name)
            else:
                self._attribute(proto.attribute_proto.add(), attribute)
        for node in function:
            self._node(proto.node.add(), node)
        _properties(proto.metadata_props, function.metadata_props)
        return proto

    def _node(self, proto: onnx.NodeProto, node: oir.Node) -> None:
        proto.op_type = node.op_type
        if node.domain:
            proto.domain = node.domain
        if node.name:
            proto.name = node.name
        if node.overload:
            proto.overload = node.overload
        if node.doc_string:
            proto.doc_string = node.doc_string
        proto.input.extend("" if value is None else value.name or "" for value in node.inputs)
        outputs = [value.name or "" for value in node.outputs]
        while outputs and not outputs[-1]:
            outputs.pop()
        proto.output.extend(outputs)
        for attribute in node.attributes.values():
            self._attribute(proto.attribute.add(), attribute)
        _properties(proto.metadata_props, node.metadata_props)

    def _attribute(self, proto: onnx.AttributeProto, attribute: oir.Attr) -> None:
        kind = attribute.type
        if attribute.is_ref():
            serde.serialize_reference_attribute_into(proto, attribute)
        elif kind == oir.AttributeType.TENSOR:
            self._named(proto, attribute)
            self._tensor(proto.t, attribute.value, attribute.value.name or "")
        elif kind == oir.AttributeType.TENSORS:
            self._named(proto, attribute)
            for tensor in attribute.value:
                self._tensor(proto.tensors.add(), tensor, tensor.name or "")
        elif kind == oir.AttributeType.GRAPH:
            self._named(proto, attribute)
            self._graph(proto.g, attribute.value)
        elif kind == oir.AttributeType.GRAPHS:
            self._named(proto, attribute)
            for graph in attribute.value:
                self._graph(proto.graphs.add(), graph)
        else:
            serde.serialize_attribute_into(proto, attribute)

    def _named(self, proto: onnx.AttributeProto, attribute: oir.Attr) -> None:
        proto.name = attribute.name
        proto.type = int(attribute.type)  # pyright: ignore[reportAttributeAccessIssue]
        if attribute.doc_string:
            proto.doc_string = attribute.doc_string

    def _tensor(self, proto: onnx.TensorProto, tensor: oir.TensorProtocol, name: str) -> None:
        proto.data_type = int(tensor.dtype)
        proto.dims.extend(tensor.shape.numpy())
        if name:
            proto.name = name
        if tensor.dtype == oir.DataType.STRING:
            text = tensor.string_data() if isinstance(tensor, oir.StringTensor) else tensor.numpy().reshape(-1)
            proto.string_data.extend(t if isinstance(t, bytes) else str(t).encode() for t in text)
        elif tensor.nbytes <= SMALL:
            proto.raw_data = tensor.tobytes()
        else:
            proto.segment.begin = len(self.tensors)
            self.tensors.append(tensor)

    def _info(self, infos: Any, value: oir.Value) -> None:
        """The value_info of a value of which something is known."""
        found = self._describe(value) if self._describe is not None else None
        if found is not None:
            _typed(infos.add(), value.name or "", *found)
        elif self._describe is None and value.type is not None:
            serde.serialize_value_into(infos.add(), value)

    def _value(self, proto: onnx.ValueInfoProto, value: oir.Value) -> None:
        """An input or output: what was inferred (a spec may have refined it), else what the model says of it."""
        found = self._describe(value) if self._describe is not None else None
        if found is not None and found[1] is not None:
            _typed(proto, value.name or "", *found)
            return
        serde.serialize_value_into(proto, value)


def facts_of(module: Module) -> Describe:
    """What the inference of a module knows of its values."""
    from trtc.ir import dims

    def describe(value: oir.Value) -> tuple[oir.DataType, tuple[int | str | None, ...] | None] | None:
        if value.type is not None and not isinstance(value.type, oir.TensorType):
            return None
        fact = module.fact(value)
        if fact.dtype is None or fact.kind != "tensor":
            return None
        shape = fact.shape
        return fact.dtype, None if shape is None else tuple(d if isinstance(d, int) else dims.text(d) for d in shape)

    return describe


def _typed(
    proto: onnx.ValueInfoProto, name: str, dtype: oir.DataType, shape: Iterable[int | str | None] | None
) -> None:
    proto.name = name
    kind = proto.type.tensor_type
    kind.elem_type = int(dtype)
    if shape is None:
        return
    kind.shape.SetInParent()
    for dim in shape:
        entry = kind.shape.dim.add()
        if isinstance(dim, int):
            entry.dim_value = dim
        elif dim is not None:
            entry.dim_param = dim


def _opsets(protos: Any, opsets: Any) -> None:
    for domain in sorted(opsets):
        protos.add(domain=domain, version=opsets[domain])


def _properties(protos: Any, properties: Any) -> None:
    for key in sorted(properties):
        protos.add(key=key, value=properties[key])
