# ruff: noqa: E501 - graphs are one line each
"""Constants, names, functions, subgraphs, provenance, refusals: what holds for every operator."""

from collections.abc import Callable

import numpy as np
import onnx
import onnx_ir as oir
import pytest
from canonical_oracle import canonical, needs_opset, parse, proto, run, same

from trtc.diagnostics import DiagnosticError, explain
from trtc.ir import Module, load_proto
from trtc.ir.canonical import canonicalize
from trtc.ir.provenance import origins, rule


def _codes(model: onnx.ModelProto) -> list[str]:
    with pytest.raises(DiagnosticError) as error:
        canonical(model)
    for diagnostic in error.value.diagnostics:
        assert explain(diagnostic.code) is not None
        assert diagnostic.message
    return [d.code for d in error.value.diagnostics]


# Constants.


@pytest.mark.parametrize(
    ("attribute", "wanted"),
    [
        ("value = float[2] {1.0, 2.0}", np.array([1, 2], dtype=np.float32)),
        ("value_float = 1.5", np.array(1.5, dtype=np.float32)),
        ("value_floats = [1.5, 2.5]", np.array([1.5, 2.5], dtype=np.float32)),
        ("value_int = 3", np.array(3, dtype=np.int64)),
        ("value_ints = [3, 4]", np.array([3, 4], dtype=np.int64)),
    ],
)
def test_constants_become_initializers(attribute: str, wanted: np.ndarray) -> None:
    kind = {"f": "float", "i": "int64"}[wanted.dtype.kind]
    graph = f"g ({kind}[2] x) => ({kind}[2] y) {{ c = Constant<{attribute}>() y = Add(x, c) }}"
    module = canonical(parse(13, graph))
    assert [node.op_type for node in module.graph] == ["Add"]
    value = module.graph[0].inputs[1]
    assert value is not None
    assert (value.name, value.is_initializer()) == ("c", True)
    same([np.asarray(module.constant(value))], [wanted])


def test_string_constants() -> None:
    module = canonical(
        parse(13, 'g (string[N] x) => (bool[N] y) { c = Constant<value_strings=["a"]>() y = Equal(x, c) }')
    )
    value = module.graph[0].inputs[1]
    assert value is not None
    assert value.const_value is not None
    assert value.const_value.numpy().tolist() == [b"a"]


def test_a_constant_that_is_an_output_keeps_its_name() -> None:
    model = parse(
        13, "g (float[N] x) => (float[N] y, float[2] c) { c = Constant<value_floats=[1.0,2.0]>() y = Relu(x) }"
    )
    module = canonical(model)
    assert [node.op_type for node in module.graph] == ["Identity", "Relu"]
    assert [value.name for value in module.graph.outputs] == ["y", "c"]
    feeds = {"x": np.ones(3, dtype=np.float32)}
    same(run(proto(module), feeds), run(model, feeds))


def test_constants_of_branches_stay_in_their_branch() -> None:
    model = parse(
        13,
        """g (bool c, float[2] x) => (float[2] y) {
            y = If<
                then_branch = t () => (float[2] a) { k = Constant<value_floats=[1.0, 2.0]>() a = Add(x, k) },
                else_branch = e () => (float[2] b) { b = Constant<value_floats=[3.0, 4.0]>() }
            >(c)
        }""",
    )
    module = canonical(model)
    then, otherwise = (attr.as_graph() for attr in module.graph[0].attributes.values())
    assert [node.op_type for node in then] == ["Add"]
    assert [node.op_type for node in otherwise] == ["Identity"]
    assert (list(then.initializers), len(otherwise.initializers)) == (["k"], 1)
    for condition in (True, False):
        feeds = {"c": np.array(condition), "x": np.ones(2, dtype=np.float32)}
        same(run(proto(module), feeds), run(model, feeds))


# The domain, names, provenance.


def test_the_long_name_of_the_domain() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["ai.onnx" : 11]> g (float[N,3,4] x) => (float[N,3,4] y) { y = ai.onnx.Softmax(x) }'
    )
    module = canonical(model)
    assert module.model.opset_imports == {"": 23}
    assert [node.op_type for node in module.graph] == ["Flatten", "Softmax", "Shape", "Reshape"]


