"""The `onnx.backend` interface: compile, read the network back, run it on the CPU.

What runs is the TensorRT network as it was emitted, so a wrong emitter gives a wrong answer; no engine is built
unless asked for, since no engine runs on a CPU.

    import trtc.backend
    outputs = trtc.backend.run_model(onnx.load("model.onnx"), [x])
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportIncompatibleMethodOverride=false, reportUntypedBaseClass=false

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx_ir as oir
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep, Device, DeviceType, namedtupledict

from trtc import ir, targets
from trtc.diagnostics import Diagnostic, DiagnosticError, plural
from trtc.driver.front import PreparedModel, prepare_module
from trtc.engine.lower import Lowered, lower
from trtc.evaluate import session
from trtc.verify.interface import Interface
from trtc.verify.runners import ValueDoesNotFit, cast_exact, feed_value, fetch_value, ort_dtype

if TYPE_CHECKING:
    from trtc.driver.spec import Triple

__all__ = [
    "Backend",
    "Compiled",
    "PrecisionWarning",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]


class Compiled(BackendRep):
    """A compiled model that answers with the names and dtypes of the original."""

    def __init__(self, lowered: Lowered, interface: Interface, plan: bytes | None) -> None:
        self.interface = interface
        self.layers = lowered.emission.layers
        self.bindings = lowered.emission.bindings
        self.plan = plan
        """The bytes of the engine when `build=True`, else None."""
        # By a file: a protobuf in memory ends at 2 GB, and its weights would be there twice.
        with tempfile.TemporaryDirectory(prefix="trtc-backend-") as folder:
            path = Path(folder) / "network.onnx"
            ir.save(lowered.read(), path)
            self._session = session(path)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Outputs in the order of the model, as a namedtuple. `inputs`: arrays in order, or a dict by name.

        Raises:
            DiagnosticError: T0572 arrays that do not fit the inputs, T0705 a value that the network's type cannot
                hold, T0903 the network does not run on them.
        """
        feeds = self._feeds(inputs)
        try:
            ready = {
                i.name: feed_value(cast_exact(i.name, np.asarray(feeds[i.name]), ort_dtype(i.type)))
                for i in self._session.get_inputs()
            }
        except ValueDoesNotFit as error:
            raise DiagnosticError(Diagnostic("T0705", str(error))) from None
        names = list(self.interface.outputs)
        try:
            values = self._session.run_with_ort_values(names, ready)
        except Exception as error:
            reason = str(error).splitlines()[0]
            raise DiagnosticError(Diagnostic("T0903", f"the network does not run on these inputs: {reason}")) from error
        answers = [cast_exact(n, fetch_value(v), self.interface.outputs[n]) for n, v in zip(names, values, strict=True)]
        return namedtupledict("Outputs", names)(*answers)

    def _feeds(self, inputs: Any) -> dict[str, Any]:
        wanted = self.interface.inputs
        if isinstance(inputs, Mapping):
            feeds: dict[str, Any] = dict(inputs)
        else:
            given = inputs if isinstance(inputs, Sequence) and not isinstance(inputs, str) else [inputs]
            if len(given) != len(wanted):
                raise DiagnosticError(
                    Diagnostic(
                        "T0572",
                        f"the model has {plural(len(wanted), 'input')}, given {len(given)}",
                        help=f"inputs in order: {', '.join(wanted)}",
                    )
                )
            feeds = dict(zip(wanted, given, strict=True))
        missing = [name for name in wanted if name not in feeds]
        if missing:
            raise DiagnosticError(
                Diagnostic("T0572", f"there is no array for {', '.join(f'the input `{name}`' for name in missing)}")
            )
        return feeds


class PrecisionWarning(UserWarning):
    """The network computes in a lower precision than the model; `trtc compile` measures what that costs."""


class Backend(_Backend):
    """See the module."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model compiles."""
        try:
            cls.prepare(model, device, **kwargs)
        except DiagnosticError:
            return False
        return True

    @classmethod
    def prepare(
        cls,
        model: onnx.ModelProto,
        device: str = "CPU",
        *,
        target: str | None = None,
        dim: Mapping[str, str | int | Triple] | None = None,
        build: bool = False,
        **kwargs: Any,
    ) -> Compiled:
        """Compile a model in memory with the standard pipeline.

        `dim` gives symbolic dims a range (needed only with `build=True`, which also builds the engine).

        Raises:
            DiagnosticError: what is wrong with the model, or cannot be emitted.
        """
        chosen = targets.choose(target)
        prepared: PreparedModel = prepare_module(ir.load_proto(model), dim)
        module = prepared.module
        if any(module.dtype(v) == oir.DataType.DOUBLE for n in module.graph for v in n.outputs):
            message = "the model computes in float64, TensorRT in float32: what float64 was needed for is lost"
            warnings.warn(message, PrecisionWarning, stacklevel=2)
        lowered = lower(module, chosen)
        plan = prepared.build(lowered) if build else None
        return Compiled(lowered, prepared.interface, plan)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Compile and run once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Compile and run one node on arrays; the opset is `opset_version` (default: the newest trtc knows)."""
        arrays = [np.asarray(a) for a in inputs]
        names = [name for name in node.input if name]
        infos = [
            onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(a.dtype), list(a.shape))
            for n, a in zip(names, arrays, strict=True)
        ]
        outs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        opset = onnx.helper.make_opsetid(node.domain, int(kwargs.pop("opset_version", ir.OPSET)))
        graph = onnx.helper.make_graph([node], "node", infos, outs)
        model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=ir.IR_VERSION)
        return cls.prepare(model, device, **kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """The CPU only: this backend runs the network that was emitted, not an engine."""
        return Device(device).type == DeviceType.CPU


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
