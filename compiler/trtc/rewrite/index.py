"""Where a rule may match: nodes grouped by what they look like, so that most rules are settled once for a whole group.

What a node looks like is its operator and, some steps upward, what makes its inputs. A graph of repeated layers has
few different looks, whatever its size; a rule is held against each look once, not against each node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import onnx_ir as oir

from trtc.ir.module import Module
from trtc.ir.nesting import walk
from trtc.rewrite import program as p
from trtc.rewrite.constants import Constants
from trtc.rewrite.operators import VIEWS

#: How many steps upward a look goes.
DEPTH: Final = 4
#: Inputs of a node that a look knows; those of a large Concat are left open.
_WIDTH: Final = 6

Look: TypeAlias = int
"""An interned look; the table of the index says what it is."""

_OPEN: Final = ("?",)
_NONE: Final = ("none",)
_CONSTANT: Final = ("constant",)


@dataclass(slots=True)
class Index:
    """The nodes of a module by operator and look."""

    module: Module
    constants: Constants
    groups: dict[tuple[str, str], dict[Look, list[oir.Node]]] = field(init=False)
    depth: dict[oir.Node, int] = field(init=False)
    """The longest way from an input: an order that does not depend on that of the nodes in the file."""
    _ids: dict[Any, Look] = field(init=False)
    _keys: list[Any] = field(init=False)
    _levels: list[dict[oir.Node, Look]] = field(init=False)
    _leaves: dict[oir.Value, Look] = field(init=False)
    _fits: dict[int, dict[Look, bool]] = field(init=False)
    _known: set[oir.Node] = field(init=False)

    def __post_init__(self) -> None:
        self.groups, self.depth, self._ids, self._keys, self._leaves, self._fits = {}, {}, {}, [], {}, {}
        nodes = list(walk(self.module.graph))
        self._known = set(nodes)
        depth = self.depth
        for node in nodes:
            deepest = 0
            for value in node.inputs:
                source = value.producer() if value is not None else None
                if source is not None:
                    deepest = max(deepest, depth.get(source, 0) + 1)
            depth[node] = deepest
        self._levels = [{node: self._intern((node.domain, node.op_type, None)) for node in nodes}]
        for level in range(1, DEPTH + 1):
            below = self._levels[level - 1]
            self._levels.append({node: self._look(node, below) for node in nodes})
        top = self._levels[DEPTH]
        for node in nodes:
            self.groups.setdefault((node.domain, node.op_type), {}).setdefault(top[node], []).append(node)

    def renew(self, values: Iterable[oir.Value]) -> None:
        """What stands behind these values is new: whatever uses them, some steps down, looks different now."""
        touched: dict[oir.Node, None] = {}
        front = list(values)
        for node in (value.producer() for value in front):
            if node is not None:
                touched[node] = None
        for _ in range(DEPTH):
            users = {use.node: None for value in front for use in value.uses() if use.node not in touched}
            touched.update(users)
            front = [out for node in users for out in node.outputs]
        for level in self._levels[1:]:
            for node in touched:
                level.pop(node, None)
        for node in touched:
            if node in self._known:
                look = self._of_node(node, DEPTH)
                self.groups[node.domain, node.op_type].setdefault(look, []).append(node)

    def candidates(self, target: p.Var, roots: frozenset[tuple[str, str]] | None) -> list[oir.Node]:
        """Nodes that may be the root of a match, in an order that does not depend on that of the nodes in the file."""
        fits = self._fits.setdefault(id(target), {})
        found: dict[oir.Node, None] = {}
        for key in roots if roots is not None else self.groups:
            for look, nodes in self.groups.get(key, {}).items():
                fit = fits.get(look)
                if fit is None:
                    fit = fits[look] = self._may(target, look, set())
                if fit:
                    found.update(dict.fromkeys(nodes))
        order = self.depth
        return sorted(found, key=lambda n: (order[n], n.outputs[0].name or "" if n.outputs else ""))

    # ---- looks

    def _intern(self, key: Any) -> Look:
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self._keys)
            self._keys.append(key)
        return found

    def _look(self, node: oir.Node, below: dict[oir.Node, Look]) -> Look:
        inputs = tuple(self._input(value, below) for value in node.inputs[:_WIDTH])
        return self._intern((node.domain, node.op_type, inputs))

    def _input(self, value: oir.Value | None, below: dict[oir.Node, Look]) -> Look:
        if value is None:
            return self._intern(_NONE)
        source = value.producer()
        if source is not None:
            found = below.get(source)
            return self._intern(_OPEN) if found is None else found
        return self._leaf(value)

    def _leaf(self, value: oir.Value) -> Look:
        found = self._leaves.get(value)
        if found is None:
            if not self.constants.is_constant(value):
                key: Any = _OPEN
            else:
                size = value.const_value.size if value.const_value is not None else 0
                number = self.constants.uniform(value) if size == 1 else None
                key = _CONSTANT if number is None else ("number", number)
            found = self._leaves[value] = self._intern(key)
        return found

    def _of_node(self, node: oir.Node, level: int) -> Look:
        """The look of a node at a level, made anew as far as it is not there."""
        known = self._levels[level].get(node)
        if known is not None:
            return known
        if level == 0:
            found = self._intern((node.domain, node.op_type, None))
        else:
            inputs: list[Look] = []
            for value in node.inputs[:_WIDTH]:
                source = value.producer() if value is not None else None
                if source is not None:
                    inputs.append(self._of_node(source, level - 1))
                else:
                    inputs.append(self._input(value, {}))
            found = self._intern((node.domain, node.op_type, tuple(inputs)))
        self._levels[level][node] = found
        return found

    # ---- a pattern against a look

    def _may(self, node: p.Node | None, look: Look, open_: set[int]) -> bool:
        """Whether a value of this look may match; True wherever the look does not tell."""
        key = self._keys[look]
        if key is _OPEN or key == _OPEN or node is None:
            return True
        if isinstance(node, p.Var):
            if node.definition is None or node.slot in open_:
                return key != _NONE
            return self._may(node.definition, look, open_ | {node.slot})
        if isinstance(node, p.OptionalInput):
            return key == _NONE or self._may(node.inner, look, open_)
        if key == _NONE:
            return False
        if isinstance(node, p.TypedNode):
            if node.type.const and len(key) == 3 and key[1] != "Constant":
                return False
            return self._may(node.inner, look, open_)
        if isinstance(node, p.Guarded):
            return self._may(node.inner, look, open_)
        if isinstance(node, p.Either):
            return any(self._may(one, look, open_) for one, _ in node.alternatives)
        if isinstance(node, p.View):
            return self._view(node, look, open_)
        if isinstance(node, p.Number):
            return _number(node, key)
        if isinstance(node, p.Captured):
            return node.whole or len(key) != 3 or key[1] == "Constant"
        if isinstance(node, p.Output):
            node = node.op
        return self._op(node, key, open_) if isinstance(node, p.Op) else True

    def _op(self, node: p.Op, key: Any, open_: set[int]) -> bool:
        if len(key) != 3 or key[1] != node.op_type or key[0] != node.domain:
            return False
        inputs = key[2]
        if inputs is None:
            return True
        if node.commutative and len(inputs) == 2:
            return self._all(node.inputs, inputs, open_) or self._all(node.inputs[::-1], inputs, open_)
        return self._all(node.inputs, inputs, open_)

    def _all(self, wanted: tuple[p.Node | None, ...], looks: tuple[Look, ...], open_: set[int]) -> bool:
        return all(self._may(one, look, open_) for one, look in zip(wanted, looks, strict=False))

    def _view(self, node: p.View, look: Look, open_: set[int]) -> bool:
        while True:
            if self._may(node.inner, look, open_):
                return True
            key = self._keys[look]
            if len(key) != 3 or key[0] or key[1] not in VIEWS:
                return False
            if not key[2]:
                return True
            look = key[2][0]
            if self._keys[look] == _OPEN:
                return True


def _number(node: p.Number, key: Any) -> bool:
    if key[0] == "number" and len(key) == 2:
        found = key[1]
        if isinstance(found, bool) or isinstance(node.value, bool):
            return found == node.value
        # Rounding to a narrow dtype is left to the matcher.
        tolerance = max(1e-2, node.tolerance or 0.0)
        return found == node.value or abs(found - node.value) <= tolerance * max(abs(found), abs(node.value))
    return key == _CONSTANT or (len(key) == 3 and key[1] == "Constant")


__all__ = ["DEPTH", "Index", "Look"]
