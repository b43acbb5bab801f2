"""ResNet-50 v1.5 as PyTorch exports it, with seeded weights, from numpy and onnx alone.

The graph is that of `torch.onnx.export(torchvision.models.resnet50(), ..., do_constant_folding=False)` at opset 17:
BatchNormalization nodes are there, the head is GlobalAveragePool, Flatten, Gemm, and the batch is dynamic. The weights
are no trained ones. Convolutions are initialized after He et al. (2015), and the statistics of the batch norms are
those that such convolutions have on standard normal pixels, so that activations stay near 1 through all 50 layers, as
in a trained network.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Blocks and width of each of the four stages.
STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
EXPANSION = 4


class Builder:
    """Nodes and weights in the order of the graph."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.Generator(np.random.PCG64(seed))
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, name: str, array: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array, dtype=np.float32), name))
        return name

    def node(self, op: str, name: str, inputs: list[str], **attributes: object) -> str:
        output = f"{name}_output_0"
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output

    def conv(self, scope: str, weights: str, x: str, shape: tuple[int, int, int, int], stride: int) -> str:
        """A convolution without bias; `shape` is [out, in, k, k], padding keeps the size at stride 1."""
        deviation = np.sqrt(2.0 / np.prod(shape[1:]))
        kernel = shape[2]
        array = self.random.standard_normal(shape, dtype=np.float32) * np.float32(deviation)
        return self.node(
            "Conv",
            f"{scope}/Conv",
            [x, self.weight(f"{weights}.weight", array)],
            dilations=[1, 1],
            group=1,
            kernel_shape=[kernel, kernel],
            pads=[kernel // 2] * 4,
            strides=[stride, stride],
        )

    def norm(self, scope: str, weights: str, x: str, width: int, variance: float, gain: float) -> str:
        """A batch norm over activations of the given variance, with an output of deviation `gain`."""
        draw = self.random.uniform
        parameters = {
            "weight": draw(0.9, 1.1, width) * gain,
            "bias": draw(-0.1, 0.1, width) * gain,
            "running_mean": draw(-0.1, 0.1, width) * np.sqrt(variance),
            "running_var": draw(0.8, 1.25, width) * variance,
        }
        names = [self.weight(f"{weights}.{key}", array) for key, array in parameters.items()]
        return self.node(
            "BatchNormalization",
            f"{scope}/BatchNormalization",
            [x, *names],
            epsilon=1e-5,
            momentum=0.9,
            training_mode=0,
        )

    def bottleneck(self, stage: int, block: int, x: str, channels: int, width: int, square: float) -> tuple[str, float]:
        """One residual block. `square` is the mean square of `x`; returns the output and its mean square."""
        scope, weights = f"/layer{stage}/layer{stage}.{block}", f"layer{stage}.{block}"
        stride = 2 if stage > 1 and block == 0 else 1
        out = width * EXPANSION
        # A convolution after He gives a variance of twice the mean square of its input; ReLU halves a centred one.
        y = self.conv(f"{scope}/conv1", f"{weights}.conv1", x, (width, channels, 1, 1), 1)
        y = self.norm(f"{scope}/bn1", f"{weights}.bn1", y, width, 2 * square, 1.0)
        y = self.node("Relu", f"{scope}/relu/Relu", [y])
        # v1.5: the stride is in the 3×3 convolution.
        y = self.conv(f"{scope}/conv2", f"{weights}.conv2", y, (width, width, 3, 3), stride)
        y = self.norm(f"{scope}/bn2", f"{weights}.bn2", y, width, 1.0, 1.0)
        y = self.node("Relu", f"{scope}/relu_1/Relu", [y])
        y = self.conv(f"{scope}/conv3", f"{weights}.conv3", y, (out, width, 1, 1), 1)
        y = self.norm(f"{scope}/bn3", f"{weights}.bn3", y, out, 1.0, 0.4)
        if block == 0:
            name = f"{weights}.downsample"
            skip = self.conv(f"{scope}/downsample/downsample.0", f"{name}.0", x, (out, channels, 1, 1), stride)
            skip = self.norm(f"{scope}/downsample/downsample.1", f"{name}.1", skip, out, 2 * square, 1.0)
            after = 0.5 * (1.0 + 0.16)
        else:
            skip, after = x, square + 0.5 * 0.16
        y = self.node("Add", f"{scope}/Add", [y, skip])
        return self.node("Relu", f"{scope}/relu_2/Relu", [y]), after


def make_model(seed: int = 50) -> onnx.ModelProto:
    """`x` float32[batch, 3, 224, 224] to `y` float32[batch, 1000]; 161 weights, 102 MB."""
    build = Builder(seed)
    y = build.conv("/conv1", "conv1", "x", (64, 3, 7, 7), 2)
    y = build.norm("/bn1", "bn1", y, 64, 2.0, 1.0)
    y = build.node("Relu", "/relu/Relu", [y])
    y = build.node(
        "MaxPool",
        "/maxpool/MaxPool",
        [y],
        ceil_mode=0,
        dilations=[1, 1],
        kernel_shape=[3, 3],
        pads=[1, 1, 1, 1],
        strides=[2, 2],
    )
    # The largest of nine half-normal values that hang together: mean square near 1.6.
    channels, square = 64, 1.6
    for stage, (blocks, width) in enumerate(STAGES, start=1):
        for block in range(blocks):
            y, square = build.bottleneck(stage, block, y, channels, width, square)
            channels = width * EXPANSION
    y = build.node("GlobalAveragePool", "/avgpool/GlobalAveragePool", [y])
    y = build.node("Flatten", "/Flatten", [y], axis=1)
    fc = build.random.standard_normal((1000, channels), dtype=np.float32) * np.float32(0.04)
    weights = [build.weight("fc.weight", fc), build.weight("fc.bias", build.random.uniform(-0.1, 0.1, 1000))]
    build.nodes.append(helper.make_node("Gemm", [y, *weights], ["y"], name="/fc/Gemm", alpha=1.0, beta=1.0, transB=1))
    graph = helper.make_graph(
        build.nodes,
        "main_graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 224, 224])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 1000])],
        build.weights,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="trtc examples"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Write ResNet-50 with seeded weights.")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("resnet50.onnx"))
    parser.add_argument("--seed", type=int, default=50)
    options = parser.parse_args()
    onnx.save(make_model(options.seed), options.output)
    print(f"{options.output}: {options.output.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