def test_new_nodes_know_the_node_they_restate() -> None:
    model = parse(11, "g (float[N,3,4] x) => (float[N,3,4] y) { y = Softmax(x) }")
    model.graph.node[0].name = "attention/softmax"
    module = canonical(model)
    assert {origins(node) for node in module.graph} == {("attention/softmax",)}
    assert {rule(node) for node in module.graph} == {"canonical"}
    assert [value.name for value in module.graph.outputs] == ["y"]
    assert len({node.name for node in module.graph}) == 4


def test_a_node_that_only_changes_its_form_stays_itself() -> None:
    model = parse(11, "g (float[N,1] x) => (float[N] y) { y = Squeeze<axes=[1]>(x) }")
    model.graph.node[0].name = "squeeze"
    node = canonical(model).graph[0]
    assert (node.name, rule(node), node.outputs[0].name) == ("squeeze", None, "y")


def test_canonical_form_of_canonical_form_is_itself() -> None:
    for opset, graph in [
        (11, "g (float[N,3,4] x) => (float[N,3,4] y) { y = Softmax(x) }"),
        (9, "g (float[N,1,4,4] x) => (float[N,1,8,8] y) <float[4] s = {1.0,1.0,2.0,2.0}> { y = Upsample(x, s) }"),
        (7, "g (float[N,2,5,5] x, float[3,2,3,3] w) => (float[N,3,3,3] y) { y = Conv(x, w) }"),
    ]:
        once = proto(canonical(parse(opset, graph)))
        twice = proto(canonical(once))
        assert onnx.printer.to_text(twice) == onnx.printer.to_text(once)


def test_missing_inputs_are_none_and_trimmed() -> None:
    graph = "g (float[N] x, float m) => (float[N] y, float[N] z) { y = Clip(x, , m) z = Clip(x, m, ) }"
    first, second = canonical(parse(13, graph)).graph
    assert [value and value.name for value in first.inputs] == ["x", None, "m"]
    assert [value and value.name for value in second.inputs] == ["x", "m"]


def test_operators_of_other_domains_stay() -> None:
    module = canonical(
        parse(
            11,
            "g (float[N] x) => (float[N] y) { z = com.microsoft.Gelu(x) y = Relu(z) }",
            imports=', "com.microsoft" : 1',
        )
    )
    first = module.graph[0]
    assert (first.domain, first.op_type, dict(first.attributes)) == ("com.microsoft", "Gelu", {})


def test_outputs_without_a_name_are_trimmed() -> None:
    model = parse(13, "g (float[N] x) => (float[N] y) { y, m = Dropout(x) }")
    model.graph.node[0].output[1] = ""
    module = canonical(model)
    assert [value.name for value in module.graph[0].outputs] == ["y"]
    feeds = {"x": np.ones(3, dtype=np.float32)}
    same(run(proto(module), feeds), run(model, feeds))


def test_what_a_restatement_leaves_unused_goes() -> None:
    module = canonical(
        parse(
            11,
            "g (float[1,1,4] x) => (float[1,1,8] y) <float[0] r = {}, float[3] s = {1.0, 1.0, 2.0}> { y = Resize(x, r, s) }",
        )
    )
    assert list(module.graph.initializers) == ["s"]


# Functions.


FUNCTION = """
<domain: "local", opset_import: ["" : 10]>
flat <axes, axis> (x, low) => (y) {
    a = Unsqueeze<axes: ints = @axes>(x)
    b = Softmax<axis: int = @axis>(a)
    y = Clip<min = 0.1>(b)
}
"""


def test_function_bodies_are_restated_with_their_own_opset() -> None:
    model = parse(
        13,
        "g (float[N,3] x) => (float[1,N,3] y) { y = local.flat<axes=[0], axis=1>(x, x) }",
        FUNCTION,
        ', "local" : 1',
    )
    module = canonical(model)
    function = module.model.functions["local", "flat", ""]
    assert function.opset_imports == {"": 23}
    assert [node.op_type for node in function] == [
        *("Constant", "Unsqueeze", "Flatten", "Softmax", "Shape", "Reshape"),
        *("Constant", "CastLike", "Constant", "CastLike", "Clip"),
    ]
    constant = function[0]
    assert constant.attributes["value_ints"].ref_attr_name == "axes"
    assert len(module.graph.initializers) == 0
    for count in (2, 4):
        x = np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)
        e = np.exp(x[None] - x.max())
        same(run(proto(module), {"x": x}), [np.maximum(e / e.sum(), np.float32(0.1))], 1e-5)


