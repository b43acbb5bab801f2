"""When two sides are equal: the right side's error within a small factor of the left's own.

Truth is the left side in float64, T. L and R are the two sides in the dtype under test, u = 2^-24 (float32) or 2^-11
(float16) its unit roundoff. Both sides compute the same real function with a handful of roundings each, so by the
standard model of floating point both errors are bounded by c u times the size of the intermediate results, with a
constant c that depends on how many roundings there are and in which order. Of the left side that bound is measured:
E = max |L - T| over the tensor. The right side may

- be off by `FACTOR` E: a sum of n terms in another order has another error, of the same distribution, whose largest
  of some hundred samples is rarely more than 3 times another such maximum; a replacement that rounds twice as often,
  and constants that were rounded after they were combined, cost as much again;
- be off by `ULPS` units in the last place of the largest value of the result: where the left side happens to be exact
  (powers of two, zeros, integers) E is 0, while the right may round in each of its few operations. Rules add constants
  of order one (x + 3, 1 + erf), so that operations inside are of order one where the result is not: that largest value
  counts as at least 1 if the operands reach 1, else as at least the largest operand;
- be off by what the rule itself declares harmless: the distance that T moves when every approximate constant moves to
  the edge of its tolerance.

What is not floating point must be equal. Where L is not finite (T in the dtype may be, if only an intermediate result
overflowed), R must be the same infinity or NaN, or as close to T as above.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

FACTOR = 8.0
ULPS = 16.0


@dataclass(frozen=True, slots=True)
class Difference:
    """The element that is furthest off. error and allowed: of that element; ratio: the one by the other."""

    reason: str
    index: tuple[int, ...]
    left: object
    right: object
    truth: object
    error: float
    allowed: float

    @property
    def ratio(self) -> float:
        return float("inf") if self.allowed == 0 else self.error / self.allowed


def compare(
    left: Array,
    right: Array,
    truth: Array | None,
    far: Array | None = None,
    *,
    operands: float = 0.0,
    assumes_finite: bool = False,
) -> tuple[Difference | None, float]:
    """What is wrong with `right`, and the largest error as a share of what is allowed (at most 1 when nothing is).

    left, right: in the dtype under test. truth: the left side in float64; None where nothing computes it, and then
    the left is taken. far: the truth with approximate constants at the edge of their tolerance. operands: the largest
    finite number that goes in.
    """
    if left.shape != right.shape or left.dtype != right.dtype:
        text = f"the left is {left.dtype}{list(left.shape)}, the right {right.dtype}{list(right.shape)}"
        return Difference(text, (), None, None, None, np.inf, 0.0), np.inf
    if not np.issubdtype(left.dtype, np.floating) and left.dtype.name != "bfloat16":
        return _discrete(left, right, truth)
    with np.errstate(all="ignore"):
        return _floating(left, right, left if truth is None else truth, far, operands, assumes_finite)


def _discrete(left: Array, right: Array, truth: Array | None) -> tuple[Difference | None, float]:
    good = left == right
    if truth is not None and truth.shape == right.shape:
        # A comparison, or a rounding to integers, may fall on either side where the left itself is unsure.
        good |= truth.astype(left.dtype) == right
    if good.all():
        return None, 0.0
    at = _index(~good)
    shown = None if truth is None else truth[at].item()
    return Difference("the results differ", at, left[at].item(), right[at].item(), shown, np.inf, 0.0), np.inf


def _floating(
    left: Array, right: Array, truth: Array, far: Array | None, operands: float, assumes_finite: bool
) -> tuple[Difference | None, float]:
    info = ml_dtypes.finfo(left.dtype)
    wide_left, wide_right, wide_truth = (a.astype(np.float64) for a in (left, right, truth))
    finite = np.isfinite(wide_left) & np.isfinite(wide_truth)
    own = float(np.abs(wide_left - wide_truth)[finite].max(initial=0.0))
    size = float(np.abs(wide_truth)[finite].max(initial=min(operands, 1.0)))
    moved = 0.0
    if far is not None:
        both = finite & np.isfinite(far)
        moved = float(np.abs(far - wide_truth)[both].max(initial=0.0))
    allowed = FACTOR * own + ULPS * (float(info.eps) * size + float(info.smallest_subnormal)) + 1.5 * moved
    error = np.abs(wide_right - wide_truth)
    # Where both are infinite or NaN the difference is NaN.
    close = error <= allowed
    # The left finite and the truth not: the reference multiplies zeros by infinities where no kernel does.
    close |= np.isfinite(wide_left) & ~np.isfinite(wide_truth) & (np.abs(wide_right - wide_left) <= allowed)
    rounded = truth.astype(left.dtype)
    good = np.where(finite, close, close | _same_kind(right, left) | _same_kind(right, rounded))
    if assumes_finite:
        good |= ~np.isfinite(wide_left)
    worst = float(error[finite & good].max(initial=0.0)) / allowed if allowed else 0.0
    if good.all():
        return None, worst
    ranked = np.where(good, -1.0, np.where(np.isfinite(error), error, np.inf))
    at = _index(ranked == ranked.max())
    kind = "the right side's error is too large" if np.isfinite(wide_right[at]) else "the right side is not finite"
    if not finite[at]:
        kind = "the two sides differ where they are not finite"
    wrong = Difference(
        kind, at, left[at].item(), right[at].item(), float(wide_truth[at]), float(error[at]), float(allowed)
    )
    return wrong, wrong.ratio


def _same_kind(one: Array, other: Array) -> Array:
    return (np.isnan(one) & np.isnan(other)) | (np.isinf(one) & (one == other))


def _index(mask: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape)) if mask.shape else ()


__all__ = ["FACTOR", "ULPS", "Array", "Difference", "compare"]
