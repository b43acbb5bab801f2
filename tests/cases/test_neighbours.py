"""Small models near the hard cases: other operators, ranks, axes and types with the same traps, through the chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import neighbours_arithmetic
import neighbours_control
import neighbours_indexing
import neighbours_interfaces
import neighbours_normalizing
import neighbours_numbers
import neighbours_shapes
import neighbours_windows
import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from neighbours import Case, check, truth
from onnx import TensorProto, helper, numpy_helper

import trtc.backend
from trtc.diagnostics import DiagnosticError
from trtc.evaluate import older

TABLES = (
    *(neighbours_windows, neighbours_normalizing, neighbours_shapes, neighbours_arithmetic),
    *(neighbours_indexing, neighbours_control, neighbours_interfaces, neighbours_numbers),
)
CASES: dict[str, Case] = {name: case for table in TABLES for name, case in table.CASES.items()}


#: From which ONNX Runtime on a case has a truth, and why; the reference of onnx of that time has none either.
NEWER_RUNTIME = {
    "avgpool_dilated_incl_ceil": ((1, 25), "takes the end of another axis as the end of the padding"),
    "resize_more": ((1, 27), "refuses negative axes of Resize"),
    "lstm_layout1": ((1, 24), "has no batch-first form"),
}


#: What ONNX Runtime computes by way of doubles before 1.32: integers beyond 2**53 lose their last bits.
TRUTHS: dict[str, Callable[..., list[np.ndarray]]] = {
    "int_div_mod": lambda a, b: [abs(a) // abs(b) * np.sign(a) * np.sign(b), np.mod(a, b), np.fmod(a, b)],
}


def test_names_are_used_once() -> None:
    assert len(CASES) == sum(len(table.CASES) for table in TABLES)


@pytest.mark.parametrize("name", CASES)
def test_neighbour(name: str) -> None:
    case = CASES[name]
    since, reason = NEWER_RUNTIME.get(name, ((0, 0), ""))
    if older.version(ort.__version__) < since:
        pytest.skip(f"ONNX Runtime {ort.__version__} {reason}")
    compiled = trtc.backend.prepare(case.model)
    assert case.feeds
    for feeds in case.feeds:
        own = TRUTHS.get(name)
        check(compiled.run(feeds), own(**feeds) if own is not None else truth(case.model, feeds))


def functions(text: str) -> Any:
    return onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21, "l" : 1]>' + text)


X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            # An attribute of the call, and its default.
            "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { y = l.F<alpha = 0.5>(x) z = l.F(x) }"
            '<domain: "l", opset_import: ["" : 21]>'
            "F <alpha: float = 0.1>(a) => (b) { t = LeakyRelu<alpha: float = @alpha>(a) b = Neg(t) }",
            [-np.where(X < 0, X * 0.5, X), -np.where(X < 0, X * np.float32(0.1), X)],
        ),
        (
            # Inner names that are those of the caller.
            "g (float[2,3] x) => (float[?,?] y) { t = l.G(x) y = Add(t, x) }"
            '<domain: "l", opset_import: ["" : 21, "l" : 1]> G (x) => (y) { t = l.H(x) y = Mul(t, x) }'
            '<domain: "l", opset_import: ["" : 21]> H (x) => (t) { c = Constant<value = float{2.0}>() t = Mul(x, c) }',
            [2 * X * X + X],
        ),
        (
            # An output that is an input of the function.
            "g (float[2,3] x) => (float[?,?] y, float[?,?] z) { y, z = l.G(x) }"
            '<domain: "l", opset_import: ["" : 21]> G (x) => (a, x) { a = Neg(x) }',
            [-X, X],
        ),
        (
            # An optional input that one call leaves out.
            "g (float[2,3] x, float w) => (float[?,?] y, float[?,?] z) { y = l.S(x, w) z = l.S(x) }"
            '<domain: "l", opset_import: ["" : 21]> S (a, q) => (b) { b = Clip(a, q) }',
            [np.maximum(X, 1), X],
        ),
        (
            # A branch that captures a value of the function.
            "g (float[2,3] x) => (float[?,?] y) <bool k = {1}> { y = l.G(x, k) }"
            '<domain: "l", opset_import: ["" : 21]> G (x, k) => (y) { n = Exp(x) y = If (k) <'
            "then_branch = t () => (float[2,3] a) { a = Add(x, n) },"
            "else_branch = e () => (float[2,3] b) { b = Sub(x, n) }> }",
            [X + np.exp(X)],
        ),
        (
            # The opset of the function, in which Softmax normalizes everything from its axis on.
            "g (float[2,3] x) => (float[?,?] y, float[?,?] z) { y = l.S<axis = 0>(x) z = l.S<axis = 1>(x) }"
            '<domain: "l", opset_import: ["" : 11]> S <axis>(a) => (b) { b = Softmax<axis: int = @axis>(a) }',
            [np.exp(X) / np.exp(X).sum(), np.exp(X) / np.exp(X).sum(1, keepdims=True)],
        ),
    ],
)
def test_functions(text: str, expected: list[np.ndarray]) -> None:
    compiled = trtc.backend.prepare(functions(text))
    feeds = {name: X if name == "x" else np.array(1, np.float32) for name in compiled.interface.inputs}
    check(compiled.run(feeds), expected)


def test_batch_normalization_that_trains() -> None:
    text = "g (float[2,3,4] x) => (float[2,3,4] y) <float[3] s = {1,1,1}> "
    text += "{ y, m, v = BatchNormalization<training_mode = 1>(x, s, s, s, s) }"
    x = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    expected = (x - x.mean((0, 2), keepdims=True)) / np.sqrt(x.var((0, 2), keepdims=True) + 1e-5) + 1
    check(trtc.backend.prepare(functions(text)).run([x]), [expected])


def test_half_precision_rounds_a_sentinel_to_infinity() -> None:
    """A row that is masked by it throughout has no softmax. A sentinel that float16 holds has: `fp16_mask`."""
    text = "g (float16[2] x, bool[2] m) => (float16[2] y) <float n = {-3.4e38}> "
    text += "{ k = Cast<to = 10>(n) w = Where(m, x, k) y = Softmax(w) }"
    compiled = trtc.backend.prepare(functions(text))
    x = np.zeros(2, np.float16)
    check(compiled.run([x, np.array([True, False])]), [np.array([1, 0], np.float16)])
    assert np.isnan(np.asarray(compiled.run([x, np.array([False, False])])[0])).all()


def test_odd_names() -> None:
    inner = 'weird/with:chars "q" é\n<x>'
    nodes = [
        helper.make_node("Add", ["in put/0", "w:0"], [inner], name="a\nb"),
        helper.make_node("Neg", [inner], ["o{}"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("in put/0", TensorProto.FLOAT, ["batch size", 3])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch size", 3]) for name in ("o{}", inner)],
        [numpy_helper.from_array(np.ones(3, np.float32), "w:0")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    check(trtc.backend.prepare(model).run({"in put/0": X}), [-X - 1, X + 1])


def test_a_long_name() -> None:
    name = "n" * 5000
    model = functions(f"g (float[2,3] x) => (float[2,3] y) {{ {name} = Exp(x) y = Neg({name}) }}")
    check(trtc.backend.prepare(model).run([X]), [-np.exp(X)])


def refusal(text: str) -> list[str]:
    with pytest.raises(DiagnosticError) as caught:
        trtc.backend.prepare(functions(text))
    return [f"{d.code} {d.message}" for d in caught.value.diagnostics]


def test_an_output_of_another_dtype_is_refused() -> None:
    assert refusal("g (float[2] x) => (int8[2] y) { y = Neg(x) }") == [
        "T0581 the model declares the output `y` i8, but what it computes is f32"
    ]


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ('Resize<mode = "nearst">(x, , s)', "attribute `mode` of Resize `Resize_0` is `nearst`"),
        ('Resize<nearest_mode = "up">(x, , s)', "attribute `nearest_mode` of Resize `Resize_0` is `up`"),
        ('Pad<mode = "mirror">(x, p)', "attribute `mode` of Pad `Pad_0` is `mirror`"),
        (
            'MaxPool<kernel_shape = [2,2], auto_pad = "SAME">(x)',
            "attribute `auto_pad` of MaxPool `MaxPool_0` is `SAME`",
        ),
        ('DepthToSpace<blocksize = 1, mode = "X">(x)', "attribute `mode` of DepthToSpace `DepthToSpace_0` is `X`"),
        ('Gelu<approximate = "erf">(x)', "attribute `approximate` of Gelu `Gelu_0` is `erf`"),
    ],
)
def test_names_that_an_operator_does_not_define_are_refused(node: str, words: str) -> None:
    text = "g (float[1,1,4,4] x) => (float[?,?,?,?] y) <float[4] s = {1,1,2,2}, int64[8] p = {0,0,1,1,0,0,1,1}> "
    assert refusal(f"{text} {{ y = {node} }}") == [f"T0622 {words}"]


@pytest.mark.parametrize("pads", ["0,0,0,68719476736", "0,0,2097152,1073741824"])
def test_tensors_that_no_gpu_holds_are_refused(pads: str) -> None:
    (found,) = refusal(f"g (float[1,16] x) => (float[?,?] y) <int64[4] p = {{{pads}}}> {{ y = Pad(x, p) }}")
    assert found.startswith("T0701 1 node cannot be built by ")


def test_an_output_that_is_an_input_is_refused() -> None:
    """One tensor has one name in TensorRT, and is one or the other."""
    with pytest.raises(DiagnosticError, match="`x` is an output as well") as caught:
        trtc.backend.prepare(functions("g (float[2] x) => (float[2] x, float[2] y) { y = Neg(x) }"))
    assert [d.code for d in caught.value.diagnostics] == ["T0701"]
