"""TensorRT's plugin registry: what is in it, and how more gets in. Every process that builds or loads needs the same.

Standard plugins come with TensorRT. A library, or a class in Python, is code: the caller asks for permission first.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import contextlib
import ctypes
import importlib
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.targets.fields import TARGETS
from trtc.targets.target import installed, status

_INITIALIZED: set[str] = set()
_LOADED: dict[tuple[str, str], Any] = {}
#: Creators made here: the registry keeps a pointer, not the object.
_KEPT: list[Any] = []


@dataclass(frozen=True, slots=True)
class PluginCode:
    """Code that brings plugins: shared libraries by path, and classes by `module:Class`.

    Modules are looked for in `folders` before anywhere else.
    """

    libraries: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def to_json(self) -> dict[str, list[str]]:
        return {"libraries": list(self.libraries), "classes": list(self.classes), "folders": list(self.folders)}

    @classmethod
    def from_json(cls, data: Mapping[str, Sequence[str]]) -> PluginCode:
        return cls(tuple(data["libraries"]), tuple(data["classes"]), tuple(data["folders"]))


@dataclass(frozen=True, slots=True)
class Creator:
    """A creator in the registry. `version_3`: it makes plugins of the interface V3."""

    name: str
    version: str
    namespace: str
    version_3: bool
    handle: Any = field(repr=False)

    def fields(self) -> dict[str, str]:
        """Names and types of the fields that the creator takes; the values that TensorRT holds there mean nothing."""
        names = self.handle.field_names
        return {} if names is None else {str(one.name): one.type.name for one in names}

    @property
    def text(self) -> str:
        return f"`{self.name}` version {self.version}" + (f" of namespace `{self.namespace}`" if self.namespace else "")


def has_plugins(name: str | None = None) -> bool | None:
    """Whether a target takes plugins through its network API; with None the target that `choose` would take.

    None when there is no such target here. Imports no TensorRT: a named target is looked up, the choice asks `status`,
    which asks a child process once, and only as far as the answer needs.
    """
    if name is not None:
        return TARGETS[name].plugins
    left = list(TARGETS.values())
    while any(info.plugins for info in left):
        info = left.pop(0)
        if status(info.name).can_build:
            return info.plugins
    return False if any(installed(info) for info in left) else None


def registry(trt: Any, logger: Any) -> Any:
    """The plugin registry with TensorRT's standard plugins in it."""
    if trt.__name__ not in _INITIALIZED:
        _INITIALIZED.add(trt.__name__)
        with contextlib.suppress(Exception):  # libnvinfer_plugin may not be installed: then there are none of it
            trt.init_libnvinfer_plugins(logger, "")
    return trt.get_plugin_registry()


def creators(trt: Any, logger: Any) -> list[Creator]:
    """Everything in the registry, sorted by name, version and namespace."""
    found = registry(trt, logger)
    listed = getattr(found, "all_creators", None)
    if listed is None:
        listed = found.plugin_creator_list
    made = [_creator(trt, handle) for handle in listed]
    return sorted(made, key=lambda c: (c.name, c.version, c.namespace))


def find(trt: Any, logger: Any, name: str, version: str, namespace: str) -> Creator | None:
    """The creator of that name, None when the registry has none."""
    found = registry(trt, logger)
    # `get_creator` came with 10.0; `get_plugin_creator`, which knows creators of V2 only, went with 11.0.
    get = getattr(found, "get_creator", None) or found.get_plugin_creator
    handle = get(name, version, namespace)
    return None if handle is None else _creator(trt, handle)


def _creator(trt: Any, handle: Any) -> Creator:
    classes = [getattr(trt, name, None) for name in ("IPluginCreatorV3One", "IPluginCreatorV3Quick")]
    newer = tuple(cls for cls in classes if cls is not None)
    return Creator(
        str(handle.name),
        str(handle.plugin_version),
        str(handle.plugin_namespace or ""),
        isinstance(handle, newer),
        handle,
    )


