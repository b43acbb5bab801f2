"""Every invariant that the verifier states, broken once by hand."""

from __future__ import annotations

from collections.abc import Callable

import malformed as m
import numpy as np
import onnx
import onnx_ir as oir
import pytest

from trtc import ir
from trtc.diagnostics import DiagnosticError, explain
from trtc.ir.infer.fact import Fact

CHAIN = """<ir_version: 10, opset_import: ["" : 21]> g (float[4] x) => (float[4] y)
    <float[4] w = {1, 2, 3, 4}> {
    [a] a = Add(x, w)
    [b] b = Relu(a)
    [c] y = Neg(b)
}"""


def chain() -> ir.Module:
    return ir.load_proto(onnx.parser.parse_model(CHAIN), canonical=False)


def codes(module: ir.Module) -> list[tuple[str, str | None]]:
    with pytest.raises(DiagnosticError) as caught:
        ir.verify(module)
    return [(d.code, d.node) for d in caught.value.diagnostics]


def test_a_sound_graph_passes() -> None:
    ir.verify(chain())
    ir.verify(ir.load_proto(onnx.ModelProto.FromString(m.nested_ifs(5)), canonical=False))


def names_of_nodes(module: ir.Module) -> None:
    module.graph[1].name = "a"


def no_name(module: ir.Module) -> None:
    module.graph[1].name = ""


def names_of_values(module: ir.Module) -> None:
    module.graph[0].outputs[0].name = "x"


def dangling(module: ir.Module) -> None:
    module.graph[1].replace_input_with(0, oir.Value(name="nowhere"))


def from_a_removed_node(module: ir.Module) -> None:
    module.graph.remove(module.graph[0])


def from_an_initializer_that_was_removed(module: ir.Module) -> None:
    module.graph.initializers.pop("w")


def out_of_order(module: ir.Module) -> None:
    node = module.graph[0]
    module.graph.remove(node)
    module.graph.append(node)


def cycle(module: ir.Module) -> None:
    module.graph[0].replace_input_with(1, module.graph[1].outputs[0])


def output(module: ir.Module) -> None:
    module.graph.outputs[0] = oir.Value(name="y2")


def membership(module: ir.Module) -> None:
    module.graph[1].graph = oir.Graph([], [], nodes=[], name="other")


def dtype_of_initializer(module: ir.Module) -> None:
    module.graph.initializers["w"].type = oir.TensorType(oir.DataType.INT64)


def data_of_initializer(module: ir.Module) -> None:
    module.graph.initializers["w"].const_value = None


def dtype_of_fact(module: ir.Module) -> None:
    value = module.graph[1].outputs[0]
    module.facts[value] = Fact(oir.DataType.FLOAT, (4,))
    value.type = oir.TensorType(oir.DataType.FLOAT16)


def initializer_as_input(module: ir.Module) -> None:
    module.graph.inputs.append(module.graph.initializers["w"])


def unknown_function(module: ir.Module) -> None:
    module.graph[1].domain = "own"


def reads_into_a_subgraph(module: ir.Module) -> None:
    other = ir.load_proto(onnx.ModelProto.FromString(m.nested_ifs(1)), canonical=False)
    inner = next(iter(other.graph.subgraphs()))
    module.graph[1].replace_input_with(0, inner[0].outputs[0])


@pytest.mark.parametrize(
    ("damage", "code", "node"),
    [
        (names_of_nodes, "T0681", "a"),
        (no_name, "T0681", "Relu"),
        (names_of_values, "T0681", "a"),
        (dangling, "T0682", "b"),
        (from_a_removed_node, "T0682", "b"),
        (from_an_initializer_that_was_removed, "T0682", "a"),
        (reads_into_a_subgraph, "T0682", "b"),
        (out_of_order, "T0684", "b"),
        (cycle, "T0684", "a"),
        (output, "T0683", "y2"),
        (membership, "T0685", "b"),
        (dtype_of_initializer, "T0686", "w"),
        (data_of_initializer, "T0686", "w"),
        (dtype_of_fact, "T0686", "b"),
        (initializer_as_input, "T0680", "w"),
        (unknown_function, "T0687", "b"),
    ],
)
def test_damage_is_found(damage: Callable[[ir.Module], None], code: str, node: str) -> None:
    module = chain()
    ir.verify(module)
    damage(module)
    assert (code, node) in codes(module)
    assert explain(code) is not None


def test_a_cycle_is_told_from_a_wrong_order() -> None:
    module = chain()
    cycle(module)
    with pytest.raises(DiagnosticError, match=r"cycle: `a` -> `b` -> `a`|cycle: `b` -> `a` -> `b`"):
        ir.verify(module)
    module = chain()
    out_of_order(module)
    with pytest.raises(DiagnosticError, match="`a`, which stands after it"):
        ir.verify(module)


def test_functions_that_call_themselves() -> None:
    proto = onnx.ModelProto.FromString(m.with_functions(m.function("F", ["G"]), m.function("G", [], nodes=1)))
    module = ir.load_proto(proto, canonical=False)
    ir.verify(module)
    second = module.model.functions[("local", "G", "")]
    second[0].op_type, second[0].domain = "F", "local"
    assert [code for code, _ in codes(module)] == ["T0688"]


def test_a_value_that_stands_in_two_graphs() -> None:
    module = ir.load_proto(onnx.ModelProto.FromString(m.nested_ifs(1)), canonical=False)
    then, other = module.graph.subgraphs()
    other[0].replace_input_with(0, then[0].outputs[0])
    assert codes(module)[0][0] == "T0682"


def test_the_pass_that_made_a_node_is_named() -> None:
    module = chain()
    module.graph[1].metadata_props["trtc.rule"] = "my_pass"
    dangling(module)
    with pytest.raises(DiagnosticError, match="made by my_pass"):
        ir.verify(module)


def long_chain(length: int) -> ir.Module:
    value = oir.Value(name="x", type=oir.TensorType(oir.DataType.FLOAT))
    inputs, nodes = [value], []
    for at in range(length):
        nodes.append(oir.Node("", "Relu", [value], name=f"n{at}"))
        value = nodes[-1].outputs[0]
        value.name = f"v{at}"
    weight = oir.Value(name="w", const_value=oir.Tensor(np.ones(3, np.float32)))
    graph = oir.Graph(inputs, [value], nodes=nodes, initializers=[weight], opset_imports={"": 23})
    return ir.Module(oir.Model(graph, ir_version=11))


def test_ten_times_the_nodes_are_ten_times_the_work(count_calls: Callable[[Callable[[], object]], int]) -> None:
    small, large = long_chain(200), long_chain(2000)
    assert count_calls(lambda: ir.verify(large)) < 12 * count_calls(lambda: ir.verify(small))
