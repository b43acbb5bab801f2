"""Resize and grid-sample, against coordinates computed one by one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest


def taps(x: float, mode: str, rounding: str, coefficient: float, exclude: bool, length: int) -> dict[int, float]:
    """Index -> weight of one output element along one axis."""
    if mode == "NEAREST":
        index = {
            "HALF_UP": math.floor(x + 0.5),
            "HALF_DOWN": math.ceil(x - 0.5),
            "FLOOR": math.floor(x),
            "CEIL": math.ceil(x),
        }[rounding]
        return {min(max(index, 0), length - 1): 1.0}
    first, a = math.floor(x), coefficient
    found: dict[int, float] = {}
    for index in range(first, first + 2) if mode == "LINEAR" else range(first - 1, first + 3):
        d = abs(x - index)
        if mode == "LINEAR":
            weight = 1 - d
        elif d <= 1:
            weight = (a + 2) * d**3 - (a + 3) * d**2 + 1
        else:
            weight = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
        if exclude and not 0 <= index < length:
            continue
        at = min(max(index, 0), length - 1)
        found[at] = found.get(at, 0) + weight
    total = sum(found.values()) if exclude else 1
    return {index: weight / total for index, weight in found.items()}


def resized(
    x: np.ndarray,
    sizes: Any,
    scales: Any,
    mode: str,
    transform: str,
    rounding: str = "FLOOR",
    selector: str = "FORMULA",
    coefficient: float = -0.75,
    exclude: bool = False,
) -> np.ndarray:
    x = x.astype(np.float64)
    for axis, (old, new) in enumerate(zip(x.shape, sizes, strict=True)):
        ratio = old / new if scales is None else 1 / scales[axis]
        rows = []
        for j in range(new):
            at = {
                "ASYMMETRIC": j * ratio,
                "HALF_PIXEL": (j + 0.5) * ratio - 0.5,
                "ALIGN_CORNERS": j * (old - 1) / (new - 1) if new > 1 else 0,
            }[transform]
            if selector == "UPPER" and new == 1:
                at = 0
            weights = taps(at, mode, rounding, coefficient, exclude, old) if old != new else {j: 1.0}
            rows.append(sum(w * x.take(i, axis) for i, w in weights.items()))
        x = np.stack(rows, axis)
    return x


TRANSFORMS = ["ASYMMETRIC", "HALF_PIXEL", "ALIGN_CORNERS"]


@pytest.mark.parametrize("sizes", [(1, 2, 7, 9), (1, 2, 3, 4), (1, 2, 1, 16)])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("rounding", ["HALF_UP", "HALF_DOWN", "FLOOR", "CEIL"])
def test_nearest(net: Any, rng: Any, rounding: str, transform: str, sizes: Any) -> None:
    layer = net.network.add_resize(net.input((1, 2, 5, 8)))
    layer.shape = sizes
    layer.resize_mode = net.trt.InterpolationMode.NEAREST
    layer.coordinate_transformation = getattr(net.trt.ResizeCoordinateTransformation, transform)
    layer.nearest_rounding = getattr(net.trt.ResizeRoundMode, rounding)
    data = rng.normal(size=(1, 2, 5, 8)).astype(np.float32)
    net.check(layer.get_output(0), lambda x: resized(x, sizes, None, "NEAREST", transform, rounding), (data,))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("exclude", [False, True])
@pytest.mark.parametrize("selector", ["FORMULA", "UPPER"])
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("mode", ["LINEAR", "CUBIC"])
def test_interpolation(
    net: Any, rng: Any, mode: str, transform: str, selector: str, exclude: bool, dynamic: bool
) -> None:
    layer = net.network.add_resize(net.input((1, 2, -1, -1) if dynamic else (1, 2, 5, 4)))
    targets = [(1, 2, 8, 3), (1, 2, 1, 6)]
    if dynamic:
        layer.set_input(1, net.input((4,), np.int32))
    else:
        targets = [(1, 2, 1, 6)]
        layer.shape = targets[0]
    layer.resize_mode = getattr(net.trt.InterpolationMode, mode)
    layer.coordinate_transformation = getattr(net.trt.ResizeCoordinateTransformation, transform)
    layer.selector_for_single_pixel = getattr(net.trt.ResizeSelector, selector)
    layer.exclude_outside, layer.cubic_coeff = exclude, -0.5
    cases = [
        (rng.normal(size=(1, 2, 5, 4)).astype(np.float32), *([np.array(t, np.int32)] if dynamic else []))
        for t in targets
    ]

    def expected(x: np.ndarray, sizes: Any = None) -> np.ndarray:
        sizes = targets[0] if sizes is None else sizes
        return resized(x, sizes, None, mode, transform, "FLOOR", selector, -0.5, exclude)

    net.check(layer.get_output(0), expected, *cases, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("mode", ["NEAREST", "LINEAR"])
def test_given_scales_are_used_as_they_are(net: Any, rng: Any, mode: str, dynamic: bool) -> None:
    """5 * 1.3 is 6.5 and gives 6 elements, which lie 1 / 1.3 apart and not 5 / 6."""
    layer = net.network.add_resize(net.input((-1, 2, -1, 4) if dynamic else (1, 2, 5, 4)))
    layer.scales = (1, 1, 1.3, 2)
    layer.resize_mode = getattr(net.trt.InterpolationMode, mode)
    sizes = [(1, 2, 5, 4), *([(3, 2, 7, 4)] if dynamic else [])]

    def expected(x: np.ndarray) -> np.ndarray:
        target = (x.shape[0], 2, math.floor(x.shape[2] * 1.3), 8)
        return resized(x, target, (1, 1, 1.3, 2), mode, "ASYMMETRIC")

    cases = [(rng.normal(size=s).astype(np.float32),) for s in sizes]
    net.check(layer.get_output(0), expected, *cases, rtol=1e-4, atol=1e-5)


def sampled(x: np.ndarray, grid: np.ndarray, mode: str, pad: str, align: bool) -> np.ndarray:
    n, c, height, width = x.shape
    out = np.zeros((n, c, *grid.shape[1:3]))

    def element(b: int, i: int, j: int) -> Any:
        if pad == "FILL" and not (0 <= i < height and 0 <= j < width):
            return np.zeros(c)
        return x[b, :, min(max(i, 0), height - 1), min(max(j, 0), width - 1)]

    def place(v: float, length: int) -> float:
        p = (v + 1) / 2 * (length - 1) if align else ((v + 1) * length - 1) / 2
        if pad == "CLAMP":
            return min(max(p, 0), length - 1)
        if pad == "REFLECT":
            low, high = (0.0, length - 1.0) if align else (-0.5, length - 0.5)
            while not low <= p <= high:
                p = 2 * low - p if p < low else 2 * high - p
            return min(max(p, 0), length - 1)
        return p

    for b, h, w in itertools.product(range(n), *(range(s) for s in grid.shape[1:3])):
        px, py = place(float(grid[b, h, w, 0]), width), place(float(grid[b, h, w, 1]), height)
        if mode == "NEAREST":
            out[b, :, h, w] = element(b, round(py), round(px))
            continue
        i, j = math.floor(py), math.floor(px)
        for di, dj in itertools.product(range(2), repeat=2):
            weight = (1 - abs(py - i - di)) * (1 - abs(px - j - dj))
            out[b, :, h, w] += weight * element(b, i + di, j + dj)
    return out


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("pad", ["FILL", "CLAMP", "REFLECT"])
@pytest.mark.parametrize("mode", ["NEAREST", "LINEAR"])
def test_grid_sample(net: Any, rng: Any, mode: str, pad: str, align: bool) -> None:
    layer = net.network.add_grid_sample(net.input((2, 3, 4, 5)), net.input((2, 3, 2, 2)))
    layer.interpolation_mode = getattr(net.trt.InterpolationMode, mode)
    layer.sample_mode = getattr(net.trt.SampleMode, pad)
    layer.align_corners = align
    case = (rng.normal(size=(2, 3, 4, 5)).astype(np.float32), rng.uniform(-1.6, 1.6, (2, 3, 2, 2)).astype(np.float32))
    net.check(layer.get_output(0), lambda x, g: sampled(x, g, mode, pad, align), case, rtol=1e-4, atol=1e-5)
