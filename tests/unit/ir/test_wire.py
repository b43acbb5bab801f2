"""The wire scan finds every tensor, and a splice changes exactly what it is told to."""

from __future__ import annotations

import malformed as m
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtc.diagnostics import DiagnosticError
from trtc.ir.wire import scan
from trtc.ir.wire_splice import Edit, splice, varint


def everywhere() -> onnx.ModelProto:
    """Tensors in an initializer, a sparse initializer, an attribute, a list of tensors, a subgraph and a function."""

    def weight(name: str) -> onnx.TensorProto:
        return numpy_helper.from_array(np.arange(100, dtype=np.float32), name)

    info = helper.make_tensor_value_info
    branch = helper.make_graph(
        [helper.make_node("Identity", ["ws"], ["b"])], "s", [], [info("b", 1, [100])], [weight("ws")]
    )
    sparse = helper.make_sparse_tensor(weight("values"), numpy_helper.from_array(np.arange(100), "places"), [200])
    nodes = [
        helper.make_node("Constant", [], ["k"], value=weight("attr")),
        helper.make_node("Own", ["k"], ["o"], domain="own", many=[weight("l0"), weight("l1")]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    graph = helper.make_graph(nodes, "g", [info("c", 9, [])], [info("y", 1, [100])], [weight("w")])
    graph.sparse_initializer.append(sparse)
    inner = helper.make_node("Constant", [], ["z"], value=weight("inner"))
    function = helper.make_function("own", "F", [], ["z"], [inner], [helper.make_opsetid("", 17)])
    return helper.make_model(graph, functions=[function], ir_version=8)


def test_every_place_of_a_tensor_is_found() -> None:
    data = everywhere().SerializeToString()
    found = scan(data, file="m")
    names = sorted(site.name for site in found.tensors)
    assert names == ["attr", "inner", "l0", "l1", "places", "values", "w", "ws", "ws"]
    for site in found.tensors:
        assert site.raw is not None
        start, length = site.raw
        if site.name != "places":
            assert np.frombuffer(data[start : start + length], np.float32).tolist() == list(range(100))


@pytest.mark.parametrize("size", [0, 1, 100, 127, 128, 20_000])
def test_splice_rewrites_lengths_on_every_level(size: int) -> None:
    """Raw data replaced by data of another size, in every tensor, is what protobuf then decodes."""
    data = everywhere().SerializeToString()
    found = scan(data, file="m")
    fresh = bytes(range(256)) * (size // 256 + 1)
    payload = memoryview(fresh)[:size]
    edits = [Edit(s.frame, *s.spans[0], b"\x4a" + varint(size), payload) for s in found.tensors]
    edited = onnx.ModelProto.FromString(b"".join(splice(data, found, edits)))
    for tensor in [
        edited.graph.initializer[0],
        edited.graph.sparse_initializer[0].values,
        edited.graph.node[0].attribute[0].t,
        edited.graph.node[1].attribute[0].tensors[1],
        edited.graph.node[2].attribute[0].g.initializer[0],
        edited.functions[0].node[0].attribute[0].t,
    ]:
        assert tensor.raw_data == fresh[:size]
    same = everywhere()
    assert [n.op_type for n in edited.graph.node] == [n.op_type for n in same.graph.node]
    assert edited.graph.output[0] == same.graph.output[0]


def test_no_edit_gives_the_same_bytes() -> None:
    data = everywhere().SerializeToString()
    assert b"".join(splice(data, scan(data, file="m"), [])) == data


def test_lengths_that_are_written_longer_than_needed() -> None:
    """A varint padded with zero groups is legal; the splice writes the short form where it changes anything."""
    raw = bytes(300)
    weight = m.tensor("w", [75], m.field(9, raw))
    body = b"\x2a" + bytes([len(weight) & 0x7F | 0x80, len(weight) >> 7 | 0x80, 0x80, 0x00]) + weight
    data = m.field(1, 8) + m.field(7, body)
    found = scan(data, file="m")
    edited = b"".join(splice(data, found, [Edit(s.frame, *s.spans[0]) for s in found.tensors]))
    assert onnx.ModelProto.FromString(edited).graph.initializer[0] == TensorProto(name="w", data_type=1, dims=[75])


def test_packed_and_unpacked_numbers_are_counted() -> None:
    def counts(*fields: bytes) -> dict[str, int]:
        return scan(m.add_weight(m.tensor("w", [4], *fields)), file="m").tensors[0].counts

    assert counts(m.field(5, b"\x01\x80\x01\xff\xff\x03")) == {"int32_data": 3}
    assert counts(m.field(5, 7), m.field(5, -1)) == {"int32_data": 2}
    assert counts(m.field(4, m.floats(1, 2))) == {"float_data": 2}
    assert counts(m.field(6, "a"), m.field(6, "")) == {"string_data": 2}


def test_packed_dims() -> None:
    data = m.add_weight(m.field(1, m.varint(300) + m.varint(-1)) + m.field(2, 1) + m.field(8, "w"))
    assert scan(data, file="m").tensors[0].dims == [300, -1]


def test_owner_of_a_tensor_without_a_name() -> None:
    value = m.field(5, m.field(1, "value") + m.field(5, m.tensor("", [1])) + m.field(20, 4))
    data = m.simple(m.node("Constant", [], ["k"], value, name="const"))
    found = scan(data, file="m")
    assert found.owner(data, found.tensors[0]) == "const"


def test_depth_is_counted_in_messages() -> None:
    data = m.simple(m.node("Relu", "x", "y"))
    # ModelProto, graph, input, type, tensor type, shape, dim
    scan(data, file="m", depth=7)
    with pytest.raises(DiagnosticError, match="T0404"):
        scan(data, file="m", depth=6)
