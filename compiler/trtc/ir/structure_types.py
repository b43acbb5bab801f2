"""Types of attributes against the schemas of ONNX, and declared types and shapes of values."""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import onnx

from trtc.ir.versions import default_domain
from trtc.ir.wire_tensors import data_type

if TYPE_CHECKING:
    from trtc.ir.structure import Report

#: Operators whose output has as many dims as this input has elements.
_SHAPE_INPUT = {"ConstantOfShape": 0, "Expand": 1, "Reshape": 1}


@functools.cache
def _attribute_types(op_type: str, opset: int) -> dict[str, int] | None:
    """Type by name of the attributes of a standard operator; None when this opset has no such operator."""
    try:
        schema = onnx.defs.get_schema(op_type, opset, "")
    except onnx.defs.SchemaError:
        return None
    return {name: _number(attribute.type) for name, attribute in schema.attributes.items()}


def _number(kind: Any) -> int:
    """Schemas have an enumeration of their own, with the numbers of AttributeProto."""
    return int(kind.value)


def attributes(node: onnx.NodeProto, opsets: dict[str, int], report: Report, is_call: bool) -> None:
    """T0414: an attribute that is given twice, or has another type than the operator wants.

    Types that the file leaves out (as IR version 1 did) are filled in.
    """
    domain(node, opsets, report, is_call)
    known: dict[str, int] | None = None
    if not is_call and default_domain(node.domain) == "" and "" in opsets:
        known = _attribute_types(node.op_type, opsets[""])
    seen: set[str] = set()
    for attribute in node.attribute:
        name = attribute.name
        if name in seen:
            report.add("T0414", f"node `{_who(node)}` has attribute `{name}` twice", _who(node))
        seen.add(name)
        wanted = None if known is None else known.get(name)
        if attribute.type == 0 and not attribute.ref_attr_name:
            attribute.type = wanted if wanted is not None else _stored(attribute)  # pyright: ignore[reportAttributeAccessIssue]
        stored = _stored(attribute)
        if wanted is not None and attribute.type != wanted:
            message = (
                f"node `{_who(node)}`: attribute `{name}` is {_type(attribute.type)}, "
                f"{node.op_type} wants {_type(wanted)}"
            )
            report.add("T0414", message, _who(node))
        elif stored and stored != attribute.type and not attribute.ref_attr_name:
            message = (
                f"node `{_who(node)}`: attribute `{name}` is declared {_type(attribute.type)} but holds {_type(stored)}"
            )
            report.add("T0414", message, _who(node))


def domain(node: onnx.NodeProto, opsets: dict[str, int], report: Report, is_call: bool) -> None:
    """T0406: an operator that is no function of the model, and no opset to say what it means."""
    name = default_domain(node.domain)
    if not is_call and name not in opsets:
        message = f"node `{_who(node)}` is an operator of {name or 'ai.onnx'}, for which opset_import has no version"
        report.add("T0406", message, _who(node))


_FIELDS = (
    ("f", 1),
    ("i", 2),
    ("s", 3),
    ("t", 4),
    ("g", 5),
    ("sparse_tensor", 11),
    ("tp", 13),
)
_LISTS = (
    ("floats", 6),
    ("ints", 7),
    ("strings", 8),
    ("tensors", 9),
    ("graphs", 10),
    ("sparse_tensors", 12),
    ("type_protos", 14),
)


def _stored(attribute: onnx.AttributeProto) -> int:
    """The type of the field that is filled; 0 when none is (zeros may be left out)."""
    declared = attribute.type
    if declared and declared in _FIELD_OF:
        name, repeated = _FIELD_OF[declared]
        if getattr(attribute, name) if repeated else attribute.HasField(name):
            return declared
    for name, number in _FIELDS:
        # Writers that follow proto3 fill in nothing; others fill in zeros beside the field that counts.
        if attribute.HasField(name) and (number not in (1, 2, 3) or getattr(attribute, name)):
            return number
    for name, number in _LISTS:
        if getattr(attribute, name):
            return number
    return 0


