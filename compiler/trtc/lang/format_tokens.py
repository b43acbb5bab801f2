"""What the formatter arranges: the tokens of a file with the comments around them, nested as the brackets nest.

Only the tokens decide, and where the parse tree puts a parenthesis: a construct that the grammar learns is arranged
like those it resembles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lark import Token, Tree

from trtc.lang.scanner import CLOSER

_BLANKS = " \t\r\f"
_TYPES = frozenset({"DTYPE", "CONST", "FIELD_TYPE"})
_OPERANDS = frozenset({"NAME", "CAPTURE", "INT", "FLOAT", "SIZE", "STRING", "RECURSIVE"}) | _TYPES
_OPERAND_ENDS = frozenset({")", "]", "[]", "}", "?", "..."})
#: Keywords that stand inside a statement; every other one begins one where it follows a value.
_INSIDE = frozenset({"WITH", "MIN", "OPT", "MAX", "IN", "FROM"}) | _TYPES
#: Keywords whose parenthesis is written like that of a call.
_CALLED = frozenset({"NAME", "FIXPOINT", "APPLY", "EXPECT", "CHECKPOINT"})
#: Nodes that may begin with a parenthesis right behind the end of another statement.
_STATEMENTS = frozenset({"assignment", "targets"})
#: Nodes in parentheses that may state a type: `(view(x) : float[N])`, and so `(x : float[N])`.
_ASCRIPTIONS = frozenset({"group", "of_type"})
#: Keywords that statements of their own follow, one level deeper where there are several.
_SECTIONS = frozenset({"MATCH", "MEMBER", "MEANING"})
_OPERATORS = frozenset({"+", "-", "*", "/", "@", "&&", "||", "==", "!=", "<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on a line of its own; `blank`: an empty line stands before it."""

    text: str
    blank: bool


@dataclass(slots=True)
class Leaf:
    """A token. `before`: comments on lines of their own; `after`: the comment behind it and the lines that go on below.

    `blank`: an empty line directly before it; `broken`: it begins a line; `space`: what separates it from the token
    before it where both are on one line; `operator`: it stands between two operands;
    `ascribed`: it is the parenthesis of `(value : type)`, or the name behind that.
    """

    type: str
    text: str
    before: list[Comment] = field(default_factory=list[Comment])
    after: list[str] = field(default_factory=list[str])
    blank: bool = False
    broken: bool = False
    space: bool = False
    call: bool = False
    operator: bool = False
    sign: bool = False
    ascribed: bool = False

    @property
    def ends_operand(self) -> bool:
        return self.type in _OPERANDS or self.text in _OPERAND_ENDS


@dataclass(slots=True)
class Group:
    """Brackets and what is in them: arguments (each with the comma behind it), or in braces statements.

    `text` is all of it on one line, None where a comment or a line break in braces forbids that; `flat` is the same,
    but None also where the author put the first of several arguments on a line of its own.
    """

    open: Leaf
    close: Leaf
    parts: list[Part]
    text: str | None
    flat: str | None

    @property
    def braces(self) -> bool:
        return self.open.text == "{"


Element: TypeAlias = Leaf | Group


@dataclass(slots=True)
class Part:
    """An argument or a statement; `nested` are the statements behind a `match` or `meaning`."""

    elements: list[Element]
    nested: list[Part] = field(default_factory=list["Part"])

    @property
    def first(self) -> Leaf:
        return first(self.elements[0])


def first(element: Element) -> Leaf:
    return element if isinstance(element, Leaf) else element.open


def last(element: Element) -> Leaf:
    return element if isinstance(element, Leaf) else element.close


def flat(elements: Sequence[Element]) -> str | None:
    """The text of neighbours on one line, or None. Comments before the first and behind the last do not count."""
    spread = any(isinstance(e, Group) and e.flat is None for e in elements)
    return None if spread else flat_text(elements)


def flat_text(elements: Sequence[Element]) -> str | None:
    """As `flat`, but for what the author spread over lines without need."""
    text = ""
    for at, element in enumerate(elements):
        head = first(element)
        if element.text is None or (at and head.before) or (at + 1 < len(elements) and last(element).after):
            return None
        text += " " + element.text if at and head.space else element.text
    return text


