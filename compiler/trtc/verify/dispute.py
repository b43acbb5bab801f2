"""Whether the references agree with each other where a candidate agrees with only one of them.

ONNX Runtime computes half precision on the CPU in float32 and rounds now and then; by the standard each node rounds.
Where the two differ, a candidate that differs from ONNX Runtime need not be wrong.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from trtc.verify.comparison import Comparison

if TYPE_CHECKING:
    from trtc.verify.rungs import Verification

#: The evaluator of the onnx package is written in numpy: models beyond this size would take it hours.
_MOST_BYTES = 64 << 20

Answer = Mapping[str, np.ndarray[Any, Any]]


def disputes(
    proof: Verification,
    failed: Iterable[tuple[int, Comparison]],
    candidate: Callable[[int], Answer],
    judge: Callable[[str, np.ndarray[Any, Any], np.ndarray[Any, Any]], Comparison],
) -> tuple[str, ...]:
    """A sentence for each failed output (point, comparison) if onnx's evaluator gives all of them; else nothing."""
    from trtc.verify.runners import ReferenceRunner

    if proof.reference.stat().st_size > _MOST_BYTES:
        return ()
    runner = ReferenceRunner(proof.reference, proof.feeds(), proof.interface, "evaluator")
    answers: dict[int, Answer] = {}
    found: list[str] = []
    try:
        runner.activate_impl()
        for point, comparison in failed:
            if point not in answers:
                with np.errstate(all="ignore"):  # an overflow is what is looked for
                    answers[point] = runner.answer(point)
            name = comparison.output
            if not judge(name, np.asarray(answers[point][name]), np.asarray(candidate(point)[name])).passed:
                return ()
            found.append(f"{proof.points[point].label}: `{name}`: against ONNX Runtime {comparison.reason}")
    except Exception:
        # It lacks operators, and is no judge of what it cannot run.
        return ()
    finally:
        runner.deactivate_impl()
    return tuple(found)
