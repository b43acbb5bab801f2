"""Windowed operators in float64, for the truth: ONNX Runtime has no such kernels, and those of the reference are slow.

They take operators in canonical form (opset 23, pads and kernel shape written out) and go once over the elements of the
window, so that a value outside a window never meets a number inside it: 0 * inf is no NaN that the operator does not
have. Each is checked against ONNX Runtime in float32.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeArgument=false, reportIncompatibleMethodOverride=false, reportUntypedBaseClass=false

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

Array = np.ndarray[Any, Any]
Ints = Sequence[int]


def _places(kernel: Ints, strides: Ints, dilations: Ints, counts: Ints) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Each element of the window, and the slice of the padded input that it meets, one element for each output."""
    for offset in itertools.product(*map(range, kernel)):
        slices = tuple(
            slice(o * d, o * d + s * (n - 1) + 1, s)
            for o, d, s, n in zip(offset, dilations, strides, counts, strict=True)
        )
        yield offset, (slice(None), slice(None), *slices)


def _counts(size: Ints, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints, ceil: bool) -> list[int]:
    rank = len(kernel)
    made: list[int] = []
    for a in range(rank):
        room = size[a] + pads[a] + pads[a + rank] - (dilations[a] * (kernel[a] - 1) + 1)
        count = (-(-room // strides[a]) if ceil else room // strides[a]) + 1
        if ceil and (count - 1) * strides[a] >= size[a] + pads[a]:
            count -= 1
        made.append(count)
    return made


def _padded(x: Array, kernel: Ints, strides: Ints, dilations: Ints, pads: Ints, counts: Ints, value: float) -> Array:
    """The input with as much around it as the windows reach."""
    widths = [(0, 0), (0, 0)]
    for a, size in enumerate(x.shape[2:]):
        reach = (counts[a] - 1) * strides[a] + dilations[a] * (kernel[a] - 1) + 1
        widths.append((pads[a], max(reach - size - pads[a], 0)))
    return np.pad(x, widths, constant_values=value)


def _defaults(rank: int, *lists: Ints | None) -> list[list[int]]:
    return [list(one) if one is not None and len(one) else [1] * rank for one in lists]


class Conv(OpRun):
    """[N, C, ...] by [K, C / group, ...]."""

    op_domain = ""

    def _run(
        self,
        x: Array,
        w: Array,
        b: Array | None = None,
        auto_pad: str | None = None,
        dilations: Ints | None = None,
        group: int | None = None,
        kernel_shape: Ints | None = None,
        pads: Ints | None = None,
        strides: Ints | None = None,
    ) -> tuple[Array]:
        del kernel_shape
        rank = x.ndim - 2
        strides_, dilations_ = _defaults(rank, strides, dilations)
        pads = _resolved(auto_pad, pads, x.shape[2:], w.shape[2:], strides_, dilations_)
        counts = _counts(x.shape[2:], w.shape[2:], strides_, dilations_, pads, False)
        around = _padded(x, w.shape[2:], strides_, dilations_, pads, counts, 0.0)
        groups = group or 1
        per, out = w.shape[1], w.shape[0] // groups
        made = np.zeros((x.shape[0], w.shape[0], *counts), x.dtype)
        for offset, place in _places(w.shape[2:], strides_, dilations_, counts):
            window = around[place]
            for g in range(groups):
                weight = w[(slice(g * out, (g + 1) * out), slice(None), *offset)]
                part = np.tensordot(weight, window[:, g * per : (g + 1) * per], axes=(1, 1))
                made[:, g * out : (g + 1) * out] += np.moveaxis(part, 0, 1)
        if b is not None:
            made += b.reshape(-1, *[1] * rank)
        return (made,)


class ConvTranspose(OpRun):
    """[N, C, ...] by [C, K / group, ...]."""

    op_domain = ""

    def _run(
        self,
        x: Array,
        w: Array,
        b: Array | None = None,
        auto_pad: str | None = None,
        dilations: Ints | None = None,
        group: int | None = None,
        kernel_shape: Ints | None = None,
        output_padding: Ints | None = None,
        output_shape: Ints | None = None,
        pads: Ints | None = None,
        strides: Ints | None = None,
    ) -> tuple[Array]:
        del kernel_shape
        if (output_shape is not None and len(output_shape)) or auto_pad not in (None, "NOTSET", "VALID"):
            raise NotImplementedError("pads that follow from the output")
        rank = x.ndim - 2
        strides_, dilations_ = _defaults(rank, strides, dilations)
        extra = list(output_padding) if output_padding is not None and len(output_padding) else [0] * rank
        pads = list(pads) if pads is not None and len(pads) else [0] * (2 * rank)
        groups = group or 1
        per, out = x.shape[1] // groups, w.shape[1]
        full = [
            (n - 1) * s + d * (k - 1) + 1 + e
            for n, s, d, k, e in zip(x.shape[2:], strides_, dilations_, w.shape[2:], extra, strict=True)
        ]
        made = np.zeros((x.shape[0], out * groups, *full), x.dtype)
        for offset, place in _places(w.shape[2:], strides_, dilations_, x.shape[2:]):
            for g in range(groups):
                weight = w[(slice(g * per, (g + 1) * per), slice(None), *offset)]
                part = np.tensordot(weight, x[:, g * per : (g + 1) * per], axes=(0, 1))
                made[:, g * out : (g + 1) * out][place] += np.moveaxis(part, 0, 1)
        cut = tuple(slice(pads[a], full[a] - pads[a + rank]) for a in range(rank))
        made = made[(slice(None), slice(None), *cut)]
        return (made if b is None else made + b.reshape(-1, *[1] * rank),)


class AveragePool(OpRun):
    """Mean of a window."""

    op_domain = ""

    def _run(
        self,
        x: Array,
        auto_pad: str | None = None,
        ceil_mode: int | None = None,
        count_include_pad: int | None = None,
        dilations: Ints | None = None,
        kernel_shape: Ints = (),
        pads: Ints | None = None,
        strides: Ints | None = None,
    ) -> tuple[Array]:
        rank = x.ndim - 2
        strides_, dilations_ = _defaults(rank, strides, dilations)
        pads = _resolved(auto_pad, pads, x.shape[2:], kernel_shape, strides_, dilations_)
        counts = _counts(x.shape[2:], kernel_shape, strides_, dilations_, pads, bool(ceil_mode))
        around = _padded(x, kernel_shape, strides_, dilations_, pads, counts, 0.0)
        ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
        if count_include_pad:
            ones = np.pad(ones, [(0, 0), (0, 0), *((pads[a], pads[a + rank]) for a in range(rank))], constant_values=1)
            shift = [0] * (2 * rank)
        else:
            shift = pads
        counted = _padded(ones, kernel_shape, strides_, dilations_, shift, counts, 0.0)
        total = np.zeros((*x.shape[:2], *counts), x.dtype)
        number = np.zeros((1, 1, *counts), x.dtype)
        for _, place in _places(kernel_shape, strides_, dilations_, counts):
            total += around[place]
            number += counted[place]
        return (total / number,)


class MaxPool(OpRun):
    """Largest of a window, without indices."""

    op_domain = ""

    def _run(
        self,
        x: Array,
        auto_pad: str | None = None,
        ceil_mode: int | None = None,
        dilations: Ints | None = None,
        kernel_shape: Ints = (),
        pads: Ints | None = None,
        storage_order: int | None = None,
        strides: Ints | None = None,
    ) -> tuple[Array]:
        del storage_order
        rank = x.ndim - 2
        strides_, dilations_ = _defaults(rank, strides, dilations)
        pads = _resolved(auto_pad, pads, x.shape[2:], kernel_shape, strides_, dilations_)
        counts = _counts(x.shape[2:], kernel_shape, strides_, dilations_, pads, bool(ceil_mode))
        around = _padded(x, kernel_shape, strides_, dilations_, pads, counts, -np.inf)
        made = np.full((*x.shape[:2], *counts), -np.inf, x.dtype)
        for _, place in _places(kernel_shape, strides_, dilations_, counts):
            made = np.maximum(made, around[place])
        return (made,)


def _resolved(
    auto_pad: str | None, pads: Ints | None, size: Ints, kernel: Ints, strides: Ints, dilations: Ints
) -> list[int]:
    rank = len(kernel)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        before: list[int] = []
        after: list[int] = []
        for a in range(rank):
            reach = (-(-size[a] // strides[a]) - 1) * strides[a] + dilations[a] * (kernel[a] - 1) + 1
            total = max(reach - size[a], 0)
            small, large = total // 2, total - total // 2
            before.append(small if auto_pad == "SAME_UPPER" else large)
            after.append(large if auto_pad == "SAME_UPPER" else small)
        return [*before, *after]
    return list(pads) if pads is not None and len(pads) and auto_pad != "VALID" else [0] * (2 * rank)


KERNELS: list[Any] = [Conv, ConvTranspose, AveragePool, MaxPool]

__all__ = ["KERNELS", "AveragePool", "Conv", "ConvTranspose", "MaxPool"]
