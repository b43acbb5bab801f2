"""Every supported Python, and once the oldest supported version of every dependency: a new environment, all tests.

Takes minutes and downloads packages: `pytest -m matrix`. An interpreter is found as `python3.X` on the path, or by the
environment variable `PYTHON3_X`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.matrix

ROOT = Path(__file__).parents[2]


def interpreter(version: str) -> str:
    """A Python of a version, or a skip that says what is missing."""
    found = os.environ.get(f"PYTHON{version.replace('.', '_')}") or shutil.which(f"python{version}")
    works = found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0
    if not works:
        pytest.skip(f"needs python{version} on the path, or its place in PYTHON{version.replace('.', '_')}")
    return str(found)


def oldest() -> list[str]:
    """`name==bound` for every dependency of trtc."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    found = re.findall(r'"([\w-]+)>=([\d.]+)', block[1])
    assert len(found) == block[1].count('"') // 2
    return [f"{name}=={bound}.*" if bound.count(".") < 2 else f"{name}=={bound}" for name, bound in found]


def run(*command: str | Path) -> None:
    # The environment of the tests that run this one must not leak into the new one.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "VIRTUAL_ENV", "PYTHONPATH"))}
    done = subprocess.run([str(c) for c in command], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("bounds", ["newest", "oldest"])
@pytest.mark.parametrize("version", ["3.10", "3.13"])
def test_all_tests_pass(version: str, bounds: str, tmp_path: Path) -> None:
    if bounds == "oldest" and version != "3.10":
        pytest.skip("the oldest dependencies are tried once, on the oldest Python")
    run(interpreter(version), "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "-e", ".[rtx,dev]", *(oldest() if bounds == "oldest" else ()))
    run(python, "-m", "pytest", "-q", "-n", "auto", "-m", "not matrix and not slow and not gpu")