_FIELD_OF = {number: (name, False) for name, number in _FIELDS} | {number: (name, True) for name, number in _LISTS}


def _type(number: int) -> str:
    try:
        return onnx.AttributeProto.AttributeType.Name(number)  # pyright: ignore[reportArgumentType]
    except ValueError:
        return f"of unknown type {number}"


def shapes(graph: onnx.GraphProto, report: Report) -> None:
    """T0408 (rank) and T0409 (type) of what a graph declares of its values. Negative dims become unknown ones."""
    for infos in (graph.input, graph.output, graph.value_info):
        for info in infos:
            for kind in _tensor_types(info.type):
                if kind.HasField("elem_type") and data_type(kind.elem_type) is None and kind.elem_type:
                    report.add("T0409", f"tensor `{info.name}`: unknown data type {kind.elem_type}", info.name)
                dims = kind.shape.dim
                if len(dims) > report.limits.rank:
                    message = f"tensor `{info.name}`: rank {len(dims):,}, at most {report.limits.rank} is supported"
                    report.add("T0408", message, info.name)
                for dim in dims:
                    if dim.dim_value < 0:
                        dim.ClearField("dim_value")
    _shape_inputs(graph, report)


def _tensor_types(kind: onnx.TypeProto) -> Iterator[onnx.TypeProto.Tensor]:
    while True:
        which = kind.WhichOneof("value")
        if which == "tensor_type":
            yield kind.tensor_type
            return
        if which == "sequence_type":
            kind = kind.sequence_type.elem_type
        elif which == "optional_type":
            kind = kind.optional_type.elem_type
        else:
            return


def _shape_inputs(graph: onnx.GraphProto, report: Report) -> None:
    """T0408: a shape that is declared to have more elements than a tensor has dims."""
    wanted = {
        node.input[_SHAPE_INPUT[node.op_type]]: node
        for node in graph.node
        if node.op_type in _SHAPE_INPUT and len(node.input) > _SHAPE_INPUT[node.op_type]
    }
    if not wanted:
        return
    ranks: dict[str, int] = {}
    for infos in (graph.input, graph.value_info):
        for info in infos:
            if info.name in wanted and len(info.type.tensor_type.shape.dim) == 1:
                ranks[info.name] = info.type.tensor_type.shape.dim[0].dim_value
    for tensor in graph.initializer:
        if tensor.name in wanted and len(tensor.dims) == 1:
            ranks[tensor.name] = tensor.dims[0]
    for name, rank in ranks.items():
        node = wanted[name]
        if rank > report.limits.rank:
            message = (
                f"node `{_who(node)}`: its shape `{name}` has {rank:,} elements, a tensor of rank {rank:,}; "
                f"at most {report.limits.rank} is supported"
            )
            report.add("T0408", message, _who(node))
    for tensor in graph.initializer:
        node = wanted.get(tensor.name)
        if node is not None and node.op_type != "Reshape" and ranks.get(tensor.name, 99) <= report.limits.rank:
            _constant_shape(tensor, node, report)


def _constant_shape(tensor: onnx.TensorProto, node: onnx.NodeProto, report: Report) -> None:
    if tensor.data_type != onnx.TensorProto.INT64:
        return
    raw = tensor.raw_data
    values = struct.unpack(f"<{len(raw) // 8}q", raw) if raw else tuple(tensor.int64_data)
    elements = math.prod(abs(v) for v in values if v)
    if elements >= 1 << 63:
        message = (
            f"node `{_who(node)}`: shape {list(values)} is {elements:,} elements, more than a 64-bit integer counts"
        )
        report.add("T0408", message, _who(node))


def _who(node: onnx.NodeProto) -> str:
    from trtc.ir.structure import describe

    return describe(node)
