"""Where the checker collects what it finds."""

from __future__ import annotations

from collections.abc import Iterable

from trtc.diagnostics import Diagnostic, Label, Severity, Span, suggest


class Report:
    """Diagnostics of one check. The same finding is kept once: a pipeline that is called twice is checked twice."""

    def __init__(self, main: str) -> None:
        self._main = main
        self._found: dict[tuple[str, str, str, int], Diagnostic] = {}
        self.calls: list[Span] = []
        """Calls of named pipelines that are being expanded: what goes wrong inside shows the innermost."""

    def add(self, diagnostic: Diagnostic) -> None:
        span = diagnostic.span
        path, start = (span.source.path, span.start) if span else ("", 0)
        self._found.setdefault((diagnostic.code, diagnostic.message, path, start), diagnostic)

    def error(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        labels: tuple[Label, ...] = (),
        notes: tuple[str, ...] = (),
        help: str | None = None,
    ) -> None:
        if self.calls and not labels and self.calls[-1] != span:
            labels = (Label(self.calls[-1], "by this call"),)
        self.add(Diagnostic(code, message, span=span, labels=labels, notes=notes, help=help))

    def warning(self, code: str, message: str, span: Span, *, help: str | None = None) -> None:
        self.add(Diagnostic(code, message, span=span, severity=Severity.WARNING, help=help))

    def not_built(self, what: str, span: Span, *, help: str | None = None) -> None:
        """What the language knows and this version refuses by name."""
        help = help or "leave it out"
        self.error("T0201", f"this version of trtc does not build {what} yet", span, help=help)

    def duplicate(self, what: str, span: Span, first: Span) -> None:
        """The same thing said twice: both places are shown."""
        self.error("T0202", f"{what} twice", span, labels=(Label(first, "first here"),))

    @property
    def failed(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self._found.values())

    def sorted(self) -> tuple[Diagnostic, ...]:
        """By place: the spec itself first, then the files it uses, then the command line.

        Beside errors there are no warnings: most would only follow from them.
        """

        def key(diagnostic: Diagnostic) -> tuple[int, str, int]:
            if diagnostic.span is None:
                return (0, "", 0)
            path = diagnostic.span.source.path
            return (0 if path == self._main else 2 if path.startswith("--") else 1, path, diagnostic.span.start)

        failed = self.failed
        kept = [d for d in self._found.values() if d.severity is Severity.ERROR or not failed]
        return tuple(sorted(kept, key=key))


def article(word: str) -> str:
    """A word behind `a` or `an`."""
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def did_you_mean(name: str, known: Iterable[str], plural: str) -> str:
    """A help: the closest name, else those that there are."""
    names = list(known)
    close = suggest(name, names)
    if close is not None:
        return f"did you mean `{close}`?"
    if not names:
        return f"there are no {plural}"
    return f"{plural}: {listing(names)}"


def listing(names: Iterable[str], limit: int = 12) -> str:
    """`a`, `b` and 3 more."""
    all_names = list(names)
    shown = ", ".join(f"`{n}`" for n in all_names[:limit])
    return shown if len(all_names) <= limit else f"{shown} and {len(all_names) - limit} more"
