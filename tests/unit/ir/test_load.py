"""What a loaded module holds: weights over the mapping, of every type; names; order; constant initializers."""

from __future__ import annotations

import mmap
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
from trtc.ir.loader import Limits, load

_RNG = np.random.default_rng(7)

#: ONNX type, and 300 values of it.
TYPES: dict[str, np.ndarray] = {
    name: _RNG.integers(0, 100, 300).astype(name)
    for name in (
        *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"),
        *("complex64", "complex128"),
    )
}
TYPES["bool"] = _RNG.integers(0, 2, 300).astype(bool)
for _name in ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"):
    TYPES[_name] = _RNG.standard_normal(300).astype(getattr(ml_dtypes, _name))


def constant_model(*weights: onnx.TensorProto, opset: int = 21, ir_version: int = 10) -> onnx.ModelProto:
    """One Identity per weight, each an output."""
    nodes = [helper.make_node("Identity", [w.name], [f"y_{w.name}"], name=f"n_{w.name}") for w in weights]
    outputs = [helper.make_tensor_value_info(f"y_{w.name}", w.data_type, list(w.dims)) for w in weights]
    graph = helper.make_graph(nodes, "g", [], outputs, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def raw(name: str, array: np.ndarray, dims: list[int]) -> onnx.TensorProto:
    dtype = oir.DataType.from_numpy(array.dtype)
    return TensorProto(name=name, data_type=int(dtype), dims=dims, raw_data=array.tobytes())


def base(array: np.ndarray) -> object:
    """What owns the memory of an array."""
    owner: object = array
    while True:
        if isinstance(owner, np.ndarray):
            if owner.base is None:
                return owner
            owner = owner.base
        elif isinstance(owner, memoryview):
            owner = owner.obj
        else:
            return owner


def weight(module: ir.Module, name: str = "w") -> np.ndarray:
    array = module.constant(module.graph.initializers[name])
    assert array is not None
    return array


class TestTensors:
    @pytest.mark.parametrize("name", TYPES)
    @pytest.mark.parametrize("inside", [True, False], ids=["inline", "external"])
    def test_weights_of_every_type_are_mapped(self, name: str, inside: bool, tmp_path: Path) -> None:
        proto = constant_model(raw("w", TYPES[name], [3, 100]))
        path = tmp_path / "model.onnx"
        if inside:
            path.write_bytes(proto.SerializeToString())
        else:
            onnx.save(proto, str(path), save_as_external_data=True, location="w.bin", size_threshold=0)
        array = weight(load(path, canonical=False))
        assert isinstance(base(array), mmap.mmap)
        assert not array.flags.writeable
        assert array.dtype == TYPES[name].dtype
        assert array.shape == (3, 100)
        assert array.tobytes() == TYPES[name].tobytes()

    @pytest.mark.parametrize("dtype", [TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1])
    def test_packed_types_stay_packed(self, dtype: int, tmp_path: Path) -> None:
        data = bytes(_RNG.integers(0, 256, 301, dtype=np.uint8))
        proto = constant_model(TensorProto(name="w", data_type=dtype, dims=[601], raw_data=data[:-1] + b"\x05"))
        module = load(m.write(tmp_path, proto.SerializeToString()), canonical=False)
        tensor = module.graph.initializers["w"].const_value
        assert isinstance(tensor, oir.PackedTensor)
        assert isinstance(base(tensor.numpy_packed()), mmap.mmap)
        assert tensor.tobytes() == data[:-1] + b"\x05"
        want = numpy_helper.to_array(proto.graph.initializer[0])
        assert tensor.numpy().astype(np.float32).tolist() == want.astype(np.float32).tolist()

    def test_packed_floats_are_mapped_too(self, tmp_path: Path) -> None:
        values = _RNG.standard_normal(500).astype(np.float32)
        proto = constant_model(helper.make_tensor("w", TensorProto.FLOAT, [500], values.tolist()))
        assert len(proto.graph.initializer[0].float_data) == 500
        array = weight(load(m.write(tmp_path, proto.SerializeToString()), canonical=False))
        assert isinstance(base(array), mmap.mmap)
        assert array.tolist() == values.tolist()

    @pytest.mark.parametrize("count", [1, 300])
    @pytest.mark.parametrize(
        "dtype",
        ["INT32", "INT8", "UINT16", "BOOL", "FLOAT16", "BFLOAT16", "INT64", "UINT32", "UINT64", "DOUBLE", "COMPLEX64"],
    )
    def test_typed_fields(self, dtype: str, count: int, tmp_path: Path) -> None:
        values = [i % 2 for i in range(count)]
        proto = constant_model(helper.make_tensor("w", TensorProto.DataType.Value(dtype), [count], values))
        assert not proto.graph.initializer[0].HasField("raw_data")
        array = weight(load(m.write(tmp_path, proto.SerializeToString()), canonical=False))
        assert array.dtype == oir.DataType[dtype].numpy()
        assert array.astype(np.complex128 if dtype == "COMPLEX64" else np.float64).tolist() == values

    def test_text(self, tmp_path: Path) -> None:
        proto = constant_model(helper.make_tensor("w", TensorProto.STRING, [2, 1], [b"a", b"\xff"]))
        array = weight(load(m.write(tmp_path, proto.SerializeToString()), canonical=False))
        assert array.tolist() == [[b"a"], [b"\xff"]]

    @pytest.mark.parametrize("dims", [[], [0], [2, 0, 3], [1, 1]])
    def test_scalars_and_empty_tensors(self, dims: list[int], tmp_path: Path) -> None:
        array = np.full(dims, 2.5, np.float32)
        proto = constant_model(raw("w", array, dims))
        found = weight(load(m.write(tmp_path, proto.SerializeToString()), canonical=False))
        assert (found.shape, found.tolist()) == (array.shape, array.tolist())

    def test_bytes_that_are_no_bool_become_true(self, tmp_path: Path) -> None:
        proto = constant_model(TensorProto(name="w", data_type=9, dims=[300], raw_data=bytes([0, 1, 2]) * 100))
        array = weight(load(m.write(tmp_path, proto.SerializeToString()), canonical=False))
        assert array.view(np.uint8).tolist() == [0, 1, 1] * 100

    def test_tensors_of_attributes_subgraphs_and_functions(self, tmp_path: Path) -> None:
        big = numpy_helper.from_array(np.arange(100, dtype=np.float32), "t")
        info = helper.make_tensor_value_info
        branch = helper.make_graph([helper.make_node("Identity", ["t"], ["b"])], "s", [], [info("b", 1, [100])], [big])
        nodes = [
            helper.make_node("Constant", [], ["k"], value=big),
            helper.make_node("If", ["c"], ["i"], then_branch=branch, else_branch=branch),
            helper.make_node("F", [], ["f"], domain="own"),
            helper.make_node("Sum", ["k", "i", "f"], ["y"]),
        ]
        body = [helper.make_node("Constant", [], ["z"], value=big)]
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        proto = helper.make_model(
            helper.make_graph(nodes, "g", [info("c", 9, [])], [info("y", 1, [100])]),
            functions=[helper.make_function("own", "F", [], ["z"], body, opsets[:1])],
            opset_imports=opsets,
            ir_version=8,
        )
        module = load(m.write(tmp_path, proto.SerializeToString()), canonical=False)
        ir.verify(module)
        function = next(iter(module.model.functions.values()))
        tensors = [
            module.graph[0].attributes["value"].as_tensor(),
            function[0].attributes["value"].as_tensor(),
            *(v.const_value for g in module.graph.subgraphs() for v in g.initializers.values()),
        ]
        assert len(tensors) == 4
        for tensor in tensors:
            assert tensor is not None
            assert isinstance(base(tensor.numpy()), mmap.mmap)
            assert tensor.numpy().tolist() == list(range(100))

    def test_the_mapping_outlives_the_module_and_the_name_of_the_file(self, tmp_path: Path) -> None:
        path = m.write(tmp_path, constant_model(raw("w", TYPES["float32"], [300])).SerializeToString())
        array = weight(load(path, canonical=False))
        path.unlink()
        assert array.tolist() == TYPES["float32"].tolist()


class TestSparse:
    def sparse(self, values: list[float], places: list[list[int]] | list[int], dims: list[int]) -> onnx.ModelProto:
        index = np.array(places, np.int64).reshape(np.shape(places) or (0,))
        tensor = helper.make_sparse_tensor(
            numpy_helper.from_array(np.array(values, np.float32), "w"), numpy_helper.from_array(index, "i"), dims
        )
        info = helper.make_tensor_value_info("y", 1, None)
        graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [info])
        graph.sparse_initializer.append(tensor)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    @pytest.mark.parametrize("places", [[1, 5], [[0, 1], [1, 2]]], ids=["flat", "coordinates"])
    def test_written_out_densely(self, places: list[int]) -> None:
        assert weight(ir.load_proto(self.sparse([7, -1], places, [2, 3]), canonical=False)).tolist() == [
            [0, 7, 0],
            [0, 0, -1],
        ]

    def test_many_values_that_are_cut_out(self) -> None:
        values = [float(i + 1) for i in range(200)]
        array = weight(ir.load_proto(self.sparse(values, list(range(0, 400, 2)), [400]), canonical=False))
        assert array[::2].tolist() == values
        assert not array[1::2].any()

    def test_constant_node(self) -> None:
        proto = self.sparse([7], [1], [3])
        node = helper.make_node("Constant", [], ["k"], sparse_value=proto.graph.sparse_initializer[0])
        del proto.graph.sparse_initializer[:]
        proto.graph.node.insert(0, node)
        proto.graph.node[1].input[0] = "k"
        module = ir.load_proto(proto, canonical=False)
        assert module.graph[0].attributes["value"].as_tensor().numpy().tolist() == [0, 7, 0]

    @pytest.mark.parametrize(
        ("places", "dims", "code", "word"),
        [
            ([6], [2, 3], "T0407", "outside"),
            ([-1], [2, 3], "T0407", "outside"),
            ([[0, 3]], [2, 3], "T0407", "outside"),
            ([0, 1], [2, 3], "T0407", "1 sparse values"),
            ([0], [1 << 20, 1 << 20], "T0419", "budget"),
            ([0], [-1, -1], "T0408", "dims"),
        ],
    )
    def test_refused(self, places: list[int], dims: list[int], code: str, word: str) -> None:
        with pytest.raises(DiagnosticError) as caught:
            ir.load_proto(self.sparse([1], places, dims))
        first = caught.value.diagnostics[0]
        assert (first.code, first.node) == (code, "w")
        assert word in first.message


