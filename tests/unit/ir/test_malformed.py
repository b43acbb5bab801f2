"""Every kind of broken or hostile file is refused with its code, the names and numbers that matter, and at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import malformed as m
import onnx
import pytest

from trtc import ir
from trtc.diagnostics import DiagnosticError, explain
from trtc.ir.loader import Limits, load

INT64 = onnx.TensorProto.INT64
_LEAKY = m.field(5, m.field(1, "alpha") + m.field(4, "0.1") + m.field(20, 3))
_SUBGRAPH = m.graph([m.node("Neg", ["q"], ["z"], name="inner")], outputs=[m.info("z")])
_HUGE = m.tensor("s", [3], m.field(9, m.int64s(1 << 62, 1 << 62, 16)), dtype=INT64)
_BRANCH = m.field(5, m.field(1, "then_branch") + m.field(6, _SUBGRAPH) + m.field(20, 5))
_MIXED = m.field(5, m.field(1, "a") + m.field(8, 3) + m.field(20, 3))
_EMPTY_FUNCTION = (
    m.field(1, "F") + m.field(4, "a") + m.field(5, "b") + m.field(9, m.field(2, 17)) + m.field(10, "local")
)
_CALL = [f"F{i}" for i in range(41)]

#: name -> (bytes, code, words of the message)
CASES: dict[str, tuple[bytes, str, tuple[str, ...]]] = {
    "truncated": (m.simple(m.node("Relu", "x", "y"))[:-12], "T0402", ("truncated", "bytes")),
    "empty": (b"", "T0402", ("empty", "0 bytes")),
    "no_graph": (m.field(1, 8) + m.field(8, m.field(2, 17)), "T0402", ("no graph",)),
    "overlong_varint": (m.field(1, 8) + b"\x28" + b"\xff" * 11, "T0402", ("more than 10 bytes",)),
    "wire_type_7": (m.field(1, 8) + b"\x3f\x00", "T0402", ("wire type 7",)),
    "wrong_wire_type": (m.field(1, 8) + m.field(7, 5), "T0402", ("field 7", "ModelProto", "wrong wire type")),
    "field_zero": (m.field(1, 8) + b"\x02\x00", "T0402", ("field number 0",)),
    "two_graphs": (m.simple(m.node("Relu", "x", "y")) + m.field(7, b""), "T0402", ("field 7 twice",)),
    "text": (b'ir_version: 8\ngraph { name: "g" }\n' * 4, "T0402", ("text",)),
    "lfs_pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "T0402", ("Git LFS",)),
    "zip": (b"PK\x03\x04" + bytes(60), "T0402", ("zip",)),
    "safetensors": ((40).to_bytes(8, "little") + b'{"w":{"dtype":"F32"}}' + bytes(60), "T0402", ("safetensors",)),
    "name_not_utf8": (m.simple(m.node("Relu", "x", "y", m.field(3, b"\xff\xfe"))), "T0402", ("UTF-8",)),
    "missing_tensor": (
        m.simple(m.node("Add", ["x", "nowhere"], "y", name="add")),
        "T0411",
        ("`add`", "`nowhere`"),
    ),
    "missing_in_subgraph": (
        m.simple(m.node("If", ["x"], ["y"], _BRANCH)),
        "T0411",
        ("`inner`", "`q`"),
    ),
    "missing_output": (m.simple(m.node("Relu", "x", "z")), "T0412", ("`y`",)),
    "raw_too_short": (m.add_weight(m.tensor("w", [4], m.field(9, bytes(12)))), "T0407", ("`w`", "12", "16")),
    "raw_too_long": (m.add_weight(m.tensor("w", [4], m.field(9, bytes(20)))), "T0407", ("`w`", "20", "16")),
    "large_raw_too_short": (
        m.add_weight(m.tensor("w", [1000], m.field(9, bytes(3996)))),
        "T0407",
        ("`w`", "3,996", "4,000"),
    ),
    "float_data_count": (
        m.add_weight(m.tensor("w", [4], m.field(4, m.floats(1, 3)))),
        "T0407",
        ("`w`", "float_data has 2", "wants 4"),
    ),
    "int32_data_count": (
        m.add_weight(m.tensor("w", [4], m.field(5, b"\x01\x80\x01\x02"), dtype=onnx.TensorProto.INT8)),
        "T0407",
        ("int32_data has 3", "wants 4"),
    ),
    "int4_packing": (
        m.add_weight(m.tensor("w", [5], m.field(9, bytes(2)), dtype=onnx.TensorProto.INT4)),
        "T0407",
        ("2 bytes", "INT4 [5] wants 3"),
    ),
    "complex_count": (
        m.add_weight(m.tensor("w", [2], m.field(4, m.floats(1, 2, 3)), dtype=onnx.TensorProto.COMPLEX64)),
        "T0407",
        ("float_data has 3", "wants 4"),
    ),
    "string_count": (
        m.add_weight(m.tensor("w", [2], m.field(6, b"a"), dtype=onnx.TensorProto.STRING)),
        "T0407",
        ("string_data has 1", "wants 2"),
    ),
    "wrong_field": (
        m.add_weight(m.tensor("w", [2], m.field(7, b"\x01\x02"))),
        "T0407",
        ("int64_data", "float_data"),
    ),
    "no_data": (m.add_weight(m.tensor("w", [4])), "T0407", ("float_data has 0", "wants 4")),
    "data_twice": (
        m.add_weight(m.tensor("w", [1], m.field(9, bytes(4)), m.field(4, m.floats(1)))),
        "T0407",
        ("twice",),
    ),
    "negative_dims": (
        m.add_weight(m.tensor("w", [-4, -1], m.field(9, bytes(16)))),
        "T0408",
        ("`w`", "negative", "-4"),
    ),
    "dims_overflow": (
        m.add_weight(m.tensor("w", [1 << 62, 1 << 62, 16], m.field(9, b""))),
        "T0408",
        ("`w`", "64-bit"),
    ),
    "dims_overflow_beside_zero": (
        m.add_weight(m.tensor("w", [0, 1 << 62, 1 << 62], m.field(9, b""))),
        "T0408",
        ("64-bit",),
    ),
    "shape_overflow": (
        m.model(
            m.graph(
                [m.node("ConstantOfShape", "s", "c", name="fill"), m.node("Shape", "c", "y")],
                weights=[_HUGE],
                outputs=[m.info("y", [3], INT64)],
            )
        ),
        "T0408",
        ("`fill`", "64-bit"),
    ),
    "rank_of_weight": (
        m.add_weight(m.tensor("w", [1] * 65, m.field(9, bytes(4)))),
        "T0408",
        ("`w`", "rank 65", "64"),
    ),
    "rank_of_input": (
        m.model(m.graph([m.node("Relu", "x", "y")], inputs=[m.info("x", [1] * 70)], outputs=[m.info("y")])),
        "T0408",
        ("`x`", "rank 70"),
    ),
    "rank_bomb": (
        m.model(
            m.graph(
                [m.node("ConstantOfShape", "s", "y", name="bomb")],
                inputs=[m.info("s", [2_000_000_000], INT64)],
                outputs=[m.field(1, "y") + m.field(2, m.field(1, m.field(1, 1)))],
            )
        ),
        "T0408",
        ("`bomb`", "2,000,000,000", "rank"),
    ),
    "unknown_dtype": (m.add_weight(m.tensor("w", [1], m.field(9, bytes(4)), dtype=99)), "T0409", ("`w`", "99")),
    "undefined_dtype": (m.add_weight(m.tensor("w", [1], m.field(9, bytes(4)), dtype=0)), "T0409", ("`w`", "0")),
    "unknown_input_dtype": (
        m.model(m.graph([m.node("Relu", "x", "y")], inputs=[m.info("x", [4], 77)], outputs=[m.info("y")])),
        "T0409",
        ("`x`", "77"),
    ),
    "segment": (
        m.add_weight(m.tensor("w", [1], m.field(3, m.field(1, 0)), m.field(9, bytes(4)))),
        "T0403",
        ("`w`", "segments"),
    ),
    "attribute_type": (
        m.simple(m.node("LeakyRelu", "x", "y", _LEAKY, name="act")),
        "T0414",
        ("`act`", "`alpha`", "STRING", "FLOAT"),
    ),
    "attribute_twice": (
        m.simple(m.node("LeakyRelu", "x", "y", *[m.field(5, m.field(1, "alpha") + m.field(20, 1))] * 2, name="act")),
        "T0414",
        ("`act`", "`alpha`", "twice"),
    ),
    "attribute_holds_other": (
        m.simple(
            m.node("Own", "x", "y", m.field(5, m.field(1, "a") + m.field(8, 3) + m.field(20, 3)), domain="c", name="n")
        )
        + m.field(8, m.field(1, "c") + m.field(2, 1)),
        "T0414",
        ("`a`", "STRING", "INTS"),
    ),
    "no_op_type": (m.simple(m.field(1, "x") + m.field(2, "y")), "T0403", ("no operator type",)),
    "duplicate_producer": (
        m.simple(m.node("Relu", "x", "y", name="one"), m.node("Neg", "x", "y", name="two")),
        "T0410",
        ("`y`", "`one`", "`two`", "twice"),
    ),
    "duplicate_in_one_node": (m.simple(m.node("Split", "x", "yy", name="one")), "T0410", ("`y`", "twice")),
    "input_redefined": (
        m.simple(m.node("Relu", "x", "x", name="again"), m.node("Neg", "x", "y")),
        "T0410",
        ("`again`", "input `x`"),
    ),
    "initializer_redefined": (
        m.model(
            m.graph(
                [m.node("Relu", "x", "w", name="again"), m.node("Add", "xw", "y")],
                weights=[m.tensor("w", [1], m.field(9, bytes(4)))],
                inputs=[m.info("x")],
                outputs=[m.info("y")],
            )
        ),
        "T0410",
        ("`again`", "initializer `w`"),
    ),
    "duplicate_initializer": (
        m.model(
            m.graph(
                [m.node("Add", "xw", "y")],
                weights=[m.tensor("w", [1], m.field(9, bytes(4)))] * 2,
                inputs=[m.info("x")],
                outputs=[m.info("y")],
            )
        ),
        "T0410",
        ("two initializers", "`w`"),
    ),
    "duplicate_input": (
        m.model(m.graph([m.node("Relu", "x", "y")], inputs=[m.info("x")] * 2, outputs=[m.info("y")])),
        "T0410",
        ("two graph inputs", "`x`"),
    ),
    "duplicate_output": (
        m.model(m.graph([m.node("Relu", "x", "y")], inputs=[m.info("x")], outputs=[m.info("y")] * 2)),
        "T0410",
        ("two graph outputs", "`y`"),
    ),
    "cycle": (
        m.simple(
            m.node("Add", "xb", "a", name="first"), m.node("Add", "xa", "b", name="second"), m.node("Relu", "a", "y")
        ),
        "T0413",
        ("cycle", "`first`", "`second`"),
    ),
    "future_versions": (m.simple(m.node("Relu", "x", "y"), ir=4000, opset=9999), "T0405", ("4000", "newer", "max")),
    "future_opset": (
        m.simple(m.node("Relu", "x", "y"), opset=9999),
        "T0405",
        ("9999", "newer than supported", f"max {onnx.defs.onnx_opset_version()}"),
    ),
    "no_ir_version": (m.simple(m.node("Relu", "x", "y"), ir=None), "T0405", ("ir_version 0",)),
    "no_opset": (m.simple(m.node("Relu", "x", "y"), opset=None), "T0406", ("opset_import is missing",)),
    "only_other_opset": (
        m.simple(m.node("Relu", "x", "y", name="r"), opset=None) + m.field(8, m.field(1, "c") + m.field(2, 1)),
        "T0406",
        ("`r`", "ai.onnx"),
    ),
    "domain_without_opset": (
        m.simple(m.node("Own", "x", "y", domain="c", name="n")),
        "T0406",
        ("`n`", "operator of c"),
    ),
    "two_opsets": (
        m.simple(m.node("Relu", "x", "y")) + m.field(8, m.field(1, "ai.onnx") + m.field(2, 13)),
        "T0406",
        ("two versions", "17", "13"),
    ),
    "recursive_function": (m.with_functions(m.function("F", ["F"])), "T0415", ("local::F", "recursion")),
    "mutual_recursion": (
        m.with_functions(m.function("F", ["G"]), m.function("G", ["F"])),
        "T0415",
        ("`local::F` -> `local::G` -> `local::F`",),
    ),
    "function_bomb": (
        m.with_functions(
            *(m.function(_CALL[i], [_CALL[i + 1]] * 2) for i in range(40)),
            m.function(_CALL[40], [], nodes=1),
            call="F0",
        ),
        "T0416",
        ("1,099,511,627,776", "1,000,000"),
    ),
    "function_without_output": (
        m.with_functions(
            m.field(1, "F") + m.field(4, "a") + m.field(5, "b") + m.field(9, m.field(2, 17)) + m.field(10, "local")
        ),
        "T0412",
        ("`b`", "function `F`"),
    ),
    "duplicate_function": (
        m.with_functions(*[m.function("F", [], nodes=1)] * 2),
        "T0410",
        ("two functions", "local::F"),
    ),
    "nested_1000": (m.nested_ifs(1000), "T0404", ("nesting too deep",)),
}


def refused(path: Path, **options: Limits) -> DiagnosticError:
    with pytest.raises(DiagnosticError) as caught:
        ir.load(path, **options)
    return caught.value


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str, tmp_path: Path) -> None:
    data, code, words = CASES[name]
    error = refused(m.write(tmp_path, data))
    first = error.diagnostics[0]
    assert first.code == code, str(error)
    for word in words:
        assert word in first.message, str(error)
    assert first.file == str(tmp_path / "model.onnx")
    assert error.status == 1
    assert explain(code) is not None


def test_both_versions_are_reported(tmp_path: Path) -> None:
    error = refused(m.write(tmp_path, m.simple(m.node("Relu", "x", "y"), ir=4000, opset=9999)))
    assert [d.code for d in error.diagnostics] == ["T0405", "T0405"]
    assert f"max {onnx.defs.onnx_opset_version()}" in error.diagnostics[1].message


def test_several_mistakes_are_collected_up_to_the_bound(tmp_path: Path) -> None:
    nodes = [m.node("Relu", [f"missing{i}"], [f"t{i}"], name=f"n{i}") for i in range(50)]
    path = m.write(tmp_path, m.simple(*nodes, m.node("Relu", "x", "y")))
    assert len(refused(path).diagnostics) == 20
    assert len(refused(path, limits=Limits(errors=3)).diagnostics) == 3


@pytest.mark.parametrize("cut", range(0, 94, 3))
def test_every_prefix_is_refused(cut: int, tmp_path: Path) -> None:
    data = m.add_weight(m.tensor("w", [4], m.field(9, bytes(16))))
    assert cut < len(data)
    assert refused(m.write(tmp_path, data[:cut])).diagnostics[0].code in ("T0402", "T0405", "T0406")


def test_flipped_bytes_never_escape_as_anything_but_a_diagnostic(tmp_path: Path) -> None:
    data = m.add_weight(m.tensor("w", [4], m.field(9, bytes(16))))
    outcomes = {"loaded": 0, "refused": 0}
    for at in range(len(data)):
        for value in (0, 0x7F, 0x80, 0xFF):
            broken = bytearray(data)
            broken[at] = value
            try:
                load(m.write(tmp_path, bytes(broken)), canonical=False)
                outcomes["loaded"] += 1
            except DiagnosticError:
                outcomes["refused"] += 1
    assert outcomes["refused"] > outcomes["loaded"] > 0


def test_nesting_of_28_ifs_loads(tmp_path: Path) -> None:
    module = ir.load(m.write(tmp_path, m.nested_ifs(28)))
    assert len(list(module.graphs())) == 1 + 2 * 28
    ir.verify(module)


def test_work_for_deep_nesting_is_linear(tmp_path: Path, count_calls: Callable[[Callable[[], object]], int]) -> None:
    (tmp_path / "large").mkdir()
    small, large = m.write(tmp_path, m.nested_ifs(400)), m.write(tmp_path / "large", m.nested_ifs(4000))
    refused(small)  # what is imported on the way is imported once
    assert count_calls(lambda: refused(large)) < 12 * count_calls(lambda: refused(small))


def test_control_characters_in_names_are_escaped(tmp_path: Path) -> None:
    bad = "‮gnp.exe\n[E] fake log line"
    module = ir.load(m.write(tmp_path, m.simple(m.node("Relu", "x", "y", name=bad))))
    assert [node.name for node in module.graph] == [bad]
    text = str(refused(m.write(tmp_path, m.simple(m.node("Relu", "q", "y", name=bad)))))
    assert "\n[E] fake" not in text
    assert "\\u202e" in text


class TestFile:
    def test_missing_file_suggests_its_neighbour(self, tmp_path: Path) -> None:
        m.write(tmp_path, b"", "resnet50.onnx")
        first = refused(tmp_path / "resnet5.onnx").diagnostics[0]
        assert (first.code, first.help) == ("T0401", f"did you mean `{tmp_path / 'resnet50.onnx'}`?")

    def test_missing_folder(self, tmp_path: Path) -> None:
        first = refused(tmp_path / "no" / "model.onnx").diagnostics[0]
        assert first.code == "T0401"
        assert "does not exist either" in (first.help or "")

    def test_directory(self, tmp_path: Path) -> None:
        m.write(tmp_path, b"", "a.onnx")
        first = refused(tmp_path).diagnostics[0]
        assert (first.code, first.help) == ("T0401", "it holds `a.onnx`")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_named_pipe_does_not_hang(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.onnx")
        assert refused(tmp_path / "pipe.onnx").diagnostics[0].code == "T0401"

    def test_spec_instead_of_model(self, tmp_path: Path) -> None:
        first = refused(m.write(tmp_path, b"model {}\n", "a.trtspec")).diagnostics[0]
        assert first.code == "T0402"
        assert "trtc compile" in (first.help or "")


class TestExternal:
    """The data of w in a file; nothing outside of the folder of the model is opened."""

    @pytest.mark.parametrize(
        ("location", "words"),
        [
            ("../outside/canary.bin", "'..'"),
            ("sub/../../outside/canary.bin", "'..'"),
            ("..\\outside\\canary.bin", "'..'"),
            ("/etc/passwd", "absolute"),
            ("/dev/zero", "absolute"),
            ("\\windows\\x", "absolute"),
            ("\\\\host\\share\\x", "network share"),
            ("//host/share/x", "network share"),
            ("C:\\data\\x", "drive"),
            ("C:x", "drive"),
            ("file:///etc/passwd", "URL"),
            ("http://host/x", "URL"),
            ("", "empty"),
            ("a\0b", "null"),
        ],
    )
    def test_location(self, location: str, words: str, tmp_path: Path) -> None:
        (tmp_path / "outside").mkdir()
        canary = m.write(tmp_path / "outside", bytes(16), "canary.bin")
        before = canary.stat().st_atime_ns
        (tmp_path / "box").mkdir()
        first = refused(m.write(tmp_path / "box", m.external(location))).diagnostics[0]
        assert (first.code, first.node) == ("T0417", "w")
        assert words in first.message
        assert "`w`" in first.message
        assert canary.stat().st_atime_ns == before

    def test_symlink_out_of_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "box").mkdir()
        outside = m.write(tmp_path, bytes(16), "canary.bin")
        os.symlink(outside, tmp_path / "box" / "link.bin")
        first = refused(m.write(tmp_path / "box", m.external("link.bin"))).diagnostics[0]
        assert first.code == "T0417"
        assert "symbolic link" in first.message

    def test_symlinked_folder_out_of_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "box").mkdir()
        (tmp_path / "far").mkdir()
        m.write(tmp_path / "far", bytes(16), "w.bin")
        os.symlink(tmp_path / "far", tmp_path / "box" / "sub")
        assert refused(m.write(tmp_path / "box", m.external("sub/w.bin"))).diagnostics[0].code == "T0417"

    def test_symlink_inside_the_folder_is_followed(self, tmp_path: Path) -> None:
        m.write(tmp_path, m.floats(1, 2, 3, 4), "w.bin")
        os.symlink(tmp_path / "w.bin", tmp_path / "link.bin")
        module = ir.load(m.write(tmp_path, m.external("link.bin")))
        assert module.constant(module.graph.initializers["w"]).tolist() == [1, 2, 3, 4]

    def test_store_of_blobs(self, tmp_path: Path) -> None:
        """Model and data are both links into one folder, as download caches keep them."""
        (tmp_path / "blobs").mkdir()
        (tmp_path / "snapshot").mkdir()
        m.write(tmp_path / "blobs", m.external("w.bin"), "0a1b")
        m.write(tmp_path / "blobs", m.floats(1, 2, 3, 4), "2c3d")
        os.symlink("../blobs/0a1b", tmp_path / "snapshot" / "model.onnx")
        os.symlink("../blobs/2c3d", tmp_path / "snapshot" / "w.bin")
        module = ir.load(tmp_path / "snapshot" / "model.onnx")
        assert module.constant(module.graph.initializers["w"]).tolist() == [1, 2, 3, 4]

    @pytest.mark.parametrize(
        ("offset", "length", "words"),
        [
            ("0", "16", "8 bytes, too short for offset 0 + length 16"),
            ("-4", "16", "negative"),
            ("0", "18446744073709551600", "overflows"),
            ("9223372036854775807", "16", "too short"),
            ("0", "12", "12 bytes, its dims and type want 16"),
            ("zero", "16", "not a number"),
            ("0", "-16", "negative"),
        ],
    )
    def test_range(self, offset: str, length: str, words: str, tmp_path: Path) -> None:
        m.write(tmp_path, bytes(8), "short.bin")
        first = refused(m.write(tmp_path, m.external("short.bin", offset, length))).diagnostics[0]
        assert (first.code, first.node) == ("T0418", "w")
        assert words in first.message

    def test_huge_tensor_allocates_nothing(self, tmp_path: Path) -> None:
        m.write(tmp_path, bytes(8), "short.bin")
        data = m.external("short.bin", "0", str(1 << 42), dims=[1 << 40])
        assert refused(m.write(tmp_path, data)).diagnostics[0].code == "T0418"

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
    def test_named_pipe_does_not_hang(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        first = refused(m.write(tmp_path, m.external("pipe"))).diagnostics[0]
        assert (first.code, "regular file" in first.message) == ("T0417", True)

    def test_missing_file_suggests_its_neighbour(self, tmp_path: Path) -> None:
        m.write(tmp_path, bytes(16), "weights.bin")
        first = refused(m.write(tmp_path, m.external("weight.bin"))).diagnostics[0]
        assert (first.code, first.help) == ("T0418", "did you mean `weights.bin`?")

    def test_unknown_keys_are_ignored(self, tmp_path: Path) -> None:
        m.write(tmp_path, m.floats(1, 2, 3, 4), "w.bin")
        data = m.external("w.bin", __class__="x", basepath="/etc", checksum="0")
        module = ir.load(m.write(tmp_path, data))
        tensor = module.graph.initializers["w"].const_value
        assert tensor is not None
        assert tensor.numpy().tolist() == [1, 2, 3, 4]
        assert not hasattr(tensor, "basepath")

    def test_model_in_memory_has_no_folder(self) -> None:
        proto = onnx.ModelProto.FromString(m.external("w.bin"))
        with pytest.raises(DiagnosticError, match="in memory"):
            ir.load_proto(proto)
