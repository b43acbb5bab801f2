"""Plugins of the language: meanings as functions, fields per call, nodes of files adopted, targets without plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import detection_head
import numpy as np
import onnx
import onnx.parser
import pytest

from trtc import ir, lang
from trtc.diagnostics import DiagnosticError
from trtc.driver.front import prepare, run_pipeline
from trtc.driver.library import vocabulary
from trtc.evaluate import Evaluator, run_session, session
from trtc.ir import plugins
from trtc.ir.module import Module
from trtc.lang.spec import Spec
from trtc.rewrite.plugins import adopt, code_of, data_of


def spec_of(text: str, folder: Path, model: onnx.ModelProto) -> Spec:
    onnx.save(model, folder / "m.onnx")
    path = folder / "s.trtspec"
    path.write_text(f'trtspec 1\nmodel "m.onnx"\n{text}')
    return lang.loads(path.read_text(), path, vocabulary())


def compiled(spec: Spec, has: bool | None = True) -> tuple[Module, list[str]]:
    """The module after the pipeline, and what was declined."""
    prepared = prepare(spec, covered=False)
    outcome = run_pipeline(prepared.module, spec.pipeline, plugins=has)
    declined = [f"{r.source}: {r.message}" for r in outcome.remarks if r.kind.value == "declined"]
    return prepared.module, declined


def outputs(module: Module | onnx.ModelProto, feeds: dict[str, np.ndarray], folder: Path) -> dict[str, np.ndarray]:
    if isinstance(module, Module):
        ir.save(module, folder / "out.onnx")
        return run_session(session(folder / "out.onnx"), feeds)
    return run_session(session(module.SerializeToString()), feeds)


def test_a_detection_head_is_one_plugin_and_means_the_same(tmp_path: Path) -> None:
    spec = spec_of(detection_head.RULES + detection_head.PIPELINE, tmp_path, detection_head.model())
    module, _ = compiled(spec)
    assert [n.op_type for n in module.nodes()] == ["Sigmoid", "Split", "Mul", "Sub", "Add", "Concat", "efficient_nms"]
    *_, call = module.nodes()
    assert {k: a.value for k, a in call.attributes.items()} == {
        "score_threshold": pytest.approx(0.3),
        "iou_threshold": 0.5,
        "max_output_boxes": 50,
        "background_class": -1,
        "score_activation": 0,
        "box_coding": 0,
    }
    feeds = detection_head.inputs()
    wanted, found = outputs(detection_head.model(), feeds, tmp_path), outputs(module, feeds, tmp_path)
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)
    assert wanted["best"].min() > 0.3


def test_a_target_without_plugins_keeps_the_operators(tmp_path: Path) -> None:
    text = detection_head.RULES + "pipeline { standard() apply(use_efficient_nms) }\n"
    module, declined = compiled(spec_of(text, tmp_path, detection_head.model()), has=False)
    assert "NonMaxSuppression" in {n.op_type for n in module.nodes()}
    assert declined == [
        "use_efficient_nms: the target has no plugins, so `efficient_nms` stays the operators that it means"
    ]


YOLO = """<ir_version: 8, opset_import: ["" : 17, "TRT" : 1]>
g (float[B,40,4] boxes, float[B,40,3] scores) => (int32[B,1] n, float[B,M,4] b, float[B,M] s, int32[B,M] c) {
  n, b, s, c = TRT.EfficientNMS_TRT<score_threshold = 0.3, iou_threshold = 0.5, max_output_boxes = 20,
    background_class = -1, score_activation = 0, box_coding = 0, plugin_version = "1">(boxes, scores)
}"""


def suppressed(boxes: np.ndarray, scores: np.ndarray, most: int, iou: float, least: float) -> list[Any]:
    """(score, class, box) of what is kept in an image, best first; written out."""

    def area(b: np.ndarray) -> float:
        return float((b[2] - b[0]) * (b[3] - b[1]))

    def overlap(a: np.ndarray, b: np.ndarray) -> float:
        sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
        shared = float(np.prod(np.maximum(sides, 0)))
        return shared / (area(a) + area(b) - shared)

    kept: list[Any] = []
    for label in range(scores.shape[1]):
        mine: list[int] = []
        for at in np.argsort(-scores[:, label]):
            if scores[at, label] > least and all(overlap(boxes[at], boxes[j]) <= iou for j in mine):
                mine.append(at)
        kept += [(scores[at, label], label, at) for at in mine]
    return sorted(kept, key=lambda k: -k[0])[:most]


@pytest.mark.parametrize("domain", ["TRT.", ""])
def test_nodes_of_a_file_are_calls_and_the_meaning_is_what_the_plugin_says(tmp_path: Path, domain: str) -> None:
    model = onnx.parser.parse_model(YOLO.replace("TRT.Eff", f"{domain}Eff"))
    prepared = prepare(spec_of("use std.plugins\npipeline { dce() }\n", tmp_path, model), covered=False)
    assert prepared.adopted
    random = np.random.default_rng(1)
    for count in (6, 40):  # fewer than the plugin may give, and more
        low = random.uniform(0, 50, (2, 40, 2))
        boxes = np.concatenate([low, low + random.uniform(5, 30, (2, 40, 2))], -1).astype(np.float32)
        scores = random.uniform(0.3, 1, (2, 40, 3)).astype(np.float32)
        scores[:, count:] = 0.1
        found = outputs(prepared.module, {"boxes": boxes, "scores": scores}, tmp_path)
        for image in range(2):
            kept = suppressed(boxes[image], scores[image], 20, 0.5, 0.3)
            assert found["n"][image, 0] == len(kept)
            np.testing.assert_array_equal(found["s"][image, : len(kept)], [k[0] for k in kept])
            np.testing.assert_array_equal(found["c"][image, : len(kept)], [k[1] for k in kept])
            np.testing.assert_array_equal(found["b"][image, : len(kept)], boxes[image][[k[2] for k in kept]])
            assert not any(found[name][image, len(kept) :].any() for name in "bsc")


def test_nodes_of_an_undeclared_plugin_in_the_default_domain(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        prepare(spec_of("pipeline { dce() }\n", tmp_path, onnx.parser.parse_model(YOLO.replace("TRT.Eff", "Eff"))))
    (found,) = caught.value.diagnostics
    assert found.code == "T0650"
    assert 'creator = "EfficientNMS_TRT"' in (found.help or "")


SCALED = """
plugin scaled(x: float[..., H], w: const float[H], b?: float[H]) -> y: float[..., H] {
  creator = "Scaled_TRT"
  version = "2"
  namespace = "mine"
  library = "libscaled.so"
  fields { size: i32 = H  alpha: f32 = 2.0  steps: i32[] = [1, H + 1]  label: string = "s"  weights: weights = w }
  meaning y = default(x * w * $alpha + b, x * w * $alpha)
}
rewrite use_scaled {
  match y = Mul(Mul(x, w: const), $a)
  replace y with scaled(x, w, alpha = $a)
  test { x: f32[2, 4]  w: f32[4] }
}
pipeline { apply(use_scaled) }
"""

TWICE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,4] z)
<float[4] w = {1, 2, 3, 4}, float[4] v = {5, 6, 7, 8}, float a = {3}, float b = {BB}> {
  p = Mul(x, w)
  y = Mul(p, a)
  q = Mul(y, v)
  z = Mul(q, b)
}"""


