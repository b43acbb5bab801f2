"""Names in the textual form: bare, quoted, or under an alias.

The syntax has bare identifiers (`[A-Za-z_][A-Za-z0-9_]*`) and quoted names (`"a/b:0"`), and no escapes but `\\"` and
`\\\\`. A name that would break a line or reorder it (control and bidirectional characters), and a name at a place
where the parser takes no quotes (dims, graphs in attributes), stands under an alias; the first lines say which:

    # name: "evil_name" = "evil\\nname"
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ALIAS = re.compile(r'# name: ("(?:[^"\\]|\\.)*") = ("(?:[^"\\]|\\.)*")\Z')

#: Words that the parser reads as a type where a name may stand.
_TYPES = frozenset(
    """float double float16 bfloat16 int2 uint2 int4 uint4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool string
    complex64 complex128 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz float8e8m0 float4e2m1 float6e2m3
    float6e3m2 seq map optional sparse_tensor""".split()  # noqa: SIM905
)
#: Words that the parser reads as a number where a graph may stand.
_NUMBERS = frozenset(("inf", "infinity", "nan"))


def is_identifier(name: str) -> bool:
    """Whether the parser takes `name` without quotes wherever a name may stand."""
    return _IDENTIFIER.match(name) is not None


def quote(text: str) -> str:
    """`text` as a string literal: in quotes, with `\\` before quotes and backslashes. Every other character stays."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def is_clean(text: str) -> bool:
    """Whether `text` can stand in a line: no control, separator, bidirectional or other format character."""
    return text.isprintable()


class Names:
    """How each name of one model is written. The same name is always written in the same way.

    `taken` are all names of the model: an alias is none of them. With `portable`, dims that are no identifiers get an
    alias too, since not every version of the parser takes quotes there.
    """

    def __init__(self, taken: Iterable[str], *, portable: bool) -> None:
        self._taken = set(taken)
        self._portable = portable
        self._aliases: dict[str, str] = {}

    def name(self, name: str | None) -> str:
        """A value, node or function; the empty name (an omitted input) is `""`."""
        if not name:
            return '""'
        if not is_clean(name):
            return self._alias(name)
        if is_identifier(name) and name not in _TYPES:
            return name
        return quote(name)

    def graph(self, name: str | None) -> str:
        """The name of a graph in an attribute, where only identifiers may stand."""
        if name and is_identifier(name) and name not in _TYPES and name.lower() not in _NUMBERS:
            return name
        return self._alias(name or "")

    def dim(self, name: str) -> str:
        if is_identifier(name):
            return name
        if self._portable or not is_clean(name):
            return self._alias(name)
        return quote(name)

    def comments(self) -> list[str]:
        """One line for each alias, in the order of first use."""
        return [f"# name: {json.dumps(alias)} = {json.dumps(name)}" for name, alias in self._aliases.items()]

    def _alias(self, name: str) -> str:
        found = self._aliases.get(name)
        if found is None:
            base = re.sub(r"[^A-Za-z0-9_]+", "_", name)[:64].strip("_") or "unnamed"
            if base[0].isdigit() or base in _TYPES or base.lower() in _NUMBERS:
                base = f"n_{base}"
            found, count = base, 0
            while found in self._taken:
                count += 1
                found = f"{base}_{count}"
            self._taken.add(found)
            self._aliases[name] = found
        return found


def read_aliases(lines: Iterable[str]) -> dict[str, str]:
    """Alias to name, from the comments at the head of a text. Stops at the first line that is no comment."""
    aliases: dict[str, str] = {}
    for line in lines:
        if not line.startswith("#"):
            break
        match = _ALIAS.match(line.rstrip("\r\n"))
        if match is not None:
            try:
                aliases[json.loads(match[1])] = json.loads(match[2])
            except ValueError:  # somebody else's comment
                continue
    return aliases
