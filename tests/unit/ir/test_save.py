"""What is saved loads as what it was, byte for byte again, whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import malformed as m
import ml_dtypes
import numpy as np
import onnx
import onnx_ir as oir
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtc import ir
from trtc.diagnostics import DiagnosticError
from trtc.ir.loader import load
from trtc.ir.saver import payload, save

_RNG = np.random.default_rng(3)


def every_type() -> onnx.ModelProto:
    """A weight of 600 values of every type, one of three values, and one in a subgraph and in an attribute."""
    weights = []
    for number in sorted(int(t) for t in oir.DataType):
        dtype = oir.DataType(number)
        if number == 0:
            continue
        if dtype == oir.DataType.STRING:
            weights.append(helper.make_tensor("STRING", number, [2], [b"a", b"\xff"]))
            continue
        size = (600 * dtype.bitwidth + 7) // 8
        data = _RNG.integers(0, 2, size, dtype=np.uint8).tobytes()
        weights.append(TensorProto(name=dtype.name, data_type=number, dims=[20, 30], raw_data=data))
        weights.append(TensorProto(name=f"s{dtype.name}", data_type=number, dims=[8], raw_data=data[: dtype.bitwidth]))
    big = numpy_helper.from_array(np.arange(200, dtype=np.int64), "inner")
    info = helper.make_tensor_value_info
    branch = helper.make_graph([helper.make_node("Identity", ["inner"], ["b"])], "s", [], [info("b", 7, [200])], [big])
    nodes = [
        helper.make_node("If", ["c"], ["i"], name="if", then_branch=branch, else_branch=branch, doc_string="doc"),
        helper.make_node("Constant", [], ["k"], name="k", value=big),
        helper.make_node("Own", ["i", "", "k"], ["y", "", ""], name="own", domain="own", a=1, b=[1.5], c="s", d=["t"]),
    ]
    graph = helper.make_graph(nodes, "g", [info("c", 9, [])], [info("y", 7, ["N", None, 3])], weights)
    function = helper.make_function(
        "f",
        "F",
        ["a"],
        ["b"],
        [helper.make_node("Elu", ["a"], ["b"], name="e")],
        [helper.make_opsetid("", 21)],
        ["alpha"],
    )
    function.node[0].attribute.add(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    opsets = [helper.make_opsetid(d, v) for d, v in (("", 21), ("own", 2), ("f", 1))]
    proto = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=10)
    proto.metadata_props.add(key="k", value="v")
    return proto


def tensors(model: oir.Model) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    found: dict[str, tuple[str, tuple[int, ...], bytes]] = {}
    for at, graph in enumerate([model.graph, *model.graph.subgraphs()]):
        for value in graph.initializers.values():
            tensor = value.const_value
            assert tensor is not None
            data = b"|".join(tensor.string_data()) if isinstance(tensor, oir.StringTensor) else tensor.tobytes()
            found[f"{at}/{value.name}"] = (tensor.dtype.name, tensor.shape.numpy(), data)
    return found


@pytest.mark.parametrize("external", [False, True])
def test_round_trip_of_every_type(external: bool, tmp_path: Path) -> None:
    module = ir.load_proto(every_type(), canonical=False)
    path = tmp_path / "out.onnx"
    save(module, path, external=external, value_info=False)
    again = load(path, canonical=False)
    assert tensors(again.model) == tensors(module.model)
    assert len(tensors(module.model)) >= 2 * 23 + 1
    want = oir.serde.serialize_model(module.model)
    have = oir.serde.serialize_model(again.model)
    assert have.graph.node == want.graph.node
    assert have.graph.input == want.graph.input
    assert have.graph.output == want.graph.output
    assert have.functions == want.functions
    assert have.metadata_props == want.metadata_props
    assert (have.ir_version, again.opset) == (11, 21)
    assert sorted(os.listdir(tmp_path)) == ["out.onnx"] + (["out.onnx.data"] if external else [])


def test_same_bytes_again(tmp_path: Path) -> None:
    save(ir.load_proto(every_type(), canonical=False), tmp_path / "a.onnx", value_info=False)
    save(load(tmp_path / "a.onnx", canonical=False), tmp_path / "b.onnx", value_info=False)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_what_is_saved_is_what_protobuf_would_have_written(tmp_path: Path) -> None:
    """Spliced lengths agree with those of a message that is serialized in one piece."""
    module = ir.load_proto(every_type(), canonical=False)
    save(module, tmp_path / "a.onnx", value_info=False)
    data = (tmp_path / "a.onnx").read_bytes()
    assert onnx.ModelProto.FromString(data).ByteSize() == len(data)


def test_the_checker_of_onnx_accepts_it(tmp_path: Path) -> None:
    module = ir.load_proto(onnx.ModelProto.FromString(m.nested_ifs(3)), canonical=False)
    save(module, tmp_path / "a.onnx", value_info=False)
    onnx.checker.check_model(str(tmp_path / "a.onnx"), full_check=True)


def test_external_tensors_are_aligned_and_named_by_the_file(tmp_path: Path) -> None:
    save(ir.load_proto(every_type(), canonical=False), tmp_path / "a.onnx", external=True, value_info=False)
    proto = onnx.load(str(tmp_path / "a.onnx"), load_external_data=False)
    places = [{e.key: e.value for e in t.external_data} for t in proto.graph.initializer if t.external_data]
    assert len(places) > 10
    assert {p["location"] for p in places} == {"a.onnx.data"}
    assert all(int(p["offset"]) % 64 == 0 for p in places)
    full = onnx.load(str(tmp_path / "a.onnx"))
    weights = {t.name: t.raw_data for t in full.graph.initializer}
    original = {t.name: t.raw_data for t in every_type_from(tmp_path)}
    assert weights["FLOAT"] == original["FLOAT"]


def every_type_from(folder: Path) -> list[onnx.TensorProto]:
    module = load(folder / "a.onnx", canonical=False)
    return list(oir.serde.serialize_model(module.model).graph.initializer)


def test_saving_over_the_file_that_is_mapped(tmp_path: Path) -> None:
    path = m.write(tmp_path, every_type().SerializeToString())
    module = load(path, canonical=False)
    before = tensors(module.model)
    save(module, path, value_info=False)
    assert tensors(module.model) == before
    assert tensors(load(path, canonical=False).model) == before


def test_arrays_that_are_no_run_of_bytes() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T
    assert bytes(payload(oir.Tensor(array))) == np.ascontiguousarray(array).tobytes()
    packed = oir.Tensor(np.array([1, 2, 3], dtype=ml_dtypes.int4))
    assert bytes(payload(packed)) == b"\x21\x03"
    assert bytes(payload(oir.Tensor(np.empty((0, 3), np.float32)))) == b""


def test_opset_is_written_when_the_graph_has_none(tmp_path: Path) -> None:
    save(oir.Model(oir.Graph([], [], nodes=[], name="g"), ir_version=8), tmp_path / "a.onnx")
    proto = onnx.load(str(tmp_path / "a.onnx"))
    assert [(o.domain, o.version) for o in proto.opset_import] == [("", 23)]
    assert proto.ir_version == 11


def test_inferred_shapes_are_written(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 23]> g (float[N,4] x) => (float[M] y) {
        a = Relu(x)
        y = ReduceSum<keepdims=0>(a)
    }"""
    module = ir.load_proto(onnx.parser.parse_model(text))
    save(module, tmp_path / "a.onnx")
    infos = {i.name: i for i in onnx.load(str(tmp_path / "a.onnx")).graph.value_info}
    dims = infos["a"].type.tensor_type.shape.dim
    assert (infos["a"].type.tensor_type.elem_type, dims[0].dim_param, dims[1].dim_value) == (1, "N", 4)


