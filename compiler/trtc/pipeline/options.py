"""The typed fields of a pass are its options in a spec."""

from __future__ import annotations

import dataclasses
import typing
from dataclasses import dataclass
from typing import Any, Literal


class Bytes(int):
    """A size in bytes, written `4MiB` in a spec."""

    def __repr__(self) -> str:
        for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if self and self % unit == 0:
                return f"{self // unit}{name}"
        return str(int(self))


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """One option: its name, type, default, allowed values and what it does."""

    name: str
    type: Literal["bool", "int", "float", "string", "bytes", "strings"]
    default: Any
    doc: str
    choices: tuple[str, ...] = ()


_TYPES: dict[Any, Literal["bool", "int", "float", "string", "bytes", "strings"]] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "string",
    Bytes: "bytes",
    tuple[str, ...]: "strings",
}


def option(default: Any, doc: str) -> Any:
    """A field of a pass that is an option, with its line of documentation."""
    return dataclasses.field(default=default, metadata={"doc": doc})


def options_of(cls: type) -> tuple[OptionInfo, ...]:
    """The options of a pass, in order of declaration.

    Raises:
        TypeError: a field has a type that a spec cannot write, or no default.
    """
    hints = typing.get_type_hints(cls)
    found: list[OptionInfo] = []
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        choices: tuple[str, ...] = ()
        if typing.get_origin(hint) is Literal:
            choices = tuple(str(a) for a in typing.get_args(hint))
            kind = "string"
        elif hint in _TYPES:
            kind = _TYPES[hint]
        else:
            raise TypeError(f"{cls.__name__}.{field.name}: an option cannot have the type {hint!r}")
        if field.default is dataclasses.MISSING:
            raise TypeError(f"{cls.__name__}.{field.name}: an option needs a default")
        found.append(OptionInfo(field.name, kind, field.default, str(field.metadata.get("doc", "")), choices))
    return tuple(found)
