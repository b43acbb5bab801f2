"""Refutation notices mechanical mutants. `benchmarks/mutation.py` does the same for the whole standard library."""

from __future__ import annotations

import pytest
from rewrite_harness import rules_in

from trtc.rewrite.refute.mutate import Mutant, mutants
from trtc.rewrite.refute.search import search

RULES = """
rewrite silu {
  match y = x / (1.0 + Exp(-x))
  replace y with x * Sigmoid(x)
  assumes finite
  test { x: f32[2, 8] }
}
rewrite linear {
  match y = MatMul(x, w: const float[K, N]) * s + b: const float[N]
  where size(s) == 1
  replace y with Gemm(x, w * s, b, alpha = 1.0, transB = 0)
  test { x: f32[4, 4]  w: const f32[4, 4]  s: const f32[1]  b: const f32[4] }
}
rewrite turned {
  match y = Transpose(Transpose(x, perm = $p), perm = $q)
  replace y with Transpose(x, perm = compose($p, $q))
  test { x: f32[3, 3, 3] }
}
"""
_MUTANTS = [mutant for rule in rules_in(RULES) for mutant in mutants(rule) if mutant.kind != "guard"]


@pytest.mark.parametrize("rule", rules_in(RULES), ids=lambda rule: rule.name.text)
def test_the_rules_themselves_hold(rule: object) -> None:
    found = search(rule, instances=60)  # type: ignore[arg-type]
    assert found.counterexample is None
    assert found.instances >= 60


def test_there_are_mutants_of_several_kinds() -> None:
    assert len(_MUTANTS) >= 9
    assert {m.kind for m in _MUTANTS} >= {"constant", "order", "attribute", "argument"}


@pytest.mark.parametrize("mutant", _MUTANTS, ids=lambda mutant: mutant.label)
def test_a_mutant_is_refuted_or_never_fires(mutant: Mutant) -> None:
    found = search(mutant.rule, instances=100)
    assert found.counterexample is not None or not found.instances
