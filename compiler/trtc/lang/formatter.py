"""One way to write a spec: `trtc fmt`.

Two spaces per block, one statement per line unless the author wrote the block on one line and it fits, spaces around
operators, lines of at most 120 columns. Every comment and docstring stays; nothing is renamed, sorted or left out.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from lark import Lark, Token, Tree

from trtc.diagnostics import Diagnostic, DiagnosticError, Source
from trtc.lang.format_layout import layout
from trtc.lang.format_tokens import spelling, tokens, walk
from trtc.lang.parser import parse


@functools.cache
def _lark() -> Any:
    """The parser of the language, with the tokens that the syntax tree has no use for."""
    grammar = (resources.files("trtc.lang") / "grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start="file",
        keep_all_tokens=True,
        maybe_placeholders=False,
    )


def format_text(text: str, path: str = "<text>") -> str:
    """`text` in the one form; `path` is what diagnostics call it.

    The result parses to the same tree and is its own form. Lines end as the first line of `text` does; a byte order
    mark goes.

    Raises:
        DiagnosticError: T01xx where `text` does not parse.
        AssertionError: the result would say something else; a fault of the formatter.
    """
    text = text.removeprefix("\ufeff")
    end = "\r\n" if text[: text.find("\n")].endswith("\r") else "\n"
    source = Source(path, text.replace("\r\n", "\n"))
    try:
        parse(source)
    except RecursionError:
        message = "an expression in this file is too long"
        raise DiagnosticError(Diagnostic("T0110", message, span=source.span(0, 0))) from None
    tree: Tree[Token] = _lark().parse(source.text)
    before = tokens(source.text, tree)
    comments = before.comments()
    made = layout(before)
    again: Tree[Token] = _lark().parse(made)
    if _shape(again) != _shape(tree) or tokens(made, again).comments() != comments:
        raise AssertionError(f"formatting {path} would change what it says")
    return made.replace("\n", end)


def _shape(tree: Tree[Token]) -> list[tuple[str, str | int]]:
    """What two trees have in common that differ in places only.

    A parenthesis is another token where it touches a name; where the grammar takes either, they are the same.
    """
    return [
        (node.type.replace("_CALL", "_LPAR"), spelling(node))
        if isinstance(node, Token)
        else (str(node.data), len(node.children))
        for node, _ in walk(tree)
    ]
