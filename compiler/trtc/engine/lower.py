"""From a module to a network that TensorRT holds, and back to ONNX: the part of a build that needs no engine."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trtc import collector, emit, readback
from trtc.ir.module import Module
from trtc.targets import Target

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.emit import Emission


@dataclass(frozen=True, slots=True)
class Lowered:
    """A filled network with its builder. Weights live as long as this does: drop it after the build."""

    builder: Any
    network: Any
    emission: Emission
    target: Target

    def read(self) -> oir.Model:
        """The network as ONNX. Its weights are views of the network's."""
        with collector.paused():
            return readback.read(
                self.network,
                self.target.module,
                weights=self.emission.unreadable,
                meanings=self.emission.plugins,
            )


def lower(module: Module, target: Target) -> Lowered:
    """Emit a module into a new network.

    Raises:
        DiagnosticError: T0004 no builder here, T07xx what cannot be emitted.
    """
    builder = target.builder()
    network = target.network(builder)
    with collector.paused():
        return Lowered(builder, network, emit.emit(module, target, network), target)
