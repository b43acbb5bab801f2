"""What a network computes, read back and run in ONNX Runtime, against what the model computes there."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnx_ir as oir
import onnxruntime as ort
from emission_harness import Built, build, module_of

from trtc import readback
from trtc.ir.infer import infer_all

HEAD = '<ir_version: 10, opset_import: ["" : 22]> g '


def _run(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[Any]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


def compare(text: str, *cases: dict[str, Any]) -> Built:
    """Emit a model and read the network back; both must give the same for the inputs of every case."""
    model = onnx.parser.parse_model(HEAD + text)
    module = module_of(HEAD + text)
    infer_all(module)
    built = build(module)
    read = oir.to_proto(readback.read(built.network, built.target.module, weights=built.emission.unreadable))
    for case in cases:
        feeds = {name: np.asarray(value) for name, value in case.items()}
        for got, wanted in zip(_run(read, feeds), _run(model, feeds), strict=True):
            assert got.shape == wanted.shape
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    return built
