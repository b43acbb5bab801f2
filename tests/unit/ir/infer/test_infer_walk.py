"""Names of dims, facts on demand, depth and speed."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import onnx_ir as oir
import pytest
from infer_cases import module_of
from onnx import TensorProto, helper

from trtc.ir.infer import infer_all, infer_node, input_fact, show
from trtc.ir.module import Module


def _with_inputs(*shapes: tuple[str, list[str | int | None]]) -> Module:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes]
    graph = helper.make_graph([], "g", inputs, [])
    return Module(oir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])))


def test_dims_of_inputs_get_names() -> None:
    module = _with_inputs(
        ("x", ["batch", None, 3]),
        ("a/b:0", ["?", "", "p2o.DynamicDimension.0", "p2o_DynamicDimension_0"]),
        ("y", ["2*seq", "seq + 1", "batch*(seq - 1)", "f(x)", "3d"]),
        ("z", ["p2o.DynamicDimension.0", "seq"]),
    )
    assert [show(module.fact(value)) for value in module.graph.inputs] == [
        "float[batch, x_1, 3]",
        "float[a_b_0_0, a_b_0_1, p2o_DynamicDimension_0_2, p2o_DynamicDimension_0]",
        "float[2*seq, seq + 1, batch*seq - batch, f_x_, _3d]",
        "float[p2o_DynamicDimension_0_2, seq]",
    ]
    assert input_fact(module, module.graph.inputs[3]) == module.fact(module.graph.inputs[3])


def test_a_nameless_dim_does_not_take_the_name_of_another() -> None:
    module = _with_inputs(("x", [None, "x_0"]))
    assert show(module.fact(module.graph.inputs[0])) == "float[x_0_2, x_0]"


def test_declared_shapes_are_not_trusted() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 23]> g (float[N,3] x) => (float[N,9] y) <float[7] a>'
        "{ a = Relu(x) y = Transpose(a) }"
    )
    module = Module(oir.from_proto(model))
    assert show(module.fact(module.graph.outputs[0])) == "float[3, N]"
    assert show(module.fact(module.graph[0].outputs[0])) == "float[N, 3]"


def test_one_value_on_demand_finds_only_what_it_needs() -> None:
    module = module_of("float[N,3] x, float[4] z", "a = Relu(x) bad = Add(x, z) y = Neg(a)")
    assert show(module.fact(module.graph[2].outputs[0])) == "float[N, 3]"
    assert module.graph[1].outputs[0] not in module.facts


def test_a_value_inside_of_a_body_on_demand() -> None:
    module = module_of(
        "float[N,3] x",
        "w = Transpose(x) m = Constant<value_int = 5>() t = Cast<to = 9>(m)"
        " y = Loop<body = b (int64 i, bool k, float[] c) => (k2, c2)"
        " { k2 = Identity(k) p = MatMul(c, w) c2 = MatMul(p, c) }>(m, t, x)",
    )
    body = module.graph[3].attributes["body"].as_graph()
    assert show(module.fact(body[1].outputs[0])) == "float[N, N]"
    assert show(module.fact(body.inputs[2])) == "float[N, 3]"


def _chain(count: int) -> Module:
    ops = ["Relu", "Neg", "Add", "Mul"]
    nodes = [
        helper.make_node(op := ops[i % 4], [f"v{i}"] * (2 if op in ("Add", "Mul") else 1), [f"v{i + 1}"], name=f"n{i}")
        for i in range(count)
    ]
    inputs = [helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["N", 3])]
    outputs = [helper.make_tensor_value_info(f"v{count}", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return Module(oir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])))


def test_depth_is_no_recursion() -> None:
    module = _chain(20_000)
    assert show(module.fact(module.graph.outputs[0])) == "float[N, 3]"


def test_ten_times_the_nodes_are_ten_times_the_work(count_calls: Callable[[Callable[[], object]], int]) -> None:
    small, large = _chain(200), _chain(2000)
    assert count_calls(lambda: infer_all(large)) < 12 * count_calls(lambda: infer_all(small))
    assert len(large.facts) == 2001


def test_inferring_twice_gives_the_identical_dims() -> None:
    module = module_of("float[N,3] x", "a = NonZero(x) y = Transpose(a)")
    infer_all(module)
    node = module.graph[0]
    again = infer_node(module, node)
    assert again[0].shape is not None
    assert again[0].shape[1] is module.fact(node.outputs[0]).shape[1]  # pyright: ignore[reportOptionalSubscript]


@pytest.mark.parametrize("count", [1, 3])
def test_small_constants_have_values_and_large_ones_are_not_read(count: int) -> None:
    big = ", ".join(["7"] * 2000)
    module = module_of("float[N] x", f"s = Constant<value_ints = [{count}, 2]>() b = Constant<value_ints = [{big}]>()")
    infer_all(module)
    small, large = (module.fact(node.outputs[0]) for node in module.graph)
    assert small.value == (count, 2)
    assert large.value is None
    assert large.shape == (2000,)


def test_what_is_asked_of_a_body_that_never_runs_is_not_known_and_no_error() -> None:
    module = module_of(
        "float[2,3] x, bool c",
        "y = If<then_branch = t () => (a) { i = Constant<value_ints = [1]>() a = Squeeze(x, i) },"
        " else_branch = e () => (b) { b = Neg(x) }>(c)",
    )
    (node,) = [n for n in module.graph if n.op_type == "If"]
    squeeze = node.attributes["then_branch"].as_graph()[-1]
    assert show(module.fact(squeeze.outputs[0])) == "?[?]"
    assert show(module.fact(node.outputs[0])) == "float[2, 3]"
