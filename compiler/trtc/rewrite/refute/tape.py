"""The decisions that make an instance, by name, so that one can be made again, changed a little, and made smaller."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

#: Decisions of an instance by label; 0 is always the simplest answer.
Decisions = dict[str, int]


class Rejected(Exception):
    """These decisions lead to no instance; the text says why."""


class Tape:
    """Answers questions "which of n?" by label, and keeps the answers.

    fixed: answers that are given. steer: asked next; it may answer None. seed: where the others come from; None: 0,
    the simplest.
    """

    def __init__(
        self, fixed: Mapping[str, int], seed: int | None, steer: Callable[[str, int], int | None] | None = None
    ) -> None:
        self.made: Decisions = {}
        self.seed = 0 if seed is None else seed
        self._fixed = fixed
        self._steer = steer
        self._random = None if seed is None else random.Random(seed)

    again: str = ""
    """What is put behind every label while something is asked once more."""

    def draw(self, label: str, count: int, weights: Sequence[float] | None = None) -> int:
        """A number below `count`. The same label gives the same answer."""
        label += self.again
        found = self.made.get(label)
        if found is None:
            found = self._fixed.get(label)
            if found is None and self._steer is not None:
                found = self._steer(label, count)
            if found is None:
                found = 0
                if self._random is not None:
                    found = (
                        self._random.randrange(count)
                        if weights is None
                        else self._random.choices(range(count), weights)[0]
                    )
            found = min(found, count - 1)
            self.made[label] = found
        return found

    def pick(self, label: str, options: Sequence[T], weights: Sequence[float] | None = None) -> T:
        """One of `options`, the first of which is the simplest."""
        if not options:
            raise Rejected(f"nothing fits {label}")
        return options[self.draw(label, len(options), weights)]

    def generator_seed(self, label: str) -> list[int]:
        """What numbers of their own come from: the seed of the instance and the label."""
        return [self.seed, zlib.crc32(label.encode())]


__all__ = ["Decisions", "Rejected", "Tape"]
