"""The worker process: results, refusals, death, cancellation."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from trtc import ir
from trtc.diagnostics import DiagnosticError
from trtc.engine import BuildEvent, BuildJob, Profile, Worker
from trtc.engine.supervisor import LocalWorker
from trtc.evaluate import session

TEXT = """
<ir_version: 10, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,4] y) { a = Relu(x) y = Sigmoid(a) }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    ir.save(ir.load_proto(onnx.parser.parse_model(TEXT)), path)
    return path


def job(model: Path, **settings: object) -> BuildJob:
    shapes = {"x": ((1, 4), (2, 4), (8, 4))}
    return BuildJob(
        model=str(model),
        target="tensorrt_rtx",
        profiles=(Profile("p", shapes),),
        plan=str(model.with_suffix(".plan")),
        readback=str(model.with_suffix(".back.onnx")),
        **settings,  # type: ignore[arg-type]
    )


def test_a_job_survives_the_pipe() -> None:
    made = BuildJob("m", None, ("8.6",), {"n": (1, 8)}, (Profile("p", {"x": ((1,), (2,), (3,))}),), {"tf32": True})
    import json

    assert BuildJob.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_an_engine_a_readback_and_a_layer_map_come_back(model: Path) -> None:
    events: list[BuildEvent] = []
    with Worker() as worker:
        result = worker.run(job(model), events.append)
    assert model.with_suffix(".plan").stat().st_size == result.plan_bytes > 0
    back = onnx.load(model.with_suffix(".back.onnx"))
    (y,) = session(back.SerializeToString()).run(["y"], {"x": np.float32([[-1, 0, 1, 2]])})
    assert y.tolist() == [[0.5, 0.5, pytest.approx(1 / (1 + np.exp(-1))), pytest.approx(1 / (1 + np.exp(-2)))]]
    assert [(layer["type"], list(layer["origins"])) for layer in result.layers] == [
        ("Activation", ["Relu_0"]),
        ("Activation", ["Sigmoid_0"]),
    ]
    assert [(b["name"], b["engine_dtype"]) for b in result.bindings] == [("x", "FLOAT"), ("y", "FLOAT")]
    stages = list(dict.fromkeys(event.stage for event in events))
    assert stages == ["emit", "readback", "build"]
    assert any(event.steps > 0 for event in events if event.stage == "build")


def test_several_profiles_and_compute_capabilities_are_built(model: Path) -> None:
    plain = LocalWorker().run(job(model)).plan_bytes
    two = BuildJob(
        str(model),
        "tensorrt_rtx",
        ("8.6", "8.9"),
        {},
        (Profile("a", {"x": ((1, 4), (1, 4), (1, 4))}), Profile("b", {"x": ((1, 4), (8, 4), (16, 4))})),
        {"workspace": 1 << 30, "optimization_level": 1, "profiling_verbosity": "detailed", "tf32": False},
        str(model.with_suffix(".plan")),
    )
    assert LocalWorker().run(two).plan_bytes > plain


def test_a_setting_that_tensorrt_keeps_to_itself_is_a_diagnostic(model: Path) -> None:
    with pytest.raises(DiagnosticError, match="did not accept `optimization_level = 9`") as caught:
        LocalWorker().run(job(model, builder={"optimization_level": 9}))
    assert caught.value.diagnostics[0].code == "T0802"


def test_a_profile_that_tensorrt_does_not_take_is_a_diagnostic(model: Path) -> None:
    wrong = BuildJob(
        str(model),
        "tensorrt_rtx",
        profiles=(Profile("p", {"x": ((8, 4), (2, 4), (1, 4))}),),
        plan=str(model.with_suffix(".plan")),
    )
    with pytest.raises(DiagnosticError) as caught:
        LocalWorker().run(wrong)
    assert caught.value.diagnostics[0].code in ("T0803", "T0804")
    assert not model.with_suffix(".plan").exists()


def test_what_the_child_finds_wrong_is_raised_here(model: Path) -> None:
    with Worker() as worker, pytest.raises(DiagnosticError) as caught:
        worker.run(BuildJob(str(model), "tensorrt_nine"))
    assert caught.value.diagnostics[0].code == "T0001"


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL"])
def test_the_death_of_the_child_is_a_diagnostic_that_names_the_signal(model: Path, name: str) -> None:
    with Worker() as worker:

        def kill(event: BuildEvent) -> None:
            os.kill(worker._child.pid, getattr(signal, name))

        with pytest.raises(DiagnosticError, match=f"was killed by {name}") as caught:
            worker.run(job(model), kill)
    assert caught.value.diagnostics[0].code == "T0801"
    assert caught.value.status == 5


def test_a_cancelled_build_ends_the_child_and_leaves_no_plan(model: Path) -> None:
    with Worker() as worker:

        def interrupt(event: BuildEvent) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            worker.run(job(model), interrupt)
        assert worker._child.poll() is not None
    assert not model.with_suffix(".plan").exists()


def test_a_cancelled_build_stops_inside_tensorrt(model: Path) -> None:
    stop = threading.Event()

    def cancel(event: BuildEvent) -> None:
        if event.stage == "build" and event.steps:
            stop.set()

    from trtc.engine.worker import run_job

    with pytest.raises(DiagnosticError) as caught:
        run_job(job(model), cancel, stop.is_set)
    assert caught.value.diagnostics[0].code == "T0805"
    assert not model.with_suffix(".plan").exists()


def test_a_full_disk_is_no_fault_of_trtc() -> None:
    import errno

    from trtc.engine.worker import internal

    found = internal(OSError(errno.ENOSPC, "No space left on device", "/x/engine"))
    assert (found.code, found.message, found.file) == ("T1120", "cannot write: No space left on device", "/x/engine")
    assert internal(OSError(errno.ENOENT, "No such file")).code == "T0800"


def test_a_terminated_compile_leaves_nothing(tmp_path: Path) -> None:
    import subprocess
    import sys

    text = '<ir_version: 10, opset_import: ["" : 23]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    command = [sys.executable, "-c", "import sys; from trtc.cli.app import main; sys.exit(main())"]
    with subprocess.Popen(
        [*command, "compile", "m.onnx", "-o", "out"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stderr is not None
        assert "loading" in child.stderr.readline()
        child.terminate()
        assert child.stderr.read().splitlines()[-1] == "cancelled"
    assert child.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]
