# ruff: noqa: E501
"""What cannot be emitted is reported whole, before anything is added; what TensorRT refuses is never silent."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from emission_harness import build, module_of, trt

from trtc import emit, targets
from trtc.diagnostics import Diagnostic, DiagnosticError, render
from trtc.emit.scope import Scope
from trtc.emit.weights import convert


def _refused(text: str) -> Diagnostic:
    with pytest.raises(DiagnosticError) as error:
        build(text)
    return error.value.diagnostics[0]


def test_everything_at_once_counted_by_operator() -> None:
    found = _refused(
        "(float[N,1,8,8] x, bool[4] m) => (float[N,1,P,Q] y, int64[1,R] i, int64[1,S] j, float[N,1,P,Q] z) "
        "{ i = NonZero(x) \n j = NonZero(m) \n y = LpPool<kernel_shape = [2,2], dilations = [2,2]>(x) \n z = Exp(y) }"
    )
    assert found.code == "T0701"
    assert found.message.startswith("3 nodes cannot be built by tensorrt_rtx")
    assert "(NonZero ×2, LpPool ×1)" in found.message
    text = render(found)
    assert "NonZero ×2: no layer of tensorrt_rtx for this operator is known to trtc" in text
    assert "the size of its result depends on the data" in text
    assert "cut the model before it" in text
    assert "at `NonZero_0`, `NonZero_1`" in text
    assert "LpPool ×1: LpPool with dilation" in text
    assert [f["node"] for f in found.data["findings"]] == ["NonZero_0", "NonZero_1", "LpPool_2"]
    assert found.status == 1


def test_nothing_is_added_before_the_report() -> None:
    target = targets.load("tensorrt_rtx")
    network = target.network(target.builder())
    with pytest.raises(DiagnosticError):
        emit.emit(module_of("(float[4] x) => (int64[1,N] y) { a = Relu(x) \n y = NonZero(a) }"), target, network)
    assert (network.num_layers, network.num_inputs) == (0, 0)


def test_what_only_follows_is_not_reported() -> None:
    found = _refused(
        "(float[N,4] x, bool c) => (float[N,4] y) { y0 = If (c) <then_branch = t () => (float[A,B] a) { a = Identity(x) }, "
        "else_branch = e () => (float b) { b = ReduceMax<keepdims = 0>(x) }> \n z = Exp(y0) \n y = Relu(z) }"
    )
    assert [f["op"] for f in found.data["findings"]] == ["If"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(float[N,4] x, int64[1] a) => (float[N,1] y) { y = ReduceSum(x, a) }", "the axes is computed at run time"),
        ("(float[N,6] x, int64[K] s) => (float[N,A] a, float[N,B] b) { a, b = Split<axis = 1>(x, s) }", "the number of elements of `s` is not known"),
        ("(int64[4,4] x) => (int64[4,4] y) { y = MatMul(x, x) }", "`x` is int64; this is built for"),
        ("(float[N,5000] x) => (float[N,4000] y, int64[N,4000] i) <int64[1] k = {4000}> { y, i = TopK(x, k) }", "k = 4,000"),
        ('(float[4,4] x, int64[1,3] i, float[1,3] u) => (float[4,4] y) { y = ScatterElements<reduction = "add">(x, i, u) }', "do not cover the other axes"),
        ("(float[N,4] a, float[N,4] b) => (float[N,4] y) { y = Mod(a, b) }", "fmod=0"),
        ("(string[4] x) => (string[4] y) { y = Identity(x) }", "`x` is string"),
        ("(float[1,1,1,1,1,1,1,1,2] x) => (float[1,1,1,1,1,1,1,1,2] y) { y = Relu(x) }", "has rank 9"),
        ("(float x) => (int16 y) <float s = {0.1}, int16 z = {0}> { y = QuantizeLinear(x, s, z) }", "quantization to int16"),
        ("(float[4] x, float[K] s) => (int8[4] y) <int8 z = {3}> { y = QuantizeLinear(x, s, z) }", "a scale or zero point whose size is not known"),
        ('(float[1,1,4,4] x) => (float[1,1,2,2] y) <int64[4] s = {1, 1, 2, 2}> { y = Resize<antialias = 1, mode = "linear">(x, "", "", s) }', "antialias=1"),
        ("(float[3,4,5,6,7,8] x, float[1,4,1,1,1,1] w) => (float[3,1,5,6,7,8] y) { y = Conv(x, w) }", "rank 6"),
    ],
)  # fmt: skip
def test_reasons(text: str, reason: str) -> None:
    found = _refused(text)
    assert found.code == "T0701"
    assert any(reason in note for note in found.notes), found.notes


def test_the_way_out_is_given() -> None:
    found = _refused("(float[N,4] x, int64[1] a) => (float[N,1] y) { y = ReduceSum(x, a) }")
    assert found.help == "ReduceSum: make `a` a constant"


def _scope() -> tuple[Scope, object]:
    target = targets.load("tensorrt_rtx")
    builder = target.builder()
    network = target.network(builder)
    return Scope(module_of("(float[4] x) => (float[4] y) { y = Relu(x) }"), target, network, target.logger), builder


def test_a_layer_that_tensorrt_does_not_make_carries_its_words() -> None:
    scope, _builder = _scope()
    scope.begin(scope.module.graph[0])
    x = scope.net.add_input("x", trt.float32, (2, 5000))
    with pytest.raises(DiagnosticError) as error:
        scope.add(scope.net.add_topk(x, trt.TopKOperation.MAX, 4000, 2), "largest")
    found = error.value.diagnostics[0]
    assert (found.code, found.node) == ("T0702", "Relu_0")
    assert found.message == "Relu: TensorRT refused the layer `Relu_0/largest`"
    assert "TopK K: 4000" in found.notes[0]
    assert "cudaError" not in render(found)


def test_a_mistake_that_shows_only_in_the_shape() -> None:
    scope, _builder = _scope()
    x = scope.net.add_input("x", trt.float32, (2, 3))
    with pytest.raises(DiagnosticError) as error:
        scope.add(scope.net.add_shuffle(x), "bad", reshape_dims=(7,))
    assert error.value.diagnostics[0].code == "T0702"
    assert "volume" in error.value.diagnostics[0].notes[0]


def test_a_setter_that_keeps_the_old_value() -> None:
    scope, _builder = _scope()
    x = scope.net.add_input("x", trt.float32, (1, 1, 8, 8))
    with pytest.raises(DiagnosticError) as error:
        scope.add(scope.net.add_pooling_nd(x, trt.PoolingType.MAX, (2, 2)), "pool", stride_nd=(0, 0))
    found = error.value.diagnostics[0]
    assert found.code == "T0703"
    assert found.message == "TensorRT refused stride_nd = (0, 0) and kept (1, 1)"


def test_double_that_overflows_float() -> None:
    module = module_of("(double[1] x) => (double[1] y) <double[1] c = {1e300}> { y = Mul(x, c) }")
    with pytest.raises(DiagnosticError) as error:
        build(module)
    found = error.value.diagnostics[0]
    assert (found.code, found.node) == ("T0705", "Mul_0")
    assert "1e+300" in found.message


def test_int64_without_int64() -> None:
    """TensorRT 8.6 holds int64 as int32: what fits is converted, what does not is an error, never a wrap."""
    from trtc.emit.facts import Refusal

    fits = convert(np.asarray([5, -7]), "INT32", "c")
    assert (fits.dtype, fits.tolist()) == (np.int32, [5, -7])
    with pytest.raises(Refusal, match="4294967301"):
        convert(np.asarray([2**32 + 5]), "INT32", "c")
    clamped = convert(np.asarray([2**63 - 1, -(2**63)]), "INT32", "c", clamp=True)
    assert clamped.tolist() == [2**31 - 1, -(2**31)]


def test_a_target_without_a_type_is_asked_before() -> None:
    target = targets.load("tensorrt_rtx")
    poorer = dataclasses.replace(target.capabilities, dtypes=target.capabilities.dtypes - {"BF16"})
    findings = emit.check(
        module_of("(bfloat16[4] x) => (bfloat16[4] y) { y = Relu(x) }"),
        dataclasses.replace(target, capabilities=poorer),
    )
    assert [f.reason for f in findings] == [
        "network input `x` is bfloat16, which this TensorRT has no tensors of",
        "input `x` is bfloat16, which this TensorRT has no tensors of",
    ]
