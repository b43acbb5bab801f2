"""One attempt at a match: what is bound so far, how to take it back, and where it got furthest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trtc.diagnostics import Span
from trtc.lang import rules
from trtc.rewrite.constants import Constants

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.dims import Dim
    from trtc.ir.module import Module
    from trtc.rewrite.program import Program, Scope

#: Steps that one attempt may take. A rule whose alternatives do not fail early is stopped, not the compile.
BUDGET = 20_000


class OutOfBudget(Exception):
    """An attempt took too many steps."""


@dataclass(slots=True)
class Miss:
    """Where the best attempt stopped: `matched` operations of the pattern fit, then this did not."""

    matched: int
    span: Span
    reason: str
    value: oir.Value | None
    nodes: tuple[oir.Node, ...] = ()


@dataclass(slots=True)
class State:
    """Bindings of one attempt. Everything bound is on the trail, so that a choice can be taken back."""

    module: Module
    constants: Constants
    program: Program
    values: list[oir.Value | None] = field(init=False)
    captures: list[Any] = field(init=False)
    dims: list[Dim | None] = field(init=False)
    ops: list[oir.Node | None] = field(init=False)
    nodes: list[tuple[oir.Node, bool]] = field(init=False)
    """Matched nodes, each with whether it may have users outside."""
    guards: list[tuple[rules.Expr, Scope]] = field(init=False)
    trail: list[tuple[list[Any], int]] = field(init=False)
    steps: int = 0
    trace: Callable[[Miss], None] | None = None

    def __post_init__(self) -> None:
        self.values = [None] * self.program.values
        self.captures = [None] * self.program.captures
        self.dims = [None] * self.program.dims
        self.ops = [None] * self.program.ops
        self.nodes = []
        self.guards = []
        self.trail = []

    def clear(self) -> None:
        """As new."""
        if self.trail or self.nodes or self.guards:
            self.undo((0, 0, 0))
        self.steps = 0

    def mark(self) -> tuple[int, int, int]:
        return len(self.trail), len(self.nodes), len(self.guards)

    def undo(self, mark: tuple[int, int, int]) -> None:
        trail = self.trail
        while len(trail) > mark[0]:
            bindings, slot = trail.pop()
            bindings[slot] = None
        del self.nodes[mark[1] :]
        del self.guards[mark[2] :]

    def bind(self, bindings: list[Any], slot: int, value: Any) -> None:
        bindings[slot] = value
        self.trail.append((bindings, slot))

    def step(self) -> None:
        self.steps += 1
        if self.steps > BUDGET:
            raise OutOfBudget

    def miss(self, span: Span, value: oir.Value | None, reason: Callable[[], str]) -> bool:
        """Always False; notes the miss where somebody asked."""
        if self.trace is not None:
            nodes = tuple(node for node, _ in self.nodes)
            self.trace(Miss(len(set(nodes)), span, reason(), value, nodes))
        return False