def test_an_attribute_reference_without_a_form_is_refused() -> None:
    function = """<domain: "local", opset_import: ["" : 6]>
    add <axis> (x, b) => (y) { y = Add<axis: int = @axis, broadcast = 1>(x, b) }"""
    model = parse(
        6, "g (float[2,3] x, float[2] b) => (float[2,3] y) { y = local.add<axis=0>(x, b) }", function, ', "local" : 1'
    )
    assert _codes(model) == ["T0657"]


def test_an_operator_that_the_model_defines_itself_is_its_own() -> None:
    function = '<domain: "", opset_import: ["" : 13]> Swish (x) => (y) { s = Sigmoid(x) y = Mul(x, s) }'
    module = canonical(parse(13, "g (float[N] x) => (float[N] y) { y = Swish(x) }", function))
    assert [node.op_type for node in module.graph] == ["Swish"]


@needs_opset(27)
def test_newer_operators_are_carried_as_functions() -> None:
    graph = (
        "g (float[1,2,N] x, float[2,1,3] w) => (float[1,2,N] y, float[1,2,2] s) { y, s = CausalConvWithState(x, w) }"
    )
    module = canonical(parse(27, graph))
    node = module.graph[0]
    assert node.domain == "trtc.onnx"
    assert node.op_identifier() in module.model.functions
    assert module.model.opset_imports["trtc.onnx"] == 1
    restated = proto(module)
    for width in (3, 6):
        random = np.random.default_rng(width)
        x = random.standard_normal((1, 2, width)).astype(np.float32)
        w = random.standard_normal((2, 1, 3)).astype(np.float32)
        padded = np.pad(x, [(0, 0), (0, 0), (2, 0)])
        y = sum(padded[:, :, k : k + width] * w[:, 0, k][:, None] for k in range(3))
        same(run(restated, {"x": x, "w": w}), [y, padded[:, :, -2:]], 1e-5)


@needs_opset(27)
def test_a_body_that_depends_on_unknown_sizes_is_refused() -> None:
    graph = (
        "g (float[1,C,N] x, float[C,1,K] w) => (float[1,C,N] y, float[1,C,M] s) { y, s = CausalConvWithState(x, w) }"
    )
    assert _codes(parse(27, graph)) == ["T0655"]


@needs_opset(27)
def test_bodies_of_carried_functions_have_names_too() -> None:
    graph = 'g (float[1,N,4] q, float[1,N,4] k, float[1,N,4] v) => (float[1,N,4] y, float[1,1,4,4] s) { y, s = LinearAttention<q_num_heads = 1, kv_num_heads = 1, update_rule = "linear">(q, k, v) }'
    module = canonical(parse(27, graph))
    (function,) = module.model.functions.values()
    nodes = list(function.all_nodes())
    assert "Scan" in {node.op_type for node in nodes}
    assert all(node.name for node in nodes)
    assert len({node.name for node in nodes}) == len(nodes)


# Attention.


