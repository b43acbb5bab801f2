"""Constant folding within a budget."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from trtc.pipeline import Bytes, PassResult
from trtc.pipeline.options import option

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context

#: A Q/DQ pair around a weight is what makes the target compute in 8 bits: folded, it would be a float weight again.
_QUANTIZATION = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})

#: Integer division by zero, and of the least integer by -1, kills the process.
_TRAPS = frozenset({"Div", "Mod"})

#: How much memory the results of one session may take before the next session starts.
_SESSION_BYTES = 256 << 20

#: An Einsum keeps the product of all its labels in memory.
_EINSUM_ELEMENTS = 1 << 24

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

    max_growth: Bytes = option(_16_MIB, "bytes that the constants of the model may grow by")  # noqa: RUF009
    max_size: Bytes = option(_64_MIB, "largest result to compute, if its inputs are not larger")  # noqa: RUF009

    def run(self, module: Module, context: Context) -> PassResult:
        known = _fold_known(module, context)
        folded, refused = 0, dict[Any, str]()
        # The budget is the model's, not the run's: a pass that is called in a loop may not grow it each time.
        growth = int(module.model.meta.get(_GROWTH, 0))
        # A plan that fails somewhere (no kernel, a division by zero) is made again without the nodes that failed.
        for _ in range(8):
            plan = _plan(module, self, refused, self.max_growth - growth)
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


@dataclass(slots=True)
class _Plan:
    steps: list[tuple[int, oir.Node]] = field(default_factory=list[Any])
    """Nodes to compute with the session each belongs to, in topological order."""
    results: dict[oir.Value, int] = field(default_factory=dict[Any, int])
    """Values that become constants, and their bytes."""
    growth: int = 0


def _plan(module: Module, options: FoldConstants, refused: dict[Any, str], budget: int) -> _Plan:
    sizes: dict[oir.Value, int] = {}
    waves: dict[oir.Value, int] = {}
    candidates: dict[oir.Node, None] = {}
    computed = 0
    for node in module.nodes():
        if node in refused or not _all_known(module, node, sizes) or not _foldable(module, node):
            continue
        produced = _output_sizes(module, node)
        if isinstance(produced, str):
            refused[node] = produced
            continue
        taken = sum(_size(module, value, sizes) for value in node.inputs if value is not None)
        made = sum(produced.values())
        if made > max(options.max_size, taken):
            refused[node] = f"the result has {made:,} bytes; max_size is {options.max_size:,}"
            continue
        computed += max(made - taken, 0)
        if computed > 4 * options.max_size:
            refused[node] = f"all results together have more than {4 * options.max_size:,} bytes"
            continue
        candidates[node] = None
        sizes.update(produced)
        wave = max((waves.get(value, -1) for value in node.inputs if value is not None), default=-1)
        # What has to be looked at before, or rounded by itself, starts a session of its own.
        wave = wave + 1 if wave < 0 or _separate(module, node) else wave
        waves.update(dict.fromkeys(node.outputs, wave))
    results, growth, left = _choose(module, candidates, sizes, budget)
    for node, size in left.items():
        refused[node] = f"the constant would have {size:,} bytes; max_growth is {options.max_growth:,}"
    needed = _needed(candidates, results)
    steps = sorted(((waves[n.outputs[0]], n) for n in candidates if n in needed), key=lambda step: step[0])
    return _Plan(steps, results, growth)


def _all_known(module: Module, node: oir.Node, sizes: Mapping[oir.Value, int]) -> bool:
    from trtc.ir.module import constant_tensor

    return all(v is None or v in sizes or constant_tensor(v) is not None for v in node.inputs)


def _foldable(module: Module, node: oir.Node) -> bool:
    from trtc_passes.operators import deterministic, is_call, subgraphs, trains

    if node.domain not in ("", "com.microsoft") or node.op_type in _QUANTIZATION or node.op_type == "Constant":
        return False
    if is_call(module, node) or any(True for _ in subgraphs(node)) or not deterministic(module, node):
        return False
    if node.op_type == "BatchNormalization" and trains(module, node):
        return False
    # An Identity gives a constant the name of an output: there is nothing to compute.
    return not (node.op_type == "Identity" and node.outputs[0].is_graph_output())


def _output_sizes(module: Module, node: oir.Node) -> dict[oir.Value, int] | str:
    """Bytes of each output from inference alone, or why they are not known."""
    import onnx_ir as oir

    sizes: dict[oir.Value, int] = {}
    for value in node.outputs:
        if not value.name:
            continue
        dtype, shape = module.dtype(value), module.static_shape(value)
        if module.fact(value).kind != "tensor" or dtype == oir.DataType.STRING:
            return f"`{value.name}` is no tensor of numbers"
        if dtype is None or shape is None:
            return f"the size of `{value.name}` is not known before it is computed"
        sizes[value] = _bytes(shape, dtype)
    if node.op_type == "Einsum" and _product(s for v in node.inputs for s in _shape(module, v)) > _EINSUM_ELEMENTS:
        return "an Einsum of this size may take any amount of memory"
    return sizes


def _shape(module: Module, value: oir.Value | None) -> tuple[int, ...]:
    return () if value is None else module.static_shape(value) or ()


def _bytes(shape: Iterable[int], dtype: oir.DataType) -> int:
    return int(_product(shape) * dtype.itemsize + 0.5)


def _product(numbers: Iterable[int]) -> int:
    total = 1
    for number in numbers:
        total *= number
    return total


def _size(module: Module, value: oir.Value, sizes: Mapping[oir.Value, int]) -> int:
    from trtc.ir.module import constant_tensor

    if value in sizes:
        return sizes[value]
    tensor = constant_tensor(value)
    return 0 if tensor is None else tensor.nbytes


def _separate(module: Module, node: oir.Node) -> bool:
    """Whether the inputs must lie there as arrays before the node runs."""
    import onnx_ir as oir

    # ONNX Runtime computes a chain of float16 in float32 and rounds once: each node by itself rounds as ONNX says.
    half = (oir.DataType.FLOAT16, oir.DataType.BFLOAT16)
    dtypes = [module.dtype(value) for value in node.inputs if value is not None]
    return any(dtype in half or (dtype is not None and _is_trap(node, dtype)) for dtype in dtypes)


def _is_trap(node: oir.Node, dtype: oir.DataType) -> bool:
    return node.op_type in _TRAPS and node.domain == "" and dtype.is_integer()


def _choose(
    module: Module, candidates: Mapping[oir.Node, None], sizes: Mapping[oir.Value, int], budget: int
) -> tuple[dict[oir.Value, int], int, dict[oir.Node, int]]:
    """The values to make constants of, the growth, and the nodes left out to stay within the budget.

    Starts from folding everything. While that is too much, the node with the largest result is left in the graph:
    what it takes is then needed in its place.
    """
    from trtc.ir.module import constant_tensor

    stays: dict[oir.Node, int] = {}
    results: dict[oir.Value, int] = {}
    users: dict[oir.Value, int] = {}
    growth = 0
    heap: list[tuple[int, int, oir.Node]] = []
    order = {node: at for at, node in enumerate(candidates)}

    def need(value: oir.Value) -> None:
        nonlocal growth
        node = value.producer()
        if value in results or node is None or node not in order:
            return
        results[value] = sizes[value]
        growth += sizes[value]
        heapq.heappush(heap, (-sizes[value], -order[node], node))

    for node in candidates:
        for value in node.outputs:
            leaves = value.is_graph_output() or any(user not in order for user, _ in value.uses())
            if leaves and value.name:
                need(value)
        for value in {v for v in node.inputs if v is not None}:
            if constant_tensor(value) is None:
                continue
            if value not in users:
                # Freed when every user of it is folded, and nothing of it is an output of the model.
                users[value] = 0
                if not value.is_graph_output() and all(user in order for user, _ in value.uses()):
                    growth -= _size(module, value, sizes)
                    users[value] = 1
    # A node left out can be one whose result is small and whose input is large: then the input is what grows, and
    # is left out in its turn. Every node is left out at most once.
    while growth > budget and heap:
        _, _, node = heapq.heappop(heap)
        if node in stays:
            continue
        stays[node] = sum(sizes[v] for v in node.outputs if v in results)
        for value in node.outputs:
            growth -= results.pop(value, 0)
        for value in {v for v in node.inputs if v is not None}:
            if users.get(value):
                users[value] = 0
                growth += _size(module, value, sizes)
            need(value)
    return results, growth, stays


def _needed(candidates: Mapping[oir.Node, None], results: Mapping[oir.Value, int]) -> set[oir.Node]:
    """The candidates that have to be computed for the results."""
    needed: set[oir.Node] = set()
    waiting = [node for value in results if (node := value.producer()) is not None]
    while waiting:
        node = waiting.pop()
        if node in needed:
            continue
        needed.add(node)
        for value in node.inputs:
            producer = value.producer() if value is not None else None
            if producer is not None and producer in candidates:
                waiting.append(producer)
    return needed


def _execute(module: Module, context: Context, plan: _Plan) -> tuple[int, dict[oir.Node, str]]:
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
        arrays = context.evaluator.evaluate(runnable, later, constants)
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


def _batches(module: Module, plan: _Plan) -> list[list[oir.Node]]:
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

    left, right = (node.inputs[0], node.inputs[1]) if len(node.inputs) > 1 else (None, None)
    if left is None or right is None:
        return None
    dtype = module.dtype(left)
    if dtype is None or not _is_trap(node, dtype):
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
