"""How far two correct results may lie apart, and why."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Unit roundoff by dtype (half the distance from 1 to the next number).
_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}

#: The same sum in another order differs by about sqrt(n) roundoffs of its largest partial sum (n terms, errors
#: independent: Higham, Accuracy and Stability of Numerical Algorithms, section 2.6). Deep networks have sums of up
#: to 10^4 terms (a factor of 100) and some 100 layers whose errors add up independently (a factor of 10). The
#: bound is relative to the size of the output as a whole, since an element near zero is a difference of such sums.
_GROWTH = 1000.0

#: float16 and bfloat16 are only stored as such: both sides add up in float32 or better inside a layer, so the error
#: of n terms does not grow; what remains is a rounding per layer, 100 layers adding up independently, and a factor
#: of 4 for the three roundings of an elementwise chain that one side may fuse.
_GROWTH_HALF = 40.0


#: A saturating function (sigmoid, softmax, tanh, erf) computes with numbers near 1 whatever the size of its result:
#: near its ends the result is right to some roundoffs of 1, not of itself. Two implementations differ by a few.
_NEAR_ONE = 16.0


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|candidate − reference| ≤ atol + rtol·|reference| for every element, and cosine similarity at least `cosine`.

    `atol` None means rtol times the root mean square of the reference, plus 16 roundoffs of 1 of its dtype.
    `cosine` None means no such bound.
    """

    rtol: float | None = None
    atol: float | None = None
    cosine: float | None = None

    def resolved(self, dtype: np.dtype[Any]) -> Tolerance:
        """With what is left open taken from the default of the dtype; an `atol` alone means no relative part."""
        default = default_tolerance(dtype)
        if self.rtol is not None:
            return self
        if self.atol is not None:
            return Tolerance(0.0, self.atol, self.cosine)
        return Tolerance(default.rtol, default.atol, self.cosine)

    def absolute(self, reference: np.ndarray[Any, Any]) -> float:
        """The absolute part for one reference array."""
        if self.atol is not None:
            return self.atol
        assert self.rtol is not None, "resolved() comes first"
        finite = reference[np.isfinite(reference)].astype(np.float64)
        size = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
        return self.rtol * size + _NEAR_ONE * _ROUNDOFF.get(reference.dtype.name, 0.0)


def default_tolerance(dtype: np.dtype[Any]) -> Tolerance:
    """The tolerance of an output that the spec does not give one: exact for integers and booleans.

    float32: rtol 6.0e-5; float16: 2.0e-2; bfloat16: 1.6e-1, each with the absolute part of `Tolerance`.
    """
    roundoff = _ROUNDOFF.get(dtype.name)
    if roundoff is None:
        return Tolerance(0.0, 0.0)
    growth = _GROWTH_HALF if dtype.name in ("float16", "bfloat16") else _GROWTH
    return Tolerance(roundoff * growth)
