"""The small models that the pages of docs/ work with. `python tests/unit/docs/models.py FOLDER` writes them.

classifier.onnx   images, dynamic batch: Conv, BatchNormalization, Relu, GlobalAveragePool, Flatten, Gemm
branches.onnx     the result of a Conv goes to a BatchNormalization and to an Add
tokens.onnx       int64 token ids, dynamic batch and length: Gather from a table, MatMul, Softmax, ArgMax
shapes.onnx       a Reshape whose target is an input
nonzero.onnx      a NonZero, whose result has a size that depends on the data
doubles.onnx      float64 in and out
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, parser


def _weights(**shapes: tuple[int, ...]) -> list[onnx.TensorProto]:
    """Seeded weights by name (`__` stands for a dot); those whose name ends in `var` or `scale` are positive."""
    random = np.random.Generator(np.random.PCG64(3))
    made: list[onnx.TensorProto] = []
    for name, shape in shapes.items():
        fan = max(int(np.prod(shape[1:])), 1)
        array = random.standard_normal(shape) / np.sqrt(fan)
        if name.endswith(("var", "scale")):
            array = np.abs(array) + 0.5
        made.append(numpy_helper.from_array(array.astype(np.float32), name.replace("__", ".")))
    return made


def _model(graph: str, weights: list[onnx.TensorProto]) -> onnx.ModelProto:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type.lower()}_{number}"
    model.graph.initializer.extend(weights)
    return model


def classifier() -> onnx.ModelProto:
    return _model(
        """classifier (float[batch, 3, 32, 32] x) => (float[batch, 10] y) {
          [conv] c = Conv <pads = [1, 1, 1, 1]> (x, "conv.weight")
          [bn] b = BatchNormalization (c, "bn.scale", "bn.bias", "bn.mean", "bn.var")
          [relu] r = Relu (b)
          [pool] p = GlobalAveragePool (r)
          [flatten] f = Flatten (p)
          [fc] y = Gemm <transB = 1> (f, "fc.weight", "fc.bias")
        }""",
        _weights(
            conv__weight=(16, 3, 3, 3),
            bn__scale=(16,),
            bn__bias=(16,),
            bn__mean=(16,),
            bn__var=(16,),
            fc__weight=(10, 16),
            fc__bias=(10,),
        ),
    )


def branches() -> onnx.ModelProto:
    return _model(
        """branches (float[1, 3, 8, 8] x) => (float[1, 4, 8, 8] y) {
          [conv] c = Conv <pads = [1, 1, 1, 1]> (x, "conv.weight")
          [bn] b = BatchNormalization (c, "bn.scale", "bn.bias", "bn.mean", "bn.var")
          [add] y = Add (b, c)
        }""",
        _weights(conv__weight=(4, 3, 3, 3), bn__scale=(4,), bn__bias=(4,), bn__mean=(4,), bn__var=(4,)),
    )


def tokens() -> onnx.ModelProto:
    return _model(
        """tokens (int64[batch, seq] ids) => (float[batch, seq, 12] scores, int64[batch, seq] best) {
          [embed] e = Gather (table, ids)
          [project] p = MatMul (e, "project.weight")
          [softmax] scores = Softmax <axis = -1> (p)
          [argmax] best = ArgMax <axis = -1, keepdims = 0> (scores)
        }""",
        _weights(table=(100, 16), project__weight=(16, 12)),
    )


def shapes() -> onnx.ModelProto:
    return _model(
        """shapes (float[6, 4] x, int64[2] target) => (float[rows, columns] y) {
          [reshape] r = Reshape (x, target)
          [relu] y = Relu (r)
        }""",
        [],
    )


def nonzero() -> onnx.ModelProto:
    return _model(
        """nonzero (float[4, 8] x) => (int64[2, found] y) {
          [relu] r = Relu (x)
          [nonzero] y = NonZero (r)
        }""",
        [],
    )


def doubles() -> onnx.ModelProto:
    return _model(
        """doubles (double[2, 3] x) => (double[2, 3] y) {
          [exp] e = Exp (x)
          [add] y = Add (e, x)
        }""",
        [],
    )


MODELS = (classifier, branches, tokens, shapes, nonzero, doubles)


def write(folder: Path) -> None:
    """Write all of them into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for make in MODELS:
        onnx.save(make(), folder / f"{make.__name__}.onnx")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
