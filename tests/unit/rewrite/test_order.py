"""The order of nodes, operands and declarations changes nothing: neither the counts nor the graph that is left."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from pass_harness import load
from rewrite_harness import rules_in

from trtc import ir
from trtc.evaluate import Evaluator
from trtc.pipeline import Context
from trtc.rewrite.engine import apply

COMMUTATIVE = {"Add", "Mul"}

DECLARATIONS = [
    """pattern gelu_form(x) -> y {
      e = Erf(x / ~1.41421356)
      y = either((x * (e + 1.0)) * 0.5, x * ((e + 1.0) * 0.5), (x * 0.5) * (e + 1.0))
    }""",
    """pattern norm(x: float[..., H]) -> (y, $eps) {
      mu = ReduceMean(x, axes = [-1])
      d = x - mu
      v = ReduceMean(d * d, axes = [-1])
      y = d / Sqrt(v + $eps)
      where $eps < 1e-3
    }""",
    'rewrite gelu { match y = gelu_form(x) replace y with Gelu(x, approximate = "none") }',
    """rewrite norm_affine {
      match (n, $eps) = norm(x)
            y = n * (g: const float[H]) + (b: const float[H])
      replace y with LayerNormalization(x, g, b, epsilon = $eps)
    }""",
    "rewrite swish { match y = x * Sigmoid(x) replace y with HardSwish(x) }",
    "rewrite twice { match y = Neg(Neg(x)) replace y with x  recursive }",
    "rewrite sum3 { match y = (a + b) + c  where is_const(a) || is_const(b)  replace y with (a + c) + b  benefit = 1 }",
]

#: Equations in another order say the same.
SHUFFLED = [
    DECLARATIONS[0]
    .replace(
        "      e = Erf(x / ~1.41421356)\n",
        "",
    )
    .replace("    }", "      e = Erf(x / ~1.41421356)\n    }"),
]


def graph(seed: int) -> tuple[list[onnx.NodeProto], dict[str, np.ndarray], str]:
    """Pieces that the rules match, and pieces that overlap, one after another with branches."""
    draw = random.Random(seed)
    nodes: list[onnx.NodeProto] = []
    weights = {
        "r": np.float32(2**0.5),
        "one": np.float32(1),
        "half": np.float32(0.5),
        "eps": np.float32(1e-5),
        "g": np.arange(1, 9, dtype=np.float32),
        "b": np.arange(8, dtype=np.float32),
        "axes": np.asarray([1], np.int64),
    }
    weights = {name: np.asarray(value) for name, value in weights.items()}
    values = ["x"]
    made = 0

    def op(kind: str, *inputs: str) -> str:
        nonlocal made
        made += 1
        nodes.append(helper.make_node(kind, list(inputs), [f"v{made}"], name=f"n{made}"))
        return f"v{made}"

    for _ in range(draw.randint(3, 7)):
        x = draw.choice(values[-2:])
        kind = draw.choice(("gelu", "norm", "swish", "neg", "add"))
        if kind == "gelu":
            e = op("Add", op("Erf", op("Div", x, "r")), "one")
            y = op("Mul", op("Mul", x, e), "half")
        elif kind == "norm":
            d = op("Sub", x, op("ReduceMean", x, "axes"))
            v = op("ReduceMean", op("Mul", d, d), "axes")
            y = op("Add", op("Mul", op("Div", d, op("Sqrt", op("Add", v, "eps"))), "g"), "b")
        elif kind == "swish":
            y = op("Mul", x, op("Sigmoid", x))
        elif kind == "neg":
            y = x
            for _ in range(draw.randint(2, 5)):
                y = op("Neg", y)
        else:
            y = op("Add", op("Add", x, "b"), draw.choice(values))
        values.append(y)
    out = op("Add", values[-1], values[-2]) if len(values) > 2 else values[-1]
    return nodes, weights, out


def shuffled(nodes: list[onnx.NodeProto], draw: random.Random) -> list[onnx.NodeProto]:
    """Another order in which every value is made before it is used, operands of commutative nodes swapped at random."""
    waiting = list(nodes)
    makers = {out for node in nodes for out in node.output}
    done: set[str] = set()
    order: list[onnx.NodeProto] = []
    while waiting:
        ready = [n for n in waiting if all(i in done or i not in makers for i in n.input)]
        node = draw.choice(ready)
        waiting.remove(node)
        copy = onnx.NodeProto.FromString(node.SerializeToString())
        if copy.op_type in COMMUTATIVE and draw.random() < 0.5:
            copy.input[:] = list(copy.input)[::-1]
        order.append(copy)
        done.update(node.output)
    return order


def outcome(nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray], out: str, rules: tuple) -> tuple:
    """Counts by rule, and the graph as an expression that knows no order."""
    info = helper.make_tensor_value_info
    made = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, ["N", 8])],
        [info(out, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    module = load(helper.make_model(made, opset_imports=[helper.make_opsetid("", 23)], ir_version=10))
    counts: Counter[str] = Counter()
    for _ in range(6):
        result = apply(module, rules, Context(Evaluator()))
        counts.update(result.counts)
        if not result.changed:
            break
    ir.verify(module)
    known: dict[object, int] = {}

    def number(value: object) -> int:
        array = module.constant(value)
        if array is not None:
            return hash(("constant", array.tobytes(), array.shape))
        node = value.producer()
        if node is None:
            return hash(("input", value.name))
        if value not in known:
            operands = [number(i) for i in node.inputs if i is not None]
            if node.op_type in COMMUTATIVE:
                operands.sort()
            known[value] = hash((node.op_type, value.index(), tuple(operands)))
        return known[value]

    return dict(counts), number(module.graph.outputs[0]), len(list(module.nodes()))


@pytest.mark.parametrize("seed", range(25))
def test_order_changes_nothing(seed: int) -> None:
    nodes, weights, out = graph(seed)
    reference = outcome(nodes, weights, out, rules_in("\n".join(DECLARATIONS)))
    draw = random.Random(seed)
    for _ in range(4):
        declarations = [SHUFFLED[0] if d is DECLARATIONS[0] and draw.random() < 0.5 else d for d in DECLARATIONS]
        draw.shuffle(declarations)
        assert outcome(shuffled(nodes, draw), weights, out, rules_in("\n".join(declarations))) == reference


def test_the_drawn_graphs_exercise_every_rule() -> None:
    rules = rules_in("\n".join(DECLARATIONS))
    total: Counter[str] = Counter()
    for seed in range(25):
        total.update(outcome(*graph(seed), rules)[0])
    assert set(total) == {"gelu", "norm_affine", "swish", "twice", "sum3"}
