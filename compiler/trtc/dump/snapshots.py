"""The graph as text after one pass, or after every pass: an instrument of the pipeline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from trtc.dump.files import write

if TYPE_CHECKING:
    from trtc.ir.module import Module
    from trtc.pipeline.runner import StepRecord


class Snapshots:
    """Writes `NN_pass.txt` into a folder after every run of a pass (or after every pass, with `all`) and at every
    checkpoint. `NN` counts the passes that ran, so that files in order of name are files in order of time."""

    def __init__(self, folder: Path, after: str) -> None:
        self._folder = folder
        self._after = after
        self._count = 0

    def after(self, module: Module, record: StepRecord) -> None:
        self._count += 1
        if self._after not in ("all", record.name) and not record.name.startswith("checkpoint "):
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        # The name of a checkpoint is the user's: only its letters and digits become part of a path.
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", record.name)
        write(module, self._folder / f"{self._count:02}_{name}.txt", "text", remarks=record.remarks)
