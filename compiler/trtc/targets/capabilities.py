"""What one TensorRT can do, as one table. Nothing outside this room asks for a version."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from typing import Any

_METHODS = re.compile(r"^add_")
#: Enums of which `emit` asks "is there such a member?".
_ENUMS = (
    "ActivationType",
    "UnaryOperation",
    "ElementWiseOperation",
    "ReduceOperation",
    "SampleMode",
    "PaddingMode",
    "InterpolationMode",
    "ResizeRoundMode",
    "GatherMode",
    "ScatterMode",
    "FillOperation",
    "ComputeCapability",
    "BuilderFlag",
    "MemoryPoolType",
)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Read from the module where it shows (methods, enum members, signatures), from the generation where not.

    `dtypes` are the names of `DataType` members that may be tensors of a network (FP8 and below only around
    quantization). `shape_dtype` is the type of `IShapeLayer`'s output, and so of shape arithmetic. Names of layers
    are those of `add_*` without the prefix.
    """

    generation: tuple[int, int]
    """TensorRT generation, for messages only; TensorRT RTX counts as the generation whose API it has."""
    strongly_typed: bool
    network_flags: int
    """What `Builder.create_network` is given."""
    dtypes: frozenset[str]
    shape_dtype: str
    layers: frozenset[str] = field(repr=False)
    members: frozenset[str] = field(repr=False)
    """`Enum.MEMBER` for every member of the enums that emission chooses from."""
    fill_output_type: bool
    """add_fill(shape, op, output_type); otherwise `set_output_type` on the layer."""
    quantize_output_type: bool
    """add_quantize(input, scale, output_type); otherwise (input, scale)."""
    topk_indices_type: bool
    """add_topk(..., indices_type): indices as INT64 without a cast."""
    squeeze_layer: bool
    cumulative: bool
    normalization_v2: bool
    attention: str | None
    """`attention_v2`, `attention` or None."""
    rope: bool
    slice_axes: bool
    plugins: bool
    metadata: bool
    dimension_names: bool
    int_unary: frozenset[str]
    """Unary operations that take integers."""
    int_pow: bool
    einsum_general: bool
    """Einsum takes more than two operands, and diagonals."""
    grid_sample_3d: bool
    int_relu: bool
    bool_constants: bool
    compute_precision: bool
    """INormalizationLayer.compute_precision exists."""
    set_output_type: bool
    compute_capabilities: bool
    """IBuilderConfig.set_compute_capability exists."""
    runs_on: tuple[str, ...]
    can_build_without_gpu: bool

    def has(self, member: str) -> bool:
        """Whether an enum has a member, as `ActivationType.GELU_ERF`."""
        return member in self.members

    @classmethod
    def of(cls, trt: Any, *, runs_on: tuple[str, ...], can_build_without_gpu: bool) -> Capabilities:
        """The table of an imported module (or of an object that looks like one)."""
        network = trt.INetworkDefinition
        layers = frozenset(name.removeprefix("add_") for name in dir(network) if _METHODS.match(name))
        members = frozenset(
            f"{enum}.{member}" for enum in _ENUMS for member in getattr(getattr(trt, enum, None), "__members__", ())
        )
        generation = _generation(trt)
        flags = dict(getattr(trt.NetworkDefinitionCreationFlag, "__members__", {}))
        strongly_typed = "STRONGLY_TYPED" in flags
        new_api = generation >= (10, 0)
        # From 10.0 explicit batch is the only mode, and its flag deprecated or gone.
        wanted = "STRONGLY_TYPED" if strongly_typed else "EXPLICIT_BATCH"
        network_flags = 1 << int(flags[wanted]) if wanted in flags else 0
        dtypes = frozenset(trt.DataType.__members__)
        ints = {"SIGN"}
        if generation >= (9, 0):
            ints.add("ABS")
        if generation >= (11, 0):
            ints.add("NEG")
        return cls(
            generation=generation,
            strongly_typed=strongly_typed,
            network_flags=network_flags,
            dtypes=dtypes,
            shape_dtype="INT64" if new_api and "INT64" in dtypes else "INT32",
            layers=layers,
            members=members,
            fill_output_type=_accepts(network, "add_fill", "output_type"),
            quantize_output_type=_accepts(network, "add_quantize", "output_type"),
            topk_indices_type=_accepts(network, "add_topk", "indices_type"),
            squeeze_layer="squeeze" in layers and "unsqueeze" in layers,
            cumulative="cumulative" in layers,
            normalization_v2="normalization_v2" in layers,
            attention=next((name for name in ("attention_v2", "attention") if name in layers), None),
            rope="rotary_embedding" in layers,
            slice_axes=hasattr(trt.ISliceLayer, "axes"),
            plugins="plugin_v3" in layers or "plugin_v2" in layers,
            metadata=hasattr(trt.ILayer, "metadata"),
            dimension_names=hasattr(trt.ITensor, "set_dimension_name"),
            int_unary=frozenset(ints),
            int_pow=generation >= (10, 13),
            einsum_general=generation >= (11, 0),
            grid_sample_3d=generation >= (11, 0),
            int_relu=generation >= (10, 0),
            # The header of 8.6 excludes BOOL constants: an INT32 constant and a cast.
            bool_constants=new_api,
            compute_precision=hasattr(getattr(trt, "INormalizationLayer", None), "compute_precision"),
            set_output_type=hasattr(trt.ILayer, "set_output_type"),
            compute_capabilities=hasattr(trt.IBuilderConfig, "set_compute_capability"),
            runs_on=runs_on,
            can_build_without_gpu=can_build_without_gpu,
        )


def _generation(trt: Any) -> tuple[int, int]:
    parts = [int(p) for p in re.findall(r"\d+", str(trt.__version__))[:2]]
    major, minor = [*parts, 0, 0][:2]
    if hasattr(trt.IBuilderConfig, "num_compute_capabilities"):
        # TensorRT RTX 1.x has the network API of TensorRT 11.
        return (11, 1)
    return (major, minor)


def _accepts(owner: Any, method: str, parameter: str) -> bool:
    """Whether some overload of a method has a parameter: pybind writes the signatures into the docstring."""
    function = getattr(owner, method, None)
    if function is None:
        return False
    if f"{parameter}:" in (function.__doc__ or ""):
        return True
    try:
        return parameter in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
