"""What ai.onnx says of an operator at an opset: the parts of `onnx.defs` that canonical forms need, looked up once."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import onnx
import onnx_ir as oir
from onnx import defs

#: A count no node reaches: what `onnx.defs` gives for variadic inputs and outputs.
MANY = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Form:
    """One version of one operator."""

    since: int
    attributes: Mapping[str, oir.AttributeType]
    required: frozenset[str]
    defaults: tuple[oir.Attr, ...]
    """Every attribute that has a default in the schema, with it."""
    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int


@functools.cache
def form(op_type: str, opset: int) -> Form | None:
    """The version of `op_type` that opset `opset` of ai.onnx has; None when it has no such operator."""
    try:
        schema = defs.get_schema(op_type, opset, "")
    except defs.SchemaError:
        return None
    if schema.deprecated and not schema.inputs:
        # Upsample-10 says no more than that it is deprecated; models go on to use version 9 under newer opsets.
        schema = defs.get_schema(op_type, schema.since_version - 1, "")
    defaults: list[oir.Attr] = []
    for attribute in schema.attributes.values():
        if attribute.default_value.name:
            defaults.append(_attr(attribute.default_value))
    return Form(
        schema.since_version,
        {name: oir.AttributeType(int(a.type)) for name, a in schema.attributes.items()},  # pyright: ignore[reportArgumentType]
        frozenset(name for name, a in schema.attributes.items() if a.required),
        tuple(defaults),
        schema.min_input,
        min(schema.max_input, MANY),
        schema.min_output,
        min(schema.max_output, MANY),
    )


def _attr(proto: onnx.AttributeProto) -> oir.Attr:
    attr = oir.serde.deserialize_attribute(proto)
    # The schemas of RNN-1 and GRU-1 carry a spelling that no version of the operator understands.
    if attr.type == oir.AttributeType.STRING and attr.value == "foward":
        return oir.AttrString(attr.name, "forward")
    return attr


@functools.cache
def newest_opset() -> int:
    """The newest opset of ai.onnx that the installed onnx knows."""
    return defs.onnx_opset_version()


@functools.cache
def first_opset(op_type: str) -> int | None:
    """The opset that introduced `op_type`; None when no opset known here has it."""
    return next((v for v in range(1, newest_opset() + 1) if form(op_type, v) is not None), None)
