"""What older versions of ONNX Runtime get wrong is restated. The values come from numpy, whatever is installed here:
every restatement is also run by the newest ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

from trtc.evaluate import older, run_session, session

OLD = (1, 23)


def _model(graph: str, opset: int = 23, functions: str = "", imports: str = "") -> bytes:
    text = f'<ir_version: 11, opset_import: ["" : {opset}{imports}]> {graph} {functions}'
    return onnx.parser.parse_model(text).SerializeToString()


def _restated(model: bytes) -> bytes:
    found = older.repaired(model, OLD)
    assert found is not None
    onnx.checker.check_model(onnx.ModelProto.FromString(found), full_check=True)
    return found


def _run(model: bytes | Path, **feeds: np.ndarray) -> list[np.ndarray]:
    return list(run_session(session(model), feeds).values())


def _averages(x: np.ndarray, pads: list[int], kernel: int, stride: int) -> np.ndarray:
    rank = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
    places = tuple(range(2, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel,) * rank, places)
    return windows[(..., *[slice(None, None, stride)] * rank, *[slice(None)] * rank)].mean(tuple(range(-rank, 0)))


@pytest.mark.parametrize(
    ("pads", "stride"),
    [([0, 0, 1, 1], 1), ([1, 2, 2, 0], 2), ([2, 0, 2, 0], 1), ([0, 1, 2, 1, 2, 0], 1)],
)
def test_averages_that_count_padding(pads: list[int], stride: int) -> None:
    rank = len(pads) // 2
    dims = "N,2," + ",".join("HWD"[:rank])
    strides = [stride] * rank
    model = _model(
        f"g (float[{dims}] x) => (float[a,b,{','.join('cde'[:rank])}] y) {{ y = AveragePool<count_include_pad = 1, "
        f"kernel_shape = {[3] * rank}, strides = {strides}, pads = {pads}>(x) }}"
    )
    x = np.random.default_rng(0).standard_normal((3, 2, 5, 6, 4)[: rank + 2]).astype(np.float32)
    wanted = _averages(x, pads, 3, stride)
    for form in (model, _restated(model)):
        (y,) = _run(form, x=x)
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)


def test_averages_with_automatic_padding() -> None:
    model = _model(
        "g (float[N,2,H,W] x) => (float[a,b,c,d] y) { y = AveragePool<count_include_pad = 1, "
        'kernel_shape = [2, 2], auto_pad = "SAME_UPPER">(x) }'
    )
    x = np.random.default_rng(0).standard_normal((2, 2, 4, 5)).astype(np.float32)
    for form in (model, _restated(model)):
        np.testing.assert_allclose(_run(form, x=x)[0], _averages(x, [0, 0, 1, 1], 2, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("opset", "attributes"),
    [
        (18, "count_include_pad = 1, pads = [0, 0, 1, 1]"),
        (23, "pads = [0, 0, 1, 1]"),
        (23, "count_include_pad = 1, pads = [1, 1, 1, 1]"),
        (23, "count_include_pad = 1"),
    ],
)
def test_averages_that_are_right_stay(opset: int, attributes: str) -> None:
    model = _model(
        f"g (float[1,1,4,4] x) => (float[1,1,a,b] y) {{ y = AveragePool<kernel_shape = [2, 2], {attributes}>(x) }}",
        opset,
    )
    assert older.repaired(model, OLD) is None


@pytest.mark.parametrize(
    ("op", "values"),
    [("ReduceSum", [-1, 2]), ("ReduceMax", [-1, 2]), ("ReduceL1", [1, 2]), ("ReduceSumSquare", [1, 4])],
)
def test_reductions_of_no_axes(op: str, values: list[float]) -> None:
    model = _model(f"g (float[N] x) => (float[N] y) {{ y = {op}<noop_with_empty_axes = 1>(x) }}")
    restated = onnx.ModelProto.FromString(_restated(model))
    assert [node.op_type for node in restated.graph.node] == ["Constant", "Unsqueeze", op]
    assert _run(restated.SerializeToString(), x=np.array([-1, 2], np.float32))[0].tolist() == values
    assert older.repaired(model, (1, 24)) is None


def test_reversing_nothing() -> None:
    model = _model(
        "g (float[3,4] x, int64[3] n) => (float[3,4] y) { y = ReverseSequence<batch_axis = 0, time_axis = 1>(x, n) }"
    )
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    wanted = [[0, 1, 2, 3], [5, 4, 6, 7], [8, 9, 10, 11]]
    for form in (model, _restated(model)):
        (y,) = _run(form, x=x, n=np.array([0, 2, 1]))
        assert y.tolist() == wanted


def test_nodes_in_branches_and_functions() -> None:
    reverse = "ReverseSequence<batch_axis = 0, time_axis = 1>"
    model = _model(
        f"""g (bool c, float[2,3] x, int64[2] n) => (float[2,3] y)
        {{ y = If (c) <then_branch = t () => (float[2,3] a) {{ a = {reverse}(x, n) }},
                       else_branch = e () => (float[2,3] b) {{ b = own.turn(x, n) }}> }}""",
        functions=f'<domain: "own", opset_import: ["" : 23]> turn (x, n) => (y) {{ y = {reverse}(x, n) }}',
        imports=', "own" : 1',
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    restated = _restated(model)
    assert restated.count(b"ReverseSequence") == 2
    assert restated.count(b"Max") == 2
    for chosen in (True, False):
        (y,) = _run(restated, c=np.array(chosen), x=x, n=np.array([0, 3]))
        assert y.tolist() == [[0, 1, 2], [5, 4, 3]]


_QUANTIZE = (
    "q = QuantizeLinear<axis = 1, precision = 0>(x, s, z) y = DequantizeLinear<axis = 1, output_dtype = 0>(q, s, z)"
)


def test_quantization_of_opset_23_in_opset_21() -> None:
    model = _model(
        f"g (float[N,2] x) => (float[N,2] y) <float[2] s = {{0.5, 2}}, uint8[2] z = {{128, 0}}> {{ {_QUANTIZE} }}"
    )
    found = older.without_gaps(model)
    assert found is not None
    assert onnx.ModelProto.FromString(found).opset_import[0].version == 21
    onnx.checker.check_model(onnx.ModelProto.FromString(found))
    x = np.array([[0.75, 3], [-80, -1]], np.float32)
    for form in (model, found):
        assert _run(form, x=x)[0].tolist() == [[1, 4], [-64, 0]]


def test_quantization_beside_operators_of_opset_23() -> None:
    model = _model(
        f"""g (float[N,2] x) => (float[N,2] w) <float[2] s = {{0.5, 2}}, uint8[2] z = {{128, 0}},
           float[2] one = {{1, 1}}>
        {{ {_QUANTIZE} w = RMSNormalization(y, one) }}"""
    )
    found = older.without_gaps(model)
    assert found is not None
    assert [node.domain for node in onnx.ModelProto.FromString(found).graph.node] == ["com.microsoft", "", ""]
    x = np.array([[0.75, 3]], np.float32)
    for form in (model, found):
        np.testing.assert_allclose(_run(form, x=x)[0], np.array([[1, 4]]) / np.sqrt(8.5), rtol=1e-5)


def test_a_half_precision_accumulation_has_no_other_form() -> None:
    model = _model(
        """g (float[2] x) => (uint8[2] q) <float s = {0.5}, uint8 z = {0}>
        { q = QuantizeLinear<precision = 10>(x, s, z) }"""
    )
    assert older.without_gaps(model) is None


def test_weights_in_another_file(tmp_path: Path) -> None:
    """The restated model is no file; its weights are still found beside the original."""
    graph = onnx.parser.parse_graph("g (float[2] x) => (float[2] y) { a = Add(x, w) y = RoiAlignLess(a) }")
    graph.node[1].op_type = "ReduceSum"
    graph.node[1].attribute.append(onnx.helper.make_attribute("noop_with_empty_axes", 1))
    graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2], np.float32), "w"))
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 23)], ir_version=11)
    path = tmp_path / "m.onnx"
    onnx.save_model(model, path, save_as_external_data=True, size_threshold=0, location="w.bin")
    assert _run(path, x=np.array([3, 4], np.float32))[0].tolist() == [4, 6]
    assert older.repaired(path, OLD) is not None


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, allowed: np.ndarray | None = None) -> np.ndarray:
    """Of [heads, length, width]; the heads of `k` and `v` are repeated for those of `q`."""
    k, v = (np.repeat(part, len(q) // len(k), 0) for part in (k, v))
    score = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    score = score if allowed is None else np.where(allowed, score, -np.inf)
    weight = np.exp(score - score.max(-1, keepdims=True))
    return weight / weight.sum(-1, keepdims=True) @ v


def test_attention_with_fewer_heads_of_keys() -> None:
    flat = _model(
        "g (float[1,3,8] q, float[1,4,4] k, float[1,4,6] v) => (float[1,3,12] y) "
        "{ y = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v) }"
    )
    deep = _model(
        "g (float[1,4,3,2] q, float[1,2,4,2] k, float[1,2,4,3] v) => (float[1,4,3,3] y) { y = Attention(q, k, v) }"
    )
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal(shape).astype(np.float32) for shape in ((4, 3, 2), (2, 4, 2), (2, 4, 3)))
    wanted = _attention(q, k, v)
    feeds = {"q": q, "k": k, "v": v}
    for form in (deep, _restated(deep)):
        (y,) = _run(form, **{name: value[None] for name, value in feeds.items()})
        np.testing.assert_allclose(y[0], wanted, rtol=1e-4, atol=1e-5)
    for form in (flat, _restated(flat)):
        (y,) = _run(form, **{n: value.swapaxes(0, 1).reshape(1, value.shape[1], -1) for n, value in feeds.items()})
        np.testing.assert_allclose(y[0], wanted.swapaxes(0, 1).reshape(3, 12), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "inputs"), [("q_num_heads = 2, kv_num_heads = 2", "q, k, v"), ("scale = 1.0", "q, k, v, , p, p")]
)
def test_other_attention_stays(attributes: str, inputs: str) -> None:
    names = {"q": "1,3,8", "k": "1,4,8", "v": "1,4,8"} if "q_num" in attributes else dict.fromkeys("qkvp", "1,2,3,4")
    given = ", ".join(f"float[{shape}] {name}" for name, shape in names.items())
    model = _model(f"g ({given}) => (float[a,b,c] y) {{ y = Attention<{attributes}>({inputs}) }}")
    assert older.repaired(model, OLD) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_groups_of_values_far_from_zero(dtype: type) -> None:
    word = {np.float32: "float", np.float16: "float16"}[dtype]
    model = _model(
        f"g ({word}[N,4,H,W] x, {word}[4] s, {word}[4] b) => ({word}[N,4,H,W] y) "
        "{ y = GroupNormalization<num_groups = 2, epsilon = 1e-6>(x, s, b) }"
    )
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((3, 4, 5, 6)) * (0.01 if dtype is np.float32 else 1.0) + 50).astype(dtype)
    s, b = rng.standard_normal(4).astype(dtype), rng.standard_normal(4).astype(dtype)
    groups = x.astype(np.float64).reshape(3, 2, -1)
    unit = (groups - groups.mean(-1, keepdims=True)) / np.sqrt(groups.var(-1, keepdims=True) + 1e-6)
    wanted = unit.reshape(x.shape) * s.reshape(-1, 1, 1).astype(np.float64) + b.reshape(-1, 1, 1)
    tolerance = 2e-3 if dtype is np.float32 else 5e-3
    for form in (model, _restated(model)):
        (y,) = _run(form, x=x, s=s, b=b)
        np.testing.assert_allclose(y.astype(np.float64), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("name", "dtype"), [("float", np.float32), ("float16", np.float16)])
def test_a_mask_of_the_lowest_number_hides_no_key_where_it_is_on_all(name: str, dtype: type) -> None:
    model = _model(
        f"g ({name}[1,2,3,4] q, {name}[1,2,5,4] k, {name}[1,2,5,4] v, {name}[3,5] m) => ({name}[1,2,3,4] y) "
        "{ y = Attention<scale = 0.5>(q, k, v, m) }"
    )
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((1, 2, n, 4)).astype(dtype) for n in (3, 5, 5))
    mask = np.zeros((3, 5), dtype)
    mask[0] = np.finfo(dtype).min
    mask[1, :3] = np.finfo(dtype).min
    (y,) = _run(model, q=q, k=k, v=v, m=mask)
    wide = [a.astype(np.float64) for a in (q, k, v)]
    scores = wide[0] @ wide[1].swapaxes(-1, -2) * 0.5 + mask
    scores[:, :, 0] = 0.0  # what the lowest number leaves of any score
    weight = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = weight / weight.sum(-1, keepdims=True) @ wide[2]
    np.testing.assert_allclose(
        y, wanted, rtol=1e-2 if dtype == np.float16 else 1e-5, atol=2e-3 if dtype == np.float16 else 1e-6
    )


def test_a_mask_of_truths_stays() -> None:
    model = _model(
        "g (float[1,2,3,4] q, float[1,2,5,4] k, bool[3,5] m) => (float[1,2,3,4] y) { y = Attention(q, k, k, m) }"
    )
    assert older.repaired(model, (1, 30)) is None
