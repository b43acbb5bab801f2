"""IR to `INetworkDefinition`: one module per operator family, one small function per operator.

Layer names are node names (`conv1`, or `conv1/crop` for a further layer of the node); `ILayer.metadata` says which
nodes of the original model and which rule a layer comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trtc.lazy import exports

if TYPE_CHECKING:
    from trtc.emit.emission import Binding, Emission, LayerRecord
    from trtc.emit.legality import Finding, check, report
    from trtc.emit.network import emit
    from trtc.emit.registry import operators

_HOMES = {
    "Binding": "emission",
    "Emission": "emission",
    "Finding": "legality",
    "LayerRecord": "emission",
    "check": "legality",
    "emit": "network",
    "operators": "registry",
    "report": "legality",
}

__all__ = ["Binding", "Emission", "Finding", "LayerRecord", "check", "emit", "operators", "report"]

__getattr__ = exports(__name__, _HOMES)
