"""Which constants to fold: what can be computed, what it costs, and what that leaves of the budget."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module

#: A Q/DQ pair around a weight is what makes the target compute in 8 bits: folded, it would be a float weight again.
_QUANTIZATION = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})

#: Integer division by zero, and of the least integer by -1, kills the process.
_TRAPS = frozenset({"Div", "Mod"})

#: An Einsum keeps the product of all its labels in memory.
_EINSUM_ELEMENTS = 1 << 24


@dataclass(slots=True)
class Plan:
    steps: list[tuple[int, oir.Node]] = field(default_factory=list[Any])
    """Nodes to compute with the session each belongs to, in topological order."""
    results: dict[oir.Value, int] = field(default_factory=dict[Any, int])
    """Values that become constants, and their bytes."""
    growth: int = 0


def make_plan(module: Module, max_growth: int, max_size: int, refused: dict[Any, str], budget: int) -> Plan:
    """The plan that stays within `budget` bytes of growth. Nodes in `refused` are left out; those left out here
    are added to it with the reason."""
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
        if made > max(max_size, taken):
            refused[node] = f"the result has {made:,} bytes; max_size is {max_size:,}"
            continue
        computed += max(made - taken, 0)
        if computed > 4 * max_size:
            refused[node] = f"all results together have more than {4 * max_size:,} bytes"
            continue
        candidates[node] = None
        sizes.update(produced)
        wave = max((waves.get(value, -1) for value in node.inputs if value is not None), default=-1)
        # What has to be looked at before, or rounded by itself, starts a session of its own.
        wave = wave + 1 if wave < 0 or _separate(module, node) else wave
        waves.update(dict.fromkeys(node.outputs, wave))
    results, growth, left = _choose(module, candidates, sizes, budget)
    for node, size in left.items():
        refused[node] = f"the constant would have {size:,} bytes; max_growth is {max_growth:,}"
    needed = _needed(candidates, results)
    steps = sorted(((waves[n.outputs[0]], n) for n in candidates if n in needed), key=lambda step: step[0])
    return Plan(steps, results, growth)


def _all_known(module: Module, node: oir.Node, sizes: Mapping[oir.Value, int]) -> bool:
    from trtc.ir.module import constant_tensor

    return all(v is None or v in sizes or constant_tensor(v) is not None for v in node.inputs)


def _foldable(module: Module, node: oir.Node) -> bool:
    from trtc.ir.nesting import subgraphs
    from trtc_passes.operators import deterministic, is_call, trains

    if is_call(module, node):
        return _own_foldable(module, node)
    if node.domain not in ("", "com.microsoft") or node.op_type in _QUANTIZATION or node.op_type == "Constant":
        return False
    if any(True for _ in subgraphs(node)) or not deterministic(module, node):
        return False
    if node.op_type == "BatchNormalization" and trains(module, node):
        return False
    # An Identity gives a constant the name of an output: there is nothing to compute.
    return not (node.op_type == "Identity" and node.outputs[0].is_graph_output())


def _own_foldable(module: Module, call: oir.Node) -> bool:
    """Whether a call is one of an operator of a spec's own, all of whose body would be folded by itself."""
    from trtc.ir.bodies import is_operator
    from trtc.ir.nesting import subgraphs
    from trtc_passes.operators import deterministic

    function = module.model.functions[call.op_identifier()]
    return (
        is_operator(function)
        and deterministic(module, call)
        and not any(
            # What a division divides by is not known in here.
            node.domain or node.op_type in {*_TRAPS, *_QUANTIZATION, "Einsum"} or any(True for _ in subgraphs(node))
            for node in function
        )
    )


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
    return any(dtype in half or (dtype is not None and is_trap(node, dtype)) for dtype in dtypes)


def is_trap(node: oir.Node, dtype: oir.DataType) -> bool:
    """Whether the node is a division of integers, which can kill the process."""
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
