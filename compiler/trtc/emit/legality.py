"""Everything in a module that cannot be emitted for a target, found before the first layer is added."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, NoReturn

import onnx_ir as oir

from trtc.diagnostics import Diagnostic, plural
from trtc.emit.facts import Facts, Refusal, refuse
from trtc.emit.plugins import check_plugin, realize, unknown_operator
from trtc.emit.registry import Operator, table
from trtc.ir.module import Module
from trtc.ir.nesting import subgraphs
from trtc.ir.plugins import PluginData, plugin_of
from trtc.targets import Target

#: TensorRT's `Dims` has room for this many.
_MAX_RANK = 8
_MAX_DIM = 2**31 - 1
_MAX_ELEMENTS = 2**40
_NAMED = 5
_SIZED_BY_DATA = frozenset({"NonZero", "NonMaxSuppression", "Unique", "Compress"})


@dataclass(frozen=True, slots=True)
class Finding:
    """A node that cannot be emitted: why, and the way out. `code` is T0701, or that of a kind of its own."""

    node: str
    op: str
    domain: str
    reason: str
    help: str | None
    code: str = "T0701"

    def to_json(self) -> dict[str, Any]:
        return {"node": self.node, "op": self.op, "domain": self.domain, "reason": self.reason, "help": self.help}


def check(module: Module, target: Target) -> list[Finding]:
    """One finding per node that cannot be emitted, in graph order. Adds nothing to any network.

    Calls of functions that the target has nothing for become the functions' bodies, in place (`plugins.realize`).
    Nodes that only lack the shape of a reported node's output are not reported themselves.
    """
    realize(module, target)
    facts = Facts(module, target.capabilities)
    findings: list[Finding] = []
    for value in module.graph.inputs:
        try:
            _check_value(facts, value, "network input")
            if value.is_graph_output():
                refuse(
                    f"the input `{value.name}` is an output as well", "pass it on under another name, by an Identity"
                )
        except Refusal as found:
            findings.append(Finding(value.name or "", "input", "", found.reason, found.help))
    _check_graph(facts, module.graph, target, findings, set())
    return findings


def _check_graph(
    facts: Facts, graph: oir.Graph, target: Target, findings: list[Finding], unknown: set[oir.Value]
) -> None:
    """`unknown` are the values without a shape that come from nodes that are reported."""
    known = table()
    for node in graph:
        if any(value in unknown for value in node.inputs):
            # Says nothing of its own: what it takes comes from a node that is reported, with no shape.
            unknown.update(_shapeless(facts.module, node))
            continue
        before = len(findings)
        for inner in subgraphs(node):
            _check_graph(facts, inner, target, findings, unknown)
        try:
            _check_node(facts, node, known.get((node.domain, node.op_type)), target)
        except Refusal as found:
            findings.append(Finding(node.name or "", node.op_type, node.domain, found.reason, found.help, found.code))
        if len(findings) > before:
            unknown.update(_shapeless(facts.module, node))


def _shapeless(module: Module, node: oir.Node) -> list[oir.Value]:
    return [value for value in node.outputs if module.shape(value) is None]


def report(findings: list[Finding], target: Target, file: str | None = None) -> Diagnostic:
    """All findings as one diagnostic, counted by operator and reason: T0701, or a code that all of them have."""
    groups: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.domain, finding.op, finding.reason].append(finding)
    notes: list[str] = []
    helps: list[str] = []
    for (domain, op, reason), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        name = f"{domain}.{op}" if domain else op
        shown = ", ".join(f"`{m.node}`" for m in members[:_NAMED])
        more = f" and {len(members) - _NAMED} more" if len(members) > _NAMED else ""
        notes.append(f"{name} ×{len(members)}: {reason}\n  at {shown}{more}")
        for member in members[:1]:
            if member.help is not None and (line := f"{name}: {member.help}") not in helps:
                helps.append(line)
    operators = Counter(f.op for f in findings)
    codes = {f.code for f in findings}
    return Diagnostic(
        codes.pop() if len(codes) == 1 else "T0701",
        f"{plural(len(findings), 'node')} cannot be built by {target.name} {target.version} "
        f"({', '.join(f'{op} ×{n}' for op, n in operators.most_common(6))}{', …' if len(operators) > 6 else ''})",
        file=file,
        notes=tuple(notes),
        help="\n".join(helps) or None,
        data={"target": target.name, "findings": [f.to_json() for f in findings]},
    )


def _check_node(facts: Facts, node: oir.Node, operator: Operator | None, target: Target) -> None:
    if operator is None:
        data = plugin_of(facts.module, node)
        if data is None:
            _no_operator(facts.module, node, target)
        _check_plugin(facts, node, data, target)
        return
    typed = range(len(node.inputs)) if operator.typed is None else operator.typed
    for at, value in enumerate(node.inputs):
        if value is None:
            continue
        if at in typed:
            dtype = facts.dtype(value)
            if dtype not in operator.types:
                allowed = ", ".join(sorted(t.name.lower() for t in operator.types))
                refuse(f"`{value.name}` is {dtype.name.lower()}; this is built for {allowed}")
        if facts.array(value) is None:
            _check_value(facts, value, "input")
    if operator.check is not None:
        operator.check(facts, node)
    for value in node.outputs:
        if value.uses() or value.is_graph_output():
            _check_value(facts, value, "output")


def _check_plugin(facts: Facts, node: oir.Node, data: PluginData, target: Target) -> None:
    check_plugin(facts, node, data, target)
    for at in data.tensors:
        value = node.inputs[at] if at < len(node.inputs) else None
        if value is not None and facts.array(value) is None:
            _check_value(facts, value, "input")
    for value in node.outputs:
        if value.name:
            _check_value(facts, value, "output")


def _check_value(facts: Facts, value: oir.Value, what: str) -> None:
    if value.type is not None and not isinstance(value.type, oir.TensorType):
        refuse(f"{what} `{value.name}` is not a tensor")
    dtype = facts.dtype(value)
    if facts.carrier(dtype) is None:
        refuse(f"{what} `{value.name}` is {dtype.name.lower()}, which this TensorRT has no tensors of")
    rank = facts.rank(value)
    if rank > _MAX_RANK:
        refuse(f"{what} `{value.name}` has rank {rank}; TensorRT's limit is {_MAX_RANK}")
    sizes = [d for d in facts.shape(value) if isinstance(d, int)]
    if max(sizes, default=0) > _MAX_DIM or (0 not in sizes and math.prod(sizes) > _MAX_ELEMENTS):
        refuse(f"{what} `{value.name}` has {math.prod(sizes):,} elements, which no GPU holds")


def _no_operator(module: Module, node: oir.Node, target: Target) -> NoReturn:
    if (help := unknown_operator(module, node, target)) is not None:
        refuse("an operator without a meaning", help)
    if node.domain:
        refuse(
            f"an operator of the domain `{node.domain}`, which has no body",
            "export it as ONNX operators, or give the model a local function of that name",
        )
    if node.op_type in _SIZED_BY_DATA:
        refuse(
            f"no layer of {target.name} for this operator is known to trtc: the size of its result depends on the data",
            "cut the model before it and do the rest outside the engine, or export with a result of fixed size (TopK)",
        )
    refuse(f"no layer of {target.name} for this operator is known to trtc", "export other operators in its place")
