"""A module as JSON, for other programs: everything but the elements of large tensors."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import onnx_ir as oir

from trtc.diagnostics import DiagnosticError, Remark
from trtc.ir import provenance
from trtc.ir.module import Module
from trtc.ir.text_values import string_elements, summary

#: Changes whenever a reader of the form must.
FORMAT = "trtc.module/1"
#: Tensors with more elements have a hash and statistics only.
_SHOWN = 16


def to_json(module: Module, *, indent: int | None = 1, remarks: Sequence[Remark] = ()) -> str:
    """The whole module, subgraphs and functions included, as one JSON document, with what passes and rules said of it.

    Dims are numbers or the text of an expression, `shape` is null where the rank is not known; numbers that JSON lacks
    are the strings "nan", "inf" and "-inf". The same module gives the same bytes.
    """
    model = module.model
    form: dict[str, Any] = {
        "format": FORMAT,
        "ir_version": model.ir_version,
        "opset_imports": dict(model.graph.opset_imports),
        "original_opset": module.opset,
        "producer": {"name": model.producer_name, "version": model.producer_version},
        "metadata": dict(model.metadata_props),
        "symbols": {name: list(bounds) for name, bounds in module.symbols.items()},
        "graph": _graph(module, model.graph),
        "functions": [_function(module, function) for function in model.functions.values()],
    }
    if remarks:
        form["remarks"] = [remark.to_json() for remark in remarks]
    return json.dumps(form, indent=indent, ensure_ascii=True, allow_nan=False) + "\n"


def _graph(module: Module, graph: oir.Graph) -> dict[str, Any]:
    return {
        "name": graph.name,
        "inputs": [_value(module, v) for v in graph.inputs],
        "outputs": [_value(module, v) for v in graph.outputs],
        "initializers": [
            {"name": name, **_tensor(value.const_value)}
            for name, value in graph.initializers.items()
            if value.const_value is not None
        ],
        "nodes": [_node(module, node) for node in graph],
    }


def _function(module: Module, function: oir.Function) -> dict[str, Any]:
    return {
        "domain": function.domain,
        "name": function.name,
        "overload": function.overload,
        "opset_imports": dict(function.opset_imports),
        "attributes": {
            a.name: None if a.value is None else _attribute(module, a) for a in function.attributes.values()
        },
        "inputs": [_value(module, v) for v in function.inputs],
        "outputs": [_value(module, v) for v in function.outputs],
        "nodes": [_node(module, node) for node in function],
    }


def _node(module: Module, node: oir.Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "domain": node.domain,
        "op_type": node.op_type,
        "overload": node.overload,
        "inputs": [None if v is None else v.name for v in node.inputs],
        "outputs": [_value(module, v) for v in node.outputs],
        "attributes": {a.name: _attribute(module, a) for a in node.attributes.values()},
        "origins": list(provenance.origins(node)),
        "rule": provenance.rule(node),
    }


def _value(module: Module, value: oir.Value) -> dict[str, Any]:
    from trtc.ir import dims

    dtype = value.dtype
    known = value.shape
    shape = None if known is None else [d if isinstance(d, int) else d.value for d in known]
    if isinstance(value.graph, oir.Graph):
        try:
            fact = module.fact(value)
        except DiagnosticError:
            fact = None  # a broken model is shown as it says of itself
        if fact is not None:
            dtype = fact.dtype if fact.dtype is not None else dtype
            if fact.shape is not None:
                shape = [d if isinstance(d, int) else dims.text(d) for d in fact.shape]
    shape = None if shape is None else [d if isinstance(d, int) or d is None else str(d) for d in shape]
    return {"name": value.name, "dtype": None if dtype is None else dtype.name.lower(), "shape": shape}


def _tensor(tensor: oir.TensorProtocol) -> dict[str, Any]:
    found = summary(tensor)
    form: dict[str, Any] = {
        "dtype": tensor.dtype.name.lower(),
        "shape": list(tensor.shape.numpy()),
        "sha256": found.sha256,
    }
    if found.low is not None:
        form |= {"min": found.low, "max": found.high, "mean": found.mean}
    if found.nan or found.inf:
        form |= {"nan": found.nan, "inf": found.inf}
    if tensor.size <= _SHOWN:
        form["elements"] = _elements(tensor)
    return form


def _elements(tensor: oir.TensorProtocol) -> list[Any]:
    if tensor.dtype == oir.DataType.STRING:
        return [raw.decode("utf-8", "backslashreplace") for raw in string_elements(tensor)]
    flat = tensor.numpy().ravel()
    if tensor.dtype in (oir.DataType.COMPLEX64, oir.DataType.COMPLEX128):
        return [[_number(float(x.real)), _number(float(x.imag))] for x in flat]
    if tensor.dtype == oir.DataType.BOOL:
        return [bool(x) for x in flat]
    if tensor.dtype.is_integer():
        return [int(x) for x in flat]
    return [_number(float(x)) for x in flat]


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _attribute(module: Module, attr: oir.Attr) -> Any:
    if attr.is_ref():
        return {"type": attr.type.name.lower(), "ref": attr.ref_attr_name}
    match attr.type:
        case oir.AttributeType.GRAPH:
            value: Any = _graph(module, attr.as_graph())
        case oir.AttributeType.GRAPHS:
            value = [_graph(module, graph) for graph in attr.as_graphs()]
        case oir.AttributeType.TENSOR:
            value = _tensor(attr.as_tensor())
        case oir.AttributeType.TENSORS:
            value = [_tensor(tensor) for tensor in attr.as_tensors()]
        case oir.AttributeType.FLOAT:
            value = _number(attr.as_float())
        case oir.AttributeType.FLOATS:
            value = [_number(x) for x in attr.as_floats()]
        case oir.AttributeType.INT | oir.AttributeType.STRING:
            value = attr.value
        case oir.AttributeType.INTS | oir.AttributeType.STRINGS:
            value = list(attr.value)
        case _:
            value = str(attr.value)
    return {"type": attr.type.name.lower(), "value": value}
