"""QuantizeLinear and DequantizeLinear.

TensorRT's int8 is symmetric. What is symmetric int8 becomes its layers, from which it takes kernels of low precision;
zero points and uint8 become the arithmetic that they stand for, in float32.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import Facts, attr, axis_of, given, input_at, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope
from trtc.emit.weights import NUMPY

_INT8 = oir.DataType.INT8
_BYTES = {_INT8: (-128, 127), oir.DataType.UINT8: (0, 255)}


def _check_parameters(facts: Facts, node: oir.Node) -> None:
    if attr(node, "block_size", 0):
        refuse("blockwise quantization")
    for value in (given(node, 1), input_at(node, 2)):
        if value is not None and facts.rank(value) > 1:
            refuse("a scale or zero point of rank above 1")
        if value is not None and facts.static(value) is None:
            refuse("a scale or zero point whose size is not known when the network is built")


def _symmetric(facts: Facts, node: oir.Node) -> bool:
    """Whether TensorRT's own layers say it: zero points of zero, and one scale or constant ones."""
    zero, scale = input_at(node, 2), given(node, 1)
    array = facts.array(zero)
    if zero is not None and (array is None or np.asarray(array).astype(np.int32).any()):
        return False
    return facts.array(scale) is not None or facts.static(scale) in ((), (1,))


def _check_quantize(facts: Facts, node: oir.Node) -> None:
    _check_parameters(facts, node)
    dtype = facts.dtype(node.outputs[0])
    if dtype not in _BYTES:
        refuse(f"quantization to {dtype.name.lower()}", "quantize to int8 with zero point 0")


def _check_dequantize(facts: Facts, node: oir.Node) -> None:
    _check_parameters(facts, node)
    value = given(node, 0)
    dtype = facts.dtype(value)
    if dtype not in _BYTES and dtype != oir.DataType.INT32 and facts.array(value) is None:
        refuse(f"dequantization of {dtype.name.lower()}", "quantize to int8 with zero point 0")


def _scale(s: Scope, node: oir.Node, dtype: str) -> Any:
    """One element or one per channel, in the type of the data; of rank 0 when there is one."""
    value = given(node, 1)
    array = s.array(value)
    if array is not None and array.size == 1:
        return s.cast(s.tensor(value, ()), dtype)
    tensor = s.tensor(value)
    if tuple(tensor.shape) == (1,):
        tensor = s.reshape(tensor, [], "scale")
    return s.cast(tensor, dtype, "scale_type")


def _axis(s: Scope, node: oir.Node, rank: int) -> dict[str, Any]:
    scale = s.static(given(node, 1))
    if scale in ((), (1,)):
        return {}
    return {"axis": axis_of(attr(node, "axis", 1), rank)}


def _along(s: Scope, node: oir.Node, index: int, rank: int, dtype: str) -> Any:
    """A scale or zero point as `dtype`, of the rank of the data, along the axis; in that order: uint8 has no shape."""
    array = s.array(given(node, index))
    if array is not None:
        # As a constant of its own type it could not stand here: only a dequantization takes int8.
        return s.constant(_spread(node, array, rank).astype(NUMPY[dtype]), dtype, "parameter")
    tensor = s.cast(s.input(node, index), dtype, "parameter")
    shape = [1] * rank
    if tuple(tensor.shape) not in ((), (1,)):
        shape[axis_of(attr(node, "axis", 1), rank)] = int(tensor.shape[0])
    return s.reshape(tensor, shape, "along")


@operator("QuantizeLinear", check=_check_quantize, note="int8 with zero point 0 as a layer, else as arithmetic")
def quantize(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    dtype = s.dtype(node.outputs[0])
    if dtype != _INT8 or not _symmetric(s, node):
        return _quantize_by_parts(s, node, x, dtype)
    scale = _scale(s, node, s.type_of(x))
    scalar = len(x.shape) == 0
    if scalar:
        x = s.reshape(x, [1])
    args = (s.trt.DataType.INT8,) if s.caps.quantize_output_type else ()
    y = s.add(s.net.add_quantize(x, scale, *args), "", **_axis(s, node, len(x.shape)))
    return s.reshape(y, []) if scalar else y


def _quantize_by_parts(s: Scope, node: oir.Node, x: Any, dtype: oir.DataType) -> Any:
    """saturate(round(x / scale) + zero point), half to even."""
    rank = len(x.shape)
    x = s.cast(x, "FLOAT", "float")
    y = s.unary("ROUND", s.elementwise("DIV", x, _along(s, node, 1, rank, "FLOAT"), "scaled"), "rounded")
    if input_at(node, 2) is not None:
        y = s.elementwise("SUM", y, _along(s, node, 2, rank, "FLOAT"), "shifted")
    low, high = _BYTES[dtype]
    y = s.elementwise("MIN", s.elementwise("MAX", y, s.scalar(low, y), "above"), s.scalar(high, y), "below")
    return s.cast(y, s.engine_type(node.outputs[0]), "")


@operator(
    "DequantizeLinear",
    types="QUI",
    check=_check_dequantize,
    note="int8 with zero point 0 as a layer, else as arithmetic",
)
def dequantize(s: Scope, node: oir.Node) -> Any:
    """A symmetric int8 constant stays int8 in the engine. Other constants are dequantized here."""
    value = given(node, 0)
    dtype = s.engine_type(node.outputs[0])
    array = s.array(value)
    rank = s.rank(value)
    if s.dtype(value) != _INT8 or not _symmetric(s, node):
        scale, zero = s.array(given(node, 1)), s.array(input_at(node, 2))
        if array is None or scale is None or (zero is None and input_at(node, 2) is not None):
            return _dequantize_by_parts(s, node, rank, dtype)
        shift = 0.0 if zero is None else _spread(node, zero, rank)
        exact = (array.astype(np.float64) - shift) * _spread(node, scale, rank)
        return s.constant(exact.astype(NUMPY[dtype]), dtype, "")
    if rank == 0:
        x = s.quantized(value, (1,)) if array is not None else s.reshape(s.tensor(value), [1])
    else:
        x = s.quantized(value)
    scale_tensor = _scale(s, node, dtype)
    args = (s.type(dtype),) if s.caps.quantize_output_type else ()
    y = s.add(s.net.add_dequantize(x, scale_tensor, *args), "", **_axis(s, node, len(x.shape)))
    return s.reshape(y, []) if rank == 0 else y


def _spread(node: oir.Node, array: Any, rank: int) -> Any:
    """A constant scale or zero point as float64, along the axis."""
    shape = [1] * rank
    if array.size > 1:
        shape[axis_of(attr(node, "axis", 1), rank)] = array.size
    return array.astype(np.float64).reshape(shape)


def _dequantize_by_parts(s: Scope, node: oir.Node, rank: int, dtype: str) -> Any:
    """(x - zero point) * scale, the difference in whole numbers."""
    value = given(node, 0)
    array = s.array(value)
    if array is not None:
        x = s.constant(array.astype(np.int32), "INT32", "value")
    else:
        x = s.cast(s.tensor(value), "INT32", "whole")
    if input_at(node, 2) is not None:
        x = s.elementwise("SUB", x, _along(s, node, 2, rank, "INT32"), "shifted")
    y = s.elementwise("PROD", s.cast(x, "FLOAT", "float"), _along(s, node, 1, rank, "FLOAT"), "")
    return s.cast(y, dtype, "narrow")
