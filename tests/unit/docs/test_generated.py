"""Parts of the pages that are made from the source are in step with it; `--update-golden` makes them anew."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from trtc.cli import main
from trtc.driver.catalogue import catalogue, entries, functions_table, named
from trtc.driver.library import functions, libraries

DOCS = Path(__file__).resolve().parents[3] / "docs"
UPDATE = "pytest tests/unit/docs/test_generated.py --update-golden` -->\n"

Golden = Callable[[Path, str], None]


def with_part(text: str, part: str) -> str:
    """The page with `part` behind the mark, up to the end or its end mark."""
    begin = text.index(UPDATE) + len(UPDATE)
    end = text.find("<!-- end -->", begin)
    return f"{text[:begin]}\n{part}" + (f"\n{text[end:]}" if end >= 0 else "")


def test_the_catalogue_of_the_standard_library_is_in_step(golden: Golden) -> None:
    page = DOCS / "standard_library.md"
    golden(page, with_part(page.read_text(encoding="utf-8"), catalogue()))


def test_the_table_of_functions_is_in_step(golden: Golden) -> None:
    page = DOCS / "language.md"
    golden(page, with_part(page.read_text(encoding="utf-8"), functions_table()))


def test_every_function_has_a_row_that_calls_it() -> None:
    rows = re.findall(r"^\| `(\w+)\([^`]*\)` \| \S", functions_table(), re.MULTILINE)
    assert sorted(rows) == sorted(functions())


def test_every_rule_of_the_standard_library_says_what_it_is_for() -> None:
    standard = [name for name in libraries() if name.startswith("std.")]
    assert [e.full_name for name in standard for e in entries(name) if e.rule and not e.doc] == []


def test_a_rule_is_shown_as_it_stands_in_its_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "std.activation.fuse_silu"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("std.activation.fuse_silu  std/activation.trtspec:")
    assert "  rewrite, benefit 2\n" in out
    assert "\nrewrite fuse_silu {\n  match y = x * Sigmoid(x: float)\n  replace y with swish(x)\n" in out


def test_rules_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "std.horizontal", "--json"]) == 0
    rules = json.loads(capsys.readouterr().out)
    assert {rule["kind"] for rule in rules} == {"horizontal"}
    assert {rule["benefit"] for rule in rules} == {None}
    assert rules[0]["name"] == "std.horizontal.merge_projections"


def test_a_rule_that_may_differ_at_infinity_says_so() -> None:
    (entry,) = named("fuse_leaky_relu")
    assert entry.assumes == ("finite",)
    assert re.search(r"^\| `fuse_leaky_relu` \| .* \| \d+ \| assumes finite \|$", catalogue(), re.MULTILINE)


def test_a_rule_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "fuse_gleu"]) == 2
    assert "did you mean `fuse_gelu`?" in capsys.readouterr().err