@needs_opset(25)
@pytest.mark.parametrize("mask", ["", "bool", "float"])
@pytest.mark.parametrize("causal", [0, 1])
def test_attention_with_valid_lengths_and_windows(mask: str, causal: int) -> None:
    given = f", {mask}[3,6] m" if mask else ""
    graph = (
        f"g (float[2,1,3,4] q, float[2,1,6,4] k, float[2,1,6,4] v, int64[2] n{given}) => (float[2,1,3,4] y) "
        f"{{ y = Attention<is_causal={causal}, left_window_size=2>(q, k, v, {'m' if mask else ''}, , , n) }}"
    )
    module = canonical(parse(25, graph))
    assert module.graph[-1].attributes["is_causal"].value == 0
    random = np.random.default_rng(causal)
    q = random.standard_normal((2, 1, 3, 4)).astype(np.float32)
    k, v = (random.standard_normal((2, 1, 6, 4)).astype(np.float32) for _ in range(2))
    n = np.array([4, 6])
    feeds = {"q": q, "k": k, "v": v, "n": n}
    score = q @ k.swapaxes(-1, -2) / 2
    column, place = np.arange(6), np.arange(3)[:, None] + (n - 3)[:, None, None]
    allowed = (column < n[:, None, None]) & (column >= place - 2)
    if causal:
        allowed &= column <= place
    if mask == "bool":
        feeds["m"] = np.array([[1, 1, 1, 1, 1, 0]] * 3, dtype=bool)
        allowed &= feeds["m"]
    if mask == "float":
        feeds["m"] = random.standard_normal((3, 6)).astype(np.float32)
        score = score + feeds["m"]
    score = np.where(allowed[:, None], score, -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    same(run(proto(module), feeds), [weight / weight.sum(-1, keepdims=True) @ v], 1e-5)


# Refusals.


@pytest.mark.parametrize(
    ("opset", "graph", "code"),
    [
        (11, "g (float[N] x) => (float[N] y) { y = Gelu(x) }", "T0650"),
        (11, "g (float[N] x) => (float[N] y) { y = Crop(x) }", "T0650"),
        (13, "g (float[N] x) => (float[N] y) { y = Relu<alpha=1.0>(x) }", "T0652"),
        (13, "g (float[N] x) => (float[N] y) { y = Relu(x, x) }", "T0652"),
        (13, "g (float[N,3] x) => (float[N,3] y) { y = Softmax<axis=-3>(x) }", "T0652"),
        (11, "g (float[N] x) => (float[1,N] y) { y = Unsqueeze(x) }", "T0652"),
        (1, 'g (float[N] x) => (float[N] y) { y = Cast<to="half">(x) }', "T0652"),
        pytest.param(26, "g (float[N] x) => (int32[N] y) { y = BitCast<to=6>(x) }", "T0653", marks=needs_opset(26)),
        pytest.param(
            25,
            "g (float[N] x) => (float[N] y) { c = Cast<to=26>(x) y = Cast<to=1>(c) }",
            "T0654",
            marks=needs_opset(25),
        ),
    ],
)
def test_refusals(opset: int, graph: str, code: str) -> None:
    assert set(_codes(parse(opset, graph))) == {code}


def test_an_opset_that_onnx_does_not_know() -> None:
    module = load_proto(parse(13, "g (float[N] x) => (float[N] y) { y = Relu(x) }"), canonical=False)
    module.model.opset_imports[""] = 99
    with pytest.raises(DiagnosticError) as error:
        canonicalize(module)
    assert [d.code for d in error.value.diagnostics] == ["T0651"]


def test_every_fault_is_reported_at_once() -> None:
    model = parse(13, "g (float[N] x) => (float[N] y) { z = Crop(x) y = Relu<alpha=1.0>(z) }")
    assert _codes(model) == ["T0650", "T0652"]


def test_ten_times_the_old_nodes_are_ten_times_the_work(count_calls: Callable[[Callable[[], object]], int]) -> None:
    small, large = _chain(100), _chain(1000)
    assert count_calls(lambda: canonicalize(large)) < 12 * count_calls(lambda: canonicalize(small))
    assert len(large.graph.initializers) == 1000


def _chain(length: int) -> Module:
    nodes = [
        onnx.helper.make_node("Unsqueeze" if at % 2 else "Squeeze", [f"v{at}"], [f"v{at + 1}"], axes=[0])
        for at in range(length)
    ]
    info = onnx.helper.make_tensor_value_info
    model = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "g", [info("v0", 1, [1, 3])], [info(f"v{length}", 1, [1, 3])]),
        opset_imports=[onnx.helper.make_opsetid("", 11)],
    )
    return load_proto(model, canonical=False)


def test_values_keep_what_is_declared_of_outputs() -> None:
    module = canonical(parse(10, "g (float[N] x) => (float[N] y, bool[N] m) { y, m = Dropout(x) }"))
    mask = module.graph.outputs[1]
    assert (mask.name, mask.dtype, len(mask.shape or ())) == ("m", oir.DataType.BOOL, 1)
