"""Operators of a spec's own: functions that rules put there, called by name, folded, merged, saved and emitted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx_ir as oir
import pytest

from trtc import ir, lang
from trtc.diagnostics import DiagnosticError
from trtc.driver.front import prepare, run_pipeline
from trtc.driver.library import vocabulary
from trtc.evaluate import run_session, session
from trtc.ir.module import Module

OWN = """
operator gated(x: float[...], u: float[...]) -> z: float[...] {
  fields { alpha: f32 = 1.0 }
  meaning
    s = x * Sigmoid(x * $alpha)
    z = s * u
}
operator outer(x: float[...], u: float[...]) -> y: float[...] { meaning y = -gated(x, u, alpha = 2.0) }
rewrite make { match z = (x * Sigmoid(x * $a)) * u replace z with gated(x, u, alpha = $a) }
"""
RUN = "pipeline { simplify() apply(make) "
TWICE = """g (float[2, 3] x, float[2, 3] u) => (float[2, 3] y, float[2, 3] z) <float a = {1.5}, float b = {BETA}> {
  p = Mul(x, a) s = Sigmoid(p) t = Mul(s, x) y = Mul(t, u)
  q = Mul(u, b) r = Sigmoid(q) v = Mul(u, r) z = Mul(v, x)
}"""
FEEDS = {
    "x": np.array([[-2.0, -0.5, 0.0], [0.25, 1.0, 30.0]], np.float32),
    "u": np.array([[0.5, -1.0, 2.0], [3.0, -4.0, 0.125]], np.float32),
}


def swish(x: np.ndarray, alpha: float) -> np.ndarray:
    return x / (1 + np.exp(-alpha * x.astype(np.float64)))


def parsed(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 23]> {graph}')


def compiled(text: str, graph: str | onnx.ModelProto, folder: Path) -> Module:
    onnx.save(parsed(graph) if isinstance(graph, str) else graph, folder / "m.onnx")
    spec = lang.loads(f'trtspec 1\nmodel "m.onnx"\n{text}', folder / "s.trtspec", vocabulary())
    prepared = prepare(spec, covered=False)
    run_pipeline(prepared.module, spec.pipeline, plugins=False)  # as for a target without plugins
    return prepared.module


def operators(module: Module) -> list[str]:
    return [node.op_type for node in module.nodes()]


def saved(module: Module, folder: Path) -> Path:
    ir.save(module, folder / "out.onnx")
    return folder / "out.onnx"


@pytest.mark.parametrize(("beta", "bodies"), [("1.5", 1), ("0.5", 2)])
def test_calls_on_every_target_run_by_the_body(beta: str, bodies: int, tmp_path: Path) -> None:
    """Calls whose fields are equal share one function."""
    module = compiled(f"{OWN}{RUN} expect(count(gated) == 2, make == 2) }}", TWICE.replace("BETA", beta), tmp_path)
    assert operators(module) == ["gated", "gated"]
    assert len(module.model.functions) == bodies
    assert [n.attributes["alpha"].value for n in module.nodes()] == [1.5, float(beta)]
    found = run_session(session(saved(module, tmp_path)), FEEDS)
    np.testing.assert_allclose(found["y"], swish(FEEDS["x"], 1.5) * FEEDS["u"], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found["z"], swish(FEEDS["u"], float(beta)) * FEEDS["x"], rtol=1e-5, atol=1e-7)


def test_an_operator_stays_while_functions_of_the_file_are_inlined(tmp_path: Path) -> None:
    graph = """g (float[2, 3] x, float[2, 3] u) => (float[2, 3] y) <float a = {1.5}> {
      p = Mul(x, a) s = Sigmoid(p) t = Mul(s, x) w = m.twice(u) y = Mul(t, w) }
    <domain: "m", opset_import: ["" : 23]> twice (a) => (b) { b = Add(a, a) }"""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 23, "m" : 1]> {graph}')
    module = compiled(f"{OWN}pipeline {{ fixpoint(limit = 4) {{ simplify() apply(make) }} }}", model, tmp_path)
    assert operators(module) == ["Add", "gated"]
    assert [name for _, name, _ in module.model.functions] == ["gated"]


def test_patterns_name_it_and_hold_its_defaults(tmp_path: Path) -> None:
    """A field that the pattern does not mention is the declaration's default; `..` lifts that."""
    for pattern, left in (("gated(x, u)", 2), ("gated(x, u, ..)", 0), ("gated(x, u, alpha = 0.5)", 1)):
        rules = f"rewrite undo {{ match z = {pattern} replace z with x - u }}"
        module = compiled(f"{OWN}{rules}{RUN} apply(undo) }}", TWICE.replace("BETA", "0.5"), tmp_path)
        assert operators(module).count("gated") == left, pattern


