"""Chains of operators that change nothing but the shape."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from trtc.rewrite.refute.shapes import Shape
from trtc.rewrite.refute.tape import Tape

#: A step of a chain: operator, list for its second input (None: it has none), attributes.
Step = tuple[str, "tuple[int, ...] | None", dict[str, Any]]


def chain(tape: Tape, label: str, source: Shape, result: Shape, *, empty: bool = True) -> list[Step]:
    """Operators that bring a tensor of shape `source` to shape `result`; none where the shapes are equal, perhaps."""
    keep: dict[str, Any] = {"allowzero": 0}
    options: list[list[Step]] = [[("Reshape", result, keep)]]
    if len(result) == 2:
        for axis in range(len(source) + 1):
            if (prod(source[:axis]), prod(source[axis:])) == result:
                flat: list[Step] = [("Flatten", None, {"axis": axis})]
                options += [flat, flat]
                break
    dropped = _ones_less(source, result)
    if dropped:
        without: list[Step] = [("Squeeze", dropped, {})]
        options += [without, without]
    added = _ones_less(result, source)
    if added:
        more: list[Step] = [("Unsqueeze", added, {})]
        options += [more, more]
    if result:
        at = tape.draw(f"{label}/rest", len(result))
        options.append([("Reshape", tuple(-1 if k == at else d for k, d in enumerate(result)), keep)])
    copied = tuple(0 if k < len(source) and source[k] == d else d for k, d in enumerate(result))
    if 0 in copied:
        options.append([("Reshape", copied, keep)])
    options.append([("Reshape", (-1,), keep), ("Reshape", result, keep)])
    if empty and source == result:
        options.append([])
    return tape.pick(f"{label}/view", options)


def any_shape(tape: Tape, label: str, source: Shape) -> Shape:
    """Some shape of as many elements."""
    kind = tape.draw(f"{label}/shape", 6)
    at = tape.draw(f"{label}/at", max(len(source), 1))
    if kind == 0 and len(source) > 1:
        at = min(at, len(source) - 2)
        return (*source[:at], source[at] * source[at + 1], *source[at + 2 :])
    if kind == 1 and source:
        size = source[at]
        part = tape.pick(f"{label}/part", [d for d in range(1, size + 1) if size % d == 0])
        return (*source[:at], part, size // part, *source[at + 1 :])
    if kind == 2:
        return (*source[:at], 1, *source[at:])
    if kind == 3 and 1 in source:
        one = source.index(1)
        return (*source[:one], *source[one + 1 :])
    if kind == 4 and source:
        return (source[0], prod(source[1:]))
    return (prod(source),)


def _ones_less(more: Sequence[int], less: Sequence[int]) -> tuple[int, ...]:
    """Axes of `more`, all of length 1, without which it is `less`; empty where that is not so."""
    dropped: list[int] = []
    at = 0
    for axis, size in enumerate(more):
        if at < len(less) and less[at] == size and (size != 1 or len(more) - axis <= len(less) - at):
            at += 1
        elif size == 1:
            dropped.append(axis)
        else:
            return ()
    return tuple(dropped) if at == len(less) else ()


__all__ = ["Step", "any_shape", "chain"]
