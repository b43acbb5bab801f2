"""The encoder of BERT as the TorchScript exporter of PyTorch writes it, with seeded weights, from numpy and onnx alone.

Opset 14, the last without LayerNormalization, so that everything stands in pieces: LayerNorm as ReduceMean, Sub, Pow,
Sqrt, Div; GELU with Erf; attention as two products and a Softmax, the transpose of the keys merged with that of their
heads; every Reshape with a shape put together by Shape, Gather, Unsqueeze, Concat. The weights are no trained ones:
normal numbers of deviation 1/sqrt(inputs), which keeps activations near 1.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEAD = 64
"""Width of an attention head."""


class Builder:
    """Nodes and weights in the order of the graph. Names of nodes carry the scope, as PyTorch writes them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.Generator(np.random.PCG64(seed))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.scope = ""
        self.counts: dict[str, int] = {}

    def node(self, op: str, *inputs: str, **attributes: object) -> str:
        base = f"{self.scope}/{op}"
        count = self.counts.get(base, 0)
        self.counts[base] = count + 1
        name = f"{base}_{count}" if count else base
        output = f"{name}_output_0"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=name, **attributes))
        return output

    def constant(self, value: object, dtype: type = np.float32) -> str:
        return self.node("Constant", value=numpy_helper.from_array(np.array(value, dtype=dtype)))

    def weight(self, name: str, array: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array, dtype=np.float32), name))
        return name

    def normal(self, name: str, *shape: int, deviation: float) -> str:
        return self.weight(name, self.random.standard_normal(shape, dtype=np.float32) * np.float32(deviation))

    def size(self, x: str, axis: int) -> str:
        """The size of one axis as a tensor of one element: Shape, Gather, Unsqueeze."""
        index = self.constant(axis, np.int64)
        found = self.node("Gather", self.node("Shape", x), index, axis=0)
        return self.node("Unsqueeze", found, self.constant([0], np.int64))

    def reshape(self, x: str, *tail: int) -> str:
        """[batch, seq, *tail] of an `x` whose first two axes are batch and seq."""
        sizes = [self.size(x, 0), self.size(x, 1), *(self.constant([d], np.int64) for d in tail)]
        return self.node("Reshape", x, self.node("Concat", *sizes, axis=0))

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        product = self.node("MatMul", x, self.normal(f"{name}.weight_t", inputs, outputs, deviation=inputs**-0.5))
        bias = self.weight(f"{name}.bias", self.random.uniform(-0.1, 0.1, outputs))
        return self.node("Add", bias, product)

    def layer_norm(self, x: str, name: str, width: int) -> str:
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        square = self.node("Pow", centred, self.constant(2.0))
        variance = self.node("ReduceMean", square, axes=[-1])
        deviation = self.node("Sqrt", self.node("Add", variance, self.constant(1e-12)))
        y = self.node("Div", centred, deviation)
        y = self.node("Mul", y, self.weight(f"{name}.weight", self.random.uniform(0.9, 1.1, width)))
        return self.node("Add", y, self.weight(f"{name}.bias", self.random.uniform(-0.1, 0.1, width)))

    def gelu(self, x: str) -> str:
        y = self.node("Erf", self.node("Div", x, self.constant(math.sqrt(2.0))))
        y = self.node("Mul", x, self.node("Add", y, self.constant(1.0)))
        return self.node("Mul", y, self.constant(0.5))


def attention(build: Builder, x: str, mask: str, number: int, width: int) -> str:
    heads = width // HEAD
    layer, scope = f"encoder.layer.{number}", f"/encoder/layer.{number}/attention/self"
    parts: list[str] = []
    for part in ("query", "key", "value"):
        build.scope = f"{scope}/{part}"
        parts.append(build.linear(x, f"{layer}.attention.self.{part}", width, width))
    build.scope = scope
    query, key, value = (build.reshape(part, heads, HEAD) for part in parts)
    value = build.node("Transpose", value, perm=[0, 2, 1, 3])
    query = build.node("Transpose", query, perm=[0, 2, 1, 3])
    key = build.node("Transpose", key, perm=[0, 2, 3, 1])
    scores = build.node("Div", build.node("MatMul", query, key), build.constant(math.sqrt(HEAD)))
    weights = build.node("Softmax", build.node("Add", scores, mask), axis=-1)
    y = build.node("Transpose", build.node("MatMul", weights, value), perm=[0, 2, 1, 3])
    return build.reshape(y, width)


def encoder_layer(build: Builder, x: str, mask: str, number: int, width: int) -> str:
    layer = f"encoder.layer.{number}"
    scope = f"/encoder/layer.{number}"
    y = attention(build, x, mask, number, width)
    build.scope = f"{scope}/attention/output/dense"
    y = build.linear(y, f"{layer}.attention.output.dense", width, width)
    build.scope = f"{scope}/attention/output"
    y = build.node("Add", y, x)
    build.scope = f"{scope}/attention/output/LayerNorm"
    middle = build.layer_norm(y, f"{layer}.attention.output.LayerNorm", width)
    build.scope = f"{scope}/intermediate/dense"
    y = build.linear(middle, f"{layer}.intermediate.dense", width, 4 * width)
    build.scope = f"{scope}/intermediate/intermediate_act_fn"
    y = build.gelu(y)
    build.scope = f"{scope}/output/dense"
    y = build.linear(y, f"{layer}.output.dense", 4 * width, width)
    build.scope = f"{scope}/output"
    y = build.node("Add", y, middle)
    build.scope = f"{scope}/output/LayerNorm"
    return build.layer_norm(y, f"{layer}.output.LayerNorm", width)


def make_model(layers: int = 12, width: int = 768, seed: int = 12) -> onnx.ModelProto:
    """`x` and `mask` to `y`, the defaults as in BERT-base: 85 million parameters, 340 MB.

    x, y: float32[batch, seq, width], tokens embedded and encoded; `width` is a multiple of 64.
    mask: float32[batch, 1, 1, seq], 0 where a token is and a large negative number where padding is.
    """
    if width % HEAD or width < HEAD:
        raise ValueError(f"the width is a multiple of {HEAD}, not {width}")
    build = Builder(seed)
    y = "x"
    for number in range(layers):
        y = encoder_layer(build, y, "mask", number, width)
    build.nodes[-1].output[0] = "y"
    tensors = {"x": ["batch", "seq", width], "mask": ["batch", 1, 1, "seq"], "y": ["batch", "seq", width]}
    x, mask, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in tensors.items())
    graph = helper.make_graph(build.nodes, "main_graph", [x, mask], [y], build.weights)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=7, producer_name="trtc examples"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write an encoder of BERT with seeded weights.")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("bert_encoder.onnx"))
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768, help="a multiple of 64")
    parser.add_argument("--seed", type=int, default=12)
    options = parser.parse_args()
    model = make_model(options.layers, options.width, options.seed)
    onnx.save(model, options.output)
    print(f"{options.output}: {options.output.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
