"""Whole specs: what is wrong with each of `wrong`, what each of `right` becomes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from trtc.diagnostics import DiagnosticError, Span, explain, render
from trtc.lang import Vocabulary, check_text, rules
from trtc.lang.checker import read_text

SPECS = Path(__file__).parents[2] / "golden" / "specs"
WRONG = sorted((SPECS / "wrong").glob("*.trtspec"))
RIGHT = sorted((SPECS / "right").glob("*.trtspec"))

Golden = Callable[[Path, str], None]


@pytest.fixture(autouse=True)
def _in_specs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SPECS)


def test_there_are_enough() -> None:
    assert len(WRONG) >= 30
    assert len(RIGHT) >= 4


@pytest.mark.parametrize("path", WRONG, ids=lambda p: p.stem)
def test_wrong(path: Path, vocabulary: Vocabulary, golden: Golden) -> None:
    shown = path.relative_to(SPECS)
    spec, diagnostics = check_text(read_text(shown), shown, vocabulary)
    assert spec is None
    assert all(explain(d.code) for d in diagnostics), "every code has a page"
    text = "\n\n".join(render(d) for d in diagnostics) + "\n"
    golden(path.with_suffix(".out"), text)


@pytest.mark.parametrize("path", RIGHT, ids=lambda p: p.stem)
def test_right(path: Path, vocabulary: Vocabulary, golden: Golden) -> None:
    shown = path.relative_to(SPECS)
    spec, diagnostics = check_text(read_text(shown), shown, vocabulary)
    assert spec is not None, DiagnosticError.of(diagnostics)
    lines = [render(d) for d in diagnostics]
    for field in dataclasses.fields(spec):
        if field.name != "source":
            lines += _show(field.name, getattr(spec, field.name), 0)
    golden(path.with_suffix(".out"), "\n".join(lines) + "\n")


def _show(name: str, value: Any, depth: int) -> list[str]:
    """A readable dump: one line per leaf, spans as their place."""
    lead = "  " * depth + (f"{name}: " if name else "- ")
    if isinstance(value, Span):
        return [f"{lead}{value}"]
    if isinstance(value, Path):
        return [f"{lead}{value.relative_to(SPECS) if value.is_relative_to(SPECS) else value}"]
    if isinstance(value, (rules.Rewrite, rules.Horizontal, rules.Plugin, rules.Extern)):
        return [f"{lead}{type(value).__name__} {getattr(value, 'library', '')} {value.name.text}"]
    children: list[tuple[str, Any]] = []
    if dataclasses.is_dataclass(value):
        children = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
        lead += type(value).__name__
    elif isinstance(value, Mapping):
        children = list(value.items())
    elif isinstance(value, tuple) and any(dataclasses.is_dataclass(v) or isinstance(v, Path) for v in value):
        children = [("", v) for v in value]
    if not children:
        return [f"{lead}{value!r}"]
    return [lead.rstrip(), *(line for key, child in children for line in _show(key, child, depth + 1))]
