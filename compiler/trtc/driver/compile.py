"""`compile`: each arrow of the way of the data is one call here."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtc import deploy, targets
from trtc.diagnostics import Diagnostic, DiagnosticError, Remark, suggest
from trtc.driver.front import Prepared, optimize, prepare
from trtc.driver.library import registry
from trtc.driver.spec import Triple, outputs_of, spec_for
from trtc.engine.job import BuildEvent, BuildJob, BuildResult
from trtc.lang.spec import Spec

if TYPE_CHECKING:
    from trtc.pipeline.runner import Instrument, Outcome
    from trtc.verify.rungs import RungReport

#: Told what is going on: stage (load, optimize, emit, readback, build, verify), detail, step, steps.
Progress = Callable[[BuildEvent], None]


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What a compile made and found.

    `engine`, `onnx`, `readback`, `manifest` are paths of files (None: not written). `rungs` are the reports of the
    verification, `remarks` what passes and emission did and declined, `seconds` wall time by stage.
    """

    engine: Path
    manifest: Path
    onnx: Path | None
    readback: Path | None
    target: str
    version: str
    rungs: tuple[RungReport, ...]
    pipeline: tuple[Mapping[str, Any], ...]
    remarks: tuple[Remark, ...]
    warnings: tuple[Diagnostic, ...]
    layers: tuple[Mapping[str, Any], ...]
    bindings: tuple[Mapping[str, Any], ...]
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def verified(self) -> bool:
        """Whether at least one rung ran and none failed."""
        return any(r.status == "passed" for r in self.rungs) and all(r.status != "failed" for r in self.rungs)

    @property
    def table(self) -> str:
        """The verification as a table of text."""
        from trtc.verify.table import table

        return table(self.rungs)

    def to_json(self) -> dict[str, Any]:
        return {
            "engine": str(self.engine),
            "manifest": str(self.manifest),
            "onnx": str(self.onnx) if self.onnx else None,
            "readback": str(self.readback) if self.readback else None,
            "target": {"name": self.target, "version": self.version},
            "verified": [r.rung for r in self.rungs if r.status == "passed"],
            "rungs": [r.to_json() for r in self.rungs],
            "pipeline": list(self.pipeline),
            "remarks": [r.to_json() for r in self.remarks],
            "warnings": [w.to_json() for w in self.warnings],
            "bindings": list(self.bindings),
            "layers": len(self.layers),
            "seconds": dict(self.seconds),
        }


def compile(
    path: str | Path,
    *,
    set: Mapping[str, object] | None = None,
    dim: Mapping[str, str | int | Triple] | None = None,
    target: str | None = None,
    output: str | Path | None = None,
    verify: bool = True,
    input: str | Path | Mapping[str, Any] | None = None,
    dump_after: str | None = None,
    allow_code: bool = False,
    progress: Progress | None = None,
    isolate: bool = True,
) -> CompileResult:
    """Compile a `.trtspec` or a bare ONNX model to a verified engine; the arguments are those of `trtc compile`.

    `input` may also be a dict of arrays by name.

    `isolate=False` runs TensorRT in this process: it starts faster and takes the process along when it crashes.

    Raises:
        DiagnosticError: whatever the user, the model or the machine is at fault for.
        KeyboardInterrupt: the build was cancelled; nothing was written.
    """
    from trtc.engine.supervisor import LocalWorker, Worker

    spec = spec_for(path, set=set, dim=dim, target=target)
    _fail_early(spec, verify)
    outputs = outputs_of(spec, Path(output) if output is not None else None)
    with ExitStack() as stack:
        work = stack.enter_context(deploy.WorkFolder(outputs))
        # Before the model: it imports TensorRT while the model is loaded here.
        worker = stack.enter_context(Worker() if isolate else LocalWorker())
        run = _Run(spec, outputs, work, worker, progress or (lambda _event: None))
        return run.all(verify=verify, input=input, dump_after=dump_after, allow_code=allow_code)


