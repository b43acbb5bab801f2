"""A spec with a plugin through the whole compile, on a target that has none: the meaning is built."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest

pytest.importorskip("tensorrt_rtx")

import trtc

MODEL = """<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
g (float[2,4] x) => (float[2,4] y) {
  a = Abs(x)
  b = mine.Scaled_TRT<alpha = 3.0, plugin_version = "1">(a)
  y = Neg(b)
}"""

SPEC = """trtspec 1
model "m.onnx"
target tensorrt_rtx { compute = [8.9] }
builder { optimization_level = 0 }
plugin scaled(x: float[..., H]) -> y: float[..., H] {
  creator = "Scaled_TRT"
  fields { alpha: f32 = 2.0  size: i32 = H }
  meaning y = LayerNormalization(x, Expand(1.0, [H]), axis = -1, epsilon = 1e-5) * $alpha
}
"""


def test_a_plugin_of_the_file_is_built_as_its_meaning(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    (tmp_path / "s.trtspec").write_text(SPEC)
    result = trtc.compile(tmp_path / "s.trtspec", allow_code=True)
    assert [(r.rung, r.status) for r in result.rungs[:2]] == [("graph", "passed"), ("network", "passed")]
    assert {layer["type"] for layer in result.layers} >= {"Normalization", "Unary"}
    assert not [layer for layer in result.layers if layer["type"].startswith("Plugin")]
