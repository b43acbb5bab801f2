"""Every fenced block of README.md and docs/ is run (see pages.py); what cannot run here is listed, with the reason."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import models
import pages
import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_FIRST = 'python3 -m venv .venv && .venv/bin/pip install -e ".[rtx]" && .venv/bin/python examples/resnet50/run.py'

#: Blocks that are shown and not run: the page and the first command, and why.
NOT_RUN = {
    ("README.md", _FIRST): "makes an environment, downloads packages and compiles ResNet-50: minutes",
    ("README.md", "./test.sh"): "is what runs this test",
}

#: Run by tests/unit/passes/test_passes_page.py.
_GRAPHS = {"onnx", "after", "remarks"}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    models.write(folder)
    return folder


@pytest.mark.skipif(
    importlib.util.find_spec("tensorrt_rtx") is None or importlib.util.find_spec("tensorrt") is not None,
    reason="the pages show TensorRT for RTX, without TensorRT beside it",
)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_runs(page: Path, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in made.glob("*.onnx"):
        (tmp_path / model.name).write_bytes(model.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    session = pages.Session(tmp_path)
    for block in pages.blocks(page):
        if "no-run" not in block.words and not (page.name == "passes.md" and block.kind in _GRAPHS):
            assert hasattr(session, f"_{block.kind}"), f"{block}: no test runs a block of kind `{block.kind}`"
            session.run(block)


def test_the_first_command_of_the_readme_names_what_is_there() -> None:
    assert (ROOT / _FIRST.split()[-1]).exists()
    assert "\nrtx = [" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_what_is_not_run_is_listed_and_nothing_else_is() -> None:
    marked = {
        (page.name, pages.commands(block.text)[0][0])
        for page in PAGES
        for block in pages.blocks(page)
        if "no-run" in block.words
    }
    assert marked == set(NOT_RUN)


def test_fences_are_closed_and_links_lead_somewhere() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert text.count("\n```") % 2 == 0, page.name
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)):
            assert target.startswith("https://") or (page.parent / target).exists(), f"{page.name}: {target}"
