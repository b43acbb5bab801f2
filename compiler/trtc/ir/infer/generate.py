"""Operators that make tensors from attributes and sizes: constants, ranges, random numbers, windows."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.infer.fact import MAX_VALUE, UNKNOWN, Fact
from trtc.ir.infer.layout import as_dim
from trtc.ir.infer.op import Op, Shape, rule
from trtc.ir.infer.values import INTEGERS, count, from_array, small


@rule("Constant", inputs=0)
def constant(op: Op) -> Fact:
    """Only in the bodies of functions: elsewhere constants are initializers."""
    for name, dtype in (
        ("value_int", oir.DataType.INT64),
        ("value_ints", oir.DataType.INT64),
        ("value_float", oir.DataType.FLOAT),
        ("value_floats", oir.DataType.FLOAT),
        ("value_string", oir.DataType.STRING),
        ("value_strings", oir.DataType.STRING),
    ):
        found = op.attribute(name)
        if found is not None:
            if dtype == oir.DataType.STRING:
                return Fact(dtype, (len(found.value),) if name.endswith("s") else ())
            return from_array(dtype, np.array(found.value, dtype=dtype.numpy()))
    found = op.attribute("value")
    if found is not None and found.type == oir.AttributeType.TENSOR:
        return from_tensor(found.value)
    return UNKNOWN


def from_tensor(tensor: oir.TensorProtocol) -> Fact:
    """The fact of a constant tensor; the elements of a large one are not read."""
    shape = tuple(int(d) for d in tensor.shape if isinstance(d, int))
    if tensor.dtype == oir.DataType.STRING or math.prod(shape) > MAX_VALUE:
        return Fact(tensor.dtype, shape)
    return from_array(tensor.dtype, tensor.numpy())


@rule("ConstantOfShape")
def constant_of_shape(op: Op) -> Fact:
    target = op.elements(0)
    attribute = op.attribute("value")
    fill = Fact(oir.DataType.FLOAT, (1,), real=((0, 1),))
    if attribute is not None:
        if attribute.type != oir.AttributeType.TENSOR:
            op.fail("T0622", f"attribute `value` of {op.label} is {attribute.type}", "it must be a tensor")
        fill = from_tensor(attribute.value)
    if target is None:
        length = count(op.shape(0))
        return Fact(fill.dtype, None if length is None or length > MAX_VALUE else op.unknowns(length))
    shape = tuple(as_dim(d) for d in target)
    if any(isinstance(d, int) and d < 0 for d in shape):
        op.fail("T0619", f"{op.label} makes a shape with a negative dim", f"shape {list(shape)}")
    if not small(shape):
        return Fact(fill.dtype, shape)
    times = count(shape) or 0
    value, real = fill.value, fill.real
    return Fact(
        fill.dtype,
        shape,
        None if value is None or len(value) != 1 else value * times,
        real=None if real is None or len(real) != 1 else real * times,
    )


@rule("Range", inputs=3)
def range_(op: Op) -> Fact:
    dtype = op.same_dtype(0, 1, 2)
    if dtype in INTEGERS:
        start, limit, delta = op.elements(0), op.elements(1), op.number(2)
        if start is None or limit is None or len(start) != 1 or len(limit) != 1 or delta is None:
            return Fact(dtype, op.unknowns(1))
        if delta == 0:
            op.fail("T0619", f"{op.label} has a step of 0")
        span = limit[0] - start[0] if delta > 0 else start[0] - limit[0]
        size = dims.maximum(dims.ceildiv(span, abs(delta)), 0)
        value = None
        if isinstance(size, int) and size <= MAX_VALUE:
            value = tuple(start[0] + delta * i for i in range(size))
        return Fact(dtype, (size,), value)
    arrays = [op.array(at) for at in range(3)]
    if all(a is not None and a.size == 1 for a in arrays):
        first, last, by = (a.ravel()[0] for a in arrays if a is not None)
        if by == 0:
            op.fail("T0619", f"{op.label} has a step of 0")
        return Fact(dtype, (max(0, math.ceil(float(last - first) / float(by))),))
    reals = [op.fact(at).real for at in range(3)]
    if all(real is not None and len(real) == 1 for real in reals):
        (a, b), (c, d), (e, f) = (real[0] for real in reals if real is not None)
        if isinstance(e, int) and e > 0:
            return Fact(dtype, (dims.maximum(dims.ceildiv((c * b - a * d) * f, b * d * e), 0),))
    return Fact(dtype, op.unknowns(1))


@rule("EyeLike")
def eye_like(op: Op) -> Fact:
    op.rank(0, 2, 2)
    return Fact(op.data_type("dtype") or op.dtype(0), op.shape(0))


# Random numbers


@rule("RandomNormal", "RandomUniform", inputs=0)
def random(op: Op) -> Fact:
    return Fact(op.data_type("dtype", 1), op.ints("shape", ()))


@rule("RandomNormalLike", "RandomUniformLike")
def random_like(op: Op) -> Fact:
    return Fact(op.data_type("dtype") or op.dtype(0), op.shape(0))


@rule("Multinomial")
def multinomial(op: Op) -> Fact:
    x = op.shape(0)
    first = op.unknown(0) if not x else x[0]
    return Fact(op.data_type("dtype", int(oir.DataType.INT32)), (first, op.int("sample_size", 1)))


# Signals


@rule("HannWindow", "HammingWindow", "BlackmanWindow")
def window(op: Op) -> Fact:
    size = op.elements(0)
    return Fact(op.data_type("output_datatype", 1), op.unknowns(1) if size is None else (as_dim(size[0]),))


@rule("MelWeightMatrix", inputs=5)
def mel_weight_matrix(op: Op) -> Fact:
    bins, length = op.elements(0), op.elements(1)
    rows = op.unknown(0) if length is None else as_dim(length[0]) // 2 + 1
    return Fact(op.data_type("output_datatype", 1), (rows, op.unknown(1) if bins is None else as_dim(bins[0])))


@rule("DFT")
def dft(op: Op) -> Fact:
    """[*, D, *, 1 or 2] to [*, length or length//2 + 1, *, 2]."""
    x = op.shape(0)
    if x is None:
        return Fact(op.dtype(0))
    axis = op.number(2) if op.has(2) else op.int("axis", -2)
    if axis is None:
        return Fact(op.dtype(0), (*op.unknowns(len(x) - 1), 1 if op.int("onesided", 0) and op.int("inverse", 0) else 2))
    at = op.normal(axis, len(x)) or 0
    length = op.elements(1)
    size = x[at] if not op.has(1) else op.unknown(at) if length is None else as_dim(length[0])
    parts = 2
    if op.int("onesided", 0):
        if op.int("inverse", 0):
            parts = 1
            size = size if op.has(1) else (x[at] - 1) * 2
        else:
            size = size // 2 + 1
    out: Shape = (*x[:at], size, *x[at + 1 : -1], parts)
    return Fact(op.dtype(0), out)


@rule("STFT", inputs=2)
def stft(op: Op) -> Fact:
    """[batch, length, 1 or 2] to [batch, frames, bins, 2]."""
    x, step, window_shape = op.shape(0), op.number(1), op.shape(2)
    length = op.elements(3) if op.has(3) else None
    frame = length[0] if length else window_shape[0] if window_shape else None
    if x is None or frame is None:
        return Fact(op.dtype(0), (op.unknown(0) if x is None else x[0], *op.unknowns(3)[1:], 2))
    frame = as_dim(frame)
    frames = op.unknown(1) if step is None or step < 1 else (x[1] - frame) // step + 1
    bins = frame // 2 + 1 if op.int("onesided", 1) else frame
    return Fact(op.dtype(0), (x[0], frames, bins, 2))