def _fail_early(spec: Spec, verify: bool) -> None:
    """What can be known before anything heavy is imported: no target, no model file, no GPU for a required rung."""
    from trtc.ir.source import open_model

    if spec.target is not None:
        targets.require_installed(spec.target.name)
    open_model(spec.model).close()
    if verify and "engine" in spec.verify.require and not targets.has_gpu():
        raise DiagnosticError(
            Diagnostic(
                "T0902",
                "the required rung `engine` cannot run here: there is no NVIDIA GPU",
                span=spec.verify.span,
                help="run on a machine that has one, or leave the rung out of `verify { require = … }`",
            )
        )


def _known_pass(name: str) -> None:
    """Raises DiagnosticError T1004 for a name that `--dump-after` could never meet."""
    if name != "all" and name not in registry():
        close = suggest(name, registry())
        raise DiagnosticError(
            Diagnostic(
                "T1004",
                f"there is no pass `{name}` to dump after",
                help=f"did you mean `{close}`?" if close else "`trtc passes` lists them; `all` stands for every one",
            )
        )


class _Run:
    """One compile: the stages in order, each timed."""

    def __init__(
        self, spec: Spec, outputs: deploy.Outputs, work: deploy.WorkFolder, worker: Any, progress: Progress
    ) -> None:
        self.spec = spec
        self.outputs = outputs
        self.work = work
        self.worker = worker
        self.progress = progress
        self.seconds: dict[str, float] = {}
        self.reference = spec.model
        self.code = targets.PluginCode()

    def stage(self, name: str, work: Callable[[], Any], detail: str = "") -> Any:
        self.progress(BuildEvent(name, detail))
        begin = time.perf_counter()
        try:
            return work()
        finally:
            self.seconds[name] = time.perf_counter() - begin

    def all(
        self, *, verify: bool, input: str | Path | Mapping[str, Any] | None, dump_after: str | None, allow_code: bool
    ) -> CompileResult:
        from trtc import ir
        from trtc.ir.mapped import release

        prepared: Prepared = self.stage("load", lambda: prepare(self.spec), self.spec.model.name)
        points = self.points(prepared, input, allow_code) if verify else []
        if prepared.adopted and verify:
            # Nothing runs the file as it is: what its plugins mean is what everything is compared with.
            self.reference = self.work.path / "reference.onnx"
            ir.save(prepared.module, self.reference)
        if allow_code and self.spec.plugins:
            from trtc.rewrite.plugins import code_of

            self.code = code_of(self.spec.plugins, self.spec.path.parent)
        instruments: list[Instrument] = []
        if dump_after is not None:
            from trtc.dump.snapshots import Snapshots

            _known_pass(dump_after)

            instruments.append(Snapshots(self.outputs.engine.parent / f"{self.outputs.engine.stem}.dumps", dump_after))
        outcome: Outcome = self.stage("optimize", lambda: optimize(prepared, instruments, allow_code=allow_code))
        optimized = self.work.path / "optimized.onnx"
        self.stage("save", lambda: ir.save(prepared.module, optimized))
        job = self.job(prepared, optimized)
        release(prepared.module)
        del prepared.module  # the graph is on disk now; new weights would lie here beside the worker's
        result: BuildResult = self.stage("worker", lambda: self.build(job))
        self.worker.close()  # TensorRT gives its memory back only with the process, and verification wants some
        self.seconds.update({f"worker {k}": v for k, v in result.seconds.items()})
        rungs = self.verify(prepared, points, result) if verify else self.not_verified()
        return self.publish(prepared, outcome, result, rungs)

    def points(self, prepared: Prepared, input: str | Path | Mapping[str, Any] | None, allow_code: bool) -> list[Any]:
        from trtc.engine.profiles import environments
        from trtc.lang.spec import Random
        from trtc.verify import file_points, random_points
        from trtc.verify.inputs import array_points, require_covered

        if isinstance(input, Mapping):
            points = array_points(prepared.module, input)
            require_covered(prepared.module, points, prepared.profiles)
            return points
        given = self.spec.verify.inputs if input is None else Path(input)
        if given is None or isinstance(given, Random):
            seed = given.seed if given is not None else 0
            return random_points(prepared.module, environments(prepared.profiles), seed)
        points = file_points(prepared.module, given, allow_code=allow_code)
        require_covered(prepared.module, points, prepared.profiles)
        return points

    def job(self, prepared: Prepared, optimized: Path) -> BuildJob:
        from trtc.engine.profiles import profiles_of

        target = self.spec.target
        return BuildJob(
            model=str(optimized),
            target=target.name if target is not None else None,
            compute=tuple(target.options.get("compute", ())) if target is not None else (),
            symbols=dict(prepared.module.symbols),
            profiles=profiles_of(prepared.module, prepared.profiles, self.spec.path.name),
            builder=dict(self.spec.builder),
            plan=str(self.work.path / "engine"),
            readback=str(self.work.path / "readback.onnx"),
            code=self.code,
        )

    def build(self, job: BuildJob) -> BuildResult:
        try:
            return self.worker.run(job, self.progress)
        except DiagnosticError as error:
            # The worker knows the file that it was handed, which is gone when the message is read.
            raise DiagnosticError.of(
                replace(d, file=str(self.spec.model)) if d.file == job.model else d for d in error.diagnostics
            ) from error

    def verify(self, prepared: Prepared, points: list[Any], result: BuildResult) -> tuple[RungReport, ...]:
        return self.stage("verify", lambda: self._verify(prepared, points, result))

    def _verify(self, prepared: Prepared, points: list[Any], result: BuildResult) -> tuple[RungReport, ...]:
        from trtc.verify import Tolerance, Verification, failure
        from trtc.verify.evidence import write_evidence
        from trtc.verify.rungs import engine_rung

        tolerances = {name: Tolerance(t.rtol, t.atol, t.cosine) for name, t in self.spec.verify.outputs.items()}
        proof = Verification(
            self.reference,
            prepared.interface,
            points,
            prepared.frozen,
            tolerances,
            lambda rung, point: self.progress(BuildEvent("verify", f"{rung}: {point}")),
        )
        proof.prepare()
        reports = [
            proof.model("graph", self.work.path / "optimized.onnx"),
            proof.model("network", self.work.path / "readback.onnx"),
            engine_rung(proof, self.work.path / "engine", result.target, self.code),
        ]
        error = failure(reports, self.spec.verify.require, self.outputs.failed)
        if error is not None:
            if any(report.status == "failed" for report in reports):
                write_evidence(self.work.path, proof, reports)
                self.work.keep()
            raise error
        return tuple(reports)

    def not_verified(self) -> tuple[RungReport, ...]:
        from trtc.verify.rungs import RUNGS, RungReport

        return tuple(RungReport(rung, "not run", "--no-verify") for rung in RUNGS)

    def publish(
        self, prepared: Prepared, outcome: Outcome, result: BuildResult, rungs: Sequence[RungReport]
    ) -> CompileResult:
        from trtc.driver.records import build_record, manifest_of, remarks_of

        outputs = self.outputs
        remarks = remarks_of(outcome, result)
        deploy.write_json(self.work.path / "manifest.json", manifest_of(prepared, outcome, result, rungs, outputs))
        deploy.write_json(
            self.work.path / "build.json",
            build_record(self.work.path / "engine", result, rungs, remarks, self.seconds),
        )
        files = [("manifest.json", outputs.manifest), ("build.json", outputs.build)]
        if outputs.onnx is not None:
            files.append(("optimized.onnx", outputs.onnx))
        if outputs.readback is not None:
            files.append(("readback.onnx", outputs.readback))
        self.work.publish([*files, ("engine", outputs.engine)])
        return CompileResult(
            engine=outputs.engine,
            manifest=outputs.manifest,
            onnx=outputs.onnx,
            readback=outputs.readback,
            target=result.target,
            version=result.version,
            rungs=tuple(rungs),
            pipeline=tuple(record.to_json() for record in outcome.records),
            remarks=remarks,
            warnings=tuple(outcome.warnings),
            layers=result.layers,
            bindings=result.bindings,
            seconds=dict(self.seconds),
        )
