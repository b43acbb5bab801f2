"""LSTM, GRU and RNN: what the network computes is what ONNX Runtime computes, for every form of the operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from emission_harness import Built, build, portable
from onnx import helper, numpy_helper

from trtc import ir, readback
from trtc.diagnostics import DiagnosticError
from trtc.ir.module import Module

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
SEQ, BATCH, IN, HIDDEN = 5, 3, 4, 6


def _session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _model(
    op: str,
    given: str = "",
    *,
    weights_are_inputs: bool = False,
    seq: int | str = "S",
    outputs: int = 7,
    **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of one operator and data for it; `given` names the optional inputs: b, l(engths), h, c, p.

    `outputs` is a mask: 1 is Y, 2 is Y_h, 4 is Y_c.
    """
    rng = np.random.default_rng(7)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    gates = GATES[op]
    steps = SEQ if isinstance(seq, str) else seq
    batch_first = attributes.get("layout", 0)

    def normal(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.7).astype(np.float32)

    state = (BATCH, directions, HIDDEN) if batch_first else (directions, BATCH, HIDDEN)
    data = {
        "x": normal(BATCH, steps, IN) if batch_first else normal(steps, BATCH, IN),
        "w": normal(directions, gates * HIDDEN, IN),
        "r": normal(directions, gates * HIDDEN, HIDDEN),
        "b": normal(directions, 2 * gates * HIDDEN),
        "l": np.asarray([steps, max(steps - 3, 1), 1], np.int32),
        "h": normal(*state),
        "c": normal(*state),
        "p": normal(directions, 3 * HIDDEN),
    }
    names = [name if name in "xwr" or name in given else "" for name in data]
    while names[-1] == "":
        names.pop()
    feeds = {n: data[n] for n in names if n}
    constants = [] if weights_are_inputs else [n for n in ("w", "r", "b", "p") if n in feeds]
    free: dict[str, list[int | str]] = {n: list(a.shape) for n, a in feeds.items()}
    free["x"] = ["N", seq, IN] if batch_first else [seq, "N", IN]
    for name in "hc":
        if name in free:
            free[name] = ["N", directions, HIDDEN] if batch_first else [directions, "N", HIDDEN]
    if "l" in free:
        free["l"] = ["N"]
    count = 3 if op == "LSTM" else 2
    results = [n if outputs >> at & 1 else "" for at, n in enumerate(["Y", "Y_h", "Y_c"][:count])]
    while results[-1] == "":
        results.pop()
    node = helper.make_node(op, names, results, name="cell", hidden_size=HIDDEN, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), free[n])
            for n, a in feeds.items()
            if n not in constants
        ],
        [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in results if n],
        [numpy_helper.from_array(feeds[n], n) for n in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    return model, {n: a for n, a in feeds.items() if n not in constants}


def _built(model: onnx.ModelProto, target: Any | None = None) -> Built:
    return build(_module(model), target)


def _module(model: onnx.ModelProto) -> Module:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        return ir.load(path)


def _compare(
    model: onnx.ModelProto,
    feeds: dict[str, np.ndarray],
    target: Any | None = None,
    wanted: list[np.ndarray] | None = None,
) -> Built:
    """Emit, read back, run both; `wanted` is for what ONNX Runtime does not run."""
    built = _built(model, target)
    import onnx_ir as oir

    read = oir.to_proto(readback.read(built.network, built.target.module, weights=built.emission.unreadable))
    got = _session(read).run(None, feeds)
    wanted = wanted or list(_session(model).run(None, feeds))
    assert len(got) == len(wanted) > 0
    for name, g, w in zip([o.name for o in model.graph.output], got, wanted, strict=True):
        assert g.shape == w.shape, name
        assert np.abs(w).max() > 0.01, name
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5, err_msg=name)
    return built


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("given", ["", "b", "bh", "bl", "blh"])
def test_directions_and_optional_inputs(op: str, direction: str, given: str) -> None:
    if op == "LSTM" and "h" in given:
        given += "c"
    _compare(*_model(op, given, direction=direction))


