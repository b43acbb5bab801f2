"""What canonical forms are held to: a model and its canonical form give the same in ONNX Runtime, optimizations off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx.parser
import onnx_ir as oir
import pytest

from trtc.evaluate import session
from trtc.ir import Module, load_proto
from trtc.ir.canonical import canonicalize

Arrays = Mapping[str, np.ndarray]


def parse(opset: int, graph: str, functions: str = "", imports: str = "") -> onnx.ModelProto:
    """A model from the text of its graph."""
    return onnx.parser.parse_model(
        f'<ir_version: {11 if opset > 20 else 8}, opset_import: ["" : {opset}{imports}]> {graph} {functions}'
    )


def needs_opset(opset: int) -> pytest.MarkDecorator:
    return pytest.mark.skipif(onnx.defs.onnx_opset_version() < opset, reason=_too_new(opset))


def _too_new(opset: int) -> str:
    return f"onnx {onnx.__version__} has no opset {opset}"


def canonical(model: onnx.ModelProto) -> Module:
    module = load_proto(model, canonical=False)
    canonicalize(module)
    return module


def proto(module: Module) -> onnx.ModelProto:
    return oir.serde.serialize_model(module.model)


def run(model: onnx.ModelProto, feeds: Arrays) -> list[np.ndarray]:
    return session(model.SerializeToString(), threads=1).run(None, dict(feeds))


def same(got: Sequence[np.ndarray], wanted: Sequence[np.ndarray], tolerance: float = 1e-6) -> None:
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        else:
            np.testing.assert_array_equal(a, b)


def data(model: onnx.ModelProto, dims: Mapping[str, int], seed: int) -> dict[str, np.ndarray]:
    """Random values for the inputs: floats around zero, small non-negative integers."""
    random = np.random.default_rng(seed)
    weights = {tensor.name for tensor in model.graph.initializer}
    feeds: dict[str, np.ndarray] = {}
    for info in model.graph.input:
        if info.name in weights:
            continue
        kind = info.type.tensor_type
        shape = [dims[d.dim_param] if d.dim_param else d.dim_value for d in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype.kind == "f":
            feeds[info.name] = (random.standard_normal(shape) * 2).astype(dtype)
        elif dtype.kind == "b":
            feeds[info.name] = random.integers(0, 2, shape).astype(dtype)
        else:
            feeds[info.name] = random.integers(0, 4, shape).astype(dtype)
    return feeds


@dataclass(frozen=True)
class Case:
    """One restatement: the old form, where it is tried, and the operators it must end in."""

    name: str
    opset: int
    graph: str
    ops: tuple[str, ...]
    dims: tuple[Mapping[str, int], ...] = ({"N": 2}, {"N": 5})
    feeds: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    oracle: Callable[..., object] | None = None
    """The meaning, where ONNX Runtime does not run the old form: of the inputs in order."""
    tolerance: float = 1e-6


def check(case: Case) -> Module:
    if onnx.defs.onnx_opset_version() < case.opset:
        pytest.skip(_too_new(case.opset))
    model = parse(case.opset, case.graph)
    module = canonical(model)
    assert tuple(node.op_type for node in module.graph) == case.ops
    assert all(node.domain == "" for node in module.nodes())
    assert module.opset == case.opset
    assert (module.model.opset_imports[""], module.model.ir_version) == (23, 11)
    restated = proto(module)
    onnx.checker.check_model(restated)
    for seed, dims in enumerate(case.dims):
        feeds = {**data(model, dims, seed), **case.feeds}
        if case.oracle is None:
            wanted = run(model, feeds)
        else:
            given = case.oracle(*feeds.values())
            wanted = [np.asarray(part) for part in (given if isinstance(given, tuple) else (given,))]
        same(run(restated, feeds), wanted, case.tolerance)
    return module
