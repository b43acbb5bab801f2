"""Integer tensors whose elements inference knows: shapes and what is computed from them."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context

#: Elements of a constant that a remark shows.
_SHOWN = 16


def known_array(module: Module, value: oir.Value) -> np.ndarray | None:
    """The array of a value that is the same for every input of the model, else None."""
    import numpy as np

    fact = module.fact(value)
    if fact.value is None or fact.dtype is None or not all(isinstance(d, int) for d in fact.value):
        return None
    shape = module.static_shape(value)
    if shape is None:
        return None
    return np.array(fact.value, dtype=fact.dtype.numpy()).reshape(shape)


def fold_known(module: Module, node: oir.Node, context: Context) -> int:
    """Make constants of the outputs of a node whose elements are known; how many."""
    from trtc.ir import edit
    from trtc_passes.operators import deterministic, used

    if node.op_type in ("Constant", "Identity") and node.domain == "":
        return 0
    count = 0
    for value in node.outputs:
        if not value.name or not used(value):
            continue
        array = known_array(module, value)
        if array is None:
            continue
        what = array.tolist() if array.size <= _SHOWN else f"the same {array.size} numbers"
        context.applied(f"`{value.name}` is always {what}", node)
        edit.replace_value(module, value, edit.constant(module, array, f"{value.name}_known"))
        count += 1
    if count and not any(used(value) for value in node.outputs) and deterministic(module, node):
        edit.remove(module, node)
    return count
