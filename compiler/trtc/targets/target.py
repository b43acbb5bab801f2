"""Importing a TensorRT, finding out what can build on this machine, choosing one."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import subprocess
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from trtc.child import run_code
from trtc.diagnostics import Diagnostic, DiagnosticError, suggest
from trtc.targets.capabilities import Capabilities
from trtc.targets.fields import TARGETS, TargetInfo

_PROBE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """What this machine can do with one target; `reason` says why it cannot build, and is None when it can."""

    name: str
    installed: bool
    version: str | None
    can_build: bool
    reason: str | None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "installed": self.installed,
            "version": self.version,
            "can_build": self.can_build,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Target:
    """An imported TensorRT and its table of capabilities. Everything below `targets` works through this."""

    name: str
    version: str
    module: Any = field(repr=False)
    capabilities: Capabilities = field(repr=False)

    @property
    def info(self) -> TargetInfo:
        return TARGETS[self.name]

    @property
    def logger(self) -> Any:
        """The one logger of this process (see `targets.logger`)."""
        from trtc.targets.logger import logger

        return logger(self.module)

    def builder(self) -> Any:
        """A new `Builder`; DiagnosticError T0004 when TensorRT cannot make one here."""
        mark = self.logger.mark()
        try:
            made = self.module.Builder(self.logger)
        except Exception as error:
            raise DiagnosticError(self._no_builder(str(error), mark)) from error
        if made is None:
            raise DiagnosticError(self._no_builder("no builder", mark))
        return made

    def _no_builder(self, reason: str, mark: int) -> Diagnostic:
        return Diagnostic(
            "T0004",
            f"{self.name} {self.version} cannot make a builder on this machine: {reason.splitlines()[0]}",
            notes=self.logger.errors(mark),
            help=_BUILD_HELP[self.name],
        )

    def network(self, builder: Any) -> Any:
        """A new empty network, strongly typed where the target can."""
        return builder.create_network(self.capabilities.network_flags)

    def compute_capability(self, text: str) -> Any:
        """The enum member of a compute capability such as `8.6`; DiagnosticError T0006 when there is none."""
        member = "SM" + text.replace(".", "")
        if not self.capabilities.has(f"ComputeCapability.{member}"):
            known = [
                f"{m.removeprefix('ComputeCapability.SM')[:-1]}.{m[-1]}"
                for m in sorted(self.capabilities.members)
                if m.startswith("ComputeCapability.SM")
            ]
            raise DiagnosticError(
                Diagnostic(
                    "T0006",
                    f"{self.name} {self.version} cannot build for compute capability {text}",
                    notes=(f"it knows {', '.join(sorted(known, key=float))}",) if known else (),
                    help="leave out `compute`" if not known else None,
                )
            )
        return getattr(self.module.ComputeCapability, member)


_BUILD_HELP = {
    "tensorrt": "TensorRT needs an NVIDIA GPU and driver even to build; "
    "TensorRT for RTX builds without: --target tensorrt_rtx",
    "tensorrt_rtx": "check the installation: pip install --force-reinstall tensorrt-rtx-cu13",
}


@functools.cache
def load(name: str) -> Target:
    """Import a target's module.

    Raises:
        DiagnosticError: T0001 no such target, T0002 not installed, T0003 installed but cannot be imported.
    """
    info = TARGETS.get(name)
    if info is None:
        close = suggest(name, TARGETS)
        raise DiagnosticError(
            Diagnostic(
                "T0001",
                f"unknown target `{name}`",
                notes=(f"targets are {', '.join(TARGETS)}",),
                help=f"did you mean `{close}`?" if close else None,
            )
        )
    require_installed(name)
    module = _import(info)
    capabilities = Capabilities.of(module, runs_on=info.runs_on, can_build_without_gpu=info.builds_without_gpu)
    return Target(name, str(module.__version__), module, capabilities)


def require_installed(name: str) -> None:
    """Raises DiagnosticError T0002 when the module of a target is not there. Imports nothing."""
    info = TARGETS[name]
    if not _installed(info.module):
        raise DiagnosticError(Diagnostic("T0002", f"{name} is not installed", help=info.install))


def installed(info: TargetInfo) -> bool:
    """Whether the module of a target is there; whether it works is another question."""
    return _installed(info.module)


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _import(info: TargetInfo) -> ModuleType:
    try:
        module = importlib.import_module(info.module)
    except Exception as error:  # a broken wheel raises ImportError, OSError, and in 8.x RuntimeError
        raise DiagnosticError(
            Diagnostic(
                "T0003",
                f"{info.name} is installed but cannot be imported: {error}",
                help=f"reinstall it: {info.install.replace('install', 'install --force-reinstall', 1)}",
            )
        ) from error
    if not hasattr(module, "INetworkDefinition"):
        raise DiagnosticError(
            Diagnostic(
                "T0003",
                f"the module `{info.module}` that Python finds is not {info.name}",
                notes=(f"it is {getattr(module, '__file__', None) or 'a folder without code'}",),
                help=info.install,
            )
        )
    return module


_CHILD = """
import importlib, json, sys
answer = {"version": None, "can_build": False, "reason": None}
def say():
    print("\\n@" + json.dumps(answer), flush=True)
