"""The parent's side of the worker: starts it, feeds it jobs, turns its death into a diagnostic."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from trtc import child
from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.engine.job import BuildEvent, BuildJob, BuildResult

#: Seconds that a cancelled build has to come to an end by itself before it is killed. TensorRT asks its progress
#: monitor between steps; a single step of a large model can take longer than a person waits.
_GRACE = 5.0


def remote_diagnostic(data: Mapping[str, Any]) -> Diagnostic:
    """A diagnostic that crossed the pipe as `Diagnostic.to_json` wrote it; it points into a model, never a spec."""
    return Diagnostic(
        data["code"],
        data["message"],
        node=data.get("node"),
        file=data.get("file"),
        notes=tuple(data.get("notes", ())),
        help=data.get("help"),
        data=data.get("data", {}),
    )


class Worker:
    """A child process that emits, reads back and builds.

    Start it early: it imports TensorRT while the parent loads and optimizes. Use as a context manager.
    """

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile(mode="w+b")  # noqa: SIM115 - closed by close()
        read, write = os.pipe()
        self._events: IO[str] = os.fdopen(read, encoding="utf-8")
        self._child = subprocess.Popen(
            child.run_module("trtc.engine.worker", str(write)),
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            pass_fds=(write,),
            env=child.environment(),
            text=True,
        )
        os.close(write)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, job: BuildJob, on_event: Callable[[BuildEvent], None] | None = None) -> BuildResult:
        """The result of a job.

        Raises:
            DiagnosticError: what the child reports, or T0801 when it died.
            KeyboardInterrupt: after the build was cancelled and the child has ended.
        """
        try:
            self._send(job.to_json())
            for line in self._events:
                message: dict[str, Any] = json.loads(line)
                kind = message.pop("kind")
                if kind == "event":
                    if on_event is not None:
                        on_event(BuildEvent(**message))
                elif kind == "result":
                    return BuildResult.from_json(message)
                else:
                    raise DiagnosticError.of(remote_diagnostic(d) for d in message["diagnostics"])
        except KeyboardInterrupt:
            self.cancel()
            raise
        raise DiagnosticError(self._death())

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps(message) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise DiagnosticError(self._death()) from None

    def cancel(self) -> None:
        """Ask the build to stop; kill it when it does not within a few seconds."""
        self._close_stdin()
        try:
            self._child.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def close(self) -> None:
        """End the child and release its pipes; its work so far is on disk."""
        self._child.kill()  # a worker that no job has reached yet may still import TensorRT for seconds
        self._child.wait()
        self._close_stdin()
        self._events.close()
        self._log.close()

    def _close_stdin(self) -> None:
        # The worker reads its end of the pipe while it builds: its closing is the wish to stop.
        if self._child.stdin is not None and not self._child.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.close()

    def _death(self) -> Diagnostic:
        status = self._child.wait()
        self._log.seek(0)
        tail = self._log.read()[-4000:].decode("utf-8", "replace").strip().splitlines()[-12:]
        if status < 0:
            try:
                name = signal.Signals(-status).name
            except ValueError:
                name = f"signal {-status}"
            how = f"was killed by {name}"
        else:
            how = f"ended with status {status}"
        notes = ("the last it printed:\n" + "\n".join(tail),) if tail else ()
        out_of_memory = status == -signal.SIGKILL
        return Diagnostic(
            "T0801",
            f"the process that builds the engine {how}",
            notes=notes,
            help="the machine may have run out of memory: give it more, or build with a smaller `workspace`"
            if out_of_memory
            else "this is a fault inside TensorRT: nothing was written; try another `optimization_level`, "
            "or report the model with `trtc dump`",
        )


class LocalWorker:
    """The same interface in this process: for tests that plant faults, and callers with thousands of models."""

    def __enter__(self) -> LocalWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def close(self) -> None:
        """Nothing is held."""

    def run(self, job: BuildJob, on_event: Callable[[BuildEvent], None] | None = None) -> BuildResult:
        from trtc.engine.worker import run_job

        return run_job(job, on_event or (lambda _event: None), cancelled=lambda: False)


def write_crash_file(folder: Path, text: str) -> Path:
    """Keep the traceback of an internal fault where the user can send it from."""
    path = folder / f"trtc-crash-{os.getpid()}.txt"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        path = Path(tempfile.gettempdir()) / path.name
        path.write_text(text, encoding="utf-8")
    return path
