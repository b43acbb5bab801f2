"""Scaling the weights of Conv, ConvTranspose, Gemm and MatMul by channel."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as oir

#: Least normal number of float16: below it the weights of a channel would lose their digits.
_HALF_NORMAL = 2.0**-14


def output_channels(node: oir.Node, weight: np.ndarray) -> int:
    """The number of channels of the result of a linear operator with this weight."""
    from trtc_passes.operators import integer

    if node.op_type == "Conv":
        return weight.shape[0]
    if node.op_type == "ConvTranspose":
        return weight.shape[1] * integer(node, "group", 1)
    if node.op_type == "Gemm" and integer(node, "transB", 0):
        return weight.shape[0]
    return weight.shape[-1]


def scale_outputs(node: oir.Node, weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The weight with each output channel scaled, in the dtype of the weight; computed in float64."""
    from trtc_passes.operators import integer

    if scale.ndim == 0:
        return _multiply(weight, scale)
    if node.op_type == "Conv":
        return _multiply(weight, scale.reshape(-1, *[1] * (weight.ndim - 1)))
    if node.op_type == "ConvTranspose":
        # [C, M/group, k…]: axis 0 holds the input channels of all groups, axis 1 the output channels of one group.
        group = integer(node, "group", 1)
        grouped = weight.reshape(group, weight.shape[0] // group, *weight.shape[1:])
        factor = scale.reshape(group, 1, weight.shape[1], *[1] * (weight.ndim - 2))
        return _multiply(grouped, factor).reshape(weight.shape)
    if node.op_type == "Gemm" and integer(node, "transB", 0):
        return _multiply(weight, scale.reshape(-1, 1))
    return _multiply(weight, scale)


def scale_inputs(node: oir.Node, weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The weight [M, C/group, k…] of a Conv with each input channel scaled."""
    if scale.ndim == 0:
        return _multiply(weight, scale)
    grouped, shape = _by_group(node, weight)
    return _multiply(grouped, scale.reshape(shape)).reshape(weight.shape)


def shifted_inputs(node: oir.Node, weight: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """What a shift of the input channels of a Conv without padding adds to each output channel: float64 [M]."""
    import numpy as np

    grouped, shape = _by_group(node, weight)
    factor = shift.reshape(shape) if shift.ndim else shift
    total = grouped.astype(np.float64) * factor
    return total.reshape(weight.shape[0], -1).sum(axis=1)


def _by_group(node: oir.Node, weight: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """The weight as [group, M/group, C/group, k…], and the shape that [C] takes to multiply it."""
    from trtc_passes.operators import integer

    group = integer(node, "group", 1)
    grouped = weight.reshape(group, weight.shape[0] // group, *weight.shape[1:])
    return grouped, (group, 1, weight.shape[1], *[1] * (weight.ndim - 2))


def _multiply(weight: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """The product in float64, rounded once to the dtype of the weight."""
    import numpy as np

    if weight.dtype.kind != "f":  # bfloat16
        return (weight.astype(np.float64) * factor).astype(weight.dtype)
    out = np.empty(weight.shape, weight.dtype)
    with np.errstate(all="ignore"):
        # In blocks through numpy's buffer: no float64 copy of the whole weight.
        np.multiply(weight, factor, out=out, dtype=np.float64, casting="same_kind")
    return out


def loses(before: np.ndarray, after: np.ndarray) -> str | None:
    """Why the rounded weights are not as good as the ones before; None when they are."""
    import numpy as np

    if before.dtype.itemsize > 2:
        # Products of finite numbers can overflow float32 too, but only where the layer's results would.
        return None if _finite(after) or not _finite(before) else "the scaled weights overflow"
    name = before.dtype.name
    if not _finite(after) and _finite(before):
        return f"the scaled weights overflow {name}"
    largest = float(np.abs(after.astype(np.float32)).max(initial=0.0))
    was = float(np.abs(before.astype(np.float32)).max(initial=0.0))
    if name == "float16" and largest < _HALF_NORMAL <= was:
        return f"the scaled weights vanish in {name}"
    return None


def _finite(array: np.ndarray) -> bool:
    import numpy as np

    # The sum is finite when all are, unless it overflows: then look at each.
    values = array if array.dtype.kind == "f" else array.astype(np.float32)
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64))) or bool(np.isfinite(values).all())
