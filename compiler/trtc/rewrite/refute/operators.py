"""One operator of a pattern: its operands in order, its attributes, and the constants among its inputs."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import onnx_ir as oir

from trtc.lang import rules
from trtc.lang.rules import Expr
from trtc.lang.syntax import AnyDims
from trtc.rewrite.constants import DTYPES, INTEGERS
from trtc.rewrite.operators import Schema, schema
from trtc.rewrite.refute import guards, views
from trtc.rewrite.refute.attributes import Sampler
from trtc.rewrite.refute.instance import TYPE_NAMES
from trtc.rewrite.refute.shapes import Shape
from trtc.rewrite.refute.survey import COMMUTATIVE, Frame, leaf_key, place, source
from trtc.rewrite.refute.tape import Rejected

if TYPE_CHECKING:
    from trtc.rewrite.refute.sketch import Sketch

_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
#: Inputs that are lists even where one number is written.
_LISTS = frozenset({"axes", "pads", "starts", "ends", "steps", "shape", "split", "repeats", "sizes", "scales"})


class Operators:
    """Makes the operators of one instance."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self._perms: list[tuple[int, ...]] = []
        self._lists: dict[str, tuple[Any, ...]] = {}
        """Lists among the inputs of the operator at work, by name: those of a Slice must be of equal length."""
        self._outputs = 1
        self._span: Any = None

    def _weak(self, frame: Frame, expr: Expr) -> bool:
        """Whether an operand takes its dtype or shape from the others."""
        if isinstance(expr, rules.Prefix):
            return isinstance(expr.operand, rules.Literal_ | rules.Approximate)
        if isinstance(expr, rules.Literal_ | rules.Approximate | rules.Capture | rules.Items):
            return True
        if isinstance(expr, rules.Typed):
            return isinstance(expr.operand, rules.Value) and self._weak(frame, expr.operand)
        if isinstance(expr, rules.Apply) and expr.callee == "either":
            at = self.sketch.tape.draw(place(f"either{frame.path}", expr.span), len(expr.inputs))
            return self._weak(frame, expr.inputs[at])
        return isinstance(expr, rules.Value) and self.sketch.is_open(frame, expr.name)

    def make(
        self,
        frame: Frame,
        op: str,
        operands: list[Expr],
        given: Sequence[rules.Given],
        rest: bool,
        span: Any,
        outputs: int,
        domain: str = "",
    ) -> list[oir.Value]:
        known = schema(op, domain)
        slots: list[Expr | None] = list(operands)
        if op in COMMUTATIVE and len(slots) == 2 and self.sketch.tape.draw(place(f"order{frame.path}", span), 2):
            slots.reverse()
        attributes: list[rules.Given] = []
        for one in given:
            if known is not None and one.name.text in known.attributes:
                attributes.append(one)
            elif known is not None and one.name.text in known.inputs:
                at = known.inputs.index(one.name.text)
                slots += [None] * (at + 1 - len(slots))
                slots[at] = one.value
            else:
                attributes.append(one)
        values: list[oir.Value | None] = [None] * len(slots)
        weak = [at for at, slot in enumerate(slots) if slot is not None and self._weak(frame, slot)]
        if len(weak) == len(slots) and slots and isinstance(slots[0], rules.Value | rules.Typed):
            weak = weak[1:]
        for at, slot in enumerate(slots):
            if slot is not None and at not in weak:
                values[at] = self.sketch.expr(frame, slot, (op, at))
        label = place(f"{op}{frame.path}", span)
        chosen: dict[str, Any] = {}
        sampler = self._sampler(op, values, chosen)
        if known is not None:
            self._attributes(frame, known, attributes, rest, sampler, chosen, label)
        outer, self._lists, self._outputs = self._lists, {}, outputs
        self._span = span
        for at in self._listed(known, slots, weak):
            expr = slots[at]
            assert expr is not None
            values[at] = self._slot(frame, op, known, at, expr, values, chosen, f"{label}/{at}")
        self._lists = outer
        if op == "Split" and not any(v is not None for v in values[1:]):
            chosen.setdefault("num_outputs", outputs)
        if op == "Reshape" and len(slots) == 1:
            raise Rejected("a Reshape without its shape")
        if op in _VIEWS and not domain and values[0] is not None and self.sketch.tape.draw(f"{label}/as", 5) == 4:
            (made,) = self.sketch.writer.node(op, values, chosen)
            return [self._instead(values[0], made, label)]
        return self.sketch.writer.node(op, values, chosen, outputs=outputs, domain=domain)

    def _instead(self, value: oir.Value, made: oir.Value, label: str) -> oir.Value:
        """Another operator that brings `value` to the shape of `made`."""
        result = self.sketch.writer.shape(made)
        del self.sketch.instance.nodes[-1]
        return self.sketch.view(value, result, f"{label}/as", empty=False)

    def _sampler(self, op: str, values: Sequence[oir.Value | None], known: Mapping[str, Any]) -> Sampler:
        shapes = [None if v is None else self.sketch.writer.shape(v) for v in values]
        sampler = Sampler(self.sketch.tape, op, shapes, known, self.sketch.leaves.numbers)
        sampler.perms = self._perms
        sampler.base = self.sketch.leaves.base
        return sampler

    # ---- attributes and constant inputs

    def _attributes(
        self,
        frame: Frame,
        known: Schema,
        given: Sequence[rules.Given],
        rest: bool,
        sampler: Sampler,
        chosen: dict[str, Any],
        label: str,
    ) -> None:
        order = ("kernel_shape", "group", "strides", "dilations", "pads", "output_padding")
        wanted = {one.name.text: one.value for one in given}
        names = sorted(known.attributes, key=lambda n: order.index(n) if n in order else len(order))
        for name in names:
            expr = wanted.get(name)
            if expr is None and name == "num_outputs":
                continue  # it repeats how many outputs there are, and may not stand beside `split`
            if expr is not None:
                value = self._attribute(frame, known, name, expr, sampler, f"{label}/{name}")
            elif name in known.required or (rest and self.sketch.tape.draw(f"{label}/{name}/set", 2)):
                try:
                    value = self._free(known, name, sampler, f"{label}/{name}")
                except Rejected:
                    if name in known.required and name != "kernel_shape":
                        raise
                    continue
            else:
                continue
            if name == "perm" and isinstance(value, tuple):
                self._perms.append(value)
            chosen[name] = value

    def _attribute(self, frame: Frame, known: Schema, name: str, expr: Expr, sampler: Sampler, label: str) -> Any:
        kind = known.attributes[name]
        value: Any
        if isinstance(expr, rules.Capture):
            value = self.sketch.capture(frame, expr, lambda: self._free(known, name, sampler, label))
        elif isinstance(expr, rules.Value) and expr.name in DTYPES:
            value = int(DTYPES[expr.name])
        elif isinstance(expr, rules.Value) and expr.name == "_":
            value = self._free(known, name, sampler, label)
        elif isinstance(expr, rules.Items):
            value = self._items(frame, expr, name, sampler, label)
        else:
            try:
                value = guards.evaluate(expr, self.sketch.scopes.lookup(frame), self.sketch.scopes.known)
            except guards.Unknown as error:
                raise Rejected(f"`{name}` is not known: {error}") from None
        if kind == int(oir.AttributeType.FLOAT):
            return float(value)
        if kind == int(oir.AttributeType.INTS) and isinstance(value, int):
            return (value,)
        return int(value) if kind == int(oir.AttributeType.INT) else value

    def _free(self, known: Schema, name: str, sampler: Sampler, label: str) -> Any:
        kind = oir.AttributeType(known.attributes[name])
        if kind == oir.AttributeType.FLOAT:
            default = known.defaults.get(name)
            if default is not None and self.sketch.tape.draw(f"{label}/default", 3) == 0:
                return default
            value = sampler.number(label)
            return abs(value) if name == "epsilon" else value
        if kind == oir.AttributeType.INT:
            return sampler.integer(label, name)
        if kind == oir.AttributeType.INTS:
            return sampler.integers(label, name)
        if kind == oir.AttributeType.STRING:
            return sampler.text(label, name)
        raise Rejected(f"no value is known for `{name}`")

    def _items(self, frame: Frame, expr: rules.Items, name: str, sampler: Sampler, label: str) -> tuple[Any, ...]:
        """The elements of a list; those that are open are sampled together, so that they fit each other."""
        whole: tuple[Any, ...] | None = None
        made: list[Any] = []
        for at, item in enumerate(expr.items):
            try:
                if isinstance(item, rules.Capture):
                    if self.sketch.scopes.cell(frame.path, item.name).value is None:
                        whole = whole or sampler.integers(label, name, len(expr.items))
                    part = whole[at] if whole is not None and at < len(whole) else None
                    made.append(
                        self.sketch.capture(
                            frame,
                            item,
                            lambda part=part, at=at: (
                                part if part is not None else sampler.integer(f"{label}/{at}", name)
                            ),
                        )
                    )
                elif isinstance(item, rules.Value) and item.name == "_":
                    if name == "ends" and self.sketch.tape.draw(f"{label}/{at}/end", 12) < 11:
                        made.append(self.sketch.tape.pick(f"{label}/{at}", (2**31 - 1, 2**63 - 1)))
                        continue
                    whole = whole or sampler.integers(label, name, len(expr.items))
                    made.append(whole[at])
                elif isinstance(item, AnyDims):
                    raise Rejected("`...` in a list")
                else:
                    made.append(self._item(frame, item, name, sampler, expr, at, label))
            except IndexError:
                raise Rejected("a list is too short") from None
        return tuple(made)

    def _item(
        self, frame: Frame, item: Expr, name: str, sampler: Sampler, expr: rules.Items, at: int, label: str
    ) -> Any:
        try:
            return guards.evaluate(item, self.sketch.scopes.lookup(frame), self.sketch.scopes.known)
        except guards.Unknown:
            if name in ("starts", "ends") and sampler.x:
                # A dim with a name: somewhere in the middle, so that something is left.
                axes = sampler.known.get("axes") or (-1,)
                self.sketch.scopes.solve(frame)
                known = self.sketch.scopes.dims.number(frame.path, item, self.sketch.scopes.params(frame))
                if known is not None:
                    return known
                whole = sampler.x[axes[0]] if -len(sampler.x) <= axes[0] < len(sampler.x) else sampler.x[-1]
                size = self.sketch.tape.pick(
                    f"{label}/{at}", (max(whole // 2, 1), max(whole // 3, 1), max(whole - 1, 1))
                )
                self.sketch.scopes.dims.bind(frame.path, item, size, self.sketch.scopes.params(frame))
                return size
            if sampler.op == "Expand" and isinstance(item, rules.Value):
                size = self.sketch.times(item.name)
            else:
                size = sampler.integers(label, name, len(expr.items))[at]
            self.sketch.scopes.dims.bind(frame.path, item, size, self.sketch.scopes.params(frame))
            return size

    def _listed(self, known: Schema | None, slots: Sequence[Expr | None], weak: list[int]) -> list[int]:
        """Weak slots in the order in which they are made: of Slice, the axes first."""
        if known is None or "axes" not in known.inputs:
            return weak
        axes = known.inputs.index("axes")
        return sorted(weak, key=lambda at: at != axes)

    def _slot(
        self,
        frame: Frame,
        op: str,
        known: Schema | None,
        at: int,
        expr: Expr,
        values: Sequence[oir.Value | None],
        chosen: dict[str, Any],
        label: str,
    ) -> oir.Value | None:
        """An operand that takes its dtype or its shape from the others."""
        if isinstance(expr, rules.Apply) and expr.callee == "either":
            chosen_at = self.sketch.tape.draw(place(f"either{frame.path}", expr.span), len(expr.inputs))
            return self._slot(frame, op, known, at, expr.inputs[chosen_at], values, chosen, label)
        name, dtype = self._wants(known, at, values)
        sampler = self._sampler(op, values, {**chosen, **self._lists})
        sampler.outputs = self._outputs
        if dtype in INTEGERS and name in _LISTS:
            if isinstance(expr, rules.Capture | rules.Items | rules.Literal_):
                return self._list(frame, op, expr, name, dtype, values, sampler, label)
            if isinstance(expr, rules.Value) and expr.type is None:
                return self._leaf(frame, op, expr, name, dtype, values, sampler, label)
        if dtype in INTEGERS and isinstance(expr, rules.Items):
            items = self._items(frame, expr, name, sampler, label)
            return self.sketch.writer.constant(name, np.array(items, dtype.numpy()))
        shape = self._broadcast(values)
        if isinstance(expr, rules.Value | rules.Typed):
            self.sketch.leaves.context(op, name, at, values, self.sketch.writer, chosen)
        return self.sketch.expr(frame, expr, (op, at), (dtype, shape))

    def _list(
        self,
        frame: Frame,
        op: str,
        expr: Expr,
        name: str,
        dtype: oir.DataType,
        values: Sequence[oir.Value | None],
        sampler: Sampler,
        label: str,
    ) -> oir.Value:
        items: Any
        if op == "Reshape" and values[0] is not None and not isinstance(expr, rules.Literal_):
            shape = self.sketch.writer.shape(values[0])
            if isinstance(expr, rules.Items):
                items = self.sketch.stated(frame, expr.items, values[0], label)
            else:
                capture = cast(rules.Capture, expr)
                items = self.sketch.capture(frame, capture, lambda: views.any_shape(self.sketch.tape, label, shape))
        elif isinstance(expr, rules.Items):
            items = self._items(frame, expr, name, sampler, label)
        elif isinstance(expr, rules.Capture):
            items = self.sketch.capture(frame, expr, lambda: sampler.integers(label, name))
        else:
            items = (cast(rules.Literal_, expr).value,)
        if not isinstance(items, tuple):
            items = (items,)
        self._lists[name] = items
        return self.sketch.writer.constant(name, np.array(items, dtype.numpy()))

    def _leaf(
        self,
        frame: Frame,
        op: str,
        expr: rules.Value,
        name: str,
        dtype: oir.DataType,
        values: Sequence[oir.Value | None],
        sampler: Sampler,
        label: str,
    ) -> oir.Value | None:
        """A list that the rule takes as it comes: `_`, or a name."""
        home, found, other = source(frame, expr.name)
        key = leaf_key(home, expr, found)
        leaves = self.sketch.leaves
        if other is not None or found in home.equations or key in leaves.made or not leaves.present(key):
            return self.sketch.expr(frame, expr, (op, 1), (dtype, ()))
        said = self.sketch.said_shape()
        x = sampler.shapes[0] if sampler.shapes else None
        items: tuple[int, ...]
        widened = None if x is None else self.sketch.widened(frame, self._span, x)
        if widened is not None and x is not None and self.sketch.tape.draw(f"{label}/stated", 8) < 7:
            items = widened if op == "Expand" else tuple(d // s for s, d in zip(x, widened, strict=True))
        elif op in ("Reshape", "Expand") and said is not None and self.sketch.tape.draw(f"{label}/said", 4):
            items = said
        elif op == "Reshape" and x is not None:
            items = views.any_shape(self.sketch.tape, label, x)
        else:
            items = sampler.integers(label, name)
        self._lists[name] = items
        return leaves.put(key, self.sketch.writer.constant(name, np.array(items, dtype.numpy())))

    def _wants(self, known: Schema | None, at: int, values: Sequence[oir.Value | None]) -> tuple[str, oir.DataType]:
        """The name and the dtype of an input, as the others decide."""
        base = self.sketch.instance.base
        if known is None or not known.types:
            return "", base
        index = min(at, len(known.types) - 1)
        name, kind = known.inputs[index], known.types[index]
        allowed = known.constraints.get(kind)
        if allowed is None:
            return name, next((d for d, text in TYPE_NAMES.items() if text == kind), base)
        for other, value in enumerate(values):
            if value is not None and known.types[min(other, len(known.types) - 1)] == kind:
                return name, self.sketch.writer.dtype(value)
        if TYPE_NAMES[base] in allowed:
            return name, base
        return name, oir.DataType.INT64 if "tensor(int64)" in allowed else base

    def _broadcast(self, values: Sequence[oir.Value | None]) -> Shape:
        shapes = [self.sketch.writer.shape(v) for v in values if v is not None]
        return max(shapes, key=lambda s: (len(s), prod(s)), default=())


__all__ = ["Operators"]
