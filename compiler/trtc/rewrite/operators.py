"""What the matcher must know of ONNX's operators beyond their schemas."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from trtc.ir.schemas import COMMUTATIVE as COMMUTATIVE

#: Operators that change nothing but the shape: what `view` goes through.
VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})

#: Operators whose operands broadcast to each other.
BROADCASTING = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Sum", "Mean", "Where", "And", "Or", "Xor", "BitShift"}
    | {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor"}
)

#: Attributes that the windowed operators have no constant default for: an attribute that is not mentioned must be
#: filled with this, whatever its length. `kernel_shape` only repeats what the weights say.
FILLED = {"strides": 1, "dilations": 1, "pads": 0, "output_padding": 0}
IMPLIED = frozenset({"kernel_shape", "hidden_size", "num_outputs", "output_shape"})

#: Operators of arithmetic, as the language writes them.
ARITHMETIC = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "@": "MatMul"}

#: What counts axes, by operator: the attribute or named input, and whether the rank counted in is the output's.
_AXIS_OF_INPUT = (
    *("ArgMax", "ArgMin", "Compress", "Concat", "DequantizeLinear", "Flatten", "Gather", "GatherElements"),
    *("Hardmax", "LayerNormalization", "LogSoftmax", "LpNormalization", "QuantizeLinear", "TopK"),
    *("RMSNormalization", "ScatterElements", "Softmax", "Split", "Unique"),
)
_AXES_OF_INPUT = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSum", "ReduceSumSquare", "Squeeze", "Slice", "Pad", "Resize", "CenterCropPad"),
    "MeanVarianceNormalization",
)
AXES: dict[str, tuple[str, bool]] = {
    **dict.fromkeys(_AXIS_OF_INPUT, ("axis", False)),
    **dict.fromkeys(_AXES_OF_INPUT, ("axes", False)),
    "CumSum": ("axis", False),
    "Unsqueeze": ("axes", True),
    "OneHot": ("axis", True),
}


@dataclass(frozen=True, slots=True)
class Schema:
    """The parts of an operator's schema, at the opset of every module, that rules ask for."""

    inputs: tuple[str, ...]
    types: tuple[str, ...]
    """The type of each input: the name of a type variable, or a type such as `tensor(int64)`."""
    optional: tuple[bool, ...]
    variadic: bool
    least: int
    attributes: dict[str, int]
    """Type (as of `onnx.AttributeProto`) by name."""
    defaults: dict[str, Any]
    required: frozenset[str]
    outputs: int
    """How many outputs there may be; -1 any number."""
    constraints: dict[str, frozenset[str]]


@functools.cache
def schema(op_type: str, domain: str = "") -> Schema | None:
    """The schema of an operator; None when onnx does not know it."""
    from onnx import defs, helper

    from trtc.ir.module import OPSET

    try:
        found = defs.get_schema(op_type, OPSET, domain) if not domain else defs.get_schema(op_type, domain)
    except defs.SchemaError:
        try:
            found = defs.get_schema(op_type, domain=domain)  # newer than the opset of modules: carried
        except defs.SchemaError:
            return None
    option = defs.OpSchema.FormalParameterOption
    return Schema(
        tuple(i.name for i in found.inputs),
        tuple(i.type_str for i in found.inputs),
        tuple(i.option == option.Optional for i in found.inputs),
        any(i.option == option.Variadic for i in found.inputs),
        found.min_input,
        {name: int(a.type) for name, a in found.attributes.items()},  # pyright: ignore[reportArgumentType]
        {
            name: _plain(helper.get_attribute_value(a.default_value))
            for name, a in found.attributes.items()
            if a.default_value.name
        },
        frozenset(name for name, a in found.attributes.items() if a.required),
        -1 if any(o.option == option.Variadic for o in found.outputs) else len(found.outputs),
        {c.type_param_str: frozenset(c.allowed_type_strs) for c in found.type_constraints},
    )


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, list | tuple):
        return tuple(_plain(v) for v in value)  # pyright: ignore[reportUnknownVariableType]
    return value
