"""Processes that trtc starts import nothing from the folder that the user is in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import onnx
import pytest

from trtc import child


def test_current_folder_is_not_searched(tmp_path: Path) -> None:
    for name in ("copy", "runpy", "json", "own"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')\n")
    code = "import copy, json, sys; print(sys.argv[1:]); import own"
    done = subprocess.run(child.run_code(code, "a"), cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "['a']\n"
    assert "No module named 'own'" in done.stderr
    done = subprocess.run(child.run_module("json.tool", "--help"), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()


def test_compile_in_a_folder_with_python_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trtc.engine.supervisor import Worker

    for name in ("copy", "onnx", "numpy", "tensorrt_rtx", "trtc", "mpmath"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')\nraise ImportError('planted')\n")
    text = '<ir_version: 10, opset_import: ["" : 23]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    from trtc.engine.job import BuildJob

    job = BuildJob(model="model.onnx", target=None, profiles=(), plan="engine", readback="readback.onnx")
    with Worker() as worker:
        worker.run(job)
    assert (tmp_path / "engine").stat().st_size > 0
    assert not (tmp_path / "ran").exists()
