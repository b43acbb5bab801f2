"""The model as a whole: names, types, dims, metadata, order, memory, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx_ir as oir
import pytest

from trtc.diagnostics import DiagnosticError, all_codes
from trtc.readback import READERS
from trtc.readback.layers import WRAPPERS


def test_inputs_and_outputs_keep_name_type_and_dims(net: Any) -> None:
    network, trt = net.network, net.trt
    a = network.add_input("tokens:0", trt.int64, (-1, 4, -1))
    a.set_dimension_name(0, "batch")
    b = network.add_input("mask", trt.bool, ())
    unused = network.add_input("unused", trt.float16, (2,))
    assert unused is not None
    for tensor, name in ((network.add_identity(a).get_output(0), "y/0"), (b, "")):
        out = tensor if name else network.add_identity(tensor).get_output(0)
        out.name = name or "z"
        network.mark_output(out)
    model = net.read()
    described = [
        (v.name, v.dtype, [d if isinstance(d, int) else d.value for d in v.shape or ()]) for v in model.graph.inputs
    ]
    assert described == [
        ("tokens:0", oir.DataType.INT64, ["batch", 4, "tokens:0_2"]),
        ("mask", oir.DataType.BOOL, []),
        ("unused", oir.DataType.FLOAT16, [2]),
    ]
    outputs = [
        (v.name, v.dtype, [d if isinstance(d, int) else d.value for d in v.shape or ()]) for v in model.graph.outputs
    ]
    assert outputs == [("y/0", oir.DataType.INT64, [None, 4, None]), ("z", oir.DataType.BOOL, [])]
    assert model.opset_imports == {"": 23}
    assert model.ir_version == 11


def test_layers_become_nodes_of_their_name_with_their_metadata(net: Any) -> None:
    x = net.input((1, 2, 4, 4))
    pool = net.network.add_pooling_nd(x, net.trt.PoolingType.AVERAGE, (2, 2))
    pool.padding_mode = net.trt.PaddingMode.SAME_UPPER
    pool.name = "pool"
    pool.metadata = json.dumps({"trtc.origin": ["conv_1", "bn_1"], "trtc.rule": "fuse"})
    negative = net.network.add_unary(pool.get_output(0), net.trt.UnaryOperation.NEG)
    negative.name = "negative"
    negative.metadata = "by hand"
    net.out(negative.get_output(0))
    nodes = {node.name: node for node in net.read().graph}
    assert nodes["pool"].op_type == "AveragePool"
    assert nodes["pool"].outputs[0].name == "pool"
    assert nodes["pool"].metadata_props == {
        "trtc.origin": '["conv_1", "bn_1"]',
        "trtc.rule": "fuse",
        "trtc.layer": "pool",
    }
    assert nodes["negative"].op_type == "Neg"
    assert nodes["negative"].metadata_props == {"trtc.metadata": "by hand", "trtc.layer": "negative"}


def test_every_layer_has_a_node_even_if_it_does_nothing(net: Any) -> None:
    x = net.input((2,))
    for i in range(3):
        layer = net.network.add_identity(x)
        layer.name = f"same_{i}"
        x = layer.get_output(0)
    net.out(x)
    assert [(n.name, n.op_type) for n in net.read().graph] == [(f"same_{i}", "Identity") for i in range(3)]


def test_names_are_unique_where_those_of_layers_are_not(net: Any) -> None:
    x = net.input((2,))
    for _ in range(3):
        layer = net.network.add_unary(x, net.trt.UnaryOperation.ABS)
        layer.name = "in0"
        x = layer.get_output(0)
    net.out(x)
    model = net.read()
    values = [v.name for node in model.graph for v in node.outputs] + [v.name for v in model.graph.inputs]
    assert len(set(values)) == len(values)
    assert len({node.name for node in model.graph}) == 3
    np.testing.assert_array_equal(net.run(model, np.array([-1, 2], np.float32))[0], [1, 2])


def test_outputs_that_are_constants_and_intermediates(net: Any) -> None:
    x = net.input((2,))
    c = net.constant([1, 2], np.float32)
    doubled = net.network.add_elementwise(x, c, net.trt.ElementWiseOperation.PROD).get_output(0)
    squared = net.network.add_elementwise(doubled, doubled, net.trt.ElementWiseOperation.PROD).get_output(0)
    case = (np.array([3, 4], np.float32),)
    net.check([c, doubled, squared], lambda x: (np.array([1.0, 2]), np.array([3.0, 8]), np.array([9.0, 64])), case)


def test_weights_are_not_copied(net: Any) -> None:
    array = np.ones((64, 64), np.float32)
    c = net.network.add_constant((64, 64), array).get_output(0)
    w = np.ones((2, 1, 3, 3), np.float32)
    conv = net.network.add_convolution_nd(net.input((1, 1, 64, 64)), 2, (3, 3), w)
    net.out(net.network.add_identity(c).get_output(0), conv.get_output(0))
    held = [v.const_value.numpy() for v in net.read().graph.initializers.values()]
    assert any(np.shares_memory(array, other) for other in held)
    assert any(np.shares_memory(w, other) for other in held)
    array[0, 0] = 5
    assert any(other.size == array.size and other.flat[0] == 5 for other in held)


def test_assertions_change_nothing(net: Any) -> None:
    x = net.input((2,))
    ok = net.network.add_constant((), np.array(True)).get_output(0)
    net.network.add_assertion(ok, "never")
    out = net.network.add_unary(x, net.trt.UnaryOperation.ABS).get_output(0)
    net.check(out, np.abs, (np.array([-1, 2], np.float32),))


def test_order_comes_from_the_tensors(net: Any) -> None:
    """A layer may read a tensor of a layer that was added after it."""
    x = net.input((2,))
    op = net.trt.ElementWiseOperation
    first = net.network.add_elementwise(x, x, op.SUM)
    second = net.network.add_elementwise(x, x, op.PROD)
    first.set_input(1, second.get_output(0))
    net.check(first.get_output(0), lambda x: x + x * x, (np.array([3, 4], np.float32),))


def test_a_cycle_is_refused(net: Any) -> None:
    x = net.input((2,))
    op = net.trt.ElementWiseOperation
    first = net.network.add_elementwise(x, x, op.SUM)
    second = net.network.add_elementwise(first.get_output(0), x, op.PROD)
    net.out(second.get_output(0))
    first.set_input(1, second.get_output(0))
    with pytest.raises(DiagnosticError, match=r"T095[56]"):
        net.read()


def test_every_layer_without_a_reading_is_named(net: Any) -> None:
    x = net.input((4, 64))
    for name in ("first", "second"):
        layer = net.network.add_dynamic_quantize(x, 1, 32, net.trt.fp8, net.trt.DataType.E8M0)
        layer.name = name
    with pytest.raises(DiagnosticError) as caught:
        net.read()
    assert [(d.code, d.node) for d in caught.value.diagnostics] == [("T0950", "first"), ("T0950", "second")]
    assert "DYNAMIC_QUANTIZE" in caught.value.diagnostics[0].message


def test_every_code_has_a_page() -> None:
    assert {f"T{n:04}" for n in range(950, 958)} <= set(all_codes())


def test_each_layer_type_is_read_or_refused_by_name(net: Any) -> None:
    boundary = {"TRIP_LIMIT", "ITERATOR", "RECURRENCE", "LOOP_OUTPUT", "CONDITION", "CONDITIONAL_OUTPUT"}
    assert set(WRAPPERS) == set(READERS) | boundary
    unread = {kind.name for kind in net.trt.LayerType.__members__.values()} - set(WRAPPERS)
    assert unread == {"PLUGIN", "MOE", "DIST_COLLECTIVE", "DYNAMIC_QUANTIZE"}
    assert all(hasattr(net.trt, name) for name in WRAPPERS.values())
