"""The order in which facts are found: forward through a graph, or back from one value on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
import onnx_ir as oir

from trtc import collector
from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.ir.infer import choices
from trtc.ir.infer.fact import UNKNOWN, Fact
from trtc.ir.infer.op import RULES, Host, Op
from trtc.ir.infer.sources import constant_fact, input_facts
from trtc.ir.nesting import graphs_of

MAX_ERRORS: Final = 20
MAX_DEPTH: Final = 32
"""Calls of functions within calls; what is deeper is not known."""
MAX_CALLS: Final = 100_000
"""Nodes of functions inferred for one node of the graph."""


def infer_node(host: Host, node: oir.Node) -> list[Fact]:
    """The facts of a node's outputs from those of its inputs. T06xx for what provably cannot work.

    An operator without a rule is inferred through its function when the model has one; else nothing is known.
    """
    known = host.facts
    facts: list[Fact] = []
    for value in node.inputs:
        found = UNKNOWN if value is None else known.get(value)
        if found is None:
            assert value is not None
            found = fact(host, value)
        facts.append(found)
    outputs = len(node.outputs)
    domain = "" if node.domain == "ai.onnx" else node.domain
    functions = host.model.functions
    if functions:
        function = functions.get((node.domain, node.op_type, node.overload))
        if function is not None:
            return _called(host, node, function, facts)
    entry = RULES.get((domain, node.op_type))
    if entry is None:
        return [UNKNOWN] * outputs
    rule, needed = entry
    op = Op(host, node, facts)
    for at in range(needed):
        if not op.has(at):
            op.fail("T0618", f"{op.label} has no input {at}", f"its first {needed} inputs are required")
    if not domain:
        _choices(op)
    try:
        made = rule(op)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise DiagnosticError(
            Diagnostic(
                code="T0622",
                message=f"{op.label} has attributes or inputs that do not fit together",
                node=node.name,
                file=None if host.path is None else str(host.path),
                notes=(f"{type(error).__name__}: {error}",),
            )
        ) from error
    if isinstance(made, Fact):
        return [made] if outputs == 1 else [made, *[UNKNOWN] * (outputs - 1)][:outputs]
    return made if len(made) == outputs else [*made, *[UNKNOWN] * outputs][:outputs]


def infer_into(host: Host, node: oir.Node) -> None:
    """Infers a node and keeps what was found."""
    facts = host.facts
    for value, found in zip(node.outputs, infer_node(host, node), strict=True):
        facts[value] = found


def infer_graph(host: Host, graph: oir.Graph, given: Sequence[Fact]) -> list[Fact]:
    """The facts of a body's outputs when its inputs have the given ones; what was known of the body is replaced."""
    facts = host.facts
    for value, found in zip(graph.inputs, given, strict=False):
        facts[value] = found
    try:
        for node in graph:
            infer_into(host, node)
    except DiagnosticError:
        # The body may be one that never runs (see If): its values can be asked for all the same.
        for node in graph:
            for value in node.outputs:
                facts.setdefault(value, UNKNOWN)
        raise
    return [facts.get(value) or fact(host, value) for value in graph.outputs]


def infer_all(host: Host) -> None:
    """Finds the facts of every value of the graph, forward. Raises all the T06xx that it meets, up to `MAX_ERRORS`."""
    with collector.paused():
        _infer_all(host)


def _infer_all(host: Host) -> None:
    facts = host.facts
    for value, found in input_facts(host).items():
        facts.setdefault(value, found)
    errors: list[Diagnostic] = []
    for node in host.model.graph:
        if node.outputs and all(value in facts for value in node.outputs):
            continue
        try:
            infer_into(host, node)
        except DiagnosticError as error:
            errors.extend(error.diagnostics)
            if len(errors) >= MAX_ERRORS:
                break
            for value in node.outputs:
                facts[value] = UNKNOWN
    if errors:
        # What was not found out because of an error is no fact.
        for node in host.model.graph:
            for value in node.outputs:
                if facts.get(value) is UNKNOWN:
                    del facts[value]
        raise DiagnosticError(*errors[:MAX_ERRORS])
    _correct(host)


def _choices(op: Op) -> None:
    found = choices.wrong(op.node)
    if found is not None:
        name, text, allowed = found
        op.fail("T0622", f"attribute `{name}` of {op.label} is `{text}`", f"it may be {', '.join(allowed)}")


def _correct(host: Host) -> None:
    """Annotations of inner values are hints: where a file says another dtype than is computed, that goes."""
    for node in host.model.graph:
        for value in node.outputs:
            dtype = host.facts.get(value, UNKNOWN).dtype
            if dtype is not None and value.dtype not in (None, dtype) and not value.is_graph_output():
                value.type = oir.TensorType(dtype)