@pytest.mark.parametrize(
    ("op", "given", "attributes"),
    [
        ("LSTM", "bp", {}),
        ("LSTM", "bhcp", {"direction": "bidirectional"}),
        ("LSTM", "b", {"input_forget": 1}),
        ("LSTM", "b", {"clip": 0.4}),
        ("LSTM", "bp", {"clip": 0.3, "direction": "reverse"}),
        (
            "LSTM",
            "b",
            {"activations": ["HardSigmoid", "Relu", "Softsign"], "activation_alpha": [0.3], "activation_beta": [0.4]},
        ),
        (
            "LSTM",
            "b",
            {"activations": ["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Elu", "Tanh"], "direction": "bidirectional"},
        ),
        ("GRU", "bh", {"linear_before_reset": 1}),
        ("GRU", "blh", {"linear_before_reset": 1, "direction": "bidirectional"}),
        ("GRU", "", {"linear_before_reset": 1}),
        ("GRU", "b", {"clip": 0.4}),
        ("GRU", "b", {"clip": 0.4, "linear_before_reset": 1}),
        ("GRU", "b", {"activations": ["HardSigmoid", "LeakyRelu"]}),
        ("RNN", "bh", {"activations": ["Relu"]}),
        ("RNN", "b", {"activations": ["ScaledTanh"], "activation_alpha": [0.9], "activation_beta": [0.8]}),
        ("RNN", "b", {"clip": 0.5}),
    ],
)
def test_attributes(op: str, given: str, attributes: dict[str, Any]) -> None:
    _compare(*_model(op, given, **attributes))


def test_parameters_are_those_of_the_activations_that_have_some() -> None:
    """Tanh takes none, so the only ones are for Affine. ONNX Runtime 1.23 counts a pair for every activation, and reads
    beyond the end of the list: it runs the directions apart here."""
    parameters = {"activation_alpha": [0.9], "activation_beta": [0.1]}
    model, feeds = _model("RNN", "b", activations=["Tanh", "Affine"], direction="bidirectional", **parameters)
    weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    halves = []
    for at, one in enumerate(
        [
            _model("RNN", "b", activations=["Tanh"], direction="forward")[0],
            _model("RNN", "b", activations=["Affine"], direction="reverse", **parameters)[0],
        ]
    ):
        for tensor in one.graph.initializer:
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name][at : at + 1], tensor.name))
        halves.append(_session(one).run(None, feeds))
    _compare(
        model,
        feeds,
        wanted=[np.concatenate(pair, axis) for pair, axis in zip(zip(*halves, strict=True), (1, 0), strict=True)],
    )


@pytest.mark.parametrize("op", GATES)
def test_weights_at_run_time(op: str) -> None:
    _compare(*_model(op, "bh", weights_are_inputs=True, direction="bidirectional"))


def test_weights_at_run_time_of_the_other_gru() -> None:
    _compare(*_model("GRU", "b", weights_are_inputs=True, linear_before_reset=1))


def test_peepholes_at_run_time() -> None:
    _compare(*_model("LSTM", "bp", weights_are_inputs=True))


@pytest.mark.parametrize("op", GATES)
def test_batch_first(op: str) -> None:
    model, feeds = _model(op, "b", layout=1)
    # ONNX Runtime has no batch-first form, and the reference of onnx 1.19 a wrong one: the other form, transposed.
    other, _ = _model(op, "b")
    y, *states = _session(other).run(None, {"x": feeds["x"].swapaxes(0, 1)})
    _compare(model, feeds, wanted=[y.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in states)])


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("given", ["b", "bl"])
def test_one_step_needs_no_loop(op: str, given: str) -> None:
    built = _compare(*_model(op, given, seq=1, direction="bidirectional"))
    assert "TRIP_LIMIT" not in built.types()


@pytest.mark.parametrize("outputs", [1, 2, 4, 6])
def test_outputs_that_nobody_asks_for(outputs: int) -> None:
    built = _compare(*_model("LSTM", "b", outputs=outputs))
    assert built.types().count("LOOP_OUTPUT") == bin(outputs).count("1")


def test_products_of_all_steps_stand_before_the_loop() -> None:
    built = _built(_model("LSTM", "b", seq=SEQ)[0])
    names = [name for name, _ in built.layers()]
    assert names.index("cell/forward/products") < names.index("cell/forward/trips")
    assert built.types().count("MATRIX_MULTIPLY") == 2


@pytest.mark.parametrize("op", GATES)
def test_on_a_target_with_fewer_layers(op: str) -> None:
    _compare(*_model(op, "blh" + ("c" if op == "LSTM" else ""), direction="bidirectional"), portable())


def test_the_engine_is_built() -> None:
    model, _ = _model("LSTM", "bl", direction="bidirectional")
    low, high = (1, 1, IN), (9, 4, IN)
    assert _built(model).plan(x=(low, (SEQ, BATCH, IN), high), l=((1,), (BATCH,), (4,)))


def test_an_unknown_activation_is_declined_by_name() -> None:
    model, _ = _model("RNN", "b", activations=["Cube"])
    with pytest.raises(DiagnosticError) as caught:
        _built(model)
    assert caught.value.diagnostics[0].code == "T0701"
    assert "the activation Cube" in caught.value.diagnostics[0].notes[0]
