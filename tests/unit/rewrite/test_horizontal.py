"""Horizontals: groups, what stays out of them and why, constants, and places in the graph."""

from __future__ import annotations

import numpy as np
import pytest
from rewrite_harness import rewritten, rules_in

from trtc.diagnostics import DiagnosticError

PRODUCTS = """
horizontal products {
  over x: float[_, K]
  member y = MatMul(x, w: const float[K, M])
  merge MatMul(x, concat(w, axis = 1))
  split axis = -1, sizes = M
}
"""


def tensor(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([*shape, seed]).standard_normal(shape).astype(np.float32)


def test_largest_groups_first_and_members_in_graph_order() -> None:
    found = rewritten(
        PRODUCTS,
        "g (float[2, 8] x, float[2, 8] z) => "
        "(float[2, 3] a, float[2, 4] b, float[2, 5] c, float[2, 3] d, float[2, 4] e)"
        "{ d1 = MatMul(z, w3) e1 = MatMul(z, w4) a1 = MatMul(x, w3) b1 = MatMul(x, w4) c1 = MatMul(x, w5)"
        "  a = Relu(a1) b = Relu(b1) c = Relu(c1) d = Relu(d1) e = Relu(e1) }",
        weights={"w3": tensor(8, 3), "w4": tensor(8, 4), "w5": tensor(8, 5)},
    ).same(rtol=1e-4)
    assert found.counts["products"] == 2
    shapes = {tuple(v.shape.numpy()) for v in found.module.graph.initializers.values() if v.shape and v.uses()}
    assert {(8, 12), (8, 7)} <= shapes


def test_a_member_made_from_another_stays() -> None:
    # y2 takes y1 along: merged, each would wait for the other.
    rules = """
horizontal scaled {
  over x: float[_, K]
  member
    m = MatMul(x, w: const float[K, M])
    y = m * t
  merge MatMul(x, concat(w, axis = 1)) * concat(t, axis = 1)
  split axis = -1, sizes = M
}
"""
    found = rewritten(
        rules,
        "g (float[2, 8] x, float[2, 4] t) => (float[2, 4] b, float[2, 4] c)"
        "{ m1 = MatMul(x, w) a = Mul(m1, t) s = Sigmoid(a) m2 = MatMul(x, v) b = Mul(m2, s)"
        "  m3 = MatMul(x, u) c = Mul(m3, t) }",
        weights={"w": tensor(8, 4), "v": tensor(8, 4, seed=1), "u": tensor(8, 4, seed=2)},
    ).same(rtol=1e-4)
    assert found.counts["scaled"] == 1
    assert any("it is made from the result of another member" in line for line in found.declined)


def test_what_was_merged_is_merged_once() -> None:
    graph = (
        "g (float[2, 8] x) => (float[2, 3] a, float[2, 4] b)"
        "{ p = MatMul(x, w) q = MatMul(x, v) a = Relu(p) b = Relu(q) }"
    )
    found = rewritten(PRODUCTS, graph, weights={"w": tensor(8, 3), "v": tensor(8, 4)}, times=3)
    assert found.counts["products"] == 1
    assert found.operators == "MatMul Split Relu Relu"


def test_an_inner_value_with_another_user_keeps_a_member_out() -> None:
    rules = """
horizontal relus {
  over x: float[_, K]
  member
    m = MatMul(x, w: const float[K, M])
    y = Relu(m)
  merge Relu(MatMul(x, concat(w, axis = 1)))
  split axis = -1, sizes = M
}
"""
    found = rewritten(
        rules,
        "g (float[2, 8] x) => (float[2, 3] a, float[2, 4] b, float[2, 4] c)"
        "{ p = MatMul(x, w) q = MatMul(x, v) a = Relu(p) b = Relu(q) c = Sigmoid(q) }",
        weights={"w": tensor(8, 3), "v": tensor(8, 4)},
    )
    assert found.counts["relus"] == 0
    assert found.operators == "MatMul MatMul Relu Relu Sigmoid"


def test_constants_that_are_no_size_decline() -> None:
    rules = PRODUCTS.replace("sizes = M", "sizes = K")
    found = rewritten(
        rules,
        "g (float[2, 8] x) => (float[2, 3] a, float[2, 4] b)"
        "{ p = MatMul(x, w) q = MatMul(x, v) a = Relu(p) b = Relu(q) }",
        weights={"w": tensor(8, 3), "v": tensor(8, 4)},
    )
    assert found.counts["products"] == 0
    assert found.operators == "MatMul MatMul Relu Relu"


def test_a_capture_that_may_differ_is_refused() -> None:
    rules = """
horizontal convs {
  over x: float[N, C, H, W]
  member y = Conv(x, w: const float[M, C, 1, 1], strides = $s, ..)
  merge Conv(x, concat(w, axis = 0), strides = $s)
  split axis = 1, sizes = M
}
"""
    with pytest.raises(DiagnosticError) as caught:
        rewritten(rules, "g (float[1] x) => (float[1] y) { y = Relu(x) }")
    assert caught.value.diagnostics[0].code == "T0326"


def test_a_cost_of_another_kind_decides() -> None:
    from pass_harness import load, model

    from trtc.evaluate import Evaluator
    from trtc.pipeline import Context
    from trtc.rewrite.build import Workshop
    from trtc.rewrite.constants import Constants
    from trtc.rewrite.horizontal import merge

    class Never:
        def declines(self, module: object, over: object, results: object, nodes: object) -> str | None:
            return "it was measured to be slower"

    (products,) = rules_in(PRODUCTS)
    graph = (
        "g (float[2, 8] x) => (float[2, 3] a, float[2, 4] b)"
        "{ p = MatMul(x, w) q = MatMul(x, v) a = Relu(p) b = Relu(q) }"
    )
    module = load(model(graph, {"w": tensor(8, 3), "v": tensor(8, 4)}))
    context = Context(Evaluator())
    shop = Workshop(module, Constants(module), context.evaluator, 1 << 20)
    assert merge(module, products, context, shop, cost=Never()) == 0
    assert [r.message for r in context.remarks] == ["`p`, `q` stay: it was measured to be slower"]
    assert merge(module, products, context, shop) == 1


def test_a_member_made_from_another_by_way_of_a_branch_stays() -> None:
    rule = """horizontal h {
      over x: float[_, K]
      member y = MatMul(x, w: float[K, M])
      merge MatMul(x, concat(w, axis = 1))
      split axis = 1, sizes = M
    }"""
    graph = """g (float[4,4] x, float[4,4] v, bool c) => (float[4,4] y, float[4,4] z) {
      m = MatMul(x, v)
      w = If(c) <then_branch = t () => (float[4,4] p) { p = Exp(%s) },
                 else_branch = e () => (float[4,4] q) { q = Neg(v) }>
      n = MatMul(x, w)  y = Relu(m)  z = Relu(n)
    }"""
    assert rewritten(rule, graph % "v").same().counts["h"] == 1
    done = rewritten(rule, graph % "m").same()
    assert done.counts["h"] == 0
    assert "made from the result of another member" in done.declined[0]
