"""The child's side: load, emit, read back, build. `python -m trtc.engine.worker FD` writes JSON lines to FD."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import dataclasses
import errno
import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.engine.job import BuildEvent, BuildJob, BuildResult


def run_job(job: BuildJob, on_event: Callable[[BuildEvent], None], cancelled: Callable[[], bool]) -> BuildResult:
    """Emit, read back and build in this process.

    Raises:
        DiagnosticError: T00xx no such target here, T0710 code of a plugin, T07xx not emitted, T0950.. not read back,
            T08xx not built.
    """
    from trtc import ir, targets
    from trtc.engine.build import build
    from trtc.engine.lower import lower
    from trtc.targets.plugins import load_code

    seconds: dict[str, float] = {}

    def timed(stage: str, begin: float) -> None:
        seconds[stage] = time.perf_counter() - begin

    on_event(BuildEvent("emit"))
    begin = time.perf_counter()
    target = targets.choose(job.target)
    load_code(target.module, target.logger, job.code)
    module = ir.load(Path(job.model))
    module.symbols.update(job.symbols)
    timed("load", begin)
    begin = time.perf_counter()
    mark = target.logger.mark()
    lowered = lower(module, target)
    timed("emit", begin)
    if job.readback is not None:
        on_event(BuildEvent("readback"))
        begin = time.perf_counter()
        ir.save(lowered.read(), Path(job.readback))
        timed("readback", begin)
    plan_bytes = 0
    if job.plan is not None:
        on_event(BuildEvent("build"))
        begin = time.perf_counter()
        plan_bytes = build(lowered.builder, lowered.network, target, job, on_event, cancelled)
        timed("build", begin)
    return BuildResult(
        target=target.name,
        version=target.version,
        bindings=tuple(binding.to_json() for binding in lowered.emission.bindings),
        layers=tuple(dataclasses.asdict(layer) for layer in lowered.emission.layers),
        seconds=seconds,
        log=tuple(message.text for message in target.logger.since(mark)),
        remarks=tuple({"kind": "analysis", "source": "emit", "message": note} for note in lowered.emission.notes),
        plan_bytes=plan_bytes,
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def main(descriptor: int) -> None:
    # The terminal sends Ctrl-C to the whole group. The parent decides what it means; we notice by our closed stdin.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        _serve(out)


def _serve(out: IO[str]) -> None:
    lock = threading.Lock()

    def send(kind: str, message: Mapping[str, Any]) -> None:
        with lock:
            out.write(json.dumps({"kind": kind, **message}) + "\n")
            out.flush()

    def event(one: BuildEvent) -> None:
        try:
            send("event", {"stage": one.stage, "name": one.name, "step": one.step, "steps": one.steps})
        except OSError:
            stop.set()  # nobody listens any more

    _warm_up()
    stop = threading.Event()
    # One reader for the whole life: jobs come line by line, the end of the stream is the wish to stop.
    jobs: list[str] = []
    arrived = threading.Condition()

    def read() -> None:
        for line in sys.stdin:
            with arrived:
                jobs.append(line)
                arrived.notify()
        with arrived:
            stop.set()
            arrived.notify()

    threading.Thread(target=read, daemon=True).start()
    while True:
        with arrived:
            while not jobs and not stop.is_set():
                arrived.wait()
            if not jobs:
                return
            line = jobs.pop(0)
        try:
            result = run_job(BuildJob.from_json(json.loads(line)), event, stop.is_set)
        except DiagnosticError as error:
            send("failed", {"diagnostics": [d.to_json() for d in error.diagnostics]})
        except Exception as error:
            send("failed", {"diagnostics": [internal(error).to_json()]})
        else:
            send("result", result.to_json())


#: What a file system says that is no fault of trtc: full, over a quota or a limit, read-only.
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})


def internal(error: BaseException) -> Diagnostic:
    """The diagnostic of a fault of trtc itself; its data carries the traceback for the crash file.

    A file system that takes no more is T1120, wherever it was noticed.
    """
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        return Diagnostic(
            "T1120",
            f"cannot write: {error.strerror}",
            file=str(error.filename) if error.filename else None,
            help="choose another folder with `-o DIR`, or make room; temporary files go where `TMPDIR` says",
        )
    return Diagnostic(
        "T0800",
        f"a fault inside trtc: {type(error).__name__}: {error}",
        help="please report it with the crash file",
        data={"traceback": "".join(traceback.format_exception(error))},
    )


def _warm_up() -> None:
    """Import what every job needs while the parent still works."""
    for name in ("trtc.emit.network", "trtc.ir.loader", "trtc.readback"):
        importlib.import_module(name)


if __name__ == "__main__":
    main(int(sys.argv[1]))
