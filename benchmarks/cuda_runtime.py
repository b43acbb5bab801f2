"""The little of CUDA's runtime that timing an engine takes: memory, streams, events and graphs, through ctypes.

The library is looked for at the first call, so that importing this needs no GPU.
"""

from __future__ import annotations

import ctypes
import functools
import glob
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_TO_DEVICE, _TO_HOST = 1, 2
_RELAXED = 2
_VERSIONS = ("", ".13", ".12", ".11.0")


class NoCuda(RuntimeError):
    """No CUDA runtime, or no GPU that it can use."""


@functools.cache
def _library() -> ctypes.CDLL:
    """Raises NoCuda."""
    places = [f"libcudart.so{version}" for version in _VERSIONS]
    places += sorted(glob.glob("/usr/local/cuda*/lib64/libcudart.so*"), reverse=True)
    for folder in sys.path:  # packages of PyPI that bring it
        places += sorted(str(p) for p in Path(folder or ".").glob("nvidia/*/lib/libcudart.so*"))
    found = None
    for place in places:
        try:
            found = ctypes.CDLL(place)
            break
        except OSError:
            continue
    if found is None:
        raise NoCuda("no CUDA runtime here: libcudart.so is not on the library path")
    found.cudaGetErrorString.restype = ctypes.c_char_p
    count = ctypes.c_int(0)
    status = found.cudaGetDeviceCount(ctypes.byref(count))
    if status or not count.value:
        reason = found.cudaGetErrorString(status).decode() if status else "it counts none"
        raise NoCuda(f"no NVIDIA GPU here: {reason}")
    return found


def require() -> None:
    """Raises NoCuda where nothing can be timed."""
    _library()


def _call(name: str, *arguments: Any) -> None:
    library = _library()
    status = getattr(library, name)(*arguments)
    if status:
        raise RuntimeError(f"{name}: {library.cudaGetErrorString(status).decode()} ({status})")


def _made(name: str, *arguments: Any) -> ctypes.c_void_p:
    """What a function writes to its first argument."""
    made = ctypes.c_void_p()
    _call(name, ctypes.byref(made), *arguments)
    return made


class Buffer:
    """Device memory of the size of an array."""

    def __init__(self, like: np.ndarray) -> None:
        self._bytes = ctypes.c_size_t(max(like.nbytes, 1))
        self._memory = _made("cudaMalloc", self._bytes)

    @property
    def address(self) -> int:
        return int(self._memory.value or 0)

    def write(self, array: np.ndarray) -> None:
        flat = np.ascontiguousarray(array)
        _call("cudaMemcpy", self._memory, ctypes.c_void_p(flat.ctypes.data), ctypes.c_size_t(flat.nbytes), _TO_DEVICE)

    def read(self, like: np.ndarray) -> np.ndarray:
        array = np.empty_like(like, order="C")
        _call("cudaMemcpy", ctypes.c_void_p(array.ctypes.data), self._memory, ctypes.c_size_t(array.nbytes), _TO_HOST)
        return array

    def poison(self) -> None:
        """Every bit set, which is no number as a float: what nobody writes shows."""
        _call("cudaMemset", self._memory, 0xFF, self._bytes)


class Stream:
    """A stream, and the graphs that are captured and launched on it."""

    def __init__(self) -> None:
        self._stream = _made("cudaStreamCreate")
        self._begin, self._end = _made("cudaEventCreate"), _made("cudaEventCreate")

    @property
    def handle(self) -> int:
        return int(self._stream.value or 0)

    def synchronize(self) -> None:
        _call("cudaStreamSynchronize", self._stream)

    def capture(self, work: Callable[[], Any]) -> ctypes.c_void_p:
        """What `work` puts on this stream, as a graph to launch."""
        _call("cudaStreamBeginCapture", self._stream, _RELAXED)
        try:
            work()
        finally:
            graph = _made_last("cudaStreamEndCapture", self._stream)
        return _made("cudaGraphInstantiateWithFlags", graph, ctypes.c_ulonglong(0))

    def launch(self, graph: ctypes.c_void_p) -> None:
        _call("cudaGraphLaunch", graph, self._stream)

    def milliseconds(self, graph: ctypes.c_void_p, launches: int) -> float:
        """The time of one launch: the mean of `launches` of them, one behind the other, between two events."""
        _call("cudaEventRecord", self._begin, self._stream)
        for _ in range(launches):
            _call("cudaGraphLaunch", graph, self._stream)
        _call("cudaEventRecord", self._end, self._stream)
        _call("cudaEventSynchronize", self._end)
        taken = ctypes.c_float()
        _call("cudaEventElapsedTime", ctypes.byref(taken), self._begin, self._end)
        return taken.value / launches


def _made_last(name: str, *arguments: Any) -> ctypes.c_void_p:
    """What a function writes to its last argument."""
    made = ctypes.c_void_p()
    _call(name, *arguments, ctypes.byref(made))
    return made
