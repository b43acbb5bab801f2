"""Runs one case through trtc and says how it went."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import onnx
from suite import Case, DataSet, Dims, freeze, input_names, loosen

Outcome = Literal["right", "frozen", "random", "disputed", "declined", "wrong", "crash", "hang"]

#: Whose expected outputs are one draw of a generator that no other implementation repeats: name, dtype and shape
#: are compared. They are never counted as right.
RANDOM = frozenset({"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"})

#: Operators whose inputs are all parameters: what they make is a constant of the model, or of its shapes.
GENERATORS = frozenset({"BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix", "Range"})

#: Whose data contradict the text of their operator, where ONNX Runtime and TensorRT both follow the text: compared
#: with ONNX Runtime on the original model instead. They are never counted as right.
_ALIGN = "the text divides by the length of the resized tensor less one, the data by a fraction: scale times length"
DISPUTED = {
    "test_resize_downsample_scales_cubic_align_corners": _ALIGN,
    "test_resize_downsample_scales_linear_align_corners": _ALIGN,
}

#: Relative tolerance of two units in the last place, where the case's own 1e-3 is less than that: intermediate
#: results are rounded in another order than by numpy, which made the expected outputs. onnx's runner does the same
#: for bfloat16.
NARROW = {"bfloat16": 2.0**-6, "float16": 2.0**-9}

#: Codes that no model of the suite may end in: the machine's fault (T00), and trtc's own: a pass that broke the
#: graph or did not settle, a graph that the verifier refuses, a network unlike the graph, an internal error.
OURS = ("T00", "T0502", "T0503", "T068", "T0704", "T08")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`code` and `text` say why a case was declined or what is wrong; `frozen` names inputs made constants."""

    name: str
    kind: str
    outcome: Outcome
    code: str = ""
    text: str = ""
    frozen: tuple[str, ...] = ()
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def judge(case: Case, dims: Dims = "static") -> Verdict:
    """Compile, run and compare every data set; `dims` says whether the compiler knows the sizes."""
    begin = time.perf_counter()

    def verdict(outcome: Outcome, code: str = "", text: str = "", frozen: tuple[str, ...] = ()) -> Verdict:
        return Verdict(case.name, case.kind, outcome, code, text, frozen, round(time.perf_counter() - begin, 3))

    model, data = case.load()
    model = loosen(model, dims)
    if case.name in DISPUTED:
        data = [(inputs, _onnxruntime(model, inputs)) for inputs, _ in data]
    names = input_names(model)
    outcome, code, text = _attempt(case, model, data, names, frozenset())
    if outcome != "declined" or not code.startswith(("T06", "T07")) or len(data) != 1:
        return verdict(outcome, code, text)
    last = code, text
    generator = any(node.op_type in GENERATORS for node in model.graph.node)
    for frozen in _parameters(names, data[0][0], generator):
        values = {n: v for n, v in zip(names, data[0][0], strict=True) if n in frozen}
        again, code2, text2 = _attempt(case, freeze(model, values), data, names, frozen)
        if again in ("right", "disputed"):
            return verdict("frozen" if again == "right" else again, code, text, tuple(sorted(frozen)))
        if again != "declined":
            return verdict(again, code2, f"with {', '.join(sorted(frozen))} frozen: {text2}", tuple(sorted(frozen)))
        last = code2, text2  # nearer to the real reason: what must be constant is constant there
    return verdict("declined", *last)


def _attempt(
    case: Case, model: onnx.ModelProto, data: list[DataSet], names: list[str], frozen: frozenset[str]
) -> tuple[Outcome, str, str]:
    import trtc.backend
    from trtc.diagnostics import DiagnosticError

    try:
        compiled = trtc.backend.prepare(model)
        wrong: list[str] = []
        for inputs, expected in data:
            feeds = {n: v for n, v in zip(names, inputs, strict=True) if n not in frozen}
            outputs = compiled.run(feeds)
            wrong += _compare(case, model, list(outputs), list(expected))
    except DiagnosticError as error:
        first = error.diagnostics[0]
        if first.code.startswith(OURS):
            return "wrong", first.code, _diagnostic(first)
        return "declined", first.code, _diagnostic(first)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{'/'.join(last.filename.split('/')[-2:])}:{last.lineno}"
        return "wrong", type(error).__name__, f"{' '.join(str(error).split())[:300]} ({place})"
    if wrong:
        return "wrong", "value", "; ".join(wrong)
    if case.name in DISPUTED:
        return "disputed", "", DISPUTED[case.name]
    random = any(node.op_type in RANDOM for node in model.graph.node)
    return ("random" if random else "right"), "", ""


def _onnxruntime(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return list(session.run(None, dict(zip(input_names(model), inputs, strict=True))))


def _diagnostic(one: Any) -> str:
    return " | ".join([one.message, *one.notes])[:600]


def _parameters(names: list[str], inputs: Sequence[Any], generator: bool) -> Iterator[frozenset[str]]:
    """Which inputs a real model would hold as constants, the fewest first; never the first, which is the data (but
    for a generator, which has none)."""
    pairs = list(zip(names, inputs, strict=True))
    if not all(isinstance(value, np.ndarray) for _, value in pairs):
        return
    small = frozenset(n for n, v in pairs[1:] if v.dtype.kind in "iub" and v.ndim <= 1)
    seen: set[frozenset[str]] = {frozenset()}
    for chosen in (small, frozenset(n for n, _ in pairs[0 if generator else 1 :])):
        if chosen not in seen:
            seen.add(chosen)
            yield chosen


def _compare(case: Case, model: onnx.ModelProto, outputs: list[Any], expected: list[Any]) -> list[str]:
    names = [info.name for info in model.graph.output]
    if len(outputs) != len(names) or len(expected) != len(names):
        return [f"{len(outputs)} outputs, expected {len(expected)} of {len(names)}"]
    random = any(node.op_type in RANDOM for node in model.graph.node)
    found = [_differs(case, got, want, random) for got, want in zip(outputs, expected, strict=True)]
    return [f"{name}: {text}" for name, text in zip(names, found, strict=True) if text]


def _differs(case: Case, got: Any, want: Any, random: bool) -> str:
    if not isinstance(got, np.ndarray) or not isinstance(want, np.ndarray | np.generic):
        return f"{type(got).__name__}, expected {type(want).__name__}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, expected {want.dtype}"
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if random:
        return ""
    if not got.dtype.name.startswith(("bfloat", "float")):
        same = np.asarray(got == want)
    elif got.dtype.itemsize == 1:  # float8 and narrower: a result is one of few values, and exactly that one
        a, b = got.astype(np.float32), want.astype(np.float32)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
    else:
        rtol = max(case.rtol, NARROW.get(got.dtype.name, 0.0))
        a, b = got.astype(np.float64), want.astype(np.float64)
        same = np.isclose(a, b, rtol=rtol, atol=case.atol, equal_nan=True)
    if same.all():
        return ""
    at = np.unravel_index(int(np.argmin(same)), same.shape) if same.ndim else ()
    count = int(same.size - same.sum())
    return f"{count} of {same.size} elements differ, first at {tuple(map(int, at))}: {got[at]!s}, expected {want[at]!s}"
