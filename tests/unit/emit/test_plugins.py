"""Plugins: by their body in ONNX Runtime, by the registry in the network, by the body again when read back."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx_ir as oir
import pytest

pytest.importorskip("tensorrt_rtx")

import fake_plugins as fake
import tensorrt_rtx as trt

from trtc import emit, ir, readback, targets
from trtc.diagnostics import DiagnosticError
from trtc.evaluate import run_session, session
from trtc.ir import edit, plugins
from trtc.ir.module import Module
from trtc.ir.plugins import FieldData, PluginData

SCALED = """<ir_version: 11, opset_import: ["" : 23, "m" : 1]>
g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { y = m.scaled(x, w) }
<opset_import: ["" : 23], domain: "m">
scaled <alpha: float = 2.0, count: int = 1> (x, w) => (y) {
  a = Constant<value_float: float = @alpha>()
  n = Constant<value_int: int = @count>()
  f = CastLike(n, x)
  ax = Mul(x, a)
  s = Add(ax, w)
  y = Mul(s, f)
}
"""

DATA = PluginData(
    "scaled",
    "Scaled_TRT",
    fields=(
        FieldData("alpha", "f32", default=2.0),
        FieldData("count", "i32", default=1),
        FieldData("label", "string", default="a b"),
        FieldData("shape", "dims", default=[3, 5]),
        FieldData("steps", "i32", list=True, default=[7, 8, 9]),
        FieldData("w", "weights", input=1),
    ),
    tensors=(0,),
)

TAKES = {
    "alpha": "FLOAT32",
    "count": "INT32",
    "label": "CHAR",
    "shape": "DIMS",
    "steps": "INT32",
    "w": "FLOAT32",
}


def compute(net: Any, inputs: list[Any], fields: dict[str, Any]) -> list[Any]:
    """What the plugin does, of real layers."""
    ops = trt.ElementWiseOperation

    def constant(values: Any) -> Any:
        array = np.asarray(values, np.float32).reshape(1, -1)
        held.append(array)
        return net.add_constant(array.shape, array).get_output(0)

    scaled = net.add_elementwise(inputs[0], constant(fields["alpha"]), ops.PROD).get_output(0)
    added = net.add_elementwise(scaled, constant(fields["w"]), ops.SUM).get_output(0)
    return [net.add_elementwise(added, constant(fields["count"]), ops.PROD).get_output(0)]


held: list[Any] = []


def creator(cls: type[fake.Creator] = fake.Creator, **changes: Any) -> fake.Creator:
    return cls("Scaled_TRT", **{"takes": TAKES, "compute": compute, **changes})


def module(data: PluginData = DATA, **fields: Any) -> Module:
    """y = plugin(x, w) with the values of fields at the call."""
    made = ir.load_proto(onnx.parser.parse_model(SCALED))
    function = plugins.declare(made, data, made.model.functions.pop(("m", "scaled", "")))
    (old,) = made.nodes()
    call = plugins.call(made, function, old.inputs, fields, origins=[old], rule="use_scaled")
    edit.replace(made, [old], [call], {old.outputs[0]: call.outputs[0]})
    ir.verify(made)
    return made


def saved(made: Module, folder: Path) -> Path:
    ir.save(made, folder / "m.onnx")
    return folder / "m.onnx"


X = np.arange(8, dtype=np.float32).reshape(2, 4)
W = np.array([1, 2, 3, 4], np.float32)


def answer(model: Path | bytes) -> Any:
    return run_session(session(model), {"x": X})["y"]


def lower(made: Module, target: targets.Target) -> tuple[Any, Any, Any]:
    builder, network = fake.network(target)
    return builder, network, emit.emit(made, target, network)


def test_the_body_is_the_meaning_and_the_data_survives_a_file(tmp_path: Path) -> None:
    path = saved(module(alpha=3.0, count=2), tmp_path)
    np.testing.assert_array_equal(answer(path), (X * 3 + W) * 2)
    again = ir.load(path)
    (call,) = again.nodes()
    assert call.op_identifier() == ("trtc.plugin", "scaled", "")
    assert plugins.plugin_of(again, call) == DATA
    assert {k: a.value for k, a in call.attributes.items()} == {"alpha": 3.0, "count": 2}
    assert [str(d) for d in again.shape(call.outputs[0]) or ()] == ["N", "4"]
    assert ir.origins(call) == ("scaled_0",)
    assert ir.rule(call) == "use_scaled"


def test_the_same_is_declared_once_and_another_meaning_gets_a_number() -> None:
    made = ir.load_proto(onnx.parser.parse_model(SCALED))
    body = made.model.functions.pop(("m", "scaled", ""))
    first = plugins.declare(made, DATA, body)
    other = ir.load_proto(onnx.parser.parse_model(SCALED)).model.functions["m", "scaled", ""]
    assert plugins.declare(made, DATA, other) is first
    third = ir.load_proto(onnx.parser.parse_model(SCALED.replace("Add(", "Sub("))).model.functions["m", "scaled", ""]
    assert plugins.declare(made, DATA, third).name == "scaled_2"


@pytest.mark.parametrize("newer", [False, True])
def test_a_plugin_in_the_network_with_its_fields(tmp_path: Path, newer: bool) -> None:
    maker = creator(fake.IPluginCreatorV3One if newer else fake.Creator)
    target = fake.target(maker, newer=newer)
    made = ir.load(saved(module(alpha=3.0), tmp_path))
    _builder, network, emission = lower(made, target)
    (plugin,) = maker.made
    assert plugin.fields == {
        "alpha": [3.0],
        "count": [1],
        "label": "a b",
        "shape": (3, 5),
        "steps": [7, 8, 9],
        "w": [1.0, 2.0, 3.0, 4.0],
    }
    assert plugin.label == "scaled_0_1"
    layers = [network.get_layer(at) for at in range(network.num_layers)]
    (layer,) = [one for one in layers if isinstance(one, fake.PluginLayer)]
    assert (layer.kind, layer.name) == ("PLUGIN_V3" if newer else "PLUGIN_V2", "scaled_0_1")
    assert layer.metadata == '{"op":"scaled","origins":["scaled_0"],"rule":"use_scaled"}'
    assert [one.name for one in layers] == ["scaled_0_1"]  # no layer for the weights
    assert emission.notes == ()


def test_read_back_the_plugin_is_its_meaning(tmp_path: Path) -> None:
    target = fake.target(creator())
    made = ir.load(saved(module(alpha=3.0, count=5), tmp_path))
    _builder, network, emission = lower(made, target)
    model = readback.read(network, target.module, meanings=emission.plugins)
    ir.save(model, tmp_path / "back.onnx")
    np.testing.assert_array_equal(answer(tmp_path / "back.onnx"), (X * 3 + W) * 5)
    (call,) = model.graph
    assert call.op_identifier() == ("trtc.plugin", "scaled", "")
    assert call.metadata_props["trtc.layer"] == "scaled_0_1"


def test_read_back_finds_another_plugin_and_one_without_a_meaning() -> None:
    target = fake.target(creator())
    _builder, network, emission = lower(module(), target)
    with pytest.raises(DiagnosticError) as caught:
        readback.read(network, target.module)
    assert [d.code for d in caught.value.diagnostics] == ["T0950"]
    network.get_layer(0).plugin.plugin_version = "2"
    with pytest.raises(DiagnosticError) as caught:
        readback.read(network, target.module, meanings=emission.plugins)
    assert [(d.code, d.node) for d in caught.value.diagnostics] == [("T0957", "scaled_0_1")]


def test_a_target_without_plugins_gets_the_body() -> None:
    made = module(alpha=3.0)
    target = targets.load("tensorrt_rtx")
    builder = target.builder()
    network = target.network(builder)
    emit.emit(made, target, network)
    assert [node.op_type for node in made.nodes()] == ["CastLike", "Mul", "Add", "Mul"]
    model = readback.read(network, trt)
    np.testing.assert_array_equal(
        run_session(session(oir.to_proto(model).SerializeToString()), {"x": X})["y"], X * 3 + W
    )


def refused(made: Module, target: targets.Target) -> tuple[str, list[str], str]:
    findings = emit.check(made, target)
    found = emit.report(findings, target)
    return found.code, [f.reason for f in findings], found.help or ""


def test_names_are_checked_against_the_registry() -> None:
    typo = PluginData("scaled", "Scaled_TRY", fields=DATA.fields, tensors=(0,))
    code, reasons, help = refused(module(typo), fake.target(creator()))
    assert code == "T0707"
    assert reasons == ["tensorrt 8.6.0 has no plugin `Scaled_TRY` version 1"]
    assert "did you mean `Scaled_TRT`?" in help
    code, _, help = refused(module(), fake.target(creator(plugin_version="2")))
    assert (code, "it has `Scaled_TRT` version 2" in help) == ("T0707", True)
    library = PluginData("scaled", "Mine", library="libmine.so", fields=DATA.fields, tensors=(0,))
    code, _, help = refused(module(library), fake.target(creator()))
    assert "--allow-code" in help
    code, reasons, help = refused(module(), fake.target(creator(takes={**TAKES, "alpha_": "FLOAT32"})))
    assert (code, reasons) == ("T0701", [])  # nothing found
    fewer = {("alfa" if k == "alpha" else k): v for k, v in TAKES.items()}
    code, reasons, help = refused(module(), fake.target(creator(takes=fewer)))
    assert (code, reasons) == ("T0708", ["`Scaled_TRT` version 1 has no field `alpha`"])
    assert "did you mean `alfa`?" in help


def test_a_creator_that_makes_nothing() -> None:
    with pytest.raises(DiagnosticError) as caught:
        lower(module(), fake.target(creator(takes={}, required=("more",))))
    (found,) = caught.value.diagnostics
    assert (found.code, found.node) == ("T0709", "scaled_0_1")
    assert found.message == (
        "scaled: `Scaled_TRT` version 1 made no plugin of these fields: alpha, count, label, shape, steps, w"
    )


def test_a_type_that_differs_from_the_creators_is_remarked() -> None:
    _builder, _network, emission = lower(module(), fake.target(creator(takes={**TAKES, "count": "FLOAT32"})))
    assert emission.notes == (
        "the field `count` of the plugin `scaled` is i32, and `Scaled_TRT` version 1 says float32",
    )


def test_weights_that_are_computed_are_refused() -> None:
    made = ir.load_proto(
        onnx.parser.parse_model(
            SCALED.replace("<float[4] w = {1, 2, 3, 4}>", "").replace("(float[N,4] x)", "(float[N,4] x, float[4] w)")
        )
    )
    function = plugins.declare(made, DATA, made.model.functions.pop(("m", "scaled", "")))
    (old,) = made.nodes()
    call = plugins.call(made, function, old.inputs, origins=[old], rule="r")
    edit.replace(made, [old], [call], {old.outputs[0]: call.outputs[0]})
    code, reasons, _ = refused(made, fake.target(creator()))
    assert (code, reasons) == (
        "T0708",
        ["the field `w` of the plugin is weights, and `w` is computed at run time"],
    )


def test_the_memory_of_fields_lives_as_long_as_the_emission(tmp_path: Path) -> None:
    maker = creator()
    seen: list[fake.PluginField] = []
    make = maker.create_plugin
    maker.create_plugin = lambda name, fields: (seen.extend(fields), make(name, fields))[1]  # type: ignore[method-assign]
    target = fake.target(maker)
    made = ir.load(saved(module(), tmp_path))
    _builder, _network, emission = lower(made, target)
    del made
    gc.collect()
    assert [one.alive() is not None for one in seen] == [True] * 6
    del emission
    gc.collect()
    assert seen[0].alive() is None


FOREIGN = """<ir_version: 8, opset_import: ["" : 17, "TRT" : 1]>
g (float[2,4] x, float[4] w) => (float[2,4] y) {
  y = TRT.Scaled_TRT<alpha = 3.0, count = 2, plugin_version = "1">(x, w)
}"""


def test_nodes_of_a_file_in_the_op_type_of_the_plugin_are_adopted(tmp_path: Path) -> None:
    data = PluginData("scaled", "Scaled_TRT", fields=DATA.fields[:2], tensors=(0, 1))
    made = ir.load_proto(onnx.parser.parse_model(FOREIGN))
    body = ir.load_proto(onnx.parser.parse_model(SCALED)).model.functions["m", "scaled", ""]
    function = plugins.declare(made, data, body)
    (node,) = plugins.written(made, {data.creator})
    assert plugins.fields_written(data, node) == {"alpha": 3.0, "count": 2}
    plugins.adopt(made, function, node)
    ir.verify(made)
    ir.save(made, tmp_path / "m.onnx")
    found = run_session(session(tmp_path / "m.onnx"), {"x": X, "w": W})["y"]
    np.testing.assert_array_equal(found, (X * 3 + W) * 2)


@pytest.mark.parametrize(
    ("old", "new", "message", "help"),
    [
        ("alpha =", "alfa =", "the plugin `scaled` has no field `alfa`", "did you mean `alpha`?"),
        ('"1"', '"3"', "is version 3 of Scaled_TRT, and the plugin `scaled` declares version 1", 'version = "3"'),
        ("count = 2", "count = [2, 3]", "the field `count` of the plugin `scaled` is i32: it holds one value", ""),
        ("(x, w)\n", "(x, w, w)\n", "has 3 inputs and 1 outputs", ""),
    ],
)
def test_what_does_not_fit_the_declaration(old: str, new: str, message: str, help: str) -> None:
    data = PluginData("scaled", "Scaled_TRT", fields=DATA.fields[:2], tensors=(0, 1))
    made = ir.load_proto(onnx.parser.parse_model(FOREIGN.replace(old, new)))
    body = ir.load_proto(onnx.parser.parse_model(SCALED)).model.functions["m", "scaled", ""]
    function = plugins.declare(made, data, body)
    (node,) = plugins.written(made, {data.creator})
    with pytest.raises(DiagnosticError) as caught:
        plugins.adopt(made, function, node)
    (found,) = caught.value.diagnostics
    assert found.code == "T0658"
    assert message in found.message
    assert help in (found.help or "")


def test_an_undeclared_node_of_a_plugin_comes_with_its_declaration() -> None:
    made = ir.load_proto(onnx.parser.parse_model(FOREIGN))
    code, reasons, help = refused(made, fake.target(creator()))
    assert (code, reasons) == ("T0701", ["an operator without a meaning"])
    assert help == (
        "TRT.Scaled_TRT: `Scaled_TRT` version 1 is a plugin of tensorrt; declare what it means:\n"
        "plugin my_scaled_trt(in0: f32[...], in1: f32[...]) -> out0: f32[...] {\n"
        '  creator = "Scaled_TRT"\n'
        '  version = "1"\n'
        "  fields { alpha: f32 = 3  count: i32 = 2 }\n"
        "  meaning …\n"
        "}"
    )
    code, reasons, help = refused(made, targets.load("tensorrt_rtx"))
    assert reasons == ["an operator of the domain `TRT`, which has no body"]


def test_which_targets_take_plugins() -> None:
    assert targets.has_plugins("tensorrt")
    assert targets.has_plugins("tensorrt_rtx") is False
