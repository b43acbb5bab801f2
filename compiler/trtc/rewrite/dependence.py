"""What values are made from: whether several of them can be replaced at once."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import onnx_ir as oir

from trtc.ir.nesting import taken

#: Nodes that a search for what a value is made of looks at, at most.
_SEARCH = 100_000


def made_from(values: Iterable[oir.Value], sources: Collection[oir.Value]) -> set[oir.Value]:
    """Which of `sources` are among what `values` are made of, or are such a value; all of them where that is too far
    to tell. What a source itself is made of does not count."""
    waiting = list(values)
    seen: set[oir.Node] = set()
    found: set[oir.Value] = set()
    while waiting:
        value = waiting.pop()
        if value in sources:
            found.add(value)
            continue
        made = value.producer()
        if made is None or made in seen:
            continue
        seen.add(made)
        if len(seen) > _SEARCH:
            return set(sources)
        waiting.extend(taken(made))
    return found


def circular(olds: Sequence[oir.Value], news: Sequence[oir.Value]) -> bool:
    """Whether `news`, in the place of `olds`, would be made from themselves."""
    if len(olds) < 2:
        return False  # what one value is matched from lies before it
    sources = set(olds)
    above = {old: made_from([new], sources) for old, new in zip(olds, news, strict=True)}
    for start in olds:
        waiting, seen = list(above[start]), set[oir.Value]()
        while waiting:
            value = waiting.pop()
            if value is start:
                return True
            if value not in seen:
                seen.add(value)
                waiting.extend(above[value])
    return False
