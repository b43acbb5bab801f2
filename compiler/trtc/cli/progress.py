"""Progress on stderr: a moving line on a terminal, one line per stage elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

import click

from trtc.cli.app import color
from trtc.engine.job import BuildEvent

_WORDS = {
    "load": "loading",
    "optimize": "optimizing",
    "save": "handing over",
    "emit": "emitting the network",
    "readback": "reading the network back",
    "build": "building the engine",
    "verify": "verifying",
}


class Progress:
    """Takes the events of a compile. Use as a context manager; `enabled=False` says nothing."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._terminal = sys.stderr.isatty()
        self._stage = ""
        self._status: Any = None
        self._begin = time.perf_counter()

    def __enter__(self) -> Progress:
        if self._enabled and self._terminal:
            from rich.console import Console

            console = Console(stderr=True, no_color=not color(sys.stderr))
            self._status = console.status("starting")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def __call__(self, event: BuildEvent) -> None:
        if not self._enabled:
            return
        words = _WORDS.get(event.stage)
        if words is None:  # the worker as a whole: its own stages say more
            return
        if self._status is not None:
            from rich.markup import escape

            detail = event.name
            if event.steps > 1:
                detail += f" {event.step}/{event.steps}"
            self._status.update(escape(f"{words}  {detail}"[:110]))
        elif event.stage != self._stage:
            click.echo(f"[{time.perf_counter() - self._begin:6.1f} s] {words}", err=True)
        self._stage = event.stage
