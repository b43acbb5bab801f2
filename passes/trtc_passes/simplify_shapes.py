"""Shape arithmetic, simplified by what inference knows of the elements."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from trtc.pipeline import PassResult

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.dims import Dim
    from trtc.ir.module import Module
    from trtc.pipeline import Context

#: Nodes looked at, at most, to find what a shape costs today.
_CHAIN = 64


@dataclass(frozen=True, slots=True)
class SimplifyShapes:
    """Replaces computed shapes by constants and by the shortest computation of the same elements.

        x[N, S, 768] ──> Shape ──> Gather(0) ──> Unsqueeze ──┐
        │                                             12, 64 ├──> Concat ──┐
        ├──> Shape ──> Gather(1) ──> Unsqueeze ──────────────┘             v
        └───────────────────────────────────────────────────────────> Reshape ──> y[N, S, 12, 64]

        =>   x ──> Reshape([0, 0, 12, 64]) ──> y

    An integer tensor that inference knows all elements of becomes a constant; the same elements computed twice are
    computed once; the target of a Reshape becomes a constant where at most one dim has to be computed (-1) and the
    others are numbers or dims of the input at the same place (0); what is left of a chain becomes Shape and Concat.
    Only where the elements are equal for every input of the model.
    """

    name: ClassVar[str] = "simplify_shapes"

    def run(self, module: Module, context: Context) -> PassResult:
        counts = {"constants": 0, "reshapes": 0, "merged": 0, "shortened": 0}
        scope = _Scope(None)
        for value in module.graph.inputs:
            scope.add_source(module, value)
        _visit(module, module.graph, scope, counts, context)
        return PassResult.of(**counts)


@dataclass(slots=True)
class _Scope:
    """What is known at a place of a graph: where a dim can be read, and which value holds given elements."""

    outer: _Scope | None
    sources: dict[Dim, tuple[oir.Value, int]] = field(default_factory=dict[Any, Any])
    """A symbolic dim -> a value with that dim, and its axis."""
    holders: dict[tuple[Any, ...], oir.Value] = field(default_factory=dict[Any, Any])
    """(dtype, shape, elements) -> the first value that holds them."""

    def add_source(self, module: Module, value: oir.Value) -> None:
        for axis, dim in enumerate(module.shape(value) or ()):
            if not isinstance(dim, int) and self.source(dim) is None:
                self.sources[dim] = value, axis

    def source(self, dim: Dim) -> tuple[oir.Value, int] | None:
        found = self.sources.get(dim)
        return found if found is not None or self.outer is None else self.outer.source(dim)

    def holder(self, key: tuple[Any, ...]) -> oir.Value | None:
        found = self.holders.get(key)
        return found if found is not None or self.outer is None else self.outer.holder(key)


def _visit(module: Module, graph: oir.Graph, scope: _Scope, counts: dict[str, int], context: Context) -> None:
    from trtc.ir.nesting import subgraphs
    from trtc_passes.known_values import fold_known
    from trtc_passes.operators import is_call

    for node in graph:
        if is_call(module, node):
            continue
        for inner in subgraphs(node):
            _visit(module, inner, _Scope(scope), counts, context)
        if node.domain != "":
            continue
        counts["constants"] += fold_known(module, node, context)
        if node.graph is None:
            continue
        if node.op_type == "Reshape":
            counts["reshapes"] += _constant_target(module, node, context)
        elif node.op_type == "Shape" and node.inputs[0] is not None:
            scope.add_source(module, node.inputs[0])
        if len(node.outputs) == 1 and node.op_type != "Identity":
            _share(module, node, scope, counts, context)


def _constant_target(module: Module, node: oir.Node, context: Context) -> int:
    """A computed target of a Reshape becomes a constant with 0 for dims that stay and one -1 for the rest."""
    import numpy as np

    from trtc.ir import edit
    from trtc_passes.operators import integer

    data, target = node.inputs[0], node.inputs[1]
    assert data is not None
    assert target is not None
    if module.constant(target) is not None:
        return 0
    dims = reshape_target(module, module.shape(data), module.shape(node.outputs[0]), integer(node, "allowzero", 0))
    if dims is None:
        return 0
    constant = edit.constant(module, np.array(dims, np.int64), f"{node.name}_shape")
    node.replace_input_with(1, constant)
    context.applied(f"the shape is {dims}", node)
    return 1


def reshape_target(
    module: Module, data: tuple[Dim, ...] | None, out: tuple[Dim, ...] | None, allowzero: int
) -> list[int] | None:
    """The constant target that gives `out` from `data`; None when no constant does, or not for empty tensors."""
    from trtc.ir import dims

    if out is None:
        return None
    numbers = [dim if isinstance(dim, int) else None for dim in out]
    open_axes = [axis for axis, dim in enumerate(numbers) if dim is None]
    if not open_axes:
        # A 0 means a dim of the input, unless `allowzero`: then, and where they are the same, it means itself.
        if (
            0 in out
            and not allowzero
            and any(d == 0 and (data is None or data[a : a + 1] != (0,)) for a, d in enumerate(out))
        ):
            return None
        return [dim for dim in numbers if dim is not None]
    if 0 in numbers:
        return None  # how many elements there are says nothing of a dim that is multiplied by 0
    if len(open_axes) == 1:
        return [-1 if dim is None else dim for dim in numbers]
    if allowzero or data is None:
        return None
    moved = [axis for axis in open_axes if axis >= len(data) or data[axis] is not out[axis]]
    if len(moved) > 1:
        return None
    if moved:
        # 0 elements do not say what -1 is: the dims that are copied must not be 0.
        for axis in open_axes:
            least, _ = dims.bounds(out[axis], module.symbols)
            if axis not in moved and (least is None or least < 1):
                return None
    return [-1 if axis in moved else 0 if dim is None else dim for axis, dim in enumerate(numbers)]


def _share(module: Module, node: oir.Node, scope: _Scope, counts: dict[str, int], context: Context) -> None:
    """Use an earlier value of the same elements, or compute them in fewer nodes."""
    from trtc.ir import edit
    from trtc_passes.operators import used

    out = node.outputs[0]
    if not used(out):
        return
    fact = module.fact(out)
    if fact.value is None or fact.shape is None or not fact.value:
        return
    if all(isinstance(dim, int) for dim in fact.value):
        return
    key = (fact.dtype, fact.shape, fact.value)
    earlier = scope.holder(key)
    if earlier is not None:
        if out.is_graph_output() and not edit.bears_output(out, earlier):
            return
        context.applied(f"the same elements as `{earlier.name}`", node)
        edit.replace(module, [node], [], {out: earlier})
        counts["merged"] += 1
        return
    if len(fact.shape) == 1 and _is_root(module, out):
        shorter = _shorter(module, node, fact.value, scope)
        if shorter is not None:
            edit.replace(module, [node], shorter, {out: shorter[-1].outputs[0]})
            context.applied(f"computed in {len(shorter)} nodes", node)
            counts["shortened"] += 1
            out = shorter[-1].outputs[0]
            for made in shorter:
                scope.holders.setdefault(_key(module, made.outputs[0]), made.outputs[0])
    scope.holders.setdefault(key, out)


def _key(module: Module, value: oir.Value) -> tuple[Any, ...]:
    fact = module.fact(value)
    return fact.dtype, fact.shape, fact.value


def _is_root(module: Module, value: oir.Value) -> bool:
    """Whether something else than shape arithmetic uses the value: inner values of a chain go with it."""
    if value.is_graph_output():
        return True
    return any(module.fact(out).value is None for user, _ in value.uses() for out in user.outputs)


def _shorter(module: Module, node: oir.Node, elements: tuple[Dim, ...], scope: _Scope) -> list[oir.Node] | None:
    """Shape nodes and a Concat that hold `elements`, when they are fewer than the nodes that compute them today."""
    import numpy as np
    import onnx_ir as oir

    from trtc.ir import edit

    if module.dtype(node.outputs[0]) != oir.DataType.INT64:
        return None
    runs = _runs(elements, scope)
    if runs is None:
        return None
    symbolic = sum(not isinstance(run, list) for run in runs)
    if symbolic + (len(runs) > 1) >= _cost(module, node):
        return None
    if (
        node.op_type == "Concat"
        and len(node.inputs) <= len(runs)
        and all(isinstance(run, list) or _held(module, run, scope) is not None for run in runs)
    ):
        return None  # it is that Concat already
    made: list[oir.Node] = []
    parts: list[oir.Value] = []
    for run in runs:
        if isinstance(run, list):
            parts.append(edit.constant(module, np.array(run, np.int64), f"{node.name}_dims"))
            continue
        value, start, end = run
        held = _held(module, run, scope)
        if held is not None:
            parts.append(held)
            continue
        shape = edit.node(
            module, "Shape", [value], {"start": start, "end": end}, origins=[node], rule="simplify_shapes"
        )
        made.append(shape)
        parts.append(shape.outputs[0])
    if len(parts) > 1:
        made.append(edit.node(module, "Concat", parts, {"axis": 0}, origins=[node], rule="simplify_shapes"))
    return made


def _held(module: Module, run: tuple[oir.Value, int, int], scope: _Scope) -> oir.Value | None:
    """A value that holds these dims already."""
    import onnx_ir as oir

    value, start, end = run
    return scope.holder((oir.DataType.INT64, (end - start,), (module.shape(value) or ())[start:end]))


def _runs(elements: tuple[Dim, ...], scope: _Scope) -> list[list[int] | tuple[oir.Value, int, int]] | None:
    """Elements as runs of numbers and of neighbouring dims of one value; None when a dim is no value's dim."""
    runs: list[list[int] | tuple[oir.Value, int, int]] = []
    for dim in elements:
        last = runs[-1] if runs else None
        if isinstance(dim, int):
            if isinstance(last, list):
                last.append(dim)
            else:
                runs.append([dim])
            continue
        source = scope.source(dim)
        if source is None:
            return None
        value, axis = source
        if isinstance(last, tuple) and last[0] is value and last[2] == axis:
            runs[-1] = value, last[1], axis + 1
        else:
            runs.append((value, axis, axis + 1))
    return runs


def _cost(module: Module, node: oir.Node) -> int:
    """Nodes from which the elements are computed today, up to the Shapes they begin with; counted up to a limit."""
    seen: dict[oir.Node, None] = {}
    waiting = [node]
    while waiting and len(seen) < _CHAIN:
        one = waiting.pop()
        if one in seen:
            continue
        seen[one] = None
        if one.op_type in ("Shape", "Size"):
            continue
        for value in one.inputs:
            producer = value.producer() if value is not None else None
            if value is not None and producer is not None and module.fact(value).value is not None:
                waiting.append(producer)
    return len(seen)
