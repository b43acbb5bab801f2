"""Broken and hostile files at the command line: refused by name and number, within seconds, with nothing left."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import malformed as m
import pytest
from sandbox import Done, Sandbox
from test_malformed import CASES

HERE = Path(__file__).parent
CANARY = b"a canary is singing here"
#: Names that could pass for lines of a log, or end a document: a newline, marks of direction, HTML.
LOUD = "relu\n[E] all is well\u202egnp.exe<script>"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as box:
        yield box


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for models, beside one with a file that no model may read."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "canary.bin").write_bytes(CANARY)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "short.bin").write_bytes(bytes(8))
    (tmp_path / "models" / "long.bin").write_bytes(bytes(64))
    return tmp_path / "models"


def everything(folder: Path) -> dict[str, bytes]:
    """Every file and folder around, with its content."""
    paths = sorted(folder.parent.rglob("*"))
    return {str(p): p.read_bytes() if p.is_file() and not p.is_symlink() else b"" for p in paths}


def refused(sandbox: Sandbox, path: Path, code: str, words: tuple[str, ...]) -> None:
    before = everything(path.parent)
    out = path.parent / "made" / "here"
    for command in (["check"], ["check", "--json"], ["compile", "--json", "-o", str(out)]):
        done = sandbox.run([command[0], path.name, *command[1:]], path.parent)
        assert done.status == 1, done
        assert "Traceback" not in done.text
        assert CANARY.decode() not in done.text
        assert code in (done.codes() if "--json" in command else done.err)
        assert all(word in done.text for word in words), done.text
        assert not set(done.text) & set("\u202e\u2066\x1b\0")
    assert everything(path.parent) == before


@pytest.mark.parametrize("name", CASES)
def test_broken_file(sandbox: Sandbox, folder: Path, name: str) -> None:
    data, code, words = CASES[name]
    refused(sandbox, m.write(folder, data), code, words)


@pytest.mark.parametrize(
    ("location", "word"),
    [
        ("../outside/canary.bin", "'..'"),
        ("sub/../../outside/canary.bin", "'..'"),
        ("{folder}/../outside/canary.bin", "absolute"),
        ("/dev/zero", "absolute"),
        ("file:///{folder}/long.bin", "URL"),
        ("C:\\data\\w.bin", "drive"),
        ("\\\\host\\share\\w.bin", "network share"),
        ("link.bin", "outside"),
        ("linked/canary.bin", "outside"),
        ("device.bin", "outside"),
    ],
)
def test_data_outside_of_the_folder(sandbox: Sandbox, folder: Path, location: str, word: str) -> None:
    (folder / "link.bin").symlink_to(folder.parent / "outside" / "canary.bin")
    (folder / "linked").symlink_to(folder.parent / "outside", target_is_directory=True)
    (folder / "device.bin").symlink_to("/dev/zero")
    path = m.write(folder, m.external(location.replace("{folder}", str(folder))))
    refused(sandbox, path, "T0417", ("`w`", word))


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (m.external("short.bin"), "T0418", ("`w`", "8 bytes", "16")),
        (m.external("long.bin", "-4"), "T0418", ("`w`", "-4")),
        (m.external("long.bin", "8", str(2**63)), "T0418", ("`w`", str(2**63))),
        (m.external("long.bin", "9223372036854775800"), "T0418", ("`w`", "64 bytes")),
        (m.external("long.bin", "0", "12"), "T0418", ("`w`", "12", "16")),
        (m.external("absent.bin"), "T0418", ("`w`", "absent.bin")),
        (m.external("pipe.bin"), "T0417", ("`w`", "pipe.bin")),
        (m.external("/dev/zero", "0", str(1 << 40), dims=[1 << 38]), "T0417", ("`w`", "/dev/zero")),
        (m.external("long.bin", "0", "8", dims=[2], __class__="os", basepath="/"), "T0610", ("`w`", "[4]", "[2]")),
    ],
)
def test_data_in_a_wrong_place(sandbox: Sandbox, folder: Path, data: bytes, code: str, words: tuple[str, ...]) -> None:
    os.mkfifo(folder / "pipe.bin")
    refused(sandbox, m.write(folder, data), code, words)


def test_nested_branches_that_decode_take_no_time(sandbox: Sandbox, folder: Path) -> None:
    done = sandbox.run(["check", m.write(folder, m.nested_ifs(28)).name], folder)
    assert done.status in (0, 1), done
    assert "Traceback" not in done.text


def test_names_are_escaped(sandbox: Sandbox, folder: Path) -> None:
    path = m.write(folder, m.simple(m.node("Relu", "x", ["y"], name=LOUD)))
    before = set(everything(folder))
    for arguments in (["check"], ["dump"], ["dump", "-o", "graph.svg"], ["dump", "-o", "graph.html"]):
        done = sandbox.run([arguments[0], path.name, *arguments[1:]], folder)
        assert done.status in (0, 1, 2), done
        assert "\n[E]" not in done.text
        assert "\u202e" not in done.text
    for made in set(everything(folder)) - before:
        text = Path(made).read_text(encoding="utf-8")
        assert "<script>" not in text
        assert "\u202e" not in text
        assert Path(made).name in ("graph.svg", "graph.html")


def test_the_installed_command(folder: Path) -> None:
    """One of them as a user starts it."""
    path = m.write(folder, CASES["raw_too_short"][0])
    command = [str(Path(sys.executable).with_name("trtc")), "compile", path.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "error[T0407]: tensor `w`: raw_data has 12 bytes, FLOAT [4] wants 16" in done.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["long.bin", "model.onnx", "short.bin"]


def answered(done: Done) -> None:
    """Right or refused, but by a diagnostic."""
    assert done.status in (0, 1), done
    assert "Traceback" not in done.text, done
    assert "T0800" not in done.text, done
    if done.status == 1:
        assert "error[T0" in done.err, done


MODELS = ("quantized_convolution", "omitted_inputs_and_outputs", "branch_in_loop_captures_input", "sparse_weights")


@pytest.mark.parametrize("name", [*MODELS, "typed_fields_of_tensors", "conv_weight_shared_by_two_batch_norms"])
def test_truncated(sandbox: Sandbox, folder: Path, name: str) -> None:
    data = (HERE / name / "model.onnx").read_bytes()
    for cut in range(0, len(data), 64):
        done = sandbox.run(["check", m.write(folder, data[:cut]).name], folder)
        answered(done)
        assert done.status == 1, cut


@pytest.mark.parametrize("name", MODELS)
def test_flipped_bytes(sandbox: Sandbox, folder: Path, name: str) -> None:
    data = (HERE / name / "model.onnx").read_bytes()
    choose = random.Random(name)
    statuses: set[int] = set()
    for _ in range(75):
        broken = bytearray(data)
        for _ in range(choose.choice((1, 1, 2, 8))):
            broken[choose.randrange(len(broken))] = choose.randrange(256)
        done = sandbox.run(["check", m.write(folder, bytes(broken)).name], folder)
        answered(done)
        statuses.add(done.status)
    assert 1 in statuses
