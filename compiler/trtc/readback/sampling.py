"""Resize and grid-sample layers."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as oir

from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope

_BOOL = oir.DataType.BOOL
_FLOAT = oir.DataType.FLOAT
_INT64 = oir.DataType.INT64


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis to resize: lengths before and after as int64 of rank 0, ratio after / before as float of rank 0."""

    axis: int
    before: oir.Value
    after: oir.Value
    ratio: oir.Value


def resize(scope: Scope, layer: Layer) -> None:
    """Axis by axis, since every mode is separable: a gather per tap, weighted.

    Positions are computed in float32, as (j + .5) / ratio - .5 and so on, ratio being the scale that the layer was
    given, or else the quotient of the lengths.
    """
    handle = layer.handle
    x = scope.wide_input(layer, 0)
    dtype = x.dtype
    mode = handle.resize_mode.name
    if mode not in ("NEAREST", "LINEAR", "CUBIC"):
        raise refuse(layer, "T0953", f"has the mode {mode}, which has no reading")
    x = scope.cast(x, _FLOAT)
    rank = len(layer.inputs[0].shape)
    for axis in _axes(scope, layer, x):
        position = _position(scope, layer, axis)
        if mode == "NEAREST":
            index = scope.cast(_nearest(scope, layer, position), _INT64)
            x = scope.op("Gather", x, _clamped(scope, index, axis), axis=axis.axis)
        else:
            x = _weighted(scope, layer, x, axis, position, rank)
    scope.bind(layer, scope.cast(x, dtype or _FLOAT) if mode == "NEAREST" else x)


def _axes(scope: Scope, layer: Layer, x: oir.Value) -> list[_Axis]:
    """The axes whose length or scale is not known to stay; lengths are those of the whole input."""
    handle = layer.handle
    before, after = tuple(layer.inputs[0].shape), tuple(layer.outputs[0].shape)
    scales = [float(s) for s in (handle.scales or ())]
    sizes = scope.cast(scope.input(layer, 1), _INT64) if layer.input(1) is not None else None
    axes: list[_Axis] = []
    for axis in range(len(before)):
        if scales[axis] == 1.0 if scales else before[axis] == after[axis] >= 0:
            continue
        old = scope.scalar(before[axis], _INT64) if before[axis] >= 0 else scope.dim(x, axis)
        if after[axis] >= 0:
            new = scope.scalar(after[axis], _INT64)
        elif sizes is not None:
            new = scope.op("Gather", sizes, scope.scalar(axis, _INT64), axis=0)
        elif scales:
            exact = scope.op("Mul", scope.cast(old, _FLOAT), scope.floats(scales[axis]))
            new = scope.cast(scope.op("Floor", exact), _INT64)
        else:  # the static output shape keeps this axis
            continue
        if scales:
            ratio = scope.floats(scales[axis])
        else:
            ratio = scope.op("Div", scope.cast(new, _FLOAT), scope.cast(old, _FLOAT))
        axes.append(_Axis(axis, old, new, ratio))
    return axes


def _position(scope: Scope, layer: Layer, axis: _Axis) -> oir.Value:
    """The coordinate in the input of each output element, float of rank 1."""
    handle = layer.handle
    j = scope.cast(scope.iota(axis.after), _FLOAT)
    half, one = scope.floats(0.5), scope.scalar(1, _INT64)
    kind = handle.coordinate_transformation.name
    if kind == "ASYMMETRIC":
        position = scope.op("Div", j, axis.ratio)
    elif kind == "HALF_PIXEL":
        position = scope.op("Sub", scope.op("Div", scope.op("Add", j, half), axis.ratio), half)
    elif kind == "ALIGN_CORNERS":
        # One output element takes coordinate 0: j is 0 there, and the divisor is kept from being 0.
        steps = scope.op("Max", one, scope.op("Sub", axis.after, one))
        span = scope.op("Sub", axis.before, one)
        position = scope.op("Div", scope.op("Mul", j, scope.cast(span, _FLOAT)), scope.cast(steps, _FLOAT))
    else:
        raise refuse(layer, "T0953", f"has the coordinate transformation {kind}, which has no reading")
    if handle.selector_for_single_pixel.name == "UPPER":
        single = scope.op("Equal", axis.after, one, dtype=_BOOL)
        position = scope.where(single, scope.floats(0), position)
    return position


