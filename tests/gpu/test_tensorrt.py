"""Standard TensorRT on a GPU: the engine is built, and the engine rung holds through Polygraphy's TrtRunner."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import trtc
import trtc.emit.layers

pytestmark = pytest.mark.gpu

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(folder: str) -> ModuleType:
    """The script of an example that makes its model."""
    path = EXAMPLES / folder / "make_model.py"
    spec = importlib.util.spec_from_file_location(f"make_{folder}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(folder: Path, model: onnx.ModelProto, spec: str) -> trtc.CompileResult:
    """Compile with the engine rung required; the lowest optimization level, so that a build takes seconds."""
    onnx.save(model, folder / "m.onnx")
    (folder / "m.trtspec").write_text(
        'trtspec 1\nmodel "m.onnx"\ntarget tensorrt\nbuilder { optimization_level = 1 }\n'
        "verify { require = [graph, network, engine] }\n" + spec
    )
    result = trtc.compile(folder / "m.trtspec", target="tensorrt")
    print(result.table)
    print(dict(result.seconds))
    return result


def statuses(result: trtc.CompileResult) -> list[tuple[str, str]]:
    return [(report.rung, report.status) for report in result.rungs]


ALL = [("graph", "passed"), ("network", "passed"), ("engine", "passed")]


def test_resnet50(tmp_path: Path) -> None:
    result = build(
        tmp_path,
        example("resnet50").make_model(),
        'dim batch in 1..4\ninput "x" : f32[batch, 3, 224, 224]\nprofile "p" { batch = min 1 opt 2 max 4 }\n'
        "pipeline { standard() expect(count(BatchNormalization) == 0) }\n",
    )
    assert statuses(result) == ALL


def test_bert(tmp_path: Path) -> None:
    model = example("bert").make_model(2)  # two layers: a build in seconds
    result = build(
        tmp_path,
        model,
        "dim batch in 1..4\ndim seq in 8..64\n"
        'profile "p" { batch = min 1 opt 2 max 4  seq = min 8 opt 32 max 64 }\n'
        "pipeline { standard() apply(std.norm, std.activation) apply(std.horizontal)\n"
        "  expect(fuse_layer_norm == 4, fuse_gelu == 2, merge_projections == 2) cse() dce() }\n",
    )
    assert statuses(result) == ALL
    names = {value.name for value in [*model.graph.input, *model.graph.output]}
    assert {b["name"] for b in result.bindings} == names
    assert {b["name"] for b in json.loads(result.manifest.read_text())["bindings"]} == names


def test_the_rules_of_the_bert_example(tmp_path: Path) -> None:
    """Small, and with the plugin where this TensorRT has it."""
    onnx.save(example("bert").make_model(layers=2, width=128), tmp_path / "bert_encoder.onnx")
    spec = tmp_path / "bert_encoder.trtspec"
    # No cuDNN: plugins ask for functions that its newer versions do not have.
    builder = "builder { tactic_sources = [cublas, cublas_lt, edge_mask_convolutions] }"
    spec.write_text(f"{(EXAMPLES / 'bert' / spec.name).read_text()}\n{builder}\n")
    sizes = {"batch": (1, 2, 4), "seq": (8, 32, 64)}
    result = trtc.compile(spec, target="tensorrt", set={"layers": 2, "width": 128}, dim=sizes)
    print(result.table)
    assert statuses(result) == ALL
    rules = {rule["rule"]: rule for rule in json.loads(result.manifest.read_text())["rules"]}
    found = {
        name: rules[name]["applied"] for name in ("fuse_gelu", "fuse_layer_norm", "fuse_attention", "merge_projections")
    }
    assert found == {"fuse_gelu": 2, "fuse_layer_norm": 4, "fuse_attention": 2, "merge_projections": 2}
    skip = rules["use_skip_layer_norm"]
    assert skip["applied"] + len(skip.get("declined", [])) == 4


def test_several_profiles(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N,S,8] x) => (float[N,S,8] y) '
        "{ s = Softmax<axis = -1>(x) y = Mul(s, x) }"
    )
    result = build(
        tmp_path,
        model,
        'dim N in 1..8\ndim S in 1..64\ninput "x" : f32[N, S, 8]\n'
        'profile "a" { N = 1 S = min 1 opt 8 max 16 }\n'
        'profile "b" { N = min 2 opt 4 max 8 S = min 16 opt 32 max 64 }\n',
    )
    assert statuses(result) == ALL
    assert len(result.rungs[2].points) == 6


def test_int64_values_survive_where_the_target_has_no_int64(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (int64[N] i, float[5,3] t) => (float[N,3] y, int64[N] z) '
        "<int64 two = {2}> { y = Gather<axis = 0>(t, i) z = Mul(i, two) }"
    )
    result = build(tmp_path, model, 'dim N in 1..8\ninput "i" : i64[N]\nprofile "p" { N = min 1 opt 4 max 8 }\n')
    assert statuses(result) == ALL
    dtypes = {b["name"]: (b["model_dtype"], b["engine_dtype"]) for b in result.bindings}
    # 8.6 has no int64: the engine takes int32, and the runners cast.
    assert dtypes["i"] in (("INT64", "INT32"), ("INT64", "INT64"))


def test_a_fault_in_a_weight_is_caught_by_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = trtc.emit.layers.convert

    def off(array: np.ndarray, *arguments: Any, **settings: Any) -> np.ndarray:
        made = right(array, *arguments, **settings)
        return made * np.float32(1.01) if made.ndim == 4 else made

    monkeypatch.setattr(trtc.emit.layers, "convert", off)
    weights = ",".join(str((k % 7 - 3) / 7) for k in range(4 * 3 * 3 * 3))
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,3,8,8] x) => (float[2,4,6,6] y) '
        f"<float[4,3,3,3] w = {{{weights}}}> {{ y = Conv(x, w) }}"
    )
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(trtc.DiagnosticError) as caught:
        trtc.compile(tmp_path / "m.onnx", target="tensorrt", isolate=False)
    found = [d.message for d in caught.value.diagnostics]
    assert found == [
        "the TensorRT network does not compute what the original model computes",
        "the engine does not compute what the original model computes",
    ]
