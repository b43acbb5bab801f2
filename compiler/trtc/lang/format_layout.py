"""Lines out of tokens: what stands on one line, and where a long line is broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trtc.lang.format_tokens import Comment, Element, Group, Leaf, Part, Tokens, first, flat, flat_text, last, nest

WIDTH = 120
INDENT = "  "
#: Comments behind lines longer than this do not pull those of their neighbours to the right.
_ALIGNED = 80


@dataclass(slots=True)
class _Line:
    indent: int
    code: str = ""
    comments: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return INDENT * self.indent + self.code if self.code else ""


def layout(tokens: Tokens) -> str:
    """The text of a file."""
    page = _Page()
    page.lead(tokens.header[0], 0, blank=False)
    page.start(0)
    page.sequence(tokens.header, 0)
    long = False
    for at, leaves in enumerate(tokens.declarations):
        head, doc = leaves[0], leaves[0].type == "DOC"
        declaration = _Page()
        if doc:
            declaration.lead(leaves[1], 0, blank=False, blanks=False)
        declaration.start(0)
        declaration.sequence(nest(leaves[1:] if doc else leaves), 0)
        before, long = long, len(declaration.lines) > 1
        if (doc or long or before) and not (head.blank or any(c.blank for c in head.before)):
            # Under the header a comment is about the file, anywhere else about what follows it.
            if at == 0 or not head.before:
                head.blank = True
            else:
                head.before[0] = Comment(head.before[0].text, True)
        page.lead(head, 0, blank=True)
        if doc:
            page.start(0)
            page.sequence([head], 0)
        page.lines += declaration.lines
    page.comments(tokens.end, 0, blank=True)
    return page.render()


class _Page:
    """Lines in the making; what is put goes to the end of the last one."""

    def __init__(self) -> None:
        self.lines: list[_Line] = []

    def start(self, indent: int) -> None:
        self.lines.append(_Line(indent))

    @property
    def column(self) -> int:
        line = self.lines[-1]
        return len(INDENT) * line.indent + len(line.code)

    def put(self, leaf: Leaf) -> None:
        line = self.lines[-1]
        line.code += " " + leaf.text if leaf.space and line.code else leaf.text
        line.comments += leaf.after

    def comments(self, comments: Sequence[Comment], indent: int, *, blank: bool, blanks: bool = True) -> bool:
        """Comments on lines of their own; whether an empty line may follow. `blank`: one may come first."""
        for comment in comments:
            if comment.blank and blank and blanks:
                self.start(0)
            self.lines.append(_Line(indent, comment.text))
            blank = True
        return blank

    def lead(self, leaf: Leaf, indent: int, *, blank: bool, blanks: bool = True) -> None:
        """What stands before the line that `leaf` begins."""
        blank = self.comments(leaf.before, indent, blank=blank, blanks=blanks)
        if leaf.blank and blank and blanks:
            self.start(0)

    # ---- statements and arguments

    def part(self, part: Part, indent: int, *, blank: bool, blanks: bool = True) -> None:
        """A statement or argument, from a new line on."""
        self.lead(part.first, indent, blank=blank, blanks=blanks)
        self.start(indent)
        keyword = last(part.elements[-1])
        if len(part.nested) == 1 and not keyword.after and not part.nested[0].first.before:
            self.sequence([*part.elements, *part.nested[0].elements], indent)
            return
        self.sequence(part.elements, indent)
        for at, one in enumerate(part.nested):
            self.part(one, indent + 1, blank=at > 0)

    def sequence(self, elements: Sequence[Element], indent: int, broken: Group | None = None) -> None:
        """Elements from the end of the last line on; where they do not fit, further lines are one level deeper.

        `broken`: the one that goes over several lines in any case.
        """
        always = self._logical(elements)
        for at, element in enumerate(elements):
            head = first(element)
            if at and (self.lines[-1].comments or head.before):
                self.comments(head.before, indent + 1, blank=False, blanks=False)
                self.start(indent + 1)
            elif at in always or (at and _breakable(elements, at) and self._better_below(elements, at, indent + 1)):
                self.start(indent + 1)
            if isinstance(element, Leaf):
                self.put(element)
            elif element is broken:
                self._broken(element)
            elif element.flat is not None and self._fits(elements, at):
                self.put(_joined(element, element.flat))
            else:
                self._broken(element)

    def _broken(self, group: Group) -> None:
        self.put(group.open)
        indent = self.lines[-1].indent
        inner = _hugged(group)
        if inner is not None:
            self.sequence(group.parts[0].elements, indent, inner)
            self.put(group.close)
            return
        if _fillable(group):
            self._fill(group, indent + 1)
        else:
            for at, part in enumerate(group.parts):
                self.part(part, indent + 1, blank=at > 0, blanks=group.braces)
        self.comments(group.close.before, indent + 1, blank=bool(group.parts), blanks=group.braces)
        self.start(indent)
        self.put(group.close)

    def _fill(self, group: Group, indent: int) -> None:
        """Short items, as many on a line as there is room for."""
        self.start(indent)
        for part in group.parts:
            text = flat(part.elements) or ""
            if self.lines[-1].code and self.column + 1 + len(text) > WIDTH:
                self.start(indent)
            self.lines[-1].code += f" {text}" if self.lines[-1].code else text

    # ---- what fits

    def _fits(self, elements: Sequence[Element], at: int) -> bool:
        """Whether the group at `at` stays on the line.

        It does where all fits up to the next place for a break that costs nothing, or where a wider group follows
        that can be broken instead.
        """
        own = _width(elements[at], leads=not self.lines[-1].code)
        room = WIDTH - self.column - own
        behind = needed = widest = 0  # `needed` is the width up to where the next group may break
        for place in range(at + 1, len(elements)):
            if _breakable(elements, place):
                break
            element = elements[place]
            if isinstance(element, Group):
                needed = needed or behind + _width(element.open)
                if element.braces or element.text is None:
                    behind += _width(element.open)
                    break
                widest = max(widest, _width(element))
            behind += _width(element)
        return behind <= room or (widest > own and needed <= room)

    def _better_below(self, elements: Sequence[Element], at: int, indent: int) -> bool:
        """Whether what follows, up to the next place for a break, does not fit here but on a line of its own.

        Where it fits nowhere, the same is asked of what comes before the first bracket in it.
        """
        width, least = 0, None
        for behind in range(at, len(elements)):
            if behind > at and _breakable(elements, behind):
                break
            element = elements[behind]
            if isinstance(element, Group):
                least = width + _width(element.open) if least is None else least
                if element.braces or element.text is None:
                    width += _width(element.open)
                    break
            width += _width(element)
        below = WIDTH - len(INDENT) * indent + 1
        if width > below and least is not None:
            width = least
        return self.column + width > WIDTH and width <= below

    def _logical(self, elements: Sequence[Element]) -> set[int]:
        """The `||`, or else `&&`, of a condition that does not fit on the line: each begins a line."""
        whole = flat(elements)
        if whole is not None and self.column + len(whole) <= WIDTH:
            return set()
        for operator in ("||", "&&"):
            found = {at for at, e in enumerate(elements) if isinstance(e, Leaf) and e.text == operator}
            if found:
                return found
        return set()

    # ---- text

    def render(self) -> str:
        """The text of the lines; comments behind neighbouring lines of one depth begin in one column."""
        columns: dict[int, int] = {}
        at = 0
        while at < len(self.lines):
            end = at + 1
            while end < len(self.lines) and self._aligned(at) and self._aligned(end):
                if self.lines[end].indent != self.lines[at].indent:
                    break
                end += 1
            column = 2 + max(len(line.text) for line in self.lines[at:end])
            columns.update(dict.fromkeys(range(at, end), column))
            at = end
        out: list[str] = []
        for number, line in enumerate(self.lines):
            text = line.text
            if line.comments:
                width = len(text) - (text.rfind("\n") + 1)
                column = max(columns[number], width + 2) if "\n" not in text else width + 2
                out.append(text + " " * (column - width) + line.comments[0])
                out += [" " * column + comment for comment in line.comments[1:]]
            else:
                out.append(text)
        return "\n".join(out) + "\n"

    def _aligned(self, at: int) -> bool:
        line = self.lines[at]
        return bool(line.comments) and len(line.text) <= _ALIGNED and "\n" not in line.code


def _joined(group: Group, text: str) -> Leaf:
    """The group as if it were one token."""
    return Leaf("GROUP", text, after=group.close.after, space=group.open.space)


def _width(element: Element, *, leads: bool = False) -> int:
    """On one line, with the space before it."""
    text = element.text if isinstance(element, Leaf) else element.text or element.open.text
    return len(text) + (first(element).space and not leads)


def _breakable(elements: Sequence[Element], at: int) -> bool:
    """Whether a line may begin at this element without need: at an operator, behind a comma."""
    element, previous = elements[at], elements[at - 1] if at else None
    return (isinstance(element, Leaf) and element.operator) or (isinstance(previous, Leaf) and previous.text == ",")


def _fillable(group: Group) -> bool:
    """Whether all items are single words or numbers, perhaps with a sign."""
    if group.braces or group.open.after or group.close.before:
        return False
    return len(group.parts) > 1 and all(
        len(part.elements) <= 3
        and not part.first.before
        and not last(part.elements[-1]).after
        and flat(part.elements) is not None
        and all(isinstance(e, Leaf) and not e.operator and e.text not in ("=", ":") for e in part.elements)
        for part in group.parts
    )


def _hugged(group: Group) -> Group | None:
    """The brackets inside that are broken in place of `group`, whose only argument they are or end: `f(g(`."""
    if group.braces or len(group.parts) != 1 or group.open.after or group.close.before:
        return None
    elements = group.parts[0].elements
    if first(elements[0]).before or last(elements[-1]).after or flat_text(elements) is None:
        return None
    if any(_breakable(elements, at) for at in range(len(elements))):
        return None
    groups = [e for e in elements if isinstance(e, Group) and e.parts]
    broken = [g for g in groups if g.flat is None]
    if len(broken) > 1:
        return None
    return broken[0] if broken else max(groups, key=_width, default=None)
