"""One attempt at a match: what is bound so far, how to take it back, and who is told where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

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


class Trace(Protocol):
    """Told of every place where an attempt does not go on. `near`: 0 something else stands there, 1 the right thing
    with another value or type, 2 a condition over what fits."""

    def miss(self, state: State, span: Span, value: oir.Value | None, reason: Callable[[], str], near: int) -> None: ...


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
    trace: Trace | None = None

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

    def miss(self, span: Span, value: oir.Value | None, reason: Callable[[], str], near: int = 0) -> bool:
        """Always False; told to the trace where somebody asked."""
        if self.trace is not None:
            self.trace.miss(self, span, value, reason, near)
        return False
