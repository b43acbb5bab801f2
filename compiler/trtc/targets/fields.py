"""Targets and builder settings as data for the language's vocabulary. Imports no TensorRT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

FieldType = Literal["int", "bool", "bytes", "choice", "choices", "string"]
Mapped = Literal["attribute", "enum", "flag", "pool", "sources"]


@dataclass(frozen=True, slots=True)
class Field:
    """One key of the `builder` block.

    `mapped` and `member` say where the value goes in `IBuilderConfig`: an attribute of that name, an attribute that
    takes a member of the enum `enum`, a `BuilderFlag`, a `MemoryPoolType`, or the mask of tactic sources. For `enum`
    fields and tactic sources a choice is the member's name in lower case. `built` is False for settings that the
    language knows but that this version does not apply: they are refused by name. `low` and `high` are inclusive.
    `default` is what trtc sets when the spec does not; None leaves TensorRT's own default.
    """

    name: str
    type: FieldType
    doc: str
    mapped: Mapped
    member: str
    enum: str | None = None
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()
    default: int | bool | str | None = None
    targets: tuple[str, ...] = ("tensorrt", "tensorrt_rtx")
    built: bool = True


@dataclass(frozen=True, slots=True)
class Option:
    """One key of a `target NAME { … }` block. `choices` are texts, for example `8.6`."""

    name: str
    type: Literal["list of version"]
    doc: str
    choices: tuple[str, ...]
    built: bool = True


@dataclass(frozen=True, slots=True)
class TargetInfo:
    """A TensorRT that a spec may name: which module to import and how to install it.

    `runs_on` are the compute capabilities on which an engine of this target can be loaded ("12.x": any minor).
    """

    name: str
    doc: str
    module: str
    install: str
    builds_without_gpu: bool
    runs_on: tuple[str, ...]
    plugins: bool
    """Whether the network API takes plugins."""
    options: tuple[Option, ...] = ()


#: In the order in which `choose` tries them.
TARGETS: Mapping[str, TargetInfo] = {
    "tensorrt": TargetInfo(
        name="tensorrt",
        doc="NVIDIA TensorRT 8.6, 10.x and 11.x. Needs an NVIDIA GPU, also to build.",
        module="tensorrt",
        install="pip install tensorrt",
        builds_without_gpu=False,
        runs_on=("7.5", "8.x", "9.x", "10.x", "11.x", "12.x"),
        plugins=True,
    ),
    "tensorrt_rtx": TargetInfo(
        name="tensorrt_rtx",
        doc="TensorRT for RTX. Builds on any machine; its engines run on RTX-class GPUs.",
        module="tensorrt_rtx",
        install="pip install tensorrt-rtx-cu13",
        builds_without_gpu=True,
        runs_on=("8.0", "8.6", "8.9", "12.x"),
        plugins=False,
        options=(
            Option(
                name="compute",
                type="list of version",
                doc="The compute capabilities that the engine is compiled for; all that it supports when left out.",
                choices=("7.5", "8.0", "8.6", "8.9", "12.0", "12.1"),
            ),
        ),
    ),
}

_ONLY_TENSORRT = ("tensorrt",)


def _pool(name: str, doc: str, *, built: bool = True, targets: tuple[str, ...] = ("tensorrt", "tensorrt_rtx")) -> Field:
    member = name.upper()
    return Field(name, "bytes", doc, "pool", member, low=0, built=built, targets=targets)


def _later(name: str, type: FieldType, mapped: Mapped, member: str, doc: str) -> Field:
    return Field(name, type, doc, mapped, member, built=False)


_FIELDS = (
    _pool("workspace", "The most scratch memory that a layer may use."),
    _pool("tactic_dram", "The most DRAM that tactics may use while the engine is built."),
    _pool("tactic_shared_memory", "The most shared memory that a tactic may use."),
    _pool("dla_managed_sram", "DLA: software-managed SRAM.", built=False, targets=_ONLY_TENSORRT),
    _pool("dla_local_dram", "DLA: local DRAM.", built=False, targets=_ONLY_TENSORRT),
    _pool("dla_global_dram", "DLA: global DRAM.", built=False, targets=_ONLY_TENSORRT),
    Field(
        "optimization_level",
        "int",
        "How long the builder may search: 0 is fastest to build, 5 the most thorough.",
        "attribute",
        "builder_optimization_level",
        low=0,
        high=5,
    ),
    Field(
        "profiling_verbosity",
        "choice",
        "What a profile and the layer list of the engine show.",
        "enum",
        "profiling_verbosity",
        enum="ProfilingVerbosity",
        choices=("none", "layer_names_only", "detailed"),
        default="detailed",
    ),
    Field(
        "tf32",
        "bool",
        "Let float32 matrix products round their inputs to TF32. Off unless set (TensorRT's own default is on), "
        "so that float32 results compare with the original model.",
        "flag",
        "TF32",
        default=False,
    ),
    Field(
        "tactic_sources",
        "choices",
        "Where tactics may come from; TensorRT's own default when left out. Plugins get no cuDNN without its source.",
        "sources",
        "TacticSource",
        choices=("cublas", "cublas_lt", "cudnn", "edge_mask_convolutions", "jit_convolutions"),
        targets=_ONLY_TENSORRT,
    ),
    Field(
        "strict_nans",
        "bool",
        "Keep NaN and infinity exact: no rewriting of 0·x to 0 or x−x to 0.",
        "flag",
        "STRICT_NANS",
    ),
    _later("refit", "bool", "flag", "REFIT", "Allow the weights to be replaced later."),
    _later("refit_identical", "bool", "flag", "REFIT_IDENTICAL", "Allow refitting with the same weights only."),
    _later("refit_individual", "bool", "flag", "REFIT_INDIVIDUAL", "Allow refitting of marked weights."),
    _later("strip_plan", "bool", "flag", "STRIP_PLAN", "Leave the weights out of the plan."),
    _later("weight_streaming", "bool", "flag", "WEIGHT_STREAMING", "Stream weights from host memory."),
    _later("version_compatible", "bool", "flag", "VERSION_COMPATIBLE", "An engine that newer runtimes load."),
    _later("exclude_lean_runtime", "bool", "flag", "EXCLUDE_LEAN_RUNTIME", "Leave the lean runtime out of the plan."),
    _later("sparse_weights", "bool", "flag", "SPARSE_WEIGHTS", "Use 2:4 structured sparsity."),
    _later("direct_io", "bool", "flag", "DIRECT_IO", "No reformatting at the network's inputs and outputs."),
    _later("gpu_fallback", "bool", "flag", "GPU_FALLBACK", "Let layers that DLA cannot run use the GPU."),
    _later("safety_scope", "bool", "flag", "SAFETY_SCOPE", "Restrict the network to the safety runtime."),
    _later("debug", "bool", "flag", "DEBUG", "Synchronize after every layer."),
    _later("monitor_memory", "bool", "flag", "MONITOR_MEMORY", "Report memory use while building."),
    _later("timing_cache", "string", "attribute", "timing_cache", "A file of kernel timings to reuse."),
    _later("hardware_compatibility", "choice", "enum", "hardware_compatibility_level", "GPUs that the engine fits."),
    _later("runtime_platform", "choice", "enum", "runtime_platform", "The operating system that runs the engine."),
    _later("preview_features", "string", "attribute", "preview_features", "Preview features to switch on."),
    _later("dla_core", "int", "attribute", "DLA_core", "The DLA core to build for."),
    _later("device_type", "choice", "enum", "default_device_type", "GPU or DLA."),
    _later("engine_capability", "choice", "enum", "engine_capability", "Standard, safety or DLA standalone."),
    _later("max_aux_streams", "int", "attribute", "max_aux_streams", "Streams for parallel branches."),
    _later("avg_timing_iterations", "int", "attribute", "avg_timing_iterations", "Timings averaged per tactic."),
    _later("max_num_tactics", "int", "attribute", "max_num_tactics", "The most tactics to try per layer."),
    _later("tiling_optimization_level", "choice", "enum", "tiling_optimization_level", "How hard to search tilings."),
    _later("l2_limit_for_tiling", "bytes", "attribute", "l2_limit_for_tiling", "L2 cache that tiling may use."),
)

#: Every key of the `builder` block, by name.
BUILDER_FIELDS: Mapping[str, Field] = {field.name: field for field in _FIELDS}


def builder_fields(target: str | None = None) -> tuple[Field, ...]:
    """The builder settings of one target (of all, with None), in the order of their documentation."""
    return tuple(f for f in _FIELDS if target is None or target in f.targets)
