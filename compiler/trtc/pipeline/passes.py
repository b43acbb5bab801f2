"""What a pass is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from trtc.diagnostics import Remark, RemarkKind, Span

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.evaluate import Evaluator
    from trtc.ir.module import Module
    from trtc.lang.rules import Rule


@dataclass(frozen=True, slots=True)
class PassResult:
    """Whether the module changed, and how often each thing was done (`{"folded": 12}`)."""

    changed: bool
    counts: Mapping[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, **counts: int) -> PassResult:
        """Changed when any count is not zero; zero counts are left out."""
        done = {name: count for name, count in counts.items() if count}
        return cls(bool(done), done)


@dataclass(slots=True)
class Context:
    """What a pass may use besides the module: a way to speak and a way to compute."""

    evaluator: Evaluator
    source: str = ""
    """Name of the pass at work; set by the runner."""
    span: Span | None = None
    """Where the spec calls it."""
    remarks: list[Remark] = field(default_factory=list[Remark])
    plugins: bool | None = None
    """Whether the target has plugins; None where the target is not known."""
    watch: Callable[[Module, Rule], None] | None = None
    """Told of every rule when it has run; looks, and changes nothing."""

    def applied(self, message: str, node: oir.Node | None = None) -> None:
        """Say what was done at a node."""
        self._remark(RemarkKind.APPLIED, message, node)

    def declined(self, message: str, node: oir.Node | None = None) -> None:
        """Say what could have been done at a node, and what stopped it."""
        self._remark(RemarkKind.DECLINED, message, node)

    def _remark(self, kind: RemarkKind, message: str, node: oir.Node | None) -> None:
        self.remarks.append(Remark(kind, self.source, message, node.name if node is not None else None, self.span))


@runtime_checkable
class Pass(Protocol):
    """A frozen dataclass: its typed fields are its options, its docstring what `trtc passes` prints.

    The first line of the docstring says what it does; a small graph before and after follows. A module of passes
    imports onnx_ir and numpy inside its functions only, so that its options can be read without them.
    """

    name: ClassVar[str]

    def run(self, module: Module, context: Context) -> PassResult: ...
