"""BERT as the TorchScript exporter of PyTorch writes it, with seeded weights, from numpy and onnx alone.

Opset 14, the last without LayerNormalization, so that everything stands in pieces: LayerNorm as ReduceMean, Sub, Pow,
Sqrt, Div; GELU with Erf; every Reshape with a shape put together by Shape, Gather, Unsqueeze, Concat; the slice of the
position ids; the attention mask as (1 - mask) * -10000. The weights are no trained ones: normal numbers of deviation
1/sqrt(inputs), which keeps activations near 1.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

VOCABULARY, POSITIONS, SEGMENTS = 30522, 512, 2
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

    def layer_norm(self, x: str, name: str, hidden: int) -> str:
        centred = self.node("Sub", x, self.node("ReduceMean", x, axes=[-1]))
        square = self.node("Pow", centred, self.constant(2.0))
        variance = self.node("ReduceMean", square, axes=[-1])
        deviation = self.node("Sqrt", self.node("Add", variance, self.constant(1e-12)))
        y = self.node("Div", centred, deviation)
        y = self.node("Mul", y, self.weight(f"{name}.weight", self.random.uniform(0.9, 1.1, hidden)))
        return self.node("Add", y, self.weight(f"{name}.bias", self.random.uniform(-0.1, 0.1, hidden)))

    def gelu(self, x: str) -> str:
        y = self.node("Erf", self.node("Div", x, self.constant(math.sqrt(2.0))))
        y = self.node("Mul", x, self.node("Add", y, self.constant(1.0)))
        return self.node("Mul", y, self.constant(0.5))


def embeddings(build: Builder, hidden: int, vocabulary: int) -> str:
    build.scope = "/embeddings"
    words = build.normal("embeddings.word_embeddings.weight", vocabulary, hidden, deviation=0.6)
    places = build.normal("embeddings.position_embeddings.weight", POSITIONS, hidden, deviation=0.6)
    segments = build.normal("embeddings.token_type_embeddings.weight", SEGMENTS, hidden, deviation=0.6)
    ids = build.constant(np.arange(POSITIONS).reshape(1, -1), np.int64)
    length = build.size("input_ids", 1)
    zero, one = build.constant([0], np.int64), build.constant([1], np.int64)
    ids = build.node("Slice", ids, zero, length, one, build.constant([1], np.int64))
    y = build.node("Gather", words, "input_ids")
    y = build.node("Add", y, build.node("Gather", segments, "token_type_ids"))
    y = build.node("Add", y, build.node("Gather", places, ids))
    build.scope = "/embeddings/LayerNorm"
    return build.layer_norm(y, "embeddings.LayerNorm", hidden)


def attention_mask(build: Builder) -> str:
    """[batch, 1, 1, seq]: 0 where a token is, -10000 where padding is."""
    build.scope = ""
    y = build.node("Unsqueeze", "attention_mask", build.constant([1], np.int64))
    y = build.node("Unsqueeze", y, build.constant([2], np.int64))
    y = build.node("Cast", y, to=TensorProto.FLOAT)
    y = build.node("Sub", build.constant(1.0), y)
    return build.node("Mul", y, build.constant(-10000.0))


def attention(build: Builder, x: str, mask: str, number: int, hidden: int) -> str:
    heads = hidden // HEAD
    layer, scope = f"encoder.layer.{number}", f"/encoder/layer.{number}/attention/self"
    parts: list[str] = []
    for part in ("query", "key", "value"):
        build.scope = f"{scope}/{part}"
        parts.append(build.linear(x, f"{layer}.attention.self.{part}", hidden, hidden))
    build.scope = scope
    query, key, value = (build.reshape(part, heads, HEAD) for part in parts)
    value = build.node("Transpose", value, perm=[0, 2, 1, 3])
    query = build.node("Transpose", query, perm=[0, 2, 1, 3])
    key = build.node("Transpose", key, perm=[0, 2, 3, 1])
    scores = build.node("Div", build.node("MatMul", query, key), build.constant(math.sqrt(HEAD)))
    weights = build.node("Softmax", build.node("Add", scores, mask), axis=-1)
    y = build.node("Transpose", build.node("MatMul", weights, value), perm=[0, 2, 1, 3])
    return build.reshape(y, hidden)


def encoder_layer(build: Builder, x: str, mask: str, number: int, hidden: int) -> str:
    layer = f"encoder.layer.{number}"
    scope = f"/encoder/layer.{number}"
    y = attention(build, x, mask, number, hidden)
    build.scope = f"{scope}/attention/output/dense"
    y = build.linear(y, f"{layer}.attention.output.dense", hidden, hidden)
    build.scope = f"{scope}/attention/output"
    y = build.node("Add", y, x)
    build.scope = f"{scope}/attention/output/LayerNorm"
    middle = build.layer_norm(y, f"{layer}.attention.output.LayerNorm", hidden)
    build.scope = f"{scope}/intermediate/dense"
    y = build.linear(middle, f"{layer}.intermediate.dense", hidden, 4 * hidden)
    build.scope = f"{scope}/intermediate/intermediate_act_fn"
    y = build.gelu(y)
    build.scope = f"{scope}/output/dense"
    y = build.linear(y, f"{layer}.output.dense", 4 * hidden, hidden)
    build.scope = f"{scope}/output"
    y = build.node("Add", y, middle)
    build.scope = f"{scope}/output/LayerNorm"
    return build.layer_norm(y, f"{layer}.output.LayerNorm", hidden)


def pooler(build: Builder, x: str, hidden: int) -> None:
    build.scope = "/pooler"
    first = build.node("Gather", x, build.constant(0, np.int64), axis=1)
    weight = build.normal("pooler.dense.weight", hidden, hidden, deviation=hidden**-0.5)
    bias = build.weight("pooler.dense.bias", build.random.uniform(-0.1, 0.1, hidden))
    build.scope = "/pooler/dense"
    y = build.node("Gemm", first, weight, bias, alpha=1.0, beta=1.0, transB=1)
    build.nodes.append(helper.make_node("Tanh", [y], ["pooler_output"], name="/pooler/activation/Tanh"))


def make_model(layers: int = 12, hidden: int = 768, vocabulary: int = VOCABULARY, seed: int = 12) -> onnx.ModelProto:
    """`input_ids`, `attention_mask`, `token_type_ids` int64[batch, seq] to `last_hidden_state` float32[batch, seq,
    hidden] and `pooler_output` float32[batch, hidden]. `hidden` is a multiple of 64. The defaults are BERT-base: 110
    million parameters, 438 MB."""
    if hidden % HEAD or hidden < HEAD:
        raise ValueError(f"hidden is a multiple of {HEAD}, not {hidden}")
    build = Builder(seed)
    x = embeddings(build, hidden, vocabulary)
    mask = attention_mask(build)
    for number in range(layers):
        x = encoder_layer(build, x, mask, number, hidden)
    build.scope = ""
    # The node that makes an output has the name of the output as its value.
    last = build.nodes[-1]
    last.output[0] = x = "last_hidden_state"
    pooler(build, x, hidden)
    tokens = ["input_ids", "attention_mask", "token_type_ids"]
    graph = helper.make_graph(
        build.nodes,
        "main_graph",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"]) for name in tokens],
        [
            helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "seq", hidden]),
            helper.make_tensor_value_info("pooler_output", TensorProto.FLOAT, ["batch", hidden]),
        ],
        build.weights,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=7, producer_name="trtc examples"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a BERT encoder with seeded weights.")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("bert.onnx"))
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768, help="a multiple of 64")
    parser.add_argument("--vocabulary", type=int, default=VOCABULARY)
    parser.add_argument("--seed", type=int, default=12)
    options = parser.parse_args()
    model = make_model(options.layers, options.hidden, options.vocabulary, options.seed)
    onnx.save(model, options.output)
    print(f"{options.output}: {options.output.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
