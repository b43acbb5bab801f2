"""What lark could not go on with, explained to a person; and how much to skip to look for the next mistake."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, cast

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from trtc.diagnostics import Diagnostic, Label, Source, Span, suggest
from trtc.lang import scanner, words
from trtc.lang.scanner import CLOSER, DECLARATIONS, OPENER

_CLOSING_TERMINALS = {"(": "_RPAR", "[": "_RSQB", "{": "_RBRACE"}
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|\d+(?:\.\d+)?\w*|\w+|==|!=|<=|>=|->|&&|\|\||\.\.\.?|\S')
_QUOTES = "'`‘’“”«»"


@dataclass(frozen=True, slots=True)
class Mistake:
    """A syntax error and the range of characters to ignore when looking for more of them."""

    diagnostic: Diagnostic
    skip: tuple[int, int]


def explain(error: UnexpectedInput, source: Source, text: str) -> Mistake:
    """`text` is what was parsed: that of `source`, with earlier mistakes blanked out."""
    site = _Site(error, source, text)
    diagnostic = site.diagnose()
    return Mistake(diagnostic, site.skip())


class _Site:
    """One error of the parser and what surrounds it."""

    def __init__(self, error: UnexpectedInput, source: Source, text: str) -> None:
        self.source = source
        self.text = text
        self.masked = scanner.mask(text)
        self.unknown_character = isinstance(error, UnexpectedCharacters)
        terminal = str(cast(Any, error).token.type) if isinstance(error, UnexpectedToken) else ""
        self.at_end = terminal == "$END"
        at = len(text.rstrip()) if self.at_end else (error.pos_in_stream or 0)
        self.at = at
        match = None if self.at_end else _TOKEN.match(text, at)
        self.found = match.group() if match else ""
        self.accepts, self.keywords, self.previous = _parser_state(error)
        self.context = self.keywords[-1] if self.keywords else None
        self.starts = scanner.declaration_starts(self.masked)
        # An error at the very start of a declaration is a mistake of the one before it.
        self.declaration = max((s for s in self.starts if s < at), default=0)
        self.brackets = scanner.brackets(self.masked, self._first_open_context(), at)
        self._skip: tuple[int, int] | None = None
        self._before: int | None = None

    def _first_open_context(self) -> int:
        # Brackets are counted from the last declaration that the parser knows to be complete, not from the last
        # line that looks like the start of one: a `{` may be open across it.
        starts = [s for s in self.starts if s <= self.at]
        for start in starts:
            end = next((s for s in self.starts if s > start), len(self.text))
            if end > self.at or not scanner.brackets(self.masked, start, end).balanced:
                return start
        return self.declaration

    # ---- the message

    def span(self) -> Span:
        return self.source.span(self.at, self.at + len(self.found))

    def diagnose(self) -> Diagnostic:
        special = (
            self._odd_character()
            or self._swallowed_declaration()
            or self._unfinished_declaration()
            or self._closing()
            or self._end_of_file()
            or self._unknown_declaration()
        )
        return special or self._unexpected()

    def _odd_character(self) -> Diagnostic | None:
        char = self.text[self.at : self.at + 1]
        span = self.source.span(self.at, self.at + 1)
        line = self.source.line(span.line)[span.column - 1 :]
        if self.text.startswith("//", self.at) or self.text.startswith("/*", self.at):
            return Diagnostic("T0104", "comments begin with `#`", span=self.source.span(self.at, self.at + 2))
        if self.text.startswith('"""', self.at) and self.text.find('"""', self.at + 3) < 0:
            opening = self.source.span(self.at, self.at + 3)
            return Diagnostic("T0103", 'this text is never closed: `"""` is missing', span=opening)
        if char == '"' and self.unknown_character:
            span = self.source.span(self.at, self.at + len(line.rstrip()))
            return Diagnostic(
                "T0103",
                'this string is never closed: `"` is missing at its end',
                span=span,
                help='a string ends on the line where it begins; `\\"` stands for a quote inside it',
            )
        if char and char in _QUOTES:
            return Diagnostic("T0104", f'strings are written in double quotes: `"…"`, not `{char}`', span=span)
        if char == ";":
            return Diagnostic(
                "T0104",
                "`;` is not used here",
                span=span,
                help="nothing stands between two declarations but a space or a new line",
            )
        if char == "$" or not self.unknown_character or not char:
            return None
        if char.isascii():
            return Diagnostic("T0104", f"`{char}` is not used in this language", span=span)
        name = unicodedata.name(char, f"U+{ord(char):04X}")
        if unicodedata.category(char)[0] in "CZ":
            return Diagnostic(
                "T0104",
                f"an invisible character stands here: {name}",
                span=span,
                help="delete it; it often comes along when text is copied from a web page",
            )
        return Diagnostic(
            "T0104",
            f"`{char}` ({name}) is not used outside strings and comments",
            span=span,
            help="names are made of the letters a to z, digits and `_`" if char.isalpha() else None,
        )

    def _swallowed_declaration(self) -> Diagnostic | None:
        """A `{` open since an earlier declaration, although another has begun since."""
        if not self.brackets.open or self.brackets.wrong:
            return None
        outer = self.brackets.open[0]
        start = next((s for s in self.starts if outer.at < s <= self.at), None)
        if start is None:
            return None
        inner = [b for b in self.brackets.open if b.at < start][-1]
        self._skip = (self._line_start(outer.at), start)
        keyword = scanner.first_word(self.masked, start)[1]
        where = self.source.span(start, start + len(keyword))
        return self._never_closed(
            inner.mark, inner.at, f"`{keyword}` begins here, so `{CLOSER[inner.mark]}` is missing", where
        )

    def _never_closed(self, mark: str, at: int, text: str, where: Span | None) -> Diagnostic:
        return Diagnostic(
            "T0102",
            f"this `{mark}` is never closed",
            span=self.source.span(at, at + 1),
            labels=(Label(where, text),) if where is not None else (),
            help=f"put `{CLOSER[mark]}` where it ends",
        )

    def _unfinished_declaration(self) -> Diagnostic | None:
        """The keyword of the next declaration was taken for the name or value that the last one still lacks."""
        keyword = scanner.first_word(self.masked, self.declaration)[1]
        earlier = [s for s in self.starts if s < self.declaration]
        swallowed = not self.masked[self.declaration + len(keyword) : self.at].strip() and self.context != keyword
        if not earlier or not swallowed or self.at in self.starts:
            return None
        before = len(self.masked[: self.declaration].rstrip())
        unfinished = scanner.first_word(self.masked, earlier[-1])[1]
        self._skip = (earlier[-1], self.declaration)
        return Diagnostic(
            "T0101",
            f"`{unfinished}` is not finished before `{keyword}` begins",
            span=self.source.span(before, before + 1),
            help=words.EXAMPLES.get(unfinished),
        )

    def _closing(self) -> Diagnostic | None:
        if self.found not in OPENER:
            return None
        if not self.brackets.open:
            return Diagnostic(
                "T0108", f"`{self.found}` closes nothing", span=self.span(), help="delete it, or add what opens it"
            )
        opener = self.brackets.open[-1]
        if OPENER[self.found] == opener.mark:
            return None
        return Diagnostic(
            "T0108",
            f"expected `{CLOSER[opener.mark]}`, found `{self.found}`",
            span=self.span(),
            labels=(Label(self.source.span(opener.at, opener.at + 1), f"this `{opener.mark}` is still open"),),
        )

    def _end_of_file(self) -> Diagnostic | None:
        if not self.at_end or not self.brackets.open:
            return None
        inner = self.brackets.open[-1]
        return self._never_closed(inner.mark, inner.at, "", None)

    def _unknown_declaration(self) -> Diagnostic | None:
        if "_MODEL" not in self.accepts or not re.fullmatch(r"[A-Za-z_]\w*", self.found):
            return None
        if self.found == "trtspec":
            return Diagnostic("T0106", "`trtspec` is written once, at the top of the file", span=self.span())
        if self.found in DECLARATIONS:
            return None
        close = suggest(self.found, DECLARATIONS)
        if self.found in ("output", "fixpoint", "apply", "expect", "checkpoint"):
            return Diagnostic(
                "T0101", f"`{self.found}` is a step of a pipeline: write it inside `pipeline {{ … }}`", span=self.span()
            )
        return Diagnostic(
            "T0101",
            f"`{self.found}` does not begin a declaration",
            span=self.span(),
            help=f"did you mean `{close}`?" if close else f"a declaration is one of {', '.join(DECLARATIONS)}",
        )

    def _unexpected(self) -> Diagnostic:
        labels: tuple[Label, ...] = ()
        code = "T0101"
        opener = self.brackets.open[-1] if self.brackets.open else None
        if opener is not None and opener.mark != "{" and _CLOSING_TERMINALS[opener.mark] in self.accepts:
            where = self.source.span(opener.at, opener.at + 1)
            if where.line < self.span().line or self.found in ("{", "}"):
                labels = (Label(where, f"this `{opener.mark}` is still open"),)
                code = "T0102"
        wanted = words.expected(self.accepts, self.context)
        what = words.found(self.found)
        span = self.span()
        message = f"expected {wanted}, found {what}" if wanted else f"{what} cannot stand here"
        before = len(self.masked[: self.at].rstrip())
        if wanted and not labels and before and self.source.position(before)[0] < span.line:
            # Something is missing at the end of an earlier line: point there, not at what innocently follows.
            self._before = before
            span = self.source.span(before, before + 1)
            message = f"expected {wanted} before {what}"
        return Diagnostic(
            code,
            message,
            span=span,
            labels=labels,
            help=None if labels else self._advice(),
        )

    def _advice(self) -> str | None:
        accepts = self.accepts
        if "DTYPE" in accepts and re.match(r"[A-Za-z]\w*", self.found):
            close = suggest(self.found, words.DTYPES)
            return f"did you mean `{close}`?" if close else f"dtypes: {', '.join(words.DTYPES)}"
        word = re.search(r"(\w+)\s*\Z", self.masked[: self.at])
        if self.previous == "NAME" and "_EQUAL" in accepts and word and self.context in words.PARTS:
            close = suggest(word.group(1), words.PARTS[self.context])
            if close:
                return f"did you mean `{close}` instead of `{word.group(1)}`?"
        if self.found == "=" and "COMPARE" in accepts:
            return "values are compared with `==`"
        if self.found == ":" and "_EQUAL" in accepts:
            return "write `=` between a name and its value"
        if self.found == "=" and "_COLON" in accepts and self.context == "output":
            return words.EXAMPLES["output"]
        if accepts == {"_LSQB"} and self.context in ("input", "output"):
            return "a dtype is followed by a shape: `f32[1, 3]`, `f32[]` for a scalar, `f32[...]` for any shape"
        if self.found == "," and "_RBRACE" in accepts:
            return "inside `{ }` nothing stands between two entries but a space or a new line"
        if self.found.startswith(".") and self.text[: self.at].endswith(".."):
            return "a range is written with two dots: `1..64`"
        if self.found == "." and _TOKEN.match(self.text, self.at + 1) and "INT" in accepts:
            return "a number begins with a digit: write `0.5`"
        if accepts == {"STRING"} and re.match(r"\w", self.found):
            return f'write it in double quotes: `"{self.found}"`'
        if self.previous in ("NAME", "dotted") and "_LPAR" in accepts and self.context in ("pipeline", "fixpoint"):
            return "a pass is called with parentheses, also without options: `cse()`"
        return words.EXAMPLES.get(self.context or "")

    # ---- where to go on

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def skip(self) -> tuple[int, int]:
        """First the line (from that of an open parenthesis on), else the whole declaration."""
        if self._skip is not None:
            return self._skip
        if self.at in self.starts and self.declaration:
            return self.declaration, self.at
        following = next((s for s in self.starts if s > self.at), len(self.text))
        start, end = self._line_start(self.at), self._line_end(self.at)
        opener = self.brackets.open[-1] if self.brackets.open else None
        moved = opener is not None and opener.mark != "{" and self._line_start(opener.at) < start
        if opener is not None and moved:
            start, end = self._line_start(opener.at), start
        elif self._before is not None:
            start, end = self._line_start(self._before), start
        removed = self.masked[start:end]
        whole = (
            removed.count("{") == removed.count("}") if moved else scanner.brackets(removed, 0, len(removed)).balanced
        )
        if start > self.declaration and whole:
            return start, end
        return self.declaration or start, following


def _parser_state(error: UnexpectedInput) -> tuple[set[str], list[str], str]:
    """Terminals that could follow, the keywords of the constructs around (outermost first), the terminal before."""
    parser: Any = getattr(error, "interactive_parser", None)
    if parser is None and isinstance(error, UnexpectedCharacters):
        return set(error.allowed or ()), [], ""
    if parser is None:
        return set(), [], ""
    stack: list[Any] = parser.parser_state.value_stack
    tokens = [t for t in stack if isinstance(t, Token)]
    keywords = [k for t in tokens if t.type != "NAME" and (k := words.keyword_of(t.type)) is not None]
    previous = str(stack[-1].type if isinstance(stack[-1], Token) else stack[-1].data) if stack else ""
    return {str(t) for t in parser.accepts()}, keywords, previous