def load_code(trt: Any, logger: Any, code: PluginCode) -> None:
    """Bring the plugins of `code` into the registry. Loading the same twice does nothing.

    Raises:
        DiagnosticError: T0710 a library or a class that cannot be loaded or registered.
    """
    found = registry(trt, logger) if code.libraries or code.classes else None
    for path in code.libraries:
        if (trt.__name__, path) not in _LOADED:
            _LOADED[trt.__name__, path] = _library(found, logger, path)
    for place in code.classes:
        if (trt.__name__, place) not in _LOADED:
            _LOADED[trt.__name__, place] = _class(trt, found, logger, place, code.folders)


def _library(found: Any, logger: Any, path: str) -> Any:
    if not Path(path).is_file():
        raise DiagnosticError(Diagnostic("T0710", f"there is no plugin library `{path}`", file=path))
    mark = logger.mark()
    load = getattr(found, "load_library", None)
    handle = load(path) if load is not None else None
    if handle is not None:
        return handle
    # Older libraries register their creators when they are loaded, and have nothing for `load_library`.
    try:
        return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise DiagnosticError(
            Diagnostic(
                "T0710",
                f"the plugin library `{path}` cannot be loaded: {error}",
                file=path,
                notes=tuple(f"TensorRT: {text}" for text in logger.errors(mark)),
                help="`ldd` shows which libraries it lacks; it must be built for this TensorRT",
            )
        ) from error


def _class(trt: Any, found: Any, logger: Any, place: str, folders: Sequence[str]) -> Any:
    module_name, _, class_name = place.partition(":")
    before = list(sys.path)
    sys.path[:0] = folders
    try:
        cls = getattr(importlib.import_module(module_name), class_name)
    except Exception as error:
        raise DiagnosticError(
            Diagnostic(
                "T0710",
                f"`{place}` cannot be loaded: {type(error).__name__}: {error}",
                help="write it `module:Class`; modules are looked for beside the spec first",
            )
        ) from error
    finally:
        sys.path[:] = before
    mark = logger.mark()
    try:
        creator = cls() if hasattr(cls, "create_plugin") else _wrapped(trt, cls)
        done = found.register_creator(creator, str(getattr(creator, "plugin_namespace", "") or ""))
    except Exception as error:
        raise _unregistered(place, f"{type(error).__name__}: {error}", logger.errors(mark)) from error
    if not done:
        raise _unregistered(place, "the registry has a creator of that name and version", logger.errors(mark))
    _KEPT.append(creator)
    return creator


def _unregistered(place: str, reason: str, said: Sequence[str]) -> DiagnosticError:
    return DiagnosticError(
        Diagnostic(
            "T0710",
            f"`{place}` cannot be registered as a plugin: {reason}",
            notes=tuple(f"TensorRT: {text}" for text in said),
            help="name a class of IPluginCreatorV3One, or one of IPluginV3 whose constructor takes the fields by name",
        )
    )


def _wrapped(trt: Any, cls: Any) -> Any:
    """A creator for a class of IPluginV3: its constructor takes the fields by name, as TensorRT hands them over.

    `plugin_name`, `plugin_version` and `plugin_namespace` of the class name it; without them it is called as the class.
    """
    if not isinstance(cls, type) or not issubclass(cls, trt.IPluginV3):
        raise TypeError("it is neither a creator nor a class of IPluginV3")
    parameters = list(inspect.signature(cls).parameters)

    class Made(trt.IPluginCreatorV3One):
        def __init__(self) -> None:
            trt.IPluginCreatorV3One.__init__(self)
            self.name = str(getattr(cls, "plugin_name", cls.__name__))
            self.plugin_version = str(getattr(cls, "plugin_version", "1"))
            self.plugin_namespace = str(getattr(cls, "plugin_namespace", ""))
            self.field_names = trt.PluginFieldCollection([trt.PluginField(name) for name in parameters])

        def create_plugin(self, name: str, fields: Any, phase: Any) -> Any:
            return cls(**{one.name: one.data for one in fields})

    return Made()
