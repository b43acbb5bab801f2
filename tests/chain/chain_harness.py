"""A small graph through the whole chain but the build: loaded, emitted, read back, and compared by value."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

from trtc import ir, targets
from trtc.engine.lower import lower
from trtc.engine.profiles import input_symbols
from trtc.ir.infer import infer_all
from trtc.verify import Comparison, Verification, random_points
from trtc.verify.interface import interface_of

#: Inputs that cannot be drawn: they decide shapes, or zero would be among them where something is divided.
GIVEN: dict[str, dict[str, np.ndarray]] = {
    "Mod": {"b": np.int64([3, -3, 2, 5])},
    "Mod fmod": {"b": np.int32([3, -3, 2, 5])},
    "Slice runtime": {"s": np.int64([1]), "e": np.int64([5])},
    "Expand unknown": {"s": np.int64([1, 4])},
    "ConstantOfShape runtime": {"s": np.int64([2, 3])},
    "Range runtime": {name: np.array(number) for name, number in (("a", 1), ("b", 10), ("c", 3))},
    "OneHot runtime": {"d": np.array(4)},
    "Pow int float": {"b": np.float32([2, 0, 1, 3])},
    "Split runtime": {"s": np.int64([2, 4])},
}

#: Graphs that neither ONNX Runtime nor the reference of the onnx package computes right: compared by hand instead.
APART = {
    "Conv crop": "neither takes negative padding",
    "LRN even": "ONNX Runtime takes no even window, the reference sums another one than the text of ONNX says",
    "Attention causal mask": "neither broadcasts a mask of one query beside a causal one",
}

_ORT = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])

#: The ONNX Runtime from which on it computes a graph right, and what it did before.
_SINCE = {
    "AveragePool include": ((1, 25), "counted other padding where pads are uneven and the size is rounded up"),
    "Attention softcap": ((1, 28), "applied the mask before the cap"),
}

HEAD = '<ir_version: 10, opset_import: ["" : 23]> g '


def emission_cases() -> dict[str, str]:
    """The graphs of the tests of emission: one per operator, several where it has several ways."""
    path = Path(__file__).parents[1] / "unit" / "emit" / "cases.py"
    spec = importlib.util.spec_from_file_location("emission_cases", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.CASES)


def skip_where_the_reference_is_wrong(name: str) -> None:
    """Skips a graph that the installed ONNX Runtime computes wrong."""
    since, reason = _SINCE.get(name, ((0,), ""))
    if since > _ORT:
        pytest.skip(f"onnxruntime before {'.'.join(map(str, since))} {reason}")


def parse(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text if text.lstrip().startswith("<ir_version") else HEAD + text)


def compare(
    text: str, target: str, given: Mapping[str, np.ndarray] | None = None, sizes: tuple[int, ...] = (2, 3)
) -> list[Comparison]:
    """Original in ONNX Runtime against the network of `target`, read back; every symbolic dim takes each of `sizes`.

    Raises:
        DiagnosticError: what trtc declines.
    """
    proto = parse(text)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(proto, folder / "original.onnx")
        module = ir.load(folder / "original.onnx")
        interface = interface_of(module)
        infer_all(module)
        symbols = input_symbols(module)
        environments = [(f"size {size}", dict.fromkeys(symbols, size)) for size in (sizes if symbols else sizes[:1])]
        points = random_points(module, environments, 11, given)
        ir.save(lower(module, targets.load(target)).read(), folder / "network.onnx")
        proof = Verification(folder / "original.onnx", interface, points)
        proof.prepare()
        report = proof.model("network", folder / "network.onnx")
    assert report.points, report.reason
    return [comparison for _, comparisons in report.points for comparison in comparisons]


def wrong(comparisons: list[Comparison]) -> list[str]:
    return [f"{c.output}: {c.reason}" for c in comparisons if not c.passed]
