"""Axes counted from the end become axes counted from the front, where the rank is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as oir

from trtc.ir.canonical.site import Site

Rank = Callable[[Site], "int | None"]


def _of_input(at: int) -> Rank:
    def rank(site: Site) -> int | None:
        value = site.input(at)
        return None if value is None else site.rank(value)

    return rank


def _one_more(site: Site) -> int | None:
    rank = _of_input(0)(site)
    return None if rank is None else rank + 1


def _unsqueezed(site: Site) -> int | None:
    rank, axes = _of_input(0)(site), site.module.constant(site.input(1)) if site.input(1) is not None else None
    return None if rank is None or axes is None else rank + axes.size


_FIRST = _of_input(0)

#: The attribute that holds an axis (or axes), and the rank that it counts in.
_ATTRIBUTES: dict[str, tuple[str, Rank]] = {
    **dict.fromkeys(
        (
            *("ArgMax", "ArgMin", "Compress", "Concat", "DequantizeLinear", "Flatten", "Gather", "GatherElements"),
            *("Hardmax", "LayerNormalization", "LogSoftmax", "LpNormalization", "QuantizeLinear"),
            *("RMSNormalization", "ScatterElements", "Softmax", "Split", "SplitToSequence", "Unique"),
        ),
        ("axis", _FIRST),
    ),
    **dict.fromkeys(("CenterCropPad", "MeanVarianceNormalization", "Resize"), ("axes", _FIRST)),
    "OneHot": ("axis", _one_more),
}

#: The input that holds an axis (or axes), and the rank that it counts in.
_INPUTS: dict[str, tuple[int, Rank]] = {
    **dict.fromkeys(
        (
            *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
            *("ReduceProd", "ReduceSum", "ReduceSumSquare", "Squeeze", "CumSum"),
        ),
        (1, _FIRST),
    ),
    "Unsqueeze": (1, _unsqueezed),
    "DFT": (2, _FIRST),
    "Slice": (3, _FIRST),
    "Pad": (3, _FIRST),
}


def count_from_front(site: Site) -> None:
    """Make the axes of a node non-negative, in place. Nothing is asked of inference when they are already."""
    _attribute(site)
    _input(site)


def _attribute(site: Site) -> None:
    entry = _ATTRIBUTES.get(site.node.op_type)
    if entry is None:
        return
    attr = site.node.attributes.get(entry[0])
    if attr is None or attr.is_ref():
        return
    axes = attr.as_ints() if attr.type == oir.AttributeType.INTS else (attr.as_int(),)
    if all(axis >= 0 for axis in axes):
        return
    rank = entry[1](site)
    if rank is None:
        return
    moved = [axis + rank if axis < 0 else axis for axis in axes]
    if any(axis < 0 for axis in moved):
        if site.node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            # Read only when the scale has an axis; a scalar one leaves whatever was written here.
            return
        raise _outside(site, min(axes), rank)
    site.set(entry[0], moved if attr.type == oir.AttributeType.INTS else moved[0])


def _input(site: Site) -> None:
    entry = _INPUTS.get(site.node.op_type)
    if entry is None:
        return
    value = site.input(entry[0])
    axes = None if value is None else site.module.constant(value)
    if value is None or axes is None or not (axes < 0).any():
        return
    rank = entry[1](site)
    if rank is None:
        return
    moved = np.where(axes < 0, axes + rank, axes)
    if (moved < 0).any():
        raise _outside(site, int(axes.min()), rank)
    site.set_input(entry[0], site.constant(moved.astype(axes.dtype), "axes"))


def _outside(site: Site, axis: int, rank: int) -> Exception:
    return site.refusal("T0652", f"axis {axis} of {site.node.op_type} is outside of its {rank} dims")
