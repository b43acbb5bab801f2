"""Command lines of trtc, each in a process of its own with little time and memory, from one that imports once."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

MEMORY = 2 << 30
SECONDS = 10.0


@dataclass(frozen=True)
class Done:
    """`status` is the exit status, negative for a signal (SIGKILL: it took too long)."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def codes(self) -> list[str]:
        """Codes of an answer in JSON."""
        return [d["code"] for d in json.loads(self.out)["diagnostics"]]


class Sandbox:
    """A context; `run` may be called any number of times."""

    def __init__(self) -> None:
        # Its errors are those of pytest's, its children's go to files.
        self._server = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.communicate()

    def run(self, arguments: Sequence[str], folder: Path) -> Done:
        """`trtc` with `arguments`, started in `folder`."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        with tempfile.TemporaryDirectory() as name:
            out, err = Path(name) / "out", Path(name) / "err"
            job = {"arguments": list(arguments), "folder": str(folder), "out": str(out), "err": str(err)}
            self._server.stdin.write(json.dumps(job) + "\n")
            self._server.stdin.flush()
            status = int(self._server.stdout.readline())
            return Done(status, out.read_text(errors="replace"), err.read_text(errors="replace"))


def _serve() -> None:
    from trtc.cli import main

    # One check of a sound model imports everything, and finds out what TensorRT can do here.
    sound = Path(__file__).parent / "conv_weight_shared_by_two_batch_norms" / "model.onnx"
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["check", str(sound)]) == 0
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            _child(job)
        print(_wait(child), flush=True)


def _child(job: dict[str, Any]) -> None:
    for stream, name in ((1, job["out"]), (2, job["err"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), stream)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.setpgid(0, 0)
    os.chdir(job["folder"])
    from trtc.cli import main

    status = main(job["arguments"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _wait(child: int) -> int:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    _serve()
