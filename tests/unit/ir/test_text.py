"""The textual form: what it says, that it reads back, and what it refuses."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnx_ir as oir
import pytest
from onnx import numpy_helper

from trtc.diagnostics import DiagnosticError
from trtc.ir.module import Module
from trtc.ir.text import from_text, to_text
from trtc.ir.text_names import Names, read_aliases
from trtc.ir.text_values import float_literal, parser_reads, summary

HEAD = '<ir_version: 11, opset_import: ["" : 23]>\n'


def module_of(text: str) -> Module:
    return Module(oir.from_proto(onnx.parser.parse_model(HEAD + text)))


def reread(module: Module) -> onnx.ModelProto:
    return from_text(to_text(module, full=True))


def with_weight(array: np.ndarray) -> Module:
    """A graph `y = Identity(w)` whose `w` is `array`."""
    tensor = oir.tensor(array)
    value = oir.Value(name="w", shape=oir.Shape(tensor.shape), type=oir.TensorType(tensor.dtype), const_value=tensor)
    node = oir.node("Identity", [value], name="n")
    node.outputs[0].name = "y"
    graph = oir.Graph([], node.outputs, nodes=[node], initializers=[value], opset_imports={"": 23}, name="g")
    return Module(oir.Model(graph, ir_version=11))


def test_the_short_form_is_this() -> None:
    module = module_of("""g (float[N,3] "x/1") => (float[M,3] z)
        <float[3] b = {0.1, -0.0, 1e-05}, float16[2] h = {15872, 48640}> {
          [n0] y = Add ("x/1", b)
          z = Concat <axis = 0> (y, y)
          [n2] k = my.ops.Op <lo = -1.5, axes: ints = [], names = ["p", "q"]> (y, "", h)
        }""")
    assert (
        to_text(module)
        == """<ir_version: 11, opset_import: ["" : 23]>
g (float[N,3] "x/1") => (float["2*N",3] z)
<
  float[3] b = {0.1, -0.0, 1e-05},
  float16[2] h = {15872, 48640}  # 1.5, -1.5
