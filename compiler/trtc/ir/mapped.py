# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Tensors over mapped bytes: no copy, read-only."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.ir.module import Module
from trtc.ir.wire import Buffer


def tensor(
    buffer: Buffer | None, start: int, nbytes: int, dtype: oir.DataType, dims: list[int], name: str
) -> oir.TensorProtocol:
    """A tensor of `dims` whose little-endian bytes are `buffer[start : start + nbytes]`.

    The array keeps the mapping alive. Its address has whatever alignment the file gives it: native code that wants
    more takes `np.require(array, requirements="A")`. Types below a byte stay packed (`oir.PackedTensor`).
    """
    shape = oir.Shape(dims)
    if dtype.bitwidth < 8:
        packed = np.frombuffer(buffer, np.uint8, nbytes, start) if buffer and nbytes else np.empty(0, np.uint8)
        return oir.PackedTensor(packed, dtype, shape=shape, name=name)
    kind = dtype.numpy()
    if buffer is None or nbytes == 0:
        array = np.empty(dims, kind)
    else:
        array = np.frombuffer(buffer, kind, nbytes // kind.itemsize, start).reshape(dims)
        if dtype == oir.DataType.BOOL and array.view(np.uint8).max() > 1:
            # A byte other than 0 and 1 is no bool to numpy, and compares unequal to True.
            array = array.view(np.uint8) != 0
    return oir.Tensor(array, dtype=dtype, shape=shape, name=name)


def owned(source: oir.TensorProtocol) -> oir.TensorProtocol:
    """A small tensor that a decoder read, as an array that is decoded once; text stays as it is."""
    if source.dtype == oir.DataType.STRING:
        return source
    array = source.numpy()
    if array.flags.writeable:
        array.flags.writeable = False
    return oir.Tensor(array, dtype=source.dtype, shape=oir.Shape(list(array.shape)), name=source.name)


def release(module: Module) -> None:
    """Give the pages of the mapped files back to the system; what is touched again is read again.

    For a module that waits while another process works: its weights count as memory of both otherwise.
    """
    for mapping in {
        m for graph in module.graphs() for v in graph.initializers.values() if (m := _mapping(v)) is not None
    }:
        mapping.madvise(mmap.MADV_DONTNEED)


def _mapping(value: oir.Value) -> mmap.mmap | None:
    tensor = value.const_value
    if not isinstance(tensor, oir.Tensor):
        return None
    base: Any = tensor.raw
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base if isinstance(base, mmap.mmap) else None
