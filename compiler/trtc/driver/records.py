"""The manifest and the build record of one compile, from what its stages left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trtc
from trtc import deploy
from trtc.diagnostics import Remark, RemarkKind
from trtc.engine.job import BuildResult
from trtc.lang.spec import applied_rules

if TYPE_CHECKING:
    from trtc.driver.front import Prepared
    from trtc.lang.spec import Step
    from trtc.pipeline.runner import Outcome
    from trtc.verify.rungs import RungReport


#: Places of one rule that a manifest names; the build record has all.
_DECLINED = 20


def remarks_of(outcome: Outcome, result: BuildResult) -> tuple[Remark, ...]:
    """What the passes and the emission said, in that order."""
    emitted = tuple(
        Remark(RemarkKind(r["kind"]), str(r["source"]), str(r["message"]), r.get("node")) for r in result.remarks
    )
    return (*outcome.remarks, *emitted)


def rules_of(steps: Sequence[Step], outcome: Outcome) -> list[dict[str, Any]]:
    """The rules that were applied or declined somewhere: how often, where each stands, and where it was declined and
    why. No path of this machine: a file of the spec's own is named without its folder."""
    declined: dict[str, dict[tuple[str | None, str], None]] = {}
    for remark in outcome.remarks:
        if remark.kind is RemarkKind.DECLINED:
            declined.setdefault(remark.source, {})[remark.node, remark.message] = None
    found: list[dict[str, Any]] = []
    for rule in dict.fromkeys(applied_rules(steps)):
        name, span = rule.name.text, rule.name.span
        left = declined.get(name, {})
        if not outcome.applied[name] and not left:
            continue
        file = span.source.path if rule.library else Path(span.source.path).name
        entry: dict[str, Any] = {
            "rule": f"{rule.library}.{name}" if rule.library else name,
            "place": f"{file}:{span.line}:{span.column}",
            "applied": outcome.applied[name],
        }
        if left:
            entry["declined"] = [{"node": node, "reason": why} for node, why in list(left)[:_DECLINED]]
            if len(left) > _DECLINED:
                entry["declined_more"] = len(left) - _DECLINED
        found.append(entry)
    return found


def manifest_of(
    prepared: Prepared, outcome: Outcome, result: BuildResult, rungs: Sequence[RungReport], outputs: deploy.Outputs
) -> dict[str, Any]:
    """The manifest (see `deploy.manifest`): everything that is the same for the same compile."""
    spec = prepared.spec
    named = {"engine": outputs.engine, "onnx": outputs.onnx, "readback": outputs.readback}
    return deploy.manifest(
        version=trtc.__version__,
        model=spec.model,
        target={
            "name": result.target,
            "version": result.version,
            **({k: list(v) for k, v in spec.target.options.items()} if spec.target is not None else {}),
        },
        builder=spec.builder,
        profiles=[
            {"name": name, "dims": {d: list(t) for d, t in ds.items()}} for name, ds in prepared.profiles.items()
        ],
        pipeline=[record.to_json() for record in outcome.records],
        rules=rules_of(spec.pipeline, outcome),
        bindings=result.bindings,
        layers=result.layers,
        rungs=[{"rung": r.rung, "status": r.status, **({"reason": r.reason} if r.reason else {})} for r in rungs],
        files={kind: path.name for kind, path in named.items() if path is not None},
    )


def build_record(
    engine: Path,
    result: BuildResult,
    rungs: Sequence[RungReport],
    remarks: Sequence[Remark],
    seconds: Mapping[str, float],
) -> dict[str, Any]:
    """What is not the same twice, or too long for a manifest: times, sizes, measured errors, remarks, log."""
    return {
        "engine": {"bytes": result.plan_bytes, "sha256": deploy.sha256(engine)},
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "worker_peak_bytes": result.peak_bytes,
        "rungs": [report.to_json() for report in rungs],
        "remarks": [remark.to_json() for remark in remarks],
        "log": list(result.log),
    }
