"""What can be seen in a text without parsing it: the header, brackets, where declarations begin.

Used to explain a syntax error and to go on behind it; a file without errors passes through the parser alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DECLARATIONS = (
    "use",
    "param",
    "dim",
    "model",
    "input",
    "output",
    "profile",
    "target",
    "builder",
    "pattern",
    "rewrite",
    "horizontal",
    "operator",
    "plugin",
    "precision",
    "extern",
    "pipeline",
    "verify",
    "emit",
)

CLOSER = {"(": ")", "[": "]", "{": "}"}
OPENER = {closer: opener for opener, closer in CLOSER.items()}

_OPAQUE = re.compile(r'#[^\n]*|"""(?:[^"]|"(?!""))*(?:"""|\Z)|"(?:[^"\\\n]|\\[^\n])*"?')
_BLANK = re.compile(r"(?:[ \t\r\n\f]+|#[^\n]*)*")
_WORD = re.compile(r"[A-Za-z_]\w*|\S")


def mask(text: str) -> str:
    """`text` with comments and the inside of strings as spaces; same length, same lines."""

    def blank(match: re.Match[str]) -> str:
        piece = match.group()
        hidden = re.sub(r"[^\n]", " ", piece)
        if piece.startswith("#") or len(piece) < 2:
            return hidden
        return '"' + hidden[1:-1] + '"' if piece.endswith('"') else '"' + hidden[1:]

    return _OPAQUE.sub(blank, text)


def blank(text: str, start: int, end: int) -> str:
    """`text` with `[start, end)` as spaces, line breaks kept."""
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def first_word(text: str, offset: int = 0) -> tuple[int, str]:
    """The place and text of the first word or mark at or behind `offset`, blanks and comments skipped."""
    blanks = _BLANK.match(text, offset)
    at = blanks.end() if blanks else offset
    word = _WORD.match(text, at)
    return at, word.group() if word else ""


def declaration_starts(masked: str) -> list[int]:
    """Offsets where a line begins with the keyword of a declaration, at the indentation of the file's first word.

    Deeper lines do not count: `output` is also written inside `verify`.
    """
    at, _ = first_word(masked)
    indent = masked[masked.rfind("\n", 0, at) + 1 : at]
    lead = re.escape(indent) if not indent.strip() else ""
    pattern = re.compile(rf"^{lead}(?=(?:{'|'.join(DECLARATIONS)})\b)", re.MULTILINE)
    return [m.end() for m in pattern.finditer(masked)]


@dataclass(frozen=True, slots=True)
class Bracket:
    mark: str
    at: int


@dataclass(frozen=True, slots=True)
class Brackets:
    """`open`: brackets not closed, outermost first. `wrong`: a closing one that fits none, with the one it met."""

    open: tuple[Bracket, ...]
    wrong: tuple[Bracket, Bracket | None] | None

    @property
    def balanced(self) -> bool:
        return not self.open and self.wrong is None


def brackets(masked: str, start: int, end: int) -> Brackets:
    """Pairs the brackets of `masked[start:end]` up to the first that does not fit."""
    stack: list[Bracket] = []
    for match in re.compile(r"[()\[\]{}]").finditer(masked, start, end):
        mark = match.group()
        if mark in CLOSER:
            stack.append(Bracket(mark, match.start()))
        elif stack and stack[-1].mark == OPENER[mark]:
            stack.pop()
        else:
            return Brackets(tuple(stack), (Bracket(mark, match.start()), stack[-1] if stack else None))
    return Brackets(tuple(stack), None)
