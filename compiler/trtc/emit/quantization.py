"""QuantizeLinear and DequantizeLinear. TensorRT's int8 is symmetric: zero points are zero."""

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


def _check_scale(facts: Facts, node: oir.Node) -> None:
    if attr(node, "block_size", 0):
        refuse("blockwise quantization")
    scale = given(node, 1)
    if facts.rank(scale) > 1:
        refuse("a scale of rank above 1")
    if facts.array(scale) is None and facts.rank(scale) == 1 and facts.static(scale) != (1,):
        refuse("a scale per channel that is computed at run time", "make the scales constants")
    zero = input_at(node, 2)
    array = facts.array(zero)
    if zero is not None and (array is None or np.asarray(array).astype(np.int32).any()):
        refuse("a zero point other than 0: TensorRT quantizes symmetrically", "quantize with symmetric int8")


def _check_quantize(facts: Facts, node: oir.Node) -> None:
    _check_scale(facts, node)
    dtype = facts.dtype(node.outputs[0])
    if dtype != _INT8:
        refuse(f"quantization to {dtype.name.lower()}", "quantize to int8 with zero point 0")


def _check_dequantize(facts: Facts, node: oir.Node) -> None:
    _check_scale(facts, node)
    value = given(node, 0)
    dtype = facts.dtype(value)
    if dtype != _INT8 and facts.array(value) is None:
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


@operator("QuantizeLinear", check=_check_quantize, note="int8, zero point 0")
def quantize(s: Scope, node: oir.Node) -> Any:
    x = s.input(node, 0)
    scale = _scale(s, node, s.type_of(x))
    scalar = len(x.shape) == 0
    if scalar:
        x = s.reshape(x, [1])
    args = (s.trt.DataType.INT8,) if s.caps.quantize_output_type else ()
    y = s.add(s.net.add_quantize(x, scale, *args), "", **_axis(s, node, len(x.shape)))
    return s.reshape(y, []) if scalar else y


@operator(
    "DequantizeLinear", types="QUI", check=_check_dequantize, note="int8, zero point 0; constants of any integer type"
)
def dequantize(s: Scope, node: oir.Node) -> Any:
    """An int8 constant stays int8 in the engine. Other integer constants (int32 biases) are dequantized here."""
    value = given(node, 0)
    dtype = s.engine_type(node.outputs[0])
    array = s.array(value)
    rank = s.rank(value)
    if array is not None and s.dtype(value) != _INT8:
        scale = s.array(given(node, 1))
        if scale is not None:
            shape = [1] * rank
            if scale.size > 1:
                shape[axis_of(attr(node, "axis", 1), rank)] = scale.size
            exact = array.astype(np.float64) * scale.astype(np.float64).reshape(shape)
            return s.constant(exact.astype(NUMPY[dtype]), dtype, "")
        wide = s.cast(s.constant(array.astype(np.int32), "INT32", "value"), dtype)
        return s.elementwise("PROD", wide, s.pad_rank(_scale(s, node, dtype), rank))
    x = s.tensor(value)
    if rank == 0:
        x = s.tensor(value, (1,)) if array is not None else s.reshape(x, [1])
    scale_tensor = _scale(s, node, dtype)
    args = (s.type(dtype),) if s.caps.quantize_output_type else ()
    y = s.add(s.net.add_dequantize(x, scale_tensor, *args), "", **_axis(s, node, len(x.shape)))
    return s.reshape(y, []) if rank == 0 else y
