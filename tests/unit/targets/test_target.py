"""Loading, probing and choosing a TensorRT."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from trtc import targets
from trtc.diagnostics import DiagnosticError
from trtc.targets import target as room


@pytest.fixture(autouse=True)
def forget() -> None:
    targets.load.cache_clear()
    targets.status.cache_clear()


def _code(error: pytest.ExceptionInfo[DiagnosticError]) -> str:
    return error.value.diagnostics[0].code


def test_unknown_name_is_suggested() -> None:
    with pytest.raises(DiagnosticError) as error:
        targets.load("tensorrt_rt")
    assert _code(error) == "T0001"
    assert error.value.diagnostics[0].help == "did you mean `tensorrt_rtx`?"
    assert error.value.status == 4


def test_missing_target_says_how_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_installed", lambda _module: False)
    with pytest.raises(DiagnosticError) as error:
        targets.load("tensorrt")
    assert _code(error) == "T0002"
    assert error.value.diagnostics[0].help == "pip install tensorrt"


def test_broken_target(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_name: str) -> types.ModuleType:
        raise OSError("libcudart.so.12: cannot open shared object file")

    monkeypatch.setattr(room, "_installed", lambda _module: True)
    monkeypatch.setattr(room.importlib, "import_module", fail)
    with pytest.raises(DiagnosticError) as error:
        targets.load("tensorrt")
    assert _code(error) == "T0003"
    assert "libcudart.so.12" in error.value.diagnostics[0].message


def test_another_module_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_installed", lambda _module: True)
    monkeypatch.setattr(room.importlib, "import_module", lambda _name: types.ModuleType("tensorrt"))
    with pytest.raises(DiagnosticError) as error:
        targets.load("tensorrt")
    assert _code(error) == "T0003"


def _fake_module(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (folder / "tensorrt.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(room, "_installed", lambda module: module == "tensorrt")


def test_a_builder_that_ends_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "import os\n__version__ = '10.9.0'\n"
        "class Logger:\n    ERROR = 1\n    def __init__(self, level): pass\ndef Builder(logger): os.abort()\n"
    )
    _fake_module(tmp_path, monkeypatch, text)
    found = targets.status("tensorrt")
    assert (found.installed, found.version, found.can_build) == (True, "10.9.0", False)
    assert found.reason is not None
    assert found.reason.startswith("the process that made a builder died")


def test_a_builder_that_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "__version__ = '10.9.0'\n"
        "class Logger:\n    ERROR = 1\n    def __init__(self, level): pass\ndef Builder(logger): os.abort()\n"
        "def Builder(logger): raise TypeError('pybind11::init(): factory function returned nullptr')\n"
    )
    _fake_module(tmp_path, monkeypatch, text)
    found = targets.status("tensorrt")
    assert found.can_build is False
    assert found.reason is not None
    assert "factory function returned nullptr" in found.reason
    assert "needs an NVIDIA GPU" in found.reason


def test_choose_goes_on_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorrt_rtx")
    real = targets.status
    monkeypatch.setattr(
        room,
        "status",
        lambda name: targets.TargetStatus(name, True, "10.9", False, "no GPU") if name == "tensorrt" else real(name),
    )
    assert targets.choose().name == "tensorrt_rtx"


def test_choose_says_what_is_wrong_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "status", lambda name: targets.TargetStatus(name, False, None, False, "not installed"))
    with pytest.raises(DiagnosticError) as error:
        targets.choose()
    assert _code(error) == "T0005"
    assert error.value.diagnostics[0].notes == ("tensorrt: not installed", "tensorrt_rtx: not installed")


def test_named_target_that_cannot_build(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorrt_rtx")
    monkeypatch.setattr(room, "load", lambda name: targets.Target(name, "10.9", sys, None))  # pyright: ignore
    monkeypatch.setattr(room, "status", lambda name: targets.TargetStatus(name, True, "10.9", False, "no GPU"))
    with pytest.raises(DiagnosticError) as error:
        targets.choose("tensorrt")
    assert _code(error) == "T0004"
    assert "--target tensorrt_rtx" in (error.value.diagnostics[0].help or "")


def test_probe_and_builder_of_tensorrt_rtx() -> None:
    pytest.importorskip("tensorrt_rtx")
    found = {s.name: s for s in targets.probe()}["tensorrt_rtx"]
    assert found.can_build
    target = targets.choose("tensorrt_rtx")
    assert target.version == found.version
    network = target.network(target.builder())
    assert network.num_layers == 0


def test_compute_capability() -> None:
    trt = pytest.importorskip("tensorrt_rtx")
    target = targets.load("tensorrt_rtx")
    assert target.compute_capability("8.6") == trt.ComputeCapability.SM86
    with pytest.raises(DiagnosticError) as error:
        target.compute_capability("9.0")
    assert _code(error) == "T0006"
    assert error.value.diagnostics[0].notes == ("it knows 7.5, 8.0, 8.6, 8.9, 12.0, 12.1",)


def test_logger_keeps_errors_and_drops_noise() -> None:
    trt = pytest.importorskip("tensorrt_rtx")
    logger = targets.load("tensorrt_rtx").logger
    assert logger is targets.load("tensorrt_rtx").logger
    mark = logger.mark()
    logger.log(trt.ILogger.Severity.INFO, "nothing to see")
    logger.log(trt.ILogger.Severity.ERROR, "catchCudaError ... cudaError 35: CUDA driver version is insufficient")
    logger.log(trt.ILogger.Severity.WARNING, "careful")
    logger.log(trt.ILogger.Severity.ERROR, "reshape changes volume\n")
    assert [m.severity for m in logger.since(mark)] == ["WARNING", "ERROR"]
    assert logger.errors(mark) == ("reshape changes volume",)
