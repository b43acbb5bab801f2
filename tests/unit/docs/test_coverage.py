"""Everything that a user can name stands in the documentation, which names nothing that is not there."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click
import pytest

import trtc
from trtc.cli.app import app
from trtc.diagnostics import all_codes
from trtc.driver import vocabulary
from trtc.lang import DTYPES
from trtc.lang.check_blocks import EMIT
from trtc.lang.words import EXAMPLES

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_pass_has_a_section_with_its_options() -> None:
    text = page("docs/passes.md")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    for signature in vocabulary().passes.values():
        assert signature.name in sections
        for option in signature.options:
            assert f"| `{option.name}` |" in sections[signature.name], f"{signature.name}.{option.name}"


def test_every_command_is_in_the_readme() -> None:
    rows = set(re.findall(r"^\| `trtc (\w+)", page("README.md"), re.MULTILINE))
    assert rows == set(app.list_commands(click.Context(app)))


@pytest.mark.parametrize("command", ["compile", "check", "dump", "test", "why", "fmt", "rules"])
def test_every_option_of_a_command_is_somewhere(command: str) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    found = app.get_command(click.Context(app), command)
    assert found is not None
    for parameter in found.params:
        if isinstance(parameter, click.Option):
            # `-o` and `--output` are one: either will do.
            assert any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in parameter.opts), parameter


def test_every_exit_status_is_explained() -> None:
    for name in ("README.md", "docs/debugging.md"):
        statuses = re.findall(r"^\| (\d+) \|", page(name), re.MULTILINE)
        assert statuses == ["0", "1", "2", "3", "4", "5", "130"], name


def test_every_builder_setting_and_target_is_in_the_language_reference() -> None:
    text = page("docs/language.md")
    names = vocabulary()
    section = text[text.index("\n### builder\n") : text.index("\n### pipeline\n")]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", section, re.MULTILINE))
    assert set(rows) == set(names.builder)
    for field in names.builder.values():
        for choice in field.choices:
            assert f"`{choice}`" in rows[field.name], f"{field.name}: {choice}"
    for target in names.targets.values():
        assert f"| `{target.name}` |" in text
        assert target.name in page("docs/targets.md")
        for option in target.options:
            assert f"| `{target.name}` | `{option.name}` |" in text
            assert all(f"`{choice}`" in text for choice in option.choices)


def test_every_key_of_verify_and_emit_is_in_the_language_reference() -> None:
    text = page("docs/language.md")
    verify = text[text.index("\n### verify\n") : text.index("\n### emit\n")]
    for key in ("require", "inputs", "rtol", "atol", "cosine", *vocabulary().rungs):
        assert f"`{key}`" in verify, key
    emit = text[text.index("\n### emit\n") : text.index("\n## On the command line\n")]
    assert set(re.findall(r"^\| `(\w+)` \|", emit, re.MULTILINE)) == set(EMIT)


def test_every_construct_and_dtype_is_in_the_language_reference() -> None:
    text = page("docs/language.md")
    for keyword in EXAMPLES:
        assert re.search(rf"`[^`\n]*\b{keyword}\b[^`\n]*`|^#+ .*\b{keyword}\b", text, re.MULTILINE), keyword
    assert all(f"`{dtype}`" in text for dtype in DTYPES)


def test_every_library_is_mentioned() -> None:
    text = page("docs/language.md")
    names = vocabulary()
    assert all(f"use {name}" in text for name in names.libraries)
    assert all(f"`{name.removeprefix('use.')}`" in text for name in names.not_built if name.startswith("use."))


def test_the_pages_name_no_code_that_does_not_exist() -> None:
    known = set(all_codes())
    for path in (ROOT / "README.md", *DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8").replace("trtc explain T0500", "").replace("diagnostic `T0500`", "")
        assert set(re.findall(r"\bT\d{4}\b", text)) <= known, path.name


def test_every_keyword_of_compile_is_in_the_python_page() -> None:
    text = page("docs/python.md")
    for name in inspect.signature(trtc.compile).parameters:
        assert name == "path" or f"| `{name}` |" in text, name
