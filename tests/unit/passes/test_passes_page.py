"""Every example of docs/passes.md, run."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from pass_harness import assert_same, listing, load, model, run

from trtc.pipeline import options_of
from trtc_passes import PASSES

_PAGE = (Path(__file__).parents[3] / "docs" / "passes.md").read_text(encoding="utf-8")
_BLOCKS = re.findall(r"```(\w+) ?([\w ]*)\n(.*?)```", _PAGE, re.DOTALL)
_BY_NAME = {cls.name: cls for cls in PASSES}  # type: ignore[attr-defined]
_EXAMPLES = [
    (names.split(), text, kind, expected.strip().splitlines())
    for (lang, names, text), (kind, _, expected) in pairwise(_BLOCKS)
    if lang == "onnx"
]


@pytest.mark.parametrize(("names", "text", "kind", "expected"), _EXAMPLES, ids=[" ".join(e[0]) for e in _EXAMPLES])
def test_example(names: list[str], text: str, kind: str, expected: list[str]) -> None:
    graph, _, functions = text.partition("\n\n")
    proto = model(graph, functions=functions)
    module = load(proto)
    _, context = run(module, *[_BY_NAME[name]() for name in names])
    if kind == "after":
        assert listing(module) == expected
    else:
        assert [f"{r.kind.value} {r.node}: {r.message}" for r in context.remarks] == expected
    assert_same(proto, module, rtol=1e-5, atol=1e-6, N=1, S=1)
    assert_same(proto, module, rtol=1e-5, atol=1e-6, N=3, S=2)


def test_every_pass_and_every_option_has_its_place() -> None:
    assert len(_EXAMPLES) >= len(PASSES)
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", _PAGE, re.MULTILINE | re.DOTALL))
    for name, cls in _BY_NAME.items():
        assert name in sections
        assert "```onnx" in sections[name], name
        for option in options_of(cls):
            assert f"| `{option.name}` |" in sections[name], f"{name}.{option.name}"
