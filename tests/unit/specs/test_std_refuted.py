"""No rule of the standard library is refuted over 200 random instances, and each is satisfied by as many."""

from __future__ import annotations

import pytest

from trtc.diagnostics import render
from trtc.driver.library import libraries, rules_of
from trtc.lang.rules import Rule
from trtc.rewrite.refute.report import full_name, outcome
from trtc.rewrite.refute.search import search
from trtc.rewrite.refute.shrink import shrink

INSTANCES = 200

_RULES = [rule for name in libraries() if name.startswith("std.") for rule in rules_of(name)]


@pytest.mark.parametrize("rule", _RULES, ids=full_name)
def test_rule(rule: Rule) -> None:
    found = search(rule, instances=INSTANCES)
    if found.counterexample is not None:
        found.counterexample = shrink(rule, found.survey, found.counterexample, 5.0)
    result = outcome(found, INSTANCES)
    assert result.status == "held", "\n".join(render(d) for d in result.diagnostics)
    assert found.instances >= INSTANCES, found.rejected.most_common(5)
