"""The schemas of ai.onnx at the opset of every module, as data: the checker of the language imports no onnx.

`schemas.txt` has one line for each operator: its inputs (`?` optional, `*` any number), how many outputs it may have
(`*` any number), and its attributes with type, `!` where it must be given, and default. Operators that are newer than
the opset stand in their first form.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

#: Operators whose two operands may change places.
COMMUTATIVE = frozenset(
    ("Add", "Mul", "And", "Or", "Xor", "Equal", "Max", "Min", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Sum", "Mean")
)

FILE = "schemas.txt"


@dataclass(frozen=True, slots=True)
class Attribute:
    """type: int, ints, float, floats, string, strings, tensor, graph, … default None: there is none."""

    type: str
    required: bool
    default: Any


@dataclass(frozen=True, slots=True)
class Operator:
    """least: how many inputs there must be. variadic: whether the last may stand any number of times.

    outputs: how many there may be; None: any number.
    """

    name: str
    inputs: tuple[str, ...]
    optional: frozenset[str]
    variadic: bool
    least: int
    outputs: int | None
    attributes: Mapping[str, Attribute]

    @property
    def commutative(self) -> bool:
        return self.name in COMMUTATIVE


@functools.cache
def schemas() -> Mapping[str, Operator]:
    """Every operator by name."""
    text = (resources.files("trtc.ir") / FILE).read_text(encoding="utf-8")
    return {made.name: made for made in map(_operator, text.splitlines())}


def _operator(line: str) -> Operator:
    head, _, rest = line.partition(") ")
    name, _, listed = head.partition("(")
    outputs, *attributes = rest.split()
    inputs = listed.split()
    names = tuple(i.rstrip("?*") for i in inputs)
    optional = frozenset(i.rstrip("?*") for i in inputs if "?" in i)
    return Operator(
        name=name,
        inputs=names,
        optional=optional,
        variadic=bool(inputs) and inputs[-1].endswith("*"),
        least=max((at + 1 for at, i in enumerate(names) if i not in optional), default=0),
        outputs=None if outputs == "*" else int(outputs),
        attributes=dict(map(_attribute, attributes)),
    )


def _attribute(text: str) -> tuple[str, Attribute]:
    name, _, rest = text.partition(":")
    kind, _, default = rest.partition("=")
    return name, Attribute(kind.rstrip("!"), kind.endswith("!"), _plain(json.loads(default)) if default else None)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
