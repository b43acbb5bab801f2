"""From text to the syntax tree, or to everything that is wrong with the text."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING, Any

from trtc.diagnostics import Diagnostic, DiagnosticError, Source
from trtc.lang import scanner, syntax

# A model alone is compiled without a text to parse: what parses is imported when there is one.
if TYPE_CHECKING:
    from lark import Token, Tree

VERSION = 1
_MAX_ERRORS = 12
_MAX_DEPTH = 100


@functools.cache
def _lark() -> Any:
    from lark import Lark

    grammar = (resources.files("trtc.lang") / "grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["file", "value"],
        propagate_positions=True,
        maybe_placeholders=False,
    )


def parse(source: Source, library: str = "") -> syntax.File:
    """The tree of a file. `library` is the name of the library that it is, "" for a user's file.

    Raises:
        DiagnosticError: T01xx, one per syntax error found, in order of place.
    """
    from trtc.lang.tree import TreeBuilder

    errors = _header_errors(source) or _depth_errors(source)
    if not errors:
        tree, errors = _parse_all(source)
        builder = TreeBuilder(source, library)
        if tree is not None:
            file = builder.file(tree)
            if not builder.errors:
                return file
            errors = builder.errors
    raise DiagnosticError.of(errors)


def parse_value(source: Source, start: int) -> syntax.Expression:
    """The expression in `source.text[start:]`, for values that come from the command line.

    Raises:
        DiagnosticError: T01xx.
    """
    from lark.exceptions import UnexpectedInput

    from trtc.lang.syntax_errors import explain
    from trtc.lang.tree import TreeBuilder

    text = scanner.blank(source.text, 0, start)
    errors = _depth_errors(source)
    if errors:
        raise DiagnosticError.of(errors)
    try:
        tree: Tree[Token] = _lark().parse(text, start="value")
    except UnexpectedInput as error:
        raise DiagnosticError(explain(error, source, text).diagnostic) from None
    builder = TreeBuilder(source)
    value = builder.expression(tree.children[0])
    if builder.errors:
        raise DiagnosticError.of(builder.errors)
    return value


def _parse_all(source: Source) -> tuple[Tree[Token] | None, list[Diagnostic]]:
    """The tree, or the errors: after each the text is parsed again with the mistake blanked out."""
    from lark.exceptions import UnexpectedInput

    from trtc.lang.syntax_errors import explain

    text = source.text
    errors: list[Diagnostic] = []
    reached = -1
    while len(errors) < _MAX_ERRORS:
        try:
            tree: Tree[Token] = _lark().parse(text, start="file")
        except UnexpectedInput as error:
            mistake = explain(error, source, text)
            at = error.pos_in_stream if error.pos_in_stream is not None else len(text)
            # An error that does not lie behind the last one is a consequence of the blanking, not the user's.
            if at <= reached:
                break
            reached = at
            errors.append(mistake.diagnostic)
            text = scanner.blank(text, *mistake.skip)
            continue
        return (tree if not errors else None), errors
    return None, errors


def _header_errors(source: Source) -> list[Diagnostic]:
    """Whether the file begins with `trtspec 1`."""
    at, word = scanner.first_word(source.text)
    if word != "trtspec":
        empty = "the file is empty" if not word else "the header is missing"
        close = word.lower().startswith("trtspec") or word.lower() in ("spec", "trtc")
        return [
            Diagnostic(
                "T0105",
                f"{empty}: a file begins with `trtspec {VERSION}`",
                span=source.span(at, at + len(word)),
                help=f"write `trtspec {VERSION}` here" if close else f"add `trtspec {VERSION}` as the first line",
            )
        ]
    number_at, number = _number_after(source.text, at + len(word))
    if number == str(VERSION):
        return []
    span = source.span(number_at, number_at + len(number))
    if number.isdigit() and source.position(number_at)[0] == source.position(at)[0]:
        help_ = f"this version of trtc reads `trtspec {VERSION}`; a newer trtc may read this file"
        return [Diagnostic("T0106", f"`trtspec {number}` is not known", span=span, help=help_)]
    header = source.span(at, at + len(word))
    return [
        Diagnostic(
            "T0106",
            f"the version of the language is missing behind `trtspec`: expected `{VERSION}`",
            span=header,
            help=f"write `trtspec {VERSION}`",
        )
    ]


def _number_after(text: str, offset: int) -> tuple[int, str]:
    at, _ = scanner.first_word(text, offset)
    end = at
    while end < len(text) and (text[end].isalnum() or text[end] in "._"):
        end += 1
    return at, text[at:end]


def _depth_errors(source: Source) -> list[Diagnostic]:
    """Nesting that no person writes would exhaust the stack of what walks the tree."""
    depth = 0
    masked = scanner.mask(source.text)
    for at, char in enumerate(masked):
        if char in scanner.CLOSER:
            depth += 1
            if depth > _MAX_DEPTH:
                return [
                    Diagnostic(
                        "T0110",
                        f"brackets are nested deeper than {_MAX_DEPTH}",
                        span=source.span(at, at + 1),
                    )
                ]
        elif char in scanner.OPENER:
            depth -= 1
    return []
