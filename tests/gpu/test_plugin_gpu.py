"""Plugins of standard TensorRT on a GPU: rewritten to, built through the network API, executed as what they mean."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import onnx.parser
import pytest

import trtc
from trtc import targets
from trtc.targets.plugins import find

pytestmark = pytest.mark.gpu

HEAD = Path(__file__).parents[1] / "unit" / "rewrite" / "detection_head.py"
ALL = [("graph", "passed"), ("network", "passed"), ("engine", "passed")]


def detection_head() -> ModuleType:
    """The model and the rules that the unit tests rewrite too."""
    spec = importlib.util.spec_from_file_location("detection_head", HEAD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def needs(name: str) -> None:
    """Skips where this TensorRT has no plugin of that name in version 1."""
    target = targets.load("tensorrt")
    if find(target.module, target.logger, name, "1", "") is None:
        pytest.skip(
            f"tensorrt {target.version} here has no plugin {name} version 1 (libnvinfer_plugin not loaded, or gone)"
        )


def compiled(folder: Path, model: onnx.ModelProto, text: str, feeds: dict[str, np.ndarray]) -> trtc.CompileResult:
    onnx.save(model, folder / "m.onnx")
    (folder / "m.trtspec").write_text(
        'trtspec 1\nmodel "m.onnx"\ntarget tensorrt\n'
        # No cuDNN: plugins ask for functions that its newer versions do not have.
        "builder { optimization_level = 1  tactic_sources = [cublas, cublas_lt, edge_mask_convolutions] }\n"
        "verify { require = [graph, network, engine] }\n" + text
    )
    result = trtc.compile(folder / "m.trtspec", target="tensorrt", input=feeds)
    print(result.table)
    return result


def test_a_detection_head_runs_as_one_plugin(tmp_path: Path) -> None:
    needs("EfficientNMS_TRT")
    head = detection_head()
    result = compiled(tmp_path, head.model(), head.RULES + head.PIPELINE, head.inputs())
    assert [(r.rung, r.status) for r in result.rungs] == ALL
    assert [layer["name"] for layer in result.layers if layer["op"] == "efficient_nms"] == ["ReduceSum_0_1"]


def test_a_plugin_that_the_file_has_already(tmp_path: Path) -> None:
    needs("EfficientNMS_TRT")
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "TRT" : 1]>
        g (float[2,40,4] boxes, float[2,40,3] scores)
          => (int32[2,1] n, float[2,20,4] b, float[2,20] s, int32[2,20] c) {
          n, b, s, c = TRT.EfficientNMS_TRT<score_threshold = 0.3, iou_threshold = 0.5, max_output_boxes = 20,
            background_class = -1, score_activation = 0, box_coding = 0, plugin_version = "1">(boxes, scores)
        }"""
    )
    random = np.random.default_rng(1)
    low = random.uniform(0, 200, (2, 40, 2))
    boxes = np.concatenate([low, low + random.uniform(5, 30, (2, 40, 2))], -1).astype(np.float32)
    scores = random.uniform(0, 1, (2, 40, 3)).astype(np.float32)
    scores[1, 8:] = 0.1  # an image with fewer boxes than the plugin may give
    result = compiled(tmp_path, model, "use std.plugins\n", {"boxes": boxes, "scores": scores})
    assert [(r.rung, r.status) for r in result.rungs] == ALL


def test_skip_layer_norm_with_weights_as_fields(tmp_path: Path) -> None:
    needs("CustomSkipLayerNormPluginDynamic")
    random = np.random.default_rng(2)
    weights = ", ".join(f"{v:.4f}" for v in random.uniform(0.5, 1.5, 64))
    shifts = ", ".join(f"{v:.4f}" for v in random.uniform(-1, 1, 64))
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4,8,64] x, float[4,8,64] skip) => (float[4,8,64] y) '
        f"<float[64] gamma = {{{weights}}}, float[64] beta = {{{shifts}}}> "
        "{ s = Add(x, skip) y = LayerNormalization<axis = -1, epsilon = 0.00001>(s, gamma, beta) }"
    )
    rules = """
    use std.plugins
    rewrite use_skip_layer_norm {
      match y = LayerNormalization(a + b, gamma: const, beta: const, axis = -1, epsilon = ~1e-5)
      replace y with {
        normed = skip_layer_norm(Unsqueeze(a, axes = [3, 4]), Unsqueeze(b, axes = [3, 4]), gamma, beta)
        y = Squeeze(normed, axes = [3, 4])
      }
      test { a: f32[2, 8, 64]  b: f32[2, 8, 64]  gamma: f32[64]  beta: f32[64] }
    }
    pipeline { standard() apply(use_skip_layer_norm) expect(use_skip_layer_norm == 1) dce() }
    """
    feeds = {name: random.normal(0, 1, (4, 8, 64)).astype(np.float32) for name in ("x", "skip")}
    result = compiled(tmp_path, model, rules, feeds)
    assert [(r.rung, r.status) for r in result.rungs] == ALL
