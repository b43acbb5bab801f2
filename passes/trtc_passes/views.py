"""Views: operators that give the same elements in the same order another shape."""

from __future__ import annotations

VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
