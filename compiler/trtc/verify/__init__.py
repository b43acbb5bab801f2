"""Proof: Polygraphy's Comparator between the original model and every product of the compiler.

Names are loaded when asked for: the checker of the language wants `RUNGS` without numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trtc.lazy import exports

if TYPE_CHECKING:
    from trtc.verify.comparison import Comparison, compare
    from trtc.verify.inputs import Point, file_points, random_points
    from trtc.verify.interface import Interface
    from trtc.verify.rungs import RungReport, Verification, failure
    from trtc.verify.tolerance import Tolerance, default_tolerance

_HOMES = {
    "Comparison": "comparison",
    "Interface": "interface",
    "Point": "inputs",
    "RungReport": "rungs",
    "Tolerance": "tolerance",
    "Verification": "rungs",
    "compare": "comparison",
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

__getattr__ = exports(__name__, _HOMES)
