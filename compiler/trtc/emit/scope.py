"""The one object that an operator's function works with: tensors by value, shapes by dim, small recipes."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as oir

from trtc.emit.facts import given
from trtc.emit.layers import fitting
from trtc.emit.shaping import Shaping
from trtc.emit.weights import NUMPY, convert
from trtc.ir.dims import unknown

if TYPE_CHECKING:
    from trtc.ir.module import Module
    from trtc.targets import Target

#: Shapes of the tensors whose elements inference names.
_FEW = {(), *((count,) for count in range(1, 65))}


class Scope(Shaping):
    """See `Layers` for adding and setting, `Shaping` for shapes. Types are names of `DataType` members."""

    def __init__(self, module: Module, target: Target, network: Any, log: Any) -> None:
        super().__init__(module, target, network, log)
        self._tensors: dict[oir.Value, Any] = {}
        self._views: dict[tuple[oir.Value, tuple[int, ...]], Any] = {}
        #: Tensors that may not be renamed or marked as an output: constants and network inputs.
        self.fixed: set[Any] = set()

    # ---- tensors of the model's values

    def tensor(self, value: oir.Value, shape: tuple[int, ...] | None = None) -> Any:
        """The tensor of a value. A constant becomes a layer when first asked for, `shape` is a view of it."""
        found = self._tensors.get(value) if shape is None else self._views.get((value, shape))
        if found is not None:
            return found
        array = self.array(value)
        if array is None:
            if value not in self._tensors:
                raise self.error("T0704", f"`{value.name}` is used before it is computed")
            assert shape is None
            return self._tensors[value]
        dtype = self.engine_type(value)
        data = convert(array, dtype, value.name or "")
        if shape is not None:
            data = data.reshape(shape)
        node, self.node = self.node, None
        try:
            if dtype == "INT8":
                # TensorRT takes a constant of int8 for weights, which only a dequantization may use.
                whole = self.constant(data.astype(np.int32), "INT32", f"constant/{value.name}/whole")
                tensor = self.cast(whole, dtype, f"constant/{value.name}")
            else:
                tensor = self.constant(data, dtype, f"constant/{value.name}")
        finally:
            self.node = node
        if shape is None:
            self._tensors[value] = tensor
        else:
            self._views[value, shape] = tensor
        self.fixed.add(tensor)
        return tensor

    def quantized(self, value: oir.Value, shape: tuple[int, ...] | None = None) -> Any:
        """The tensor of an int8 value for a dequantization: a constant stays int8. `shape` is a view of a constant."""
        array = self.array(value)
        if array is None:
            return self.tensor(value)
        data = convert(array, "INT8", value.name or "")
        node, self.node = self.node, None
        try:
            return self.constant(data, "INT8", f"constant/{value.name}", shape or data.shape)
        finally:
            self.node = node

    def input(self, node: oir.Node, index: int) -> Any:
        return self.tensor(given(node, index))

    def bind(self, value: oir.Value, tensor: Any) -> None:
        """`tensor` is `value`; checked against what the IR knows of it (T0704 when they differ)."""
        self._tensors[value] = tensor
        expected = self.engine_type(value)
        if self.caps.strongly_typed and self.type_of(tensor) != expected:
            raise self.error(
                "T0704", f"`{value.name}` is {self.type_of(tensor)} in the network, {expected} in the model"
            )
        dims = self.module.shape(value)
        if dims is None:
            return
        got = tuple(tensor.shape)
        if len(got) != len(dims) or any(
            g >= 0 and isinstance(d, int) and g != d for g, d in zip(got, dims, strict=True)
        ):
            raise self.error(
                "T0704",
                f"`{value.name}` has shape {list(got)} in the network, "
                f"[{', '.join(str(d) for d in dims)}] in the model",
            )
        self.learn(tensor, dims)
        elements = self.module.fact(value).value
        if elements is None and expected in ("INT32", "INT64") and len(dims) <= 1 and got in _FEW:
            # Inference calls the elements that it does not know after their tensor.
            count = got[0] if got else 1
            elements = tuple(unknown(f"{value.name}[{at}]", signed=True) for at in range(count))
        if elements is not None:
            self.learn_elements(tensor, elements)

    @contextmanager
    def bound(self, tensors: Mapping[oir.Value, Any]) -> Generator[None]:
        """Meanwhile these tensors are the values: what a branch or a body takes. They keep their names."""
        before = {value: self._tensors.get(value) for value in tensors}
        self.fixed.update(tensors.values())
        for value, tensor in tensors.items():
            self.bind(value, tensor)
        try:
            yield
        finally:
            for value, tensor in before.items():
                if tensor is None:
                    del self._tensors[value]
                else:
                    self._tensors[value] = tensor

    def name(self, tensor: Any, name: str) -> None:
        """Name a tensor as the model does, where TensorRT lets it."""
        name = fitting(name)
        if tensor not in self.fixed and not tensor.is_network_input and tensor.name != name:
            tensor.name = name

    # ---- several operands

    def operand(self, value: oir.Value, rank: int, dtype: str | None = None) -> Any:
        """The tensor of `value` brought to `rank` by leading 1s (constants without a layer) and to `dtype`."""
        array = self.array(value)
        if array is not None and array.ndim < rank:
            tensor = self.tensor(value, (1,) * (rank - array.ndim) + array.shape)
        else:
            tensor = self.pad_rank(self.tensor(value), rank)
        return tensor if dtype is None else self.cast(tensor, dtype)

    def operands(self, values: Sequence[oir.Value], dtype: str | None = None) -> list[Any]:
        """The tensors of `values`, all of the largest rank among them."""
        rank = max(self.rank(v) for v in values)
        return [self.operand(v, rank, dtype) for v in values]

    # ---- small recipes; every tensor in them has the same rank

    def elementwise(self, op: str, a: Any, b: Any, part: str = "") -> Any:
        return self.add(self.net.add_elementwise(a, b, getattr(self.trt.ElementWiseOperation, op)), part)

    def unary(self, op: str, tensor: Any, part: str = "") -> Any:
        return self.add(self.net.add_unary(tensor, getattr(self.trt.UnaryOperation, op)), part)

    def activation(self, op: str, tensor: Any, part: str = "", **properties: float) -> Any:
        made = self.net.add_activation(tensor, getattr(self.trt.ActivationType, op))
        return self.add(made, part, None, **properties)

    def select(self, condition: Any, then: Any, otherwise: Any, part: str = "") -> Any:
        return self.add(self.net.add_select(condition, then, otherwise), part)

    def reduce(self, op: str, tensor: Any, axes: Sequence[int], keepdims: bool, part: str = "") -> Any:
        """Over `axes` (non-negative); without axes the tensor itself."""
        if not axes:
            return tensor
        mask = sum(1 << axis for axis in axes)
        return self.add(self.net.add_reduce(tensor, getattr(self.trt.ReduceOperation, op), mask, keepdims), part)

    def scalar(self, value: float | bool, like: Any, part: str = "constant") -> Any:
        """A constant of the type and rank of `like`, all dims 1."""
        dtype = self.type_of(like)
        with np.errstate(over="ignore"):
            array = np.asarray(value).astype(NUMPY[dtype])
        return self.constant(array, dtype, part, (1,) * len(like.shape))

    def in_f32(self, tensor: Any) -> Any:
        """A half-precision tensor as float32, anything else as it is."""
        return self.cast(tensor, "FLOAT") if self.type_of(tensor) in ("HALF", "BF16") else tensor

    def softmax(self, tensor: Any, axis: int, part: str = "") -> Any:
        return self.add(self.net.add_softmax(tensor), part, axes=1 << axis)

    def matmul(self, a: Any, b: Any, part: str = "", *, trans_a: bool = False, trans_b: bool = False) -> Any:
        op = self.trt.MatrixOperation
        made = self.net.add_matrix_multiply(
            a, op.TRANSPOSE if trans_a else op.NONE, b, op.TRANSPOSE if trans_b else op.NONE
        )
        return self.add(made, part)
