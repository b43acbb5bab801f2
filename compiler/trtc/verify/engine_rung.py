"""The engine rung: Polygraphy's `TrtRunner` in a child process, which chooses the TensorRT and survives a crash.

`python -m trtc.verify.engine_rung FOLDER` runs FOLDER/engine on FOLDER/feeds_K.npz and writes FOLDER/outputs_K.npz.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false, reportUntypedBaseClass=false

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trtc.child import environment, run_module
from trtc.targets import TARGETS
from trtc.targets.logger import logger
from trtc.targets.plugins import PluginCode, load_code, registry
from trtc.verify.arrays import read_npz, write_npz
from trtc.verify.interface import Interface
from trtc.verify.runners import PointRunner, cast_exact

#: Exit status of the child when the machine cannot run the engine at all (no GPU, another compute capability).
_CANNOT = 77
_SECONDS = 600


class CannotRun(Exception):
    """No GPU here loads this engine; the text says why."""


class EngineRunner(PointRunner):
    """An engine in a child process; Polygraphy's `TrtRunner` runs there. The profile is chosen by the shapes."""

    def __init__(
        self, plan: Path, target: str, points: Any, interface: Interface, code: PluginCode | None = None
    ) -> None:
        super().__init__(points, interface, "engine")
        self._plan = plan
        self._code = code
        self._target = target
        self._answers: list[dict[str, np.ndarray[Any, Any]]] = []

    def activate_impl(self) -> None:
        """Run every point. Raises CannotRun. A second activation runs nothing again."""
        if not self._answers:
            self._answers = run_engine(self._plan, self._target, self._points, self._code)

    def answer(self, point: int) -> Mapping[str, np.ndarray[Any, Any]]:
        return self._answers[point]

    def deactivate_impl(self) -> None:
        pass


def run_engine(
    plan: Path,
    target: str,
    points: Sequence[Mapping[str, np.ndarray[Any, Any]]],
    code: PluginCode | None = None,
) -> list[dict[str, np.ndarray[Any, Any]]]:
    """Outputs of an engine at every point, as the engine gives them (int32 where it has no int64).

    `code` is the code of the plugins in it, which the user allows to be loaded.

    Raises:
        CannotRun: no GPU here can run it.
        RuntimeError: it failed or died while running.
    """
    if not _driver():
        # Said at once: the child would import TensorRT for seconds to find out the same.
        raise CannotRun(f"no GPU on this machine loads an engine of {target} (there is no NVIDIA driver)")
    with tempfile.TemporaryDirectory(prefix="trtc-engine-") as name:
        folder = Path(name)
        (folder / "engine").symlink_to(plan.resolve())
        for at, point in enumerate(points):
            write_npz(folder / f"feeds_{at}.npz", point)
        job = {
            "module": TARGETS[target].module,
            "points": len(points),
            "code": (code or PluginCode()).to_json(),
        }
        (folder / "job.json").write_text(json.dumps(job))
        env = environment()
        if target == "tensorrt_rtx":
            env["POLYGRAPHY_USE_TENSORRT_RTX"] = "1"
        child = subprocess.run(
            run_module("trtc.verify.engine_rung", str(folder)),
            capture_output=True,
            text=True,
            env=env,
            timeout=_SECONDS,
            check=False,
        )
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        if child.returncode == _CANNOT:
            raise CannotRun(last)
        if child.returncode != 0:
            raise RuntimeError(f"the process that ran the engine ended with status {child.returncode}: {last}")
        return [read_npz(folder / f"outputs_{at}.npz") for at in range(len(points))]


def _driver() -> bool:
    """Whether the driver's library is there. Nothing of it is started in this process."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _child(folder: Path) -> int:
    job: dict[str, Any] = json.loads((folder / "job.json").read_text())
    import importlib

    trt: Any = importlib.import_module(job["module"])
    try:
        log = logger(trt)
        registry(trt, log)
        load_code(trt, log, PluginCode.from_json(job["code"]))
        runtime = trt.Runtime(log)
        engine = runtime.deserialize_cuda_engine((folder / "engine").read_bytes())
    except Exception as error:
        print(f"this machine cannot run it: {error}", file=sys.stderr)
        return _CANNOT
    if engine is None:
        print(f"no GPU on this machine loads an engine of {job['module']} {trt.__version__}", file=sys.stderr)
        return _CANNOT
    from polygraphy.backend.trt import TrtRunner
    from polygraphy.logger import G_LOGGER

    G_LOGGER.module_severity = G_LOGGER.ERROR
    with TrtRunner(engine) as runner:
        for at in range(job["points"]):
            wanted = runner.get_input_metadata()
            feeds = {n: a for n, a in read_npz(folder / f"feeds_{at}.npz").items() if n in wanted}
            _choose_profile(runner, engine, feeds)
            feeds = {n: cast_exact(n, a, np.dtype(_numpy(wanted[n].dtype))) for n, a in feeds.items()}
            outputs = runner.infer(feeds)
            write_npz(folder / f"outputs_{at}.npz", {n: np.asarray(a) for n, a in outputs.items()})
    return 0


def _numpy(dtype: Any) -> Any:
    """A numpy dtype from Polygraphy's DataType (or from a numpy dtype, which older versions hand out)."""
    convert = getattr(type(dtype), "to_dtype", None)
    return convert(dtype, "numpy") if convert is not None else dtype


def _choose_profile(runner: Any, engine: Any, feeds: Mapping[str, np.ndarray[Any, Any]]) -> None:
    for index in range(engine.num_optimization_profiles):
        for name, array in feeds.items():
            low, _, high = engine.get_tensor_profile_shape(name, index)
            if not all(a <= b <= c for a, b, c in zip(low, array.shape, high, strict=True)):
                break
        else:
            runner.set_profile(index)
            return


if __name__ == "__main__":
    sys.exit(_child(Path(sys.argv[1])))
