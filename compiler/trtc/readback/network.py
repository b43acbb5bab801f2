"""`read`: a finished network as an ONNX model."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.ir.plugins import Meaning
from trtc.readback import (
    filling,
    indexing,
    normalizing,
    plugins,
    pointwise,
    products,
    quantizing,
    reducing,
    sampling,
    shaping,
    slicing,
    windows,
)
from trtc.readback.control import conditional, loop
from trtc.readback.layers import Layer, layers_of, refuse
from trtc.readback.regions import Conditional, Loop, Plan, Unit, plan
from trtc.readback.scope import Scope
from trtc.readback.types import carried, tensor_type

OPSET = 23
IR_VERSION = 11

Reader = Callable[[Scope, Layer], None]

#: `LayerType` name -> reader. Boundary layers of loops and conditionals are read with their loop or conditional.
READERS: Mapping[str, Reader] = {
    "ACTIVATION": pointwise.activation,
    "ASSERTION": pointwise.nothing,
    "ATTENTION_INPUT": pointwise.nothing,
    "ATTENTION_OUTPUT": products.attention,
    "CAST": pointwise.cast,
    "CONCATENATION": shaping.concatenation,
    "CONDITIONAL_INPUT": pointwise.cast,
    "CONSTANT": shaping.constant,
    "CONVOLUTION": windows.convolution,
    "CUMULATIVE": reducing.cumulative,
    "DECONVOLUTION": windows.deconvolution,
    "DEQUANTIZE": quantizing.dequantize,
    "EINSUM": products.einsum,
    "ELEMENTWISE": pointwise.elementwise,
    "FILL": filling.fill,
    "GATHER": indexing.gather,
    "GRID_SAMPLE": sampling.grid_sample,
    "IDENTITY": pointwise.cast,
    "KV_CACHE_UPDATE": indexing.key_value_update,
    "LRN": normalizing.local_response,
    "MATRIX_MULTIPLY": products.matrix_multiply,
    "NMS": indexing.non_max_suppression,
    "NON_ZERO": indexing.non_zero,
    "NORMALIZATION": normalizing.normalization,
    "ONE_HOT": indexing.one_hot,
    "PADDING": shaping.padding,
    "PARAMETRIC_RELU": pointwise.parametric_relu,
    "PLUGIN_V2": plugins.plugin,
    "PLUGIN_V3": plugins.plugin,
    "POOLING": windows.pooling,
    "QUANTIZE": quantizing.quantize,
    "RAGGED_SOFTMAX": reducing.ragged_softmax,
    "REDUCE": reducing.reduce,
    "RESIZE": sampling.resize,
    "REVERSE_SEQUENCE": shaping.reverse_sequence,
    "ROTARY_EMBEDDING": products.rotary_embedding,
    "SCALE": normalizing.scale,
    "SCATTER": indexing.scatter,
    "SELECT": pointwise.select,
    "SHAPE": shaping.shape,
    "SHUFFLE": shaping.shuffle,
    "SLICE": slicing.slicing,
    "SOFTMAX": reducing.softmax,
    "SQUEEZE": shaping.squeeze,
    "TOPK": indexing.top_k,
    "UNARY": pointwise.unary,
    "UNSQUEEZE": shaping.unsqueeze,
}

#: Read outside of `READERS`.
_BOUNDARY = frozenset({"TRIP_LIMIT", "ITERATOR", "RECURRENCE", "LOOP_OUTPUT", "CONDITION", "CONDITIONAL_OUTPUT"})

_NO_OUTPUT = frozenset({"ASSERTION", "ATTENTION_INPUT"})


def read(
    network: Any,
    trt: Any,
    *,
    weights: Mapping[str, np.ndarray] | None = None,
    meanings: Mapping[str, Meaning] | None = None,
) -> oir.Model:
    """The ONNX model (opset 23) that computes what `network`, an `INetworkDefinition` of the module `trt`, computes.

    Names, types and dims of the network's inputs and outputs are kept; a dim of -1 gets the name that the network
    gives it, or `<input>_<axis>`. A node with the name of a layer makes the layer's first output and carries its
    metadata, with the name of the layer under `trtc.layer`. Initializers alias the memory that the network points
    to: the model is valid as long as the network is. `weights` holds the arrays that TensorRT does not give back
    (bfloat16 and narrower), under the name of a constant layer, or `layer:kernel`, `layer:bias`, `layer:scale`,
    `layer:shift`, `layer:power`. `meanings` says, by name of the layer, what a plugin stands for: TensorRT gives
    back no more of it than its inputs and outputs.

    Raises DiagnosticError: T0950 for each layer of a type that has no reading, T0951 to T0957 for what a layer holds.
    """
    layers = layers_of(network, trt)
    unread = [
        refuse(layer, "T0950", "has no reading") for layer in layers if layer.kind not in READERS.keys() | _BOUNDARY
    ]
    if unread:
        raise type(unread[0]).of([diagnostic for error in unread for diagnostic in error.diagnostics])
    inputs = [network.get_input(i) for i in range(network.num_inputs)]
    outputs = list(dict.fromkeys(network.get_output(i) for i in range(network.num_outputs)))
    scope = Scope(trt, weights or {}, meanings)
    for tensor in [*inputs, *outputs]:
        scope.unique(tensor.name)
    made = plan(layers, outputs)
    given = [_input(scope, tensor) for tensor in inputs]
    _read_units(scope, made, {tensor: tensor.name for tensor in outputs}, made.root.units)
    results = _outputs(scope, outputs)
    graph = oir.Graph(
        given,
        results,
        nodes=scope.nodes,
        initializers=scope.initializers,
        opset_imports={"": OPSET, **{function.domain: 1 for function in scope.functions.values() if function.domain}},
        name=network.name or "network",
    )
    return oir.Model(
        graph, ir_version=IR_VERSION, producer_name="trtc readback", functions=list(scope.functions.values())
    )


def _read_units(scope: Scope, made: Plan, names: Mapping[Any, str], units: Sequence[Unit]) -> None:
    def read_inner(inner: Sequence[Unit]) -> None:
        _read_units(scope, made, names, inner)

    for unit in units:
        if isinstance(unit, Layer):
            scope.layer = unit
            READERS[unit.kind](scope, unit)
            finished = [unit] if unit.kind not in _NO_OUTPUT else []
        elif isinstance(unit, Loop):
            loop(scope, unit, made, read_inner)
            finished = unit.outputs
        else:
            assert isinstance(unit, Conditional)
            conditional(scope, unit, made, read_inner)
            finished = unit.outputs
        for layer in finished:
            scope.layer = layer
            scope.finish(layer, names)


def _input(scope: Scope, tensor: Any) -> oir.Value:
    """A graph input; inside the model its values travel in the carried type."""
    dims: list[int | str] = []
    for axis, length in enumerate(tensor.shape):
        named = getattr(tensor, "get_dimension_name", None)
        name = named(axis) if named is not None else None
        dims.append(int(length) if length >= 0 else (name or f"{tensor.name}_{axis}"))
    dtype = tensor_type(tensor)
    value = oir.Value(name=tensor.name, type=oir.TensorType(dtype), shape=oir.Shape(dims))
    if carried(dtype) == dtype:
        scope.values[tensor] = value
    else:
        scope.layer = _edge(tensor)
        scope.values[tensor] = scope.cast(value, carried(dtype))
    return value


def _outputs(scope: Scope, tensors: Sequence[Any]) -> list[oir.Value]:
    """Graph outputs with the names, types and known lengths of the tensors; each is made by a node of its own."""
    results: list[oir.Value] = []
    for tensor in tensors:
        value, dtype = scope.get(tensor), tensor_type(tensor)
        if value.producer() is None or value.dtype != dtype or value.name != tensor.name:
            scope.layer = _edge(tensor)
            if value.name == tensor.name:
                value.name = scope.unique(f"{tensor.name}/value")
            value = scope.op("Identity", value) if value.dtype == dtype else scope.cast(value, dtype)
            value.name = tensor.name
        value.shape = oir.Shape([int(d) if d >= 0 else None for d in tensor.shape])
        results.append(value)
    return results


def _edge(tensor: Any) -> Layer:
    """A stand-in for the layer of nodes at an input or output of the network."""
    return Layer(-1, "EDGE", tensor.name, None, (), (), {})
