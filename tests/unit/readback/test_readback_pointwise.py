"""Elementwise, unary, activation, select, cast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

A = np.array([[-7, 7, -8, 5], [3, -1, 6, -9]])
B = np.array([[2, -2, 2, 5], [-3, 4, -4, 2]])

BINARY = {
    "SUM": lambda a, b: a + b,
    "PROD": lambda a, b: a * b,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "SUB": lambda a, b: a - b,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64])
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic(net: Any, name: str, dtype: Any) -> None:
    x, y = net.input((2, 4), dtype), net.input((2, 1), dtype)
    out = net.network.add_elementwise(x, y, getattr(net.trt.ElementWiseOperation, name)).get_output(0)
    net.check(out, BINARY[name], (A.astype(dtype), B[:, :1].astype(dtype)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integer_division_truncates_and_floor_division_floors(net: Any, dtype: Any) -> None:
    x, y = net.input((2, 4), dtype), net.input((2, 4), dtype)
    op = net.trt.ElementWiseOperation
    outs = [net.network.add_elementwise(x, y, o).get_output(0) for o in (op.DIV, op.FLOOR_DIV)]

    def expected(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
        # -7/2, 7/-2, -8/2, 5/5 | 3/-3, -1/4, 6/-4, -9/2
        return np.array([[-3, -3, -4, 1], [-1, 0, -1, -4]]), np.array([[-4, -4, -4, 1], [-1, -1, -2, -5]])

    net.check(outs, expected, (A.astype(dtype), B.astype(dtype)))


def test_integer_floor_division_at_the_end_of_the_range(net: Any) -> None:
    x, y = net.input((1, 2), np.int32), net.input((1, 2), np.int32)
    out = net.network.add_elementwise(x, y, net.trt.ElementWiseOperation.FLOOR_DIV).get_output(0)
    low = np.array([[-(2**31), 2**31 - 1]], np.int32)
    net.check(out, lambda a, b: np.array([[-715827883, -715827883]]), (low, np.array([[3, -3]], np.int32)))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_float_division_and_power(net: Any, dtype: Any) -> None:
    x, y = net.input((1, 4), dtype), net.input((1, 4), dtype)
    op = net.trt.ElementWiseOperation
    outs = [net.network.add_elementwise(x, y, o).get_output(0) for o in (op.DIV, op.FLOOR_DIV, op.POW)]
    a, b = np.array([[-7, 7, 9, 0.5]], dtype), np.array([[2, -2, 0.5, -1]], dtype)
    net.check(
        outs, lambda a, b: ([[-3.5, -3.5, 18, -0.5]], [[-4, -4, 18, -1]], [[49, 1 / 49, 3, 2]]), (a, b), rtol=1e-3
    )


def test_comparisons_and_logic(net: Any) -> None:
    op = net.trt.ElementWiseOperation
    x, y = net.input((2, 4), np.int32), net.input((2, 4), np.int32)
    e, g, less = (net.network.add_elementwise(x, y, o).get_output(0) for o in (op.EQUAL, op.GREATER, op.LESS))
    logic = [net.network.add_elementwise(e, g, o).get_output(0) for o in (op.AND, op.OR, op.XOR, op.EQUAL)]
    inverse = net.network.add_unary(less, net.trt.UnaryOperation.NOT).get_output(0)

    def expected(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
        return a == b, a > b, a < b, (a == b) & (a > b), a >= b, a >= b, a >= b, (a == b) == (a > b)

    net.check(
        [e, g, less, *logic[:3], inverse, logic[3]],
        expected,
        (A.astype(np.int32), B.astype(np.int32)),
    )


UNARY = {
    "EXP": np.exp,
    "LOG": np.log,
    "SQRT": np.sqrt,
    "RECIP": lambda x: 1 / x,
    "ABS": np.abs,
    "NEG": lambda x: -x,
    "SIN": np.sin,
    "COS": np.cos,
    "TAN": np.tan,
    "SINH": np.sinh,
    "COSH": np.cosh,
    "ASIN": np.arcsin,
    "ACOS": np.arccos,
    "ATAN": np.arctan,
    "ASINH": np.arcsinh,
    "ACOSH": np.arccosh,
    "ATANH": np.arctanh,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "ERF": np.vectorize(math.erf),
    "SIGN": np.sign,
    "ROUND": np.rint,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", UNARY)
def test_unary(net: Any, rng: Any, name: str, dtype: Any) -> None:
    x = net.input((2, 5), dtype)
    out = net.network.add_unary(x, getattr(net.trt.UnaryOperation, name)).get_output(0)
    data = (rng.uniform(0.1, 0.9, (2, 5)) + (name == "ACOSH")).astype(dtype)
    net.check(out, lambda x: UNARY[name](x.astype(np.float64)), (data,), rtol=2e-3 if dtype == np.float16 else 1e-5)


def test_signs_and_ties(net: Any) -> None:
    op = net.trt.UnaryOperation
    x = net.input((6,))
    names = ("SIGN", "ROUND", "CEIL", "FLOOR", "ABS", "NEG")
    outs = [net.network.add_unary(x, getattr(op, n)).get_output(0) for n in names]
    data = np.array([-1.5, -0.5, 0.0, 0.5, 2.5, 3.5], np.float32)
    expected = (
        [-1, -1, 0, 1, 1, 1],
        [-2, 0, 0, 0, 2, 4],
        [-1, 0, 0, 1, 3, 4],
        [-2, -1, 0, 0, 2, 3],
        [1.5, 0.5, 0, 0.5, 2.5, 3.5],
        [1.5, 0.5, 0, -0.5, -2.5, -3.5],
    )
    net.check(outs, lambda x: tuple(np.array(e, np.float32) for e in expected), (data,))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_unary_on_integers(net: Any, dtype: Any) -> None:
    x = net.input((4,), dtype)
    outs = [net.network.add_unary(x, getattr(net.trt.UnaryOperation, n)).get_output(0) for n in ("ABS", "NEG", "SIGN")]
    net.check(
        outs,
        lambda x: (np.array([3, 0, 2, 9]), np.array([3, 0, -2, -9]), np.array([-1, 0, 1, 1])),
        (np.array([-3, 0, 2, 9], dtype),),
    )


def test_infinite_and_nan(net: Any) -> None:
    x = net.input((4,))
    outs = [net.network.add_unary(x, getattr(net.trt.UnaryOperation, n)).get_output(0) for n in ("ISINF", "ISNAN")]
    data = np.array([-np.inf, np.inf, np.nan, 1], np.float32)
    net.check(outs, lambda x: (np.array([True, True, False, False]), np.array([False, False, True, False])), (data,))


ACTIVATIONS = {
    "RELU": lambda x, a, b: np.maximum(x, 0),
    "SIGMOID": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "TANH": lambda x, a, b: np.tanh(x),
    "LEAKY_RELU": lambda x, a, b: np.where(x >= 0, x, a * x),
    "ELU": lambda x, a, b: np.where(x >= 0, x, a * (np.exp(x) - 1)),
    "SELU": lambda x, a, b: b * np.where(x > 0, x, a * np.exp(x) - a),
    "SOFTSIGN": lambda x, a, b: x / (1 + np.abs(x)),
    "SOFTPLUS": lambda x, a, b: a * np.log(np.exp(b * x) + 1),
    "CLIP": lambda x, a, b: np.maximum(a, np.minimum(b, x)),
    "HARD_SIGMOID": lambda x, a, b: np.maximum(0, np.minimum(1, a * x + b)),
    "SCALED_TANH": lambda x, a, b: a * np.tanh(b * x),
    "THRESHOLDED_RELU": lambda x, a, b: np.where(x > a, x, 0),
    "GELU_ERF": lambda x, a, b: 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "GELU_TANH": lambda x, a, b: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(net: Any, rng: Any, name: str, dtype: Any) -> None:
    x = net.input((3, 5), dtype)
    layer = net.network.add_activation(x, getattr(net.trt.ActivationType, name))
    layer.alpha, layer.beta = 0.25, 1.5
    data = rng.normal(0, 2, (3, 5)).astype(dtype)
    half = dtype == np.float16
    net.check(
        layer.get_output(0),
        lambda x: ACTIVATIONS[name](x.astype(np.float64), 0.25, 1.5),
        (data,),
        rtol=2e-3 if half else 1e-5,
        atol=1e-3 if half else 1e-6,
    )


def test_relu_on_integers(net: Any) -> None:
    x = net.input((3,), np.int64)
    out = net.network.add_activation(x, net.trt.ActivationType.RELU).get_output(0)
    net.check(out, lambda x: np.array([0, 0, 4]), (np.array([-3, 0, 4]),))


def test_parametric_relu(net: Any) -> None:
    x, slope = net.input((2, 3)), net.input((1, 3))
    out = net.network.add_parametric_relu(x, slope).get_output(0)
    net.check(
        out,
        lambda x, s: np.array([[-1, 0, 3], [-4, 10, -3]], np.float32),
        (np.array([[-1, 0, 3], [-4, 10, -6]], np.float32), np.array([[1, 2, 0.5]], np.float32)),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64, np.bool_])
def test_select(net: Any, dtype: Any) -> None:
    c, x, y = net.input((2, 1), np.bool_), net.input((2, 3), dtype), net.input((1, 3), dtype)
    out = net.network.add_select(c, x, y).get_output(0)
    yes, no = np.array([[1, 0, 3], [4, 5, 0]]).astype(dtype), np.array([[0, 8, 9]]).astype(dtype)
    expected = np.array([[1, 0, 3], [0, 8, 9]]).astype(dtype)
    net.check(out, lambda c, x, y: expected, (np.array([[True], [False]]), yes, no))


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        (np.float32, np.int32, [-1.9, -0.5, 0.5, 1.9], [-1, 0, 0, 1]),
        (np.float16, np.int64, [-1.9, -0.5, 0.5, 1.9], [-1, 0, 0, 1]),
        (np.float32, np.bool_, [-1.9, 0.0, 0.5], [True, False, True]),
        (np.int64, np.int32, [2**32 + 5, -1, 7], [5, -1, 7]),
        (np.bool_, np.float32, [True, False], [1, 0]),
        (np.float32, np.float16, [1.0009765, 3], [1.0009765, 3]),
        (np.int32, np.uint8, [3, 255], [3, 255]),
    ],
)
def test_cast(net: Any, source: Any, target: Any, values: Any, expected: Any) -> None:
    x = net.input((len(values),), source)
    kinds = {np.int32: "int32", np.int64: "int64", np.bool_: "bool", np.float32: "float32", np.float16: "float16"}
    kind = getattr(net.trt, kinds.get(target, "uint8"))
    net.check(
        net.network.add_cast(x, kind).get_output(0), lambda x: np.array(expected, target), (np.array(values, source),)
    )


def test_bfloat16_arithmetic_rounds_after_each_layer(net: Any) -> None:
    x = net.input((2,))
    narrow = net.network.add_cast(x, net.trt.bfloat16).get_output(0)
    total = net.network.add_elementwise(narrow, narrow, net.trt.ElementWiseOperation.PROD).get_output(0)
    wide = net.network.add_cast(total, net.trt.float32).get_output(0)
    # 1.0078125 is 1 + 2**-7; its square 1.01568... is between 1.015625 and 1.0234375.
    net.check(wide, lambda x: np.array([1.015625, 9.0]), (np.array([1.0078125, 3.0], np.float32),))
