"""The TensorRT logger: TensorRT keeps one per process, so trtc makes one per module and asks it what was said when."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Any

_LOG = logging.getLogger("trtc.tensorrt")
#: Printed after most API errors on a machine without a driver; says nothing about the network.
_NOISE = re.compile(
    r"cudaError(Error)?\s*35|CUDA driver version is insufficient|no CUDA-capable device|CUDA initialization failure"
)
_LEVELS = {
    "INTERNAL_ERROR": logging.ERROR,
    "ERROR": logging.ERROR,
    "WARNING": logging.WARNING,
    "INFO": logging.INFO,
    "VERBOSE": logging.DEBUG,
}
_MADE: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Message:
    """What TensorRT said: `severity` is the name of an `ILogger.Severity`."""

    severity: str
    text: str

    @property
    def is_error(self) -> bool:
        return self.severity in ("ERROR", "INTERNAL_ERROR")


def logger(trt: Any) -> Any:
    """The logger of this process for a TensorRT module: an `ILogger` with `mark()`, `since(mark)` and `errors(mark)`.

    Messages also go to the Python logger `trtc.tensorrt` at debug level, so that `-v` shows them.
    """
    made = _MADE.get(trt.__name__)
    if made is None:
        made = _MADE[trt.__name__] = _make(trt)
    return made


def _make(trt: Any) -> Any:
    class CapturingLogger(trt.ILogger):
        """Keeps warnings and errors; verbose chatter is dropped."""

        def __init__(self) -> None:
            trt.ILogger.__init__(self)
            self.messages: list[Message] = []

        def log(self, severity: Any, msg: str) -> None:
            name = str(severity).rpartition(".")[2]
            if _NOISE.search(msg):
                return
            _LOG.log(min(_LEVELS.get(name, logging.DEBUG), logging.DEBUG), "%s: %s", name, msg)
            if name in ("INTERNAL_ERROR", "ERROR", "WARNING"):
                self.messages.append(Message(name, msg.strip()))

        def mark(self) -> int:
            return len(self.messages)

        def since(self, mark: int) -> tuple[Message, ...]:
            return tuple(self.messages[mark:])

        def errors(self, mark: int = 0) -> tuple[str, ...]:
            return tuple(dict.fromkeys(m.text for m in self.messages[mark:] if m.is_error))

    return CapturingLogger()