>
{
  [n0] y = Add ("x/1", b)  # float[N,3]
  z = Concat <axis = 0> (y, y)  # float[2*N,3]
  [n2] k = my.ops.Op <lo = -1.5, axes: ints = [], names = ["p", "q"]> (y, "", h)
}
"""
    )


def test_a_large_weight_stands_as_hash_and_statistics_and_does_not_load() -> None:
    array = np.arange(20, dtype=np.float32)
    array[3], array[4], array[5] = np.nan, np.inf, -np.inf
    text = to_text(with_weight(array))
    found = summary(oir.tensor(array))
    assert (found.low, found.high, found.nan, found.inf) == (0.0, 19.0, 1, 2)
    assert found.mean == pytest.approx((190 - 12) / 17)
    assert f"float[20] w  # sha256:{found.sha256} min 0 max 19 mean 10.47 nan 1 inf 2" in text
    assert text.startswith("# tensors shown by hash and statistics only: 1\n")
    with pytest.raises(DiagnosticError) as caught:
        from_text(text)
    assert caught.value.diagnostics[0].code == "T1103"
    # The parser itself reads the text all the same: comments and declarations are its own syntax.
    assert onnx.parser.parse_model(text).graph.value_info[0].name == "w"


def test_the_hash_is_of_the_bytes_as_onnx_stores_them() -> None:
    import hashlib

    array = np.arange(6, dtype=np.int64)
    assert summary(oir.tensor(array)).sha256 == hashlib.sha256(array.tobytes()).hexdigest()[:12]
    packed = oir.tensor(np.array([1, 2, 3], dtype=ml_dtypes.int4))
    assert summary(packed).sha256 == hashlib.sha256(bytes([0x21, 0x03])).hexdigest()[:12]


NUMBERS = [0.0, -0.0, 1.0, -1.5, 0.1, math.pi, 448.0, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize(
    "dtype",
    [
        np.float16,
        np.float32,
        np.float64,
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
    ],
    ids=lambda d: np.dtype(d).name,
)
def test_floats_read_back_bit_for_bit(dtype: np.dtype) -> None:
    array = np.array(NUMBERS, dtype=np.float64).astype(dtype)
    (back,) = reread(with_weight(array)).graph.initializer
    got = numpy_helper.to_array(back)
    assert got.dtype == array.dtype
    plain = ~np.isnan(array.astype(np.float64))
    bits = f"u{array.dtype.itemsize}"
    assert np.array_equal(got.view(bits)[plain], array.view(bits)[plain])
    assert np.isnan(got.astype(np.float64)[~plain]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_float_reads_back_as_itself(dtype: type) -> None:
    random = np.random.default_rng(7)
    bits = random.integers(0, np.iinfo(f"u{np.dtype(dtype).itemsize}").max, 4000, dtype=f"u{np.dtype(dtype).itemsize}")
    array = bits.view(dtype)
    array = array[np.isfinite(array) & (np.abs(array) >= np.finfo(dtype).smallest_normal)]
    assert array.size > 3000
    (back,) = reread(with_weight(array)).graph.initializer
    assert np.array_equal(numpy_helper.to_array(back), array)


@pytest.mark.parametrize(
    "array",
    [
        np.array([True, False, True]),
        np.array([-128, 0, 127], dtype=np.int8),
        np.array([0, 255], dtype=np.uint8),
        np.array([-32768, 32767], dtype=np.int16),
        np.array([0, 65535], dtype=np.uint16),
        np.array([-(2**31), 2**31 - 1], dtype=np.int32),
        np.array([0, 2**32 - 1], dtype=np.uint32),
        np.array([-(2**63), 2**63 - 1], dtype=np.int64),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([1 + 2j, complex(-0.0, math.inf)], dtype=np.complex64),
        np.array([[0.1 + 1e300j]], dtype=np.complex128),
        np.array([-8, 7, 3], dtype=ml_dtypes.int4),
        np.array([[0, 15], [9, 1]], dtype=ml_dtypes.uint4),
        np.array([0.5, -6.0, 1.5], dtype=ml_dtypes.float4_e2m1fn),
        np.array([1.0, 2.0, 0.5], dtype=ml_dtypes.float8_e8m0fnu),
        np.array(2.5, dtype=np.float32),
        np.zeros((2, 0, 3), dtype=np.float32),
    ],
    ids=lambda a: f"{a.dtype.name}-{'x'.join(map(str, a.shape)) or 'scalar'}",
)
def test_tensors_of_every_type_read_back(array: np.ndarray) -> None:
    (back,) = reread(with_weight(array)).graph.initializer
    got = numpy_helper.to_array(back)
    assert got.shape == array.shape
    assert got.dtype == array.dtype
    assert got.tobytes() == array.tobytes()


@pytest.mark.skipif(not hasattr(ml_dtypes, "int2"), reason="ml_dtypes without int2")
def test_two_bit_types_read_back_or_are_refused() -> None:
    module = with_weight(np.array([-2, 1, 0, -1, 1], dtype=ml_dtypes.int2))
    if parser_reads("int2[1] w = {1}"):
        (back,) = reread(module).graph.initializer
        assert oir.from_proto(back).numpy().tolist() == [-2, 1, 0, -1, 1]
    else:
        with pytest.raises(DiagnosticError, match="T1101"):
            to_text(module, full=True)


@pytest.mark.parametrize("array", [np.array([1e-45], np.float32), np.array([4e-320]), np.array([1e-40j], np.complex64)])
def test_subnormals_read_back_or_are_refused(array: np.ndarray) -> None:
    module = with_weight(array)
    if parser_reads("float[1] w = {1e-45}"):
        (back,) = reread(module).graph.initializer
        assert numpy_helper.to_array(back).tobytes() == array.tobytes()
    else:
        with pytest.raises(DiagnosticError, match="subnormal"):
            to_text(module, full=True)


STRINGS = ["", 'say "hi"', "back\\slash", "tab\tand\nline", "é ∂ 漢", "bidi \u202e", '# name: "a" = "b"']


def test_strings_read_back() -> None:
    node = oir.node("Op", [], {"s": STRINGS[3], "t": STRINGS}, name="n")
    node.outputs[0].name = "y"
    raw = oir.StringTensor([s.encode() for s in STRINGS], shape=oir.Shape([len(STRINGS)]))
    value = oir.Value(name="w", shape=raw.shape, type=oir.TensorType(oir.DataType.STRING), const_value=raw)
    graph = oir.Graph([], [], nodes=[node], initializers=[value], opset_imports={"": 23}, name="g")
    module = Module(oir.Model(graph, ir_version=11))
    back = reread(module).graph
    assert back.node[0].attribute[0].s.decode() == STRINGS[3]
    assert [s.decode() for s in back.node[0].attribute[1].strings] == STRINGS
    assert [s.decode() for s in back.initializer[0].string_data] == STRINGS
    # The short form keeps each of them in its line.
    short = to_text(module)
    assert [line for line in short.split("\n") if "\u202e" in line or "\t" in line] == []
    assert len(short.split("\n")) == 9


@pytest.mark.parametrize("value", [0.1, -0.0, 1e-5, 3.4028235e38, math.inf, -math.inf, math.nan, 16777216.0])
def test_attributes_keep_their_floats(value: float) -> None:
    node = oir.node("Op", [], {"f": value, "fs": [value, 1.0]}, name="n")
    node.outputs[0].name = "y"
    graph = oir.Graph([], node.outputs, nodes=[node], opset_imports={"": 23}, name="g")
    one, many = reread(Module(oir.Model(graph, ir_version=11))).graph.node[0].attribute
    assert np.float32(one.f).tobytes() == np.float32(value).tobytes() or math.isnan(value)
    assert (one.type, many.type) == (onnx.AttributeProto.FLOAT, onnx.AttributeProto.FLOATS)
    assert math.isnan(one.f) == math.isnan(value)
    assert np.float32(many.floats[0]).tobytes() == np.float32(one.f).tobytes()


def test_float_literals_are_the_shortest() -> None:
    texts = [float_literal(x) for x in (0.1, 1.0, 1e-5, 1e20, -0.0)]
    assert texts == ["0.1", "1.0", "1e-05", "1e+20", "-0.0"]
    assert float_literal(np.float64(0.1) + 0.2) == "0.30000000000000004"


HOSTILE = ["a\nb", "x\u202ey", "a b/c:0", "float", "seq", "1st", 'q"uote', "\x1b[2Jx", "a_b"]


def test_hostile_names_break_no_line_and_come_back() -> None:
    values = [oir.Value(name=n, shape=oir.Shape(["N"]), type=oir.TensorType(oir.DataType.FLOAT)) for n in HOSTILE]
    node = oir.node("Sum", values, name="node\r\nname")
    node.outputs[0].name = "out\u2028"
    graph = oir.Graph(values, node.outputs, nodes=[node], opset_imports={"": 23}, name="g\n}")
    module = Module(oir.Model(graph, ir_version=11))
    for full in (False, True):
        text = to_text(module, full=full)
        assert all(line.isprintable() for line in text.split("\n"))
        back = from_text(text)
        assert [v.name for v in back.graph.input] == HOSTILE
        assert list(back.graph.node[0].input) == HOSTILE
        assert (back.graph.name, back.graph.node[0].name) == ("g\n}", "node\r\nname")
        assert back.graph.output[0].name == "out\u2028"
    # `a\nb` may not become `a_b`, which is another value.
    plain = onnx.parser.parse_model(text)
    assert len({v.name for v in plain.graph.input}) == len(HOSTILE)


def test_aliases_are_read_only_from_the_head() -> None:
    names = Names(["a_b"], portable=True)
    assert [names.name("a\nb"), names.dim("N + 1"), names.graph("then/x")] == ["a_b_1", "N_1", "then_x"]
    lines = names.comments()
    assert read_aliases([*lines, "g () => () {}", '# name: "x" = "y"']) == {
        "a_b_1": "a\nb",
        "N_1": "N + 1",
        "then_x": "then/x",
    }


def test_dims_of_every_kind_read_back() -> None:
    kinds: list[list[int | str | None] | None] = [["N", "2*N + 1", "batch size", None, 3], [], None]
    values = [
        oir.Value(name=f"x{i}", shape=None if k is None else oir.Shape(k), type=oir.TensorType(oir.DataType.INT64))
        for i, k in enumerate(kinds)
    ]
    graph = oir.Graph(values, [], nodes=[], opset_imports={"": 23}, name="g")
    module = Module(oir.Model(graph, ir_version=11))
    # The short form shows what inference makes of them: every dim has a name.
    assert 'g (int64[N,"2*N + 1",batch_size,x0_3,3] x0, int64 x1, int64[] x2) => ()' in to_text(module)
    assert "g (int64[N,n_2_N_1,batch_size,?,3] x0, int64 x1, int64[] x2) => ()" in to_text(module, full=True)
    first, second, third = reread(module).graph.input
    assert [d.dim_param or d.dim_value or None for d in first.type.tensor_type.shape.dim] == kinds[0]
    assert second.type.tensor_type.HasField("shape")
    assert len(second.type.tensor_type.shape.dim) == 0
    assert not third.type.tensor_type.HasField("shape")


WHOLE = """g (float[N,3] x, bool c, seq(float[N]) s, optional(int64[2]) o) => (float[N,3] z)
   <float[3] b = {1.0, 2.0, 3.0}, float[N,3] y> {
     [n0] y = Add (x, b)
     [n1] z = If (c) <then_branch = "then" () => (float[N,3] t) <float[1] k = {2.5}> { t = Mul (y, k) },
                      else_branch = other () => (float[N,3] e) { e = my.ops.Fn <alpha = 2.0> (y, "") }>
     [n2] = Log (z)
     [n3] k2, "", k3 = Split <axis = -1, v = int64[2] {1, 2}, e: strings = [], tp = seq(float[N])> (z)
   }
   <domain: "my.ops", opset_import: ["" : 23]> Fn <beta, alpha: float = 1.0> (a, w) => (r)
   <float[M] q> { q = Elu <alpha: float = @alpha> (a)  r = Neg (q) }
