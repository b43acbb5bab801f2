"""The examples: their specs are formatted and checked, their rules tested, and small variants of them compiled."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import onnx
import pytest

import trtc
from trtc.driver.refuting import refute, rules_to_test
from trtc.lang.formatter import format_text

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SPECS = sorted(EXAMPLES.rglob("*.trtspec"))
RULES = {
    "bert/bert_encoder.trtspec": [
        "fuse_gelu",
        "fuse_layer_norm",
        "fuse_attention",
        "merge_projections",
        "use_skip_layer_norm",
    ],
    "resnet50/resnet50.trtspec": ["head_as_matmul", "merge_siblings"],
}

needs_tensorrt = pytest.mark.skipif(
    importlib.util.find_spec("tensorrt_rtx") is None or importlib.util.find_spec("tensorrt") is not None,
    reason="the examples show TensorRT for RTX, without TensorRT beside it",
)


def copied(name: str, folder: Path) -> Path:
    """What belongs to an example, without what it has made."""
    made = shutil.ignore_patterns("*.onnx", "*.engine", "*.json", "failed", "__pycache__")
    return Path(shutil.copytree(EXAMPLES / name, folder / name, ignore=made))


def script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rules_applied(manifest: Path) -> dict[str, int]:
    rules = json.loads(manifest.read_text(encoding="utf-8"))["rules"]
    return {rule["rule"]: rule["applied"] for rule in rules if not rule["rule"].startswith("std.shape.")}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_every_spec_is_formatted(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_text(text) == text


@pytest.mark.parametrize("spec", RULES)
def test_no_rule_is_refuted_or_untested(spec: str) -> None:
    outcomes = list(refute(rules_to_test(str(EXAMPLES / spec)), instances=60))
    assert [(one.name, one.status, one.gaps) for one in outcomes] == [(name, "held", False) for name in RULES[spec]]


@needs_tensorrt
def test_bert(tmp_path: Path) -> None:
    folder = copied("bert", tmp_path)
    command = [sys.executable, "run.py", "--layers", "2", "--width", "128"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert rules_applied(folder / "bert.manifest.json") == {
        "fuse_gelu": 2,
        "fuse_layer_norm": 4,
        "fuse_attention": 2,
        "merge_projections": 2,
        "use_skip_layer_norm": 0,
    }
    assert "use_skip_layer_norm: 0 times; declined: the target has no plugins" in ran.stdout
    assert re.findall(r"^(graph|network) +y .* passed$", ran.stdout, re.M) == ["graph", "network"]
    assert (folder / "bert.engine").stat().st_size > 0


@needs_tensorrt
def test_resnet50_at_small_batches(tmp_path: Path) -> None:
    folder = copied("resnet50", tmp_path)
    onnx.save(script(folder / "make_model.py").make_model(), folder / "resnet50.onnx")
    result = trtc.compile(folder / "resnet50.trtspec", dim={"batch": (1, 2, 2)})
    assert [(rung.rung, rung.status) for rung in result.rungs] == [
        ("graph", "passed"),
        ("network", "passed"),
        ("engine", "not run"),
    ]
    assert rules_applied(result.manifest) == {
        "std.conv.batch_norm_after_conv": 53,
        "head_as_matmul": 1,
        "merge_siblings": 0,
    }
    operators = [node.op_type for node in onnx.load(folder / "resnet50.optimized.onnx").graph.node]
    assert sorted(set(operators)) == ["Add", "Conv", "MatMul", "MaxPool", "ReduceMean", "Relu"]


def test_what_a_page_names_is_there() -> None:
    for page in EXAMPLES.glob("*/README.md"):
        for name in re.findall(r"\b[\w.]+\.(?:py|trtspec)\b", page.read_text(encoding="utf-8")):
            assert (page.parent / name).exists(), f"{page}: {name}"
