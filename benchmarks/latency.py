"""Latency of the engine that trtc makes beside that of NVIDIA's parser, at equal settings, interleaved.

    python benchmarks/latency.py MODEL.onnx|SPEC.trtspec … [--example bert] [--dim NAME=N|MIN..OPT..MAX …]
        [--variant NAME=LIBRARY+LIBRARY … …] [--fp16] [--level 2] [--rounds 20] [--launches 50] [--json FILE] [--dry]

One engine comes from NVIDIA's ONNX parser, one from each variant: the standard pipeline, then the rules of the named
libraries, in order. A spec has its own pipeline instead. Everything else is the same: builder settings (TF32 off),
profiles, the sizes of fixed dims; no timing cache is shared. Each engine is built in a process of its own.

A round times every engine once (a CUDA graph, launched `--launches` times between two events), and the next round
begins with another one. `ratio` is the median over rounds of the quotient of both times in a round; its interval holds
95 % of such medians over rounds drawn anew. `error` is the largest difference from ONNX Runtime in float32, as a part
of the largest value of that output; `rungs` says what trtc's verification finds (without --fp16).

--plans DIR keeps the engines and takes again what lies there; --dry stops before the build and needs no GPU.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import dataclasses
import json
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cuda_runtime
import numpy as np

from trtc import lang, targets
from trtc.diagnostics import DiagnosticError
from trtc.driver.front import Prepared, optimize, prepare
from trtc.driver.library import vocabulary
from trtc.driver.spec import spec_for
from trtc.engine.job import BuildJob, Profile
from trtc.engine.profiles import profiles_of
from trtc.lang.spec import Spec

PARSER = "parser"
STANDARD = "standard"
EXAMPLES = ("bert", "resnet50")
_WARM_SECONDS = 1.0
_DRAWS = 10_000


@dataclasses.dataclass(frozen=True)
class Work:
    """One engine to build, or to stop short of: what a child process is told. `variant` None is NVIDIA's parser."""

    name: str
    model: str
    variant: str | None
    dims: tuple[str, ...]
    target: str
    level: int
    workspace: int
    fp16: bool
    profiles: Any
    plan: str | None
    folder: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Work:
        return cls(**{**data, "dims": tuple(data["dims"])})

    def of(self) -> list[Any]:
        """What an engine that was kept must have been made of."""
        return [self.variant, list(self.dims), self.target, self.workspace]

    def job(self, module: Any = None) -> BuildJob:
        text = {"model": "", "target": self.target, "profiles": self.profiles}
        profiles = BuildJob.from_json({**text, "compute": (), "symbols": {}, "code": _NO_CODE}).profiles
        settings: dict[str, Any] = {"optimization_level": self.level}
        if self.workspace:
            settings["workspace"] = self.workspace
        symbols = dict(module.symbols) if module is not None else {}
        return BuildJob("", self.target, symbols=symbols, profiles=profiles, builder=settings, plan=self.plan)


_NO_CODE = {"libraries": (), "classes": (), "folders": ()}


class Half:
    """A builder whose configurations have the flag FP16 of weakly typed networks."""

    def __init__(self, builder: Any, trt: Any) -> None:
        self._builder, self._trt = builder, trt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._builder, name)

    def create_builder_config(self) -> Any:
        config = self._builder.create_builder_config()
        config.set_flag(self._trt.BuilderFlag.FP16)
        return config


# ---- in the parent and in the children


def spec_of(model: str, variant: str | None, dims: Sequence[str]) -> Spec:
    """A spec as it stands, or that of a bare model with the pipeline of a variant."""
    given = dict(text.split("=", 1) for text in dims)
    spec = spec_for(model, dim=given)
    if Path(model).suffix == ".trtspec" or not variant:
        return spec
    steps = "".join(f"apply({name})\n" if "." in name else f"{name}()\n" for name in variant.split("+") if name)
    text = f'trtspec 1\nmodel "m.onnx"\npipeline {{\n{steps}cse()\ndce()\n}}\n'
    return dataclasses.replace(spec, pipeline=lang.loads(text, Path("variant.trtspec"), vocabulary()).pipeline)


def static_file(prepared: Prepared, folder: Path) -> Path:
    """The model for NVIDIA's parser: dims of inputs that the spec gives one number have it in the file too."""
    import onnx

    model = Path(prepared.spec.model)
    shapes = {value.name: prepared.module.shape(value) or () for value in prepared.module.graph.inputs}
    proto = onnx.load(str(model))
    fixed = False
    for value in proto.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False):
            if isinstance(size, int) and not dim.HasField("dim_value"):
                dim.dim_value = size
                fixed = True
    if not fixed:
        return model
    path = folder / "static.onnx"
    onnx.save(proto, str(path))
    return path


