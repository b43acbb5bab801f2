"""Convolution, deconvolution and pooling, against loops over the windows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from trtc.diagnostics import DiagnosticError

MODES = ["EXPLICIT_ROUND_DOWN", "EXPLICIT_ROUND_UP", "SAME_UPPER", "SAME_LOWER"]


def geometry(length: int, kernel: int, stride: int, dilation: int, pre: int, post: int, mode: str) -> tuple[int, int]:
    """Number of windows and the position of the first, by the formulas of the padding modes."""
    extent = dilation * (kernel - 1) + 1
    if mode.startswith("SAME"):
        count = math.ceil(length / stride)
        total = max(0, (count - 1) * stride + extent - length)
        return count, -(total // 2 if mode == "SAME_UPPER" else total - total // 2)
    rounding = math.ceil if mode == "EXPLICIT_ROUND_UP" else math.floor
    return rounding((length + pre + post - extent) / stride) + 1, -pre


def windows(shape: Any, kernel: Any, stride: Any, dilation: Any, pre: Any, post: Any, mode: str) -> Any:
    """For each output position: its index and the input positions of its elements, inside or not."""
    rows = [geometry(*row, mode) for row in zip(shape, kernel, stride, dilation, pre, post, strict=True)]
    for at in itertools.product(*(range(n) for n, _ in rows)):
        origin = [first + i * s for (_, first), i, s in zip(rows, at, stride, strict=True)]
        taps = [
            (tap, tuple(o + t * d for o, t, d in zip(origin, tap, dilation, strict=True)))
            for tap in itertools.product(*(range(k) for k in kernel))
        ]
        yield at, taps, tuple(n for n, _ in rows)


def inside(position: Any, shape: Any) -> bool:
    return all(0 <= p < d for p, d in zip(position, shape, strict=True))


def convolved(x: np.ndarray, w: np.ndarray, b: Any, groups: int, *where: Any) -> np.ndarray:
    x, w = x.astype(np.float64), w.astype(np.float64)
    maps, per = w.shape[0], w.shape[1]
    out: Any = None
    for at, taps, shape in windows(x.shape[2:], w.shape[2:], *where):
        out = np.zeros((x.shape[0], maps, *shape)) if out is None else out
        for tap, position in taps:
            if inside(position, x.shape[2:]):
                for m in range(maps):
                    first = m // (maps // groups) * per
                    part = x[(slice(None), slice(first, first + per), *position)]
                    out[(slice(None), m, *at)] += part @ w[(m, slice(None), *tap)]
    return out + (0 if b is None else b.astype(np.float64).reshape(-1, *[1] * (x.ndim - 2)))


def set_geometry(layer: Any, stride: Any, dilation: Any, pre: Any, post: Any, mode: Any) -> None:
    layer.stride_nd, layer.pre_padding, layer.post_padding, layer.padding_mode = stride, pre, post, mode
    if dilation is not None:
        layer.dilation_nd = dilation


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution(net: Any, rng: Any, groups: int, mode: str, dynamic: bool) -> None:
    x = net.input((-1, 4, -1, -1) if dynamic else (2, 4, 6, 7))
    w, b = (rng.normal(size=s).astype(np.float32) for s in ((6, 4 // groups, 3, 2), (6,)))
    layer = net.network.add_convolution_nd(x, 6, (3, 2), w, b)
    layer.num_groups = groups
    where = ((2, 3), (1, 2), (1, 0), (0, 2))
    set_geometry(layer, *where, getattr(net.trt.PaddingMode, mode))
    sizes = [(2, 4, 6, 7), *([(1, 4, 5, 9), (1, 4, 8, 4)] if dynamic else [])]
    net.check(
        layer.get_output(0),
        lambda x: convolved(x, w, b, groups, *where, mode),
        *[(rng.normal(size=s).astype(np.float32),) for s in sizes],
        rtol=1e-4,
        atol=1e-5,
    )


def test_convolution_without_bias_in_three_dimensions(net: Any, rng: Any) -> None:
    w = rng.normal(size=(2, 3, 2, 1, 2)).astype(np.float32)
    layer = net.network.add_convolution_nd(net.input((1, 3, 3, 4, 5)), 2, (2, 1, 2), w)
    where = ((1, 2, 1), (1, 1, 2), (0, 1, 1), (1, 0, 1))
    set_geometry(layer, *where, net.trt.PaddingMode.EXPLICIT_ROUND_DOWN)
    net.check(
        layer.get_output(0),
        lambda x: convolved(x, w, None, 1, *where, "EXPLICIT_ROUND_DOWN"),
        (rng.normal(size=(1, 3, 3, 4, 5)).astype(np.float32),),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_convolution_with_kernel_and_bias_as_tensors(net: Any, rng: Any, dtype: Any) -> None:
    x, w, b = net.input((1, 2, 5, 5), dtype), net.input((3, 2, 3, 3), dtype), net.input((3,), dtype)
    empty = net.trt.Weights(x.dtype)
    layer = net.network.add_convolution_nd(x, 3, (3, 3), empty, empty)
    layer.set_input(1, w)
    layer.set_input(2, b)
    where = ((1, 1), (1, 1), (0, 0), (0, 0))
    case = tuple(rng.normal(size=s).astype(dtype) for s in ((1, 2, 5, 5), (3, 2, 3, 3), (3,)))
    half = dtype == np.float16
    net.check(
        layer.get_output(0),
        lambda x, w, b: convolved(x, w, b, 1, *where, "EXPLICIT_ROUND_DOWN"),
        case,
        rtol=2e-3 if half else 1e-4,
        atol=1e-2 if half else 1e-5,
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("groups", [1, 2])
def test_deconvolution(net: Any, rng: Any, groups: int, mode: str) -> None:
    x = net.input((2, 4, 4, 5))
    w, b = (rng.normal(size=s).astype(np.float32) for s in ((4, 6 // groups, 4, 3), (6,)))
    layer = net.network.add_deconvolution_nd(x, 6, (4, 3), w, b)
    layer.num_groups = groups
    stride, dilation, pre, post = (2, 3), (1, 2), (1, 0), (0, 2)
    set_geometry(layer, stride, dilation, pre, post, getattr(net.trt.PaddingMode, mode))

    def expected(x: np.ndarray) -> np.ndarray:
        extents = [d * (k - 1) + 1 for k, d in zip((4, 3), dilation, strict=True)]
        full = [(i - 1) * s + e for i, s, e in zip((4, 5), stride, extents, strict=True)]
        out = np.zeros((2, 6, *full))
        per_in, per_out = 4 // groups, 6 // groups
        for n, c, i, j, k, p, q in itertools.product(*(range(r) for r in (2, 4, 4, 5, per_out, 4, 3))):
            to = c // per_in * per_out + k
            out[n, to, i * 2 + p, j * 3 + q * 2] += float(x[n, c, i, j]) * w[c, k, p, q]
        low, high = list(pre), list(post)
        if mode.startswith("SAME"):
            totals = [max(0, e - s) for e, s in zip(extents, stride, strict=True)]
            small, large = [t // 2 for t in totals], [t - t // 2 for t in totals]
            low, high = (small, large) if mode == "SAME_UPPER" else (large, small)
        out = out[:, :, low[0] : full[0] - high[0], low[1] : full[1] - high[1]]
        return out + b.reshape(-1, 1, 1)

    net.check(layer.get_output(0), expected, (rng.normal(size=(2, 4, 4, 5)).astype(np.float32),), rtol=1e-4, atol=1e-5)


def pooled(x: np.ndarray, kind: str, where: Any, excludes: bool = True, blend: float = 0.0) -> np.ndarray:
    kernel, stride, pre, post, mode = where
    ones = [1] * len(kernel)
    shape = x.shape[2:]
    rows = [geometry(*row, mode) for row in zip(shape, kernel, stride, ones, pre, post, strict=True)]
    out: Any = None
    for at, taps, size in windows(shape, kernel, stride, ones, pre, post, mode):
        out = np.zeros((*x.shape[:2], *size)) if out is None else out
        found = [x[(slice(None), slice(None), *p)] for _, p in taps if inside(p, shape)]
        # The end of the declared padding; what rounding up reaches beyond it never counts.
        if mode.startswith("SAME"):
            ends = [max(d, (n - 1) * s + k + f) for d, (n, f), s, k in zip(shape, rows, stride, kernel, strict=True)]
        else:
            ends = [d + q for d, q in zip(shape, post, strict=True)]
        reached = sum(all(i < e for i, e in zip(p, ends, strict=True)) for _, p in taps)
        most = np.max(found, axis=0) if found else np.full(x.shape[:2], -np.inf)
        count = len(found) if excludes else reached
        total = np.sum(found, axis=0) if found else np.zeros(x.shape[:2])
        mean = total / count if count else np.full(x.shape[:2], np.nan)
        out[(slice(None), slice(None), *at)] = {
            "MAX": most,
            "AVERAGE": mean,
            "MAX_AVERAGE_BLEND": (1 - blend) * most + blend * mean,
        }[kind]
    return out


POOLS = [
    ((3, 2), (2, 2), (1, 0), (0, 1)),
    ((2, 3), (3, 2), (1, 1), (1, 1)),
    ((2, 2), (3, 3), (1, 1), (1, 1)),  # rounding up makes a window that is all padding
    ((2, 2), (1, 1), (2, 0), (0, 0)),  # as much padding as kernel
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", range(len(POOLS)))
@pytest.mark.parametrize("kind", ["MAX", "AVERAGE", "AVERAGE counting padding", "MAX_AVERAGE_BLEND"])
def test_pooling(net: Any, rng: Any, kind: str, case: int, mode: str, dynamic: bool) -> None:
    kernel, stride, pre, post = POOLS[case]
    name = kind.split()[0]
    x = net.input((-1, 2, -1, -1) if dynamic else (1, 2, 4, 6))
    layer = net.network.add_pooling_nd(x, getattr(net.trt.PoolingType, name), kernel)
    set_geometry(layer, stride, None, pre, post, getattr(net.trt.PaddingMode, mode))
    layer.average_count_excludes_padding = kind == name
    layer.blend_factor = 0.25
    sizes = [(1, 2, 4, 6), *([(2, 2, 5, 5), (1, 2, 3, 8)] if dynamic else [])]
    try:
        assert len(layer.get_output(0).shape) == 4
    except RuntimeError:  # TensorRT has no blend with dynamic lengths, and no exclusive average with so much padding
        assert name != "MAX"
        assert name != kind or name == "MAX_AVERAGE_BLEND" or case == 3 or mode == "EXPLICIT_ROUND_UP"
        with pytest.raises(DiagnosticError, match="T0956"):
            net.read()
        return

    # What a maximum over nothing is depends on the kernel of ONNX Runtime: minus infinity or the lowest float.
    lowest = net.constant([[[[-1e30]]]], np.float32)
    out = net.network.add_elementwise(layer.get_output(0), lowest, net.trt.ElementWiseOperation.MAX).get_output(0)
    where = (kernel, stride, pre, post, mode)
    net.check(
        out,
        lambda x: np.maximum(pooled(x, name, where, kind == name, 0.25), -1e30),
        *[(rng.normal(size=s).astype(np.float32),) for s in sizes],
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_pooling_in_three_dimensions(net: Any, rng: Any, dtype: Any) -> None:
    where = ((2, 1, 2), (1, 2, 2), (0, 0, 1), (1, 0, 0))
    layer = net.network.add_pooling_nd(net.input((1, 2, 3, 4, 5), dtype), net.trt.PoolingType.AVERAGE, where[0])
    set_geometry(layer, where[1], None, *where[2:], net.trt.PaddingMode.EXPLICIT_ROUND_DOWN)
    net.check(
        layer.get_output(0),
        lambda x: pooled(x.astype(np.float64), "AVERAGE", (*where, "EXPLICIT_ROUND_DOWN")),
        (rng.normal(size=(1, 2, 3, 4, 5)).astype(dtype),),
        rtol=2e-3 if dtype == np.float16 else 1e-5,
        atol=1e-3 if dtype == np.float16 else 1e-6,
    )
