"""The cyclic garbage collector, out of the way of work that makes many objects and little garbage."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator


@contextlib.contextmanager
def paused() -> Generator[None]:
    """No collection inside. A graph of n nodes would be walked again and again while it grows: n log n and worse."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
