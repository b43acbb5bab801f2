"""The rungs of the proof: each compares a product of the compiler with the original model."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.targets.plugins import PluginCode
from trtc.verify.comparison import Comparison, compare
from trtc.verify.inputs import Point
from trtc.verify.tolerance import Tolerance, default_tolerance

RUNGS = ("graph", "network", "engine")


@dataclass(frozen=True, slots=True)
class RungReport:
    """`status` is `passed`, `failed` or `not run`; `points` holds (label, comparisons) of every run.

    `disputes` of a failed rung says where only one of two references is contradicted, if that is all.
    """

    rung: str
    status: str
    reason: str = ""
    points: tuple[tuple[str, tuple[Comparison, ...]], ...] = ()
    disputes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "rung": self.rung,
            "status": self.status,
            **({"reason": self.reason} if self.reason else {}),
            **({"disputes": list(self.disputes)} if self.disputes else {}),
            "points": [
                {"point": label, "outputs": [c.to_json() for c in comparisons]} for label, comparisons in self.points
            ],
        }


@dataclass(slots=True)
class Verification:
    """Runs the original model once per point, then any number of candidates against it, through Polygraphy."""

    reference: Path
    interface: Any
    points: Sequence[Point]
    frozen: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values of inputs that the spec froze: the original model still wants them."""
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict[str, Tolerance])
    on_event: Callable[[str, str], None] = field(default=lambda _rung, _point: None)
    _outputs: Any = None
    _by_reference: bool = False

    def prepare(self) -> None:
        """Run the original model.

        Raises:
            DiagnosticError: T0903 neither ONNX Runtime nor the reference of the onnx package runs it.
        """
        from trtc.verify.runners import OrtRunner, ReferenceRunner

        try:
            self._outputs = self._run(OrtRunner(self.reference, self.feeds(), self.interface, "original"))
            return
        except Exception as error:
            first = error
        try:
            self._outputs = self._run(ReferenceRunner(self.reference, self.feeds(), self.interface, "original"))
            self._by_reference = True
        except Exception as second:
            raise DiagnosticError(
                Diagnostic(
                    "T0903",
                    "the original model cannot be run, so there is nothing to compare with",
                    file=str(self.reference),
                    notes=(f"ONNX Runtime: {_first_line(first)}", f"onnx reference: {_first_line(second)}"),
                    help="give inputs that the model accepts with `--input FILE.npz`, or compile with `--no-verify` "
                    "and prove the engine elsewhere",
                )
            ) from second

    @property
    def reference_outputs(self) -> list[dict[str, np.ndarray[Any, Any]]]:
        """Outputs of the original model by point."""
        return [dict(result.items()) for result in self._outputs[1]] if self._outputs is not None else []

    def model(self, rung: str, candidate: Path) -> RungReport:
        """Compare an ONNX model (the optimized graph, the network read back) with the original."""
        from trtc.verify.runners import OrtRunner, ReferenceRunner

        runner = OrtRunner(candidate, self.feeds(), self.interface, rung)
        if not self._by_reference:
            return self.check(rung, runner)
        try:
            results = self._run(runner)
        except Exception:
            # ONNX Runtime did not run the original either: what it refuses there may stand here as well.
            return self.check(rung, ReferenceRunner(candidate, self.feeds(), self.interface, rung))
        return self._compare(rung, results)

    def check(self, rung: str, runner: Any) -> RungReport:
        """Compare what any Polygraphy runner answers with the original."""
        try:
            results = self._run(runner)
        except Exception as error:
            return RungReport(rung, "failed", f"it does not run: {_first_line(error)}")
        return self._compare(rung, results)

    def feeds(self) -> list[dict[str, np.ndarray[Any, Any]]]:
        """The arrays of every point, those of frozen inputs included."""
        frozen = {k: np.asarray(v, dtype=self.interface.inputs[k]) for k, v in self.frozen.items()}
        return [{**{k: np.asarray(v) for k, v in point.feeds.items()}, **frozen} for point in self.points]

    def _run(self, runner: Any) -> Any:
        from polygraphy.comparator import Comparator
        from polygraphy.logger import G_LOGGER

        from trtc.verify.runners import POINT

        def numbers() -> Any:
            for at, point in enumerate(self.points):
                self.on_event(runner.name, point.label)
                yield {POINT: np.array([at], dtype=np.int64)}

        with G_LOGGER.verbosity(G_LOGGER.CRITICAL):
            results: Any = Comparator.run([runner], data_loader=numbers())
        return results[0]

    def _compare(self, rung: str, results: Any) -> RungReport:
        from polygraphy.comparator import Comparator, RunResults
        from polygraphy.logger import G_LOGGER

        found: list[tuple[Comparison, ...]] = []

        def judge(candidate: Any, reference: Any) -> OrderedDict[str, Comparison]:
            verdict: OrderedDict[str, Comparison] = OrderedDict()
            for name in self.interface.outputs:
                right = np.asarray(reference[name])
                verdict[name] = self._one(rung, name, right, np.asarray(candidate[name]))
            found.append(tuple(verdict.values()))
            return verdict

        runs = RunResults([results, self._outputs])
        # Polygraphy takes means of the values, which may be infinite.
        with G_LOGGER.verbosity(G_LOGGER.CRITICAL), np.errstate(all="ignore"):
            accurate = bool(Comparator.compare_accuracy(runs, compare_func=judge))
        if len(found) != len(self.points):
            return RungReport(rung, "failed", f"{len(found)} of {len(self.points)} points were compared")
        points = tuple((point.label, comparisons) for point, comparisons in zip(self.points, found, strict=True))
        bad = next(((label, c) for label, cs in points for c in cs if not c.passed), None)
        if bad is None and not accurate:
            return RungReport(rung, "failed", "Polygraphy's Comparator found a difference", points)
        if bad is None:
            return RungReport(rung, "passed", points=points)
        label, comparison = bad
        reason = f"output `{comparison.output}` at {label}: {comparison.reason}"
        return RungReport(rung, "failed", reason, points, self._disputes(rung, results, points))

    def _one(self, rung: str, name: str, right: Any, candidate: Any) -> Comparison:
        tolerance = self.tolerances.get(name) or default_tolerance(_precision(rung, right.dtype))
        return compare(name, right, candidate, tolerance)

    def _disputes(self, rung: str, results: Any, points: Any) -> tuple[str, ...]:
        from trtc.verify.dispute import disputes

        if self._by_reference:
            return ()
        failed = [(at, c) for at, (_, comparisons) in enumerate(points) for c in comparisons if not c.passed]
        return disputes(
            self, failed, lambda at: results[1][at], lambda name, right, left: self._one(rung, name, right, left)
        )