"""


def test_the_full_form_of_everything_at_once_reads_back_equal() -> None:
    text = WHOLE.replace('"then"', "then")
    before = onnx.parser.parse_model(HEAD + text)
    after = reread(Module(oir.from_proto(before)))
    assert [n.SerializeToString() for n in after.graph.node] == [n.SerializeToString() for n in before.graph.node]
    assert after.graph.input == before.graph.input
    assert after.graph.output == before.graph.output
    assert [v.name for v in after.graph.value_info] == ["y"]
    assert after.graph.initializer == before.graph.initializer
    assert after.functions[0].node == before.functions[0].node
    assert after.functions[0].attribute_proto == before.functions[0].attribute_proto
    assert list(after.functions[0].attribute) == ["beta"]
    assert (after.functions[0].domain, after.functions[0].name) == ("my.ops", "Fn")
    assert after.opset_import == before.opset_import


def test_a_second_round_gives_the_same_text() -> None:
    module = module_of(WHOLE.replace('"then"', "then"))
    once = to_text(module, full=True)
    assert to_text(Module(oir.from_proto(from_text(once))), full=True) == once


def test_provenance_stands_behind_the_node() -> None:
    module = module_of("g (float[2] x) => (float[2] y) { [fused] y = Relu (x) }")
    node = module.graph.node(0)
    node.metadata_props["trtc.origin"] = '["conv1", "bn\\n1"]'
    node.metadata_props["trtc.rule"] = "fold_batch_norm"
    assert r"y = Relu (x)  # float[2] from conv1, bn\n1 by fold_batch_norm" in to_text(module)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda n: setattr(n, "domain", "my-ops"), "the operator `my-ops.Op`"),
        (lambda n: setattr(n, "op_type", "2Op"), "the operator `2Op`"),
        (lambda n: n.attributes.add(oir.AttrInt64("a b", 1)), "attribute `a b`: its name is no identifier"),
        (lambda n: n.attributes.add(oir.AttrTensors("ts", [oir.tensor([1.0])])), "attribute `ts`: a list of tensors"),
        (lambda n: n.attributes.add(oir.AttrString("s", "a\0b")), "a string with a zero byte"),
    ],
)
def test_what_the_syntax_cannot_express_is_refused(change, says: str) -> None:
    node = oir.node("Op", [], name="n")
    node.outputs[0].name = "y"
    change(node)
    module = Module(oir.Model(oir.Graph([], [], nodes=[node], opset_imports={"": 23}, name="g"), ir_version=11))
    with pytest.raises(DiagnosticError) as caught:
        to_text(module, full=True)
    assert [d.code for d in caught.value.diagnostics] == ["T1101"]
    assert says in caught.value.diagnostics[0].message
    assert "Op" in to_text(module)  # the short form shows it all the same


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("g (float[N] x) => (float[N] y) { y = Relu(x }", "}", "Expected character ) not found"),
        ("g (flot[N] x) => () { }", "[", "not found"),
        ("g (float[N] é) => () { }", "é", "not found"),
        ("g () => () { y = Op <a = > () }", ">", ""),
    ],
)
def test_a_parse_error_has_its_place(text: str, place: str, said: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        from_text(HEAD + text, "m.onnxtxt")
    (found,) = caught.value.diagnostics
    assert found.code == "T1102"
    assert said in found.message
    assert "Error context" not in found.message
    assert found.span is not None
    assert (found.span.source.path, found.span.line) == ("m.onnxtxt", 2)
    assert found.span.text == place


def test_text_that_ends_too_early_is_marked_at_its_end() -> None:
    with pytest.raises(DiagnosticError) as caught:
        from_text("g () => () {\n  y = Relu(x)\n\n")
    (found,) = caught.value.diagnostics
    assert found.span is not None
    assert (found.span.line, found.span.text) == (2, ")")


def test_a_zero_byte_does_not_cut_the_text() -> None:
    with pytest.raises(DiagnosticError, match="zero byte"):
        from_text(HEAD + "g () => () { } \0 y = Op()")
