"""A fault planted in a pass, in an emitter, in a weight: each is caught, by the rung that it belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

import trtc
import trtc.emit.convolution
import trtc.emit.layers
from trtc.ir.module import Module
from trtc.pipeline import Context, PassResult
from trtc_passes.fold_batch_norm import FoldBatchNorm

TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,3,8,8] x) => (float[N,4,4,4] y)
{
  c = Conv<kernel_shape = [3, 3], pads = [0, 0, 1, 1], strides = [2, 2]>(x, w)
  n = BatchNormalization(c, scale, shift, mean, var)
  y = Relu(n)
}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec for Conv, BatchNormalization, Relu with seeded weights and asymmetric padding."""
    model = onnx.parser.parse_model(TEXT)
    generator = np.random.Generator(np.random.PCG64(5))
    shapes = {"w": (4, 3, 3, 3), "scale": (4,), "shift": (4,), "mean": (4,), "var": (4,)}
    for name, shape in shapes.items():
        array = generator.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(np.abs(array) + 0.1 if name == "var" else array, name))
    onnx.save(model, tmp_path / "m.onnx")
    path = tmp_path / "m.trtspec"
    path.write_text(
        'trtspec 1\ndim N in 1..4\nmodel "m.onnx"\ninput "x" : f32[N, 3, 8, 8]\n'
        'profile "p" { N = min 1 opt 2 max 4 }\ntarget tensorrt_rtx\n'
    )
    return path


def compile_here(spec: Path) -> trtc.CompileResult:
    return trtc.compile(spec, isolate=False)


def failed_rungs(spec: Path) -> list[str]:
    """The rungs that a compile of `spec` fails on; the engine must not be where a good one would be."""
    with pytest.raises(trtc.DiagnosticError) as caught:
        compile_here(spec)
    assert {d.code for d in caught.value.diagnostics} == {"T0901"}
    assert caught.value.status == 3
    assert not spec.with_suffix(".engine").exists()
    kept = spec.parent / "failed" / "m"
    assert {"engine", "optimized.onnx", "readback.onnx", "inputs_0.npz", "expected_0.npz"} <= {
        p.name for p in kept.iterdir()
    }
    reports = json.loads((kept / "verification.json").read_text())
    return [r["rung"] for r in reports if r["status"] == "failed"]


def test_without_a_fault_both_rungs_hold(spec: Path) -> None:
    result = compile_here(spec)
    assert [(r.rung, r.status) for r in result.rungs][:2] == [("graph", "passed"), ("network", "passed")]
    assert spec.with_suffix(".engine").stat().st_size > 0


def test_a_fault_in_a_pass_is_caught_by_the_graph(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = FoldBatchNorm.run

    def forgets_the_mean(self: FoldBatchNorm, module: Module, context: Context) -> PassResult:
        for node in module.nodes():
            if node.op_type == "BatchNormalization":
                mean = module.constant(node.inputs[3])
                assert mean is not None
                from trtc.ir import edit

                node.replace_input_with(3, edit.constant(module, np.zeros_like(mean), "no_mean"))
        return right(self, module, context)

    monkeypatch.setattr(FoldBatchNorm, "run", forgets_the_mean)
    # The network is emitted from the wrong graph, so it is wrong as well; the first rung says where it began.
    assert failed_rungs(spec) == ["graph", "network"]


def test_a_fault_in_an_emitter_is_caught_by_the_network(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = trtc.emit.convolution.paddings

    def swapped(*arguments: Any) -> Any:
        before, after = right(*arguments)
        return after, before

    monkeypatch.setattr(trtc.emit.convolution, "paddings", swapped)
    assert failed_rungs(spec) == ["network"]


@pytest.mark.parametrize("factor", [1.01, 1.001])
def test_a_fault_in_a_weight_is_caught_by_the_network(
    spec: Path, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    right = trtc.emit.layers.convert

    def off(array: np.ndarray, *arguments: Any, **settings: Any) -> np.ndarray:
        made = right(array, *arguments, **settings)
        return made * np.float32(factor) if made.ndim == 4 else made

    monkeypatch.setattr(trtc.emit.layers, "convert", off)
    assert failed_rungs(spec) == ["network"]


def test_one_wrong_element_of_a_weight_is_caught(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = trtc.emit.layers.convert

    def one_bit(array: np.ndarray, *arguments: Any, **settings: Any) -> np.ndarray:
        made = right(array, *arguments, **settings)
        if made.ndim != 4:
            return made
        made = made.copy()
        made[1, 2, 0, 1] *= np.float32(1.05)
        return made

    monkeypatch.setattr(trtc.emit.layers, "convert", one_bit)
    assert failed_rungs(spec) == ["network"]


def test_an_older_engine_at_the_destination_stays_as_it_was(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_here(spec)
    before = spec.with_suffix(".engine").read_bytes()
    monkeypatch.setattr(trtc.emit.convolution, "paddings", lambda *a: ((1, 1), (0, 0)))
    with pytest.raises(trtc.DiagnosticError):
        compile_here(spec)
    assert spec.with_suffix(".engine").read_bytes() == before
    assert not list(spec.parent.glob(".trtc-*"))
