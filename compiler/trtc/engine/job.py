"""What is asked of a build and what comes back, as JSON that crosses a pipe."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trtc.targets.plugins import PluginCode


@dataclass(frozen=True, slots=True)
class Profile:
    """An optimization profile: for every input with a dynamic dim, its shape at min, opt and max.

    `values` is the same for inputs whose values decide shapes (shape tensors): flat integers.
    """

    name: str
    shapes: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]
    values: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = field(
        default_factory=dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]
    )


@dataclass(frozen=True, slots=True)
class BuildJob:
    """One emission, read-back and build.

    `model` is an ONNX file in canonical form; `symbols` the declared range of each of its symbolic dims. With no
    `plan` the network is emitted and read back, and no engine is built.
    """

    model: str
    target: str | None
    compute: tuple[str, ...] = ()
    symbols: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    profiles: tuple[Profile, ...] = ()
    builder: Mapping[str, Any] = field(default_factory=dict[str, Any])
    plan: str | None = None
    readback: str | None = None
    code: PluginCode = field(default_factory=PluginCode)
    """Code of plugins that the user allows to be loaded."""

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BuildJob:
        fields = dict(data)
        fields["compute"] = tuple(fields["compute"])
        fields["code"] = PluginCode.from_json(fields["code"])
        fields["symbols"] = {name: (int(low), int(high)) for name, (low, high) in fields["symbols"].items()}
        fields["profiles"] = tuple(
            Profile(p["name"], _triples(p["shapes"]), _triples(p["values"])) for p in fields["profiles"]
        )
        return cls(**fields)


def _triples(data: Mapping[str, Any]) -> dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    return {name: (tuple(low), tuple(opt), tuple(high)) for name, (low, opt, high) in data.items()}


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What the worker made.

    `bindings` are the inputs and outputs of the engine (name, mode, model and engine dtype, shape as text), `layers`
    the layer map (name, type, origins), `log` what TensorRT said at warning level or above, `seconds` by stage.
    """

    target: str
    version: str
    bindings: tuple[Mapping[str, Any], ...]
    layers: tuple[Mapping[str, Any], ...]
    seconds: Mapping[str, float]
    log: tuple[str, ...] = ()
    remarks: tuple[Mapping[str, Any], ...] = ()
    plan_bytes: int = 0
    peak_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BuildResult:
        fields = dict(data)
        for key in ("bindings", "layers", "log", "remarks"):
            fields[key] = tuple(fields[key])
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class BuildEvent:
    """Progress of a worker: `stage` is emit, readback or build; `name` a phase of TensorRT's builder within it."""

    stage: str
    name: str = ""
    step: int = 0
    steps: int = 0
