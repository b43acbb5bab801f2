"""Every code has a page, and every page a code that something raises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import trtc
from trtc.diagnostics import all_codes, explain, title

ROOTS = [Path(trtc.__file__).parent, Path(__import__("trtc_passes").__file__).parent]
_CODE = re.compile(r'"(T\d{4})"')


def raised() -> set[str]:
    return {
        code
        for root in ROOTS
        for path in root.rglob("*.py")
        for code in _CODE.findall(path.read_text(encoding="utf-8"))
    }


def test_every_code_that_is_raised_has_a_page() -> None:
    assert raised() - set(all_codes()) == set()


def test_every_page_belongs_to_a_code_that_is_raised() -> None:
    assert set(all_codes()) - raised() == set()


@pytest.mark.parametrize("code", all_codes())
def test_a_page_has_a_title_and_says_what_to_do(code: str) -> None:
    page = explain(code) or ""
    assert page.startswith(f"# {code}: ")
    assert title(code)
    assert len(page.split()) > 12