def parsed(text: str, **options: object) -> ir.Module:
    return ir.load_proto(onnx.parser.parse_model(text), canonical=False, **options)  # type: ignore[arg-type]


class TestNames:
    def test_nodes_without_names_get_some_and_remember_them(self) -> None:
        module = parsed(
            """<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) {
                a = Relu(x)
                b = Relu(a)
                y = Neg(b)
            }"""
        )
        assert [n.name for n in module.graph] == ["Relu_0", "Relu_1", "Neg_0"]
        assert [ir.origins(n) for n in module.graph] == [("Relu_0",), ("Relu_1",), ("Neg_0",)]

    def test_repeated_node_names_keep_their_origin(self) -> None:
        proto = onnx.ModelProto.FromString(
            m.simple(
                m.node("Relu", "x", "a", name="n"),
                m.node("Neg", "a", "b", name="n"),
                m.node("Abs", "b", "y", name="n_1"),
            )
        )
        module = ir.load_proto(proto, canonical=False)
        assert [(n.name, ir.origins(n)) for n in module.graph] == [("n", ("n",)), ("n_2", ("n",)), ("n_1", ("n_1",))]

    def test_values_of_subgraphs_give_way(self) -> None:
        module = ir.load_proto(onnx.ModelProto.FromString(m.nested_ifs(1)), canonical=False)
        inner = [g.outputs[0].name for g in module.graph.subgraphs()]
        assert inner == ["y0", "e1"]
        proto = onnx.ModelProto.FromString(m.nested_ifs(1))
        for attribute in proto.graph.node[0].attribute:
            attribute.g.node[0].output[0] = attribute.g.output[0].name = "y"
        again = ir.load_proto(proto, canonical=False)
        assert [g.outputs[0].name for g in again.graph.subgraphs()] == ["y_1", "y_2"]
        assert again.graph.outputs[0].name == "y"
        ir.verify(again)

    def test_provenance_survives_a_save(self, tmp_path: Path) -> None:
        module = parsed('<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
        module.graph[0].metadata_props["trtc.origin"] = '["conv1", "bn1"]'
        ir.save(module, tmp_path / "a.onnx", value_info=False)
        assert ir.origins(load(tmp_path / "a.onnx", canonical=False).graph[0]) == ("conv1", "bn1")


class TestGraph:
    def test_nodes_are_put_in_order(self) -> None:
        proto = onnx.ModelProto.FromString(
            m.simple(
                m.node("Neg", "b", "y", name="last"), m.node("Abs", "a", "b"), m.node("Relu", "x", "a", name="first")
            )
        )
        module = ir.load_proto(proto, canonical=False)
        assert [n.op_type for n in module.graph] == ["Relu", "Abs", "Neg"]
        ir.verify(module)

    def test_initializers_are_no_inputs(self) -> None:
        for version in (3, 8):
            data = m.model(
                m.graph(
                    [m.node("Add", "xw", "y")],
                    weights=[m.tensor("w", [1], m.field(9, m.floats(3)))],
                    inputs=[m.info("w", [1]), m.info("x")],
                    outputs=[m.info("y")],
                ),
                ir=version,
                opset=8,
            )
            module = ir.load_proto(onnx.ModelProto.FromString(data), canonical=False)
            assert [v.name for v in module.graph.inputs] == ["x"]
            assert weight(module).tolist() == [3]
            assert module.opset == 8

    def test_a_stale_declaration_of_an_initializer_gives_way_to_its_data(self) -> None:
        proto = onnx.ModelProto.FromString(m.add_weight(m.tensor("w", [1], m.field(9, m.floats(3)))))
        proto.graph.value_info.append(helper.make_tensor_value_info("w", TensorProto.INT64, [7, 7]))
        value = ir.load_proto(proto, canonical=False).graph.initializers["w"]
        assert (value.dtype, value.shape) == (oir.DataType.FLOAT, oir.Shape([1]))

    def test_output_of_a_subgraph_from_outside_gets_an_identity(self) -> None:
        branch = m.graph([], outputs=[m.info("x")])
        other = m.graph([m.node("Neg", "x", "z")], outputs=[m.info("z")])
        parts = [
            m.field(5, m.field(1, name) + m.field(6, body) + m.field(20, 5))
            for name, body in (("then_branch", branch), ("else_branch", other))
        ]
        body = m.graph(
            [m.node("If", "c", "y", *parts)], inputs=[m.info("x"), m.info("c", [], 9)], outputs=[m.info("y")]
        )
        module = ir.load_proto(onnx.ModelProto.FromString(m.model(body)), canonical=False)
        then = next(iter(module.graph.subgraphs()))
        assert [(n.op_type, [v.name for v in n.inputs if v]) for n in then] == [("Identity", ["x"])]
        ir.verify(module)

    def test_the_two_names_of_the_default_domain(self) -> None:
        proto = m.valid()
        proto.opset_import[0].domain = "ai.onnx"
        proto.graph.node[0].domain = "ai.onnx"
        module = ir.load_proto(proto, canonical=False)
        assert module.graph.opset_imports == {"": 17}
        assert module.opset == 17

    def test_negative_dims_of_an_input_are_unknown_ones(self) -> None:
        data = m.model(
            m.graph([m.node("Relu", "x", "y")], inputs=[m.info("x", [-1, 4])], outputs=[m.info("y", [-1, 4])])
        )
        shape = ir.load_proto(onnx.ModelProto.FromString(data), canonical=False).graph.inputs[0].shape
        assert shape is not None
        assert shape.is_unknown_dim(0)
        assert shape[1] == 4

    def test_types_of_attributes_that_old_files_leave_out(self) -> None:
        alpha = m.field(5, m.field(1, "alpha") + m.varint(2 << 3 | 5) + m.floats(0.5))
        data = m.simple(m.node("LeakyRelu", "x", "y", alpha), ir=1, opset=None)
        module = ir.load_proto(onnx.ModelProto.FromString(data), canonical=False)
        assert module.graph[0].attributes["alpha"].as_float() == 0.5

    def test_functions_are_kept_and_counted_against_the_budget(self) -> None:
        proto = onnx.ModelProto.FromString(m.with_functions(m.function("F", ["G", "G"]), m.function("G", [], nodes=3)))
        module = ir.load_proto(proto, canonical=False, limits=Limits(nodes=6))
        assert [f.name for f in module.model.functions.values()] == ["F", "G"]
        with pytest.raises(DiagnosticError, match="6 nodes once its functions are inlined, at most 5"):
            ir.load_proto(proto, canonical=False, limits=Limits(nodes=5))

    def test_a_model_in_memory_and_its_file_load_alike(self, tmp_path: Path) -> None:
        proto = constant_model(raw("w", TYPES["float32"], [300]))
        one = ir.load_proto(proto, canonical=False)
        two = load(m.write(tmp_path, proto.SerializeToString()), canonical=False)
        assert oir.serde.serialize_model(one.model) == oir.serde.serialize_model(two.model)
        assert (one.path, two.path) == (None, tmp_path / "model.onnx")


def test_released_pages_are_read_again_when_touched(tmp_path: Path) -> None:
    from trtc.ir import mapped

    weights = np.arange(50_000, dtype=np.float32)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [50_000])],
        [onnx.helper.make_tensor_value_info("y", 1, [50_000])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    module = ir.load(tmp_path / "m.onnx")
    value = module.graph.initializers["w"]
    before = value.const_value.numpy()
    mapped.release(module)
    assert np.array_equal(before, weights)
