"""Inputs and outputs of the network are those of the graph, whatever the graph does with them."""

from __future__ import annotations

from emission_harness import build


def _inputs(built) -> list[str]:  # type: ignore[no-untyped-def]
    return [built.network.get_input(i).name for i in range(built.network.num_inputs)]


def test_input_as_output() -> None:
    built = build("(float[N,3] x) => (float[N,3] x_out) { x_out = Identity(x) }")
    assert built.types() == ["IDENTITY"]
    assert built.outputs() == {"x_out": ((-1, 3), "FLOAT")}


def test_constant_as_output() -> None:
    built = build(
        "(float[2] x) => (float[2] y, float[2] c) { c = Constant<value = float[2] {1.0, 2.0}>() \n y = Add(x, c) }"
    )
    assert list(built.outputs()) == ["y", "c"]
    assert built.types().count("IDENTITY") == 1


def test_one_tensor_as_two_outputs() -> None:
    built = build("(float[2] x) => (float[2] y, float[2] z) { y = Relu(x) \n z = Identity(y) }")
    assert list(built.outputs()) == ["y", "z"]
    assert built.types() == ["ACTIVATION", "IDENTITY"]


def test_unused_input_is_kept() -> None:
    built = build("(float[2] x, float[3] unused) => (float[2] y) { y = Relu(x) }")
    assert _inputs(built) == ["x", "unused"]
    built.plan()


def test_output_that_is_used_further() -> None:
    built = build("(float[2] x) => (float[2] y, float[2] z) { y = Relu(x) \n z = Exp(y) }")
    assert list(built.outputs()) == ["y", "z"]
    assert built.types() == ["ACTIVATION", "UNARY"]


def test_nodes_that_nobody_needs_are_left_out() -> None:
    built = build("(float[2] x) => (float[2] y) { z = Exp(x) \n y = Relu(x) }")
    assert built.layers() == [("Relu_1", "ACTIVATION")]


def test_double_is_float_in_the_engine_and_says_so() -> None:
    built = build("(double[N,4] x) => (double[N,4] y) <double c = {2.5}> { y = Mul(x, c) }")
    binding = built.emission.bindings[0]
    assert (binding.model_dtype, binding.engine_dtype, binding.differs) == ("DOUBLE", "FLOAT", True)
    assert built.emission.notes[0] == (
        "input `x` is double in the model and float in the engine: this TensorRT has no double"
    )
    assert built.outputs() == {"y": ((-1, 4), "FLOAT")}


def test_bindings_of_plain_types_do_not_differ() -> None:
    built = build("(float16[N,4] x, int64[4] i) => (float16[N,4] y) { c = Cast<to = 10>(i) \n y = Mul(x, c) }")
    assert [(b.name, b.engine_dtype, b.shape, b.differs) for b in built.emission.bindings] == [
        ("x", "HALF", ("N", "4"), False),
        ("i", "INT64", ("4",), False),
        ("y", "HALF", ("N", "4"), False),
    ]
    assert built.emission.notes == ()


def test_weights_are_owned_until_the_build() -> None:
    built = build("(float[4] x) => (float[4] y) <float[4] c = {1.0, 2.0, 3.0, 4.0}> { y = Add(x, c) }")
    assert [a.tolist() for a in built.emission.keepalive] == [[1.0, 2.0, 3.0, 4.0]]


def test_weights_that_tensorrt_does_not_give_back() -> None:
    built = build(
        "(bfloat16[N,1,4,4] x) => (bfloat16[N,1,3,3] y) <bfloat16[1,1,2,2] w = {16256, 16384, 16448, 16512}, "
        "bfloat16 c = {16384}> { a = Conv<kernel_shape = [2,2]>(x, w) \n y = Mul(a, c) }"
    )
    kept = {name: array.astype(float).reshape(-1).tolist() for name, array in built.emission.unreadable.items()}
    assert kept == {"Conv_0:kernel": [1.0, 2.0, 3.0, 4.0], "constant/c": [2.0]}


def test_function_bodies_are_emitted() -> None:
    built = build(
        '<ir_version: 10, opset_import: ["" : 23, "local" : 1]> g (float[N,3] x) => (float[N,3] y) '
        "{ y = local.twice(x) } "
        '<domain: "local", opset_import: ["" : 23]> twice (a) => (b) { b = Add(a, a) }'
    )
    assert built.types() == ["ELEMENTWISE"]
    assert built.outputs() == {"y": ((-1, 3), "FLOAT")}
