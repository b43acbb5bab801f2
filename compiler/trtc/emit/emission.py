"""What emission hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trtc.ir.plugins import Meaning


@dataclass(frozen=True, slots=True)
class Binding:
    """An input or output of the network.

    `model_dtype` is the ONNX name of the model's type (`INT64`), `engine_dtype` the name of TensorRT's (`INT32`):
    they say the same thing in two vocabularies unless `differs`. `shape` is text: numbers and names of dims.
    """

    name: str
    is_input: bool
    model_dtype: str
    engine_dtype: str
    shape: tuple[str, ...]
    differs: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "input": self.is_input,
            "model_dtype": self.model_dtype,
            "engine_dtype": self.engine_dtype,
            "shape": [int(size) if size.isdigit() else size for size in self.shape],
            "differs": self.differs,
        }


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """A layer of the network, and the nodes of the original model that it comes from."""

    name: str
    type: str
    node: str
    op: str
    origins: tuple[str, ...]
    rule: str | None


@dataclass(frozen=True, slots=True)
class Emission:
    """A filled network. `keepalive` owns the memory of the weights: drop it only after the engine is built."""

    network: Any = field(repr=False)
    bindings: tuple[Binding, ...]
    layers: tuple[LayerRecord, ...]
    notes: tuple[str, ...]
    """Remarks: what the engine holds otherwise than the model."""
    keepalive: list[Any] = field(repr=False)
    unreadable: Mapping[str, np.ndarray] = field(repr=False)
    """Weights of types that TensorRT does not give back (bfloat16, float8): under the name of a constant layer, or
    `layer:kernel`, `layer:bias`, `layer:scale`, `layer:shift`. What `readback.read` takes as `weights`."""
    plugins: Mapping[str, Meaning] = field(repr=False)
    """What each layer that is a plugin stands for, by its name. What `readback.read` takes as `meanings`."""
