"""Operations that change nothing."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trtc.pipeline import PassResult
from trtc.pipeline.options import option

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context

    Rule = Callable[["RemoveIdentities", Module, oir.Node], oir.Value | None]


@dataclass(frozen=True, slots=True)
class RemoveIdentities:
    """Removes operations whose result is their input, for every input of the model.

        x ──> Identity ──> Dropout ──> Mul(1) ──> Cast(same type) ──> Relu ──> y     =>     x ──> Relu ──> y

    Of inference: Identity, Dropout (a mask that is used becomes a ConstantOfShape), Cast to the same type, Transpose by
    the identity, Reshape, Flatten, Squeeze, Unsqueeze, Expand, Tile and Slice to the same symbolic shape, Pad by
    nothing, Concat, Sum, Max, Min, Mean and Split of one, Add and Sub of 0, Mul, Div and Pow of 1, Clip without bounds,
    reductions over no axis or over dims of 1, Resize by 1, Not of Not, Neg of Neg.

    x + 0.0 differs from x where x is -0.0 (the sum is 0.0): equal numbers, but not equal bits. `signed_zeros` keeps it.
    All else is exact. An Identity stays where an output of the model is an input, a constant or another output.
    """

    name: ClassVar[str] = "remove_identities"

    signed_zeros: bool = option(False, "keep x + 0.0 and x - -0.0, which turn -0.0 into 0.0")

    def run(self, module: Module, context: Context) -> PassResult:
        from trtc.ir import edit
        from trtc_passes.operators import is_call, used

        removed = 0
        for node in module.nodes():
            rule = _RULES.get(node.op_type)
            if rule is None or node.domain != "" or node.graph is None or is_call(module, node):
                continue
            if node.op_type == "Dropout":
                _free_mask(module, node)
            if any(used(value) for value in node.outputs[1:]) or not used(node.outputs[0]):
                continue
            found = rule(self, module, node)
            if found is None:
                continue
            old = node.outputs[0]
            if node.op_type == "Identity" and old.is_graph_output() and not edit.bears_output(old, found):
                continue
            context.applied(f"{node.op_type} changes nothing", node)
            edit.replace(module, [node], [], {old: found})
            removed += 1
        return PassResult.of(removed=removed)


def _same(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    """Identity, and what is one when it has one input."""
    return node.inputs[0] if len(node.inputs) == 1 else None


def _dropout(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    from trtc_passes.operators import trains

    return None if trains(module, node) else node.inputs[0]


def _free_mask(module: Module, node: oir.Node) -> None:
    """At inference a Dropout keeps everything: the mask is all true, of the shape of the input."""
    import numpy as np
    import onnx_ir as oir

    from trtc.ir import edit
    from trtc_passes.operators import trains, used

    if len(node.outputs) < 2 or not used(node.outputs[1]) or trains(module, node):
        return
    shape = edit.node(module, "Shape", [node.inputs[0]], {"start": 0}, origins=[node], rule="remove_identities")
    yes = oir.tensor(np.array([True]))
    mask = edit.node(
        module, "ConstantOfShape", [shape.outputs[0]], {"value": yes}, origins=[node], rule="remove_identities"
    )
    edit.insert_before(node, [shape, mask])
    edit.replace_value(module, node.outputs[1], mask.outputs[0])


def _cast(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    source = node.inputs[0]
    assert source is not None
    dtype = module.dtype(source)
    return source if dtype is not None and int(dtype) == node.attributes["to"].as_int() else None


def _cast_like(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    source, like = node.inputs
    assert source is not None
    assert like is not None
    dtype = module.dtype(source)
    return source if dtype is not None and dtype == module.dtype(like) else None


def _transpose(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    from trtc_passes.operators import integers

    source, perm = node.inputs[0], integers(node, "perm")
    assert source is not None
    if perm is None:  # the default reverses the axes
        shape = module.shape(source)
        return source if shape is not None and len(shape) < 2 else None
    return source if perm == tuple(range(len(perm))) else None


def _view(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    """The elements stay in order, so that an equal shape says all. Looks through views that undo each other."""
    from trtc_passes.operators import same_shape
    from trtc_passes.views import VIEWS

    out, source = node.outputs[0], node.inputs[0]
    for _ in range(8):  # bounded: a chain of a thousand views is not walked from each of them
        if source is None:
            return None
        if same_shape(module, out, source):
            return source
        producer = source.producer()
        if producer is None or producer.domain != "" or producer.op_type not in VIEWS:
            return None
        source = producer.inputs[0]
    return None


def _expand(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    from trtc_passes.operators import same_shape

    source = node.inputs[0]
    assert source is not None
    return source if same_shape(module, node.outputs[0], source) else None


def _slice(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    """An equal shape says all, unless a negative step turns an axis round."""
    from trtc_passes.operators import given

    steps = given(node, 4)
    if steps is not None:
        array = module.constant(steps)
        if array is None or (array <= 0).any():
            return None
    return _expand(options, module, node)


def _pad(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    # Pads of +1 and -1 on one axis keep the shape and shift the elements: only pads of nothing are none.
    pads = module.constant(node.inputs[1])
    return node.inputs[0] if pads is not None and not pads.any() else None


def _split(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    return node.inputs[0] if len(node.outputs) == 1 else None


def _add(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    return _neutral(options, module, node, 0, (0, 1))


def _sub(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    return _neutral(options, module, node, 0, (1,))


def _mul(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    return _neutral(options, module, node, 1, (0, 1))


def _div(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    return _neutral(options, module, node, 1, (1,))


def _neutral(
    options: RemoveIdentities, module: Module, node: oir.Node, number: int, places: tuple[int, ...]
) -> oir.Value | None:
    """The other operand, where one at `places` is filled with `number` and does not widen the shape."""
    from trtc_passes.operators import filled_with, same_shape

    for at in places:
        array, other = module.constant(node.inputs[at]), node.inputs[1 - at]
        if array is None or other is None or not filled_with(array, number):
            continue
        if number == 0 and options.signed_zeros and not _exact_zero(node.op_type, array):
            continue
        if module.dtype(other) != module.dtype(node.outputs[0]):
            continue  # Pow takes two types
        # A scalar widens nothing, whatever the other's rank, which may not be known.
        if array.ndim == 0 or same_shape(module, node.outputs[0], other):
            return other
    return None


def _exact_zero(op_type: str, array: np.ndarray) -> bool:
    """x + -0.0 and x - 0.0 are x for every x."""
    import numpy as np

    if array.dtype.kind in "iub":
        return True
    negative = np.signbit(array.astype(np.float32))
    return bool(negative.all()) if op_type == "Add" else not bool(negative.any())


def _clip(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    return node.inputs[0] if all(value is None for value in node.inputs[1:]) else None


def _reduce(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    """Over no axis, by the attribute that says so, or over axes of one element that stay."""
    from trtc_passes.operators import given, integer

    source = node.inputs[0]
    assert source is not None
    given_axes = given(node, 1)
    axes = None if given_axes is None else module.constant(given_axes)
    if given_axes is not None and axes is None:
        return None
    if axes is None or axes.size == 0:
        return source if integer(node, "noop_with_empty_axes", 0) else None
    shape = module.shape(source)
    if shape is None or not integer(node, "keepdims", 1):
        return None
    return source if all(shape[int(axis)] == 1 for axis in axes) else None


def _resize(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    """Only nearest: linear takes 0 times a neighbour along, which is NaN where the neighbour is infinite."""
    from trtc_passes.operators import filled_with, given, same_shape, text

    source, scales = node.inputs[0], given(node, 2)
    assert source is not None
    if text(node, "mode", "nearest") != "nearest":
        return None
    if text(node, "coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        return None
    if scales is not None and not filled_with(module.constant(scales), 1):
        return None
    return source if same_shape(module, node.outputs[0], source) else None


def _twice(options: RemoveIdentities, module: Module, node: oir.Node) -> oir.Value | None:
    """What undoes itself: Not of Not, Neg of Neg."""
    source = node.inputs[0]
    inner = source.producer() if source is not None else None
    if inner is None or inner.op_type != node.op_type or inner.domain != "":
        return None
    return inner.inputs[0]


_RULES: Mapping[str, Rule] = {
    "Identity": _same,
    "Dropout": _dropout,
    "Cast": _cast,
    "CastLike": _cast_like,
    "Transpose": _transpose,
    "Reshape": _view,
    "Flatten": _view,
    "Squeeze": _view,
    "Unsqueeze": _view,
    "Expand": _expand,
    "Tile": _expand,
    "Slice": _slice,
    "Pad": _pad,
    "Split": _split,
    "Concat": _same,
    "Sum": _same,
    "Max": _same,
    "Min": _same,
    "Mean": _same,
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "Pow": _div,
    "Clip": _clip,
    "ReduceSum": _reduce,
    "ReduceMean": _reduce,
    "ReduceMax": _reduce,
    "ReduceMin": _reduce,
    "ReduceProd": _reduce,
    "Resize": _resize,
    "Not": _twice,
    "Neg": _twice,
}
