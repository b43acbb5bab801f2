"""Progress and cancellation through TensorRT's `IProgressMonitor`."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trtc.engine.job import BuildEvent


def monitor(trt: Any, on_event: Callable[[BuildEvent], None], cancelled: Callable[[], bool]) -> Any | None:
    """A monitor for `config.progress_monitor`, None where this TensorRT has none (8.6).

    TensorRT prints and ignores an exception raised in a callback, so callbacks only record: `on_event` must not
    raise. Returning False from a step is the one way to cancel.
    """
    base: Any = getattr(trt, "IProgressMonitor", None)
    if base is None:
        return None

    class Monitor(base):
        def __init__(self) -> None:
            base.__init__(self)
            self.steps: dict[str, int] = {}

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            self.steps[phase_name] = num_steps
            on_event(BuildEvent("build", phase_name, 0, num_steps))

        def step_complete(self, phase_name: str, step: int) -> bool:
            on_event(BuildEvent("build", phase_name, step + 1, self.steps.get(phase_name, 0)))
            return not cancelled()

        def phase_finish(self, phase_name: str) -> None:
            steps = self.steps.pop(phase_name, 0)
            on_event(BuildEvent("build", phase_name, steps, steps))

    return Monitor()
