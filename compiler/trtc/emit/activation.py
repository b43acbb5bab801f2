"""Activations: layers of their own where TensorRT has them, their definition where not."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import math
from typing import Any

import onnx_ir as oir

from trtc.emit.facts import attr, given
from trtc.emit.registry import operator
from trtc.emit.scope import Scope

_PLAIN = {"Sigmoid": "SIGMOID", "Tanh": "TANH", "Softsign": "SOFTSIGN"}


@operator(*_PLAIN)
def plain(s: Scope, node: oir.Node) -> Any:
    return s.activation(_PLAIN[node.op_type], s.input(node, 0))


@operator("Relu", types="FI")
def relu(s: Scope, node: oir.Node) -> Any:
    """On integers by MAX: RELU cannot stand in shape arithmetic, and 8.6 has it for floats only."""
    x = s.input(node, 0)
    if s.type_of(x) in ("INT32", "INT64"):
        return s.elementwise("MAX", x, s.scalar(0, x))
    return s.activation("RELU", x)


@operator("LeakyRelu")
def leaky_relu(s: Scope, node: oir.Node) -> Any:
    return s.activation("LEAKY_RELU", s.input(node, 0), alpha=attr(node, "alpha", 0.01))


@operator("Elu")
def elu(s: Scope, node: oir.Node) -> Any:
    return s.activation("ELU", s.input(node, 0), alpha=attr(node, "alpha", 1.0))


@operator("Selu")
def selu(s: Scope, node: oir.Node) -> Any:
    """TensorRT: beta * (x > 0 ? x : alpha * (exp(x) - 1)); ONNX calls beta gamma."""
    alpha = attr(node, "alpha", 1.67326319217681884765625)
    gamma = attr(node, "gamma", 1.05070102214813232421875)
    return s.activation("SELU", s.input(node, 0), alpha=alpha, beta=gamma)


@operator("Celu")
def celu(s: Scope, node: oir.Node) -> Any:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    x = s.input(node, 0)
    alpha = attr(node, "alpha", 1.0)
    if alpha == 1.0:
        return s.activation("ELU", x, alpha=1.0)
    inner = s.elementwise("DIV", x, s.scalar(alpha, x), "scaled")
    negative = s.elementwise("PROD", s.activation("ELU", inner, "elu", alpha=1.0), s.scalar(alpha, x), "negative")
    low = s.elementwise("MIN", negative, s.scalar(0, x), "min")
    return s.elementwise("SUM", s.activation("RELU", x, "relu"), low)


@operator("ThresholdedRelu")
def thresholded_relu(s: Scope, node: oir.Node) -> Any:
    return s.activation("THRESHOLDED_RELU", s.input(node, 0), alpha=attr(node, "alpha", 1.0))


@operator("HardSigmoid")
def hard_sigmoid(s: Scope, node: oir.Node) -> Any:
    return s.activation("HARD_SIGMOID", s.input(node, 0), alpha=attr(node, "alpha", 0.2), beta=attr(node, "beta", 0.5))


@operator("HardSwish")
def hard_swish(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    gate = s.activation("HARD_SIGMOID", x, "gate", alpha=1 / 6, beta=0.5)
    return s.elementwise("PROD", x, gate)


def _softplus(s: Scope, x: Any, part: str = "") -> Any:
    """The layer is alpha * log(exp(beta * x) + 1)."""
    return s.activation("SOFTPLUS", x, part, alpha=1.0, beta=1.0)


@operator("Softplus")
def softplus(s: Scope, node: oir.Node) -> Any:
    return _softplus(s, s.input(node, 0))


@operator("Mish")
def mish(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    return s.elementwise("PROD", x, s.activation("TANH", _softplus(s, x, "softplus"), "tanh"))


@operator("Swish")
@operator("swish", domain="trtc.std.activation")
def swish(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    alpha = attr(node, "alpha", 1.0)
    scaled = x if alpha == 1.0 else s.elementwise("PROD", x, s.scalar(alpha, x), "scaled")
    return s.elementwise("PROD", x, s.activation("SIGMOID", scaled, "sigmoid"))


@operator("Shrink")
def shrink(s: Scope, node: oir.Node) -> Any:
    """x > lambd ? x - bias : x < -lambd ? x + bias : 0."""
    x = s.input(node, 0)
    bias, lambd = s.scalar(attr(node, "bias", 0.0), x), attr(node, "lambd", 0.5)
    above = s.elementwise("GREATER", x, s.scalar(lambd, x), "above")
    below = s.elementwise("LESS", x, s.scalar(-lambd, x), "below")
    rest = s.select(below, s.elementwise("SUM", x, bias, "plus"), s.scalar(0, x), "rest")
    return s.select(above, s.elementwise("SUB", x, bias, "minus"), rest)


@operator("PRelu", types="F", typed=(0, 1))
def prelu(s: Scope, node: oir.Node) -> Any:
    x = given(node, 0)
    slope = s.operand(given(node, 1), s.rank(x))
    return s.add(s.net.add_parametric_relu(s.tensor(x), slope))


@operator("Gelu")
def gelu(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    tanh = attr(node, "approximate", "none") == "tanh"
    op = "GELU_TANH" if tanh else "GELU_ERF"
    if s.caps.has(f"ActivationType.{op}"):
        return s.activation(op, x)
    if tanh:
        # 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
        cube = s.elementwise("PROD", s.elementwise("PROD", x, x, "square"), x, "cube")
        sum_ = s.elementwise("SUM", x, s.elementwise("PROD", cube, s.scalar(0.044715, x), "scaled"), "sum")
        gate = s.activation("TANH", s.elementwise("PROD", sum_, s.scalar(math.sqrt(2 / math.pi), x), "inner"), "tanh")
    else:
        gate = s.unary("ERF", s.elementwise("PROD", x, s.scalar(math.sqrt(0.5), x), "inner"), "erf")
    half = s.elementwise("PROD", x, s.scalar(0.5, x), "half")
    return s.elementwise("PROD", half, s.elementwise("SUM", gate, s.scalar(1, x), "gate"))