def walk(tree: Tree[Token]) -> Iterator[tuple[Tree[Token] | Token, str]]:
    """Every node and token in the order of the text, and the name of the node that it is the first of, or "".

    Without recursion: a long sum is a deep tree.
    """
    stack: list[tuple[Tree[Token] | Token, str]] = [(tree, "")]
    while stack:
        node, begins = stack.pop()
        yield node, begins
        if isinstance(node, Tree):
            children = reversed(list(enumerate(node.children)))
            stack.extend((child, "" if at else str(node.data)) for at, child in children)


def spelling(token: Token) -> str:
    """The text of a token; `[ ]` is one token, with whatever blanks."""
    return re.sub(r"\s", "", token) if token.type == "LIST" else str(token)


@dataclass(slots=True)
class Tokens:
    """The tokens of a file: those of the header, of each declaration, and the comments behind the last."""

    header: list[Leaf]
    declarations: list[list[Leaf]]
    end: list[Comment]

    def comments(self) -> list[str]:
        """The text of every comment, in order."""
        found: list[str] = []
        for leaf in (*self.header, *(leaf for leaves in self.declarations for leaf in leaves)):
            found += [c.text for c in leaf.before]
            found += leaf.after
        return found + [c.text for c in self.end]


def tokens(text: str, tree: Tree[Token]) -> Tokens:
    """The tokens of `tree`, which was parsed from `text` with every token kept."""
    reader = _Reader(text)
    header = [reader.leaf(child, "") for child in tree.children if isinstance(child, Token)]
    declarations = [
        [reader.leaf(node, begins) for node, begins in walk(child) if isinstance(node, Token)]
        for child in tree.children
        if isinstance(child, Tree)
    ]
    return Tokens(header, declarations, reader.end())


