"""Proof: Polygraphy's Comparator between the original model and every product of the compiler.

Names are loaded when asked for: the checker of the language wants `RUNGS` without numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trtc.verify.compare import Comparison, compare
    from trtc.verify.inputs import Point, file_points, random_points
    from trtc.verify.interface import Interface
    from trtc.verify.rungs import RungReport, Verification, failure
    from trtc.verify.tolerance import Tolerance, default_tolerance

_HOMES = {
    "Comparison": "compare",
    "Interface": "interface",
    "Point": "inputs",
    "RungReport": "rungs",
    "Tolerance": "tolerance",
    "Verification": "rungs",
    "compare": "compare",
    "default_tolerance": "tolerance",
    "failure": "rungs",
    "file_points": "inputs",
    "random_points": "inputs",
}

__all__ = [
    "Comparison",
    "Interface",
    "Point",
    "RungReport",
    "Tolerance",
    "Verification",
    "compare",
    "default_tolerance",
    "failure",
    "file_points",
    "random_points",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
