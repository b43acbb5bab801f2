"""`test`: rules from a file or a library, each refuted or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trtc.diagnostics import Diagnostic, DiagnosticError, Source, suggest
from trtc.driver.library import libraries, rules_of, vocabulary
from trtc.lang.rules import Rule

if TYPE_CHECKING:
    from trtc.rewrite.refute.report import Outcome

#: What `trtc test std` tests.
STANDARD = "std"


def rules_to_test(target: str, names: Sequence[str] = (), *, set: Mapping[str, str] | None = None) -> tuple[Rule, ...]:
    """The rules of a spec, of a library (`std.norm`) or of the whole standard library (`std`), in their order.

    names: only these, as `fuse_gelu` or `std.activation.fuse_gelu`.

    Raises:
        DiagnosticError: T1006 where a name is no rule of `target`; what is wrong with the file or library.
    """
    found = _rules(target, set or {})
    if not names:
        return found
    by_name = {name: rule for rule in found for name in (rule.name.text, f"{rule.library}.{rule.name.text}")}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        close = suggest(unknown[0], by_name)
        raise DiagnosticError(
            Diagnostic(
                "T1006",
                f"{target} has no rule `{unknown[0]}`",
                help=f"did you mean `{close}`?" if close else f"rules: {', '.join(r.name.text for r in found)}",
            )
        )
    wanted = [by_name[name] for name in names]
    return tuple(rule for rule in found if any(rule is one for one in wanted))


def _rules(target: str, set: Mapping[str, str]) -> tuple[Rule, ...]:
    if target == STANDARD:
        names = [name for name in libraries() if name.startswith("std.")]
        return tuple(rule for name in names for rule in rules_of(name))
    if target in libraries():
        return rules_of(target)
    path = Path(target)
    if target.startswith("std.") and not path.exists():
        close = suggest(target, libraries())
        raise DiagnosticError(
            Diagnostic(
                "T0219",
                f"unknown library `{target}`",
                span=Source("trtc test", target).span(0, len(target)),
                help=f"did you mean `{close}`?" if close else None,
            )
        )
    from trtc.lang.checker import file_rules

    return file_rules(path, vocabulary(), set)


def refute(
    rules: Sequence[Rule],
    *,
    instances: int = 200,
    seed: int = 0,
    shrink: float = 5.0,
    done: Callable[[Outcome], None] | None = None,
) -> Iterator[Outcome]:
    """Refutes rules one after another. shrink: seconds for making a counterexample small."""
    from trtc.rewrite.refute.report import outcome
    from trtc.rewrite.refute.search import search
    from trtc.rewrite.refute.shrink import shrink as smaller

    for rule in rules:
        found = search(rule, instances=instances, seed=seed)
        if found.counterexample is not None and shrink > 0:
            found.counterexample = smaller(rule, found.survey, found.counterexample, shrink)
        result = outcome(found, instances)
        if done is not None:
            done(result)
        yield result


__all__ = ["STANDARD", "refute", "rules_to_test"]
