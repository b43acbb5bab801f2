"""onnx's own suite: what was right stays right, and nothing is ever wrong."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import onnx
import pytest
from judge import Verdict
from runner import FAULTS, lost, read_right, run, write_right
from suite import Case, cases

QUICK = 150
JOBS = 2


@cache
def _suite() -> Mapping[str, Case]:
    return cases()


def _faults(verdicts: list[Verdict]) -> list[str]:
    found = [v for v in verdicts if v.outcome in FAULTS]
    return [f"{v.outcome}: {v.name}: {v.code} {v.text}" for v in sorted(found, key=lambda v: v.name)]


def test_quick() -> None:
    """Every so-manieth case of `right.txt`, with whatever onnx is installed: a case of another version may differ
    from the one of the same name that the file is for, so elsewhere only faults count."""
    version, known = read_right()
    names = [name for name in known if name in _suite() and _suite()[name].kind != "real"]
    verdicts = list(run(_suite(), names[:: max(1, len(names) // QUICK)], JOBS))
    assert len(verdicts) >= QUICK
    assert _faults(verdicts) == []
    if version == onnx.__version__:
        assert lost(known, verdicts) == []


def test_whole() -> None:
    """All of it, one to two minutes on two cores.

    `python tests/conformance/runner.py` prints the same with counts; `--update` adds to the file.
    """
    version, known = read_right()
    if version != onnx.__version__:
        pytest.skip(f"right.txt is for onnx {version}, installed is {onnx.__version__}")
    assert set(known) <= set(_suite())
    verdicts = list(run(_suite(), _suite(), JOBS))
    assert len(verdicts) == len(_suite())
    assert _faults(verdicts) == []
    assert lost(known, verdicts) == []


def _case(name: str, ending: str) -> Case:
    def load() -> None:
        import os
        import time

        if ending == "crash":
            os.abort()
        if ending == "hang":
            time.sleep(600)
        raise AssertionError("not reached")

    return Case(name, "node", 1e-3, 1e-7, load)  # type: ignore[arg-type]


def test_a_crash_and_a_hang_cost_one_case_each() -> None:
    relu = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 23]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    )
    wrong = {"x": [-1.0, 2.0]}, {"y": [0.5, 2.0]}
    right = {"x": [-1.0, 2.0]}, {"y": [0.0, 2.0]}
    suite = {name: _case(name, name) for name in ("crash", "hang")}
    for name, (inputs, outputs) in (("right", right), ("wrong", wrong)):
        data = [([_array(v) for v in inputs.values()], [_array(v) for v in outputs.values()])]
        suite[name] = Case(name, "node", 1e-3, 1e-7, lambda d=data: (relu, d))
    found = {v.name: v for v in run(suite, ["crash", "right", "hang", "wrong"], jobs=1, timeout=10, first=10)}
    assert {name: v.outcome for name, v in found.items()} == {n: n for n in ("crash", "right", "hang", "wrong")}
    assert found["crash"].text == "signal 6"
    assert found["wrong"].text == "y: 1 of 2 elements differ, first at (0,): 0.0, expected 0.5"


def _array(values: list[float]):
    import numpy as np

    return np.array(values, np.float32)


def test_right_only_grows(tmp_path) -> None:
    path = tmp_path / "right.txt"
    first = [Verdict("a", "node", "right"), Verdict("b", "node", "frozen"), Verdict("c", "node", "declined")]
    assert write_right(first, path) == 2
    later = [Verdict("a", "node", "wrong"), Verdict("b", "node", "right"), Verdict("c", "node", "frozen")]
    assert write_right(later, path) == 2
    assert path.read_text() == f"# onnx {onnx.__version__}\na\nb\nc frozen\n"
    known = read_right(path)[1]
    assert [v.name for v in lost(known, later)] == ["a"]
    assert [v.name for v in lost(known, first)] == ["b", "c"]