def test_a_sequence_is_not_written_as_a_tensor(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 23]> g (float[N,4] x) => (int64 n) {
        s = SequenceConstruct(x, x)
        n = SequenceLength(s)
    }"""
    save(ir.load_proto(onnx.parser.parse_model(text)), tmp_path / "a.onnx")
    onnx.checker.check_model(str(tmp_path / "a.onnx"), full_check=True)
    assert "s" not in {i.name for i in onnx.load(str(tmp_path / "a.onnx")).graph.value_info}


class TestFailure:
    def module(self) -> ir.Module:
        return ir.load_proto(every_type(), canonical=False)

    def refused(self, path: Path) -> DiagnosticError:
        with pytest.raises(DiagnosticError) as caught:
            save(self.module(), path, external=True, value_info=False)
        assert caught.value.diagnostics[0].code == "T1110"
        assert caught.value.status == 1
        return caught.value

    def test_no_folder(self, tmp_path: Path) -> None:
        first = self.refused(tmp_path / "no" / "a.onnx").diagnostics[0]
        assert first.help == f"make the folder first: `{tmp_path / 'no'}`"

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
    def test_no_permission(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o500)
        self.refused(tmp_path / "a.onnx")
        tmp_path.chmod(0o700)

    def test_target_is_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "a.onnx").mkdir()
        self.refused(tmp_path / "a.onnx")
        assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]

    def test_full_disk_leaves_nothing_half_written(self, tmp_path: Path) -> None:
        """A bound on the size of files stands in for a full disk; what was there before stays."""
        (tmp_path / "a.onnx").write_bytes(b"before")
        code = (
            "import resource, signal, sys; from pathlib import Path; from trtc import ir; "
            "from trtc.diagnostics import DiagnosticError; sys.path.insert(0, sys.argv[2]); import test_save; "
            "module = test_save.TestFailure().module(); signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
            "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
            "try: ir.save(module, Path(sys.argv[1]), value_info=False)\n"
            "except DiagnosticError as error: print(error.diagnostics[0].code)"
        )
        run = [sys.executable, "-c", code, str(tmp_path / "a.onnx"), str(Path(__file__).parent)]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == "T1110", done.stderr
        assert os.listdir(tmp_path) == ["a.onnx"]
        assert (tmp_path / "a.onnx").read_bytes() == b"before"


def test_memory_stays_a_few_percent_of_the_weights(tmp_path: Path) -> None:
    """64 MB of weights, loaded and saved in a process of its own."""
    weights = [numpy_helper.from_array(np.ones((1 << 20,), np.float32), f"w{i}") for i in range(16)]
    nodes = [helper.make_node("Sum", [w.name for w in weights], ["y"])]
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y", 1, [1 << 20])], weights)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = m.write(tmp_path, proto.SerializeToString())
    code = (
        "import sys; from pathlib import Path; from trtc.ir.loader import load; from trtc.ir.saver import save\n"
        "def anonymous():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if line.startswith('RssAnon'))\n"
        "path = Path(sys.argv[1]); load(Path(sys.argv[2]), canonical=False); before = anonymous()\n"
        "module = load(path, canonical=False); save(module, path.with_name('out.onnx'), value_info=False)\n"
        "print(anonymous() - before)"
    )
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc here")
    small = m.write(tmp_path, m.valid().SerializeToString(), "small.onnx")
    run = [sys.executable, "-c", code, str(path), str(small)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 4096  # kB: 6 % of the weights
    assert (tmp_path / "out.onnx").stat().st_size > 64 << 20
