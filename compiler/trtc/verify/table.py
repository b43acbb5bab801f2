"""The verification as a table of text, one row per rung and output, the worst point shown."""

from __future__ import annotations

from collections.abc import Sequence

from trtc.diagnostics import escape
from trtc.verify.comparison import Comparison
from trtc.verify.rungs import RungReport

HEADER = ("rung", "output", "points", "max abs", "max rel", "cosine", "verdict")


def rows(reports: Sequence[RungReport]) -> list[tuple[str, ...]]:
    """The cells of the table. A rung that did not run has one row that says why."""
    found: list[tuple[str, ...]] = []
    for report in reports:
        if not report.points:
            verdict = "NOT RUN" if report.status == "not run" else "FAILED"
            found.append((report.rung, "", "", "", "", "", f"{verdict}: {report.reason}"))
            continue
        outputs: dict[str, list[Comparison]] = {}
        for _, comparisons in report.points:
            for comparison in comparisons:
                outputs.setdefault(comparison.output, []).append(comparison)
        for name, comparisons in outputs.items():
            cosines = [c.cosine for c in comparisons if c.cosine is not None]
            passed = all(c.passed for c in comparisons)
            verdict = "passed" if passed else "FAILED"
            # One element is one number whatever it is: it says something beside others only.
            if passed and any(c.weak for c in comparisons) and all(c.weak is not False for c in comparisons):
                verdict = "passed, but one number throughout would pass too: try real inputs (--input)"
            found.append(
                (
                    report.rung,
                    escape(name),
                    str(len(comparisons)),
                    _worst([c.max_abs for c in comparisons]),
                    _worst([c.max_rel for c in comparisons]),
                    f"{min(cosines):.8f}" if cosines else "-",
                    verdict,
                )
            )
    return found


def _worst(values: Sequence[float]) -> str:
    if any(v != v for v in values):
        return "-"
    return f"{max(values):.2e}" if max(values) else "0"


def table(reports: Sequence[RungReport]) -> str:
    """The rows aligned, without colour."""
    cells = [HEADER, *rows(reports)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(HEADER) - 1)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in cells]
    return "\n".join(lines)