class _Reader:
    """Makes leaves of tokens that come in the order of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.previous: Leaf | None = None

    def leaf(self, token: Token, begins: str) -> Leaf:
        start = token.start_pos or 0
        kind = token.type.removeprefix("_")
        leaf = Leaf(kind, spelling(token), call=kind == "CALL")
        leaf.before, leaf.blank, leaf.broken = self._gap(start)
        self.at = token.end_pos or start
        if self.previous is not None:
            _relate(self.previous, leaf, begins)
        self.previous = leaf
        return leaf

    def end(self) -> list[Comment]:
        comments, _, _ = self._gap(len(self.text), end=True)
        return comments

    def _gap(self, start: int, *, end: bool = False) -> tuple[list[Comment], bool, bool]:
        """What lies before the token at `start`; gives the previous token the comment that stands behind it."""
        pieces = self.text[self.at : start].split("\n")
        column: int | None = None  # of the comment behind the previous token, as long as comments go on below it
        comments: list[Comment] = []
        blank = False
        for number, piece in enumerate(pieces):
            stripped = piece.strip(_BLANKS)
            here = len(piece) - len(piece.lstrip(_BLANKS))
            if number == 0 and self.previous is not None:
                if stripped:
                    self.previous.after.append(stripped)
                    column = here + self.at - (self.text.rfind("\n", 0, self.at) + 1)
            elif stripped and here == column and self.previous is not None:
                self.previous.after.append(stripped)
            elif stripped:
                comments.append(Comment(stripped, blank))
                blank, column = False, None
            elif number + 1 < len(pieces) or end:
                blank, column = True, None
        return comments, blank, len(pieces) > 1


def _relate(previous: Leaf, leaf: Leaf, begins: str) -> None:
    """What `leaf` is behind `previous`."""
    text = leaf.text
    if text == "(" and not leaf.call:
        leaf.call = begins not in _STATEMENTS and (previous.type in _CALLED or previous.text == "?")
    leaf.ascribed = begins in _ASCRIPTIONS if text == "(" else previous.ascribed and previous.text == "("
    if text in _OPERATORS:
        leaf.operator = previous.ends_operand
        leaf.sign = not leaf.operator
    leaf.space = _space(previous, leaf)


def _space(previous: Leaf, leaf: Leaf) -> bool:
    if previous.text in ("(", "[", ".", "..", "~", "!") or previous.sign:
        return False
    match leaf.text:
        case "," | ")" | "]" | "." | "?":
            return False
        case "..":
            return not previous.ends_operand
        case ":":
            return previous.ascribed or previous.type not in ("NAME", "CAPTURE", "QUESTION")
        case "(":
            return not leaf.call
        case "[" | "[]":
            return previous.type not in ("NAME", "DTYPE", "FIELD_TYPE")
        case _:
            return True


# ---- nesting


def nest(leaves: Sequence[Leaf]) -> list[Element]:
    """The leaves with every pair of brackets as one `Group`."""
    elements, end = _elements(leaves, 0)
    assert end == len(leaves), "the parser lets no bracket pass that does not fit"
    return elements


def _elements(leaves: Sequence[Leaf], at: int) -> tuple[list[Element], int]:
    """What stands from `at` to the bracket that closes, or to the end, and the place of that."""
    found: list[Element] = []
    while at < len(leaves) and leaves[at].text not in CLOSER.values():
        opener = leaves[at]
        if opener.text not in CLOSER:
            found.append(opener)
            at += 1
            continue
        inside, end = _elements(leaves, at + 1)
        within = leaves[at + 1 : end + 1] if opener.text == "{" else leaves[at + 1 : at + 2]
        broken = any(leaf.broken for leaf in within)
        found.append(_group(opener, leaves[end], inside, broken))
        at = end + 1
    return found, at


def _group(opener: Leaf, closer: Leaf, inside: list[Element], broken: bool) -> Group:
    braces = opener.text == "{"
    parts = _sections(_split(inside, braces=True)) if braces else _split(inside, braces=False)
    texts = [_text(part) for part in parts]
    known = [t for t in texts if t is not None]
    text: str | None = None
    if len(known) == len(texts) and not (opener.after or closer.before or (braces and broken and parts)):
        body = ("  " if braces else " ").join(known)
        text = f"{{ {body} }}" if braces and parts else opener.text + body + closer.text
    spread = (broken and len(parts) > 1) or any(isinstance(e, Group) and e.flat is None for e in inside)
    return Group(opener, closer, parts, text, None if spread else text)


def _text(part: Part) -> str | None:
    """The text of a part that has no comment at all."""
    text = flat_text(part.elements)
    if text is None or part.first.before or last(part.elements[-1]).after:
        return None
    if not part.nested:
        return text
    nested = [_text(one) for one in part.nested]
    known = [one for one in nested if one is not None]
    return f"{text} {'  '.join(known)}" if len(known) == len(nested) else None


def _split(elements: list[Element], *, braces: bool) -> list[Part]:
    parts: list[Part] = []
    previous: Element | None = None
    for element in elements:
        if braces:
            begins = previous is None or _begins_statement(last(previous), first(element))
        else:
            begins = previous is None or first(previous).text == ","
        if begins:
            parts.append(Part([element]))
        else:
            parts[-1].elements.append(element)
        previous = element
    return parts


def _begins_statement(previous: Leaf, leaf: Leaf) -> bool:
    """Nothing separates statements: one begins where a value is followed by what continues none."""
    if not previous.ends_operand:
        return False
    if leaf.text == "(":
        return not leaf.call
    keyword = leaf.text.isidentifier() and leaf.type not in _INSIDE
    return keyword or leaf.type in ("CAPTURE", "STRING")


def _sections(parts: list[Part]) -> list[Part]:
    """The statements that belong to a `match` or `meaning` under it."""
    found: list[Part] = []
    section: Part | None = None
    for part in parts:
        head = part.first
        if head.type in _SECTIONS and len(part.elements) > 1:
            section = Part(part.elements[:1], [Part(part.elements[1:])])
            found.append(section)
        elif section is not None and (head.type in ("NAME", "CAPTURE", "SHARED") or head.text == "("):
            section.nested.append(part)
        else:
            section = None
            found.append(part)
    return found
