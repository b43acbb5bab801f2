"""Batch normalization, and other scaling by channel, into weights."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trtc.pipeline import PassResult
from trtc.pipeline.options import option

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context
    from trtc_passes.affine import Affine

_LINEAR = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})


@dataclass(frozen=True, slots=True)
class FoldBatchNorm:
    """Puts BatchNormalization, and what scales or shifts channels by constants, into the weights beside it.

        x ──> Conv(w, b) ──> BatchNormalization ──> Relu ──> y     =>     x ──> Conv(w', b') ──> Relu ──> y

    After a Conv, ConvTranspose, Gemm or MatMul: BatchNormalization, and Mul, Add, Sub, Div by one number for each
    channel. Before a Conv: the same, where a shift meets no padding. New weights are computed in float64 and rounded
    once, and are the layer's own: a weight that two layers share is never changed for both.

    Declined, with the reason: another user of the layer's result (in a subgraph, too), weights that are not constant
    (dequantized ones, say), float16 weights that would overflow or vanish.
    """

    name: ClassVar[str] = "fold_batch_norm"

    affine: bool = option(True, "fold Mul, Add, Sub and Div by constants too")

    def run(self, module: Module, context: Context) -> PassResult:
        from trtc_passes.operators import is_call

        declined: dict[oir.Node, str] = {}
        norms = others = 0
        for node in module.nodes():
            if node.domain != "" or node.graph is None or is_call(module, node):
                continue
            if self._scales(node):
                reason = _fold_after(module, node, context)
                if reason is None:
                    norms += node.op_type == "BatchNormalization"
                    others += node.op_type != "BatchNormalization"
                elif reason:
                    declined[node] = reason
            elif node.op_type == "Conv":
                layer = node
                while True:
                    before = layer.inputs[0].producer() if layer.inputs[0] is not None else None
                    if before is None or not self._scales(before) or is_call(module, before):
                        break
                    made = _fold_before(module, layer, before, context)
                    if isinstance(made, str):
                        if made and before.op_type == "BatchNormalization":
                            declined[before] = made
                        break
                    layer = made
                    norms += before.op_type == "BatchNormalization"
                    others += before.op_type != "BatchNormalization"
        for node, reason in declined.items():
            if node.graph is not None:
                context.declined(reason, node)
        return PassResult.of(folded=norms, affine=others)

    def _scales(self, node: oir.Node) -> bool:
        from trtc_passes.affine import ARITHMETIC

        if node.domain != "":
            return False
        return node.op_type == "BatchNormalization" or (self.affine and node.op_type in ARITHMETIC)


def _fold_after(module: Module, node: oir.Node, context: Context) -> str | None:
    """Fold a node into the layer that makes its input. None when done, else why not ("" for a node that is none)."""
    from trtc.ir import edit
    from trtc_passes.affine import affine_of
    from trtc_passes.linear_weights import output_channels
    from trtc_passes.operators import only_user, used

    norm = node.op_type == "BatchNormalization"
    layer = _layer_before(module, node)
    if layer is None:
        return "no Conv, ConvTranspose, Gemm or MatMul makes its input" if norm else ""
    if norm and any(used(value) for value in node.outputs[1:]):
        return "its running statistics are used"
    result = layer.outputs[0]
    if only_user(result) is not node:
        return f"the result of `{layer.name}` has another user" if norm or _has_constant(module, node) else ""
    if layer.graph is not node.graph:
        return f"`{layer.name}` is in the graph around"
    weight = module.constant(layer.inputs[1]) if len(layer.inputs) > 1 else None
    if weight is None:
        return f"the weight of `{layer.name}` is not a constant" if norm or _has_constant(module, node) else ""
    if layer.op_type == "MatMul" and weight.ndim != 2:
        return f"the weight of `{layer.name}` is no matrix"
    rank = _rank(module, layer, weight)
    if rank is None:
        return f"the rank of the result of `{layer.name}` is not known"
    axis = 1 if layer.op_type.startswith("Conv") else rank - 1
    found = affine_of(module, node, output_channels(layer, weight), axis, rank)
    if isinstance(found, str):
        return found if norm or _has_constant(module, node) else ""
    made = _scaled_layer(module, layer, node, weight, rank, found)
    if isinstance(made, str):
        return made
    context.applied(f"folded into `{layer.name}`", node)
    edit.replace(module, [layer, node], [made], {node.outputs[0]: made.outputs[0]})
    return None


def _layer_before(module: Module, node: oir.Node) -> oir.Node | None:
    from trtc_passes.operators import is_call

    for value in node.inputs[: 1 if node.op_type == "BatchNormalization" else 2]:
        producer = value.producer() if value is not None else None
        if producer is not None and producer.domain == "" and producer.op_type in _LINEAR:
            return None if is_call(module, producer) else producer
    return None


def _has_constant(module: Module, node: oir.Node) -> bool:
    """An Add of two results is no candidate, and not worth a remark."""
    return any(module.constant(value) is not None for value in node.inputs)


def _rank(module: Module, layer: oir.Node, weight: np.ndarray) -> int | None:
    if layer.op_type != "MatMul":
        return weight.ndim
    shape = module.shape(layer.outputs[0])
    return None if shape is None else len(shape)


def _scaled_layer(
    module: Module, layer: oir.Node, node: oir.Node, weight: np.ndarray, rank: int, affine: Affine
) -> oir.Node | str:
    """The layer with scale and shift in its weight and bias."""
    import numpy as np

    from trtc.ir import edit
    from trtc_passes.linear_weights import loses, output_channels, scale_outputs
    from trtc_passes.operators import given, real

    given_bias = given(layer, 2)
    bias = None if given_bias is None else module.constant(given_bias)
    if given_bias is not None and bias is None:
        return f"the bias of `{layer.name}` is not a constant"
    attributes = {attr.name: attr for attr in layer.attributes.values()}
    kind = layer.op_type
    if kind == "MatMul" and affine.shifts:
        source = module.shape(layer.inputs[0]) if layer.inputs[0] is not None else None
        if rank != 2 or source is None or len(source) != 2:
            return f"`{layer.name}` has no bias"
        kind = "Gemm"
    scaled = weight if not _scales_any(affine) else scale_outputs(layer, weight, affine.scale)
    problem = loses(weight, scaled) if scaled is not weight else None
    if problem is not None:
        return problem
    inputs = [layer.inputs[0], layer.inputs[1]]
    if scaled is not weight:
        inputs[1] = edit.constant(module, scaled, f"{layer.name}_weight")
    if bias is not None or affine.shifts:
        total = np.zeros((), np.float64) if bias is None else bias.astype(np.float64)
        if layer.op_type == "Gemm" and bias is not None:
            total = total * real(layer, "beta", 1.0)
            attributes.pop("beta", None)
        total = total * affine.scale + affine.shift
        if total.ndim == 0:
            total = np.full(output_channels(layer, weight), total)
        rounded = total.astype(weight.dtype)
        if not np.isfinite(rounded.astype(np.float32)).all() and np.isfinite(total).all():
            return f"the new bias overflows {weight.dtype.name}"
        inputs.append(edit.constant(module, rounded, f"{layer.name}_bias"))
        if kind == "Gemm":
            attributes["beta"] = _float("beta", 1.0)
    return edit.node(module, kind, inputs, _with_gemm(kind, attributes), origins=[layer, node], rule="fold_batch_norm")


def _float(name: str, value: float) -> oir.Attr:
    import onnx_ir as oir

    return oir.AttrFloat32(name, value)


def _with_gemm(kind: str, attributes: dict[str, oir.Attr]) -> dict[str, oir.Attr]:
    """Every attribute of a Gemm is spelled out, as in every canonical node."""
    import onnx_ir as oir

    if kind != "Gemm":
        return attributes
    return {
        "alpha": oir.AttrFloat32("alpha", 1.0),
        "beta": oir.AttrFloat32("beta", 1.0),
        "transA": oir.AttrInt64("transA", 0),
        "transB": oir.AttrInt64("transB", 0),
        **attributes,
    }


def _scales_any(affine: Affine) -> bool:
    return bool((affine.scale != 1.0).any())


def _fold_before(module: Module, layer: oir.Node, node: oir.Node, context: Context) -> oir.Node | str:
    """Fold a node into the Conv that takes its result: the new Conv, or why not."""
    import numpy as np

    from trtc.ir import edit
    from trtc_passes.affine import affine_of
    from trtc_passes.linear_weights import loses, scale_inputs, shifted_inputs
    from trtc_passes.operators import given, integer, integers, only_user, same_shape, text, used

    result = node.outputs[0]
    if any(used(value) for value in node.outputs[1:]):
        return "its running statistics are used"
    if only_user(result) is not layer or node.graph is not layer.graph:
        return f"`{layer.name}` is not the only user of its result"
    weight = module.constant(layer.inputs[1])
    if weight is None:
        return f"the weight of `{layer.name}` is not a constant"
    found = affine_of(module, node, weight.shape[1] * integer(layer, "group", 1), 1, weight.ndim)
    if isinstance(found, str):
        return found
    if node.op_type != "BatchNormalization" and not same_shape(module, found.source, result):
        return "it may widen its input"
    pads = integers(layer, "pads") or ()
    if found.shifts and (any(pads) or text(layer, "auto_pad", "NOTSET") not in ("NOTSET", "VALID")):
        return f"`{layer.name}` pads with zeros, which the shift must not reach"
    given_bias = given(layer, 2)
    bias = None if given_bias is None else module.constant(given_bias)
    if found.shifts and given_bias is not None and bias is None:
        return f"the bias of `{layer.name}` is not a constant"
    scaled = scale_inputs(layer, weight, found.scale)
    problem = loses(weight, scaled)
    if problem is not None:
        return problem
    new_bias = given_bias
    if found.shifts:
        total = shifted_inputs(layer, weight, found.shift)
        total = total if bias is None else total + bias.astype(np.float64)
        rounded = total.astype(weight.dtype)
        if not np.isfinite(rounded.astype(np.float32)).all():
            return f"the new bias overflows {weight.dtype.name}"
        new_bias = edit.constant(module, rounded, f"{layer.name}_bias")
    inputs = [found.source, edit.constant(module, scaled, f"{layer.name}_weight")]
    if new_bias is not None:
        inputs.append(new_bias)
    attributes = {attr.name: attr for attr in layer.attributes.values()}
    made = edit.node(module, "Conv", inputs, attributes, origins=[layer, node], rule="fold_batch_norm")
    context.applied(f"folded into `{layer.name}`", node)
    edit.replace(module, [node, layer], [made], {layer.outputs[0]: made.outputs[0]})
    return made
