"""Models with traps, each through the whole chain: load, standard pipeline, network, read-back, ONNX Runtime.

Each folder has a model, its inputs and the outputs that ONNX Runtime gives with optimizations off (numpy, where that
is not faithful). Keys of the arrays are URL-quoted tensor names.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import onnx
import pytest

import trtc.backend
from trtc.cli import main
from trtc.diagnostics import DiagnosticError

HERE = Path(__file__).parent
NAMES = sorted(path.parent.name for path in HERE.glob("*/model.onnx"))

#: Case -> code and words of the diagnostic that it ends in, and why that is the right answer.
DECLINED = {
    # The number of results depends on data: an engine would need outputs that allocate themselves.
    "shapes_from_data": ("T0701", "NonZero"),
    # Sequences are no tensors, and TensorRT has only tensors.
    "sequences_between_tensors": ("T0701", "SequenceConstruct"),
}


def arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as data:
        return {unquote(key): data[key] for key in data.files}


def check(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert sorted(got) == sorted(expected)
    for name, want in expected.items():
        have = np.asarray(got[name])
        assert (have.dtype, have.shape) == (want.dtype, want.shape), name
        if want.dtype.kind == "f":
            tolerance = 2e-2 if want.dtype == np.float16 else 1e-4
            np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=name)
        else:
            np.testing.assert_array_equal(have, want, err_msg=name)


def test_every_case_is_here() -> None:
    assert len(NAMES) == 42
    assert set(DECLINED) <= set(NAMES)
    assert len(DECLINED) <= 5


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str) -> None:
    model = onnx.load(HERE / name / "model.onnx")
    if name in DECLINED:
        code, word = DECLINED[name]
        with pytest.raises(DiagnosticError, match=word) as caught:
            trtc.backend.prepare(model)
        assert [d.code for d in caught.value.diagnostics] == [code]
        return
    compiled = trtc.backend.prepare(model)
    sets = sorted((HERE / name).glob("inputs*.npz"))
    for path in sets:
        outputs = compiled.run(arrays(path))
        got = dict(zip([o.name for o in model.graph.output], outputs, strict=True))
        expected = arrays(path.with_name(path.name.replace("inputs", "expected")))
        check(got, expected)
    assert sets


def compile_in(capsys: pytest.CaptureFixture[str], folder: Path, name: str, *options: str) -> tuple[int, str]:
    """Exit status and everything printed."""
    status = main(["compile", str(HERE / name / "model.onnx"), "-o", str(folder), *options])
    return status, "".join(capsys.readouterr())


def test_compile_with_the_inputs_of_the_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "two_disjoint_ranges"
    options = ["--dim", "N=1..2", "--dim", "H=4..16", "--dim", "W=4..16", "--input", str(HERE / name / "inputs.npz")]
    status, output = compile_in(capsys, tmp_path, name, *options)
    assert status == 0, output
    assert (tmp_path / "model.engine").exists()


def test_lost_precision_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output = compile_in(capsys, tmp_path, "double_at_run_time")
    assert status == 3, output
    assert "T0901" in output
    assert "`y2`" in output
    assert "`y1`" not in output
    assert not (tmp_path / "model.engine").exists()


def test_references_that_disagree_are_said_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """float16 overflows in the first of two products; ONNX Runtime, which computes in float32, does not see it."""
    status, output = compile_in(capsys, tmp_path, "half_precision_overflow_of_constants")
    assert status == 3, output
    assert "T0904" in output
    assert "T0901" not in output
    assert re.search(r"inf, expected -?\d+", output)
    assert "Warning" not in output


def test_a_declined_case_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output = compile_in(capsys, tmp_path / "out", "sequences_between_tensors")
    assert status == 1, output
    assert "T0701" in output
    assert f"--> {HERE / 'sequences_between_tensors' / 'model.onnx'}\n" in output
    assert not list(tmp_path.iterdir())