def _nearest(scope: Scope, layer: Layer, position: oir.Value) -> oir.Value:
    half = scope.floats(0.5)
    match layer.handle.nearest_rounding.name:
        case "HALF_UP":
            return scope.op("Floor", scope.op("Add", position, half))
        case "HALF_DOWN":
            return scope.op("Ceil", scope.op("Sub", position, half))
        case "FLOOR":
            return scope.op("Floor", position)
        case "CEIL":
            return scope.op("Ceil", position)
        case rounding:
            raise refuse(layer, "T0953", f"has the rounding {rounding}, which has no reading")


def _clamped(scope: Scope, index: oir.Value, axis: _Axis) -> oir.Value:
    last = scope.op("Sub", axis.before, scope.scalar(1, _INT64))
    return scope.op("Max", scope.scalar(0, _INT64), scope.op("Min", index, last))


def _weighted(scope: Scope, layer: Layer, x: oir.Value, axis: _Axis, position: oir.Value, rank: int) -> oir.Value:
    """The sum over two or four taps; those outside repeat the border, or count nothing with exclude_outside."""
    base = scope.op("Floor", position)
    fraction = scope.op("Sub", position, base)
    first = scope.cast(base, _INT64)
    if layer.handle.resize_mode.name == "LINEAR":
        weights = {0: scope.op("Sub", scope.floats(1), fraction), 1: fraction}
    else:
        weights = _cubic(scope, fraction, float(layer.handle.cubic_coeff))
    indices = {tap: scope.op("Add", first, scope.scalar(tap, _INT64)) for tap in weights}
    if layer.handle.exclude_outside:
        zero = scope.scalar(0, _INT64)
        for tap, index in indices.items():
            below = scope.op("Less", index, zero, dtype=_BOOL)
            above = scope.op("GreaterOrEqual", index, axis.before, dtype=_BOOL)
            weights[tap] = scope.where(scope.op("Or", below, above), scope.floats(0), weights[tap])
        total = _sum(scope, list(weights.values()))
        weights = {tap: scope.op("Div", weight, total) for tap, weight in weights.items()}
    along = [-1 if i == axis.axis else 1 for i in range(rank)]
    terms = [
        scope.op(
            "Mul",
            scope.op("Gather", x, _clamped(scope, index, axis), axis=axis.axis),
            scope.reshape(weights[tap], *along),
        )
        for tap, index in indices.items()
    ]
    return _sum(scope, terms)


def _sum(scope: Scope, values: list[oir.Value]) -> oir.Value:
    total = values[0]
    for value in values[1:]:
        total = scope.op("Add", total, value)
    return total


def _cubic(scope: Scope, fraction: oir.Value, a: float) -> dict[int, oir.Value]:
    """Weights of the taps -1 to 2 (Keys, 1981): for a distance d, |d| <= 1 and 1 < |d| < 2."""

    def polynomial(d: oir.Value, *coefficients: float) -> oir.Value:
        out = scope.floats(coefficients[0])
        for c in coefficients[1:]:
            out = scope.op("Add", scope.op("Mul", out, d), scope.floats(c))
        return out

    near, far = (a + 2, -(a + 3), 0.0, 1.0), (a, -5 * a, 8 * a, -4 * a)
    rest = scope.op("Sub", scope.floats(1), fraction)
    one = scope.floats(1)
    return {
        -1: polynomial(scope.op("Add", fraction, one), *far),
        0: polynomial(fraction, *near),
        1: polynomial(rest, *near),
        2: polynomial(scope.op("Add", rest, one), *far),
    }


_SAMPLES = {"FILL": "zeros", "CLAMP": "border", "REFLECT": "reflection"}
_MODES = {"NEAREST": "nearest", "LINEAR": "linear", "CUBIC": "cubic"}


def grid_sample(scope: Scope, layer: Layer) -> None:
    handle = layer.handle
    sample, mode = handle.sample_mode.name, handle.interpolation_mode.name
    if sample not in _SAMPLES:
        raise refuse(layer, "T0953", f"has the sample mode {sample}, which has no reading")
    out = scope.op(
        "GridSample",
        scope.wide_input(layer, 0),
        scope.wide_input(layer, 1),
        mode=_MODES[mode],
        padding_mode=_SAMPLES[sample],
        align_corners=int(bool(handle.align_corners)),
    )
    scope.bind(layer, out)
