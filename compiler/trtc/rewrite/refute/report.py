"""What refutation found, for people and for machines."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from trtc.diagnostics import Diagnostic, Severity, plural
from trtc.lang.rules import Rule
from trtc.rewrite.refute.batch import Verdict
from trtc.rewrite.refute.data import Array
from trtc.rewrite.refute.search import LEAST, Coverage, Found

#: Elements of a leaf that are printed.
_SHOWN = 16


@dataclass(frozen=True, slots=True)
class Outcome:
    """A rule and what became of it: `held`, `refuted`, `untested` (no instance satisfied it) or `failed` (the engine
    raised what it should not)."""

    rule: Rule
    status: str
    found: Found
    diagnostics: tuple[Diagnostic, ...]

    @property
    def name(self) -> str:
        return full_name(self.rule)

    @property
    def gaps(self) -> bool:
        """Whether something of the rule was never tested."""
        return self.status == "untested" or any(c.untested for c in self.found.coverage)

    def to_json(self) -> dict[str, Any]:
        found = self.found
        return {
            "rule": self.name,
            "status": self.status,
            "instances": dict(found.tested),
            "candidates": found.candidates,
            "worst": round(found.worst, 4),
            "without_float64": found.uncertain,
            "seconds": round(found.seconds, 3),
            "coverage": [
                {
                    "kind": c.choice.kind,
                    "text": _text(c),
                    "line": c.choice.span.line,
                    "options": dict(zip(c.choice.options, c.counts, strict=True)),
                }
                for c in found.coverage
            ],
            "diagnostics": [d.to_json() for d in self.diagnostics],
        }


def full_name(rule: Rule) -> str:
    """`std.norm.fuse_layer_norm`."""
    return f"{rule.library}.{rule.name.text}" if rule.library else rule.name.text


def outcome(found: Found, instances: int) -> Outcome:
    """The verdict on a rule, with its diagnostics."""
    rule = found.rule
    name = full_name(rule)
    if found.counterexample is not None:
        return Outcome(rule, "refuted", found, (_refuted(rule, found.counterexample),))
    if found.faults:
        why = found.faults.most_common(1)[0][0]
        made = Diagnostic("T0912", f"`{name}` makes the rewriting engine fail", span=rule.name.span, notes=(why,))
        return Outcome(rule, "failed", found, (made,))
    warnings: list[Diagnostic] = []
    if not found.instances:
        reasons = [*found.errors.most_common(2), *found.rejected.most_common(3)]
        warnings.append(
            Diagnostic(
                "T0911",
                f"`{name}` is untested: no random instance satisfied its pattern and guards",
                span=rule.name.span,
                severity=Severity.WARNING,
                notes=(f"{plural(found.candidates, 'instance')} were made", *(f"{n} x: {text}" for text, n in reasons)),
                help="a `test { … }` block says shapes for which the rule must hold",
            )
        )
        return Outcome(rule, "untested", found, tuple(warnings))
    gaps = [c for c in found.coverage if c.untested]
    if gaps:
        warnings.append(
            Diagnostic(
                "T0911",
                f"parts of `{name}` are untested",
                span=rule.name.span,
                severity=Severity.WARNING,
                notes=tuple(f"line {c.choice.span.line}: {_options(c)} of `{_text(c)}`" for c in gaps),
            )
        )
    if found.instances < instances:
        warnings.append(
            Diagnostic(
                "T0911",
                f"`{name}` was tested on {found.instances} of {instances} instances",
                span=rule.name.span,
                severity=Severity.WARNING,
                notes=tuple(f"{n} x: {text}" for text, n in found.rejected.most_common(3)),
            )
        )
    return Outcome(rule, "held", found, tuple(warnings))


def lines(result: Outcome, *, coverage: bool = True) -> Iterator[str]:
    """A rule as a few lines of text."""
    found = result.found
    tested = ", ".join(f"{count} {kind}" for kind, count in sorted(found.tested.items(), reverse=True))
    amount = f"{plural(found.instances, 'instance')} ({tested})" if found.instances else "no instance"
    worst = f"  error {found.worst:.2f} of allowed" if result.status == "held" else ""
    yield f"{result.status:<9} {result.name}  {amount}{worst}  {found.seconds:.1f} s"
    if found.uncertain:
        yield f"          {found.uncertain} without float64: the left side itself was the truth"
    if not coverage or result.status not in ("held",):
        return
    for one in found.coverage:
        counts = " · ".join(
            f"{option} {count or 'UNTESTED'}{'' if count >= LEAST or not count else ' (few)'}"
            for option, count in zip(one.choice.options, one.counts, strict=True)
        )
        kind = {"either": "alternatives", "optional": "operation", "input": "input", "order": "operands"}
        yield f"          line {one.choice.span.line}, {kind[one.choice.kind]} of `{_text(one)}`: {counts}"


def _text(coverage: Coverage) -> str:
    text = " ".join(coverage.choice.span.text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _options(coverage: Coverage) -> str:
    return ", ".join(f"`{o}`" if coverage.choice.kind == "either" else o for o in coverage.untested)


def _refuted(rule: Rule, verdict: Verdict) -> Diagnostic:
    difference = verdict.difference
    assert difference is not None
    where = f" at {list(difference.index)}" if difference.index else ""
    notes = [difference.reason + where]
    if difference.left is not None:
        notes += [
            f"left    {difference.left!r}",
            f"right   {difference.right!r}",
            f"float64 {difference.truth!r}",
        ]
        if np.isfinite(difference.error):
            notes.append(f"off by {difference.error:.3g}, allowed {difference.allowed:.3g}")
    notes.append("the instance:")
    notes += [f"  {line}" for line in instance_lines(verdict)]
    return Diagnostic(
        "T0910",
        f"`{full_name(rule)}` is refuted: its two sides differ",
        span=rule.name.span,
        notes=tuple(notes),
        data={
            "index": list(difference.index),
            "left": _plain(difference.left),
            "right": _plain(difference.right),
            "truth": _plain(difference.truth),
            "leaves": {name: _shown(array) for name, array in _arrays(verdict).items()},
        },
    )


def _plain(value: object) -> object:
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def instance_lines(verdict: Verdict) -> Iterator[str]:
    """The leaves with their values, and the nodes."""
    for name, array in _arrays(verdict).items():
        yield f"{name}: {array.dtype}{list(array.shape)} = {_shown(array)}"
    prefix = verdict.instance.prefix
    for node in verdict.instance.nodes:
        outputs = ", ".join((v.name or "").removeprefix(prefix) for v in node.outputs)
        inputs = ", ".join(_operand(v, prefix) for v in node.inputs)
        attributes = "".join(f", {name} = {_attribute(a)}" for name, a in node.attributes.items())
        yield f"{outputs} = {node.op_type}({inputs}{attributes})"


def _operand(value: Any, prefix: str) -> str:
    if value is None:
        return "-"
    constant = value.const_value
    if constant is not None and constant.size <= _SHOWN and ".".join(value.name.split(".")[:-1]):
        array = constant.numpy()
        if array.ndim == 0:
            return f"{array.item():.9g}" if np.issubdtype(array.dtype, np.floating) else str(array.item())
        if array.size <= 8:
            return f"{_shown(array)}"
    return str(value.name).removeprefix(prefix)


def _attribute(attribute: Any) -> str:
    value = attribute.value
    return f'"{value}"' if isinstance(value, str) else str(list(value) if isinstance(value, tuple) else value)


def _arrays(verdict: Verdict) -> dict[str, Array]:
    instance = verdict.instance
    found: dict[str, Array] = {}
    for name, value in instance.leaves.items():
        array = instance.inputs.get(value)
        if array is None and value.const_value is not None:
            array = value.const_value.numpy()
        if array is not None:
            found[name.rpartition(":")[2] if ":" in name else name] = array
    return found


def _shown(array: Array) -> str:
    flat = array.reshape(-1)
    texts = [f"{v:.9g}" if isinstance(v, float) else str(v) for v in flat[:_SHOWN].tolist()]
    more = f", ... ({flat.size} in all)" if flat.size > _SHOWN else ""
    return texts[0] if array.ndim == 0 else f"[{', '.join(texts)}{more}]"


__all__ = ["Outcome", "full_name", "instance_lines", "lines", "outcome"]
