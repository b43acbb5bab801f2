"""One input, elementwise: unary layers, tests for NaN and infinity, casts."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, given, input_at, refuse, used
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.emit.weights import NUMPY

_UNARY = {
    "Acos": "ACOS",
    "Acosh": "ACOSH",
    "Asin": "ASIN",
    "Asinh": "ASINH",
    "Atan": "ATAN",
    "Atanh": "ATANH",
    "Ceil": "CEIL",
    "Cos": "COS",
    "Cosh": "COSH",
    "Erf": "ERF",
    "Exp": "EXP",
    "Floor": "FLOOR",
    "Log": "LOG",
    "Reciprocal": "RECIP",
    "Round": "ROUND",
    "Sin": "SIN",
    "Sinh": "SINH",
    "Sqrt": "SQRT",
    "Tan": "TAN",
}


@operator(*_UNARY)
def unary(s: Scope, node: oir.Node) -> Any:
    return s.unary(_UNARY[node.op_type], s.input(node, 0))


@operator("Not", types="B")
def logical_not(s: Scope, node: oir.Node) -> Any:
    return s.unary("NOT", s.input(node, 0))


@operator("Abs", "Neg", "Sign", types="FI")
def sign(s: Scope, node: oir.Node) -> Any:
    """Integers by the unary layer where it takes them, else by elementwise layers."""
    x = s.input(node, 0)
    op = node.op_type.upper()
    if s.type_of(x) not in ("INT32", "INT64") or op in s.caps.int_unary:
        return s.unary(op, x)
    negated = s.elementwise("SUB", s.scalar(0, x), x, "" if op == "NEG" else "negated")
    return negated if op == "NEG" else s.elementwise("MAX", x, negated)


@operator("IsNaN", types="F")
def is_nan(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    if s.caps.has("UnaryOperation.ISNAN"):
        return s.unary("ISNAN", x)
    return s.unary("NOT", s.elementwise("EQUAL", x, x, "equal"))


@operator("IsInf", types="F")
def is_inf(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    positive, negative = attr(node, "detect_positive", 1), attr(node, "detect_negative", 1)
    infinite = s.unary("ISINF", x, "" if positive and negative else "inf")
    if positive and negative:
        return infinite
    # With neither, nothing is both above and below zero: all false.
    zero = s.scalar(0, x)
    if positive or not negative:
        infinite = s.elementwise("AND", infinite, s.elementwise("GREATER", x, zero, "above"), "" if positive else "and")
    if not positive:
        infinite = s.elementwise("AND", infinite, s.elementwise("LESS", x, zero, "below"))
    return infinite


@operator("Identity", types="FIBQU")
def identity(s: Scope, node: oir.Node) -> Any:
    """No layer: the same tensor."""
    return s.input(node, 0)


def _dropout(facts: Facts, node: oir.Node) -> None:
    training = input_at(node, 2)
    if training is not None and facts.number(training) is not False and facts.number(training) != 0:
        refuse("training_mode is not a constant false", "export the model in inference mode")


@operator("Dropout", check=_dropout, note="inference: the same tensor")
def dropout(s: Scope, node: oir.Node) -> Any:
    x = given(node, 0)
    if not used(node, 1):
        return s.tensor(x)
    true = s.constant(np.asarray(True), "BOOL", "mask", (1,) * s.rank(x))
    if s.rank(x) == 0:
        return s.tensor(x), true
    return s.tensor(x), s.broadcast(true, s.sizes(s.tensor(x)), "mask")


def _cast_target(facts: Facts, node: oir.Node) -> oir.DataType:
    if node.op_type == "CastLike":
        return facts.dtype(given(node, 1))
    return oir.DataType(attr(node, "to"))


def _cast(facts: Facts, node: oir.Node) -> None:
    target = _cast_target(facts, node)
    if facts.carrier(target) in (None, "FP8"):
        refuse(f"TensorRT cannot cast to {target.name.lower()}")


@operator("Cast", "CastLike", types="FIBQU", check=_cast)
def cast(s: Scope, node: oir.Node) -> Any:
    """Float to integer truncates; anything to bool is `!= 0`."""
    dtype = s.engine_type(node.outputs[0])
    stored = s.array(given(node, 0))
    if stored is not None and s.dtype(given(node, 0)) == oir.DataType.INT8 and dtype != "INT8":
        return _from_int8(s, given(node, 0), stored, dtype)
    x = s.input(node, 0)
    source = s.dtype(given(node, 0))
    if _cast_target(s, node) == oir.DataType.UINT8 and source != oir.DataType.UINT8:
        # Whole numbers keep their low 8 bits, also within the network, where uint8 is int32.
        x = s.cast(x, "INT32", "int32")
        if source != oir.DataType.BOOL:
            rounds = s.elementwise("FLOOR_DIV", x, s.scalar(256, x), "rounds")
            x = s.elementwise("SUB", x, s.elementwise("PROD", rounds, s.scalar(256, x), "multiple"), "low")
        return s.cast(x, dtype, "")
    if s.type_of(x) == dtype:
        return x
    return s.add(s.net.add_cast(x, s.type(dtype)))


def _from_int8(s: Scope, value: oir.Value, stored: np.ndarray, dtype: str) -> Any:
    """A constant of int8 may only be dequantized: with a scale of 1, to a float type. It stays as small as it is."""
    if dtype not in ("FLOAT", "HALF", "BF16") or stored.ndim == 0:
        return s.constant(stored.astype(np.int32).astype(NUMPY[dtype]), dtype, "")
    one = s.constant(np.asarray(1, NUMPY[dtype]), dtype, "one", ())
    args = (s.type(dtype),) if s.caps.quantize_output_type else ()
    return s.add(s.net.add_dequantize(s.quantized(value), one, *args))
