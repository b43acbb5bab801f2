"""What may be asked about a node before anything is emitted: facts of the module, capabilities of the target."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import onnx_ir as oir

from trtc.ir.module import Module
from trtc.targets import Capabilities

if TYPE_CHECKING:
    from trtc.ir.dims import Dim

_T = oir.DataType

#: ONNX type -> name of the `DataType` that carries it in an engine. DOUBLE exists in no TensorRT.
_CARRIER = {
    _T.FLOAT: "FLOAT",
    _T.FLOAT16: "HALF",
    _T.BFLOAT16: "BF16",
    _T.DOUBLE: "FLOAT",
    _T.INT32: "INT32",
    _T.INT64: "INT64",
    _T.BOOL: "BOOL",
    _T.INT8: "INT8",
    _T.UINT8: "UINT8",
    _T.FLOAT8E4M3FN: "FP8",
}

FLOATS = frozenset({_T.FLOAT, _T.FLOAT16, _T.BFLOAT16, _T.DOUBLE})
INTS = frozenset({_T.INT32, _T.INT64})
BOOLS = frozenset({_T.BOOL})


class Refusal(Exception):
    """A node that cannot be emitted: why, and what a person can do."""

    def __init__(self, reason: str, help: str | None = None, code: str = "T0701") -> None:
        super().__init__(reason)
        self.reason = reason
        self.help = help
        self.code = code


def refuse(reason: str, help: str | None = None, code: str = "T0701") -> NoReturn:
    raise Refusal(reason, help, code)


def attr(node: oir.Node, name: str, default: Any = None) -> Any:
    """The Python value of an attribute, or the default; lists come as tuples."""
    found = node.attributes.get(name)
    if found is None:
        return default
    value = found.value
    return tuple(value) if isinstance(value, (list, tuple)) else value


def input_at(node: oir.Node, index: int) -> oir.Value | None:
    """An input, None where it is omitted."""
    return node.inputs[index] if index < len(node.inputs) else None


def given(node: oir.Node, index: int) -> oir.Value:
    """A required input."""
    value = input_at(node, index)
    if value is None:
        refuse(f"input {index} is missing")
    return value


def used(node: oir.Node, index: int) -> bool:
    """Whether output `index` exists and somebody needs it."""
    if index >= len(node.outputs) or not node.outputs[index].name:
        return False
    value = node.outputs[index]
    return value.is_graph_output() or bool(value.uses())


def axis_of(axis: int, rank: int) -> int:
    """A non-negative axis."""
    if not -rank <= axis < max(rank, 1):
        refuse(f"axis {axis} does not fit rank {rank}")
    return axis + rank if axis < 0 else axis


class Facts:
    """Facts of the module's values, raising `Refusal` where something must be known and is not."""

    def __init__(self, module: Module, capabilities: Capabilities) -> None:
        self.module = module
        self.caps = capabilities

    def shape(self, value: oir.Value) -> tuple[Dim, ...]:
        shape = self.module.shape(value)
        if shape is None:
            refuse(
                f"the rank of `{value.name}` is not known",
                "give the model's inputs their shapes; a rank must be known when the network is built",
            )
        return shape

    def rank(self, value: oir.Value) -> int:
        return len(self.shape(value))

    def static(self, value: oir.Value) -> tuple[int, ...] | None:
        """The shape when every dim is a number."""
        shape = self.shape(value)
        return tuple(d for d in shape if isinstance(d, int)) if all(isinstance(d, int) for d in shape) else None

    def dtype(self, value: oir.Value) -> oir.DataType:
        dtype = self.module.dtype(value)
        if dtype is None:
            refuse(f"the type of `{value.name}` is not known")
        return dtype

    def carrier(self, dtype: oir.DataType) -> str | None:
        """The name of the engine's type for a model's type; None where the target has none."""
        name = _CARRIER.get(dtype)
        if name == "INT64" and "INT64" not in self.caps.dtypes:
            name = "INT32"
        return name if name in self.caps.dtypes else None

    def array(self, value: oir.Value | None) -> np.ndarray | None:
        """The array of a constant."""
        return None if value is None else self.module.constant(value)

    def elements(self, value: oir.Value | None) -> tuple[Dim, ...] | None:
        """The elements of a small integer tensor, as numbers or expressions over the model's dims."""
        if value is None:
            return None
        array = self.array(value)
        if array is not None:
            return tuple(int(v) for v in array.reshape(-1))
        return self.module.fact(value).value

    def ints(self, value: oir.Value | None, what: str) -> tuple[int, ...] | None:
        """The elements of an input that must be known when the network is built; None when it is omitted."""
        if value is None:
            return None
        found = self.elements(value)
        if found is None or not all(isinstance(v, int) for v in found):
            refuse(
                f"{what} is computed at run time; TensorRT needs it when the network is built",
                f"make `{value.name}` a constant",
            )
        return tuple(v for v in found if isinstance(v, int))

    def from_float_input(self, value: oir.Value) -> bool:
        """Whether a scalar is computed from the values of a floating-point input of the network.

        TensorRT takes shapes from integer inputs only. What is behind a Shape is not values.
        """
        seen: set[oir.Value] = set()
        todo = [value]
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            node = at.producer()
            if node is None:
                if at.is_graph_input() and self.dtype(at) in FLOATS:
                    return True
            elif node.op_type not in ("Shape", "Size"):
                todo += [v for v in node.inputs if v is not None]
        return False

    def number(self, value: oir.Value | None) -> float | int | bool | None:
        """The one element of a constant, None when it is not constant or has several."""
        array = self.array(value)
        return array.reshape(-1)[0].item() if array is not None and array.size == 1 else None
