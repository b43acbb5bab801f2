"""The tables of targets and builder settings, which load no TensorRT."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trtc.targets import BUILDER_FIELDS, TARGETS, builder_fields


def test_targets_in_the_order_of_preference() -> None:
    assert list(TARGETS) == ["tensorrt", "tensorrt_rtx"]
    assert TARGETS["tensorrt"].builds_without_gpu is False
    assert [o.name for o in TARGETS["tensorrt_rtx"].options] == ["compute"]


def test_tf32_is_off_unless_asked_for() -> None:
    field = BUILDER_FIELDS["tf32"]
    assert (field.mapped, field.member, field.default) == ("flag", "TF32", False)


def test_workspace_is_a_memory_pool() -> None:
    field = BUILDER_FIELDS["workspace"]
    assert (field.type, field.mapped, field.member) == ("bytes", "pool", "WORKSPACE")


def test_optimization_level_has_a_range() -> None:
    field = BUILDER_FIELDS["optimization_level"]
    assert (field.low, field.high, field.member) == (0, 5, "builder_optimization_level")


@pytest.mark.parametrize("name", ["timing_cache", "refit", "strip_plan", "weight_streaming", "dla_core"])
def test_known_but_not_built(name: str) -> None:
    assert BUILDER_FIELDS[name].built is False


def test_fields_of_one_target() -> None:
    names = {field.name for field in builder_fields("tensorrt_rtx")}
    assert "workspace" in names
    assert "dla_managed_sram" not in names


def test_what_is_built_exists_in_the_module() -> None:
    trt = pytest.importorskip("tensorrt_rtx")
    for field in builder_fields("tensorrt_rtx"):
        if not field.built:
            continue
        if field.mapped == "pool":
            assert hasattr(trt.MemoryPoolType, field.member), field.name
        elif field.mapped == "flag":
            assert hasattr(trt.BuilderFlag, field.member), field.name
        else:
            assert hasattr(trt.IBuilderConfig, field.member), field.name
        if field.enum is not None:
            assert all(hasattr(getattr(trt, field.enum), choice.upper()) for choice in field.choices)


def test_the_tables_import_nothing_heavy() -> None:
    code = (
        "import sys, trtc.targets; trtc.targets.builder_fields();"
        "print([m for m in ('numpy', 'onnx', 'onnx_ir', 'tensorrt', 'tensorrt_rtx') if m in sys.modules])"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert child.stdout.strip() == "[]"
