"""Ten times the nodes are ten times the work, for emission and for read-back."""

from __future__ import annotations

from collections.abc import Callable

import onnx
import onnx.parser
import pytest

from trtc import ir, targets
from trtc.engine.lower import lower
from trtc.ir.infer import infer_all
from trtc.ir.module import Module

Count = Callable[[Callable[[], object]], int]


def chain(length: int) -> Module:
    """Blocks of MatMul, Add, Relu and a residual Add; every tenth block reshapes by shape arithmetic."""
    body = []
    for i in range(length // 5):
        body.append(f"a{i} = MatMul(x{i}, w) b{i} = Add(a{i}, s) c{i} = Relu(b{i}) d{i} = Add(c{i}, x{i})")
        if i % 10:
            body.append(f"x{i + 1} = Sigmoid(d{i})")
        else:
            body.append(f"h{i} = Shape(d{i}) x{i + 1} = Reshape(d{i}, h{i})")
    last = f"x{length // 5}"
    values = ",".join(["0.5"] * 16)
    module = ir.load_proto(
        onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 17]> g (float[N,4] x0) => (float[N,4] {last}) '
            f"<float[4,4] w = {{{values}}}, float[4] s = {{1,2,3,4}}> {{ {' '.join(body)} }}"
        )
    )
    infer_all(module)
    return module


@pytest.mark.parametrize("stage", ["emission", "read-back"])
def test_ten_times_the_nodes_are_ten_times_the_calls(stage: str, count_calls: Count) -> None:
    target = targets.load("tensorrt_rtx")

    def calls(length: int) -> int:
        module = chain(length)
        if stage == "emission":
            return count_calls(lambda: lower(module, target))
        lowered = lower(module, target)
        return count_calls(lowered.read)

    calls(100)  # what is imported and registered on the way is there once
    assert calls(2000) < 12 * calls(200)
