"""Rules in, graph text in, graph text out, on top of the harness of passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from pass_harness import assert_same, listing, load, model

from trtc import ir, lang
from trtc.driver.library import rules_of, vocabulary
from trtc.evaluate import Evaluator
from trtc.ir import Module
from trtc.lang.spec import Apply
from trtc.pipeline import Context
from trtc.rewrite.engine import apply


@dataclass
class Rewritten:
    """The module after the rules, how often each was applied, what was declined, and the model before."""

    module: Module
    counts: Counter[str]
    declined: list[str]
    before: onnx.ModelProto

    @property
    def lines(self) -> list[str]:
        return listing(self.module)

    @property
    def operators(self) -> str:
        """Operators of the graph in order, those of other domains with theirs."""
        return " ".join(f"{n.domain}.{n.op_type}" if n.domain else n.op_type for n in self.module.nodes())

    def same(self, rtol: float = 1e-5, atol: float = 1e-6, **symbols: int) -> Rewritten:
        """Asserts that both models give the same; returns itself."""
        assert_same(self.before, self.module, rtol=rtol, atol=atol, **symbols)
        return self


def rules_in(text: str) -> tuple[Any, ...]:
    """The rewrites and horizontals of a text, in order."""
    words = text.split()
    names = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("rewrite", "horizontal")]
    source = f'trtspec 1\nmodel "m.onnx"\n{text}\npipeline {{ apply({", ".join(names)}) }}\n'
    # Rules that take each other's roots are what some tests are about.
    spec = lang.loads(source, Path("rules.trtspec"), replace(vocabulary(), check_rules=None))
    step = spec.pipeline[0]
    assert isinstance(step, Apply)
    return step.rules


def rewritten(
    rules: str | Sequence[Any],
    graph: str,
    *,
    weights: Mapping[str, np.ndarray] | None = None,
    opset: int = 23,
    times: int = 1,
) -> Rewritten:
    """A graph after rules. `rules`: their text, the name of a library (`std.norm`), or ready ones."""
    if isinstance(rules, str):
        rules = rules_of(rules) if rules.startswith("std.") else rules_in(rules)
    proto = model(graph, weights, opset=opset)
    module = load(proto)
    context = Context(Evaluator())
    counts: Counter[str] = Counter()
    for _ in range(times):
        counts.update(apply(module, rules, context).counts)
        ir.verify(module)
    declined = [f"{r.source}: {r.message}" for r in context.remarks if r.kind.value == "declined"]
    return Rewritten(module, counts, declined, proto)
