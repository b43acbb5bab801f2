"""The whole standard library of rules over large graphs: seconds of CPU at two sizes, and the ratio.

    python benchmarks/rewriting.py [--small 10000] [--large 100000] [--rules]

The graph is made of decomposed transformer layers (LayerNorm, GELU, attention, projections) and convolution blocks
(Conv, BatchNormalization, SiLU, a residual), as exporters write them. `--rules` prints the costliest rules.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from trtc import ir
from trtc.driver.library import libraries, rules_of
from trtc.evaluate import Evaluator
from trtc.ir.infer import infer_all
from trtc.lang.rules import Rule
from trtc.pipeline import Context
from trtc.rewrite.engine import apply

HEADS, WIDTH, INNER = 2, 8, 16


class Writer:
    """Nodes of one graph; weights are shared, so that the file is small whatever the number of nodes."""

    def __init__(self) -> None:
        random = np.random.Generator(np.random.PCG64(1))
        self.nodes: list[onnx.NodeProto] = []
        self.weights = {
            "w": random.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 4,
            "w1": random.standard_normal((WIDTH, INNER)).astype(np.float32) / 4,
            "w2": random.standard_normal((INNER, WIDTH)).astype(np.float32) / 4,
            "b": random.standard_normal(WIDTH).astype(np.float32),
            "b1": random.standard_normal(INNER).astype(np.float32),
            "g": np.ones(WIDTH, np.float32),
            "k": random.standard_normal((WIDTH, WIDTH, 1, 1)).astype(np.float32) / 4,
            "mean": np.zeros(WIDTH, np.float32),
            "eps": np.float32(1e-5),
            "two": np.float32(2),
            "root": np.float32(2**0.5),
            "one": np.float32(1),
            "half": np.float32(0.5),
            "scale": np.float32(2),
            "split": np.asarray([0, 0, HEADS, WIDTH // HEADS], np.int64),
            "join": np.asarray([0, 0, WIDTH], np.int64),
            "last": np.asarray([-1], np.int64),
        }

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"n{len(self.nodes)}", **attributes))
        return name

    def norm(self, x: str) -> str:
        d = self.op("Sub", x, self.op("ReduceMean", x, "last"))
        v = self.op("ReduceMean", self.op("Pow", d, "two"), "last")
        n = self.op("Div", d, self.op("Sqrt", self.op("Add", v, "eps")))
        return self.op("Add", self.op("Mul", n, "g"), "b")

    def heads(self, x: str, perm: list[int]) -> str:
        y = self.op("Add", "b", self.op("MatMul", x, "w"))
        return self.op("Transpose", self.op("Reshape", y, "split"), perm=perm)

    def layer(self, x: str) -> str:
        """A post-norm transformer layer: 50 nodes."""
        q, k, v = self.heads(x, [0, 2, 1, 3]), self.heads(x, [0, 2, 3, 1]), self.heads(x, [0, 2, 1, 3])
        s = self.op("Softmax", self.op("Div", self.op("MatMul", q, k), "scale"), axis=-1)
        o = self.op("Reshape", self.op("Transpose", self.op("MatMul", s, v), perm=[0, 2, 1, 3]), "join")
        x = self.norm(self.op("Add", x, self.op("Add", self.op("MatMul", o, "w"), "b")))
        h = self.op("Add", self.op("MatMul", x, "w1"), "b1")
        e = self.op("Add", self.op("Erf", self.op("Div", h, "root")), "one")
        g = self.op("Mul", self.op("Mul", h, e), "half")
        return self.norm(self.op("Add", x, self.op("Add", self.op("MatMul", g, "w2"), "b")))

    def block(self, x: str) -> str:
        """A residual block: 5 nodes."""
        c = self.op("BatchNormalization", self.op("Conv", x, "k"), "g", "b", "mean", "g")
        return self.op("Add", self.op("Mul", c, self.op("Sigmoid", c)), x)


def model(nodes: int) -> onnx.ModelProto:
    """Half of the nodes are transformer layers, half convolution blocks."""
    made = Writer()
    x = "x"
    while len(made.nodes) < nodes // 2:
        x = made.layer(x)
    image = "image"
    while len(made.nodes) < nodes:
        image = made.block(image)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        made.nodes,
        "g",
        [info("x", TensorProto.FLOAT, ["N", "S", WIDTH]), info("image", TensorProto.FLOAT, ["N", WIDTH, 4, 4])],
        [info(x, TensorProto.FLOAT, None), info(image, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in made.weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def standard(chosen: list[str] | None) -> list[Rule]:
    """Every rule of the standard library, or of some of its files."""
    names = chosen or [name for name in libraries() if name.startswith("std.")]
    return [rule for name in names for rule in rules_of(name)]


def seconds(nodes: int, folder: Path, rules: list[Rule]) -> tuple[float, Counter[str], int]:
    """CPU seconds of one application of all rules, how often each fired, and the nodes left."""
    path = folder / f"{nodes}.onnx"
    onnx.save(model(nodes), path)
    module = ir.load(path)
    infer_all(module)
    begin = time.process_time()
    result = apply(module, rules, Context(Evaluator()))
    taken = time.process_time() - begin
    return taken, Counter(result.counts), sum(1 for _ in module.nodes())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--small", type=int, default=10_000)
    options.add_argument("--large", type=int, default=100_000)
    options.add_argument("--libraries", nargs="+", help="only these, such as std.norm")
    options.add_argument("--rules", action="store_true", help="seconds of each rule alone at the small size")
    given = options.parse_args()
    rules = standard(given.libraries)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds(200, folder, rules)  # imports and compilation of the rules
        print(f"{len(rules)} rules")
        found = {}
        for nodes in (given.small, given.large):
            found[nodes], counts, left = seconds(nodes, folder, rules)
            print(f"{nodes:>8,} nodes {found[nodes]:>8.2f} s   {left:,} left   {dict(counts)}")
        print(f"ratio {found[given.large] / found[given.small]:.1f}")
        if given.rules:
            costs = [(seconds(given.small, folder, [rule])[0], rule.name.text) for rule in rules]
            for cost, rule in sorted(costs, reverse=True)[:25]:
                print(f"{cost:>8.3f} s  {rule}")


if __name__ == "__main__":
    main()
