"""One node, or a few that do shape arithmetic: graph text in, fact as text out."""

from __future__ import annotations

import pytest
from infer_cases import CASES, fact_of, text_of


@pytest.mark.parametrize(("inputs", "body", "expected"), CASES, ids=[body for _, body, _ in CASES])
def test_fact(inputs: str, body: str, expected: str) -> None:
    assert text_of(fact_of(inputs, body)) == expected
