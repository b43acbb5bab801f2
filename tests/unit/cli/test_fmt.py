"""`trtc fmt`: what it writes, what it leaves alone, and its exit status."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from trtc.cli import main
from trtc.lang import formatter

UGLY = "trtspec 1\nparam a=1 # why\n"
NICE = "trtspec 1\nparam a = 1  # why\n"
WRONG = "trtspec 1\nparam a=\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("ugly", UGLY), ("nice", NICE), ("wrong", WRONG)):
        (tmp_path / f"{name}.trtspec").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_bytes().decode() for path in folder.iterdir()}


def test_files_are_written_in_the_one_form(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    untouched = (folder / "nice.trtspec").stat()
    assert main(["fmt", "ugly.trtspec", "nice.trtspec"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "formatted ugly.trtspec\n"
    assert captured.err == "1 file formatted, 1 file already formatted\n"
    assert texts(folder) == {"ugly": NICE, "nice": NICE, "wrong": WRONG}
    after = (folder / "nice.trtspec").stat()
    assert (after.st_mtime_ns, after.st_ino) == (untouched.st_mtime_ns, untouched.st_ino)


def test_check_shows_what_would_change_and_changes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", "nice.trtspec"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["fmt", "--check", "nice.trtspec", "ugly.trtspec"]) == 1
    captured = capsys.readouterr()
    assert captured.out == (
        "ugly.trtspec is not formatted\n--- ugly.trtspec\n+++ ugly.trtspec\n@@ -1,3 +1,3 @@\n"
        " trtspec 1\n-param a=1 # why\n+param a = 1  # why\n \n"
    )
    assert captured.err == "1 file to format, 1 file already formatted\n"
    assert texts(folder) == {"ugly": UGLY, "nice": NICE, "wrong": WRONG}


def test_a_long_diff_is_cut(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "long.trtspec").write_text("trtspec 1\n" + "param a=1\n" * 100)
    assert main(["fmt", "--check", "long.trtspec"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 42
    assert lines[-1] == "... 165 more lines"


def test_what_does_not_parse_is_left_alone_and_the_others_are_not(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fmt", "wrong.trtspec", "ugly.trtspec"]) == 1
    captured = capsys.readouterr()
    assert "error[T010" in captured.err
    assert "wrong.trtspec:" in captured.err
    assert captured.err.endswith("1 file formatted, 1 file left as it is\n")
    assert texts(folder) == {"ugly": NICE, "nice": NICE, "wrong": WRONG}


def test_files_that_cannot_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bytes.trtspec").write_bytes(b"trtspec 1\n# \xff\n")
    assert main(["fmt", "absent.trtspec", "bytes.trtspec", "."]) == 2
    err = capsys.readouterr().err
    assert err.count("error[T1012]") == 3
    assert "byte 12 is not UTF-8 text" in err
    assert (folder / "bytes.trtspec").read_bytes() == b"trtspec 1\n# \xff\n"


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "--check", "--json", "nice.trtspec", "ugly.trtspec", "wrong.trtspec"]) == 1
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["ok"] is False
    nice, ugly = answer["files"]
    assert nice == {"path": "nice.trtspec", "changed": False}
    assert ugly["changed"] is True
    assert "+param a = 1  # why" in ugly["diff"]
    assert [d["span"]["path"] for d in answer["diagnostics"]] == ["wrong.trtspec"]
    assert captured.err == ""
    assert main(["fmt", "--json", "ugly.trtspec"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [{"path": "ugly.trtspec", "changed": True}]
    assert texts(folder)["ugly"] == NICE


def test_the_mode_and_a_symbolic_link_stay(folder: Path) -> None:
    path, link = folder / "ugly.trtspec", folder / "link.trtspec"
    path.chmod(0o640)
    link.symlink_to(path.name)
    assert main(["fmt", "link.trtspec"]) == 0
    assert link.is_symlink()
    assert path.read_text() == NICE
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_write_that_fails_leaves_the_file_and_nothing_else(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert main(["fmt", "ugly.trtspec"]) == 1
    assert "error[T1120]: cannot write: No space left on device" in capsys.readouterr().err
    assert texts(folder) == {"ugly": UGLY, "nice": NICE, "wrong": WRONG}


def test_a_fault_of_the_formatter_writes_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formatter, "layout", lambda tokens: "trtspec 1\nparam a = 2  # why\n")
    assert main(["fmt", "ugly.trtspec"]) == 5
    assert "error[T0800]" in capsys.readouterr().err
    assert (folder / "ugly.trtspec").read_text() == UGLY


def stdin(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_standard_input_goes_to_standard_output(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin(monkeypatch, UGLY.replace("\n", "\r\n").encode())
    assert main(["fmt", "-"]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out == NICE.replace("\n", "\r\n").encode()
    assert captured.err == b""
    stdin(monkeypatch, WRONG.encode())
    assert main(["fmt", "-"]) == 1
    captured = capfdbinary.readouterr()
    assert captured.out == b""
    assert b"<stdin>:" in captured.err
    stdin(monkeypatch, UGLY.encode())
    assert main(["fmt", "--check", "-"]) == 1
    assert capfdbinary.readouterr().out.startswith(b"<stdin> is not formatted\n")
    stdin(monkeypatch, UGLY.encode())
    assert main(["fmt", "--json", "-"]) == 0
    assert json.loads(capfdbinary.readouterr().out)["files"] == [{"path": "<stdin>", "changed": True, "text": NICE}]


@pytest.mark.parametrize("arguments", [["fmt"], ["fmt", "-", "nice.trtspec"]])
def test_usage(folder: Path, arguments: list[str]) -> None:
    assert main(arguments) == 2


def test_neither_models_nor_code_are_loaded(folder: Path) -> None:
    (folder / "code.trtspec").write_text('trtspec 1\nmodel "absent.onnx"\nuse "absent.trtspec"\n')
    code = (
        "import sys; from trtc.cli import main; status = main(['fmt', 'code.trtspec', '--check']);"
        "heavy = {'onnx', 'onnx_ir', 'numpy', 'onnxruntime', 'trtc_passes', 'trtc_specs', 'polygraphy', 'networkx'};"
        "print(status, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"
