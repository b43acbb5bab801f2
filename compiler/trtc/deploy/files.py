"""Output files: made in a folder of their own beside the destination, then renamed into place."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from trtc.diagnostics import Diagnostic, DiagnosticError


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the products go. `onnx` and `readback` are None when the spec does not ask for them."""

    engine: Path
    onnx: Path | None = None
    readback: Path | None = None

    @property
    def manifest(self) -> Path:
        return self.engine.with_suffix(".manifest.json")

    @property
    def build(self) -> Path:
        """Timings, sizes and verification numbers: all that is not the same twice."""
        return self.engine.with_suffix(".build.json")

    @property
    def failed(self) -> Path:
        """The folder that keeps an engine that failed verification, and what is needed to see why."""
        return self.engine.parent / "failed" / self.engine.stem


class WorkFolder:
    """A temporary folder on the file system of the destination, so that moving a file is a rename. A context."""

    def __init__(self, outputs: Outputs) -> None:
        self._outputs = outputs
        folder = outputs.engine.parent
        #: Folders that did not exist before, innermost first.
        self._made = [path for path in (folder, *folder.parents) if not path.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=".trtc-", dir=outputs.engine.parent))
        except OSError as error:
            raise DiagnosticError(_unwritable(outputs.engine.parent, error)) from error

    def __enter__(self) -> WorkFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):  # the first one that holds something stays, and those around it
            for path in self._made:
                path.rmdir()

    def publish(self, files: list[tuple[str, Path]]) -> None:
        """Move files (name in this folder, destination), in order: the engine comes last, so that it never stands
        beside a manifest of another compile."""
        for name, destination in files:
            try:
                destination.parent.mkdir(parents=True, exist_ok=True)
                os.replace(self.path / name, destination)
            except OSError as error:
                raise DiagnosticError(_unwritable(destination, error)) from error

    def keep(self) -> Path:
        """Move everything to `failed/`, in place of what an earlier failure left there; the folder."""
        target = self._outputs.failed
        try:
            shutil.rmtree(target, ignore_errors=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(self.path, target)
            self.path.mkdir()
        except OSError as error:
            raise DiagnosticError(_unwritable(target, error)) from error
        return target


def _unwritable(path: Path, error: OSError) -> Diagnostic:
    return Diagnostic(
        "T1120",
        f"cannot write here: {error.strerror or error}",
        file=str(path),
        help="choose another folder with `-o DIR`, or make room and give yourself permission",
    )
