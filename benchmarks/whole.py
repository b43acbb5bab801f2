"""A whole compile beside NVIDIA's parser and build: seconds, and the peak memory of all processes together.

    python benchmarks/whole.py MODEL.onnx|SPEC [--dim NAME=MIN..OPT..MAX …] [--runs 1]

Both build with TensorRT RTX for the same shapes. Memory is the largest sum of proportional set sizes (PSS: pages that
processes share are counted once) of the process and its children, looked at every 20 ms. The compile of trtc does
more: it optimizes, reads back and verifies; its peak is that of all its stages.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_SAMPLE = 0.02


def parser_and_build(model: Path, dims: dict[str, tuple[int, int, int]]) -> None:
    """What a script without trtc does, in this process."""
    import tensorrt_rtx as trt

    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    reader = trt.OnnxParser(network, logger)
    if not reader.parse_from_file(str(model)):
        raise SystemExit(str(reader.get_error(0)))
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    for at in range(network.num_inputs):
        tensor = network.get_input(at)
        names = [tensor.get_dimension_name(axis) for axis in range(len(tensor.shape))]
        if -1 in tuple(tensor.shape):
            shapes = [
                [dims[name][k] if size == -1 else size for name, size in zip(names, tensor.shape, strict=True)]
                for k in range(3)
            ]
            profile.set_shape(tensor.name, *shapes)
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise SystemExit("no engine")
    with tempfile.TemporaryFile() as file:
        file.write(memoryview(plan))


def tree(root: int) -> list[int]:
    """A process and all that descend from it."""
    found = [root]
    for pid in found:
        try:
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
        except OSError:
            continue
        for task in tasks:
            try:
                found += [int(child) for child in (task / "children").read_text().split()]
            except OSError:
                continue
    return found


def pss(pid: int) -> int:
    """Proportional set size in bytes; 0 for a process that has just ended."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def watch(command: list[str]) -> dict[str, float]:
    """Seconds and peak memory of a command and its children."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(pss(pid) for pid in tree(process.pid)))
        time.sleep(_SAMPLE)
    if process.returncode:
        assert process.stderr is not None
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}\n{process.stderr.read()}")
    return {"seconds": time.perf_counter() - begin, "peak": peak}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model", type=Path)
    options.add_argument("--dim", action="append", default=[], metavar="NAME=MIN..OPT..MAX")
    options.add_argument("--runs", type=int, default=1)
    options.add_argument("--child", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        parser_and_build(given.model, json.loads(given.child))
        return
    dims: dict[str, Any] = {}
    for text in given.dim:
        name, _, numbers = text.partition("=")
        dims[name] = [int(n) for n in numbers.split("..")]
    arguments = [word for text in given.dim for word in ("--dim", text)]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        ours = [sys.executable, "-m", "trtc", "compile", str(given.model), *arguments, "-o", folder]
        theirs = [sys.executable, __file__, str(given.model), "--child", json.dumps(dims)]
        commands = {
            "parser + build": theirs,
            "trtc": [*ours, "--target", "tensorrt_rtx"],
            "trtc --no-verify": [*ours, "--target", "tensorrt_rtx", "--no-verify"],
        }
        found: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
        for _ in range(given.runs):
            for name, command in commands.items():
                found[name].append(watch(command))
    base = statistics.median(run["peak"] for run in found["parser + build"])
    print(f"{'':<18} {'seconds':>8} {'peak MB':>8} {'ratio':>6}")
    for name, runs in found.items():
        peak = statistics.median(run["peak"] for run in runs)
        seconds = statistics.median(run["seconds"] for run in runs)
        print(f"{name:<18} {seconds:>8.1f} {peak / 1e6:>8.0f} {peak / base:>6.2f}")


if __name__ == "__main__":
    main()
