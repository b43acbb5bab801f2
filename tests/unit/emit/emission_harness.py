"""One harness: model text in, a TensorRT network out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import onnx
import onnx.parser
import onnx_ir as oir
import pytest

from trtc import emit as emission
from trtc import targets
from trtc.ir.module import Module

trt = pytest.importorskip("tensorrt_rtx")


@dataclass
class Built:
    """The network of a model; `builder` keeps it alive."""

    network: Any
    emission: Any
    builder: Any
    target: Any

    def layers(self) -> list[tuple[str, str]]:
        """Name and type of each layer."""
        return [
            (self.network.get_layer(i).name, trt.ILayer.type.fget(self.network.get_layer(i)).name)
            for i in range(self.network.num_layers)
        ]

    def types(self) -> list[str]:
        return [type_ for _, type_ in self.layers()]

    def layer(self, name: str, kind: str) -> Any:
        """A layer by name, as `ISliceLayer` and the like."""
        for i in range(self.network.num_layers):
            layer = self.network.get_layer(i)
            if layer.name == name:
                layer.__class__ = getattr(trt, kind)
                return layer
        raise AssertionError(f"no layer {name} in {self.layers()}")

    def outputs(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and type of each output by name."""
        found = [self.network.get_output(i) for i in range(self.network.num_outputs)]
        return {t.name: (tuple(t.shape), t.dtype.name) for t in found}

    def plan(self, **profile: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]) -> bytes:
        """The built engine; profiles (min, opt, max) for dynamic inputs."""
        config = self.builder.create_builder_config()
        if profile:
            made = self.builder.create_optimization_profile()
            for name, (low, best, high) in profile.items():
                made.set_shape(name, low, best, high)
            config.add_optimization_profile(made)
        mark = self.target.logger.mark()
        plan = self.builder.build_serialized_network(self.network, config)
        assert plan is not None, self.target.logger.errors(mark)
        return bytes(plan)


def module_of(text: str) -> Module:
    """A module from the text form of ONNX; nodes get names by operator and number."""
    if not text.lstrip().startswith("<"):
        text = '<ir_version: 10, opset_import: ["" : 23]> g ' + text
    proto = onnx.parser.parse_model(text)
    for at, node in enumerate(proto.graph.node):
        if not node.name:
            node.name = f"{node.op_type}_{at}"
    return Module(oir.from_proto(proto))


def portable() -> Any:
    """TensorRT RTX as if it had only what TensorRT 8.6 has: every other way to emit an operator, on a real builder."""
    target = targets.load("tensorrt_rtx")
    newer = {"ActivationType.GELU_ERF", "ActivationType.GELU_TANH", "UnaryOperation.ISNAN"}
    table = dataclasses.replace(
        target.capabilities,
        slice_axes=False,
        squeeze_layer=False,
        cumulative=False,
        normalization_v2=False,
        attention=None,
        topk_indices_type=False,
        int_unary=frozenset({"SIGN"}),
        int_pow=False,
        bool_constants=False,
        members=target.capabilities.members - newer,
    )
    return dataclasses.replace(target, capabilities=table)


def build(text: str | Module, target: Any | None = None) -> Built:
    module = module_of(text) if isinstance(text, str) else text
    target = target or targets.load("tensorrt_rtx")
    builder = target.builder()
    network = target.network(builder)
    return Built(network, emission.emit(module, target, network), builder, target)
