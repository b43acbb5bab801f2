"""ONNX's own test cases: the expected outputs of the standard, from the canonical form in ONNX Runtime.

The cases of opset 6 and 9 that come as files, and those of the operators that came or changed after opset 23.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime as ort
import pytest
from canonical_oracle import canonical, parse, proto, run
from onnx.reference import ReferenceEvaluator

from trtc.diagnostics import DiagnosticError
from trtc.evaluate import older

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
FOLDERS = sorted(p for kind in ("pytorch-operator", "pytorch-converted") for p in (DATA / kind).glob("test_*"))

#: Operators that are composed of others.
COMPOSED = (
    *("AffineGrid", "CenterCropPad", "DynamicQuantizeLinear"),
    *("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"),
)
#: Operators that are newer than opset 23, or were given a new meaning after it.
NEWER = (
    *("Attention", "BitShift", "CausalConvWithState", "Celu", "CumProd", "LinearAttention", "Mod", "SpaceToDepth"),
    *("SwiGLU", "Swish", "TensorScatter"),
)

#: Formats that NumPy, and ONNX Runtime's interface to it, do not have.
_FOREIGN = ("bf16", "bfloat16", "int4", "float4", "float8", "int2")


def _tensor(path: Path) -> np.ndarray:
    return onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def _close(got: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        # The last bit of half precision is 1e-3, and every step of a composition rounds.
        tolerance = (4e-3 if b.dtype == np.float16 else 1e-3) if b.dtype.kind == "f" else 0
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance / 100, equal_nan=True)


@pytest.mark.parametrize("folder", FOLDERS[::2], ids=lambda p: p.name)
def test_models_of_old_opsets(folder: Path) -> None:
    model = onnx.load(folder / "model.onnx")
    module = canonical(model)
    feeds = {
        value.name or "": _tensor(folder / "test_data_set_0" / f"input_{at}.pb")
        for at, value in enumerate(module.graph.inputs)
    }
    wanted = [_tensor(folder / "test_data_set_0" / f"output_{at}.pb") for at in range(len(module.graph.outputs))]
    _close(run(proto(module), feeds), wanted)


def _newer() -> Iterator[tuple[str, onnx.ModelProto, list[np.ndarray], list[np.ndarray]]]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)  # pyright: ignore
    for case in cases:
        kinds = {node.op_type for node in case.model.graph.node}
        # An older onnx has no newer version of some of them: then nothing is restated.
        newer = {kind for kind in kinds & set(NEWER) if onnx.defs.get_schema(kind).since_version > 23}
        if not newer | kinds & set(COMPOSED) or "expanded" in case.name or any(word in case.name for word in _FOREIGN):
            continue
        for inputs, outputs in case.data_sets:
            if not _is_of_another_meaning(case.name):
                yield case.name, case.model, inputs, outputs


def _is_of_another_meaning(name: str) -> bool:
    """Cases of an older onnx that the text of the operator has since corrected, and what ONNX Runtime of its time does
    with them: the heads of keys in the order 0 1 0 1, and the causal mask of a past from its beginning."""
    if "gqa" in name:
        q, k = np.zeros((1, 4, 1, 1), np.float32), np.zeros((1, 2, 1, 1), np.float32)
        v = np.array([0, 1], np.float32).reshape(1, 2, 1, 1)
        graph = (
            "g (float[1,4,1,1] q, float[1,2,1,1] k, float[1,2,1,1] v) => (float[1,4,1,1] y) { y = Attention(q, k, v) }"
        )
        (y,) = ReferenceEvaluator(parse(23, graph)).run(None, {"q": q, "k": k, "v": v})
        return np.asarray(y).ravel().tolist() != [0, 0, 1, 1]
    return "past" in name and "causal" in name and older.version(ort.__version__) < (1, 24)


#: Where ONNX Runtime's own Attention differs from the expected outputs, in the original model just as much.
_DIFFER = 4


def test_operators_after_opset_23() -> None:
    right = differ = 0
    refused: list[str] = []
    for _, model, inputs, wanted in _newer():
        feeds = dict(zip((value.name for value in model.graph.input), map(np.asarray, inputs), strict=True))
        try:
            restated = proto(canonical(model))
        except DiagnosticError as error:
            refused += [diagnostic.code for diagnostic in error.diagnostics]
            continue
        if older.version(ort.__version__) < (1, 28) and any(n.op_type == "Attention" for n in restated.graph.node):
            # Masks of several kinds, and such that hide every key, came to its kernel only then.
            got = [np.asarray(value) for value in ReferenceEvaluator(restated).run(None, feeds)]
        else:
            got = run(restated, feeds)
        try:
            _close(got, [np.asarray(value) for value in wanted])
            right += 1
        except AssertionError:
            _close(got, run(model, feeds))
            differ += 1
    assert refused == []
    assert differ <= _DIFFER
    assert right > 30
