"""`why`: the pipeline run with a look at one rule, each time it has run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trtc.diagnostics import Diagnostic, DiagnosticError, Remark, RemarkKind, escape, suggest
from trtc.driver.dumping import without_expectations
from trtc.driver.library import libraries, registry, rules_of
from trtc.driver.spec import Triple, spec_for
from trtc.lang import rules
from trtc.lang.spec import Apply, Spec, applied_rules

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.rewrite.explain import NearMiss

#: Near misses that are told.
LIMIT = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a rule. applied: whether the pipeline applies it; otherwise it ran on what the pipeline leaves.
    pattern: it is a pattern, and its matches are where it stands in what the pipeline leaves.

    fate: what became of the node that was asked for, where something other than a near miss did.
    """

    rule: rules.Rule
    applied: bool
    pattern: bool
    runs: int
    matches: tuple[Remark, ...]
    misses: tuple[NearMiss, ...]
    at: str | None = None
    fate: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return qualified(self.rule)

    def to_json(self) -> dict[str, Any]:
        span = self.rule.name.span
        return {
            "rule": self.name,
            "span": {"path": span.source.path, "line": span.line, "column": span.column},
            "applied_by_pipeline": self.applied,
            "pattern": self.pattern,
            "runs": self.runs,
            "matches": [remark.to_json() for remark in self.matches],
            "misses": [miss.to_json() for miss in self.misses],
            "at": self.at,
            "fate": list(self.fate),
        }


def qualified(rule: rules.Rule) -> str:
    """`std.norm.fuse_layer_norm`; for a rule of the spec's own files its name."""
    return f"{rule.library}.{rule.name.text}" if rule.library else rule.name.text


def why(
    path: str | Path,
    name: str,
    *,
    at: str | None = None,
    set: Mapping[str, object] | None = None,
    dim: Mapping[str, str | int | Triple] | None = None,
    target: str | None = None,
    limit: int = LIMIT,
    allow_code: bool = False,
) -> Answer:
    """Where a rule or pattern matched, and where it nearly did. `at`: the name of a node or value of the file or of
    the optimized graph. `allow_code`: constraints in Python may run.

    Raises:
        DiagnosticError: T0360 no such rule, T0361 no such node, and what is wrong with the spec or model.
    """
    spec = spec_for(path, set=set, dim=dim, target=target)
    rule, kind = _rule(spec, name)
    from trtc.driver.front import prepare
    from trtc.evaluate import Evaluator
    from trtc.pipeline import Context
    from trtc.pipeline.runner import run
    from trtc.rewrite.externs import allowed
    from trtc.targets import has_plugins

    module = prepare(spec, covered=False).module
    steps = without_expectations(spec.pipeline)
    if kind == "declared":
        steps = (*steps, Apply((rule,)))
    plugins = has_plugins(spec.target.name if spec.target is not None else None) if spec.plugins else None
    context = Context(Evaluator(), plugins=plugins)
    look = _Look(rule, context, at, limit)
    look.begin(module)
    context.watch = look
    with allowed(allow_code, spec.path.parent):
        outcome = run(module, steps, registry(), context)
        if kind == "pattern":
            context.remarks = []
            look(module, rule)
    matches = tuple(r for r in outcome.remarks if r.kind is RemarkKind.APPLIED and r.source == rule.name.text)
    if at is not None and not look.known:
        look.names.update(node.name for node in module.nodes() if node.name)
        close = suggest(at, look.names)
        raise DiagnosticError(
            Diagnostic(
                "T0361",
                f"no node or value is named `{escape(at)}` when `{rule.name.text}` runs, nor in the file",
                file=str(spec.model),
                help=f"did you mean `{escape(close)}`?" if close else "`trtc dump` prints the names",
            )
        )
    misses = look.chosen(bool(matches))
    if kind == "pattern":
        here = [m for m in misses if m.whole and m.span == rule.name.span]
        matches = tuple(Remark(RemarkKind.APPLIED, m.rule, m.progress, m.root, m.span) for m in here)
        misses = tuple(m for m in misses if m not in here)
    return Answer(rule, kind == "applied", kind == "pattern", look.runs, matches, misses, at, tuple(look.fate))


