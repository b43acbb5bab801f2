"""The walk that brings a model to canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.ir.canonical import (  # the operator families register themselves
    activations,
    arithmetic,
    attention,
    casts,
    losses,
    normalization,
    recurrent,
    reductions,
    resize,
    views,
)
from trtc.ir.canonical.carried import COMPOSED, carry
from trtc.ir.canonical.constants import to_initializer
from trtc.ir.canonical.defaults import fill, trim_inputs
from trtc.ir.canonical.schema import Form, first_opset, form, newest_opset
from trtc.ir.canonical.site import IR_VERSION, OPSET, Site, restatements
from trtc.ir.infer import choices
from trtc.ir.module import Module
from trtc.ir.nesting import subgraphs

FAMILIES = (activations, arithmetic, attention, casts, losses, normalization, recurrent, reductions, resize, views)

#: Attributes of opset 1 that never had a meaning.
_DEAD = "consumed_inputs"


def canonicalize(module: Module) -> None:
    """Bring every operator of ai.onnx to the form of opset 23, in place, and the model to opset 23 and IR 11.

    Two walks, each linear. The first gives every node its form as far as that needs no knowledge of values; the
    second, when inference understands every node, does the rest and writes defaults out.

    Raises: DiagnosticError with one T065x for each node that is malformed or cannot be restated.
    """
    walk = _Walk(module)
    imports = module.model.opset_imports
    opset = walk.imported(imports, module.model.graph.name or "the graph")
    module.opset = opset
    scopes = [
        _Scope(f.graph, walk.imported(f.opset_imports, f.name, opset), True) for f in module.model.functions.values()
    ]
    scopes.append(_Scope(module.graph, opset, False))
    walk.fail()
    for scope in scopes:
        walk.give_form(scope, scope.graph)
    walk.fail()
    for scope in scopes:
        walk.finish(scope, scope.graph)
    walk.fail()
    for owner in (module.model, *module.model.functions.values()):
        owner.opset_imports.pop("ai.onnx", None)
        owner.opset_imports[""] = OPSET
    module.model.ir_version = IR_VERSION
    # What was inferred inside of a loop may have been inferred from a form that was not final yet.
    module.facts.clear()


@dataclass(frozen=True, slots=True)
class _Scope:
    graph: oir.Graph
    opset: int
    in_function: bool


@dataclass(slots=True)
class _Walk:
    module: Module
    found: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def fail(self) -> None:
        if self.found:
            raise DiagnosticError.of(self.found)

    def imported(self, imports: dict[str, int], where: str, default: int = 1) -> int:
        """The opset of ai.onnx under either of its names."""
        opset = imports.get("", imports.get("ai.onnx", default))
        if not 1 <= opset <= newest_opset():
            file = None if self.module.path is None else str(self.module.path)
            self.found.append(
                Diagnostic(
                    code="T0651",
                    message=f"{where!r} imports opset {opset} of ai.onnx; onnx here knows 1 to {newest_opset()}",
                    file=file,
                    help="install a newer onnx, or export for an older opset",
                )
            )
        return opset

    def give_form(self, scope: _Scope, graph: oir.Graph) -> None:
        """First walk: constants, and restatements that ask nothing of inference."""
        for node in list(graph):
            for inner in subgraphs(node):
                self.give_form(scope, inner)
            trim_inputs(node)
            if not self._is_standard(node):
                continue
            try:
                self._check(scope, node)
                if node.op_type == "Constant" and not scope.in_function:
                    to_initializer(self.module, node)
                else:
                    self._restate(scope, node, facts=False)
            except DiagnosticError as error:
                self.found.extend(error.diagnostics)

    def finish(self, scope: _Scope, graph: oir.Graph) -> None:
        """Second walk: restatements that ask inference, newer operators carried as functions, defaults."""
        for node in list(graph):
            for inner in subgraphs(node):
                self.finish(scope, inner)
            if not self._is_standard(node):
                continue
            try:
                for made in self._restate(scope, node, facts=True):
                    for inner in subgraphs(made):
                        self.finish(scope, inner)
                    self._complete(scope, made)
                self._complete(scope, node)
            except DiagnosticError as error:
                self.found.extend(error.diagnostics)

    def _is_standard(self, node: oir.Node) -> bool:
        """An operator of ai.onnx, and not a function of the model that bears such a name."""
        return node.domain == "" and node.op_identifier() not in self.module.model.functions

    def _restate(self, scope: _Scope, node: oir.Node, *, facts: bool) -> Sequence[oir.Node]:
        """Run what the table has for the node; the nodes that were put before it."""
        site = Site(self.module, node, scope.opset, scope.in_function)
        for restatement in restatements(node.op_type):
            # A node that a restatement made, of whatever it was, is of opset 23 already.
            if restatement.facts == facts and restatement.applies(scope.opset) and node.version is None:
                restatement.run(site)
        return site.made

    def _complete(self, scope: _Scope, node: oir.Node) -> None:
        opset = node.version or scope.opset
        site = Site(self.module, node, opset, scope.in_function)
        current = form(node.op_type, OPSET)
        if current is None:
            self._carry(site)
            return
        fill(site)
        self._check_current(site, current)
        if node.op_type in COMPOSED and not scope.in_function:
            self._carry(Site(self.module, node, OPSET, False))
        node.version = None

    def _carry(self, site: Site) -> None:
        function = carry(site)
        site.node.version = None
        if function is not None:
            inner = _Scope(function.graph, self.imported(function.opset_imports, function.name), True)
            self.give_form(inner, inner.graph)
            self.finish(inner, inner.graph)

    def _check(self, scope: _Scope, node: oir.Node) -> None:
        """Is the node what its opset says? Restatements rely on it."""
        known = form(node.op_type, scope.opset)
        site = Site(self.module, node, scope.opset, scope.in_function)
        if known is None:
            first = first_opset(node.op_type)
            since = f"; opset {first} introduced it" if first is not None else ""
            help = None
            if first is None and ("Plugin" in node.op_type or node.op_type.endswith("_TRT")):
                help = (
                    "a plugin of TensorRT is used once a spec declares what it means: "
                    f'`plugin NAME(…) -> … {{ creator = "{node.op_type}" … }}`; `use std.plugins` declares some'
                )
            raise site.refusal(
                "T0650", f"ai.onnx has no operator {node.op_type} in opset {scope.opset}{since}", help=help
            )
        node.attributes.pop(_DEAD, None)
        for name in [name for name in node.attributes if name.startswith("__")]:
            # ONNX Runtime leaves such names to tools that mark nodes for themselves.
            del node.attributes[name]
        for problem in _problems(node, known):
            raise site.refusal("T0652", f"{node.op_type} (opset {scope.opset}) {problem}")
        wrong = choices.wrong(node)
        if wrong is not None:
            name, text, allowed = wrong
            raise site.refusal(
                "T0622",
                f"attribute `{name}` of {node.op_type} `{node.name}` is `{text}`",
                notes=(f"it may be {', '.join(allowed)}",),
            )
        kind = casts.newer_type((*node.inputs, *node.outputs), node)
        if kind is not None:
            raise site.refusal(
                "T0654",
                f"{node.op_type} uses the type {kind}, which came with opset {casts.NEWER_TYPES[kind]}; opset {OPSET} "
                "has nothing that holds it",
            )

    def _check_current(self, site: Site, current: Form) -> None:
        for problem in _problems(site.node, current):
            raise site.refusal(
                "T0653", f"{site.node.op_type} (opset {site.opset}) has no form at opset {OPSET}: it {problem}"
            )


def _problems(node: oir.Node, known: Form) -> Iterator[str]:
    for name, attr in node.attributes.items():
        kind = known.attributes.get(name)
        if kind is None:
            yield f"has no attribute `{name}`"
        elif attr.type != kind:
            yield f"takes {kind.name} for `{name}`, not {attr.type.name}"
    for name in sorted(known.required - node.attributes.keys()):
        yield f"needs its attribute `{name}`"
    for what, count, least, most in (
        ("input", len(node.inputs), known.min_inputs, known.max_inputs),
        ("output", len(node.outputs), known.min_outputs, known.max_outputs),
    ):
        if not least <= count <= most:
            wanted = str(least) if least == most else f"at least {least}" if count < least else f"at most {most}"
            yield f"takes {wanted} {what}s, not {count}"