def _precision(rung: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The precision that a rung computes in: no TensorRT has float64, so below the graph it is float32."""
    return np.dtype(np.float32) if rung != "graph" and dtype == np.float64 else dtype


def engine_rung(proof: Verification, plan: Path, target: str, code: PluginCode | None = None) -> RungReport:
    """Run the engine in a child process; `not run` where no GPU here can load it. `code`: of the plugins in it."""
    from trtc.verify.engine_rung import CannotRun, EngineRunner

    runner = EngineRunner(plan, target, proof.feeds(), proof.interface, code)
    try:
        runner.activate_impl()
    except CannotRun as error:
        return RungReport("engine", "not run", str(error))
    except Exception as error:
        return RungReport("engine", "failed", f"it does not run: {_first_line(error)}")
    return proof.check("engine", runner)


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return next((line for line in text.splitlines() if line.strip()), text)[:400]


def failure(reports: Sequence[RungReport], required: Sequence[str], kept: Path | None) -> DiagnosticError | None:
    """What a compile ends in: T0901 for each rung that does not hold (T0904: by one of two references), T0902 for a
    required one that did not run."""
    problems: list[Diagnostic] = []
    for report in reports:
        if report.disputes:
            problems.append(_disputed(report))
        elif report.status == "failed":
            notes = tuple(
                f"{label}: `{c.output}`: {c.reason}" for label, cs in report.points for c in cs if not c.passed
            )
            problems.append(
                Diagnostic(
                    "T0901",
                    f"the {_NAMES[report.rung]} does not compute what the original model computes",
                    notes=(*notes[:5], *((f"and {len(notes) - 5} more",) if len(notes) > 5 else ()))
                    if notes
                    else (report.reason,),
                    help=(f"models, inputs and outputs are kept in {kept}; " if kept is not None else "")
                    + _HINTS[report.rung],
                )
            )
        elif report.status == "not run" and report.rung in required:
            problems.append(
                Diagnostic(
                    "T0902",
                    f"the required rung `{report.rung}` cannot run here: {report.reason}",
                    help="run on a machine that can, or leave the rung out of `verify { require = … }`",
                )
            )
    return DiagnosticError.of(problems) if problems else None


def _disputed(report: RungReport) -> Diagnostic:
    more = len(report.disputes) - 5
    return Diagnostic(
        "T0904",
        f"the references disagree: the {_NAMES[report.rung]} computes what onnx's own evaluator does with the original "
        "model, and ONNX Runtime computes something else",
        notes=(*report.disputes[:5], *((f"and {more} more",) if more > 0 else ())),
        help="ONNX Runtime computes half precision in float32 and rounds less often than the model says: keep what "
        "overflows or cancels in float32, or compile with `--no-verify` and judge by the task",
    )


_NAMES = {"graph": "optimized graph", "network": "TensorRT network", "engine": "engine"}
_HINTS = {
    "graph": "compile with `--dump-after all` to find the pass that broke it",
    "network": "the optimized graph is compared first: when it holds, the fault is in emission",
    "engine": "when the network holds, the fault is in the build: try `tf32 = false`, a lower `optimization_level`, "
    "or a tolerance that fits the precision",
}
