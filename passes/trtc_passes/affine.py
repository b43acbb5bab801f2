"""What scales and shifts each channel: y = scale * x + shift, with constants."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as oir

    from trtc.ir.module import Module

#: Operators that scale or shift when the other operand is a constant.
ARITHMETIC = frozenset({"Mul", "Add", "Sub", "Div"})


@dataclass(frozen=True, slots=True)
class Affine:
    """`scale` and `shift` are float64 of shape [C] or [] (the same for each channel)."""

    source: oir.Value
    scale: np.ndarray
    shift: np.ndarray

    @property
    def shifts(self) -> bool:
        return bool(self.shift.any())


def affine_of(module: Module, node: oir.Node, channels: int, axis: int, rank: int) -> Affine | str:
    """What the node does to each of `channels` channels along `axis` of a tensor of `rank`, or why it does not."""
    if node.op_type == "BatchNormalization":
        return _batch_norm(module, node, channels, axis)
    return _arithmetic(module, node, channels, axis, rank)


def _batch_norm(module: Module, node: oir.Node, channels: int, axis: int) -> Affine | str:
    """scale = gamma / sqrt(var + epsilon), shift = beta - mean * scale, in float64 whatever the dtypes."""
    import numpy as np

    from trtc_passes.operators import real, trains

    if trains(module, node):
        return "it is in training mode"
    if axis != 1:
        return "its channels are not the columns of the product"
    arrays = [module.constant(value) for value in node.inputs[1:5]]
    if any(array is None or array.shape != (channels,) for array in arrays):
        return "a parameter is not a constant of one element for each channel"
    gamma, beta, mean, var = (np.asarray(array).astype(np.float64) for array in arrays)
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(var + real(node, "epsilon", 1e-5))
        shift = beta - mean * scale
    if not (np.isfinite(scale).all() and np.isfinite(shift).all()):
        return "a scale or shift is not finite"
    source = node.inputs[0]
    assert source is not None
    return Affine(source, scale, shift)


def _arithmetic(module: Module, node: oir.Node, channels: int, axis: int, rank: int) -> Affine | str:
    import numpy as np

    left, right = node.inputs
    if left is None or right is None:
        return "an operand is missing"
    at = 0 if module.constant(left) is not None else 1
    array, source = module.constant(node.inputs[at]), node.inputs[1 - at]
    if array is None or source is None:
        return "neither operand is a constant"
    if node.op_type == "Div" and at == 0:
        return "it divides by what is computed"
    factor = _per_channel(array, channels, axis, rank)
    if factor is None:
        return f"its constant of shape {list(array.shape)} is not one number for each channel"
    one, zero = np.float64(1.0), np.float64(0.0)
    scale, shift = one, zero
    if node.op_type == "Mul":
        scale = factor
    elif node.op_type == "Div":
        with np.errstate(all="ignore"):
            scale = 1.0 / factor
    elif node.op_type == "Add":
        shift = factor
    elif at == 1:
        shift = -factor
    else:
        scale, shift = -one, factor
    if not (np.isfinite(scale).all() and np.isfinite(shift).all()):
        return "a scale or shift is not finite"
    return Affine(source, np.asarray(scale), np.asarray(shift))


def _per_channel(array: np.ndarray, channels: int, axis: int, rank: int) -> np.ndarray | None:
    """Shape [C] or [] in float64; None when the constant differs along another axis or would widen the tensor."""
    import numpy as np

    if array.ndim > rank or array.dtype.kind in "SUOiub":
        return None
    shape = (1,) * (rank - array.ndim) + array.shape
    if any(dim != 1 for at, dim in enumerate(shape) if at != axis) or shape[axis] not in (1, channels):
        return None
    flat = array.astype(np.float64).reshape(-1)
    return flat if flat.size == channels and channels != 1 else flat.reshape(())
