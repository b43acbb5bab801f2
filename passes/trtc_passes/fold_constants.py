"""Constant folding within a budget."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from trtc.pipeline import Bytes, PassResult
from trtc.pipeline.options import option

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context
    from trtc_passes.folding_plan import Plan

#: How much memory the results of one session may take before the next session starts.
_SESSION_BYTES = 256 << 20

_16_MIB, _64_MIB = Bytes(16 << 20), Bytes(64 << 20)
_GROWTH = "trtc.fold_constants.growth"


@dataclass(frozen=True, slots=True)
class FoldConstants:
    """Computes what depends on constants only.

        w ──> Transpose ──┐
                          v                           v
        x ────────────> MatMul ──> y     =>     x ──> MatMul(w') ──> y

    Also folds integer tensors whose elements inference knows: the Shape of a static dim, say. One session of
    ONNX Runtime computes all nodes that may be computed together. Sizes are judged before anything is computed:
    the model may grow by `max_growth` (bytes added minus bytes of constants freed), the largest results are left out
    first, and each with a remark.

    Left alone: random operators, Q/DQ, operators with subgraphs, sequences and strings, division of integers by zero.
    Every float16 operation rounds to float16, one by one; where one overflows it stays, because runtimes disagree.
    """

    name: ClassVar[str] = "fold_constants"

    max_growth: Bytes = option(_16_MIB, "bytes that the constants of the model may grow by")
    max_size: Bytes = option(_64_MIB, "largest result to compute, if its inputs are not larger")

    def run(self, module: Module, context: Context) -> PassResult:
        from trtc_passes.folding_plan import make_plan

        known = _fold_known(module, context)
        folded, refused = 0, dict[Any, str]()
        # The budget is the model's, not the run's: a pass that is called in a loop may not grow it each time.
        growth = int(module.model.meta.get(_GROWTH, 0))
        # A plan that fails somewhere (no kernel, a division by zero) is made again without the nodes that failed.
        for _ in range(8):
            plan = make_plan(module, self.max_growth, self.max_size, refused, self.max_growth - growth)
            if not plan.results:
                break
            done, failed = _execute(module, context, plan)
            folded += done
            growth += plan.growth
            refused.update(failed)
            if not failed:
                break
        module.model.meta[_GROWTH] = growth
        for node, reason in refused.items():
            if node.graph is not None:
                context.declined(reason, node)
        return PassResult.of(folded=folded, known=known)


def _fold_known(module: Module, context: Context) -> int:
    """Integer tensors whose every element inference knows."""
    from trtc_passes.known_values import fold_known

    return sum(fold_known(module, node, context) for node in list(module.nodes()))


def _execute(module: Module, context: Context, plan: Plan) -> tuple[int, dict[oir.Node, str]]:
    """Compute and install what was planned: how many values, and the nodes that failed with the reason."""
    import onnx_ir as oir

    from trtc.ir import edit
    from trtc.ir.module import constant_tensor

    ready: dict[oir.Value, oir.TensorProtocol] = {}
    failed: dict[oir.Node, str] = {}
    session_of: dict[oir.Node, int] = {}
    batches = _batches(module, plan)
    for at, batch in enumerate(batches):
        session_of.update(dict.fromkeys(batch, at))
    for at, batch in enumerate(batches):
        runnable: list[oir.Node] = []
        made: set[oir.Value] = set()
        constants: dict[oir.Value, oir.TensorProtocol] = {}
        for node in batch:
            taken = [value for value in node.inputs if value is not None]
            for value in taken:
                tensor = ready.get(value) or constant_tensor(value)
                if tensor is not None:
                    constants[value] = tensor
            if any(value not in made and value not in constants for value in taken):
                continue  # what it takes has failed
            reason = _trap(module, node, constants)
            if reason is not None:
                failed[node] = reason
                continue
            runnable.append(node)
            made.update(node.outputs)
        later = [
            value
            for node in runnable
            for value in node.outputs
            if value in plan.results or any(session_of.get(user, at) > at for user, _ in value.uses())
        ]
        if not later:
            continue
        functions = module.model.functions
        called = {n.op_identifier(): functions[n.op_identifier()] for n in runnable if n.op_identifier() in functions}
        arrays = context.evaluator.evaluate(runnable, later, constants, tuple(called.values()))
        for value in later:
            node = value.producer()
            assert node is not None
            array = arrays.get(value)
            reason = "no runtime computes it" if array is None else _reject(module, value, array, ready)
            if reason is None and array is not None:
                ready[value] = oir.tensor(array)
            elif node not in failed:
                failed[node] = reason or ""
    count = 0
    nodes: dict[oir.Node, None] = {}
    for value in plan.results:
        tensor = ready.get(value)
        node = value.producer()
        if tensor is None or node is None:
            continue
        constant = edit.constant(module, tensor, f"{value.name}_folded")
        shape = "×".join(map(str, tensor.shape)) or "scalar"
        context.applied(f"`{value.name}` is a constant of {tensor.dtype.name.lower()} {shape}", node)
        edit.replace_value(module, value, constant)
        nodes[node] = None
        count += 1
    _remove_unused(module, [node for _, node in plan.steps])
    return count, failed


def _batches(module: Module, plan: Plan) -> list[list[oir.Node]]:
    """The steps by session; a session of large results is cut in two."""
    del module
    batches: list[list[oir.Node]] = []
    last, size = -1, 0
    for wave, node in plan.steps:
        if wave != last or size > _SESSION_BYTES:
            batches.append([])
            last, size = wave, 0
        batches[-1].append(node)
        size += sum(plan.results.get(value, 0) for value in node.outputs)
    return batches


def _trap(module: Module, node: oir.Node, constants: Mapping[oir.Value, oir.TensorProtocol]) -> str | None:
    import numpy as np

    from trtc_passes.folding_plan import is_trap

    left, right = (node.inputs[0], node.inputs[1]) if len(node.inputs) > 1 else (None, None)
    if left is None or right is None:
        return None
    dtype = module.dtype(left)
    if dtype is None or not is_trap(node, dtype):
        return None
    divisor, dividend = constants[right].numpy(), constants[left].numpy()
    if (divisor == 0).any():
        return "division of integers by zero"
    if divisor.dtype.kind == "i" and (divisor == -1).any() and (dividend == np.iinfo(dividend.dtype).min).any():
        return "division of the least integer by -1"
    return None


def _reject(
    module: Module, value: oir.Value, array: np.ndarray, ready: Mapping[oir.Value, oir.TensorProtocol]
) -> str | None:
    """Why a computed array cannot be the constant; None when it can."""
    import numpy as np
    import onnx_ir as oir

    from trtc.ir.module import constant_tensor

    dtype = module.dtype(value)
    try:
        found = oir.DataType.from_numpy(array.dtype)
    except TypeError:
        return f"the runtime gives no tensor for `{value.name}`"
    shape = module.static_shape(value)
    if found != dtype or array.shape != shape:
        return f"the runtime gives {found.name} {list(array.shape)}, inference says {dtype} {shape}"
    if dtype not in (oir.DataType.FLOAT16, oir.DataType.BFLOAT16) or np.isfinite(array.astype(np.float32)).all():
        return None
    node = value.producer()
    assert node is not None
    for taken in node.inputs:
        tensor = ready.get(taken) or constant_tensor(taken) if taken is not None else None
        if tensor is not None and tensor.dtype.is_floating_point() and not _finite(tensor.numpy()):
            return None
    return f"the result overflows {found.name.lower()}: a runtime that computes in float32 gives another one"


def _finite(array: np.ndarray) -> bool:
    import numpy as np

    return bool(np.isfinite(array if array.dtype.kind == "f" else array.astype(np.float32)).all())


def _remove_unused(module: Module, nodes: list[oir.Node]) -> None:
    """Remove the computed nodes that nobody uses any more, and constants that only they used."""
    from trtc.ir import edit
    from trtc_passes.operators import used

    for node in reversed(nodes):
        if node.graph is None or any(used(value) for value in node.outputs):
            continue
        taken = [value for value in node.inputs if value is not None]
        edit.remove(module, node)
        for value in dict.fromkeys(taken):
            graph = value.graph
            if graph is None or not value.is_initializer() or used(value) or value.is_graph_input():
                continue
            del graph.initializers[value.name or ""]
