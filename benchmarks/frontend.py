"""The front end beside its peers: from the file of a model to an emitted network, in seconds and in memory.

    python benchmarks/frontend.py MODEL.onnx [--runs 5] [--json OUT]

Compared in one run: trtc (load, standard pipeline, emission), NVIDIA's ONNX parser (its parse alone), and the Python
tools that clean up a model: OnnxSlim, onnxscript's optimizer, Polygraphy's constant folding (`surgeon sanitize
--fold-constants`); those that are not installed are left out by name. Each runs in a process of its own, in turn,
`--runs` times: the clock starts after its imports. Printed are medians, ratios to the parser, and the largest
anonymous memory above the level after the imports, as a multiple of the model's weights.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Seconds between two looks at the memory of a process.
_SAMPLE = 0.002


# ---- in the child: each prepares (imports) and gives what is timed


def trtc(model: Path) -> Callable[[], object]:
    from trtc import ir, targets
    from trtc.driver.front import prepare_module
    from trtc.engine.lower import lower

    target = targets.load("tensorrt_rtx")
    warm = ir.load_proto(_tiny())
    lower(prepare_module(warm).module, target)  # imports that happen inside functions
    return lambda: lower(prepare_module(ir.load(model)).module, target)


def parser(model: Path) -> Callable[[], object]:
    import tensorrt_rtx as trt

    logger = trt.Logger(trt.Logger.ERROR)

    def run() -> object:
        builder = trt.Builder(logger)
        network = builder.create_network(0)
        reader = trt.OnnxParser(network, logger)
        if not reader.parse_from_file(str(model)):
            raise RuntimeError(str(reader.get_error(0)))
        return builder, network, reader

    run()
    return run


def onnxslim(model: Path) -> Callable[[], object]:
    import onnxslim as slim

    slim.slim(_tiny())
    return lambda: slim.slim(str(model))


def onnxscript(model: Path) -> Callable[[], object]:
    import onnx_ir
    import onnxscript.optimizer as optimizer

    optimizer.optimize(onnx_ir.from_proto(_tiny()))

    def run() -> object:
        loaded = onnx_ir.load(model)
        optimizer.optimize(loaded)
        return loaded

    return run


def polygraphy(model: Path) -> Callable[[], object]:
    from polygraphy.backend.onnx import fold_constants, onnx_from_path
    from polygraphy.logger import G_LOGGER

    G_LOGGER.module_severity = G_LOGGER.ERROR
    fold_constants(_tiny())
    return lambda: fold_constants(onnx_from_path(str(model)))


TOOLS = {f.__name__: f for f in (trtc, parser, onnxslim, onnxscript, polygraphy)}


def _tiny() -> Any:
    import onnx.parser

    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,3,4,4] x) => (float[1,2,4,4] y) '
        f"<float[2,3,1,1] w = {{{','.join('1' * 6)}}}> {{ c = Conv(x, w) y = Relu(c) }}"
    )


def anonymous() -> int:
    """Bytes of memory of this process that no file backs."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this kernel does not report RssAnon")


def child(tool: str, model: Path) -> dict[str, float]:
    run = TOOLS[tool](model)
    before = anonymous()
    peak = before
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(_SAMPLE):
            peak = max(peak, anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    kept = run()
    seconds = time.perf_counter() - begin
    done.set()
    watcher.join()
    peak = max(peak, anonymous())
    del kept
    return {"seconds": seconds, "anonymous": peak - before}


# ---- in the parent


def measure(tool: str, model: Path) -> dict[str, float] | str:
    """One run in a new process; what it said where it could not."""
    command = [sys.executable, __file__, str(model), "--child", tool]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return (done.stderr.strip().splitlines() or ["no output"])[-1]
    return json.loads(lines[-1])


def weights(model: Path) -> int:
    """Bytes of the model's file and of its external data."""
    data = model.with_name(f"{model.name}.data")
    return model.stat().st_size + (data.stat().st_size if data.exists() else 0)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model", type=Path)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--json", type=Path)
    options.add_argument("--child", choices=list(TOOLS), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        print(json.dumps(child(given.child, given.model)))
        return 0
    size = weights(given.model)
    found: dict[str, Any] = {}
    for at in range(given.runs):
        for tool in TOOLS:
            if isinstance(found.get(tool), str):
                continue
            result = measure(tool, given.model)
            if isinstance(result, str):
                found[tool] = result
            else:
                found.setdefault(tool, []).append(result)
        print(f"run {at + 1} of {given.runs}", file=sys.stderr)
    medians = {
        tool: {key: statistics.median(run[key] for run in runs) for key in ("seconds", "anonymous")}
        for tool, runs in found.items()
        if not isinstance(runs, str)
    }
    base = medians["parser"]["seconds"] if "parser" in medians else float("nan")
    print(f"{given.model.name}: {size / 1e6:.0f} MB, median of {given.runs}")
    print(f"{'tool':<12} {'seconds':>8} {'x parser':>9} {'anonymous / weights':>20}")
    for tool in TOOLS:
        if tool in medians:
            one = medians[tool]
            ratio = f"{one['seconds'] / base:.2f}"
            print(f"{tool:<12} {one['seconds']:>8.3f} {ratio:>9} {one['anonymous'] / size:>20.2f}")
        else:
            print(f"{tool:<12} not measured: {found[tool]}")
    if given.json:
        given.json.write_text(json.dumps({"model": given.model.name, "bytes": size, "medians": medians}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
