"""Two and more inputs, elementwise, with numpy broadcasting: ranks are made equal first."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import FLOATS, INTS, Facts, attr, given, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope

_BINARY = {"Add": "SUM", "Sub": "SUB", "Mul": "PROD", "Div": "DIV"}
_COMPARE = {"Greater": "GREATER", "Less": "LESS"}
_LOGIC = {"And": "AND", "Or": "OR", "Xor": "XOR"}


def _values(node: oir.Node) -> list[oir.Value]:
    return [given(node, at) for at in range(len(node.inputs))]


@operator(*_BINARY, types="FI", typed=None)
def binary(s: Scope, node: oir.Node) -> Any:
    """Integer DIV truncates toward zero, as ONNX does."""
    a, b = s.operands(_values(node))
    return s.elementwise(_BINARY[node.op_type], a, b)


@operator(*_LOGIC, types="B", typed=None)
def logic(s: Scope, node: oir.Node) -> Any:
    a, b = s.operands(_values(node))
    return s.elementwise(_LOGIC[node.op_type], a, b)


@operator("Equal", types="FIB", typed=None)
def equal(s: Scope, node: oir.Node) -> Any:
    a, b = s.operands(_values(node))
    return s.elementwise("EQUAL", a, b)


@operator(*_COMPARE, types="FI", typed=None)
def compare(s: Scope, node: oir.Node) -> Any:
    a, b = s.operands(_values(node))
    return s.elementwise(_COMPARE[node.op_type], a, b)


@operator("GreaterOrEqual", "LessOrEqual", types="FI", typed=None)
def compare_or_equal(s: Scope, node: oir.Node) -> Any:
    """Not the negation of the other comparison: with a NaN both are false."""
    a, b = s.operands(_values(node))
    strict = node.op_type.removesuffix("OrEqual").upper()
    return s.elementwise("OR", s.elementwise(strict, a, b, "strict"), s.elementwise("EQUAL", a, b, "equal"))


@operator("Min", "Max", "Sum", types="FI", typed=None)
def variadic(s: Scope, node: oir.Node) -> Any:
    op = node.op_type.upper()
    return _chain(s, op, s.operands(_values(node)))


def _chain(s: Scope, op: str, tensors: list[Any], last: str = "") -> Any:
    if len(tensors) == 1:
        return tensors[0]
    most = reduce(lambda a, b: s.elementwise(op, a, b, op.lower()), tensors[:-1])
    return s.elementwise(op, most, tensors[-1], last)


@operator("Mean", typed=None)
def mean(s: Scope, node: oir.Node) -> Any:
    """In float32: a half-precision sum can overflow where the mean does not."""
    tensors = s.operands(_values(node))
    if len(tensors) == 1:
        return tensors[0]
    dtype = s.type_of(tensors[0])
    total = _chain(s, "SUM", [s.in_f32(t) for t in tensors], "sum")
    result = s.elementwise("PROD", total, s.scalar(1 / len(tensors), total), "" if dtype == "FLOAT" else "mean")
    return s.cast(result, dtype)


def _pow(facts: Facts, node: oir.Node) -> None:
    exponent = facts.dtype(given(node, 1))
    if exponent not in FLOATS | INTS:
        refuse(f"an exponent of type {exponent.name.lower()}")


@operator("Pow", types="FI", check=_pow, note="constant exponents 2, 3, 0.5 and -1 without POW")
def power(s: Scope, node: oir.Node) -> Any:
    """The result has the type of the base; TensorRT wants one type for both.

    Small constant exponents become multiplications, SQRT and RECIP: exact, and safe for negative bases.
    """
    base_value, exponent_value = _values(node)
    dtype = s.engine_type(base_value)
    exponent = s.number(exponent_value)
    floating = dtype in ("FLOAT", "HALF", "BF16")
    rank = max(s.rank(base_value), s.rank(exponent_value))
    if exponent is not None:
        x = s.operand(base_value, rank)
        if exponent == 1:
            return x
        if exponent == 2:
            return s.elementwise("PROD", x, x)
        if exponent == 3:
            return s.elementwise("PROD", s.elementwise("PROD", x, x, "square"), x)
        if exponent == 0.5 and floating:
            return s.unary("SQRT", x)
        if exponent == -1 and floating:
            return s.unary("RECIP", x)
    whole = s.dtype(exponent_value) in INTS or (exponent is not None and float(exponent).is_integer())
    if floating:
        work = "FLOAT" if s.engine_type(exponent_value) == "FLOAT" and dtype != "FLOAT" and not whole else dtype
    else:
        work = dtype if whole and s.caps.int_pow else "FLOAT"
    x, y = s.operand(base_value, rank, work), s.operand(exponent_value, rank, work)
    return s.cast(s.elementwise("POW", x, y, "" if work == dtype else "pow"), dtype)


def _mod(facts: Facts, node: oir.Node) -> None:
    if facts.dtype(given(node, 0)) in FLOATS and not attr(node, "fmod", 0):
        refuse("fmod=0 is not defined for floating point", "set fmod=1")


@operator("Mod", types="FI", typed=None, check=_mod)
def modulo(s: Scope, node: oir.Node) -> Any:
    """`a - b*floor(a/b)` has the sign of b, `fmod` (`a - b*trunc(a/b)`) that of a.

    An infinite b leaves a finite a as it is, where the formula has infinity times zero.
    """
    values = _values(node)
    dtype = s.engine_type(values[0])
    floating = dtype in ("FLOAT", "HALF", "BF16")
    a, b = s.operands(values, "FLOAT" if floating else dtype)
    if not attr(node, "fmod", 0):
        quotient = s.elementwise("FLOOR_DIV", a, b, "quotient")
    elif not floating:
        quotient = s.elementwise("DIV", a, b, "quotient")
    else:
        exact = s.elementwise("DIV", a, b, "divide")
        above = s.elementwise("GREATER", exact, s.scalar(0, exact), "above")
        quotient = s.select(above, s.unary("FLOOR", exact, "floor"), s.unary("CEIL", exact, "ceil"), "trunc")
    product = s.elementwise("PROD", b, quotient, "product")
    if not floating or _finite(s, values[1]):
        return s.cast(s.elementwise("SUB", a, product, "" if s.type_of(a) == dtype else "rest"), dtype)
    rest = s.elementwise("SUB", a, product, "rest")
    finite = s.unary("NOT", s.unary("ISINF", a, "dividend_infinite"), "dividend_finite")
    whole = s.elementwise("AND", s.unary("ISINF", b, "divisor_infinite"), finite, "whole")
    return s.cast(s.select(whole, a, rest, "" if s.type_of(a) == dtype else "remainder"), dtype)


def _finite(s: Scope, value: oir.Value) -> bool:
    constant = s.array(value)
    return constant is not None and bool(np.isfinite(constant.astype(np.float64)).all())


def _where(facts: Facts, node: oir.Node) -> None:
    dtype = facts.dtype(given(node, 1))
    if facts.carrier(dtype) in ("INT8", "UINT8", "FP8", None):
        refuse(f"values of type {dtype.name.lower()}", "cast them to int32 before, and back after")


@operator("Where", types="B", check=_where)
def where(s: Scope, node: oir.Node) -> Any:
    condition, then, otherwise = s.operands(_values(node))
    return s.select(condition, then, otherwise)


@operator("Clip", types="FI")
def clip(s: Scope, node: oir.Node) -> Any:
    """Constant finite bounds of a float are one CLIP; a missing or infinite bound is left out.

    With min > max ONNX gives max everywhere: so does MIN(MAX(x, min), max), and CLIP does not.
    """
    x_value = given(node, 0)
    x = s.tensor(x_value)
    dtype = s.type_of(x)
    floating = dtype in ("FLOAT", "HALF", "BF16")
    bounds: list[tuple[str, oir.Value, Any]] = []
    for at, op in ((1, "MAX"), (2, "MIN")):
        value = node.inputs[at] if at < len(node.inputs) else None
        if value is None:
            continue
        number = s.number(value)
        if floating and number is not None and np.isinf(number) and (number < 0) == (op == "MAX"):
            continue
        bounds.append((op, value, number))
    if floating and len(bounds) == 2:
        low, high = bounds[0][2], bounds[1][2]
        if low is not None and high is not None and np.isfinite([low, high]).all() and low <= high:
            return s.activation("CLIP", x, alpha=float(low), beta=float(high))
    for index, (op, value, _) in enumerate(bounds):
        array = s.array(value)
        ones = (1,) * len(x.shape)
        if array is not None and array.size == 1:
            bound = s.tensor(value, ones) if ones != array.shape else s.tensor(value)
        else:
            bound = s.reshape(s.tensor(value), ones, op.lower())
        x = s.elementwise(op, x, bound, "" if index == len(bounds) - 1 else op.lower())
    return x
