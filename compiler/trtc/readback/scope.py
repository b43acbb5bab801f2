"""What every reader writes into: the ONNX graph in the making."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.ir.plugins import Meaning
from trtc.readback.layers import Layer, refuse
from trtc.readback.types import NUMPY_TYPES, carried, carried_array, is_half, tensor_type

_FLOAT = oir.DataType.FLOAT
_INT64 = oir.DataType.INT64

#: Constants up to this many bytes are shared between the nodes that use them.
_SHARED_BYTES = 256


class Scope:
    """The nodes, constants and names made so far, and the ONNX value of each `ITensor`.

    Readers call `op` for a node and `bind` for the outputs of their layer. float16 and bfloat16 arithmetic is written
    as float32 arithmetic between casts: ONNX Runtime's CPU provider has few kernels for these types, and TensorRT
    accumulates in float32 as well. `bind` does the cast back, to the type that the `ITensor` has.
    """

    def __init__(
        self, trt: Any, weights: Mapping[str, np.ndarray], plugins: Mapping[str, Meaning] | None = None
    ) -> None:
        self.trt = trt
        self.plugins = plugins or {}
        self.functions: dict[tuple[str, str, str], oir.Function] = {}
        self.nodes: list[oir.Node] = []
        self.initializers: list[oir.Value] = []
        self.values: dict[Any, oir.Value] = {}
        self.layer: Layer | None = None
        self._makers: dict[oir.Node, Layer] = {}
        self._final: set[oir.Value] = set()
        self._weights = weights
        self._known: dict[Any, np.ndarray] = {}
        self._names: dict[str, int] = {}
        self._node_names: dict[str, int] = {}
        self._shared: dict[tuple[str, tuple[int, ...], bytes], oir.Value] = {}

    # Names

    def unique(self, base: str) -> str:
        """A name for a value or a graph: `base`, or `base_1`, `base_2`, ... when it is taken."""
        return _unique(self._names, base)

    @contextmanager
    def body(self) -> Generator[list[oir.Node], None, None]:
        """Nodes made inside go into the list that is yielded: the body of a subgraph."""
        outer, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outer

    # Values

    def get(self, tensor: Any) -> oir.Value:
        """The value of a tensor; its producer has been read."""
        return self.values[tensor]

    def input(self, layer: Layer, index: int) -> oir.Value:
        tensor = layer.input(index)
        if tensor is None:
            raise refuse(layer, "T0955", f"has no input {index}")
        return self.get(tensor)

    def wide(self, value: oir.Value) -> oir.Value:
        """`value` for arithmetic: float16 and bfloat16 as float32."""
        return self.cast(value, _FLOAT) if is_half(value.dtype) else value

    def wide_input(self, layer: Layer, index: int) -> oir.Value:
        return self.wide(self.input(layer, index))

    def known(self, tensor: Any) -> np.ndarray | None:
        """The elements of `tensor` when a constant layer makes it."""
        return self._known.get(tensor)

    def remember(self, tensor: Any, array: np.ndarray) -> None:
        self._known[tensor] = array

    def integers(self, layer: Layer, index: int, static: Sequence[int] | None) -> list[int] | oir.Value:
        """A parameter that is static or the tensor at input `index`: a list, or an int64 value of rank 1.

        A tensor that a constant layer makes counts as static.
        """
        tensor = layer.input(index)
        if tensor is None:
            if static is None:
                raise refuse(layer, "T0955", f"has neither a static parameter nor a tensor at input {index}")
            return [int(i) for i in static]
        array = self.known(tensor)
        if array is not None:
            return [int(i) for i in array.reshape(-1)]
        return self.cast(self.get(tensor), _INT64)

    # Nodes

    def op(
        self,
        op_type: str,
        *inputs: oir.Value | None,
        dtype: oir.DataType | None = None,
        **attributes: Any,
    ) -> oir.Value:
        """A node with one output of type `dtype`, by default that of its first input."""
        return self.ops(op_type, inputs, (dtype or (inputs[0].dtype if inputs and inputs[0] else None),), **attributes)[
            0
        ]

    def ops(
        self,
        op_type: str,
        inputs: Sequence[oir.Value | None],
        dtypes: Sequence[oir.DataType | None],
        domain: str = "",
        **attributes: Any,
    ) -> list[oir.Value]:
        """A node with an output for each of `dtypes`; absent inputs at the end are left out."""
        assert self.layer is not None
        inputs = list(inputs)
        while inputs and inputs[-1] is None:
            inputs.pop()
        base = self.layer.name
        outputs = [oir.Value(name=self.unique(f"{base}/{op_type}")) for _ in dtypes]
        for output, dtype in zip(outputs, dtypes, strict=True):
            if dtype is not None:
                output.type = oir.TensorType(dtype)
        node = oir.node(
            op_type,
            inputs,
            {k: v for k, v in attributes.items() if v is not None},
            domain=domain,
            outputs=outputs,
            name=_unique(self._node_names, f"{base}/{op_type}"),
            metadata_props={**self.layer.metadata, "trtc.layer": base},
        )
        self.nodes.append(node)
        self._makers[node] = self.layer
        return outputs

    def cast(self, value: oir.Value, dtype: oir.DataType) -> oir.Value:
        return value if value.dtype == dtype else self.op("Cast", value, dtype=dtype, to=int(dtype))

    def constant(self, array: np.ndarray, name: str | None = None) -> oir.Value:
        """An initializer that aliases `array`; small ones of equal contents are one."""
        array = carried_array(np.asarray(array))
        key = None
        if array.nbytes <= _SHARED_BYTES and name is None:
            key = (array.dtype.name, array.shape, array.tobytes())
            if key in self._shared:
                return self._shared[key]
        assert self.layer is not None
        label = self.unique(name or f"{self.layer.name}/constant")
        tensor = oir.Tensor(array, name=label)
        value = oir.Value(
            name=label, type=oir.TensorType(tensor.dtype), shape=oir.Shape(array.shape), const_value=tensor
        )
        self.initializers.append(value)
        if key is not None:
            self._shared[key] = value
        return value

    def ints(self, *values: int) -> oir.Value:
        """An int64 constant of rank 1."""
        return self.constant(np.array(values, np.int64))

    def scalar(self, number: float, dtype: oir.DataType) -> oir.Value:
        """A constant of rank 0."""
        return self.constant(np.array(number, dtype.numpy()))

    def floats(self, number: float) -> oir.Value:
        return self.scalar(number, _FLOAT)

    def dims(self, value: oir.Value) -> oir.Value:
        return self.op("Shape", value, dtype=_INT64)

    def dim(self, value: oir.Value, axis: int) -> oir.Value:
        """The length of one axis, int64 of rank 0."""
        return self.op("Gather", self.dims(value), self.scalar(axis, _INT64), axis=0)

    def iota(self, count: oir.Value | int) -> oir.Value:
        """0, 1, ..., count - 1 as int64."""
        if isinstance(count, int):
            return self.constant(np.arange(count, dtype=np.int64))
        zero, one = self.scalar(0, _INT64), self.scalar(1, _INT64)
        return self.op("Range", zero, self.op("Reshape", count, self.ints()), one)

    def reshape(self, value: oir.Value, *dims: int) -> oir.Value:
        """To `dims`, of which 0 copies a length and -1 takes the rest; no dims make it rank 0."""
        return self.op("Reshape", value, self.ints(*dims))

    def where(self, condition: oir.Value, yes: oir.Value, no: oir.Value) -> oir.Value:
        """Where for every carried type; ONNX Runtime has no kernel for bool and the halves."""
        dtype = yes.dtype
        if dtype == oir.DataType.BOOL:
            through = oir.DataType.INT32
        elif is_half(dtype):
            through = _FLOAT
        else:
            return self.op("Where", condition, yes, no, dtype=dtype)
        picked = self.op("Where", condition, self.cast(yes, through), self.cast(no, through), dtype=through)
        return self.cast(picked, dtype or through)

    # The layer at work

    def bind(self, layer: Layer, value: oir.Value, index: int = 0) -> None:
        """`value` is output `index` of `layer`, after a cast to the type of that tensor."""
        tensor = layer.outputs[index]
        self.values[tensor] = self.cast(value, carried(tensor_type(tensor)))

    def weights(self, layer: Layer, role: str, held: Any) -> np.ndarray | None:
        """Weights of a layer as a flat array, None when they are empty.

        `held` is what the property gave: an array, or a `trt.Weights` whose contents Python cannot reach. The latter
        come from the side table, under the layer's name for the values of a constant and `name:role` for the rest.
        """
        if held is None or held.size == 0:
            return None
        if isinstance(held, np.ndarray):
            return held.reshape(-1)
        key = layer.name if role == "weights" else f"{layer.name}:{role}"
        given = self._weights.get(key)
        kind = held.dtype.name
        if given is None:
            raise refuse(
                layer,
                "T0951",
                f"has {role} of type {kind}, which TensorRT does not give back to Python",
                hint=f"pass the array under {key!r} in `weights`",
            )
        array = np.asarray(given).reshape(-1)
        if array.size != held.size:
            raise refuse(layer, "T0952", f"has {held.size} {role} but the array in `weights` has {array.size} elements")
        wanted = np.dtype(NUMPY_TYPES[kind])
        if array.dtype.kind == "u" and array.dtype.itemsize == wanted.itemsize:
            return array.view(wanted)  # the bits, as they were handed to TensorRT
        return array if array.dtype == wanted else array.astype(wanted)

    def finish(self, layer: Layer, names: Mapping[Any, str]) -> None:
        """After a layer was read: its name goes to the node that makes its first output, `names` to its values.

        A layer that passed an input through gets an Identity, so that each layer has a node of its name.
        """
        for index, tensor in enumerate(layer.outputs):
            value = self.values.get(tensor)
            if value is None:
                raise refuse(layer, "T0955", f"did not make its output {index}")
            if layer.kind == "CONSTANT" and value.producer() is None:
                continue
            node = value.producer()
            if node is None or self._makers.get(node) is not layer or value in self._final:
                value = self.op("Identity", value)
                self.values[tensor] = value
                node = value.producer()
            self._final.add(value)
            value.name = names.get(tensor) or self.unique(_label(tensor.name, layer, index))
            if index == 0 and node is not None:
                node.name = _unique(self._node_names, layer.name)


def _unique(taken: dict[str, int], base: str) -> str:
    """`base` or the next free `base_<n>`; `taken` has the last n of each base."""
    if base not in taken:
        taken[base] = 0
        return base
    count = taken[base] + 1
    while f"{base}_{count}" in taken:
        count += 1
    taken[base] = count
    taken[f"{base}_{count}"] = 0
    return f"{base}_{count}"


def _label(name: str, layer: Layer, index: int) -> str:
    """The name of a value: that of the tensor when somebody chose it, else one from its layer."""
    if name and not name.startswith("(Unnamed Layer*") and name != f"{layer.name}_output":
        return name
    return layer.name if index == 0 else f"{layer.name}:{index}"
