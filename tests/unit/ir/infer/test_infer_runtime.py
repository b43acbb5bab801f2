"""What is inferred, evaluated at random sizes, against what ONNX Runtime (optimizations off) computes."""

from __future__ import annotations

import random
import re

import numpy as np
import onnx
import pytest
from infer_cases import CASES, module_of
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from trtc.evaluate import session
from trtc.ir import dims
from trtc.ir.infer import Fact, infer_all


def _run(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    try:
        running = session(model.SerializeToString())
    except Exception:  # no kernel for this operator or type
        return np.asarray(ReferenceEvaluator(model).run(None, feeds)[0])
    return np.asarray(running.run(None, feeds)[0])


def _model(inputs: str, body: str, fact: Fact, output: str) -> onnx.ModelProto:
    from infer_cases import HEADER

    model = onnx.parser.parse_model(HEADER.format(inputs=inputs, body=body, functions=""))
    assert fact.dtype is not None
    model.graph.output.append(helper.make_tensor_value_info(output, int(fact.dtype), None))
    return model


def _feeds(model: onnx.ModelProto, env: dict[str, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
    feeds: dict[str, np.ndarray] = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [env[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if tensor.elem_type == TensorProto.BOOL:
            feeds[value.name] = rng.random(shape) > 0.5
        elif dtype.kind == "i":
            feeds[value.name] = rng.integers(0, 2, shape).astype(dtype)
        else:
            feeds[value.name] = rng.normal(size=shape).astype(dtype)
    return feeds


@pytest.mark.parametrize(("inputs", "body"), [case[:2] for case in CASES], ids=[body for _, body, _ in CASES])
def test_agrees_with_a_run(inputs: str, body: str) -> None:
    module = module_of(inputs, body)
    infer_all(module)
    value = module.graph[-1].outputs[0]
    fact, name = module.fact(value), str(value.name)
    model = _model(inputs, body, fact, name)
    rng = random.Random(body)
    # Symbols that must be equal where the model runs at all.
    tied = {"M": "N"} if re.search(r"\[M,3\]", inputs) else {}
    for attempt in range(3):
        env = {s: rng.randint(9, 14) for s in ("A", "B", "C", "D", "H", "L", "M", "N", "P", "S", "T", "V", "W")}
        env.update({a: env[b] for a, b in tied.items()})
        if "PRelu" in body:
            env["S"] = 1
        if "float[7] z" in inputs:
            env["N"] = (1, 7, 7)[attempt]
        feeds = _feeds(model, env, np.random.default_rng(attempt))
        if "Reshape(x, t)" in body and "int64[1] k" in inputs:
            feeds["k"] = np.array([env["S"]])
        made = _run(model, feeds)
        assert made.dtype == fact.dtype.numpy()
        assert fact.shape is not None
        assert len(fact.shape) == made.ndim
        for d, size in zip(fact.shape, made.shape, strict=True):
            if not dims.unknowns(d):
                assert dims.evaluate(d, env) == size, (env, made.shape)
        assert not any(map(dims.unknowns, fact.shape)) or "NonZero" in body or "ConstantOfShape(x)" in body
        if fact.value is not None:
            assert [dims.evaluate(d, env) for d in fact.value] == made.ravel().tolist()
