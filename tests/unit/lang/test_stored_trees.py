"""Trees of libraries on disk: they are what the parser makes, and nothing that lies there can do harm."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trtc.diagnostics import Source, Span
from trtc.driver.library import libraries
from trtc.lang import parse, rules, stored, syntax

TEXT = '''trtspec 1
"""Both."""
pattern twice(x: float[..., H]) -> (y, $k = 1.0) { y = either(x + x, x * $k) }
rewrite double {
  match (y, $k) = twice(x)
  where $k == 2.0 && rank(x) > 1
  replace y with x * inf
  assumes finite
  test { x: f32[2, 8] }
}
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stored, "folder", lambda: tmp_path / "trtc")
    return tmp_path / "trtc"


class Parser:
    """The parser, and how often it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, source: Source, name: str) -> syntax.File:
        self.calls += 1
        return parse(source, name)


def described(node: Any) -> Any:
    """Everything that a tree says, places included."""
    if isinstance(node, Span):
        return ("span", node.source.path, node.start, node.end)
    if isinstance(node, rules.Environment):
        return "environment"
    if dataclasses.is_dataclass(node):
        fields = dataclasses.fields(node)
        return (type(node).__name__, *(described(getattr(node, f.name)) for f in fields))
    if isinstance(node, tuple):
        return tuple(map(described, node))
    if isinstance(node, dict):
        return {key: described(value) for key, value in node.items()}
    return (type(node).__name__, node)


def environments(file: syntax.File) -> Iterator[rules.Environment]:
    for declaration in file.declarations:
        if hasattr(declaration, "environment"):
            yield declaration.environment  # pyright: ignore


@pytest.mark.parametrize("name", ["std.norm", "std.horizontal", "std.plugins", "std.standard", "std.attention"])
def test_a_tree_comes_back_as_the_parser_made_it(name: str) -> None:
    path, text = libraries()[name]
    parser = Parser()
    first = stored.file_of(Source(path, text), name, parser)
    again = stored.file_of(Source(path, text), name, parser)
    assert parser.calls == 1
    assert described(again) == described(first)
    assert all(one is again.environment for one in environments(again))


def test_another_text_has_a_tree_of_its_own() -> None:
    parser = Parser()
    first = stored.file_of(Source("a", TEXT), "std.a", parser)
    other = stored.file_of(Source("a", TEXT.replace("2.0", "3.0")), "std.a", parser)
    assert parser.calls == 2
    assert described(first) != described(other)


def damaged(place: Path) -> None:
    data = bytearray(place.read_bytes())
    data[-20] ^= 1
    place.write_bytes(data)


def cut(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:100])


def emptied(place: Path) -> None:
    place.write_bytes(b"")


def of_another_kind(place: Path) -> None:
    import hashlib

    body = b'[0,"what",1]'
    place.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def writable_by_others(place: Path) -> None:
    place.chmod(0o666)


@pytest.mark.parametrize("harm", [damaged, cut, emptied, of_another_kind, writable_by_others])
def test_what_is_not_sound_is_parsed_anew_and_replaced(folder: Path, harm: Any) -> None:
    if harm is writable_by_others and sys.platform == "win32":
        pytest.skip("files have no such rights on Windows")
    parser = Parser()
    sound = stored.file_of(Source("a", TEXT), "std.a", parser)
    [place] = folder.iterdir()
    harm(place)
    assert described(stored.file_of(Source("a", TEXT), "std.a", parser)) == described(sound)
    assert parser.calls == 2
    stored.file_of(Source("a", TEXT), "std.a", parser)
    assert parser.calls == 2


def test_no_place_to_keep_it_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_text("a file where the folder should be")
    parser = Parser()
    stored.file_of(Source("a", TEXT), "std.a", parser)
    monkeypatch.setattr(stored, "folder", lambda: None)
    stored.file_of(Source("a", TEXT), "std.a", parser)
    assert parser.calls == 2


def test_old_trees_go(folder: Path) -> None:
    for at in range(9):
        stored.file_of(Source("a", TEXT.replace("2.0", f"{at}.5")), "std.a", Parser())
        for age, place in enumerate(sorted(folder.iterdir(), key=os.path.getmtime)):
            os.utime(place, (age, age))
    assert len(list(folder.iterdir())) <= 5


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    if sys.platform in ("win32", "darwin"):
        pytest.skip("other places there")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert stored.folder() == Path("/somewhere/trtc")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert stored.folder() is None


def test_a_model_alone_needs_no_parser() -> None:
    import subprocess

    code = (
        "import sys; from pathlib import Path; from trtc import lang; from trtc.driver.library import vocabulary\n"
        "lang.for_model(Path('m.onnx'), vocabulary()); print('lark' in sys.modules)"
    )
    outputs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout for _ in range(2)]
    assert outputs[1] == "False\n"
