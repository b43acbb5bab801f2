"""Operators carried as functions with the bodies of the standard: newer ones that opset 23 cannot say in a few nodes,
and those that are only a name for a composition."""

# The stubs of onnx.defs lack what gives the bodies.
# pyright: reportUnknownMemberType=false, reportAttributeAccessIssue=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import onnx
import onnx_ir as oir
from onnx import defs

from trtc.ir.canonical.site import OPSET, Site

#: Functions made here are named after the operator and stand in this domain, which no standard uses.
DOMAIN = "trtc.onnx"

#: Operators of opset 23 that nothing computes but by their parts: fewer operators for all that follows.
COMPOSED = frozenset({"AffineGrid", "CenterCropPad", "DynamicQuantizeLinear"})


def carry(site: Site) -> oir.Function | None:
    """Make the node a call of a function of the model whose body the schema of its operator gives.

    Returns the function when it is new, to be brought to canonical form itself; None when the model had it already.
    Raises: DiagnosticError T0653 when the schema has no body, or one that the types at hand do not determine.
    """
    node = site.node
    schema = defs.get_schema(node.op_type, site.opset, "")
    proto = _body(site, schema)
    if proto is None:
        raise site.refusal(
            "T0653",
            f"{node.op_type} (opset {schema.since_version}) has no form at opset {OPSET}, and the standard no body",
            help="express it in operators that opset 23 has, or export for an older opset",
        )
    model = site.module.model
    function = oir.serde.deserialize_function(proto)
    unique = site.module.unique
    for inner in function.all_nodes():  # those of bodies too
        inner.name = unique(inner.name or f"{function.name}_{inner.op_type}")
        bodies = [attr.as_graph() for attr in inner.attributes.values() if attr.type == oir.AttributeType.GRAPH]
        for value in (*inner.outputs, *(value for body in bodies for value in body.inputs)):
            value.name = unique(value.name) if value.name else value.name
    for value in function.inputs:
        value.name = unique(value.name or function.name)
    key = (DOMAIN, function.name, "")
    node.domain, node.op_type, node.overload = key
    if DOMAIN not in model.opset_imports:
        model.opset_imports[DOMAIN] = 1
    if key in model.functions:
        return None
    model.functions[key] = function
    return function


def _body(site: Site, schema: defs.OpSchema) -> onnx.FunctionProto | None:
    node = site.node
    if schema.has_function:
        proto = onnx.FunctionProto()
        proto.CopyFrom(schema.function_body)
        name = f"{node.op_type}_{schema.since_version}"
    elif schema.has_context_dependent_function:
        types = [_type(site, value) for value in node.inputs]
        if any(kind is None for kind in types):
            raise site.refusal(
                "T0655",
                f"{node.op_type} (opset {schema.since_version}) is carried as a function, whose body depends on types "
                "that are not known here",
            )
        call = onnx.helper.make_node(
            node.op_type,
            [f"i{at}" if value is not None else "" for at, value in enumerate(node.inputs)],
            [f"o{at}" for at in range(len(node.outputs))],
        )
        call.attribute.extend(
            oir.serde.serialize_attribute(attr) for attr in node.attributes.values() if not attr.is_ref()
        )
        text = schema.get_context_dependent_function(
            call.SerializeToString(), [kind.SerializeToString() for kind in types if kind is not None]
        )
        if not text:  # how the schema says that it needs to know more
            raise site.refusal(
                "T0655",
                f"{node.op_type} (opset {schema.since_version}) is carried as a function, whose body depends on sizes "
                "that are not known here",
                help="give the model's inputs static shapes where the operator needs them (of weights, for one)",
            )
        proto = onnx.FunctionProto.FromString(text)
        # The body depends on attributes and types: one function for each that differs.
        name = f"{node.op_type}_{schema.since_version}_{_digest(text)}"
    else:
        return None
    if not any(entry.domain in ("", "ai.onnx") for entry in proto.opset_import):
        proto.opset_import.add(domain="", version=site.opset)
    proto.domain, proto.name, proto.overload = DOMAIN, name, ""
    return proto


def _type(site: Site, value: oir.Value | None) -> onnx.TypeProto | None:
    if value is None:
        return onnx.TypeProto()
    dtype, shape = site.dtype(value), site.shape(value)
    if dtype is None:
        return None
    if shape is None:
        return onnx.helper.make_tensor_type_proto(int(dtype), None)
    return onnx.helper.make_tensor_type_proto(int(dtype), [d if isinstance(d, int) else str(d) for d in shape])


def _digest(text: bytes) -> str:
    import hashlib

    return hashlib.sha256(text).hexdigest()[:12]
