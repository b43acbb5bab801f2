"""Casts and quantization."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as oir

from trtc.ir.canonical.site import Site, restate


@restate("Cast", until=5)
def cast_by_name(site: Site) -> None:
    """Opset 1: the target by its name."""
    name = site.literal("to")
    dtype = oir.DataType.__members__.get(str(name).upper())
    if dtype is None:
        raise site.refusal("T0652", f"Cast of opset 1 to the unknown type {str(name)!r}")
    site.set("to", int(dtype))


@restate("Cast", "CastLike", since=24)
def cast_round_mode(site: Site) -> None:
    """Opset 24: a rounding mode, which only float8e8m0 has, a type that opset 23 lacks."""
    site.take("round_mode")


@restate("BitCast", since=26, facts=True)
def bit_cast(site: Site) -> None:
    """Opset 26: between integers of one width the bits are those that Cast gives, as it wraps around."""
    source = site.dtype(site.required(0))
    target = _dtype(site.literal("to"))
    if target is None:
        raise site.refusal("T0652", f"BitCast to {site.literal('to')}, which is no type")
    if source is not None and source.is_integer() and target.is_integer():
        site.become("Cast", site.required(0), to=int(target))


#: Types that a newer opset brought to all operators at once, and which opset. By name: older onnx_ir lacks some.
NEWER_TYPES = {"FLOAT8E8M0": 24, "UINT2": 25, "INT2": 25, "FLOAT6E2M3": 28, "FLOAT6E3M2": 28}

_TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype")


def newer_type(values: Iterable[oir.Value | None], node: oir.Node | None = None) -> str | None:
    """The name of a type that opset 23 lacks, among declared types of values and what a node converts to."""
    for value in values:
        if value is not None and value.dtype is not None and value.dtype.name in NEWER_TYPES:
            return value.dtype.name
    if node is None:
        return None
    for name in _TYPE_ATTRIBUTES:
        attr = node.attributes.get(name)
        if attr is not None and attr.type == oir.AttributeType.INT and not attr.is_ref():
            known = _dtype(attr.as_int())
            if known is not None and known.name in NEWER_TYPES:
                return known.name
    return None


def _dtype(number: int) -> oir.DataType | None:
    try:
        return oir.DataType(number)
    except ValueError:
        return None


def _through_float(site: Site, data: tuple[int, ...], outputs: tuple[int, ...]) -> None:
    """Do in float32, which holds every bfloat16 and float16, what opset 23 does not do in them; cast back."""
    dtype = site.dtype(site.required(data[0]))
    if dtype is None or dtype not in (oir.DataType.BFLOAT16, oir.DataType.FLOAT16):
        return
    for at in data:
        value = site.input(at)
        if value is not None:
            site.set_input(at, site.op("Cast", value, to=int(oir.DataType.FLOAT)))
    count = len(site.node.outputs)
    inner = site.ops(site.node.op_type, site.node.inputs, count, **dict(site.node.attributes))
    for at, value in enumerate(inner):
        if at and (at in outputs or site.output_used(at)):
            site.replace_output(at, site.op("Cast", value, to=int(dtype)) if at in outputs else value)
    site.drop_outputs(1)
    if 0 in outputs:
        site.become("Cast", inner[0], to=int(dtype))
    else:
        site.become("Identity", inner[0])


def _is_bfloat16(site: Site, at: int) -> bool:
    value = site.input(at)
    return value is not None and site.dtype(value) == oir.DataType.BFLOAT16


@restate("TopK", "ReverseSequence", "Compress", "Unique", since=24, facts=True)
def select_bfloat16(site: Site) -> None:
    """TopK of opset 24, the others of 28: bfloat16 data."""
    if _is_bfloat16(site, 0):
        _through_float(site, (0,), (0,))


@restate("Einsum", since=28, facts=True)
def einsum_bfloat16(site: Site) -> None:
    """Opset 28: bfloat16 operands."""
    if _is_bfloat16(site, 0):
        _through_float(site, tuple(range(len(site.node.inputs))), (0,))


@restate("OneHot", since=28, facts=True)
def one_hot_bfloat16(site: Site) -> None:
    """Opset 28: bfloat16 values."""
    if _is_bfloat16(site, 2):
        _through_float(site, (2,), (0,))


@restate("Range", since=27, facts=True)
def range_stash(site: Site) -> None:
    """Opset 27: float16 and bfloat16, counted in float32."""
    stash = site.literal("stash_type", 1)
    dtype = site.dtype(site.required(0))
    half = dtype in (oir.DataType.BFLOAT16, oir.DataType.FLOAT16)
    if half and stash != 1:
        raise site.refusal("T0653", f"Range (opset {site.opset}) of {dtype} with stash_type {stash}")
    site.take("stash_type")
    if half:
        _through_float(site, (0, 1, 2), (0,))
