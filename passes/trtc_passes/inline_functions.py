"""Calls of the model's own functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.pipeline import PassResult
from trtc.pipeline.options import option

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context

_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class InlineFunctions:
    """Puts the bodies of the model's functions in the place of the calls.

        x ──> mine.Swish(alpha = 2) ──> y     =>     x ──> Mul(2) ──> Sigmoid ──> Mul ──> y
                                                     └──────────────────────────┘

    Nested calls, overloads, subgraphs in bodies, attributes that refer to the call's and their defaults are all
    resolved. The inner nodes' provenance is the call's name, a slash and the inner name. Linear in the nodes that
    result, which are counted before anything is done. Calls of plugins stay, unless the target is known to have none:
    a plugin may stand for them. So do calls of operators that rules put there, which a layer may stand for.

    Raises T0520 when more nodes than `budget` would result, T0521 for a function that calls itself.
    """

    name: ClassVar[str] = "inline_functions"

    budget: int = option(100_000, "largest number of nodes that the bodies may add")
    keep: tuple[str, ...] = option((), "domains, or `domain::Name`, whose functions stay calls")

    def run(self, module: Module, context: Context) -> PassResult:
        if not module.model.functions:
            return PassResult(False)
        from trtc.ir.inlining import inline

        inlined = self._inlined(module, context.plugins)
        calls = [node for node in module.nodes() if node.op_identifier() in inlined]
        self._check_budget(module, calls, inlined)
        count = 0
        while calls:
            call = calls.pop()
            made = inline(module, call, self.name)
            count += 1
            calls += [node for node in made if node.op_identifier() in inlined]
        if count:
            context.applied(f"inlined {count} calls")
        return PassResult.of(inlined=count)

    def _inlined(self, module: Module, plugins: bool | None) -> frozenset[_Key]:
        """The functions whose calls are replaced."""
        from trtc.ir.bodies import is_operator
        from trtc.ir.plugins import data_of

        return frozenset(
            key
            for key, function in module.model.functions.items()
            if key[0] not in self.keep
            and f"{key[0]}::{key[1]}" not in self.keep
            and (plugins is False or data_of(function) is None)
            and not is_operator(function)
        )

    def _check_budget(self, module: Module, calls: list[oir.Node], inlined: frozenset[_Key]) -> None:
        sizes: dict[_Key, int] = {}
        total = 0
        for call in calls:
            total += self._size(module, call.op_identifier(), sizes, inlined)
            if total > self.budget:
                raise DiagnosticError(
                    Diagnostic(
                        "T0520",
                        f"the functions of the model expand to more than {self.budget:,} nodes",
                        node=call.name,
                        notes=(f"`{_text(call.op_identifier())}` alone expands to {sizes[call.op_identifier()]:,}",),
                        help="raise the limit with inline_functions(budget = …) if you trust the model",
                    )
                )

    def _size(self, module: Module, root: _Key, sizes: dict[_Key, int], inlined: frozenset[_Key]) -> int:
        """Nodes that a call of `root` becomes. Functions are walked without recursion: nesting has no limit."""
        inner: dict[_Key, list[_Key]] = {}
        stack, open_keys = [root], set[_Key]()
        while stack:
            key = stack[-1]
            if key in sizes:
                stack.pop()
                continue
            if key not in inner:
                nodes = [node.op_identifier() for node in module.model.functions[key].all_nodes()]
                inner[key] = nodes
                open_keys.add(key)
                for called in nodes:
                    if called in open_keys:
                        raise DiagnosticError(
                            Diagnostic(
                                "T0521",
                                f"the function `{_text(called)}` calls itself",
                                notes=("ONNX functions are not recursive: a body may only call other functions",),
                            )
                        )
                    if called not in sizes and called in inlined:
                        stack.append(called)
                continue
            sizes[key] = sum(sizes[called] if called in inlined else 1 for called in inner[key])
            open_keys.discard(key)
            stack.pop()
        return sizes[root]


def _text(key: _Key) -> str:
    return f"{key[0]}::{key[1]}" + (f":{key[2]}" if key[2] else "")