# ---- a child: one engine


def child(work: Work) -> dict[str, Any]:
    """Build one engine (with a plan), or make its network (without). The network is that of the parser or of trtc."""
    from trtc.engine.build import build

    target = targets.choose(work.target)
    # Plugins of the file, or of a rewrite, are found by either.
    targets_plugins(target)
    job = work.job()
    said = target.logger.mark()
    found: dict[str, Any] = {"version": target.version}
    held: Any
    if work.variant is None:
        builder = target.builder()
        network = target.network(builder)
        held = target.module.OnnxParser(network, target.logger)
        if not held.parse_from_file(work.model):
            raise SystemExit("; ".join(held.get_error(at).desc() for at in range(held.num_errors)))
    else:
        builder, network, held, job = lowered(work, target, found)
    found["network"] = dict(
        Counter(str(network.get_layer(at).type).rpartition(".")[2] for at in range(network.num_layers))
    )
    if work.plan is not None:
        begin = time.perf_counter()
        maker = Half(builder, target.module) if work.fp16 else builder
        build(maker, network, target, job, lambda _event: None, lambda: False)
        found["build_s"] = time.perf_counter() - begin
    found["log"] = [message.text for message in target.logger.since(said)][:40]
    del held
    return found


def targets_plugins(target: targets.Target) -> None:
    from trtc.targets.plugins import registry

    registry(target.module, target.logger)


def lowered(work: Work, target: targets.Target, found: dict[str, Any]) -> tuple[Any, Any, Any, BuildJob]:
    """The network of trtc, and what has to live until it is built. `optimized.onnx` and `readback.onnx` are kept."""
    from trtc import ir
    from trtc.engine.lower import lower

    begin = time.perf_counter()
    prepared = prepare(spec_of(work.model, work.variant, work.dims))
    outcome = optimize(prepared)
    found["pipeline"] = [record.to_json() for record in outcome.records]
    found["optimize_s"] = time.perf_counter() - begin
    folder = Path(work.folder)
    ir.save(prepared.module, folder / "optimized.onnx")
    made = lower(prepared.module, target)
    ir.save(made.read(), folder / "readback.onnx")
    found["nodes"] = dict(Counter(node.op_type for node in prepared.module.nodes()))
    return made.builder, made.network, (made, prepared), work.job(prepared.module)


def start(work: Work, timeout: float) -> dict[str, Any]:
    """Run a child; what it found, or {"failed": why}."""
    folder = Path(work.folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "work.json").write_text(json.dumps(dataclasses.asdict(work)))
    command = [sys.executable, __file__, "--child", str(folder)]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"not built within {timeout:.0f} s"}
    if process.returncode:
        lines = (process.stderr or process.stdout).strip().splitlines()
        return {"failed": "\n    ".join(lines[-8:]) or f"status {process.returncode}"}
    return json.loads((folder / "found.json").read_text())


# ---- the parent: engines on the GPU


