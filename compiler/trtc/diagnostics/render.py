"""Diagnostics as text for people."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Callable, Iterable

from trtc.diagnostics.diagnostic import Diagnostic, Severity
from trtc.diagnostics.source import Span

_STYLES = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "bold": "\x1b[1m",
    "blue": "\x1b[1;34m",
    "cyan": "\x1b[36m",
}
_RESET = "\x1b[0m"


def escape(text: str) -> str:
    """`text` with control, bidirectional and other format characters written as escapes; newlines too.

    Names come from models, which are data from outside: they may not move the cursor or reorder a line.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or (char == " ")
        else (
            {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char)
            or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
        )
        if unicodedata.category(char)[0] in "CZ"
        else char
        for char in text
    )


def _escape_lines(text: str) -> str:
    return "\n".join(escape(line) for line in text.split("\n"))


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 node`, `2 nodes`; `many` where an s does not do."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def suggest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None when nothing is close."""
    folded = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def render(diagnostic: Diagnostic, *, color: bool = False) -> str:
    """The diagnostic in the look of rustc: header, place, the line with carets, notes, help.

    Example:
        error[T0203]: unknown pass `fold_constant`
          --> model.trtspec:4:12
           |
         4 | pipeline { fold_constant() }
           |            ^^^^^^^^^^^^^
           = help: did you mean `fold_constants`?
    """

    def paint(text: str, style: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if color else text

    word = diagnostic.severity.value
    style = "error" if diagnostic.severity is Severity.ERROR else "warning"
    lines = [paint(f"{word}[{diagnostic.code}]", style) + paint(f": {_escape_lines(diagnostic.message)}", "bold")]
    spans = [(diagnostic.span, "", "^")] if diagnostic.span is not None else []
    spans += [(label.span, label.text, "-") for label in diagnostic.labels]
    width = max((len(str(span.line)) for span, _, _ in spans), default=1)
    for at, (span, text, mark) in enumerate(spans):
        lines += _excerpt(span, text, mark, width, first=at == 0, paint=paint, style=style)
    if diagnostic.node is not None:
        where = f"{escape(diagnostic.file)}: " if diagnostic.file is not None else ""
        lines.append(f"{' ' * (width + 1)}{paint('-->', 'blue')} {where}{escape(diagnostic.node)}")
    elif diagnostic.file is not None and diagnostic.span is None:
        lines.append(f"{' ' * (width + 1)}{paint('-->', 'blue')} {escape(diagnostic.file)}")
    bar = " " * (width + 2) + paint("=", "blue")
    indent = " " * (width + 4)
    for note in diagnostic.notes:
        lines.append(f"{bar} {_escape_lines(note)}".replace("\n", f"\n{indent}"))
    if diagnostic.help is not None:
        lines.append(f"{bar} {paint('help:', 'cyan')} {_escape_lines(diagnostic.help)}".replace("\n", f"\n{indent}"))
    return "\n".join(lines)


def excerpt(span: Span, *, color: bool = False) -> str:
    """A place, its line and carets below it, as in a diagnostic."""

    def paint(text: str, style: str) -> str:
        return f"{_STYLES[style]}{text}{_RESET}" if color else text

    return "\n".join(_excerpt(span, "", "^", len(str(span.line)), first=True, paint=paint, style="cyan"))


def _excerpt(
    span: Span, text: str, mark: str, width: int, *, first: bool, paint: Callable[[str, str], str], style: str
) -> list[str]:
    number, column = span.source.position(span.start)
    end_line, end_column = span.source.position(max(span.end, span.start))
    line = span.source.line(number)
    length = (end_column - column) if end_line == number else len(line) - column + 1
    # A tab is as wide in the line of carets as in the line above it.
    lead = "".join("\t" if char == "\t" else " " for char in line[: column - 1])
    arrow = "-->" if first else ":::"
    carets = paint(mark * max(length, 1), style if mark == "^" else "blue")
    return [
        f"{' ' * (width + 1)}{paint(arrow, 'blue')} {escape(span.source.path)}:{number}:{column}",
        f"{' ' * (width + 2)}{paint('|', 'blue')}",
        f"{paint(f'{number:>{width + 1}} |', 'blue')} {_escape_tabs_kept(line)}",
        f"{' ' * (width + 2)}{paint('|', 'blue')} {lead}{carets}{' ' + text if text else ''}",
    ]


def _escape_tabs_kept(line: str) -> str:
    return "\t".join(escape(part) for part in line.split("\t"))
