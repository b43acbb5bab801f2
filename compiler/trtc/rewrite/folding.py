"""Constants of right-hand sides, computed when the rule is applied: floats in float64, rounded once at the end."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.rewrite.functions import Array, widened

_Kernel = Callable[[Sequence[np.ndarray[Any, Any]], Mapping[str, Any]], np.ndarray[Any, Any]]


def compute(op_type: str, inputs: Sequence[Array], attributes: Mapping[str, Any]) -> Array | None:
    """The result of an operator of ai.onnx on constants; None where it is not computed here."""
    if op_type == "Cast":
        to = oir.DataType(int(attributes["to"]))
        data = inputs[0].data
        if to in (oir.DataType.FLOAT16, oir.DataType.BFLOAT16, oir.DataType.FLOAT, oir.DataType.DOUBLE):
            # A narrower dtype rounds here, whatever is done with the result.
            return Array(data.astype(to.numpy()).astype(np.float64), to)
        return Array(data.astype(to.numpy()), to)
    kernel = _KERNELS.get(op_type)
    if kernel is None:
        return None
    moved = op_type in _MOVES and len({i.data.dtype for i in inputs if i.dtype == inputs[0].dtype}) == 1
    with np.errstate(all="ignore"):
        made = np.asarray(kernel([i.data if moved else widened(i.data) for i in inputs], attributes))
    return Array(made, inputs[0].dtype)


#: Operators that only move elements: a weight is not copied in a wider dtype for them.
_MOVES = frozenset(
    {"Identity", "Transpose", "Reshape", "Flatten", "Unsqueeze", "Squeeze", "Concat", "Slice", "Expand", "Gather"}
)


def _divide(given: Sequence[np.ndarray[Any, Any]], _: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    a, b = given
    if np.issubdtype(a.dtype, np.floating):
        return a / b
    if (b == 0).any():
        raise ValueError("a division of integers by zero")
    return np.asarray(np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)), a.dtype)


def _slice(given: Sequence[np.ndarray[Any, Any]], _: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    data, starts, ends = given[:3]
    axes = given[3] if len(given) > 3 else np.arange(len(starts))
    steps = given[4] if len(given) > 4 else np.ones(len(starts), np.int64)
    index: list[slice] = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 1:
            raise ValueError("a step below 1")
        index[int(axis)] = slice(int(start), int(end), int(step))
    return data[tuple(index)]


def _reshape(given: Sequence[np.ndarray[Any, Any]], _: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    data, shape = given
    return data.reshape([data.shape[i] if n == 0 else int(n) for i, n in enumerate(shape)])


def _axes(given: Sequence[np.ndarray[Any, Any]]) -> tuple[int, ...] | None:
    return tuple(int(a) for a in given[1]) if len(given) > 1 else None


def _reduced(function: Callable[..., Any]) -> _Kernel:
    def run(given: Sequence[np.ndarray[Any, Any]], attributes: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(function(given[0], axis=_axes(given), keepdims=bool(attributes.get("keepdims", 1))))

    return run


_KERNELS: dict[str, _Kernel] = {
    "Add": lambda g, _: g[0] + g[1],
    "Sub": lambda g, _: g[0] - g[1],
    "Mul": lambda g, _: g[0] * g[1],
    "Div": _divide,
    "Neg": lambda g, _: -g[0],
    "Abs": lambda g, _: np.abs(g[0]),
    "Sqrt": lambda g, _: np.sqrt(g[0]),
    "Exp": lambda g, _: np.exp(g[0]),
    "Sin": lambda g, _: np.sin(g[0]),
    "Cos": lambda g, _: np.cos(g[0]),
    "Reciprocal": lambda g, _: 1.0 / g[0],
    "Identity": lambda g, _: g[0],
    "MatMul": lambda g, _: g[0] @ g[1],
    "Transpose": lambda g, a: np.transpose(g[0], a.get("perm")),
    "Reshape": _reshape,
    "Flatten": lambda g, a: g[0].reshape(int(np.prod(g[0].shape[: a.get("axis", 1)])), -1),
    "Unsqueeze": lambda g, _: np.expand_dims(g[0], tuple(int(a) for a in g[1])),
    "Squeeze": lambda g, _: np.squeeze(g[0], _axes(g)),
    "Concat": lambda g, a: np.concatenate(list(g), axis=int(a["axis"])),
    "Slice": _slice,
    "Expand": lambda g, _: np.broadcast_to(g[0], np.broadcast_shapes(g[0].shape, tuple(int(n) for n in g[1]))),
    "ReduceSum": _reduced(np.sum),
    "ReduceMean": _reduced(np.mean),
}
