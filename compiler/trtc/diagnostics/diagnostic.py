"""What every room raises and reports."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trtc.diagnostics.source import Span


class Severity(enum.Enum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that matters, and what it is."""

    span: Span
    text: str


#: Exit status of the command line by the first three characters of a code (docs: the language's "Commands and
#: exit status"). Every family that is not here is a mistake in the spec or the model: status 1.
_STATUS: Mapping[str, int] = {"T00": 4, "T08": 5, "T09": 3, "T10": 2}


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong: code, place, what was expected and found, and what to do.

    `span` is a place in a spec (or in a command-line argument), `node` a place in a model: the name of a node,
    tensor or layer. `file` is the file that the node is in. `notes` are printed in order, `help` last. `data` is
    for machines only (`--json`).
    """

    code: str
    message: str
    span: Span | None = None
    severity: Severity = Severity.ERROR
    labels: tuple[Label, ...] = ()
    node: str | None = None
    file: str | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def status(self) -> int:
        """The exit status of a command that ends in this diagnostic."""
        return _STATUS.get(self.code[:3], 1)

    def to_json(self) -> dict[str, Any]:
        """A dict of JSON types; absent parts are left out."""
        out: dict[str, Any] = {"code": self.code, "severity": self.severity.value, "message": self.message}
        if self.span is not None:
            out["span"] = _span_json(self.span)
        if self.labels:
            out["labels"] = [{"span": _span_json(label.span), "text": label.text} for label in self.labels]
        for key in ("node", "file", "help"):
            if getattr(self, key) is not None:
                out[key] = getattr(self, key)
        if self.notes:
            out["notes"] = list(self.notes)
        if self.data:
            out["data"] = dict(self.data)
        return out


def _span_json(span: Span) -> dict[str, Any]:
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {
        "path": span.source.path,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }


class DiagnosticError(Exception):
    """The one exception that a user's mistake becomes. Carries one or more diagnostics, in order of place."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        if not diagnostics:
            raise ValueError("a DiagnosticError carries at least one diagnostic")
        super().__init__(*diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic]) -> DiagnosticError:
        return cls(*diagnostics)

    @property
    def status(self) -> int:
        return exit_status(self.diagnostics)

    def __str__(self) -> str:
        from trtc.diagnostics.render import render

        return "\n".join(render(d) for d in self.diagnostics)


def exit_status(diagnostics: Sequence[Diagnostic]) -> int:
    """The status of a command that reported `diagnostics`: 0 without errors, else that of the first error."""
    return next((d.status for d in diagnostics if d.severity is Severity.ERROR), 0)


class RemarkKind(enum.Enum):
    APPLIED = "applied"
    DECLINED = "declined"
    ANALYSIS = "analysis"


@dataclass(frozen=True, slots=True)
class Remark:
    """What a pass did, declined to do (and why), or found out, at one node."""

    kind: RemarkKind
    source: str
    """The pass, rule or room that speaks."""
    message: str
    node: str | None = None
    span: Span | None = None

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {"kind": self.kind.value, "source": self.source, "message": self.message}
        if self.node is not None:
            out["node"] = self.node
        if self.span is not None:
            out["span"] = _span_json(self.span)
        return out
