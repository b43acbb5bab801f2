"""A TensorRT with plugins, for machines that have TensorRT for RTX only: its real module and network, and around them a
registry and `add_plugin_*` that answer as those of TensorRT 8.6 and 10 do.

What a plugin computes is built of real layers that stay out of sight: the network shows one plugin layer, whose outputs
are theirs. As in TensorRT a field holds the address of its array and not the array, a missing creator and a failed
`create_plugin` are None.
"""

from __future__ import annotations

import ctypes
import dataclasses
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorrt_rtx as trt

from trtc import targets

_SIZES = {"FLOAT32": 4, "FLOAT16": 2, "FLOAT64": 8, "INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8, "CHAR": 1}
_NUMPY = {"FLOAT32": np.float32, "INT32": np.int32, "INT8": np.int8, "FLOAT64": np.float64, "INT64": np.int64}


class PluginField:
    """The address, the count and the type: TensorRT copies nothing and holds nothing."""

    def __init__(self, name: Any = "", data: Any = None, type: Any = trt.PluginFieldType.UNKNOWN) -> None:
        self.name = str(getattr(name, "text", name))
        self.type = type
        self.alive = weakref.ref(data) if data is not None else lambda: None
        self.address = data.ctypes.data if data is not None else 0
        self.size = data.size if data is not None else 0

    def read(self) -> Any:
        """What a plugin finds at the address."""
        assert self.alive() is not None, f"the array of {self.name} is gone"
        if self.type.name == "DIMS":
            return tuple(np.frombuffer(ctypes.string_at(self.address, 72), np.int64)[1 : 1 + self.count()].tolist())
        data = ctypes.string_at(self.address, self.size * _SIZES[self.type.name])
        if self.type.name == "CHAR":
            assert ctypes.string_at(self.address + self.size, 1) == b"\0"
            return data.decode()
        return np.frombuffer(data, _NUMPY[self.type.name]).tolist()

    def count(self) -> int:
        return int.from_bytes(ctypes.string_at(self.address, 4), "little")


class FallbackString:
    def __init__(self, text: str) -> None:
        self.text = text


@dataclass
class Creator:
    """A creator of the interface V2. `compute(network, inputs, fields)` adds the layers that stay out of sight."""

    name: str
    takes: Mapping[str, str]
    compute: Callable[[Any, list[Any], dict[str, Any]], list[Any]]
    plugin_version: str = "1"
    plugin_namespace: str = ""
    required: tuple[str, ...] = ()
    made: list[Any] = field(default_factory=list)

    @property
    def field_names(self) -> list[PluginField]:
        return [PluginField(name, None, getattr(trt.PluginFieldType, kind)) for name, kind in self.takes.items()]

    def create_plugin(self, name: str, fields: Iterable[PluginField]) -> Any:
        values = {one.name: one.read() for one in fields}
        if any(one not in values for one in self.required):
            return None
        plugin = SimpleNamespace(
            plugin_type=self.name, plugin_version=self.plugin_version, fields=values, creator=self, label=name
        )
        self.made.append(plugin)
        return plugin


class IPluginCreatorV3One(Creator):
    """A creator of the interface V3: it wants a phase."""

    def create_plugin(self, name: str, fields: Iterable[PluginField], phase: str) -> Any:  # type: ignore[override]
        assert phase == "build"
        return super().create_plugin(name, fields)


class Registry:
    """That of TensorRT 10 when `newer`; of 8.6 otherwise."""

    def __init__(self, creators: list[Creator], newer: bool) -> None:
        self._creators = creators
        if newer:
            self.get_creator = self._get
            self.all_creators = creators
            self.register_creator = self._register
        else:
            self.get_plugin_creator = self._get
            self.plugin_creator_list = creators
        self.loaded: list[str] = []

    def _get(self, name: str, version: str, namespace: str = "") -> Any:
        wanted = (name, version, namespace)
        found = [c for c in self._creators if (c.name, c.plugin_version, c.plugin_namespace) == wanted]
        return found[0] if found else None

    def _register(self, creator: Any, namespace: str = "") -> bool:
        if self._get(creator.name, creator.plugin_version, namespace) is not None:
            return False
        self._creators.append(creator)
        return True

    def load_library(self, path: str) -> Any:
        self.loaded.append(path)
        return None


class PluginLayer:
    """`IPluginV2Layer` or `IPluginV3Layer`."""

    def __init__(self, kind: str, inputs: list[Any], outputs: list[Any], plugin: Any) -> None:
        self.kind, self.plugin = kind, plugin
        self._inputs, self._outputs = inputs, outputs
        self.name, self.metadata = "", ""
        self.num_inputs, self.num_outputs = len(inputs), len(outputs)

    def get_input(self, index: int) -> Any:
        return self._inputs[index]

    def get_output(self, index: int) -> Any:
        return self._outputs[index]


class _Type:
    """`ILayer.type`, of real layers and of ours."""

    def __get__(self, handle: Any, owner: Any = None) -> Any:
        if handle is None:
            return self
        return SimpleNamespace(name=handle.kind) if isinstance(handle, PluginLayer) else trt.ILayer.type.__get__(handle)


class Network:
    """A real network that shows plugin layers in the place of the layers that stand for them."""

    def __init__(self, real: Any, newer: bool) -> None:
        self._real = real
        self._shown: list[Any] = []
        self._seen = 0
        if newer:
            self.add_plugin_v3 = lambda inputs, shapes, plugin: self._plugin("PLUGIN_V3", inputs, plugin)
        self.add_plugin_v2 = lambda inputs, plugin: self._plugin("PLUGIN_V2", inputs, plugin)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def _plugin(self, kind: str, inputs: list[Any], plugin: Any) -> PluginLayer:
        self._catch_up()
        outputs = plugin.creator.compute(self._real, inputs, plugin.fields)
        self._seen = self._real.num_layers
        layer = PluginLayer(kind, inputs, outputs, plugin)
        self._shown.append(layer)
        return layer

    def _catch_up(self) -> None:
        self._shown += range(self._seen, self._real.num_layers)
        self._seen = self._real.num_layers

    @property
    def num_layers(self) -> int:
        self._catch_up()
        return len(self._shown)

    def get_layer(self, index: int) -> Any:
        self._catch_up()
        found = self._shown[index]
        return self._real.get_layer(found) if isinstance(found, int) else found


class Module:
    """The module: TensorRT for RTX but for what has to do with plugins."""

    def __init__(self, creators: list[Creator], newer: bool) -> None:
        self.__name__ = "tensorrt_rtx"
        self.registry = Registry(creators, newer)
        self.newer = newer
        self.PluginField, self.FallbackString = PluginField, FallbackString
        self.PluginFieldCollection = list
        self.IPluginV2Layer = self.IPluginV3Layer = PluginLayer
        self.ILayer = type("ILayer", (), {"type": _Type()})
        if newer:
            self.IPluginCreatorV3One = IPluginCreatorV3One
            self.TensorRTPhase = SimpleNamespace(BUILD="build")
        else:
            self.IPluginCreatorV3One = None

    def __getattr__(self, name: str) -> Any:
        return getattr(trt, name)

    def get_plugin_registry(self) -> Registry:
        return self.registry


def target(*creators: Creator, newer: bool = False) -> targets.Target:
    """A target `tensorrt` whose registry holds these creators."""
    real = targets.load("tensorrt_rtx")
    table = dataclasses.replace(real.capabilities, plugins=True)
    return targets.Target("tensorrt", "10.3.0" if newer else "8.6.0", Module(list(creators), newer), table)


def network(of: targets.Target) -> tuple[Any, Any]:
    """A builder and an empty network."""
    builder = trt.Builder(of.logger)
    return builder, Network(builder.create_network(of.capabilities.network_flags), of.module.newer)
