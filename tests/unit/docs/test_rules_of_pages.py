"""The rules that the pages show hold, but for those that a page shows being refuted."""

from __future__ import annotations

from pathlib import Path

import pages

from trtc.driver.refuting import refute, rules_to_test

ROOT = Path(__file__).resolve().parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

#: Shown as refuted: the page, the file and the rule.
REFUTED = {
    ("debugging.md", "half.trtspec", "halve"),
    ("language.md", "tests.trtspec", "root_of_square"),
    ("writing_a_rule.md", "first.trtspec", "fuse_softmax"),
    ("writing_a_rule.md", "third.trtspec", "fuse_softmax"),
}
#: Needs Python beside it, which the page writes and allows.
CODE = ("language.md", "extern.trtspec")


def test_every_rule_with_a_test_holds(tmp_path: Path) -> None:
    refuted: set[tuple[str, str, str]] = set()
    held = 0
    for page in PAGES:
        for block in pages.blocks(page):
            name = block.file or f"line_{block.line}.trtspec"
            if block.kind != "trtspec" or "refused" in block.words or (page.name, name) == CODE:
                continue
            path = tmp_path / name
            header = "" if "trtspec 1\n" in block.text else "trtspec 1\n"
            path.write_text(header + block.text, encoding="utf-8")
            rules = [rule for rule in rules_to_test(str(path)) if rule.tests]
            for outcome in refute(rules, instances=30, shrink=0):
                assert outcome.status in ("held", "refuted"), f"{block}: {outcome.name} is {outcome.status}"
                held += outcome.status == "held"
                if outcome.status == "refuted":
                    refuted.add((page.name, name, outcome.name))
    assert refuted == REFUTED
    assert held > 20
