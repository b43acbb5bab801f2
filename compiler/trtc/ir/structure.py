"""What the graphs of a decoded model must agree on: names, versions, types of attributes, shapes that are declared.

Works on the protobuf messages, after `wire` bounded their nesting and before `onnx_ir` links them: a name that is
defined twice could not be told apart afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import onnx

from trtc.diagnostics import Diagnostic, DiagnosticError, escape, suggest
from trtc.ir import structure_functions, structure_types, versions
from trtc.ir.limits import Limits


@dataclass(slots=True)
class Structure:
    """What the checks found out on the way, for the loader."""

    sorted: bool = True
    """Every node stands after the nodes it reads from."""
    passed_through: list[tuple[onnx.GraphProto, int]] = field(default_factory=list[tuple[onnx.GraphProto, int]])
    """Outputs of subgraphs that are values of an outer graph: they need an Identity to be values of their own."""


def check(proto: onnx.ModelProto, file: str, limits: Limits) -> Structure:
    """Raises DiagnosticError with up to `limits.errors` diagnostics: T0403, T0405, T0406, T0408 to T0412, T0414 to
    T0416."""
    report = Report(file, limits)
    versions.check(proto, report)
    report.finish()
    structure_functions.check(proto, report)
    report.finish()
    walk = _Walk(proto, report)
    walk.graph(proto.graph, [], versions.of_model(proto))
    for function in proto.functions:
        walk.function(function)
    report.finish()
    return walk.found


class Report:
    """Collects diagnostics; gives up at the bound."""

    def __init__(self, file: str, limits: Limits) -> None:
        self.file = file
        self.limits = limits
        self.diagnostics: list[Diagnostic] = []

    def add(self, code: str, message: str, node: str | None = None, help: str | None = None) -> None:
        # One line, whatever the names in it hold.
        self.diagnostics.append(
            Diagnostic(code=code, message=escape(message), node=node, file=self.file, help=help and escape(help))
        )
        if len(self.diagnostics) >= self.limits.errors:
            self.finish()

    def finish(self) -> None:
        if self.diagnostics:
            raise DiagnosticError.of(self.diagnostics)


def describe(node: onnx.NodeProto) -> str:
    """The name of a node, or what it computes when it has none."""
    if node.name:
        return node.name
    return f"{node.op_type} of {', '.join(name for name in node.output if name) or 'nothing'}"


@dataclass(slots=True)
class _Scope:
    """The names of one graph: where each is defined (-1: before all nodes), and the node that is looked at."""

    defined: dict[str, int] = field(default_factory=dict[str, int])
    at: int = 0


class _Walk:
    """Every graph of the model with the names that it sees. Recursion is bounded by the nesting that `wire` allows."""

    def __init__(self, proto: onnx.ModelProto, report: Report) -> None:
        self.report = report
        self.found = Structure()
        self.functions = {structure_functions.key(f.domain, f.name, f.overload) for f in proto.functions}
        self.missing = 0

    def graph(self, graph: onnx.GraphProto, outer: list[_Scope], opsets: dict[str, int]) -> None:
        scope = _Scope()
        inputs = {info.name for info in graph.input}
        if len(inputs) != len(graph.input):
            for name in _repeated(info.name for info in graph.input):
                self.report.add("T0410", f"two graph inputs are called `{name}`", name)
        scope.defined = dict.fromkeys(inputs, -1)
        weights = [t.name for t in graph.initializer] + [s.values.name for s in graph.sparse_initializer]
        for name in _repeated(weights):
            self.report.add("T0410", f"two initializers are called `{name}`", name)
        # An initializer with the name of an input is that input's value: not a second definition.
        scope.defined.update(dict.fromkeys((name for name in weights if name), -1))
        self.nodes(graph.node, scope, outer, inputs, opsets)
        structure_types.shapes(graph, self.report)
        for name in _repeated(info.name for info in graph.output):
            self.report.add("T0410", f"two graph outputs are called `{name}`", name)
        for at, info in enumerate(graph.output):
            if info.name in scope.defined:
                continue
            if any(info.name in other.defined for other in outer):
                self.found.passed_through.append((graph, at))
                continue
            where = "" if not outer else f" of subgraph `{graph.name}`"
            near = suggest(info.name, scope.defined) if len(scope.defined) < 5000 else None
            self.report.add(
                "T0412",
                f"graph output `{info.name}`{where} is produced by no node, and is no input or initializer",
                info.name,
                f"did you mean `{near}`?" if near else None,
            )

    def function(self, function: onnx.FunctionProto) -> None:
        scope = _Scope(dict.fromkeys(function.input, -1))
        for name in _repeated(function.input):
            self.report.add("T0410", f"two inputs of function `{function.name}` are called `{name}`", function.name)
        opsets = dict(versions.imports(function.opset_import))
        self.nodes(function.node, scope, [], set(function.input), opsets)
        for name in function.output:
            if name not in scope.defined:
                message = f"output `{name}` of function `{function.name}` is produced by none of its nodes"
                self.report.add("T0412", message, function.name)

    def nodes(
        self,
        nodes: Iterable[onnx.NodeProto],
        scope: _Scope,
        outer: list[_Scope],
        inputs: set[str],
        opsets: dict[str, int],
    ) -> None:
        defined, report = scope.defined, self.report
        members = list(nodes)
        for at, node in enumerate(members):
            for name in node.output:
                if not name:
                    continue
                before = defined.setdefault(name, at)
                if before != at or list(node.output).count(name) > 1:
                    self.redefined(name, node, None if before < 0 else members[before], name in inputs)
        for at, node in enumerate(members):
            scope.at = at
            for name in node.input:
                if not name:
                    continue
                place = defined.get(name)
                if place is None:
                    self.captured(name, node, scope, outer)
                elif place >= at:
                    self.found.sorted = False
            if not node.op_type:
                report.add("T0403", f"node `{describe(node)}` has no operator type", describe(node))
            attributes = node.attribute
            if attributes:
                structure_types.attributes(node, opsets, report, node_calls(node) in self.functions)
                for attribute in attributes:
                    for subgraph in subgraphs(attribute):
                        self.graph(subgraph, [*outer, scope], opsets)
            else:
                structure_types.domain(node, opsets, report, node_calls(node) in self.functions)

    def redefined(self, name: str, node: onnx.NodeProto, other: onnx.NodeProto | None, is_input: bool) -> None:
        who = describe(node)
        if other is not None and other is not node and describe(other) != who:
            message = f"tensor `{name}` is defined twice: by node `{describe(other)}` and by node `{who}`"
        elif other is not None:
            message = f"tensor `{name}` is defined twice, by nodes `{who}`"
        elif is_input:
            message = f"node `{who}` redefines the graph input `{name}`"
        else:
            message = f"node `{who}` redefines the initializer `{name}`"
        self.report.add("T0410", message, who, "every tensor of a graph has one definition; rename one of them")

    def captured(self, name: str, node: onnx.NodeProto, scope: _Scope, outer: list[_Scope]) -> None:
        for other in reversed(outer):
            place = other.defined.get(name)
            if place is not None:
                if place >= other.at:
                    self.found.sorted = False
                return
        self.missing += 1
        near = None
        if self.missing == 1 and len(scope.defined) < 5000:
            near = suggest(name, scope.defined)
        self.report.add(
            "T0411",
            f"node `{describe(node)}` reads tensor `{name}`, which nothing defines",
            describe(node),
            f"did you mean `{near}`?" if near else None,
        )


def node_calls(node: onnx.NodeProto) -> tuple[str, str, str]:
    """The function that a node calls, if the model has it."""
    return structure_functions.key(node.domain, node.op_type, node.overload)


def subgraphs(attribute: onnx.AttributeProto) -> Iterator[onnx.GraphProto]:
    """The graphs of an attribute."""
    if attribute.HasField("g"):
        yield attribute.g
    yield from attribute.graphs


def _repeated(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for name in names:
        if name and name in seen:
            twice[name] = None
        seen.add(name)
    return list(twice)
