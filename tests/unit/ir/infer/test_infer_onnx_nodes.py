"""onnx's own node tests: inferred dtypes, shapes and elements against the expected outputs that it ships.

Every case runs twice: with the small inputs as constants and static shapes, and with a symbol for every size.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as oir
import pytest
from onnx import defs, numpy_helper
from onnx.backend.test.loader import load_model_tests

from trtc.diagnostics import DiagnosticError
from trtc.ir import dims
from trtc.ir.infer import RULES, infer_all, show
from trtc.ir.module import OPSET, Module

NEWEST = 26
"""Cases of later opsets may be of forms that nothing here restates."""


def _tensors(case: Any) -> tuple[list[Any], list[Any]]:
    if case.data_sets:
        return case.data_sets[0]
    folder = Path(case.model_dir) / "test_data_set_0"
    sides: list[list[Any]] = []
    for side in ("input", "output"):
        found: list[Any] = []
        for at in range(len(list(folder.glob(f"{side}_*.pb")))):
            tensor = onnx.TensorProto()
            try:
                tensor.ParseFromString((folder / f"{side}_{at}.pb").read_bytes())
                found.append(numpy_helper.to_array(tensor))
            except Exception:  # a sequence or an optional
                found.append(None)
        sides.append(found)
    return sides[0], sides[1]


def _current(model: onnx.ModelProto) -> bool:
    """Whether every node is in the form of opset 23 (or a later one), as it is in a loaded module."""
    version = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    for node in model.graph.node:
        if node.domain not in ("", "ai.onnx") or ("", node.op_type) not in RULES or version > NEWEST:
            return False
        then = defs.get_schema(node.op_type, version, "").since_version
        if then <= OPSET and then < defs.get_schema(node.op_type, OPSET, "").since_version:
            return False
    return True


@pytest.fixture(scope="module")
def cases() -> list[tuple[str, onnx.ModelProto, list[Any], list[Any]]]:
    def collect() -> Iterator[tuple[str, onnx.ModelProto, list[Any], list[Any]]]:
        for case in load_model_tests(kind="node"):
            model = case.model if case.model is not None else onnx.load(str(Path(case.model_dir) / "model.onnx"))
            if _current(model):
                yield case.name, model, *_tensors(case)

    return list(collect())


def _constant_inputs(model: onnx.ModelProto, inputs: list[Any]) -> tuple[onnx.ModelProto, dict[str, int]]:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    kept = list(made.graph.input)[:1]
    for value, array in list(zip(made.graph.input, inputs, strict=False))[1:]:
        small = isinstance(array, np.ndarray) and array.size <= 64 and array.dtype.kind in "iuf"
        if small and numpy_helper.from_array(array).data_type == value.type.tensor_type.elem_type:
            made.graph.initializer.append(numpy_helper.from_array(array, value.name))
        else:
            kept.append(value)
    kept = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in kept]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    return made, {}


def _symbolic_inputs(model: onnx.ModelProto, inputs: list[Any]) -> tuple[onnx.ModelProto, dict[str, int]]:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    env: dict[str, int] = {}
    for value, array in zip(made.graph.input, inputs, strict=False):
        if value.type.HasField("tensor_type") and isinstance(array, np.ndarray):
            for dim, size in zip(value.type.tensor_type.shape.dim, array.shape, strict=False):
                if size > 1:
                    dim.dim_param = f"d{size}"
                    env[f"d{size}"] = size
    return made, env


def _mismatches(module: Module, model: onnx.ModelProto, outputs: list[Any], env: dict[str, int]) -> Iterator[str]:
    for value, declared, expected in zip(module.graph.outputs, model.graph.output, outputs, strict=False):
        fact = module.fact(value)
        if not isinstance(expected, np.ndarray):
            continue
        if fact.dtype is None or int(fact.dtype) != declared.type.tensor_type.elem_type:
            yield f"{value.name}: {show(fact)}, dtype {declared.type.tensor_type.elem_type}"
        if fact.shape is None:
            continue
        got = [None if dims.unknowns(d) else dims.evaluate(d, env) for d in fact.shape]
        if len(got) != expected.ndim or any(g not in (None, e) for g, e in zip(got, expected.shape, strict=True)):
            yield f"{value.name}: {show(fact)}, shape {expected.shape}"
        if fact.value is not None and not any(map(dims.unknowns, fact.value)):
            elements = [dims.evaluate(d, env) for d in fact.value]
            if elements != [int(x) for x in expected.ravel().tolist()]:
                yield f"{value.name}: {elements}, expected {expected}"


# onnx computes some of its expected outputs here, infinities among them.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("prepare", [_constant_inputs, _symbolic_inputs])
def test_node_cases(cases: list[tuple[str, onnx.ModelProto, list[Any], list[Any]]], prepare: Any) -> None:
    wrong: list[str] = []
    for name, model, inputs, outputs in cases:
        prepared, env = prepare(model, inputs)
        module = Module(oir.from_proto(prepared))
        try:
            infer_all(module)
        except DiagnosticError as error:
            wrong.append(f"{name}: {error}")
            continue
        wrong += [f"{name}: {said}" for said in _mismatches(module, model, outputs, env)]
    assert wrong == []
    assert len(cases) > 500
