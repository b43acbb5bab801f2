"""Constraints in Python: called where the user allows code, refused everywhere else."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest

from trtc.diagnostics import DiagnosticError
from trtc.driver.front import optimize, prepare
from trtc.driver.spec import spec_for

SPEC = """trtspec 1
extern constraint even(x) from "parity:even"
model "m.onnx"
rewrite r {
  match y = Neg(x)
  where even(x)
  replace y with Sub(0.0, x)
}
pipeline { apply(r) }
"""


@pytest.fixture(autouse=True)
def _forget_the_module() -> None:
    sys.modules.pop("parity", None)


def write(folder: Path, code: str = "def even(module, x):\n    return module.shape(x)[0] % 2 == 0\n") -> Path:
    text = "(float[4] a, float[3] b) => (float[4] c, float[3] d) { c = Neg(a)  d = Neg(b) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}'), folder / "m.onnx")
    (folder / "parity.py").write_text(code)
    (folder / "m.trtspec").write_text(SPEC)
    return folder / "m.trtspec"


def test_a_constraint_is_called_with_the_module_and_the_values(tmp_path: Path) -> None:
    prepared = prepare(spec_for(write(tmp_path)))
    outcome = optimize(prepared, allow_code=True)
    assert outcome.applied["r"] == 1
    assert [node.op_type for node in prepared.module.nodes()] == ["Sub", "Neg"]


def test_without_leave_the_code_is_not_loaded(tmp_path: Path) -> None:
    prepared = prepare(spec_for(write(tmp_path, 'raise RuntimeError("loaded")\n')))
    with pytest.raises(DiagnosticError) as raised:
        optimize(prepared)
    assert [d.code for d in raised.value.diagnostics] == ["T0341"]


def test_what_cannot_be_loaded_is_said(tmp_path: Path) -> None:
    prepared = prepare(spec_for(write(tmp_path, "odd = 1\n")))
    with pytest.raises(DiagnosticError) as raised:
        optimize(prepared, allow_code=True)
    assert [d.code for d in raised.value.diagnostics] == ["T0342"]


def test_what_goes_wrong_in_it_is_its_own_fault_and_said_so(tmp_path: Path) -> None:
    prepared = prepare(spec_for(write(tmp_path, "def even(module, x):\n    return {}['no']\n")))
    with pytest.raises(DiagnosticError) as raised:
        optimize(prepared, allow_code=True)
    assert [d.code for d in raised.value.diagnostics] == ["T0343"]
    assert "KeyError: 'no'" in raised.value.diagnostics[0].message
