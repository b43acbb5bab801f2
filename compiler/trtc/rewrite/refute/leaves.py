"""The leaves of an instance: what the rule takes from outside, with shapes, dtypes and numbers."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.lang import rules, syntax
from trtc.lang.rules import Rule
from trtc.rewrite.constants import DTYPES
from trtc.rewrite.refute import data, shapes
from trtc.rewrite.refute.guards import conditions
from trtc.rewrite.refute.instance import Writer
from trtc.rewrite.refute.scope import Scopes
from trtc.rewrite.refute.shapes import Shape
from trtc.rewrite.refute.survey import Leaf, Survey, general
from trtc.rewrite.refute.tape import Rejected, Tape

#: What numbers do not exceed in a rule that assumes them to be moderate: what activations and weights are.
_MODERATE = 4.0
_CHANNELS = frozenset({"BatchNormalization", "InstanceNormalization", "GroupNormalization"})


class Leaves:
    """Plans and makes leaves. A leaf that neither a test nor a type gives a shape is made to fit its first use."""

    def __init__(self, writer: Writer, rule: Rule, survey: Survey, tape: Tape, scopes: Scopes) -> None:
        self.writer = writer
        self.rule = rule
        self.survey = survey
        self.tape = tape
        self.scopes = scopes
        self.made: dict[str, oir.Value | None] = {}
        self.numbers = _around(survey.literals)
        self._shapes: dict[str, Shape] = {}
        self._dtypes: dict[str, oir.DataType] = {}
        self._const: set[str] = set()
        self._context: tuple[str, str, int, list[Shape | None], Mapping[str, Any]] | None = None
        instance = writer.instance
        self._special = instance.special
        self._divides = not data.DIVIDERS.isdisjoint(survey.names)

    # ---- what is known before anything is made

    def plan(self, path: str, members: int = 0) -> None:
        """Shapes by the test block, then by the types."""
        keys = self._keys(members)
        if self.rule.tests:
            self._by_test(keys, members)
        for key, leaf in keys.items():
            if key in self._shapes:
                for constraint in leaf.constraints:
                    where = _at(key, constraint.path)
                    self.scopes.dims.unify(
                        where, constraint.type, self._shapes[key], constraint.owner.environment.params
                    )
                    self._share(where, members)
        for key, leaf in sorted(keys.items(), key=lambda item: self._unknown(item[1])):
            if key not in self._shapes:
                self._by_type(key, leaf)
                self._share("", members)

    @property
    def base(self) -> oir.DataType:
        """What most floats of the instance are: that of its test, if there is one."""
        floats = (dtype for dtype in self._dtypes.values() if dtype.is_floating_point())
        return next(floats, self.writer.instance.base)

    def _share(self, path: str, members: int) -> None:
        if path == "":
            for k in range(members):
                self.scopes.inherit("", f"#{k}")

    def _keys(self, members: int) -> dict[str, Leaf]:
        """Leaves by key: those of a member once for each."""
        if not isinstance(self.rule, rules.Horizontal):
            return self.survey.leaves
        over = f":{self.rule.over.name.text}"
        found = {over: self.survey.leaves[over]}
        for k in range(members):
            found.update({f"#{k}{key}": leaf for key, leaf in self.survey.leaves.items() if key != over})
        return found

    def _by_test(self, keys: Mapping[str, Leaf], members: int) -> None:
        test = self.tape.pick("test", self.rule.tests)
        types: dict[str, rules.Type] = {}
        tensors = {tensor.name: tensor.types for tensor in test.tensors}
        for key, leaf in keys.items():
            given = tensors.get(leaf.name)
            if given:
                member = int(key[1 : key.index(":")].split("/")[0]) if key.startswith("#") else 0
                types[key] = given[member % len(given)]
        numbers = {key: [_size(d) for d in t.dims or ()] for key, t in types.items()}
        changed = shapes.varied([n for one in numbers.values() for n in one], self.tape)
        if any(prod(changed[n] for n in one) > shapes.MAX_ELEMENTS for one in numbers.values()):
            changed = {n: n for n in changed}
        for key, type_ in types.items():
            if type_.dims is not None:
                self._shapes[key] = tuple(changed[n] for n in numbers[key])
            if type_.const:
                self._const.add(key)
            if type_.dtype is not None:
                self._dtypes[key] = self._dtype(type_.dtype, key)

    def _by_type(self, key: str, leaf: Leaf) -> None:
        for constraint in leaf.constraints:
            items = constraint.type.dims
            if items is None:
                continue
            where = _at(key, constraint.path)
            params = constraint.owner.environment.params
            if key in self._shapes:
                self.scopes.dims.unify(where, constraint.type, self._shapes[key], params)
            else:
                self._shapes[key] = self.scopes.dims.make(where, items, params, self.tape, f"shape{key}")

    def _unknown(self, leaf: Leaf) -> int:
        return sum(isinstance(d, syntax.Binary) for c in leaf.constraints for d in c.type.dims or ())

    def _dtype(self, word: str, key: str) -> oir.DataType:
        """The dtype of a word: `float` is what is being tested, and so is f32 unless the rule insists."""
        base = self.writer.instance.base
        if word == "float":
            return base
        if word == "int":
            return self.tape.pick(f"int{key}", (oir.DataType.INT64, oir.DataType.INT32))
        return base if word == "f32" else DTYPES[word]

    # ---- making them

    def present(self, key: str) -> bool:
        leaf = self._leaf(key)
        return leaf is None or not leaf.optional or self.tape.draw(f"leaf{key}", 2) == 0

    def decided(self, key: str) -> bool:
        """Whether the shape of a leaf is known, or that it is absent."""
        return key in self._shapes or key in self.made or not self.present(key)

    def _leaf(self, key: str) -> Leaf | None:
        return self.survey.leaves.get(general(key))

    def context(
        self,
        op: str,
        name: str,
        at: int,
        values: Sequence[oir.Value | None],
        writer: Writer,
        attributes: Mapping[str, Any],
    ) -> None:
        """The operator for which the next leaf is made."""
        self._context = (op, name, at, [None if v is None else writer.shape(v) for v in values], attributes)

    def value(self, key: str, role: tuple[str, int], like: Any) -> oir.Value | None:
        """A leaf; None where it is absent."""
        if key in self.made:
            return self.made[key]
        context, self._context = self._context, None
        if not self.present(key):
            self.made[key] = None
            return None
        leaf = self._leaf(key) or Leaf(key.rpartition(":")[2])
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._fit(key, context, like)
        dtype = self._chosen_dtype(key, leaf, like)
        const = leaf.const or key in self._const or (dtype.is_floating_point() and self._unasked_const(key, leaf))
        special = self._special and not const and dtype.is_floating_point()
        array = data.sample(self.tape, f"data{key}", dtype, shape, role, special=special, divides=self._divides)
        # In half precision a score of 200 is off by 0.1, and what its softmax gives by a tenth: noise on either side.
        noisy = dtype == oir.DataType.FLOAT16 and "Softmax" in self.survey.names and not special
        if dtype.is_floating_point() and (noisy or "moderate" in getattr(self.rule, "assumes", ())):
            array = np.clip(array, -_MODERATE, _MODERATE).astype(array.dtype)
        array = self._asked(key, leaf, array)
        hint = leaf.name if leaf.name != "_" else "any"
        value = self.writer.constant(hint, array) if const else self.writer.input(hint, array)
        self.made[key] = value
        for constraint in leaf.constraints:
            where = _at(key, constraint.path)
            self.scopes.dims.unify(where, constraint.type, shape, constraint.owner.environment.params)
        return value

    def _asked(self, key: str, leaf: Leaf, array: data.Array) -> data.Array:
        """Numbers for which the guards that look at them hold, mostly."""
        for guard in conditions(self.rule.guards):
            if isinstance(guard, rules.Apply) and guard.inputs and guard.callee in data.SHAPED:
                first = guard.inputs[0]
                if isinstance(first, rules.Value) and first.name == leaf.name and self.tape.draw(f"asked{key}", 8) < 7:
                    return data.SHAPED[guard.callee](array)
        return array

    def put(self, key: str, value: oir.Value) -> oir.Value:
        """A leaf that its operator made."""
        self.made[key] = value
        return value

    def _unasked_const(self, key: str, leaf: Leaf) -> bool:
        """A leaf of any kind is a constant now and then."""
        del leaf
        return not isinstance(self.rule, rules.Horizontal) and self.tape.draw(f"const{key}", 24) == 23

    def _chosen_dtype(self, key: str, leaf: Leaf, like: Any) -> oir.DataType:
        for constraint in leaf.constraints:
            word = constraint.type.dtype
            if word is not None:
                if word in DTYPES:
                    return DTYPES[word]
                return self._dtypes.get(key) or self._dtype(word, key)
        if key in self._dtypes:
            return self._dtypes[key]
        return like[0] if like is not None else self.writer.instance.base

    def _fit(self, key: str, context: Any, like: Any) -> Shape:
        label = f"shape{key}"
        if context is not None:
            op, name, at, known, attributes = context
            found = _of_operator(op, name, at, known, attributes, self.tape, label)
            if found is not None:
                return found
        other: Shape | None = like[1] if like is not None else None
        if other is None:
            rank = 1 + self.tape.draw(f"{label}/rank", 4)
            return tuple(self.tape.pick(f"{label}/{k}", (1, 2, 3, 4), (1, 3, 3, 3)) for k in range(rank))
        options: list[Shape] = [other, (), other[-1:]]
        if len(other) > 1:
            options += [(1,) * (len(other) - 1) + other[-1:], other[1:], (1,) * len(other)]
        if len(other) > 2:
            options += [(other[1],) + (1,) * (len(other) - 2), (1, other[1]) + (1,) * (len(other) - 2)]
        return self.tape.pick(label, options)


def _of_operator(
    op: str, name: str, at: int, known: Sequence[Shape | None], attributes: Mapping[str, Any], tape: Tape, label: str
) -> Shape | None:
    x = known[0] if known else None
    if x is None:
        return None
    weight = known[1] if len(known) > 1 else None
    if op in _CHANNELS and at > 0 and len(x) > 1:
        return (x[1],)
    if op in ("LayerNormalization", "RMSNormalization") and at > 0:
        axis = attributes.get("axis", -1)
        return x[axis:] if axis < 0 else x[axis % max(len(x), 1) :]
    if op == "Conv" and at == 2 and weight is not None:
        return weight[:1]
    if op == "ConvTranspose" and at == 2 and weight is not None:
        return (weight[1] * attributes.get("group", 1),)
    if op in ("Conv", "ConvTranspose") and at == 1 and len(x) > 2:
        out = tape.pick(f"{label}/out", (1, 2, 3, 4))
        kernel = tuple(tape.pick(f"{label}/k{k}", (1, 2, 3)) for k in range(len(x) - 2))
        return (out, x[1], *kernel) if op == "Conv" else (x[1], out, *kernel)
    if op == "MatMul" and at == 1 and x:
        return (x[-1], tape.pick(f"{label}/n", (1, 2, 3, 4)))
    if op == "Gemm" and at == 1 and len(x) == 2:
        width = x[0] if attributes.get("transA") else x[1]
        out = tape.pick(f"{label}/n", (1, 2, 3, 4))
        return (out, width) if attributes.get("transB") else (width, out)
    if op == "Gather" and name == "indices":
        return tape.pick(label, ((), (1,), (2,)))
    if op in ("Clip", "Dropout", "CumSum") or name in ("constant_value", "k", "depth"):
        return ()
    return None


def _size(dim: Any) -> int:
    if isinstance(dim, syntax.Number) and isinstance(dim.value, int):
        return dim.value
    raise Rejected("a test has a dim that is no number")


def _at(key: str, path: str) -> str:
    """The scope of a constraint, in the member that a leaf belongs to."""
    return key.split(":", 1)[0].partition("/")[0] + path if key.startswith("#") else path


def _around(literals: Sequence[float]) -> list[float]:
    """Numbers at, below and above those that guards speak of."""
    found: dict[float, None] = {}
    for number in literals:
        for factor in (1.0, 0.5, 2.0, 0.1):
            found[number * factor] = None
    return list(found)[:32]


__all__ = ["Leaves"]
