"""Zero padding into the layer that follows."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trtc.pipeline import PassResult

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context

_LAYERS = frozenset({"Conv", "AveragePool", "MaxPool"})


@dataclass(frozen=True, slots=True)
class FoldPad:
    """Puts a Pad with zeros into the pads of the Conv or AveragePool behind it.

        x ──> Pad(0, 0, 1, 1, 0, 0, 1, 1) ──> Conv ──> y     =>     x ──> Conv(pads = 1, 1, 1, 1) ──> y

    Of spatial axes only. An AveragePool then counts the padding, as it did before; one that has pads of its own that
    it does not count stays, and so does a MaxPool: it pads with minus infinity. Pads of another value, by reflection or
    by edges stay, and those before a layer that derives its padding from the size (`auto_pad`). A Pad that something
    else uses too stays for that.
    """

    name: ClassVar[str] = "fold_pad"

    def run(self, module: Module, context: Context) -> PassResult:
        from trtc.ir import edit
        from trtc_passes.operators import is_call, used

        folded = 0
        for layer in module.nodes():
            if layer.op_type not in _LAYERS or layer.domain != "" or is_call(module, layer):
                continue
            pad = layer.inputs[0].producer() if layer.inputs[0] is not None else None
            if pad is None or pad.op_type != "Pad" or pad.domain != "" or is_call(module, pad):
                continue
            reason = _fold(module, pad, layer)
            if reason is not None:
                context.declined(reason, pad)
                continue
            context.applied(f"folded into `{layer.name}`", pad)
            if not used(pad.outputs[0]):
                edit.remove(module, pad)
            folded += 1
        return PassResult.of(folded=folded)


def _fold(module: Module, pad: oir.Node, layer: oir.Node) -> str | None:
    """Fold `pad` into `layer`; the reason when that cannot be."""
    from trtc.ir import edit
    from trtc_passes.operators import integer, integers, text

    if layer.op_type == "MaxPool":
        return f"`{layer.name}` pads with minus infinity, not with zeros"
    if text(layer, "auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return f"`{layer.name}` derives its padding from the size of its input"
    spatial = _zero_pads(module, pad)
    if isinstance(spatial, str):
        return spatial
    rank = len(spatial) // 2
    own = integers(layer, "pads") or (0,) * (2 * rank)
    total = [a + b for a, b in zip(own, spatial, strict=True)]
    attributes = {attr.name: attr for attr in layer.attributes.values() if attr.name not in ("pads", "auto_pad")}
    if layer.op_type == "AveragePool":
        kernel = integers(layer, "kernel_shape") or ()
        if any(own) and not integer(layer, "count_include_pad", 0):
            return f"`{layer.name}` counts the zeros of the Pad, but not its own padding"
        if integer(layer, "ceil_mode", 0):
            return f"`{layer.name}` rounds its size up, which depends on where the padding is"
        if any(size >= kernel[at % rank] for at, size in enumerate(total)):
            return f"`{layer.name}` would have padding as wide as its window"
        attributes.pop("count_include_pad", None)
    new = {"pads": total, "auto_pad": "NOTSET"}
    if layer.op_type == "AveragePool":
        new = {**new, "count_include_pad": 1}
    made = edit.node(
        module,
        layer.op_type,
        [pad.inputs[0], *layer.inputs[1:]],
        {**attributes, **new},
        origins=[pad, layer],
        rule="fold_pad",
    )
    edit.replace(module, [layer], [made], {layer.outputs[0]: made.outputs[0]})
    return None


def _zero_pads(module: Module, pad: oir.Node) -> list[int] | str:
    """Begins and ends of the spatial axes, or why the Pad is not one of zeros on those."""
    from trtc_passes.operators import filled_with, given, text

    if text(pad, "mode", "constant") != "constant":
        return f"it pads by mode {text(pad, 'mode', 'constant')}"
    value = given(pad, 2)
    if value is not None and not filled_with(module.constant(value), 0):
        return "it does not pad with a constant zero"
    pads = module.constant(pad.inputs[1])
    source = pad.inputs[0]
    assert source is not None
    shape = module.shape(source)
    if pads is None or shape is None:
        return "its pads are not constant"
    rank = len(shape)
    given_axes = given(pad, 3)
    axes = list(range(rank)) if given_axes is None else module.constant(given_axes)
    if axes is None:
        return "its axes are not constant"
    begins, ends = [0] * rank, [0] * rank
    for at, axis in enumerate(axes):
        begins[int(axis) % rank] = int(pads[at])
        ends[int(axis) % rank] = int(pads[at + len(axes)])
    if min(*begins, *ends) < 0:
        return "it crops"
    if any(begins[:2]) or any(ends[:2]):
        return "it pads the batch or the channels"
    return [*begins[2:], *ends[2:]]