class Running:
    """An engine with its inputs on the GPU and one captured graph."""

    def __init__(self, plan: Path, target: targets.Target, feeds: Mapping[str, np.ndarray]) -> None:
        trt = target.module
        targets_plugins(target)
        self._runtime = trt.Runtime(target.logger)
        self._engine = self._runtime.deserialize_cuda_engine(plan.read_bytes())
        if self._engine is None:
            raise RuntimeError(f"{plan.name} does not load: {'; '.join(target.logger.errors()[-3:])}")
        self._context = self._engine.create_execution_context()
        self._stream = cuda_runtime.Stream()
        self._inputs: dict[str, cuda_runtime.Buffer] = {}
        self._outputs: dict[str, tuple[cuda_runtime.Buffer, np.ndarray]] = {}
        names = [self._engine.get_tensor_name(at) for at in range(self._engine.num_io_tensors)]
        inputs = [name for name in names if self._engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        for name in inputs:
            array = feeds[name].astype(_numpy(self._engine.get_tensor_dtype(name)))
            self._context.set_input_shape(name, array.shape)
            self._inputs[name] = cuda_runtime.Buffer(array)
            self._inputs[name].write(array)
            self._context.set_tensor_address(name, self._inputs[name].address)
        for name in names:
            if name in inputs:
                continue
            shape = tuple(self._context.get_tensor_shape(name))
            if any(size < 0 for size in shape):
                raise RuntimeError(f"the size of the output `{name}` depends on data; such engines are not timed")
            like = np.empty(shape, _numpy(self._engine.get_tensor_dtype(name)))
            self._outputs[name] = (cuda_runtime.Buffer(like), like)
            self._context.set_tensor_address(name, self._outputs[name][0].address)
        self._enqueue()
        self._stream.synchronize()
        self._graph = self._stream.capture(self._enqueue)

    def _enqueue(self) -> None:
        if not self._context.execute_async_v3(self._stream.handle):
            raise RuntimeError("TensorRT did not run the engine")

    @property
    def layers(self) -> int:
        return int(self._engine.num_layers)

    def answer(self) -> dict[str, np.ndarray]:
        """The outputs of a launch of the graph, into memory that held no number before."""
        for buffer, _ in self._outputs.values():
            buffer.poison()
        self._stream.launch(self._graph)
        self._stream.synchronize()
        return {name: buffer.read(like) for name, (buffer, like) in self._outputs.items()}

    def milliseconds(self, launches: int) -> float:
        return self._stream.milliseconds(self._graph, launches)


def _numpy(dtype: Any) -> np.dtype[Any]:
    names = {"FLOAT": "float32", "HALF": "float16", "INT32": "int32", "INT64": "int64", "INT8": "int8"}
    names |= {"BOOL": "bool", "UINT8": "uint8"}
    return np.dtype(names[str(dtype).rpartition(".")[2]])


def errors(right: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]) -> dict[str, float]:
    """For each output the largest difference as a part of the largest value; infinity where a number is missing."""
    made: dict[str, float] = {}
    for name, wanted in right.items():
        have = found[name].astype(np.float64).reshape(wanted.shape)
        scale = float(np.abs(wanted.astype(np.float64)).max(initial=0.0)) or 1.0
        off = float(np.abs(have - wanted.astype(np.float64)).max(initial=0.0)) / scale
        made[name] = off if np.isfinite(off) else float("inf")
    return made


def interleaved(engines: Mapping[str, Running], rounds: int, launches: int) -> dict[str, list[float]]:
    """Milliseconds of every engine in every round; the clocks are warm, and each round begins with another engine."""
    names = list(engines)
    until = time.perf_counter() + _WARM_SECONDS * len(names)
    while time.perf_counter() < until:
        for name in names:
            engines[name].milliseconds(launches)
    found: dict[str, list[float]] = {name: [0.0] * rounds for name in names}
    for at in range(rounds):
        first = at % len(names)
        for name in names[first:] + names[:first]:
            found[name][at] = engines[name].milliseconds(launches)
    return found


