"""Mutants of the standard rules: how many refutation finds, and how long each takes.

    python benchmarks/mutation.py [--library std.norm] [--limit N] [--seconds 4] [--survivors FILE]

A mutant is killed when it is refuted, and gone when no instance satisfies it any more, or the engine declines all
(such a rule never fires, and does no harm). What held is a survivor: equivalent, or a gap in refutation.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter

from trtc.diagnostics import DiagnosticError
from trtc.driver.library import libraries, rules_of
from trtc.lang.rules import Rule
from trtc.rewrite.refute.mutate import Mutant, mutants
from trtc.rewrite.refute.search import search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", action="append", help="default: the whole standard library")
    parser.add_argument("--limit", type=int, default=200, help="mutants to try, spread over the rules")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = options.library or [name for name in libraries() if name.startswith("std.")]
    rules = [rule for name in names for rule in rules_of(name)]
    chosen = sample(rules, options.limit, options.seed)
    print(f"{len(rules)} rules, {len(chosen)} mutants of them\n", flush=True)
    results: Counter[str] = Counter()
    by_kind: dict[str, Counter[str]] = {}
    slow = 0.0
    for mutant in chosen:
        status, seconds = judge(mutant)
        results[status] += 1
        by_kind.setdefault(mutant.kind, Counter())[status] += 1
        slow = max(slow, seconds)
        if status not in ("refuted", "never fires"):
            print(f"{status:<12} {seconds:4.1f} s  {mutant.label}", flush=True)
    print()
    for kind, counts in sorted(by_kind.items()):
        print(f"{kind:<10} " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    judged = results["refuted"] + results["survived"]
    share = results["refuted"] / judged if judged else 0.0
    print(f"\n{dict(results)}: {share:.1%} of {judged} refuted, the slowest in {slow:.1f} s of CPU")


def sample(rules: list[Rule], limit: int, seed: int) -> list[Mutant]:
    """Mutants spread evenly over the rules and, of each rule, over the kinds."""
    generator = random.Random(seed)
    queues: list[list[Mutant]] = []
    for rule in rules:
        by_kind: dict[str, list[Mutant]] = {}
        for mutant in mutants(rule):
            by_kind.setdefault(mutant.kind, []).append(mutant)
        for found in by_kind.values():
            generator.shuffle(found)
        rounds = max((len(found) for found in by_kind.values()), default=0)
        queues.append([found[at] for at in range(rounds) for found in by_kind.values() if at < len(found)])
    chosen: list[Mutant] = []
    for at in range(max(map(len, queues), default=0)):
        chosen += [queue[at] for queue in queues if at < len(queue)]
    return chosen[:limit]


def judge(mutant: Mutant) -> tuple[str, float]:
    """`refuted`, `survived`, `never fires`, or `invalid` (no rule any more), and the CPU time it took."""
    began = time.process_time()
    try:
        found = search(mutant.rule, instances=200, seconds=4.0)
    except DiagnosticError:
        return "invalid", time.process_time() - began
    seconds = time.process_time() - began
    if found.counterexample is not None:
        return "refuted", seconds
    if found.faults:
        return "invalid", seconds
    return ("survived" if found.instances else "never fires"), seconds


if __name__ == "__main__":
    main()