def test_operators_of_one_name_and_two_meanings_are_not_taken_for_each_other(tmp_path: Path) -> None:
    other = OWN.replace("z = s * u", "z = s + u").replace(
        "make { match z = (x * Sigmoid(x * $a)) * u", "make { match z = (x * Sigmoid(x * $a)) + u"
    )
    undo = "rewrite undo { match z = gated(x, u, ..) replace z with x - u }"
    first = compiled(f"{OWN}{RUN} }}", TWICE.replace("BETA", "0.5"), tmp_path)
    model = onnx.load(saved(first, tmp_path))
    assert operators(compiled(f"{other}{undo}pipeline {{ simplify() apply(undo) }}", model, tmp_path)) == ["gated"] * 2
    assert operators(compiled(f"{OWN}{undo}pipeline {{ simplify() apply(undo) }}", model, tmp_path)) == ["Sub"] * 2


def test_an_operator_within_a_meaning_is_its_meaning(tmp_path: Path) -> None:
    rules = "rewrite wrap { match y = x - u replace y with outer(x, u) }"
    graph = "g (float[2, 3] x, float[2, 3] u) => (float[2, 3] y) { y = Sub(x, u) }"
    module = compiled(f"{OWN}{rules}pipeline {{ apply(wrap) }}", graph, tmp_path)
    assert operators(module) == ["outer"]
    assert [name for _, name, _ in module.model.functions] == ["outer"]
    found = run_session(session(saved(module, tmp_path)), FEEDS)["y"]
    np.testing.assert_allclose(found, -swish(FEEDS["x"], 2.0) * FEEDS["u"], rtol=1e-5, atol=1e-7)


def test_equal_calls_are_merged_and_constant_ones_computed(tmp_path: Path) -> None:
    graph = """g (float[3] x) => (float[3] y, float[3] z, float[3] w) <float[3] c = {-1.0, 0.5, 2.0}, float a = {1.5}> {
      p = Mul(x, a) s = Sigmoid(p) t = Mul(s, x) y = Mul(t, c)
      q = Mul(x, a) r = Sigmoid(q) v = Mul(r, x) k = Mul(v, c) z = Neg(k)
      o = Mul(c, a) l = Sigmoid(o) n = Mul(l, c) w0 = Mul(n, c) w = Add(w0, x) }"""
    module = compiled(f"{OWN}pipeline {{ apply(make) expect(count(gated) == 3) simplify() }}", graph, tmp_path)
    assert sorted(operators(module)) == ["Add", "Neg", "gated"]
    c = np.array([-1.0, 0.5, 2.0], np.float32)
    found = run_session(session(saved(module, tmp_path)), {"x": np.zeros(3, np.float32)})
    np.testing.assert_allclose(found["w"], swish(c, 1.5) * c, rtol=1e-6)


def test_saved_and_reloaded(tmp_path: Path) -> None:
    module = compiled(f"{OWN}{RUN} }}", TWICE.replace("BETA", "0.5"), tmp_path)
    path = saved(module, tmp_path)
    before = run_session(session(path), FEEDS)
    again = ir.load(path)
    ir.verify(again)
    assert ir.to_text(again).partition("g (")[2] == ir.to_text(module).partition("g (")[2]
    assert [again.shape(v) for v in again.graph.outputs] == [(2, 3), (2, 3)]
    kept = compiled("pipeline { simplify() }", onnx.load(path), tmp_path)
    assert operators(kept) == ["gated", "gated"]
    after = run_session(session(saved(kept, tmp_path)), FEEDS)
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)


def test_what_does_not_fit_the_declaration_is_declined(tmp_path: Path) -> None:
    text = OWN.replace("u: float[...]) -> z", "u: f16[...]) -> z")
    module = compiled(f"{text}{RUN} }}", TWICE.replace("BETA", "0.5"), tmp_path)
    assert "gated" not in operators(module)
    assert not module.model.functions


def test_an_expectation_that_fails(tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError, match=r"expected count\(gated\) == 3, got 2"):
        compiled(f"{OWN}{RUN} expect(count(gated) == 3) }}", TWICE.replace("BETA", "0.5"), tmp_path)


def lowered(module: Module) -> tuple[list[str], onnx.ModelProto]:
    """The types of the layers that TensorRT RTX gets, and what they are in ONNX again."""
    pytest.importorskip("tensorrt_rtx")
    from trtc import targets
    from trtc.engine.lower import lower

    made = lower(module, targets.load("tensorrt_rtx"))
    return [layer.name for layer in made.emission.layers], oir.to_proto(made.read())


@pytest.mark.parametrize("text", [f"{OWN}{RUN} }}", "pipeline { standard() }"], ids=["by its body", "by its layers"])
def test_on_a_target_without_plugins(text: str, tmp_path: Path) -> None:
    module = compiled(text, TWICE.replace("BETA", "0.5"), tmp_path)
    assert set(operators(module)) <= {"gated", "swish", "Mul"}
    expected = run_session(session(tmp_path / "m.onnx"), FEEDS)
    layers, model = lowered(ir.load(saved(module, tmp_path)))
    assert any("igmoid" in name for name in layers)
    assert not model.functions
    assert {node.domain for node in model.graph.node} == {""}
    found = run_session(session(model.SerializeToString()), FEEDS)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6)
