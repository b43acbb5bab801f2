"""Convolution, deconvolution and pooling layers."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as oir

from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope

_FLOAT = oir.DataType.FLOAT
_INT64 = oir.DataType.INT64

_Amounts = list[int] | list[oir.Value]


@dataclass(frozen=True, slots=True)
class _Pads:
    """Amounts before and after each spatial axis (numbers, or int64 values of rank 0 where lengths are dynamic).

    `extra` comes after `after`: what rounding up appends so that the last window is whole. It is no declared
    padding: an average that counts padding does not count it.
    """

    before: _Amounts
    after: _Amounts
    extra: _Amounts


def _pads(scope: Scope, layer: Layer, x: oir.Value, kernel: Sequence[int], dilation: Sequence[int]) -> _Pads:
    """The padding of a convolution or pooling, by the formulas at `PaddingMode` in NvInfer.h.

    With extent DK = dilation (kernel - 1) + 1: SAME pads by ((I - 1) // stride) stride + DK - I, the odd one at the
    end for UPPER and at the beginning for LOWER; ROUND_UP has ceil((I + pads - DK) / stride) + 1 windows.
    """
    handle = layer.handle
    mode = handle.padding_mode.name
    stride = [int(s) for s in handle.stride_nd]
    extents = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    lengths = [int(i) for i in layer.inputs[0].shape[2:]]
    before, after = [int(p) for p in handle.pre_padding], [int(p) for p in handle.post_padding]
    none: list[int] = [0] * len(before)
    if mode == "EXPLICIT_ROUND_DOWN":
        return _Pads(before, after, none)
    if mode not in ("EXPLICIT_ROUND_UP", "SAME_UPPER", "SAME_LOWER"):
        raise refuse(layer, "T0953", f"has the padding mode {mode}, which has no reading")
    if all(length >= 0 for length in lengths):
        if mode == "EXPLICIT_ROUND_UP":
            rows = zip(lengths, before, after, extents, stride, strict=True)
            sums = [(length + b + a - e, s) for length, b, a, e, s in rows]
            return _Pads(before, after, [max(0, math.ceil(n / s) * s - n) for n, s in sums])
        totals = [max(0, (i - 1) // s * s + e - i) for i, e, s in zip(lengths, extents, stride, strict=True)]
        small, large = [t // 2 for t in totals], [t - t // 2 for t in totals]
        return _Pads(small, large, none) if mode == "SAME_UPPER" else _Pads(large, small, none)

    def number(n: int) -> oir.Value:
        return scope.scalar(n, _INT64)

    def at_least_0(value: oir.Value) -> oir.Value:
        return scope.op("Max", number(0), value)

    smalls: list[oir.Value] = []
    larges: list[oir.Value] = []
    for axis, (extent, s) in enumerate(zip(extents, stride, strict=True)):
        length = scope.dim(x, axis + 2)
        if mode == "EXPLICIT_ROUND_UP":
            span = scope.op("Add", length, number(before[axis] + after[axis] - extent))
            steps = scope.op("Div", scope.op("Add", span, number(s - 1)), number(s))
            smalls.append(at_least_0(scope.op("Sub", scope.op("Mul", steps, number(s)), span)))
            continue
        steps = scope.op("Div", scope.op("Sub", length, number(1)), number(s))
        reach = scope.op("Add", scope.op("Mul", steps, number(s)), number(extent))
        total = at_least_0(scope.op("Sub", reach, length))
        smalls.append(scope.op("Div", total, number(2)))
        larges.append(scope.op("Sub", total, smalls[-1]))
    if mode == "EXPLICIT_ROUND_UP":
        return _Pads(before, after, smalls)
    return _Pads(smalls, larges, none) if mode == "SAME_UPPER" else _Pads(larges, smalls, none)


def _is_static(*amounts: _Amounts) -> bool:
    return all(isinstance(n, int) for part in amounts for n in part)


def _numbers(amounts: _Amounts) -> list[int]:
    return [n for n in amounts if isinstance(n, int)]


def _pad(scope: Scope, x: oir.Value, before: _Amounts, after: _Amounts, fill: float) -> oir.Value:
    """`x` padded on its spatial axes (all but the first two) with `fill`."""
    lead = [0, 0]
    if _is_static(before, after):
        if not any(_numbers(before)) and not any(_numbers(after)):
            return x
        pads = scope.ints(*lead, *_numbers(before), *lead, *_numbers(after))
    else:
        parts = [*lead, *before, *lead, *after]
        pads = scope.op(
            "Concat", *[scope.ints(p) if isinstance(p, int) else scope.reshape(p, 1) for p in parts], axis=0
        )
    return scope.op("Pad", x, pads, scope.floats(fill), mode="constant")


def _kernel(scope: Scope, layer: Layer, transposed: bool) -> tuple[oir.Value, oir.Value | None, list[int]]:
    """Kernel (M, C / groups, ...), or (C, M / groups, ...) when transposed; bias (M); the kernel's spatial lengths."""
    handle = layer.handle
    lengths = [int(k) for k in handle.kernel_size_nd]
    maps, groups = int(handle.num_output_maps), int(handle.num_groups)
    if layer.input(1) is not None:
        kernel = scope.wide_input(layer, 1)
    else:
        array = scope.weights(layer, "kernel", handle.kernel)
        if array is None:
            raise refuse(layer, "T0952", "has neither a kernel nor a tensor at input 1")
        first, second = (-1, maps // groups) if transposed else (maps, -1)
        kernel = scope.wide(scope.constant(array.reshape(first, second, *lengths), f"{layer.name}/kernel"))
    bias = None
    if layer.input(2) is not None:
        bias = scope.wide_input(layer, 2)
    else:
        array = scope.weights(layer, "bias", handle.bias)
        if array is not None:
            bias = scope.wide(scope.constant(array, f"{layer.name}/bias"))
    return kernel, bias, lengths


def convolution(scope: Scope, layer: Layer) -> None:
    handle = layer.handle
    x = scope.wide_input(layer, 0)
    kernel, bias, lengths = _kernel(scope, layer, transposed=False)
    dilations = [int(d) for d in handle.dilation_nd]
    pads = _pads(scope, layer, x, lengths, dilations)
    x = _pad(scope, x, [0] * len(lengths), pads.extra, 0.0)
    if _is_static(pads.before, pads.after):
        explicit = [*_numbers(pads.before), *_numbers(pads.after)]
    else:
        x, explicit = _pad(scope, x, pads.before, pads.after, 0.0), [0] * (2 * len(lengths))
    out = scope.op(
        "Conv",
        x,
        kernel,
        bias,
        kernel_shape=lengths,
        strides=[int(s) for s in handle.stride_nd],
        dilations=dilations,
        pads=explicit,
        group=int(handle.num_groups),
    )
    scope.bind(layer, out)


def deconvolution(scope: Scope, layer: Layer) -> None:
    """The transposed convolution; SAME trims max(DK - stride, 0), so that lengths grow by the stride."""
    handle = layer.handle
    kernel, bias, lengths = _kernel(scope, layer, transposed=True)
    strides, dilations = [int(s) for s in handle.stride_nd], [int(d) for d in handle.dilation_nd]
    before, after = [int(p) for p in handle.pre_padding], [int(p) for p in handle.post_padding]
    mode = handle.padding_mode.name
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        rows = zip(lengths, strides, dilations, strict=True)
        totals = [max(d * (k - 1) + 1 - s, 0) for k, s, d in rows]
        small, large = [t // 2 for t in totals], [t - t // 2 for t in totals]
        before, after = (small, large) if mode == "SAME_UPPER" else (large, small)
    out = scope.op(
        "ConvTranspose",
        scope.wide_input(layer, 0),
        kernel,
        bias,
        kernel_shape=lengths,
        strides=strides,
        dilations=dilations,
        pads=[*before, *after],
        group=int(handle.num_groups),
    )
    scope.bind(layer, out)


def pooling(scope: Scope, layer: Layer) -> None:
    """Maximum, average, or (1 - f) maximum + f average.

    Rounding up keeps windows that ONNX's ceil_mode would drop, and ONNX Runtime bounds pads by the kernel, so
    whatever is more than declared padding smaller than the kernel is padded by hand.
    """
    handle = layer.handle
    x = scope.wide_input(layer, 0)
    dtype = x.dtype
    x = scope.cast(x, _FLOAT)
    lengths = [int(k) for k in handle.window_size_nd]
    pads = _pads(scope, layer, x, lengths, [1] * len(lengths))
    match handle.type.name:
        case "MAX":
            out = _maximum(scope, layer, x, lengths, pads)
        case "AVERAGE":
            out = _average(scope, layer, x, lengths, pads)
        case "MAX_AVERAGE_BLEND":
            blend = float(handle.blend_factor)
            most = scope.op("Mul", _maximum(scope, layer, x, lengths, pads), scope.floats(1.0 - blend))
            mean = scope.op("Mul", _average(scope, layer, x, lengths, pads), scope.floats(blend))
            out = scope.op("Add", most, mean)
        case kind:
            raise refuse(layer, "T0953", f"has the pooling type {kind}, which has no reading")
    scope.bind(layer, scope.cast(out, dtype or _FLOAT))


def _pool(
    scope: Scope, layer: Layer, op: str, x: oir.Value, lengths: list[int], pads: list[int], **more: Any
) -> oir.Value:
    strides = [int(s) for s in layer.handle.stride_nd]
    return scope.op(op, x, kernel_shape=lengths, strides=strides, pads=pads, **more)


def _is_simple(lengths: list[int], pads: _Pads) -> bool:
    """Whether ONNX's own padding does it."""
    if not _is_static(pads.before, pads.after, pads.extra) or any(_numbers(pads.extra)):
        return False
    declared = zip(lengths, _numbers(pads.before), _numbers(pads.after), strict=True)
    return all(b < k and a < k for k, b, a in declared)


def _maximum(scope: Scope, layer: Layer, x: oir.Value, lengths: list[int], pads: _Pads) -> oir.Value:
    if _is_simple(lengths, pads):
        return _pool(scope, layer, "MaxPool", x, lengths, [*_numbers(pads.before), *_numbers(pads.after)])
    none = [0] * len(lengths)
    x = _pad(scope, x, pads.before, pads.after, -math.inf)
    x = _pad(scope, x, none, pads.extra, -math.inf)
    return _pool(scope, layer, "MaxPool", x, lengths, none * 2)


def _average(scope: Scope, layer: Layer, x: oir.Value, lengths: list[int], pads: _Pads) -> oir.Value:
    """Mean of the padded input over the mean of a mask that is 1 where an element counts."""
    excludes = bool(layer.handle.average_count_excludes_padding)
    if _is_simple(lengths, pads):
        declared = [*_numbers(pads.before), *_numbers(pads.after)]
        return _pool(scope, layer, "AveragePool", x, lengths, declared, count_include_pad=int(not excludes))
    none = [0] * len(lengths)
    ones = scope.op("Expand", scope.floats(1.0), scope.dims(x))
    values = _pad(scope, _pad(scope, x, pads.before, pads.after, 0.0), none, pads.extra, 0.0)
    mask = _pad(scope, ones, pads.before, pads.after, 0.0 if excludes else 1.0)
    mask = _pad(scope, mask, none, pads.extra, 0.0)
    means = [_pool(scope, layer, "AveragePool", v, lengths, none * 2) for v in (values, mask)]
    return scope.op("Div", *means)