@pytest.mark.parametrize(("second", "functions"), [("3", ["scaled"]), ("5", ["scaled", "scaled_2"])])
def test_calls_share_a_function_where_they_mean_the_same(tmp_path: Path, second: str, functions: list[str]) -> None:
    model = onnx.parser.parse_model(TWICE.replace("BB", second))
    module, _ = compiled(spec_of(SCALED, tmp_path, model))
    assert [f.name for f in module.model.functions.values()] == functions
    assert [n.op_type for n in module.nodes()] == (["scaled", "scaled"] if second == "3" else functions)
    first = next(iter(module.nodes()))
    assert {k: a.value for k, a in first.attributes.items()} == {
        "size": 4,
        "alpha": 3.0,
        "steps": (1, 5),
        "label": "s",
    }
    data = plugins.plugin_of(module, first)
    assert data is not None
    assert (data.creator, data.version, data.namespace, data.library) == ("Scaled_TRT", "2", "mine", "libscaled.so")
    assert data.tensors == (0, 2)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    found = outputs(module, {"x": x}, tmp_path)["z"]
    np.testing.assert_array_equal(found, x * [1, 2, 3, 4] * 3 * [5, 6, 7, 8] * float(second))


def test_what_a_call_declines(tmp_path: Path) -> None:
    text = TWICE.replace("float[N,4] x", "float[N,4] x, float[4] w").replace("float[4] w = {1, 2, 3, 4}, ", "")
    rules = SCALED.replace("w: const)", "w)").replace("w: f32[4]", "w: f32[4]")
    module, declined = compiled(spec_of(rules, tmp_path, onnx.parser.parse_model(text.replace("BB", "3"))))
    assert [n.op_type for n in module.nodes()] == ["Mul", "Mul", "scaled"]
    assert "use_scaled: `w` of the plugin is const, and `x` is computed at run time" in declined
    sized = SCALED.replace("size: i32 = H", "size: i32 = N").replace("x: float[..., H]", "x: float[N, H]")
    _, declined = compiled(spec_of(sized, tmp_path, onnx.parser.parse_model(TWICE.replace("BB", "3"))))
    assert declined[0] == "use_scaled: the field `size` of the plugin depends on a dim that is not known"
    half = SCALED.replace("x: float[..., H]", "x: f16[..., H]")
    _, declined = compiled(spec_of(half, tmp_path, onnx.parser.parse_model(TWICE.replace("BB", "3"))))
    assert declined[0] == "use_scaled: `x` of the plugin is f16, and `x` is float"


def test_code_is_what_the_declarations_name(tmp_path: Path) -> None:
    spec = spec_of(SCALED, tmp_path, onnx.parser.parse_model(TWICE.replace("BB", "3")))
    code = code_of(spec.plugins, tmp_path)
    assert code.libraries == (str((tmp_path / "libscaled.so").resolve()),)
    assert code.classes == ()
    text = 'extern plugin twice(x: float) -> y: float from "mine:Twice" { meaning y = x * 2.0 }\npipeline { dce() }\n'
    spec = spec_of(text, tmp_path, onnx.parser.parse_model(TWICE.replace("BB", "3")))
    assert code_of(spec.plugins, tmp_path).classes == ("mine:Twice",)
    assert [(data_of(p).creator, data_of(p).library) for p in spec.plugins] == [("Twice", "mine:Twice")]


def test_a_node_that_does_not_fit_its_declaration(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(YOLO.replace("float[B,40,4] boxes", "float[B,40,5] boxes"))
    module = ir.load_proto(model)
    spec = spec_of("use std.plugins\npipeline { dce() }\n", tmp_path, model)
    with pytest.raises(DiagnosticError) as caught:
        adopt(module, spec.plugins, Evaluator())
    (found,) = caught.value.diagnostics
    assert found.code == "T0658"
    assert found.message == (
        "`EfficientNMS_TRT_0` does not fit the plugin `efficient_nms`: "
        "`boxes` of the plugin is `float[B, N, 4]`, and `boxes` is [B, 40, 5]"
    )
