"""Elementwise, unary, activation, select and cast layers."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import onnx_ir as oir

from trtc.readback.layers import Layer, refuse
from trtc.readback.quantizing import rounded
from trtc.readback.scope import Scope
from trtc.readback.types import carried, is_integer, tensor_type

_BOOL = oir.DataType.BOOL
_FLOAT = oir.DataType.FLOAT

_BINARY = {
    "SUM": "Add",
    "PROD": "Mul",
    "MAX": "Max",
    "MIN": "Min",
    "SUB": "Sub",
    "DIV": "Div",  # on integers both truncate toward zero
    "POW": "Pow",
    "AND": "And",
    "OR": "Or",
    "XOR": "Xor",
}
_COMPARE = {"EQUAL": "Equal", "GREATER": "Greater", "LESS": "Less"}

_UNARY = {
    "EXP": "Exp",
    "LOG": "Log",
    "SQRT": "Sqrt",
    "RECIP": "Reciprocal",
    "ABS": "Abs",
    "NEG": "Neg",
    "SIN": "Sin",
    "COS": "Cos",
    "TAN": "Tan",
    "SINH": "Sinh",
    "COSH": "Cosh",
    "ASIN": "Asin",
    "ACOS": "Acos",
    "ATAN": "Atan",
    "ASINH": "Asinh",
    "ACOSH": "Acosh",
    "ATANH": "Atanh",
    "CEIL": "Ceil",
    "FLOOR": "Floor",
    "ERF": "Erf",
    "NOT": "Not",
    "SIGN": "Sign",
    "ROUND": "Round",  # both to even
}
_TEST = {"ISINF": "IsInf", "ISNAN": "IsNaN"}


def elementwise(scope: Scope, layer: Layer) -> None:
    """Both operands have the same rank and type; lengths of 1 broadcast."""
    name = layer.handle.op.name
    a, b = scope.wide_input(layer, 0), scope.wide_input(layer, 1)
    if name in _COMPARE:
        out = scope.op(_COMPARE[name], a, b, dtype=_BOOL)
    elif name == "FLOOR_DIV":
        out = _floor_div(scope, a, b)
    elif name in _BINARY:
        out = scope.op(_BINARY[name], a, b)
    else:
        raise refuse(layer, "T0953", f"has the operation {name}, which has no reading")
    scope.bind(layer, out)


def _floor_div(scope: Scope, a: oir.Value, b: oir.Value) -> oir.Value:
    quotient = scope.op("Div", a, b)
    if not is_integer(a.dtype):
        return scope.op("Floor", quotient)
    # The integer quotient was truncated: one less where there is a remainder and the signs differ.
    remainder = scope.op("Sub", a, scope.op("Mul", quotient, b))
    zero = scope.scalar(0, a.dtype or _FLOAT)
    inexact = scope.op("Not", scope.op("Equal", remainder, zero, dtype=_BOOL))
    signs = scope.op("Xor", scope.op("Less", remainder, zero, dtype=_BOOL), scope.op("Less", b, zero, dtype=_BOOL))
    return scope.op("Sub", quotient, scope.cast(scope.op("And", inexact, signs), a.dtype or _FLOAT))


def unary(scope: Scope, layer: Layer) -> None:
    name = layer.handle.op.name
    x = scope.wide_input(layer, 0)
    if name in _TEST:
        out = scope.op(_TEST[name], x, dtype=_BOOL)
    elif name in _UNARY:
        out = scope.op(_UNARY[name], x)
    else:
        raise refuse(layer, "T0953", f"has the operation {name}, which has no reading")
    scope.bind(layer, out)


def activation(scope: Scope, layer: Layer) -> None:
    """The formulas of `ActivationType`, with alpha and beta as the layer holds them (float32)."""
    name, alpha, beta = layer.handle.type.name, float(layer.handle.alpha), float(layer.handle.beta)
    x = scope.wide_input(layer, 0)
    match name:
        case "RELU":
            out = scope.op("Max", x, scope.scalar(0, x.dtype or _FLOAT))
        case "SIGMOID":
            out = scope.op("Sigmoid", x)
        case "TANH":
            out = scope.op("Tanh", x)
        case "LEAKY_RELU":
            out = scope.op("LeakyRelu", x, alpha=alpha)
        case "ELU":
            out = scope.op("Elu", x, alpha=alpha)
        case "SELU":
            out = scope.op("Selu", x, alpha=alpha, gamma=beta)
        case "SOFTSIGN":
            out = scope.op("Softsign", x)
        case "SOFTPLUS":
            inner = scope.op("Softplus", scope.op("Mul", x, scope.floats(beta)))
            out = scope.op("Mul", scope.floats(alpha), inner)
        case "CLIP":
            out = scope.op("Max", scope.floats(alpha), scope.op("Min", scope.floats(beta), x))
        case "HARD_SIGMOID":
            out = scope.op("HardSigmoid", x, alpha=alpha, beta=beta)
        case "SCALED_TANH":
            inner = scope.op("Tanh", scope.op("Mul", x, scope.floats(beta)))
            out = scope.op("Mul", scope.floats(alpha), inner)
        case "THRESHOLDED_RELU":
            out = scope.op("ThresholdedRelu", x, alpha=alpha)
        case "GELU_ERF":
            out = scope.op("Gelu", x, approximate="none")
        case "GELU_TANH":
            out = scope.op("Gelu", x, approximate="tanh")
        case _:
            raise refuse(layer, "T0953", f"has the function {name}, which has no reading")
    scope.bind(layer, out)


def parametric_relu(scope: Scope, layer: Layer) -> None:
    """x where x >= 0, slope * x elsewhere; the slope broadcasts to x."""
    x, slope = scope.wide_input(layer, 0), scope.wide_input(layer, 1)
    positive = scope.op("GreaterOrEqual", x, scope.floats(0), dtype=_BOOL)
    scope.bind(layer, scope.where(positive, x, scope.op("Mul", slope, x)))


def select(scope: Scope, layer: Layer) -> None:
    scope.bind(layer, scope.where(scope.input(layer, 0), scope.input(layer, 1), scope.input(layer, 2)))


def cast(scope: Scope, layer: Layer) -> None:
    """To the type of the output tensor: toward zero for integers, x != 0 for bool; rounded for narrow floats."""
    source, target = (tensor_type(tensors[0]) for tensors in (layer.inputs, layer.outputs))
    x = scope.input(layer, 0)
    scope.bind(layer, x if source == target or carried(target) == target else rounded(scope, layer, x, target))


def nothing(scope: Scope, layer: Layer) -> None:
    """A layer without outputs: it has no effect on any value (assertions, inputs of an attention)."""