def fact(host: Host, value: oir.Value) -> Fact:
    """The fact of one value, with everything that it needs: back along producers with a stack, never by recursion."""
    facts = host.facts
    found = facts.get(value)
    if found is not None:
        return found
    stack = [value]
    entered: set[oir.Node] = set()
    while stack:
        at = stack[-1]
        if at in facts:
            stack.pop()
            continue
        node = at.producer()
        if node is None:
            facts.update({at: UNKNOWN} if not _source(host, at) else {})
            continue
        missing = [v for v in _needed(node) if v not in facts]
        if missing and node not in entered:
            entered.add(node)
            stack.extend(missing)
            continue
        if missing:  # a cycle; the verifier reports it
            for v in missing:
                facts[v] = UNKNOWN
        try:
            infer_into(host, node)
        except DiagnosticError:
            if node.graph is host.model.graph:
                raise
            # As in `infer_graph`: the body may be one that never runs. The node that would run it has the last word.
            for v in node.outputs:
                facts.setdefault(v, UNKNOWN)
    return facts[value]


def _needed(node: oir.Node) -> Iterable[oir.Value]:
    for value in node.inputs:
        if value is not None:
            yield value
    for attribute in node.attributes.values():
        for graph in graphs_of(attribute):
            yield from _captured(graph)


def _source(host: Host, value: oir.Value) -> bool:
    """Finds the fact of a value that no node makes; False when there is none to find."""
    facts = host.facts
    if not value.is_graph_input():
        if value.const_value is not None:
            facts[value] = constant_fact(value)
        return value in facts
    if value.graph is host.model.graph:
        for other, found in input_facts(host).items():
            facts.setdefault(other, found)
        return value in facts
    # An input of a body: its facts are those that the node which runs the body gives it.
    for node in oir.traversal.RecursiveGraphIterator(host.model.graph):
        for attribute in node.attributes.values():
            if any(value in graph.inputs for graph in graphs_of(attribute)):
                for needed in _needed(node):
                    fact(host, needed)
                infer_into(host, node)
                return value in facts
    return False


def _captured(graph: oir.Graph) -> list[oir.Value]:
    """The values of outer graphs that a body, and what is nested in it, reads."""
    inside: set[oir.Value] = set(graph.inputs)
    read: list[oir.Value] = list(graph.outputs)
    for node in oir.traversal.RecursiveGraphIterator(graph):
        inside.update(node.outputs)
        read.extend(value for value in node.inputs if value is not None)
        for attribute in node.attributes.values():
            for inner in graphs_of(attribute):
                inside.update(inner.inputs)
                read.extend(inner.outputs)
    return [value for value in dict.fromkeys(read) if value not in inside and not value.is_initializer()]


# Functions


class Scope:
    """The inside of one call of a function: facts of its own, the attributes of the call."""

    __slots__ = ("attributes", "budget", "depth", "facts", "model", "path", "prefix")

    def __init__(self, outer: Host, node: oir.Node, function: oir.Function) -> None:
        self.model = outer.model
        self.path = outer.path
        self.facts: dict[oir.Value, Fact] = {}
        self.prefix = f"{getattr(outer, 'prefix', '')}{node.name}/"
        """Before the names of unknowns: two calls are two numbers."""
        self.depth: int = getattr(outer, "depth", 0) + 1
        self.budget: list[int] = getattr(outer, "budget", None) or [MAX_CALLS]
        self.attributes: dict[str, oir.Attr] = {
            name: attribute for name, attribute in function.attributes.items() if attribute.value is not None
        }
        bound: dict[str, oir.Attr] = getattr(outer, "attributes", {})
        for name, attribute in node.attributes.items():
            resolved = bound.get(attribute.ref_attr_name or "") if attribute.is_ref() else attribute
            if resolved is not None:
                self.attributes[name] = resolved

    def constant(self, value: oir.Value | None) -> np.ndarray[Any, Any] | None:
        if value is None:
            return None
        tensor = value.const_value
        node = value.producer()
        if tensor is None and node is not None and node.op_type == "Constant":
            attribute = node.attributes.get("value")
            tensor = attribute.value if attribute is not None and not attribute.is_ref() else None
            if tensor is None:
                tensor = oir.convenience.get_const_tensor(value)
        return None if tensor is None else tensor.numpy()


def _called(host: Host, node: oir.Node, function: oir.Function, facts: list[Fact]) -> list[Fact]:
    scope = Scope(host, node, function)
    scope.budget[0] -= len(function)
    if scope.depth > MAX_DEPTH or scope.budget[0] < 0:
        return [UNKNOWN] * len(node.outputs)
    for at, value in enumerate(function.inputs):
        scope.facts[value] = facts[at] if at < len(facts) else UNKNOWN
    for inner in function:
        infer_into(scope, inner)
    made = [scope.facts.get(value, UNKNOWN) for value in function.outputs]
    return [*made, *[UNKNOWN] * len(node.outputs)][: len(node.outputs)]