@dataclass(slots=True)
class _Look:
    """Looks at the module each time the rule has run."""

    rule: rules.Rule
    context: Any
    at: str | None
    limit: int
    runs: int = 0
    known: bool = False
    """Whether the name that was asked for was ever seen."""
    names: set[str] = field(default_factory=set[str])
    fate: dict[str, None] = field(default_factory=dict[str, None])
    _found: dict[tuple[str, Any, str], NearMiss] = field(default_factory=dict[tuple[str, Any, str], "NearMiss"])
    _wanted: list[str] = field(default_factory=list[str])
    _last: set[str] = field(default_factory=set[str])

    def begin(self, module: Module) -> None:
        """Names of the file: a value stands for the node that makes it, an input for those that use it."""
        makers: dict[str, list[str]] = {}
        for node in module.nodes():
            makers[node.name or ""] = [node.name or ""]
        for node in module.nodes():
            for value in node.outputs:
                makers.setdefault(value.name or "", [node.name or ""])
        for value in module.graph.inputs:
            makers.setdefault(value.name or "", [use.node.name or "" for use in value.uses()])
        makers.pop("", None)
        self.names = set(makers)
        if self.at is not None:
            self._wanted = makers.get(self.at, [])
            self.known = self.at in makers

    def __call__(self, module: Module, rule: rules.Rule) -> None:
        if rule is not self.rule:
            return
        from trtc.rewrite.explain import explainer

        self.runs += 1
        self._last = {node.name or "" for node in module.nodes()}
        looking = explainer(module, rule, self.context.remarks)
        if self.at is None:
            misses = looking.misses(self.limit)
        else:
            nodes = self._nodes(module)
            misses = looking.at(nodes, self.limit)
            if nodes and not misses:
                operators = ", ".join(looking.operators())
                self.fate[f"it is {nodes[0].op_type}, and the pattern has no such operation; it has {operators}"] = None
        for miss in misses:
            self._found[miss.root, miss.span, miss.reason if self.at is not None else ""] = miss

    def _nodes(self, module: Module) -> list[oir.Node]:
        """The nodes that stand for what was asked for now. Notes what happened to it."""
        from trtc.ir import provenance

        wanted = set(self._wanted)
        nodes = list(module.nodes())
        found = [n for n in nodes if n.name == self.at or n.name in wanted]
        found = found or [n for n in nodes if any(v.name == self.at for v in n.outputs)]
        found = found or [n for n in nodes if {*wanted, self.at}.intersection(provenance.origins(n))]
        for node in found:
            by = provenance.rule(node)
            if by is None or (node.name == self.at and by != self.rule.name.text):
                continue
            word = "by this rule" if by == self.rule.name.text else f"by `{by}`"
            self.fate[f"it became {node.op_type} `{node.name}` {word}"] = None
        if not found and self.known:
            self.fate["nothing of it is left when the rule runs: an earlier step removed or folded it"] = None
        self.known = self.known or bool(found)
        return [n for n in found if provenance.rule(n) != self.rule.name.text]

    def chosen(self, matched: bool) -> tuple[NearMiss, ...]:
        """The most helpful ones: what was looked at last, and of what is gone since only where nothing matched."""
        left = [m for m in self._found.values() if not matched or self.at is not None or m.root in self._last]
        left.sort(key=lambda m: (-m.matched, -m.near))
        unique = {(m.root, m.span, m.reason): m for m in left}
        return tuple(unique.values())[: self.limit]


_Kind = Literal["applied", "declared", "pattern"]


def _rule(spec: Spec, name: str) -> tuple[rules.Rule, _Kind]:
    """The rule of a name, and whether the pipeline applies it."""
    used = list(dict.fromkeys(applied_rules(spec.pipeline)))
    for rule in used:
        if name in (rule.name.text, qualified(rule)):
            return rule, "applied"
    for rule in spec.rules:
        if rule.name.text == name:
            return rule, "declared"
    library, _, last = name.rpartition(".")
    # Libraries that do not have it are not parsed.
    declares = re.compile(rf"^\s*(?:rewrite|horizontal|pattern)\s+{re.escape(last)}\b", re.MULTILINE)
    available = {key: text for key, (_, text) in libraries().items() if not library or key == library}
    for key, text in available.items():
        if declares.search(text):
            of_library = rules_of(key)
            for rule in of_library:
                if rule.name.text == last:
                    return rule, "declared"
            found = _pattern(of_library, last)
            if found is not None:
                return found, "pattern"
    found = _pattern([*spec.rules, *used], name)
    if found is not None:
        return found, "pattern"
    known = {r.name.text: None for r in (*used, *spec.rules)} | dict.fromkeys(qualified(r) for r in used if r.library)
    listed = re.compile(r"^\s*(?:rewrite|horizontal)\s+(\w+)", re.MULTILINE)
    for key, (_, text) in libraries().items():
        known |= {f"{key}.{one}" if library else one: None for one in listed.findall(text)}
    close = suggest(name, known)
    raise DiagnosticError(
        Diagnostic(
            "T0360",
            f"there is no rule `{escape(name)}`",
            file=str(spec.path),
            help=f"did you mean `{close}`?" if close else "rules of a library are named with it: `std.norm.NAME`",
        )
    )


def _pattern(known: Sequence[rules.Rule], name: str) -> rules.Rewrite | None:
    """A pattern as a rule that puts its value in its place: it can be looked for, and changes nothing."""
    pattern = next((p for r in known for key, p in r.environment.patterns.items() if key == name), None)
    if pattern is None:
        return None
    span = pattern.name.span
    given = tuple(rules.Value(p.name.text, p.optional, None, p.span) for p in pattern.parameters)
    call = rules.Apply(pattern.name.text, False, given, (), False, None, span, span)
    environment = rules.Environment(patterns={**pattern.environment.patterns, pattern.name.text: pattern})
    target = next(t for t in pattern.targets if not t.capture)
    return rules.Rewrite(
        name=pattern.name,
        library="",
        equations=(rules.Equation(pattern.targets, call, False, span),),
        guards=(),
        targets=(target,),
        lets=(),
        replacement=rules.Value(target.name, False, None, span),
        tests=(),
        benefit=None,
        recursive=False,
        assumes=frozenset(),
        doc=pattern.doc,
        span=pattern.span,
        environment=environment,
    )
