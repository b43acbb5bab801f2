"""Ten times the nodes: seconds of every stage at 1,000 and at 10,000 nodes, and the ratio.

python benchmarks/scale.py [--small 1000] [--large 10000]
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from trtc import ir, targets
from trtc.driver.library import registry
from trtc.engine.lower import lower
from trtc.evaluate import Evaluator
from trtc.ir.infer import infer_all
from trtc.lang.spec import PassCall
from trtc.pipeline import Context
from trtc.pipeline.runner import run


def model(nodes: int) -> onnx.ModelProto:
    """Residual blocks of 1x1 Conv, BatchNormalization, Relu, Identity, Add and a constant that folds: 8 nodes each."""
    random = np.random.Generator(np.random.PCG64(1))
    made: list[onnx.NodeProto] = []
    weights = [
        numpy_helper.from_array(random.standard_normal((8, 8, 1, 1)).astype(np.float32), "w"),
        *(numpy_helper.from_array(np.ones(8, np.float32), name) for name in ("s", "b", "m", "v")),
        numpy_helper.from_array(np.float32(0.5), "half"),
    ]
    x = "x"
    for at in range(nodes // 8):
        n = f"b{at}"
        made += [
            helper.make_node("Conv", [x, "w"], [f"{n}c"], kernel_shape=[1, 1]),
            helper.make_node("BatchNormalization", [f"{n}c", "s", "b", "m", "v"], [f"{n}n"]),
            helper.make_node("Relu", [f"{n}n"], [f"{n}r"]),
            helper.make_node("Identity", [f"{n}r"], [f"{n}i"]),
            helper.make_node("Add", ["half", "half"], [f"{n}k"]),
            helper.make_node("Mul", [f"{n}i", f"{n}k"], [f"{n}m"]),
            helper.make_node("Add", [f"{n}m", x], [f"{n}y"]),
            helper.make_node("Sigmoid", [f"{n}y"], [f"{n}z"]),
        ]
        x = f"{n}z"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        made, "g", [info("x", TensorProto.FLOAT, ["N", 8, 4, 4])], [info(x, TensorProto.FLOAT, None)], weights
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def stages(nodes: int, folder: Path) -> dict[str, float]:
    """Seconds by stage."""
    path = folder / f"{nodes}.onnx"
    onnx.save(model(nodes), path)
    found: dict[str, float] = {}

    def timed(name: str, begin: float) -> None:
        found[name] = time.perf_counter() - begin

    begin = time.perf_counter()
    module = ir.load(path)
    timed("load", begin)
    begin = time.perf_counter()
    infer_all(module)
    timed("infer", begin)
    for name in registry():
        fresh = ir.load(path)
        infer_all(fresh)
        step = PassCall(name, {})
        begin = time.perf_counter()
        run(fresh, [step], registry(), Context(Evaluator()))
        timed(name, begin)
    begin = time.perf_counter()
    ir.verify(module)
    timed("verify the IR", begin)
    begin = time.perf_counter()
    ir.save(module, folder / "saved.onnx")
    timed("save", begin)
    begin = time.perf_counter()
    lowered = lower(module, targets.load("tensorrt_rtx"))
    timed("emit", begin)
    begin = time.perf_counter()
    lowered.read()
    timed("read back", begin)
    return found


def best(sizes: tuple[int, ...], runs: int, folder: Path) -> list[dict[str, float]]:
    """The least seconds of every stage over some runs, by size: what other processes add is not the stage's.

    The sizes take turns, so that a slow minute of the machine is not one size's alone.
    """
    found = [[stages(nodes, folder) for nodes in sizes] for _ in range(runs)]
    return [
        {name: min(stage[name] for stage in of_size) for name in of_size[0]} for of_size in zip(*found, strict=True)
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--small", type=int, default=1000)
    options.add_argument("--large", type=int, default=10_000)
    options.add_argument("--runs", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        stages(80, Path(name))  # imports
        small, large = best((given.small, given.large), given.runs, Path(name))
    print(f"{'stage':<18} {given.small:>8,} {given.large:>8,}   ratio")
    for stage in small:
        print(f"{stage:<18} {small[stage]:>8.4f} {large[stage]:>8.3f} {large[stage] / small[stage]:>7.1f}")


if __name__ == "__main__":
    main()
