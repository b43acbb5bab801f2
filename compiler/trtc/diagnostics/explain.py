"""The pages behind `trtc explain`: one Markdown file per code in `codes/`, its first line the title."""

from __future__ import annotations

import functools
from importlib import resources


@functools.cache
def all_codes() -> tuple[str, ...]:
    """Every code that has a page, sorted."""
    folder = resources.files("trtc.diagnostics") / "codes"
    return tuple(sorted(f.name[:-3] for f in folder.iterdir() if f.name.endswith(".md")))


def explain(code: str) -> str | None:
    """The page of a code as Markdown, or None when there is no such code."""
    if code not in all_codes():
        return None
    return (resources.files("trtc.diagnostics") / "codes" / f"{code}.md").read_text(encoding="utf-8")


def title(code: str) -> str | None:
    """The first line of the page of a code, without the code and the marks of a heading."""
    page = explain(code)
    if page is None:
        return None
    return page.splitlines()[0].lstrip("# ").removeprefix(code).lstrip(": ")