def ratio(times: Sequence[float], base: Sequence[float]) -> tuple[float, float, float]:
    """The median quotient over rounds, and both ends of its interval of 95 %."""
    quotients = np.asarray(times) / np.asarray(base)
    random = np.random.default_rng(0)
    drawn = np.median(random.choice(quotients, (_DRAWS, len(quotients))), axis=1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(np.median(quotients)), float(low), float(high)


def rungs(prepared: Prepared, feeds: Mapping[str, np.ndarray], folder: Path, plan: Path, target: str) -> dict[str, str]:
    """trtc's verification of an engine: the status of every rung."""
    from trtc.verify import Tolerance, Verification
    from trtc.verify.inputs import Point
    from trtc.verify.rungs import engine_rung

    wanted = prepared.spec.verify.outputs
    tolerances = {name: Tolerance(t.rtol, t.atol, t.cosine) for name, t in wanted.items()}
    points = [Point("measured", feeds)]
    proof = Verification(Path(prepared.spec.model), prepared.interface, points, prepared.frozen, tolerances)
    proof.prepare()
    reports = [
        proof.model("graph", folder / "optimized.onnx"),
        proof.model("network", folder / "readback.onnx"),
        engine_rung(proof, plan, target, targets.PluginCode()),
    ]
    return {report.rung: report.status + (f": {report.reason}" if report.reason else "") for report in reports}


def gpu() -> str:
    """The GPU, its driver and its clocks now, as nvidia-smi says."""
    if shutil.which("nvidia-smi") is None:
        return ""
    query = "--query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw"
    command = ["nvidia-smi", query, "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


class Measurement:
    """One model: engines, their outputs, their latency."""

    def __init__(self, model: Path, given: argparse.Namespace, folder: Path) -> None:
        from trtc.verify.inputs import random_points

        self.model, self.given, self.folder = model, given, folder
        folder.mkdir(parents=True, exist_ok=True)
        whole = model.suffix == ".trtspec"
        self.variants: dict[str, str] = {"spec": ""} if whole else dict(v.split("=", 1) for v in given.variant)
        self.prepared = prepare(spec_of(str(model), None, given.dim))
        # Of several profiles the first: others are for other sizes.
        numbers = dict(list(self.prepared.profiles.items())[:1])
        self.profiles = profiles_of(self.prepared.module, numbers, model.name)
        point = {name: triple[1] for triples in numbers.values() for name, triple in triples.items()}
        self.feeds = dict(random_points(self.prepared.module, [("measured", point)], given.seed)[0].feeds)
        self.rows: dict[str, dict[str, Any]] = {}

    def work(self, name: str, variant: str | None, model: Path) -> Work:
        given = self.given
        folder = self.folder / name
        plans = given.plans or self.folder
        precision = "fp16" if given.fp16 else "fp32"
        plan = plans / f"{self.model.stem}.{precision}.{given.level}.{name}.engine"
        return Work(
            name,
            str(model.absolute()),
            variant,
            tuple(given.dim),
            given.target,
            given.level,
            given.workspace << 30,
            given.fp16,
            [dataclasses.asdict(Profile(p.name, p.shapes, p.values)) for p in self.profiles],
            None if given.dry else str(plan),
            str(folder),
        )

    def build(self) -> list[Work]:
        """Every engine that could be built; what failed says so in its row."""
        wanted = [self.work(PARSER, None, static_file(self.prepared, self.folder))]
        wanted += [self.work(name, variant, self.model) for name, variant in self.variants.items()]
        with ThreadPoolExecutor(self.given.jobs) as pool:
            for work, found in zip(wanted, pool.map(self.one, wanted), strict=True):
                self.rows[work.name] = found
        return [work for work in wanted if "failed" not in self.rows[work.name]]

    def one(self, work: Work) -> dict[str, Any]:
        kept = Path(work.plan).with_suffix(".json") if work.plan is not None else None
        if kept is not None and kept.exists():
            found = json.loads(kept.read_text())
            if found["of"] == work.of():
                shutil.copytree(found["folder"], work.folder, dirs_exist_ok=True)
                return {**found, "kept": True}
        print(f"  {work.name} …", file=sys.stderr, flush=True)
        begin = time.perf_counter()
        found = start(work, self.given.timeout)
        found["seconds"] = time.perf_counter() - begin
        if kept is not None and self.given.plans and "failed" not in found:
            beside = Path(str(work.plan)).with_suffix(".files")
            shutil.copytree(work.folder, beside, dirs_exist_ok=True)
            kept.write_text(json.dumps({**found, "of": work.of(), "folder": str(beside)}))
        return found

    def measure(self, built: Sequence[Work]) -> None:
        from trtc.evaluate import run_session, session

        target = targets.load(self.given.target)
        frozen = {k: np.asarray(v, dtype=self.prepared.interface.inputs[k]) for k, v in self.prepared.frozen.items()}
        right = run_session(session(Path(self.prepared.spec.model)), {**self.feeds, **frozen})
        engines: dict[str, Running] = {}
        for work in built:
            row = self.rows[work.name]
            plan = Path(str(work.plan))
            try:
                engines[work.name] = running = Running(plan, target, {**self.feeds, **frozen})
                row["errors"] = errors(right, running.answer())
                row["layers"] = running.layers
                row["plan_mb"] = plan.stat().st_size / 1e6
            except (RuntimeError, KeyError) as error:
                row["failed"] = str(error)
                engines.pop(work.name, None)
        times = interleaved(engines, self.given.rounds, self.given.launches)
        for name, milliseconds in times.items():
            row = self.rows[name]
            row["rounds_ms"] = milliseconds
            row["ms"] = float(np.median(milliseconds))
            if PARSER in times:
                row["ratio"], row["low"], row["high"] = ratio(milliseconds, times[PARSER])
        del engines
        for work in built:
            if work.variant is not None and not self.given.fp16 and not self.given.no_rungs:
                found = rungs(self.prepared, self.feeds, Path(work.folder), Path(str(work.plan)), self.given.target)
                self.rows[work.name]["rungs"] = found

    def table(self) -> str:
        precision = "FP16" if self.given.fp16 else "FP32"
        shapes = ", ".join(f"{name}{list(array.shape)}" for name, array in self.feeds.items())
        head = f"{self.model.stem}, {precision}, level {self.given.level}: {shapes}"
        lines = [head, f"  {'':<12} {'build s':>8} {'layers':>6} {'MB':>7} {'error':>8} {'ms':>8} {'ratio':>6}  95 %"]
        for name, row in self.rows.items():
            if "failed" in row:
                lines.append(f"  {name:<12} {row['failed']}")
            elif "ms" in row:
                worst = max(row["errors"].values(), default=0.0)
                quotient = f"{row['ratio']:>6.3f}  {row['low']:.3f}..{row['high']:.3f}" if "ratio" in row else ""
                lines.append(
                    f"  {name:<12} {row['build_s']:>8.1f} {row['layers']:>6} {row['plan_mb']:>7.1f} {worst:>8.1e} "
                    f"{row['ms']:>8.4f} {quotient}"
                )
                lines += [f"  {'':<12} {rung}: {status}" for rung, status in row.get("rungs", {}).items()]
            else:
                counts = ", ".join(f"{count} {kind.lower()}" for kind, count in sorted(row["network"].items()))
                lines.append(f"  {name:<12} {sum(row['network'].values())} layers: {counts}")
                for step in row.get("pipeline", ()):
                    counts = step.get("counts")
                    if counts:
                        lines.append(f"  {'':<12} {step.get('name', step.get('pass', '?'))}: {counts}")
        return "\n".join(lines)


def example(name: str, folder: Path) -> Path:
    """The model of an example, at its full size."""
    import onnx

    place = Path(__file__).parents[1] / "examples" / name / "make_model.py"
    path = folder / f"{name}.onnx"
    onnx.save(runpy.run_path(str(place))["make_model"](), str(path))
    return path


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("models", nargs="*", type=Path, metavar="MODEL|SPEC")
    options.add_argument("--example", action="append", default=[], choices=EXAMPLES)
    options.add_argument("--dim", action="append", default=[], metavar="NAME=N|MIN..OPT..MAX")
    options.add_argument("--variant", action="append", default=[], metavar="NAME=LIBRARY+…", help=f"trtc={STANDARD}")
    options.add_argument("--target", default="tensorrt", choices=list(targets.TARGETS))
    options.add_argument("--fp16", action="store_true", help="the flag FP16 of TensorRT 8.6 and 10, for both")
    options.add_argument("--level", type=int, default=2, help="optimization level")
    options.add_argument("--workspace", type=int, default=0, metavar="GIB", help="TensorRT's own limit without")
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--launches", type=int, default=50)
    options.add_argument("--jobs", type=int, default=1, help="builds at a time; more than one disturb each other")
    options.add_argument("--timeout", type=float, default=900, help="seconds of one build")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--plans", type=Path, help="keep engines here, and take again what is here")
    options.add_argument("--no-rungs", action="store_true", help="leave out trtc's verification")
    options.add_argument("--json", type=Path)
    options.add_argument("--dry", action="store_true", help="make the networks, build nothing")
    options.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    given.variant = given.variant or [f"trtc={STANDARD}"]
    if given.plans:
        given.plans = given.plans.absolute()
        given.plans.mkdir(parents=True, exist_ok=True)
    return given


def measured(given: argparse.Namespace) -> None:
    """Every model in turn: its table printed, the report written after each."""
    report: dict[str, Any] = {"gpu": gpu(), "settings": {k: str(v) for k, v in vars(given).items()}, "models": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model in [*(example(one, folder) for one in given.example), *given.models]:
            measurement = Measurement(model, given, folder / f"{model.stem}.work")
            built = measurement.build()
            if not given.dry and built:
                measurement.measure(built)
            print(measurement.table(), flush=True)
            report["models"][model.stem] = measurement.rows
            report["gpu_after"] = gpu()
            if given.json:
                given.json.write_text(json.dumps(report, indent=1))


def main() -> None:
    given = arguments()
    try:
        if given.child is not None:
            work = Work.from_json(json.loads((given.child / "work.json").read_text()))
            (given.child / "found.json").write_text(json.dumps(child(work)))
            return
        if not given.dry:
            cuda_runtime.require()
        measured(given)
    except DiagnosticError as error:
        raise SystemExit(str(error)) from None
    except cuda_runtime.NoCuda as error:
        raise SystemExit(f"{error}; --dry needs none") from None


if __name__ == "__main__":
    main()
