"""The standard pipeline, as the language reads it, and what holds for every pass."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pass_harness import assert_same, listing, load, model, run

from trtc import ir, lang
from trtc.driver.front import run_pipeline
from trtc.driver.library import vocabulary
from trtc.evaluate import Evaluator
from trtc.ir import Module
from trtc.pipeline import Context, Registry, options_of
from trtc.pipeline.runner import Outcome
from trtc_passes import PASSES


def standard(module: Module) -> Outcome:
    return run_pipeline(module, lang.for_model(Path("model.onnx"), vocabulary()).pipeline)


class _Builder:
    """A random graph of float tensors; every choice is drawn, so that a failing graph shrinks."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.nodes: list[str] = []
        self.weights: dict[str, np.ndarray] = {}
        self.rng = np.random.default_rng(draw(st.integers(0, 2**16)))
        self.values: list[tuple[str, tuple[int | str, ...]]] = [("x", ("N", 4, 6)), ("v", ("N", 4, 6))]

    def name(self) -> str:
        return f"t{len(self.nodes)}"

    def weight(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = array
        return name

    def number(self, *shape: int) -> str:
        special = self.draw(st.sampled_from([None, 0.0, 1.0, -1.0]))
        array = self.rng.uniform(0.5, 1.5, shape) if special is None else np.full(shape, special)
        return self.weight(array.astype(np.float32))

    def emit(self, text: str, shape: tuple[int | str, ...]) -> None:
        name = self.name()
        self.nodes.append(f"{name} = {text}")
        self.values.append((name, shape))

    def step(self) -> None:
        value, shape = self.draw(st.sampled_from(self.values))
        kind = self.draw(
            st.sampled_from(
                ["unary", "scale", "binary", "constant", "transpose", "reshape", "heads", "cast", "squeeze"]
            )
        )
        if kind == "unary":
            op = self.draw(st.sampled_from(["Identity", "Relu", "Neg", "Abs", "Tanh", "Sigmoid", "Dropout"]))
            self.emit(f"{op}({value})", shape)
        elif kind == "scale":
            op = self.draw(st.sampled_from(["Add", "Mul", "Sub"]))
            dims = self.draw(st.sampled_from([(), (1,), (int(shape[-1]),) if isinstance(shape[-1], int) else ()]))
            operands = [value, self.number(*dims)]
            if self.draw(st.booleans()):
                operands.reverse()
            self.emit(f"{op}({', '.join(operands)})", shape)
        elif kind == "binary":
            alike = [name for name, other in self.values if other == shape]
            other = self.draw(st.sampled_from(alike))
            op = self.draw(st.sampled_from(["Add", "Mul", "Sub", "Max", "Min"]))
            self.emit(f"{op}({value}, {other})", shape)
        elif kind == "constant":
            op = self.draw(st.sampled_from(["Neg", "Exp", "Abs"]))
            folded = self.name()
            self.nodes.append(f"{folded} = {op}({self.number(int(shape[-1]) if isinstance(shape[-1], int) else 1)})")
            self.emit(f"Add({value}, {folded})", shape)
        elif kind == "transpose":
            perm = self.draw(st.permutations(range(len(shape))))
            self.emit(f"Transpose <perm = {list(perm)}> ({value})", tuple(shape[axis] for axis in perm))
        elif kind == "reshape":
            numbers = [dim for dim in shape if isinstance(dim, int)]
            target = self.weight(np.array([-1, int(np.prod(numbers))], np.int64))
            if shape[0] == "N":
                self.emit(f"Reshape({value}, {target})", ("N", int(np.prod(numbers))))
        elif kind == "heads":
            if shape[0] == "N" and shape[-1] in (6, 24):
                full, at, zero = self.name(), self.weight(np.array(0)), self.weight(np.array([0]))
                rest = self.weight(np.array([-1, 6], np.int64))
                self.nodes += [
                    f"{full} = Shape({value})",
                    f"{full}g = Gather({full}, {at})",
                    f"{full}u = Unsqueeze({full}g, {zero})",
                    f"{full}c = Concat <axis = 0> ({full}u, {rest})",
                ]
                self.emit(f"Reshape({value}, {full}c)", ("N", int(np.prod([int(d) for d in shape[1:]])) // 6, 6))
        elif kind == "cast":
            wide = self.name()
            to = self.draw(st.sampled_from([1, 10, 11]))
            self.nodes.append(f"{wide} = Cast <to = {to}> ({value})")
            self.emit(f"Cast <to = 1> ({wide})", shape)
        else:
            axis = self.draw(st.integers(-len(shape) - 1, len(shape)))
            axes, wide = self.weight(np.array([axis])), self.name()
            self.nodes.append(f"{wide} = Unsqueeze({value}, {axes})")
            self.emit(f"Squeeze({wide}, {axes})", shape)

    def text(self) -> str:
        outputs = self.draw(st.lists(st.sampled_from(self.values[2:]), min_size=1, max_size=3, unique=True))
        declared = ", ".join(f"float[{', '.join(map(str, shape))}] {name}" for name, shape in outputs)
        body = "\n".join(self.nodes)
        return f"g (float[N,4,6] x, float[N,4,6] v) => ({declared}) {{\n{body}\n}}"


@st.composite
def graphs(draw: Any) -> tuple[str, dict[str, np.ndarray]]:
    builder = _Builder(draw)
    builder.emit("Relu(x)", ("N", 4, 6))
    for _ in range(draw(st.integers(1, 12))):
        builder.step()
    return builder.text(), builder.weights


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(graphs())
def test_any_graph_keeps_its_values(graph: tuple[str, dict[str, np.ndarray]]) -> None:
    text, weights = graph
    proto = model(text, weights)
    module = load(proto)
    outcome = standard(module)
    assert not outcome.warnings
    for batch in (1, 3):
        assert_same(proto, module, rtol=1e-5, atol=1e-5, N=batch)
    settled = listing(module)
    for one in PASSES:
        again, _ = run(module, one())
        assert not again.changed, f"{one.__name__} {dict(again.counts)}"
    assert listing(module) == settled


def test_a_block_of_everything() -> None:
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.normal(size=(8, 3, 3, 3)).astype(np.float32),
        "s": rng.uniform(0.5, 2, 8).astype(np.float32),
        "b": rng.normal(size=8).astype(np.float32),
        "m": rng.normal(size=8).astype(np.float32),
        "v": rng.uniform(0.5, 2, 8).astype(np.float32),
        "f": rng.normal(size=(10, 32)).astype(np.float32),
    }
    functions = '<domain: "mine", opset_import: ["" : 23]> Swish (x) => (y) { a = Sigmoid(x) y = Mul(x, a) }'
    text = """g (float[N,3,4,4] x, bool unused) => (float[N,10] y)
    <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}, int64 i0 = {0}, int64[1] z = {0}, int64[1] rest = {-1}, bool yes = {1}>
    {
        a = Pad(x, p)  c = Conv <strides = [2, 2]> (a, w)  n = BatchNormalization(c, s, b, m, v)  h = mine.Swish(n)
        sh = Shape(h)  g0 = Gather(sh, i0)  u = Unsqueeze(g0, z)  to = Concat <axis = 0> (u, rest)
        r = Reshape(h, to)  t = Transpose <perm = [1, 0]> (f)  d = Dropout(r)
        y = If (yes) <
            then_branch = th () => (float[N,10] q) { q = MatMul(d, t) },
            else_branch = el () => (float[N,10] o) { o0 = MatMul(d, t) o = Neg(o0) }
        >
    }"""
    proto = model(text, weights, functions)
    module = load(proto)
    outcome = standard(module)
    first, gate = module.graph[0].outputs[0].name, module.graph[1]
    assert listing(module)[0].startswith(f"{first} = Conv(x, const[8, 3, 3, 3], [")  # the shifts are its bias
    assert listing(module)[0].endswith("[pads=[1, 1, 1, 1]]")
    assert listing(module)[1:] == [
        f"{gate.outputs[0].name} = trtc.std.activation.swish({first})[alpha=1.0]",
        f"r = Reshape({gate.outputs[0].name}, [-1, 32])",
        "y = MatMul(r, const[32, 10])",
    ]
    assert ir.origins(module.graph[0]) == ("Pad_0", "Conv_0", "BatchNormalization_0")
    assert not outcome.warnings
    assert [value.name for value in module.graph.inputs] == ["x", "unused"]
    for batch in (1, 2):
        assert_same(proto, module, rtol=1e-4, atol=1e-5, N=batch)
    assert sorted(ir.origins(gate)) == ["Swish_0/Mul_0", "Swish_0/Sigmoid_0"]


@pytest.mark.parametrize("cls", PASSES, ids=lambda cls: cls.name)
def test_a_pass_says_what_it_does_and_its_options_can_be_written(cls: type) -> None:
    doc = cls.__doc__ or ""
    assert doc.splitlines()[0].endswith(".")
    assert "=>" in doc, "a small graph before and after"
    for option in options_of(cls):
        assert option.doc, option.name
    assert Registry(PASSES)[cls.name] is cls  # type: ignore[attr-defined]


@pytest.mark.parametrize("cls", PASSES, ids=lambda cls: cls.name)
def test_a_pass_that_finds_nothing_changes_nothing(cls: Any) -> None:
    module = load(model("g (float[N,3] x) => (float[N,3] y) <float[3] w = {1, 2, 3}> { a = Mul(x, w) y = Tanh(a) }"))
    nodes, weight = list(module.graph), module.graph.initializers["w"].const_value
    result, _ = run(module, cls())
    expected = cls.name == "dce"  # the harness imports two opsets that nothing uses
    assert result.changed is expected
    assert list(module.graph) == nodes
    assert module.graph.initializers["w"].const_value is weight


def _chain(blocks: int) -> Any:
    """Blocks of which every pass finds something to do, one after the other."""
    lines = [
        f"a{i} = Relu(x{i}) b{i} = Identity(a{i}) c{i} = MatMul(b{i}, w) m{i} = Mul(c{i}, k{i}) k{i} = Exp(e) "
        f"s{i} = Shape(m{i}) g{i} = Gather(s{i}, i0) u{i} = Unsqueeze(g{i}, z) t{i} = Concat <axis = 0> (u{i}, four) "
        f"r{i} = Reshape(m{i}, t{i}) p{i} = Transpose <perm = [0, 2, 1]> (r{i}) "
        f"q{i} = Transpose <perm = [0, 2, 1]> (p{i}) dead{i} = Neg(q{i}) x{i + 1} = Reshape(q{i}, flat)"
        for i in range(blocks)
    ]
    return f"(float[N,8] x0) => (float[N,8] x{blocks}) {{ {' '.join(lines)} }}"


def _fan(width: int) -> Any:
    """One value, and one constant, with many users."""
    lines = [
        f"a{i} = Mul(x, e) b{i} = Add(a{i}, e) c{i} = Identity(b{i}) d{i + 1} = Sub(d{i}, c{i})" for i in range(width)
    ]
    return f"(float[N,8] x) => (float[N,8] d{width}) {{ d0 = Relu(x) {' '.join(lines)} }}"


_SHARED = "<int64 i0 = {0}, int64[1] z = {0}, int64[2] four = {4, -1}, int64[2] flat = {-1, 8}, float e = {0.5}>"


@pytest.mark.parametrize("graph", [_chain, _fan], ids=["chain", "fan"])
@pytest.mark.parametrize("cls", PASSES, ids=lambda cls: cls.name)
def test_ten_times_the_nodes_take_ten_times_the_calls(cls: Any, graph: Any) -> None:
    def calls(size: int) -> int:
        head, _, body = graph(size).partition("{")
        # Each k is used before it is made: loading sorts.
        module = load(model(f"g {head} {_SHARED} {{ {body}", {"w": np.eye(8, dtype=np.float32)}))
        context = Context(Evaluator())
        count = 0

        def profile(frame: object, event: str, arg: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(profile)
        try:
            cls().run(module, context)
        finally:
            sys.setprofile(None)
        return count

    calls(10)  # fills what is kept from one run to the next: imports, the dims of inference
    few, many = calls(40), calls(400)
    assert many < 12 * few + 4_000


def test_the_options_can_be_read_without_onnx() -> None:
    code = "import trtc_passes, sys; sys.exit(any(m in sys.modules for m in ('onnx', 'onnx_ir', 'numpy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
