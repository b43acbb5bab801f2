"""Two operations of one kind in a row, as one."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trtc.pipeline import PassResult

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context

    Merge = Callable[[Module, oir.Node, oir.Node], oir.Node | None]


@dataclass(frozen=True, slots=True)
class MergeChains:
    """Makes one of two Transposes, Casts or views that follow each other.

        x ──> Transpose(0, 2, 1) ──> Transpose(1, 0, 2) ──> y     =>     x ──> Transpose(2, 0, 1) ──> y

    A Cast is skipped only when it loses nothing: float16 to float32 to float64 is one Cast, float32 to float16 to
    float32 stays. A Reshape to a constant shape skips the Reshape, Flatten, Squeeze or Unsqueeze before it, unless a 0
    in the shape copies a dim from there. The first of the two stays where something else uses it.
    """

    name: ClassVar[str] = "merge_chains"

    def run(self, module: Module, context: Context) -> PassResult:
        from trtc.ir import edit
        from trtc_passes.operators import is_call, used

        merged = 0
        for node in module.nodes():
            merge = _MERGES.get(node.op_type)
            if merge is None or node.domain != "" or node.graph is None or is_call(module, node):
                continue
            source = node.inputs[0]
            before = source.producer() if source is not None else None
            if before is None or before.domain != "" or is_call(module, before) or not before.inputs:
                continue
            new = merge(module, before, node)
            if new is None:
                continue
            context.applied(f"merged with `{before.name}` before it", node)
            edit.replace(module, [node], [new], {node.outputs[0]: new.outputs[0]})
            if not any(used(value) for value in before.outputs):
                edit.remove(module, before)
            merged += 1
        return PassResult.of(merged=merged)


def _transposes(module: Module, before: oir.Node, node: oir.Node) -> oir.Node | None:
    from trtc.ir import edit
    from trtc_passes.operators import integers

    first, second = integers(before, "perm"), integers(node, "perm")
    if before.op_type != "Transpose" or first is None or second is None:
        return None
    perm = [first[axis] for axis in second]
    return edit.node(
        module, "Transpose", [before.inputs[0]], {"perm": perm}, origins=[before, node], rule="merge_chains"
    )


def _casts(module: Module, before: oir.Node, node: oir.Node) -> oir.Node | None:
    from trtc.ir import edit

    source = before.inputs[0]
    if before.op_type != "Cast" or source is None:
        return None
    start, middle = module.dtype(source), module.dtype(before.outputs[0])
    if start is None or middle is None or not lossless(start, middle):
        return None
    attributes = {attr.name: attr for attr in node.attributes.values()}
    return edit.node(module, "Cast", [source], attributes, origins=[before, node], rule="merge_chains")


def lossless(start: oir.DataType, end: oir.DataType) -> bool:
    """Whether every number of `start` is one of `end`."""
    if start == end:
        return True
    one, other = _KINDS.get(start.name), _KINDS.get(end.name)
    if one is None or other is None:
        return False
    (kind, digits, exponent), (into, wide, range_) = one, other
    if end.name == "BOOL":
        return False
    if kind == "f":
        return into == "f" and wide >= digits and range_ >= exponent
    if into == "f":
        return wide >= digits and range_ > digits.bit_length()
    # A signed integer is no unsigned one; an unsigned one needs a digit more than the signed has, less its sign.
    return wide >= digits and not (kind == "i" and into == "u")


#: Kind, binary digits of the magnitude, bits of the exponent.
_KINDS: dict[str, tuple[str, int, int]] = {
    "BOOL": ("u", 1, 0),
    "UINT8": ("u", 8, 0),
    "UINT16": ("u", 16, 0),
    "UINT32": ("u", 32, 0),
    "UINT64": ("u", 64, 0),
    "INT8": ("i", 7, 0),
    "INT16": ("i", 15, 0),
    "INT32": ("i", 31, 0),
    "INT64": ("i", 63, 0),
    "FLOAT16": ("f", 11, 5),
    "BFLOAT16": ("f", 8, 8),
    "FLOAT": ("f", 24, 8),
    "DOUBLE": ("f", 53, 11),
}


def _views(module: Module, before: oir.Node, node: oir.Node) -> oir.Node | None:
    from trtc.ir import edit
    from trtc_passes.operators import integer
    from trtc_passes.views import VIEWS

    if before.op_type not in VIEWS:
        return None
    target = module.constant(node.inputs[1])
    if target is None or ((target == 0).any() and not integer(node, "allowzero", 0)):
        return None
    attributes = {attr.name: attr for attr in node.attributes.values()}
    inputs = [before.inputs[0], node.inputs[1]]
    return edit.node(module, "Reshape", inputs, attributes, origins=[before, node], rule="merge_chains")


_MERGES: Mapping[str, Merge] = {
    "Transpose": _transposes,
    "Cast": _casts,
    "Reshape": _views,
}
