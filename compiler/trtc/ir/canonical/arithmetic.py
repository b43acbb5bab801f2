"""Elementwise operators: the broadcasting of opsets before 7, Mod, BitShift."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir.canonical.site import Site, restate

_INT64 = oir.DataType.INT64


@restate(*("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"), until=6, facts=True)
def legacy_broadcast(site: Site) -> None:
    """Opsets 1 to 6: B stands at `axis` of A (at its end without one), not where numpy puts it."""
    axis = site.literal("axis")
    broadcast = site.literal("broadcast", 0)
    site.take("axis")
    site.take("broadcast")
    if not broadcast or axis is None:
        return
    a, b = site.required(0), site.required(1)
    rank_a, rank_b = site.rank(a), site.rank(b)
    if rank_b is not None and (rank_a is not None or axis < 0):
        behind = -axis - rank_b if axis < 0 else (rank_a or 0) - axis - rank_b
        if behind > 0:
            site.set_input(1, site.op("Unsqueeze", b, site.ints(range(rank_b, rank_b + behind), "axes")))
        return
    # As many ones behind the shape of B as A has dims behind the place of B.
    end = site.ints([-axis], "end") if axis < 0 else site.op("Sub", _rank(site, a), site.ints([axis], "axis"))
    behind_value = site.op("Sub", end, _rank(site, b))
    ones = site.op("ConstantOfShape", behind_value, value=oir.tensor(np.ones(1, dtype=np.int64)))
    shape = site.op("Concat", site.op("Shape", b), ones, axis=0)
    site.set_input(1, site.op("Reshape", b, shape, allowzero=1))


def _rank(site: Site, value: oir.Value) -> oir.Value:
    """The rank of a value as a vector of one element."""
    return site.op("Shape", site.op("Shape", value))


@restate("Gemm", until=6)
def gemm_broadcast(site: Site) -> None:
    """Opsets 1 to 6: C is broadcast when asked to; from 7 on whenever its shape asks for it."""
    site.take("broadcast")


@restate("PRelu", until=6, facts=True)
def prelu_channel(site: Site) -> None:
    """Opsets 1 to 6: a vector of slopes lies along the channel, axis 1; from 7 on it broadcasts as in numpy."""
    x, slope = site.required(0), site.required(1)
    rank, slope_rank = site.rank(x), site.rank(slope)
    if slope_rank not in (None, 1) or (rank is not None and rank <= 2):
        return
    if rank is not None:
        site.set_input(1, site.op("Reshape", slope, site.ints([-1] + [1] * (rank - 2), "shape")))
        return
    trailing = site.op("Sub", _rank(site, x), site.ints([2], "two"))
    ones = site.op(
        "ConstantOfShape",
        site.op("Max", trailing, site.ints([0], "zero")),
        value=oir.tensor(np.ones(1, dtype=np.int64)),
    )
    shape = site.op("Concat", site.ints([-1], "channels"), ones, axis=0)
    site.set_input(1, site.op("Reshape", slope, shape))


@restate("Mod", since=28, facts=True)
def mod_floored(site: Site) -> None:
    """Opset 28: `fmod = 0` of floating-point inputs, the remainder with the sign of the divisor."""
    a, b = site.required(0), site.required(1)
    dtype = site.dtype(a)
    if site.literal("fmod", 0) != 0 or dtype is None or not dtype.is_floating_point():
        return
    remainder = site.op("Mod", a, b, fmod=1)
    sign = site.op("Sign", b)
    zero = site.like(0.0, a, "zero")
    differs = site.op("Less", site.op("Mul", site.op("Sign", remainder), sign), zero)
    shifted = site.op("Where", differs, site.op("Add", remainder, b), remainder)
    exact = site.op("Equal", remainder, zero)
    site.become("Where", exact, site.op("Mul", site.op("Abs", remainder), sign), shifted)


@restate("BitShift", since=28, facts=True)
def shift_signed(site: Site) -> None:
    """Opset 28: signed integers (arithmetic to the right), and amounts outside of the width.

    A negative x is shifted to the right as the complement of the shifted complement. Beyond the width nothing is left
    but the sign.
    """
    x, amount = site.required(0), site.required(1)
    dtype = site.dtype(x)
    known = site.module.constant(amount)
    if dtype is None or not dtype.is_integer():
        return
    signed = dtype.name.startswith("INT")
    direction = site.literal("direction")
    if not signed:
        if known is not None and bool((known < dtype.bitwidth).all()):
            return
        inside = site.op("Less", amount, site.like(dtype.bitwidth, amount, "bits"))
        moved = _shift(site, x, amount, direction)
        kept = site.op("Mul", moved, site.op("Cast", inside, to=int(oir.DataType.UINT64)))
        site.become("Cast", kept, to=int(dtype))
        return
    wide, steps = (site.op("Cast", value, to=int(_INT64)) for value in (x, amount))
    zero = site.constant(np.array(0, dtype=np.int64), "zero")
    bits = site.constant(np.array(dtype.bitwidth, dtype=np.int64), "bits")
    inside = site.op("And", site.op("GreaterOrEqual", steps, zero), site.op("Less", steps, bits))
    steps = site.op("Where", inside, steps, zero)
    if direction == "LEFT":
        moved = site.op("Cast", _shift(site, wide, steps, direction), to=int(_INT64))
        site.become("Cast", site.op("Where", inside, moved, zero), to=int(dtype))
        return
    negative = site.op("Less", wide, zero)
    source = site.op("Where", negative, site.op("BitwiseNot", wide), wide)
    moved = site.op("Cast", _shift(site, source, steps, direction), to=int(_INT64))
    moved = site.op("Where", inside, moved, zero)
    site.become("Cast", site.op("Where", negative, site.op("BitwiseNot", moved), moved), to=int(dtype))


def _shift(site: Site, x: oir.Value, amount: oir.Value, direction: str) -> oir.Value:
    unsigned = int(oir.DataType.UINT64)
    return site.op(
        "BitShift", site.op("Cast", x, to=unsigned), site.op("Cast", amount, to=unsigned), direction=direction
    )
