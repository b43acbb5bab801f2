"""Adding layers so that nothing fails silently: TensorRT reports mistakes by None, by a log line, or much later."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.emit.emission import LayerRecord
from trtc.emit.facts import Facts
from trtc.emit.weights import BY_POINTER, NUMPY, convert, weights
from trtc.ir.module import Module
from trtc.ir.plugins import Meaning
from trtc.ir.provenance import origins, rule
from trtc.targets import Target

#: Constants up to this many bytes are shared when equal.
_SHARED_BYTES = 4096
#: TensorRT takes names of 4096 bytes; a number may follow.
_LONGEST_NAME = 4000


class Layers(Facts):
    """The network being filled: checked layers and setters, constants, names, provenance.

    Tensors are TensorRT's `ITensor`; types are names of `DataType` members.
    """

    def __init__(self, module: Module, target: Target, network: Any, log: Any) -> None:
        super().__init__(module, target.capabilities)
        self.target = target
        self.trt: Any = target.module
        self.net: Any = network
        self.log = log
        self.keepalive: list[Any] = []
        self.records: list[LayerRecord] = []
        self.node: oir.Node | None = None
        self._mark = log.mark()
        self.unreadable: dict[str, np.ndarray] = {}
        self._pending: dict[str, np.ndarray] = {}
        #: What the engine holds otherwise than the model says.
        self.notes: list[str] = []
        self.plugins: dict[str, Meaning] = {}
        self._names: set[str] = set()
        self._shared: dict[Any, Any] = {}

    # ---- errors

    def begin(self, node: oir.Node | None) -> None:
        """From here on layers belong to `node`, and so do TensorRT's messages."""
        self.node = node
        self._mark = self.log.mark()

    def error(self, code: str, message: str, help: str | None = None) -> DiagnosticError:
        """A diagnostic at the node being emitted, with what TensorRT logged meanwhile."""
        node = self.node
        said = self.log.errors(self._mark)
        return DiagnosticError(
            Diagnostic(
                code,
                f"{node.op_type}: {message}" if node is not None else message,
                node=node.name if node is not None else None,
                file=str(self.module.path) if self.module.path is not None else None,
                notes=tuple(f"TensorRT: {text}" for text in said),
                help=help,
                data={"op": node.op_type if node is not None else None, "tensorrt": list(said)},
            )
        )

    # ---- layers

    def layer(self, made: Any, part: str = "", inputs: Mapping[int, Any] | None = None, **properties: Any) -> Any:
        """Take a new layer into the network: name, provenance, further inputs, properties; its shapes are read.

        `part` names what the layer is within its node. Raises T0702 when TensorRT did not make the layer or finds
        later that it is wrong, T0703 when it kept an old value of a property.
        """
        name = self._layer_name(part)
        pending, self._pending = self._pending, {}
        if made is None:
            raise self.error("T0702", f"TensorRT refused the layer `{name}`")
        self.unreadable |= {f"{name}:{role}" if role else name: array for role, array in pending.items()}
        made.name = name
        if self.caps.metadata:
            made.metadata = self._metadata()
        for index, tensor in (inputs or {}).items():
            made.set_input(index, tensor)
        for key, value in properties.items():
            self.set(made, key, value)
        try:
            for at in range(made.num_outputs):
                tuple(made.get_output(at).shape)
        except (RuntimeError, ValueError) as error:
            raise self.error("T0702", f"TensorRT refused the layer `{name}`: {_first_line(error)}") from error
        node = self.node
        self.records.append(
            LayerRecord(
                name,
                type(made).__name__.removeprefix("I").removesuffix("Layer"),
                (node.name or "") if node is not None else "",
                node.op_type if node is not None else "",
                origins(node) if node is not None else (),
                rule(node) if node is not None else None,
            )
        )
        return made

    def add(self, made: Any, part: str = "", inputs: Mapping[int, Any] | None = None, **properties: Any) -> Any:
        """`layer`, giving its first output."""
        return self.layer(made, part, inputs, **properties).get_output(0)

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set a property and read it back: TensorRT's setters log and keep the old value instead of raising."""
        try:
            setattr(owner, name, value)
        except (TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise self.error("T0703", f"TensorRT refused {name} = {_text(value)}: {_first_line(error)}") from error
        kept = getattr(owner, name)
        if not _same(value, kept):
            raise self.error("T0703", f"TensorRT refused {name} = {_text(value)} and kept {_text(kept)}")

    def _layer_name(self, part: str) -> str:
        node = self.node
        base = (node.name or node.op_type) if node is not None else ""
        name = fitting(f"{base}/{part}" if part and base else part or base or "layer")
        count = 2
        unique = name
        while unique in self._names:
            unique = f"{name}_{count}" if part else f"{name}/{count}"
            count += 1
        self._names.add(unique)
        return unique

    def _metadata(self) -> str:
        node = self.node
        if node is None:
            return "{}"
        data: dict[str, Any] = {"op": node.op_type, "origins": list(origins(node))}
        if (made_by := rule(node)) is not None:
            data["rule"] = made_by
        return json.dumps(data, separators=(",", ":"), ensure_ascii=False)

    # ---- types

    def type(self, name: str) -> Any:
        """The `DataType` member of a name."""
        return getattr(self.trt.DataType, name)

    def engine_type(self, value: oir.Value) -> str:
        """The name of the type that the engine carries a value in (checked to exist before emission).

        uint8 exists at the edges of a network only: within it is int32.
        """
        name = self.carrier(self.dtype(value))
        assert name is not None
        if name == "UINT8" and not (value.is_graph_input() or value.is_graph_output()):
            return "INT32"
        return name

    @staticmethod
    def type_of(tensor: Any) -> str:
        return tensor.dtype.name

    # ---- constants

    def constant(self, array: Any, dtype: str, part: str = "constant", shape: tuple[int, ...] | None = None) -> Any:
        """A constant tensor; equal small ones are one layer."""
        data = convert(np.asarray(array), dtype, part)
        if shape is not None:
            data = data.reshape(shape)
        key = None
        if data.nbytes <= _SHARED_BYTES:
            key = (dtype, data.shape, hashlib.sha256(data.tobytes()).digest())
            if key in self._shared:
                return self._shared[key]
        tensor = self._constant(data, dtype, part)
        if key is not None:
            self._shared[key] = tensor
        return tensor

    def _constant(self, data: np.ndarray, dtype: str, part: str) -> Any:
        stored = dtype
        if (dtype == "BOOL" and not self.caps.bool_constants) or dtype == "UINT8":
            # Neither may be a constant there: an INT32 constant and a cast.
            stored = "INT32"
            data = data.astype(NUMPY[stored])
        made = self.net.add_constant(data.shape, self.weights(data, stored))
        tensor = self.add(made, part)
        return tensor if stored == dtype else self.cast(tensor, dtype, f"{part}/cast")

    def constants(self) -> set[Any]:
        """The shared constants: other nodes may use them too."""
        return set(self._shared.values())

    def weights(self, array: np.ndarray, dtype: str, name: str = "weights", role: str = "") -> Any:
        """`trt.Weights` for the next layer, as its `role`: kernel, bias, scale or shift; none for a constant."""
        data = convert(array, dtype, name)
        if dtype in BY_POINTER:
            self._pending[role] = data
        return weights(self.trt, data, dtype, self.keepalive)

    def no_weights(self, dtype: str) -> Any:
        return self.trt.Weights(self.type(dtype))

    def cast(self, tensor: Any, dtype: str, part: str = "cast") -> Any:
        """`tensor` in another type; itself when it has it."""
        if self.type_of(tensor) == dtype:
            return tensor
        return self.add(self.net.add_cast(tensor, self.type(dtype)), part)


def fitting(name: str) -> str:
    """The name itself, or for one that TensorRT has no room for its beginning and a digest of all of it."""
    data = name.encode()
    if len(data) <= _LONGEST_NAME:
        return name
    return f"{data[: _LONGEST_NAME - 65].decode(errors='ignore')}~{hashlib.sha256(data).hexdigest()}"


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _same(wanted: Any, kept: Any) -> bool:
    if isinstance(wanted, (bool, enum.Enum)):
        return kept == wanted
    if isinstance(wanted, float):
        # Properties are float32.
        return kept is not None and (kept == wanted or np.float32(kept) == np.float32(wanted))
    if isinstance(wanted, (tuple, list)):
        try:
            read = list(kept)
        except TypeError:
            return False
        # A Permutation always has 8 entries.
        return len(read) >= len(wanted) and all(_same(w, k) for w, k in zip(wanted, read, strict=False))
    return bool(kept == wanted)


def _text(value: Any) -> str:
    if isinstance(value, (bool, int, float, str)) or value is None:
        return str(value)
    try:
        return str(tuple(value))
    except TypeError:
        return str(value)