try:
    trt = importlib.import_module(sys.argv[1])
    answer["version"] = str(trt.__version__)
    answer["reason"] = "the process that made a builder died"
    say()
    builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
    answer["can_build"], answer["reason"] = True, None
except BaseException as error:
    answer["reason"] = (str(error) or type(error).__name__).strip().splitlines()[0]
say()
"""


@functools.cache
def status(name: str) -> TargetStatus:
    """What this machine can do with one target. Tries in a child process, which may die; never raises for a known
    name."""
    info = TARGETS[name]
    if not _installed(info.module):
        return TargetStatus(name, False, None, False, f"not installed ({info.install})")
    try:
        child = subprocess.run(
            run_code(_CHILD, info.module),
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return TargetStatus(name, True, None, False, f"no answer within {_PROBE_SECONDS} seconds")
    except OSError as error:
        return TargetStatus(name, True, None, False, f"cannot start Python: {error}")
    lines = [line for line in child.stdout.decode(errors="replace").splitlines() if line.startswith("@{")]
    if not lines:
        return TargetStatus(name, True, None, False, f"importing it ended the process (status {child.returncode})")
    answer = json.loads(lines[-1][1:])
    reason: str | None = answer["reason"]
    if reason is not None and not info.builds_without_gpu:
        reason += " (it needs an NVIDIA GPU to build)"
    return TargetStatus(name, True, answer["version"], answer["can_build"], reason)


@functools.cache
def has_gpu() -> bool:
    """Whether the NVIDIA driver is here and sees a GPU. Imports no TensorRT."""
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def probe() -> list[TargetStatus]:
    """The status of every target, in the order of preference."""
    return [status(name) for name in TARGETS]


def choose(name: str | None = None) -> Target:
    """The named target; with None the first that can be imported and can build here.

    Raises:
        DiagnosticError: those of `load`; T0004 the named target cannot build here; T0005 none can.
    """
    if name is not None:
        target = load(name)
        if not target.info.builds_without_gpu and not (found := status(name)).can_build:
            raise DiagnosticError(
                Diagnostic(
                    "T0004",
                    f"{name} {found.version or target.version} cannot build on this machine: {found.reason}",
                    help=_BUILD_HELP[name],
                )
            )
        return target
    seen: list[TargetStatus] = []
    for candidate in TARGETS:
        found = status(candidate)
        if found.can_build:
            return load(candidate)
        seen.append(found)
    raise DiagnosticError(
        Diagnostic(
            "T0005",
            "no TensorRT on this machine can build an engine",
            notes=tuple(f"{s.name}: {s.reason}" for s in seen),
            help=f"{TARGETS['tensorrt_rtx'].install}   (builds without a GPU)",
        )
    )
