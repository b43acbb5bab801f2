"""The layers of a network as typed wrappers, with their inputs and outputs."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError

#: `LayerType` name -> class of the wrapper. A type that is not here is refused by name when it is read.
WRAPPERS: dict[str, str] = {
    "CONVOLUTION": "IConvolutionLayer",
    "GRID_SAMPLE": "IGridSampleLayer",
    "NMS": "INMSLayer",
    "ACTIVATION": "IActivationLayer",
    "POOLING": "IPoolingLayer",
    "LRN": "ILRNLayer",
    "SCALE": "IScaleLayer",
    "SOFTMAX": "ISoftMaxLayer",
    "DECONVOLUTION": "IDeconvolutionLayer",
    "CONCATENATION": "IConcatenationLayer",
    "ELEMENTWISE": "IElementWiseLayer",
    "UNARY": "IUnaryLayer",
    "PADDING": "IPaddingLayer",
    "SHUFFLE": "IShuffleLayer",
    "REDUCE": "IReduceLayer",
    "TOPK": "ITopKLayer",
    "GATHER": "IGatherLayer",
    "MATRIX_MULTIPLY": "IMatrixMultiplyLayer",
    "RAGGED_SOFTMAX": "IRaggedSoftMaxLayer",
    "CONSTANT": "IConstantLayer",
    "IDENTITY": "IIdentityLayer",
    "CAST": "ICastLayer",
    "SLICE": "ISliceLayer",
    "SHAPE": "IShapeLayer",
    "PARAMETRIC_RELU": "IParametricReLULayer",
    "RESIZE": "IResizeLayer",
    "TRIP_LIMIT": "ITripLimitLayer",
    "RECURRENCE": "IRecurrenceLayer",
    "ITERATOR": "IIteratorLayer",
    "LOOP_OUTPUT": "ILoopOutputLayer",
    "SELECT": "ISelectLayer",
    "ASSERTION": "IAssertionLayer",
    "FILL": "IFillLayer",
    "QUANTIZE": "IQuantizeLayer",
    "DEQUANTIZE": "IDequantizeLayer",
    "CONDITION": "IConditionLayer",
    "CONDITIONAL_INPUT": "IIfConditionalInputLayer",
    "CONDITIONAL_OUTPUT": "IIfConditionalOutputLayer",
    "SCATTER": "IScatterLayer",
    "EINSUM": "IEinsumLayer",
    "ONE_HOT": "IOneHotLayer",
    "NON_ZERO": "INonZeroLayer",
    "REVERSE_SEQUENCE": "IReverseSequenceLayer",
    "NORMALIZATION": "INormalizationLayer",
    "SQUEEZE": "ISqueezeLayer",
    "UNSQUEEZE": "IUnsqueezeLayer",
    "CUMULATIVE": "ICumulativeLayer",
    "ATTENTION_INPUT": "IAttentionInputLayer",
    "ATTENTION_OUTPUT": "IAttentionOutputLayer",
    "ROTARY_EMBEDDING": "IRotaryEmbeddingLayer",
    "KV_CACHE_UPDATE": "IKVCacheUpdateLayer",
    "PLUGIN_V2": "IPluginV2Layer",
    "PLUGIN_V3": "IPluginV3Layer",
}


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One layer. `inputs` has None where an optional input is not set; `handle` is the typed wrapper."""

    index: int
    kind: str
    name: str
    handle: Any
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    metadata: dict[str, str]

    def input(self, index: int) -> Any | None:
        """The tensor at input `index`, None when it is unset or beyond the last."""
        return self.inputs[index] if index < len(self.inputs) else None


def describe(layer: Layer) -> str:
    """The layer for a message: name, type and, where it is known, the ONNX nodes it comes from."""
    origin = layer.metadata.get("trtc.origin")
    return f"layer `{layer.name}` ({layer.kind})" + (f" from {origin}" if origin else "")


def refuse(
    layer: Layer, code: str, message: str, *, notes: tuple[str, ...] = (), hint: str | None = None
) -> DiagnosticError:
    """The error for a layer that cannot be read: `message` continues "layer `name` (TYPE) from [...]"."""
    return DiagnosticError(
        Diagnostic(code=code, message=f"{describe(layer)} {message}", node=layer.name, notes=notes, help=hint)
    )


def layers_of(network: Any, trt: Any) -> list[Layer]:
    """Every layer of `network`, in insertion order, downcast to its own class.

    The bindings hand out plain `ILayer` wrappers. Assigning `__class__` is the only downcast they offer and is not
    checked, so it goes by `ILayer.type`, read through the base class because some classes shadow the property.
    """
    found: list[Layer] = []
    for index in range(network.num_layers):
        handle = network.get_layer(index)
        kind = trt.ILayer.type.__get__(handle).name
        cls = getattr(trt, WRAPPERS.get(kind, ""), None)
        if cls is not None:
            handle.__class__ = cls
        inputs = [handle.get_input(i) for i in range(handle.num_inputs)]
        if kind == "ATTENTION_OUTPUT":
            inputs = _attention_inputs(handle.attention)
        outputs = [handle.get_output(i) for i in range(handle.num_outputs)]
        found.append(Layer(index, kind, handle.name, handle, tuple(inputs), tuple(outputs), _metadata(handle)))
    unknown = [layer for layer in found if not all(_has_shape(tensor) for tensor in layer.outputs)]
    if unknown:
        # Only the first is at fault for sure: those after it may depend on it.
        raise refuse(unknown[0], "T0956", "has an output whose shape TensorRT cannot infer")
    return found


def dims_or_none(dims: Any) -> tuple[int, ...] | None:
    """Dims of a property that may be unset: later generations say None, TensorRT 8.6 Dims of a negative length."""
    if dims is None:
        return None
    try:
        length = len(dims)
    except ValueError:
        return None
    return tuple(int(dims[k]) for k in range(length))


def _has_shape(tensor: Any) -> bool:
    try:
        return tensor.shape is not None
    except RuntimeError:
        return False


def _attention_inputs(attention: Any) -> list[Any]:
    """Query, key, value, mask, quantization scale, query lengths, key/value lengths; None where unset."""
    tensors = [attention.get_input(i) for i in range(3)]
    names = ("mask", "normalization_quantize_scale", "query_lengths", "key_value_lengths")
    return [*tensors, *(getattr(attention, name, None) for name in names)]


def _metadata(handle: Any) -> dict[str, str]:
    """`ILayer.metadata` as node metadata: the entries of a JSON object, any other text under `trtc.metadata`."""
    text = getattr(handle, "metadata", "") or ""
    if not text:
        return {}
    try:
        entries = json.loads(text)
    except ValueError:
        entries = None
    if not isinstance(entries, dict):
        return {"trtc.metadata": text}
    return {str(k): v if isinstance(v, str) else json.dumps(v) for k, v in entries.items()}
