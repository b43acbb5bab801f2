"""What is kept when a rung fails, so that the failure can be looked at without compiling again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from trtc.verify.arrays import write_npz
from trtc.verify.rungs import RungReport, Verification


def write_evidence(folder: Path, proof: Verification, reports: Sequence[RungReport]) -> None:
    """Inputs and the original model's outputs of every point as `.npz`, and the reports as JSON, into `folder`."""
    for at, (point, outputs) in enumerate(zip(proof.points, proof.reference_outputs, strict=True)):
        write_npz(folder / f"inputs_{at}.npz", point.feeds)
        write_npz(folder / f"expected_{at}.npz", outputs)
    text = json.dumps([report.to_json() for report in reports], indent=1)
    (folder / "verification.json").write_text(text + "\n", encoding="utf-8")
