"""Runs onnx's own suite through trtc: load, canonical form, inference, passes, emission, read-back, values.

    python tests/conformance/runner.py [--only REGEX] [--dims static|named|free] [--jobs 2] [--timeout 60] [--json FILE]
        [--update] [-v]

Outcomes: right (every output by name, dtype, shape and value), frozen (right once the inputs that are parameters are
constants), random (one draw of a generator: dtype and shape only), disputed (data against the operator's own text;
as ONNX Runtime has it), declined (a diagnostic), and three that are faults: wrong, crash, hang. Each worker is a
process of its own, so a crash costs one case.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import onnx
from judge import Outcome, Verdict, judge
from suite import Case, Dims, cases

RIGHT = Path(__file__).with_name("right.txt")
FAULTS: tuple[Outcome, ...] = ("wrong", "crash", "hang")
_PIN = "# onnx "


class _Worker:
    """A forked process that judges the cases whose names it is sent."""

    def __init__(self, suite: Mapping[str, Case], dims: Dims) -> None:
        context = multiprocessing.get_context("fork")  # the cases are in memory, and cost seconds to make
        self.pipe, child = context.Pipe()
        self.process = context.Process(target=_serve, args=(suite, dims, child), daemon=True)
        self.process.start()
        child.close()
        self.case: Case | None = None
        self.deadline = 0.0

    def send(self, case: Case, timeout: float) -> None:
        self.case, self.deadline = case, time.monotonic() + timeout
        self.pipe.send(case.name)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(suite: Mapping[str, Case], dims: Dims, pipe: Connection) -> None:
    import faulthandler
    import warnings

    faulthandler.disable()  # pytest turns it on; what it prints of a crash belongs to nobody
    warnings.simplefilter("ignore")
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # native code writes there
        os.dup2(quiet, stream)
    while True:
        try:
            name = pipe.recv()
        except EOFError:
            return
        pipe.send(judge(suite[name], dims))


def run(
    suite: Mapping[str, Case],
    names: Iterable[str],
    jobs: int = 2,
    timeout: float = 60.0,
    first: float = 60.0,
    dims: Dims = "static",
) -> Iterator[Verdict]:
    """A verdict for each name, as they come. `first` is what the first case of a worker may take longer (imports)."""
    waiting = deque(names)
    workers: list[_Worker] = []
    try:
        while waiting or any(w.case for w in workers):
            while waiting and len(workers) < jobs:
                workers.append(_Worker(suite, dims))
                workers[-1].send(suite[waiting.popleft()], timeout + first)
            for worker in workers:
                if worker.case is None and waiting:
                    worker.send(suite[waiting.popleft()], timeout)
            busy = [w for w in workers if w.case]
            soonest = min(w.deadline for w in busy) - time.monotonic()
            ready = wait([w.pipe for w in busy], max(0.0, soonest))
            for worker in busy:
                case = worker.case
                assert case is not None
                if worker.pipe in ready:
                    try:
                        verdict = worker.pipe.recv()
                        worker.case = None
                    except EOFError:
                        worker.process.join()
                        code = worker.process.exitcode or 0
                        text = f"signal {-code}" if code < 0 else f"exit status {code}"
                        verdict = Verdict(case.name, case.kind, "crash", "crash", text)
                        worker.kill()
                        workers.remove(worker)
                    yield verdict
                elif time.monotonic() >= worker.deadline:
                    worker.kill()
                    workers.remove(worker)
                    yield Verdict(case.name, case.kind, "hang", "hang", f"no answer in {timeout:.0f} s")
    finally:
        for worker in workers:
            worker.kill()


def read_right(path: Path = RIGHT) -> tuple[str, dict[str, Outcome]]:
    """The onnx version that the file is for, and the cases that were right with it: name to right or frozen."""
    version, found = "", dict[str, Outcome]()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        if line.startswith(_PIN):
            version = line.removeprefix(_PIN).strip()
        elif line and not line.startswith("#"):
            name, _, mark = line.partition(" ")
            found[name] = "frozen" if mark == "frozen" else "right"
    return version, found


def write_right(verdicts: Iterable[Verdict], path: Path = RIGHT) -> int:
    """Add what is right now; nothing is ever removed. Returns the number of lines that were added or raised."""
    version, known = read_right(path)
    if version and version != onnx.__version__:
        raise SystemExit(f"{path.name} is for onnx {version}, installed is {onnx.__version__}")
    before = dict(known)
    for verdict in verdicts:
        if verdict.outcome == "right" or (verdict.outcome == "frozen" and verdict.name not in known):
            known[verdict.name] = verdict.outcome
    lines = [f"{_PIN}{onnx.__version__}"]
    lines += [name if mark == "right" else f"{name} frozen" for name, mark in sorted(known.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return sum(before.get(name) != mark for name, mark in known.items())


def lost(known: Mapping[str, Outcome], verdicts: Iterable[Verdict]) -> list[Verdict]:
    """What was right and is not: a case that is right without freezing is also right with it."""
    good = {"right": ("right",), "frozen": ("right", "frozen")}
    return [v for v in verdicts if v.name in known and v.outcome not in good[known[v.name]]]


def reason(verdict: Verdict) -> str:
    """The text with what is particular to one case taken out, to group by."""
    text = re.sub(r"'[^']*'", "'…'", verdict.text)
    return re.sub(r"\d+", "#", text)[:160]


def report(verdicts: list[Verdict], verbose: bool) -> str:
    """Counts, the declined by code and reason, and every fault."""
    counts = Counter(v.outcome for v in verdicts)
    lines = [f"{len(verdicts)} cases: " + ", ".join(f"{counts[o]} {o}" for o in Outcome.__args__)]
    declined = defaultdict[tuple[str, str], list[str]](list)
    for verdict in verdicts:
        if verdict.outcome == "declined":
            declined[verdict.code, reason(verdict)].append(verdict.name)
    lines.append("\ndeclined:")
    for (code, text), names in sorted(declined.items(), key=lambda item: (-len(item[1]), item[0])):
        shown = names if verbose else names[:3]
        lines.append(
            f"{len(names):5} {code} {text}\n            {' '.join(shown)}{' …' if len(shown) < len(names) else ''}"
        )
    for outcome in FAULTS:
        for verdict in verdicts:
            if verdict.outcome == outcome:
                lines.append(f"{outcome}: {verdict.name}: {verdict.code}: {verdict.text}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="onnx's suite through trtc")
    parser.add_argument("--only", type=re.compile, default=None, help="names that match this regular expression")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one case")
    parser.add_argument("--dims", choices=Dims.__args__, default="static", help="named, free: sizes are symbols")
    parser.add_argument("--json", type=Path, help="write all verdicts there")
    parser.add_argument("--update", action="store_true", help="add what is right to right.txt")
    parser.add_argument("-v", "--verbose", action="store_true", help="all names, and each verdict as it comes")
    options = parser.parse_args(arguments)
    suite = cases()
    names = [name for name in suite if options.only is None or options.only.search(name)]
    begin = time.monotonic()
    verdicts: list[Verdict] = []
    for verdict in run(suite, names, options.jobs, options.timeout, dims=options.dims):
        verdicts.append(verdict)
        if options.verbose:
            print(
                f"{verdict.outcome:9}{verdict.seconds:7.2f} s  {verdict.name}  {verdict.code} {verdict.text}",
                flush=True,
            )
    verdicts.sort(key=lambda v: v.name)
    print(report(verdicts, options.verbose))
    print(f"\n{time.monotonic() - begin:.0f} s with onnx {onnx.__version__}")
    gone = lost(read_right()[1], verdicts) if options.dims == "static" else []
    for verdict in gone:
        print(f"no longer right: {verdict.name}: {verdict.outcome} {verdict.code} {verdict.text}")
    if options.json:
        data: list[dict[str, Any]] = [v.to_json() for v in verdicts]
        options.json.write_text(json.dumps({"onnx": onnx.__version__, "cases": data}, indent=1), encoding="utf-8")
    if options.update and options.dims == "static":
        print(f"{write_right(verdicts)} lines of {RIGHT.name} added or raised")
    return 1 if gone or any(v.outcome in FAULTS for v in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
