"""Options and fixtures of all tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files anew; review them as a diff before committing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a golden file; with --update-golden writes the file instead."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
            return
        expected = path.read_text(encoding="utf-8") if path.exists() else "(there is no golden file yet)"
        assert text == expected, f"{path.name} differs; look at it, then run pytest --update-golden"

    return compare


@pytest.fixture
def count_calls() -> Callable[[Callable[[], object]], int]:
    """How many calls of functions a piece of work takes: a measure of its length that is the same on any machine."""

    def count(work: Callable[[], object]) -> int:
        calls = 0

        def profile(_frame: object, event: str, _argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            work()
        finally:
            sys.setprofile(before)
        return calls

    return count
