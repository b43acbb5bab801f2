"""One output of two runs, as numbers."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trtc.verify.tolerance import Tolerance


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict on one output at one point.

    `max_abs` is the largest |a − b|; `max_rel` the largest |a − b| / |b| where |b| exceeds the absolute tolerance
    (below it a relative error means nothing); `cosine` the cosine similarity of the two as vectors in float64, None
    for an output that has none (not floating point, empty, or zero on both sides). Equal infinities and NaN in
    the same place count as equal.
    """

    output: str
    passed: bool
    max_abs: float
    max_rel: float
    cosine: float | None
    rtol: float
    atol: float
    reason: str = ""
    """Why it failed."""
    weak: bool | None = False
    """Passed, but one number throughout, NaN for instance, would have passed as well. None: there is one element, of
    which that is always true."""

    def __bool__(self) -> bool:
        """What Polygraphy's Comparator asks for."""
        return self.passed

    def to_json(self) -> dict[str, Any]:
        return {
            "output": self.output,
            "passed": self.passed,
            "max_abs": self.max_abs,
            "max_rel": self.max_rel,
            "cosine": self.cosine,
            "rtol": self.rtol,
            "atol": self.atol,
            **({"reason": self.reason} if self.reason else {}),
            **({"weak": True} if self.weak else {}),
        }


def compare(
    name: str, reference: np.ndarray[Any, Any], candidate: np.ndarray[Any, Any], tolerance: Tolerance
) -> Comparison:
    """Compare `candidate` with `reference` (any shape and dtype, of the same kind)."""
    tolerance = tolerance.resolved(reference.dtype)
    rtol = tolerance.rtol or 0.0
    if reference.shape != candidate.shape:
        return _failed(name, tolerance, f"shape {list(candidate.shape)}, expected {list(reference.shape)}")
    if reference.dtype != candidate.dtype:
        return _failed(name, tolerance, f"dtype {candidate.dtype}, expected {reference.dtype}")
    if reference.size == 0:
        return Comparison(name, True, 0.0, 0.0, None, rtol, tolerance.atol or 0.0, weak=True)
    if not _floating(reference.dtype):
        return _exact(name, reference, candidate, tolerance)
    # float64 holds every float32, float16 and bfloat16 exactly.
    right = reference.astype(np.float64, copy=False).ravel()
    left = candidate.astype(np.float64, copy=False).ravel()
    atol = tolerance.absolute(reference)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        error = np.where(same, 0.0, np.abs(left - right))
        size = np.abs(right)
        # An infinite bound is no bound: next to an infinity only the same infinity is right.
        bad = ~same & ~((error <= atol + rtol * size) & np.isfinite(size))
        relative = np.where(size > atol, error / size, 0.0)
    finite = np.isfinite(left) & np.isfinite(right)
    cosine = _cosine(left[finite], right[finite])
    reason = ""
    if bad.any():
        worst = int(np.argmax(np.where(bad, np.nan_to_num(error, nan=np.inf, posinf=np.inf), -1.0)))
        index = [int(i) for i in np.unravel_index(worst, reference.shape)]
        digits = 7 if f"{left[worst]:.7g}" != f"{right[worst]:.7g}" else 17
        reason = (
            f"{int(bad.sum()):,} of {bad.size:,} elements differ; worst at {index}: {left[worst]:.{digits}g}, "
            f"expected {right[worst]:.{digits}g} within {atol + rtol * abs(right[worst]):.1e}"
        )
    elif tolerance.cosine is not None and cosine is not None and cosine < tolerance.cosine:
        reason = f"cosine similarity {cosine:.8f} is below {tolerance.cosine}"
    weak = False if reason else _one_number(right, atol, rtol)
    return Comparison(name, not reason, float(np.max(error)), float(np.max(relative)), cosine, rtol, atol, reason, weak)


def _one_number(values: np.ndarray[Any, Any], atol: float = 0.0, rtol: float = 0.0) -> bool | None:
    """Whether all values lie within the tolerance of one number; None for one element that is not next to zero."""
    if values.dtype.kind != "f":
        return None if values.size == 1 and values.flat[0] else bool((values == values.flat[0]).all())
    finite = np.isfinite(values)
    if not finite.any():
        return True
    if not finite.all():
        return False
    if (np.abs(values) <= atol).all():
        return True
    return None if values.size == 1 else float(np.ptp(values)) <= 2 * (atol + rtol * float(np.abs(values).max()))


def _floating(dtype: np.dtype[Any]) -> bool:
    return np.issubdtype(dtype, np.floating) or dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def _cosine(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> float | None:
    scale = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    if not scale or not np.isfinite(scale):
        return None
    return min(1.0, float(np.dot(left, right)) / scale)


def _exact(
    name: str, reference: np.ndarray[Any, Any], candidate: np.ndarray[Any, Any], tolerance: Tolerance
) -> Comparison:
    different = reference != candidate
    if not different.any():
        return Comparison(name, True, 0.0, 0.0, None, 0.0, 0.0, weak=_one_number(reference))
    index = tuple(int(i) for i in np.argwhere(different)[0])
    numeric = np.issubdtype(reference.dtype, np.number)
    if numeric and tolerance.atol:
        error = np.abs(candidate.astype(np.float64) - reference.astype(np.float64))
        if float(error.max()) <= tolerance.atol:
            return Comparison(name, True, float(error.max()), 0.0, None, 0.0, tolerance.atol)
    max_abs = (
        float(np.abs(candidate.astype(np.float64) - reference.astype(np.float64)).max()) if numeric else float("nan")
    )
    reason = (
        f"{int(different.sum()):,} of {different.size:,} elements differ; first at {list(index)}: "
        f"{candidate[index]}, expected {reference[index]}"
    )
    return Comparison(name, False, max_abs, float("nan"), None, 0.0, tolerance.atol or 0.0, reason)


def _failed(name: str, tolerance: Tolerance, reason: str) -> Comparison:
    nan = float("nan")
    return Comparison(name, False, nan, nan, None, tolerance.rtol or 0.0, tolerance.atol or 0.0, reason)
