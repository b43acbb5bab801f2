"""Branches whose condition is known."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trtc.pipeline import PassResult

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module
    from trtc.pipeline import Context


@dataclass(frozen=True, slots=True)
class InlineIf:
    """Puts the taken branch in the place of an If whose condition is a constant.

    true ──> If(then: Relu(x), else: Neg(x)) ──> y     =>     x ──> Relu ──> y
    """

    name: ClassVar[str] = "inline_if"

    def run(self, module: Module, context: Context) -> PassResult:
        count = 0
        # Outer before inner. An If of a branch that is dropped has lost its inputs when its turn comes.
        for node in [n for n in module.nodes() if n.op_type == "If" and n.domain == ""]:
            condition = module.constant(node.inputs[0])
            if condition is None or condition.size != 1:
                continue
            taken = "then_branch" if bool(condition.reshape(-1)[0]) else "else_branch"
            context.applied(f"the condition is always {taken == 'then_branch'}", node)
            _inline(module, node, node.attributes[taken].as_graph())
            count += 1
        return PassResult.of(inlined=count)


def _inline(module: Module, node: oir.Node, branch: oir.Graph) -> None:
    from trtc.ir import edit

    results = list(branch.outputs)
    branch.outputs.clear()
    for value in list(branch.initializers.values()):
        del branch.initializers[value.name or ""]
        module.graph.register_initializer(value)
    nodes = list(branch)
    branch.remove(nodes)
    edit.replace(module, [node], nodes, dict(zip(node.outputs, results, strict=True)))
