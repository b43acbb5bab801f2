"""Compile a folder of models one after another and say what became of each: a line per model, JSON on request.

    python benchmarks/zoo.py DIR [--only REGEX] [--json OUT] [--no-build] [--timeout SECONDS]

DIR holds `NAME.onnx`, each with a `NAME.json` that says how to feed it: `inputs`, a list of
`{name, dtype, gen, trace_shape, alt_shape}`. The two shapes give every symbolic dim its range. `gen` is the kind of
data: models whose inputs need particular values (`const:K`, or what trtc cannot draw) get a file with the data, all
others trtc's own random data. A model that cannot be built is tried once more with its `const:K` scalars frozen.

Each model is compiled in a process of its own, so that memory is measured for it alone and a crash ends only it.
Outcomes: `verified`, `declined CODE reason`, `WRONG` (T0901: a rung does not hold), `CRASH` (a fault of trtc or the
death of a process), `TIMEOUT`. `--no-build` stops before TensorRT builds the engine; emission, read-back and the
rungs graph and network stay. The exit status is 1 when a model is WRONG or crashes.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Range = tuple[int, int, int]

#: What a fault of trtc itself and the death of a worker are called.
_CRASHES = ("T0800", "T0801")


# ---- in the child


def ranges(card: Mapping[str, Any], shapes: Mapping[str, Sequence[object]]) -> dict[str, Range]:
    """min, opt and max of each symbolic dim: what its two shapes say. `shapes` are the model's own, numbers or names.

    Where a dim is the sum of two others in both shapes (`total = past + seq`), it stays their sum.
    """
    first: dict[str, int] = {}
    second: dict[str, int] = {}
    for one in card["inputs"]:
        for dim, a, b in zip(shapes.get(one["name"], ()), one["trace_shape"], one["alt_shape"], strict=False):
            if isinstance(dim, str):
                first.setdefault(dim, a)
                second.setdefault(dim, b)
    low = {d: min(first[d], second[d]) for d in first}
    high = {d: max(first[d], second[d]) for d in first}
    for total in first:
        for a in first:
            for b in first:
                if len({a, b, total}) == 3 and all(w[total] == w[a] + w[b] for w in (first, second)):
                    low[total], high[total] = low[a] + low[b], high[a] + high[b]
    return {d: (low[d], min(max(first[d], low[d]), high[d]), high[d]) for d in first}


def arrays(card: Mapping[str, Any]) -> dict[str, Any]:
    """Data as the card asks for it, at the second shape."""
    import numpy as np

    generator = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for one in card["inputs"]:
        kind, _, number = str(one["gen"]).partition(":")
        shape = one["alt_shape"]
        if kind == "normal":
            drawn = generator.standard_normal(shape)
        elif kind == "uniform":
            drawn = generator.random(shape)
        elif kind == "int":
            drawn = generator.integers(0, int(number), shape)
        else:
            drawn = np.full(shape, float({"ones": 1, "zeros": 0}.get(kind, number or 0)))
        found[one["name"]] = np.asarray(drawn).astype(one["dtype"])
    return found


def scalars(card: Mapping[str, Any]) -> dict[str, str]:
    """The inputs that are one particular number, and the number."""
    found: dict[str, str] = {}
    for one in card["inputs"]:
        kind, _, number = str(one["gen"]).partition(":")
        if kind == "const" and not one["alt_shape"]:
            found[one["name"]] = number
    return found


def _one(model: Path, build: bool) -> dict[str, Any]:
    """Compile one model; everything that is known of it, whatever happens."""
    from trtc.diagnostics import DiagnosticError
    from trtc.ir import dims, load

    card = json.loads(model.with_suffix(".json").read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    begin = time.perf_counter()
    marks: list[tuple[str, float]] = []
    frozen = scalars(card)
    with tempfile.TemporaryDirectory(prefix="trtc-zoo-") as folder:
        try:
            module = load(model)
            shapes = {
                v.name or "": [d if isinstance(d, int) else dims.text(d) for d in module.shape(v) or ()]
                for v in module.graph.inputs
            }
            found["nodes before"] = sum(1 for _ in module.nodes())
            # The model below is loaded again, by trtc itself: its time and memory are what is measured.
            del module
            dim = ranges(card, shapes)
            found["dims"] = dim
            data = Path(folder) / "inputs.npz" if any(i["gen"].startswith("const") for i in card["inputs"]) else None
            begin = time.perf_counter()
            try:
                found |= _compile(model, Path(folder), dim, data, card, build, marks)
            except DiagnosticError as error:
                codes = {d.code for d in error.diagnostics}
                if "T0571" in codes and data is None:
                    marks.clear()
                    found |= _compile(model, Path(folder), dim, Path(folder) / "inputs.npz", card, build, marks)
                elif codes & {"T0701", "T0580"} and frozen:
                    marks.clear()
                    spec = Path(folder) / f"{model.stem}.trtspec"
                    lines = [f'input "{name}" = {number}' for name, number in frozen.items()]
                    spec.write_text(
                        "\n".join(["trtspec 1", f'model "{model.absolute()}"', *lines, ""]), encoding="utf-8"
                    )
                    found |= _compile(spec, Path(folder), dim, None, card, build, marks)
                    found["frozen"] = sorted(frozen)
                else:
                    raise
            found["outcome"] = "verified"
        except DiagnosticError as error:
            first = error.diagnostics[0]
            found["outcome"] = "WRONG" if first.code == "T0901" else "CRASH" if first.code in _CRASHES else "declined"
            found["code"] = first.code
            found["reason"] = first.message
            found["notes"] = [n for d in error.diagnostics for n in d.notes]
            found["data"] = {k: v for k, v in first.data.items() if k == "traceback"}
    found["total"] = time.perf_counter() - begin
    if "seconds" not in found:
        ends = [at for _, at in marks[1:]] + [time.perf_counter()]
        spent: dict[str, float] = {}
        for (stage, at), end in zip(marks, ends, strict=True):
            spent[stage] = spent.get(stage, 0.0) + end - at
        found["seconds"] = spent
    found["parent peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found["worker peak"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return found


def _compile(
    model: Path,
    folder: Path,
    dim: Mapping[str, Range],
    data: Path | None,
    card: Mapping[str, Any],
    build: bool,
    marks: list[tuple[str, float]],
) -> dict[str, Any]:
    from trtc.driver import compile

    if data is not None:
        import numpy as np

        np.savez(data, **arrays(card))

    def progress(event: Any) -> None:
        if not marks or marks[-1][0] != event.stage:
            marks.append((event.stage, time.perf_counter()))

    if not build:
        return _without_engine(model, folder, dim, data, progress)
    result = compile(model, dim=dim, output=folder, input=data, progress=progress)
    return {
        "nodes after": result.pipeline[-1]["nodes_after"],
        "layers": len(result.layers),
        "rungs": {r.rung: r.status for r in result.rungs},
        "seconds": dict(result.seconds),
    }


def _without_engine(
    model: Path, folder: Path, dim: Mapping[str, Range], data: Path | None, progress: Any
) -> dict[str, Any]:
    """The stages of `trtc compile` up to the read-back, and the two rungs that need no engine."""
    from trtc import ir
    from trtc.driver.front import optimize, prepare
    from trtc.driver.spec import spec_for
    from trtc.engine.job import BuildEvent, BuildJob
    from trtc.engine.profiles import environments, profiles_of
    from trtc.engine.supervisor import Worker
    from trtc.verify import Verification, failure, file_points, random_points

    optimized, readback = folder / "optimized.onnx", folder / "readback.onnx"
    seconds: dict[str, float] = {}

    def stage(name: str, work: Any) -> Any:
        progress(BuildEvent(name))
        begin = time.perf_counter()
        made = work()
        seconds[name] = time.perf_counter() - begin
        return made

    with Worker() as worker:
        prepared = stage("load", lambda: prepare(spec_for(model, dim=dim)))
        if data is None:
            points = random_points(prepared.module, environments(prepared.profiles), 0)
        else:
            points = file_points(prepared.module, data, allow_code=False)
        outcome = stage("optimize", lambda: optimize(prepared))
        stage("save", lambda: ir.save(prepared.module, optimized))
        job = BuildJob(
            model=str(optimized),
            target=None,
            symbols=dict(prepared.module.symbols),
            profiles=profiles_of(prepared.module, prepared.profiles, model.name),
            readback=str(readback),
        )
        result = stage("build", lambda: worker.run(job, progress))
    seconds |= {f"worker {k}": v for k, v in result.seconds.items()}
    proof = Verification(
        prepared.spec.model, prepared.interface, points, prepared.frozen, {}, lambda _rung, _point: None
    )

    def verify() -> Any:
        proof.prepare()
        return [proof.model("graph", optimized), proof.model("network", readback)]

    reports = stage("verify", verify)
    error = failure(reports, prepared.spec.verify.require, folder / "failed")
    if error is not None:
        raise error
    return {
        "nodes after": outcome.records[-1].to_json()["nodes_after"],
        "layers": len(result.layers),
        "rungs": {r.rung: r.status for r in reports},
        "seconds": seconds,
    }


# ---- in the parent


def line(name: str, found: Mapping[str, Any]) -> str:
    """What is known of a model, on one line."""
    outcome = found["outcome"]
    if outcome != "verified" and found.get("reason"):
        outcome = f"{outcome} {found.get('code', '')} {found['reason']}".strip()
        notes = found.get("notes") or ()
        if notes:
            outcome += " | " + " | ".join(n.split("\n")[0] for n in notes[:3])
    elif outcome == "verified":
        outcome += " " + " ".join(k for k, status in found["rungs"].items() if status == "passed")
        outcome += "".join(f" ({name} frozen)" for name in found.get("frozen", ()))
    spent = " ".join(f"{k.replace('worker ', 'w.')} {v:.1f}" for k, v in found.get("seconds", {}).items() if v >= 0.05)
    memory = "/".join(f"{found[k] / 2**20:,.0f}" for k in ("parent peak", "worker peak") if k in found)
    counts = f"{found.get('nodes before', '-')}>{found.get('nodes after', '-')} nodes {found.get('layers', '-')} layers"
    return f"{name:<32} {outcome} [{counts}; {found.get('total', 0):.1f} s: {spent}; {memory} MiB]"


def run_one(model: Path, build: bool, timeout: float) -> dict[str, Any]:
    """Compile one model in a process of its own."""
    command = [sys.executable, __file__, "--child", str(model), *([] if build else ["--no-build"])]
    begin = time.perf_counter()
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"outcome": "TIMEOUT", "reason": f"after {timeout:.0f} s", "total": time.perf_counter() - begin}
    last = ended.stdout.strip().splitlines()[-1:]
    if ended.returncode or not last:
        said = ended.stderr.strip().splitlines()[-1:] or [f"exit status {ended.returncode}"]
        return {
            "outcome": "CRASH",
            "reason": said[0],
            "total": time.perf_counter() - begin,
            "data": {"traceback": ended.stderr[-4000:]},
        }
    return json.loads(last[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--only", metavar="REGEX", help="only the models whose name matches")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything that was found")
    parser.add_argument("--no-build", action="store_true", help="stop before the engine is built")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="for one model (600)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_one(options.folder, not options.no_build)))
        return 0
    models = [p for p in options.folder.glob("*.onnx") if p.with_suffix(".json").is_file()]
    if options.only:
        models = [p for p in models if re.search(options.only, p.stem)]
    results: dict[str, Any] = {}
    for model in sorted(models, key=lambda p: (p.stat().st_size, p.name)):
        found = results[model.stem] = run_one(model, not options.no_build, options.timeout)
        print(line(model.stem, found), flush=True)
        if options.json:
            options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    counts = Counter(found["outcome"] for found in results.values())
    print(", ".join(f"{n} {outcome}" for outcome, n in counts.most_common()) or "no models")
    return 1 if counts["WRONG"] + counts["CRASH"] else 0


if __name__ == "__main__":
    sys.exit(main())
