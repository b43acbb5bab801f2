"""Shapes while emitting: numbers where they are known, TensorRT's shape arithmetic where not."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from trtc.emit.layers import Layers

if TYPE_CHECKING:
    from trtc.ir.dims import Dim
    from trtc.ir.module import Module
    from trtc.targets import Target

#: In `reshape`: copy the dim of the input at the same index.
KEEP = object()


class Unknown(Exception):
    """A dim that no tensor of the network has and that cannot be computed from those that it has."""


class Shaping(Layers):
    """Shape tensors are 1-D and of the type `caps.shape_dtype`; one dim is a tensor of shape [1]."""

    def __init__(self, module: Module, target: Target, network: Any, log: Any) -> None:
        super().__init__(module, target, network, log)
        self._shape_of: dict[Any, Any] = {}
        self._dim_of: dict[tuple[Any, int], Any] = {}
        self._dims: dict[Any, Any] = {}
        #: Where each dim that is no number stands first: tensor and axis.
        self._homes: dict[Any, tuple[Any, int]] = {}
        #: The same for elements of integer tensors: tensor and index.
        self._elements: dict[Any, tuple[Any, int]] = {}

    def learn(self, tensor: Any, dims: Sequence[Dim]) -> None:
        """`tensor` has these dims: dims of later tensors are computed from it."""
        for axis, dim in enumerate(dims):
            if not isinstance(dim, int):
                self._homes.setdefault(dim, (tensor, axis))

    def learn_elements(self, tensor: Any, elements: Sequence[Dim]) -> None:
        """An integer tensor of rank 0 or 1 has these elements."""
        if len(tensor.shape) <= 1:
            for index, dim in enumerate(elements):
                if not isinstance(dim, int):
                    self._elements.setdefault(dim, (tensor, index))

    @contextmanager
    def inner(self) -> Generator[None]:
        """What is learned of shapes meanwhile is forgotten: it stands in a branch or in the body of a loop."""
        kept = self._shape_of, self._dim_of, self._dims, self._homes, self._elements
        self._shape_of, self._dim_of, self._dims = dict(kept[0]), dict(kept[1]), dict(kept[2])
        self._homes, self._elements = dict(kept[3]), dict(kept[4])
        try:
            yield
        finally:
            self._shape_of, self._dim_of, self._dims, self._homes, self._elements = kept

    # ---- shape tensors

    def shape_constant(self, values: Sequence[int], part: str = "shape") -> Any:
        return self.constant(np.asarray(values, dtype=np.int64), self.caps.shape_dtype, part, (len(values),))

    def shape_of(self, tensor: Any) -> Any:
        """The shape of a tensor as a tensor."""
        if tensor not in self._shape_of:
            known = tuple(tensor.shape)
            if all(d >= 0 for d in known):
                self._shape_of[tensor] = self.shape_constant(known)
            else:
                self._shape_of[tensor] = self.add(self.net.add_shape(tensor), "shape")
        return self._shape_of[tensor]

    def dim_of(self, tensor: Any, axis: int) -> Any:
        """One dim of a tensor, as a tensor of shape [1]."""
        known = tensor.shape[axis]
        if known >= 0:
            return self.shape_constant([known])
        if (tensor, axis) not in self._dim_of:
            shape = self.shape_of(tensor)
            if len(tensor.shape) > 1:
                shape = self.add(self.net.add_slice(shape, (axis,), (1,), (1,)), f"dim{axis}")
            self._dim_of[tensor, axis] = shape
        return self._dim_of[tensor, axis]

    def dim(self, dim: Any) -> Any:
        """A dim (number, expression, or already a tensor) as a tensor of shape [1]; raises `Unknown`."""
        if isinstance(dim, (int, np.integer)):
            return self.shape_constant([int(dim)])
        if isinstance(dim, self.trt.ITensor):
            return dim
        found = self._dims.get(dim)
        if found is None:
            from trtc.emit.dim_arithmetic import compute

            known = dim in self._homes or dim in self._elements
            found = self._dims[dim] = self.home(dim) if known else compute(self, dim)
        return found

    def home(self, dim: Any) -> Any:
        """A dim that is a dim, or an element, of some tensor of the network; raises `Unknown`."""
        if dim in self._homes:
            return self.dim_of(*self._homes[dim])
        if dim in self._elements:
            tensor, index = self._elements[dim]
            if len(tensor.shape) == 0:
                tensor = self.reshape(tensor, [1], "element")
            elif tuple(tensor.shape) != (1,):
                tensor = self.add(self.net.add_slice(tensor, (index,), (1,), (1,)), f"element{index}")
            return self.cast(tensor, self.caps.shape_dtype, "element/cast")
        raise Unknown(str(dim))

    def arithmetic(self, op: str, a: Any, b: Any, part: str = "") -> Any:
        """An elementwise operation on shape tensors."""
        return self.add(self.net.add_elementwise(a, b, getattr(self.trt.ElementWiseOperation, op)), part or op.lower())

    def dims(self, dims: Sequence[Any], part: str = "shape") -> Any:
        """Dims as one shape tensor; raises `Unknown`."""
        pieces: list[Any] = []
        numbers: list[int] = []
        for dim in dims:
            if isinstance(dim, (int, np.integer)):
                numbers.append(int(dim))
                continue
            if numbers:
                pieces.append(self.shape_constant(numbers))
                numbers = []
            pieces.append(self.dim(dim))
        if numbers or not pieces:
            pieces.append(self.shape_constant(numbers))
        return self.concat(pieces, 0, part)

    def concat(self, tensors: Sequence[Any], axis: int, part: str = "") -> Any:
        if len(tensors) == 1:
            return tensors[0]
        return self.add(self.net.add_concatenation(list(tensors)), part or "concat", axis=axis)

    # ---- reshapes

    def reshape(self, tensor: Any, dims: Sequence[Any], part: str = "reshape") -> Any:
        """To `dims`: numbers, expressions, tensors of shape [1], or KEEP. Raises `Unknown`."""
        dims = list(dims)
        have = tuple(tensor.shape)
        for at, dim in enumerate(dims):
            if dim is KEEP and have[at] >= 0:
                dims[at] = have[at]
        if tuple(dims) == have and all(isinstance(d, int) for d in dims):
            return tensor
        kept = [at for at, d in enumerate(dims) if d is KEEP]
        open_ = [at for at, d in enumerate(dims) if d is not KEEP and not isinstance(d, (int, np.integer))]
        zero = any(isinstance(d, (int, np.integer)) and d == 0 for d in dims)
        if len(kept) == 1 and not open_:
            open_, kept = kept, []
        if len(open_) <= 1 and not (zero and (kept or open_)):
            # -1 stands for the one dim that is open, 0 copies a dim.
            wanted = [0 if at in kept else -1 if at in open_ else int(d) for at, d in enumerate(dims)]
            return self._shuffle(tensor, wanted, bool(kept), part)
        computed = [self.dim_of(tensor, at) if d is KEEP else d for at, d in enumerate(dims)]
        return self.reshape_to(tensor, self.dims(computed, f"{part}/dims"), part)

    def _shuffle(self, tensor: Any, wanted: list[int], zero_copies: bool, part: str) -> Any:
        made = self.net.add_shuffle(tensor)
        # Before the dims: with the default a 0 among them would mean "copy".
        return self.add(made, part, zero_is_placeholder=zero_copies, reshape_dims=tuple(wanted))

    def reshape_to(self, tensor: Any, shape: Any, part: str = "reshape", *, zero_copies: bool = False) -> Any:
        """To the shape in a shape tensor; a -1 in it is honoured."""
        return self.add(self.net.add_shuffle(tensor), part, {1: shape}, zero_is_placeholder=zero_copies)

    def transpose(self, tensor: Any, perm: Sequence[int], part: str = "transpose") -> Any:
        if tuple(perm) == tuple(range(len(perm))):
            return tensor
        return self.add(self.net.add_shuffle(tensor), part, first_transpose=tuple(perm))

    def unsqueeze(self, tensor: Any, axes: Sequence[int], part: str = "unsqueeze") -> Any:
        """New dims of 1 at `axes` (non-negative, of the result)."""
        have = tuple(tensor.shape)
        rank = len(have) + len(axes)
        left = iter(range(len(have)))
        source = [None if at in axes else next(left) for at in range(rank)]
        if sum(d < 0 for d in have) <= 1 and 0 not in have:
            return self._shuffle(tensor, [1 if s is None else have[s] for s in source], False, part)
        if self.caps.squeeze_layer and axes:
            return self.add(self.net.add_unsqueeze(tensor, self._axes(axes)), part)
        return self.reshape(tensor, [1 if s is None else self._size(tensor, s) for s in source], part)

    def squeeze(self, tensor: Any, axes: Sequence[int], part: str = "squeeze") -> Any:
        """Without the dims at `axes`, which are 1."""
        have = tuple(tensor.shape)
        kept = [at for at in range(len(have)) if at not in axes]
        if sum(have[at] < 0 for at in kept) <= 1 and 0 not in have:
            return self._shuffle(tensor, [have[at] for at in kept], False, part)
        if self.caps.squeeze_layer and axes:
            return self.add(self.net.add_squeeze(tensor, self._axes(axes)), part)
        return self.reshape(tensor, [self._size(tensor, at) for at in kept], part)

    def pad_rank(self, tensor: Any, rank: int) -> Any:
        """Leading dims of 1 up to `rank`."""
        missing = rank - len(tensor.shape)
        return tensor if missing <= 0 else self.unsqueeze(tensor, range(missing), "rank")

    def _axes(self, axes: Sequence[int]) -> Any:
        return self.constant(np.asarray(list(axes), dtype=np.int64), "INT64", "axes")

    def _size(self, tensor: Any, axis: int) -> Any:
        known = tensor.shape[axis]
        return int(known) if known >= 0 else self.dim_of(tensor, axis)

    def sizes(self, tensor: Any) -> list[Any]:
        """The dims of a tensor: numbers where known, else tensors of shape [1]."""
        return [self._size(tensor, axis) for axis in range(len(tensor.shape))]

    # ---- slices

    def slice(
        self,
        tensor: Any,
        ranges: Mapping[int, tuple[Any, Any, Any]],
        part: str = "slice",
        *,
        mode: str | None = None,
        fill: Any = None,
    ) -> Any:
        """Start, size and stride for some axes: numbers, expressions or tensors of shape [1]. Other axes stay whole."""
        have = tuple(tensor.shape)
        numbers = all(isinstance(v, (int, np.integer)) for r in ranges.values() for v in r)
        whole_rank = not self.caps.slice_axes or (numbers and all(d >= 0 for d in have))
        if whole_rank:
            ranges = {at: ranges.get(at, (0, self._size(tensor, at), 1)) for at in range(len(have))}
        axes = tuple(sorted(ranges))
        fixed: list[tuple[int, ...]] = []
        inputs: dict[int, Any] = {}
        for which in range(3):
            values = [ranges[axis][which] for axis in axes]
            if all(isinstance(v, (int, np.integer)) for v in values):
                fixed.append(tuple(int(v) for v in values))
            else:
                fixed.append((1,) * len(values))
                inputs[which + 1] = self.dims(values, f"{part}/{('start', 'size', 'stride')[which]}")
        properties: dict[str, Any] = {}
        if mode is not None:
            properties["mode"] = getattr(self.trt.SampleMode, mode)
        if not whole_rank:
            properties["axes"] = axes
        if fill is not None:
            inputs[4] = fill
        return self.add(self.net.add_slice(tensor, *fixed), part, inputs, **properties)

    def broadcast(self, tensor: Any, dims: Sequence[Any], part: str = "broadcast") -> Any:
        """A tensor whose dims are all 1, repeated to `dims`."""
        return self.slice(tensor, {at: (0, dim, 0) for at, dim in enumerate(dims)}, part)

    def broadcast_to(self, tensor: Any, shape: Any, part: str = "broadcast") -> Any:
        """A tensor whose dims are all 1, repeated to the shape in a shape tensor."""
        rank = len(tensor.shape)
        made = self.net.add_slice(tensor, (0,) * rank, (1,) * rank, (0,) * rank)
        return self.add(made, part, {2: shape})

    def linspace(self, size: Any, start: Any, step: Any, dtype: str, part: str = "range") -> Any:
        """1-D: start, start + step, … `start` and `step` are numbers, or tensors of shape [] and [1]."""
        fill = self.trt.FillOperation.LINSPACE
        number = isinstance(size, (int, np.integer))
        dims = (int(size),) if number else (1,)
        if self.caps.fill_output_type:
            made = self.net.add_fill(dims, fill, self.type(dtype))
        else:
            made = self.net.add_fill(dims, fill)
            made.set_output_type(0, self.type(dtype))
        inputs: dict[int, Any] = {} if number else {0: self.dim(size)}
        if isinstance(start, self.trt.ITensor) or isinstance(step, self.trt.ITensor):
            inputs[1] = start if isinstance(start, self.trt.ITensor) else self.constant(start, dtype, shape=())
            inputs[2] = step if isinstance(step, self.trt.ITensor) else self.constant(step, dtype, shape=(1,))
            return self.add(made, part, inputs)
        # A Python int makes alpha and beta int64, which is what an INT64 range needs.
        kind = int if dtype == "INT64" else float
        return self.add(made, part, inputs, alpha=kind(start), beta=kind(step))
