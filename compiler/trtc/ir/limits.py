"""Bounds on what a model file may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What `load` accepts at most. A model is data from outside: each bound stops one way to exhaust a machine."""

    depth: int = 100
    """Messages inside messages; protobuf decodes no more than 100 (about 32 subgraphs inside one another)."""
    rank: int = 64
    """Dims of a tensor (TensorRT: 8, numpy: 64)."""
    nodes: int = 1_000_000
    """Nodes when every local function is inlined at each of its calls."""
    dense_bytes: int = 256 << 20
    """Bytes of all sparse tensors when written out densely."""
    errors: int = 20
    """Diagnostics that are collected before loading gives up."""
