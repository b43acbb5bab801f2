"""What names stand for while an instance is made: captures, dims and values of a rule and of each use of a pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import onnx_ir as oir

from trtc.ir.module import Module
from trtc.lang import rules
from trtc.lang.rules import Expr, Type
from trtc.rewrite import functions
from trtc.rewrite.constants import Constants
from trtc.rewrite.refute import guards
from trtc.rewrite.refute.shapes import Dims
from trtc.rewrite.refute.survey import Frame, source
from trtc.rewrite.refute.tape import Rejected


@dataclass(slots=True, eq=False)
class Cell:
    """What a capture stands for; None: nothing yet. places: its names, by the path of the scope."""

    value: Any = None
    places: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class Scopes:
    """Frames, captures, dims and values by (path, name)."""

    def __init__(self, module: Module) -> None:
        self.dims = Dims()
        self.frames: dict[str, Frame] = {}
        self.values: dict[tuple[str, str], oir.Value | None] = {}
        self.known = functions.Known(module, Constants(module))
        self._module = module
        self._cells: dict[tuple[str, str], Cell] = {}

    def cell(self, path: str, name: str) -> Cell:
        found = self._cells.get((path, name))
        if found is None:
            found = self._cells[path, name] = Cell(places=[(path, name)])
        return found

    def link(self, path: str, name: str, cell: Cell) -> None:
        """Let a name stand for a capture of another scope."""
        self._cells[path, name] = cell
        cell.places.append((path, name))

    def inherit(self, outer: str, inner: str) -> None:
        """The dims known in one scope, known in another."""
        for (path, name), size in list(self.dims.known.items()):
            if path == outer:
                self.dims.known[inner, name] = size

    def params(self, frame: Frame) -> Mapping[str, object]:
        return frame.owner.environment.params

    def unify(self, frame: Frame, type: Type, shape: Sequence[int]) -> None:
        self.dims.unify(frame.path, type, shape, self.params(frame))

    def solve(self, frame: Frame) -> None:
        """Dims that the guards say, as far as the others are known: H of `2 * H == D`."""
        params = self.params(frame)
        for guard in guards.conditions(_guards(frame)):
            if isinstance(guard, rules.Infix) and guard.operator == "==":
                for one, other in ((guard.left, guard.right), (guard.right, guard.left)):
                    size = self.dims.number(frame.path, one, params)
                    if size is not None and self.dims.number(frame.path, other, params) is None:
                        self.dims.bind(frame.path, other, size, params)

    def lookup(self, frame: Frame) -> guards.Lookup:
        """What a name or a capture stands for in a frame."""

        def find(expr: Expr) -> Any:
            if isinstance(expr, rules.Capture):
                value = self.cell(frame.path, expr.name).value
                if value is None:
                    raise guards.Unknown(expr.name)
                return value
            if isinstance(expr, rules.Value):
                return self._value(frame, expr.name)
            raise guards.Unknown(type(expr).__name__)

        return find

    def _value(self, frame: Frame, name: str) -> Any:
        if (frame.path, name) in self.dims.known:
            return self.dims.known[frame.path, name]
        home, found, other = source(frame, name)
        for key in ((frame.path, name), (home.path, found)):
            if key in self.values:
                value = self.values[key]
                if value is None:
                    raise guards.Unknown(name)
                return value
        if other is not None:
            return guards.evaluate(other, self.lookup(home), self.known)
        params = self.params(frame)
        if name in params:
            return params[name]
        raise guards.Unknown(name)

    def wanted(self, cell: Cell) -> list[Any]:
        """What the guards allow a capture to be equal to, as far as that is known."""
        found: list[Any] = []
        for path, name in cell.places:
            frame = self.frames.get(path)
            if frame is None:
                continue
            for expr in guards.wanted(_guards(frame), name):
                try:
                    value = guards.evaluate(expr, self.lookup(frame), self.known)
                except (guards.Unknown, ArithmeticError, TypeError, ValueError, IndexError):
                    continue
                if isinstance(value, bool | int | float | str | tuple):
                    found.append(value)
        return found

    def refused(self, cell: Cell) -> bool:
        """Whether a guard that speaks of a capture is known not to hold."""
        for path, name in cell.places:
            frame = self.frames.get(path)
            for guard in () if frame is None else guards.conditions(_guards(frame)):
                here = cast(Frame, frame)
                asked = f"${name}" in guard.span.text and not self._binds(guard, here)
                if asked and guards.broken(guard, self.lookup(here), self.known):
                    return True
        return False

    def check(self) -> None:
        """Raises Rejected where a guard is known not to hold."""
        for frame in self.frames.values():
            lookup = self.lookup(frame)
            for guard in guards.conditions(_guards(frame)):
                if self._binds(guard, frame):
                    continue
                if guards.broken(guard, lookup, self.known):
                    raise Rejected(f"`{guard.span.text}` does not hold")

    def _binds(self, guard: Expr, frame: Frame) -> bool:
        """Whether a guard says what an open capture is."""
        if not isinstance(guard, rules.Infix) or guard.operator != "==":
            return False
        return any(
            isinstance(one, rules.Capture) and self.cell(frame.path, one.name).value is None
            for one in (guard.left, guard.right)
        )


def _guards(frame: Frame) -> tuple[Expr, ...]:
    return frame.owner.guards


__all__ = ["Cell", "Scopes"]
