"""Every operator: a network with the interface of the graph, and an engine of it."""

from __future__ import annotations

import pytest
from emission_harness import build, module_of, portable, trt

from cases import CASES
from trtc import emit
from trtc.emit.registry import table

_SIZES = {"N": 2, "M": 3}
_VALUES = {
    ("Slice runtime", "s"): (1,),
    ("Slice runtime", "e"): (7,),
    ("Expand unknown", "s"): (2, 4),
    ("ConstantOfShape runtime", "s"): (2, 3),
    ("Range runtime", "a"): (0,),
    ("Range runtime", "b"): (9,),
    ("Range runtime", "c"): (2,),
    ("OneHot runtime", "d"): (5,),
    ("Split runtime", "s"): (2, 4),
}


@pytest.mark.parametrize("case", CASES)
def test_engine(case: str) -> None:
    built = build(CASES[case])
    network = built.network
    declared = {b.name: b for b in built.emission.bindings if not b.is_input}
    for name, (shape, dtype) in built.outputs().items():
        assert dtype == declared[name].engine_dtype
        assert [str(d) for d in shape if d >= 0] == [d for at, d in enumerate(declared[name].shape) if shape[at] >= 0]
    config = built.builder.create_builder_config()
    profile = built.builder.create_optimization_profile()
    for at in range(network.num_inputs):
        tensor = network.get_input(at)
        if tensor.is_shape_tensor:
            values = _VALUES[case, tensor.name]
            profile.set_shape_input(tensor.name, values, values, values)
        if any(d < 0 for d in tensor.shape):
            names = [tensor.get_dimension_name(axis) for axis in range(len(tensor.shape))]
            shape = tuple(d if d >= 0 else _SIZES.get(n, 4) for d, n in zip(tensor.shape, names, strict=True))
            profile.set_shape(tensor.name, shape, shape, shape)
    config.add_optimization_profile(profile)
    mark = built.target.logger.mark()
    plan = built.builder.build_serialized_network(network, config)
    assert plan is not None, built.target.logger.errors(mark)


@pytest.mark.parametrize("case", [case for case in CASES if "bfloat" not in case])
def test_without_the_newer_layers(case: str) -> None:
    built = build(CASES[case], portable())
    newer = {"CUMULATIVE", "SQUEEZE", "UNSQUEEZE", "ATTENTION_INPUT", "ROTARY_EMBEDDING"}
    assert not newer & set(built.types())
    for at in range(built.network.num_layers):
        layer = built.network.get_layer(at)
        if layer.type == trt.LayerType.SLICE:
            layer.__class__ = trt.ISliceLayer
            assert layer.axes is None
    assert {n: len(s) for n, (s, _) in built.outputs().items()} == {
        b.name: len(b.shape) for b in built.emission.bindings if not b.is_input
    }


def test_every_operator_has_a_case() -> None:
    import onnx.parser

    seen: set[str] = set()
    for text in CASES.values():
        full = text if text.startswith("<") else f'<ir_version: 10, opset_import: ["" : 23]> g {text}'
        seen |= {node.op_type for node in onnx.parser.parse_model(full).graph.node}
    assert {op for domain, op in table() if not domain} - seen == set()


def test_list_of_operators() -> None:
    listed = emit.operators()
    assert listed == sorted(listed)
    assert ("", "Conv", "") in listed
    assert ("", "QuantizeLinear", "int8 with zero point 0 as a layer, else as arithmetic") in listed
    assert len(listed) == len(set(listed)) > 120


def test_names_and_provenance_of_layers() -> None:
    built = build("(float[N,3] x) => (float[N,3] y) { y = HardSwish(x) }")
    assert built.layers() == [("HardSwish_0/gate", "ACTIVATION"), ("HardSwish_0", "ELEMENTWISE")]
    assert built.network.get_layer(1).metadata == '{"op":"HardSwish","origins":["HardSwish_0"]}'
    assert [(r.name, r.type, r.op, r.origins) for r in built.emission.layers] == [
        ("HardSwish_0/gate", "Activation", "HardSwish", ("HardSwish_0",)),
        ("HardSwish_0", "ElementWise", "HardSwish", ("HardSwish_0",)),
    ]


def test_rule_in_the_metadata() -> None:
    module = module_of("(float[3] x) => (float[3] y) { y = Relu(x) }")
    node = module.graph[0]
    node.metadata_props["trtc.origin"] = '["a", "b"]'
    node.metadata_props["trtc.rule"] = "fuse_relu"
    built = build(module)
    assert built.network.get_layer(0).metadata == '{"op":"Relu","origins":["a","b"],"rule":"fuse_relu"}'
    assert built.emission.layers[0].rule == "fuse_relu"


def test_dims_have_names() -> None:
    built = build("(float[batch,3,seq] x) => (float[batch,3,seq] y) { y = Relu(x) }")
    tensor = built.network.get_input(0)
    assert tuple(tensor.shape) == (-1, 3, -1)
    assert [tensor.get_dimension_name(axis) for axis in (0, 2)] == ["batch", "seq"]
    assert trt.__name__ == "tensorrt_rtx"
