"""Tests of this folder need an NVIDIA GPU and a standard TensorRT (8.6, 10 or 11) that builds there."""

from __future__ import annotations

import pytest

from trtc import targets


@pytest.fixture(scope="session", autouse=True)
def standard_tensorrt() -> None:
    """Skips where standard TensorRT cannot build, and says why."""
    status = targets.status("tensorrt")
    if not status.can_build:
        pytest.skip(f"needs a GPU and TensorRT: {status.reason}")
