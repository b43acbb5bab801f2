"""Boxes around the text in a map of probabilities, with numpy alone.

After Liao et al., "Real-time Scene Text Detection with Differentiable Binarization" (2020): the map holds the shrunk
middle of each text, so that each region is grown again by 1.6 × area / perimeter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

THRESHOLD, SCORE, GROWTH, SMALLEST = 0.3, 0.5, 1.6, 4


@dataclass(frozen=True, slots=True)
class Box:
    """A region of text in pixels; right and bottom are outside. `score` is its mean probability."""

    left: int
    top: int
    right: int
    bottom: int
    score: float


def boxes(probability: np.ndarray) -> list[Box]:
    """The regions of text in `probability`, float[height, width], from top to bottom."""
    height, width = probability.shape
    labels, count = components(probability > THRESHOLD)
    found: list[Box] = []
    for label in range(1, count + 1):
        ys, xs = np.nonzero(labels == label)
        score = float(probability[ys, xs].mean())
        left, right, top, bottom = xs.min(), xs.max() + 1, ys.min(), ys.max() + 1
        if score < SCORE or min(right - left, bottom - top) < SMALLEST:
            continue
        grow = round((right - left) * (bottom - top) * GROWTH / (2 * (right - left + bottom - top)))
        found.append(
            Box(
                max(int(left) - grow, 0),
                max(int(top) - grow, 0),
                min(int(right) + grow, width),
                min(int(bottom) + grow, height),
                score,
            )
        )
    return sorted(found, key=lambda box: (box.top, box.left))


def components(mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Number the connected regions of `mask`, bool[height, width], from 1; neighbours share a side."""
    labels = np.zeros(mask.shape, dtype=np.int32)
    parents = [0]

    def root(label: int) -> int:
        while parents[label] != label:
            parents[label] = parents[parents[label]]
            label = parents[label]
        return label

    for y, row in enumerate(mask):
        steps = np.flatnonzero(np.diff(row.astype(np.int8), prepend=0, append=0))
        for start, end in zip(steps[::2], steps[1::2], strict=True):
            # A run of pixels joins every region that it touches in the row above.
            above = {root(int(n)) for n in np.unique(labels[y - 1, start:end]) if n} if y else set()
            label = min(above, default=len(parents))
            if not above:
                parents.append(label)
            for other in above:
                parents[other] = label
            labels[y, start:end] = label
    roots = np.array([root(n) for n in range(len(parents))])
    numbers = np.unique(roots[1:])
    return np.where(labels > 0, np.searchsorted(numbers, roots[labels]) + 1, 0), len(numbers)
