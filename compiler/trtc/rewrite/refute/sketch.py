"""A rule's pattern made into a piece of graph: choices by the tape, shapes by the types, constants by the numbers."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np
import onnx_ir as oir

from trtc.ir.module import Module
from trtc.lang import rules
from trtc.lang.rules import Expr, Horizontal, Rule
from trtc.lang.syntax import AnyDims
from trtc.rewrite.constants import DTYPES, INTEGERS
from trtc.rewrite.operators import Schema, schema
from trtc.rewrite.refute import guards, views
from trtc.rewrite.refute.attributes import Sampler
from trtc.rewrite.refute.instance import TYPE_NAMES, Instance, Writer
from trtc.rewrite.refute.leaves import Leaves
from trtc.rewrite.refute.scope import Cell, Scopes
from trtc.rewrite.refute.shapes import Shape
from trtc.rewrite.refute.survey import COMMUTATIVE, INFIX, Frame, Survey, called, frame_of, optional_leaf, place, source
from trtc.rewrite.refute.survey import leaf_key as key_of
from trtc.rewrite.refute.tape import Rejected, Tape

_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
#: Operators in which a scalar may as well be a filled tensor of any shape that broadcasts.
ELEMENTWISE = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Where", "Mod", "And", "Or", "Xor", "Equal", "Less", "Sum"}
    | {"Greater", "LessOrEqual", "GreaterOrEqual", "Mean", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "PRelu"}
)
#: Inputs that are lists even where one number is written.
_LISTS = frozenset({"axes", "pads", "starts", "ends", "steps", "shape", "split", "repeats", "sizes", "scales"})


class Sketch:
    """Makes one instance. Raises Rejected where the decisions lead to none."""

    def __init__(self, module: Module, rule: Rule, survey: Survey, tape: Tape, instance: Instance) -> None:
        self.rule = rule
        self.tape = tape
        self.instance = instance
        self.writer = Writer(module, instance)
        self.scopes = Scopes(module)
        self.leaves = Leaves(self.writer, rule, survey, tape, self.scopes)
        self._made: dict[tuple[str, int], list[oir.Value | None]] = {}
        self._perms: list[tuple[int, ...]] = []

    def make(self) -> None:
        """Everything."""
        root = frame_of("", self.rule)
        if isinstance(self.rule, Horizontal):
            self._members(self.rule, root)
        else:
            self.leaves.plan("")
            outputs: dict[oir.Value, None] = {}
            for target in self.rule.targets:
                if not target.capture:
                    value = self.named(root, target.name)
                    if value is None:
                        raise Rejected("a target is absent")
                    outputs[value] = None
            self.instance.roots = list(outputs)
            self._shared(root, outputs)
            self.instance.outputs = list(outputs)
            self.scopes.frames[""] = root
        if not self.instance.nodes or any(v.producer() is None for v in self.instance.roots):
            raise Rejected("there is nothing to match")
        self.scopes.check()
        self.instance.leaves = {key.lstrip(":").lstrip("/"): v for key, v in self.leaves.made.items() if v is not None}
        self.instance.decisions = self.tape.made

    def _members(self, rule: Horizontal, root: Frame) -> None:
        count = 2 + self.tape.draw("members", 3)
        self.leaves.plan("", count)
        shared = self.named(root, rule.over.name.text)
        assert shared is not None
        self.scopes.frames[""] = root
        for k in range(count):
            frame = frame_of(f"#{k}", rule)
            over = rules.Value(rule.over.name.text, False, None, rule.over.span)
            frame.arguments[rule.over.name.text] = (over, root)
            self.scopes.inherit("", frame.path)
            for capture in rule.same:
                self.scopes.link(frame.path, capture.name, self.scopes.cell("", capture.name))
            self.scopes.frames[frame.path] = frame
            (value,) = self.equation(frame, rule.member)
            if value is None:
                raise Rejected("a member is absent")
            self.instance.roots.append(value)
        self.instance.outputs = list(self.instance.roots)

    def _shared(self, root: Frame, outputs: dict[oir.Value, None]) -> None:
        """A value that may have users outside has one sometimes: it is an output as well."""
        for name, (equation, at) in root.equations.items():
            made = self._made.get((root.path, equation.span.start))
            if equation.shared and made and self.tape.draw(f"used{name}", 2):
                value = made[at]
                if value is not None and value.producer() is not None:
                    outputs[value] = None

    # ---- names and expressions

    def named(self, frame: Frame, name: str, span: Any = None) -> oir.Value | None:
        """The value of a name; None where it is absent."""
        value = rules.Value(name, False, None, span or frame.owner.span)
        return self.expr(frame, value)

    def expr(self, frame: Frame, expr: Expr, role: tuple[str, int] = ("", 0), like: Any = None) -> oir.Value | None:
        """The value of an expression. like: (dtype, shape) that a number or an open leaf is to fit."""
        if isinstance(expr, rules.Value):
            home, name, other = source(frame, expr.name)
            if isinstance(other, rules.Literal_ | rules.Approximate | rules.Capture):
                return self.expr(home, other, role, like)
            if other is not None:
                # An argument is one value, however often the pattern names it.
                mark = (home.path, id(other))
                if mark not in self._made:
                    self._made[mark] = [self.expr(home, other, role, like)]
                return self._made[mark][0]
            found = home.equations.get(name)
            if found is not None:
                return self.equation(home, found[0])[found[1]]
            key = key_of(home, expr, name)
            value = self.leaves.value(key, role, like)
            self.scopes.values[frame.path, expr.name] = value
            self.scopes.values[home.path, name] = value
            return value
        if isinstance(expr, rules.Literal_ | rules.Approximate):
            return self._number(expr.value, expr, role, like)
        if isinstance(expr, rules.Capture):
            return self._captured(frame, expr, role, like)
        if isinstance(expr, rules.Typed):
            return self._typed(frame, expr)
        if isinstance(expr, rules.Infix):
            op = INFIX.get(expr.operator)
            if op is None:
                raise Rejected(expr.operator)
            return self._operator(frame, op, [expr.left, expr.right], (), False, expr.span, 1)[0]
        if isinstance(expr, rules.Prefix):
            if isinstance(expr.operand, rules.Literal_ | rules.Approximate) and expr.operator == "-":
                return self._number(-cast(Any, expr.operand.value), expr.operand, role, like)
            inner = self.expr(frame, expr.operand)
            return self.writer.node("Neg" if expr.operator == "-" else "Not", [inner])[0]
        if isinstance(expr, rules.Apply):
            return self._apply(frame, expr, 1)[0]
        raise Rejected(f"no value is made of `{expr.span.text}`")

    def equation(self, frame: Frame, equation: rules.Equation) -> list[oir.Value | None]:
        """The values of the targets of an equation that are no captures."""
        mark = (frame.path, equation.span.start)
        found = self._made.get(mark)
        if found is None:
            targets = [t for t in equation.targets if not t.capture]
            if isinstance(equation.value, rules.Apply):
                found = self._apply(frame, equation.value, len(targets), equation)
            else:
                found = [self.expr(frame, equation.value)]
            self._made[mark] = found
            for target, value in zip(targets, found, strict=False):
                self.scopes.values[frame.path, target.name] = value
        return found

    def _typed(self, frame: Frame, expr: rules.Typed) -> oir.Value:
        operand = expr.operand
        type_ = expr.type
        if isinstance(operand, rules.Apply) and operand.callee == "view" and type_.dims is not None:
            value = self._required(frame, operand.inputs[0])
            label = place(f"view{frame.path}", expr.span)
            return self._view(value, self._stated(frame, type_.dims, value, label), label)
        if isinstance(operand, rules.Literal_) and type_.dims is not None:
            label = place(f"filled{frame.path}", expr.span)
            shape = self.scopes.dims.make(frame.path, type_.dims, self.scopes.params(frame), self.tape, label)
            dtype = DTYPES.get(type_.dtype or "float", self.instance.base)
            return self.writer.constant("c", np.full(shape, operand.value).astype(dtype.numpy()))
        value = self._required(frame, operand)
        self.scopes.unify(frame, type_, self.writer.shape(value))
        return value

    def _required(self, frame: Frame, expr: Expr) -> oir.Value:
        value = self.expr(frame, expr)
        if value is None:
            raise Rejected("an operand is absent")
        return value

    def _stated(self, frame: Frame, dims: Sequence[Any], value: oir.Value, label: str) -> Shape:
        """The shape that a type or a list states, of as many elements as `value` has."""
        shape = self.writer.shape(value)
        items: list[Any] = []
        rest: str | None = None
        for at, item in enumerate(dims):
            if isinstance(item, rules.Capture):
                items.append(self._dim_capture(frame, item, shape, f"{label}/{at}"))
            elif isinstance(item, rules.Literal_) and item.value == 0 and at < len(shape):
                items.append(rules.Literal_(shape[at], item.span))
            elif isinstance(item, rules.Literal_ | rules.Prefix) and item.span.text.strip() == "-1":
                rest = f"?{label}/{at}"
                items.append(rules.Value(rest, False, None, item.span))
            else:
                items.append(item)
        return self.scopes.dims.make(
            frame.path, items, self.scopes.params(frame), self.tape, label, prod(shape), like=shape
        )

    def _dim_capture(self, frame: Frame, capture: rules.Capture, shape: Shape, label: str) -> Expr:
        total = prod(shape)
        value = self.capture(
            frame, capture, lambda: self.tape.pick(label, [d for d in range(1, total + 1) if total % d == 0][:12])
        )
        return rules.Literal_(int(value), capture.span)

    def _view(self, value: oir.Value, result: Shape, label: str, *, empty: bool = True) -> oir.Value:
        for op, items, attributes in views.chain(self.tape, label, self.writer.shape(value), result, empty=empty):
            inputs = [value]
            if items is not None:
                inputs.append(self.writer.constant("shape", np.array(items, np.int64)))
            (value,) = self.writer.node(op, inputs, attributes)
        return value

    # ---- numbers

    def _number(self, number: Any, expr: Expr, role: tuple[str, int], like: Any) -> oir.Value:
        dtype, shape = like or (self.instance.base, ())
        exact = float(number) if not isinstance(number, bool) else None
        far = None
        if isinstance(expr, rules.Approximate):
            tolerance = expr.tolerance or 1e-6
            # Without a tolerance of its own it is below what every comparison allows.
            far = None if expr.tolerance is None else number * (1 + tolerance)
            if self.tape.draw(place("near", expr.span), 3) == 2:
                # Within the tolerance, and away from its edge by more than the rounding to the dtype.
                number *= 1 + tolerance * self.tape.pick(place("off", expr.span), (0.0, 0.6, -0.6))
        return self._uniform(number, dtype, shape, role, exact, far, place("form", expr.span))

    def _uniform(
        self,
        number: Any,
        dtype: oir.DataType,
        shape: Shape,
        role: tuple[str, int],
        exact: float | None,
        far: float | None,
        label: str,
    ) -> oir.Value:
        if dtype.is_integer() and isinstance(number, float) and not number.is_integer():
            raise Rejected(f"{number} is no integer")
        form: Shape = ()
        if role[0] in ELEMENTWISE:
            forms: list[Shape] = [()]
            if shape:
                forms += [(1,), shape, (1,) * len(shape), shape[-1:]]
            form = self.tape.pick(label, forms, (6, 2, 1, 1, 1)[: len(forms)])
        with np.errstate(over="ignore"):
            array = np.full(form, number).astype(dtype.numpy())
        floating = dtype.is_floating_point()
        return self.writer.constant("c", array, exact if floating else None, far if floating else None)

    def _captured(self, frame: Frame, expr: rules.Capture, role: tuple[str, int], like: Any) -> oir.Value:
        dtype, shape = like or (self.instance.base, ())
        cell = self.scopes.cell(frame.path, expr.name)
        label = f"${frame.path}:{expr.name}"
        sampler = Sampler(self.tape, role[0], (), {}, self.leaves.numbers)
        if dtype.is_floating_point():
            number = self.capture(frame, expr, lambda: sampler.number(label))
            with np.errstate(over="ignore"):
                number = float(np.asarray(number).astype(dtype.numpy()))
            cell.value = number
        else:
            number = self.capture(frame, expr, lambda: sampler.integer(label, expr.name))
        if isinstance(number, tuple):
            return self.writer.constant(expr.name, np.array(number, dtype.numpy()))
        return self._uniform(number, dtype, shape, role, None, None, place(f"form{frame.path}", expr.span))

    def capture(self, frame: Frame, expr: rules.Capture, sample: Any) -> Any:
        """What a capture stands for: as before, as a guard asks for, or as sampled."""
        cell: Cell = self.scopes.cell(frame.path, expr.name)
        if cell.value is None:
            wanted = self.scopes.wanted(cell)
            label = f"$guard{frame.path}:{expr.name}"
            if wanted and self.tape.draw(label, 8) < 7:
                cell.value = self.tape.pick(f"{label}/of", wanted)
            else:
                cell.value = sample()
        return cell.value

    # ---- calls

    def _apply(
        self, frame: Frame, call: rules.Apply, outputs: int, equation: rules.Equation | None = None
    ) -> list[oir.Value | None]:
        if call.callee == "either":
            at = self.tape.draw(place(f"either{frame.path}", call.span), len(call.inputs))
            option = call.inputs[at]
            return (
                self._apply(frame, option, outputs) if isinstance(option, rules.Apply) else [self.expr(frame, option)]
            )
        if call.callee == "view":
            value = self._required(frame, call.inputs[0])
            label = place(f"view{frame.path}", call.span)
            said = self._same_shape(frame, equation)
            if said is not None and prod(said) == prod(self.writer.shape(value)):
                return [self._view(value, said, label)]
            if self.tape.draw(f"{label}/same", 6) == 0:
                return [value]
            return [self._view(value, views.any_shape(self.tape, label, self.writer.shape(value)), label)]
        found = called(frame, call)
        if call.optional and not self._present(frame, call):
            if found is not None:
                self._defaults(frame, equation, found[0])
            kept = next((v for v in call.inputs if optional_leaf(frame, v) is None), call.inputs[0])
            return [self.expr(frame, kept)]
        if found is None:
            domain, _, op = call.callee.rpartition(".")
            return list(self._operator(frame, op, list(call.inputs), call.given, call.rest, call.span, outputs, domain))
        return self._inline(frame, call, found, equation)

    def _same_shape(self, frame: Frame, equation: rules.Equation | None) -> Shape | None:
        """The shape that a guard wants of what an equation defines: that of another value, which is there already."""
        for guard in guards.conditions(self.rule.guards) if equation is not None and not frame.path else ():
            if isinstance(guard, rules.Apply) and guard.callee == "same_shape":
                names = [one.name for one in guard.inputs if isinstance(one, rules.Value)]
                if len(names) == 2 and equation is not None and equation.targets[0].name in names:
                    other = names[1 - names.index(equation.targets[0].name)]
                    found = self.scopes.values.get((frame.path, other))
                    return None if found is None else self.writer.shape(found)
        return None

    def _present(self, frame: Frame, call: rules.Apply) -> bool:
        tied = next((k for k in (optional_leaf(frame, v) for v in call.inputs) if k is not None), None)
        if tied is not None:
            return self.leaves.present(tied)
        return self.tape.draw(place(f"optional{frame.path}", call.span), 2) == 0

    def _defaults(self, frame: Frame, equation: rules.Equation | None, pattern: rules.Pattern) -> None:
        """What captures stand for where the call that would bind them is absent."""
        if equation is None:
            return
        for outer, inner in zip(equation.targets, pattern.targets, strict=False):
            if outer.capture and inner.default is not None:
                lookup = self.scopes.lookup(frame)
                self.scopes.cell(frame.path, outer.name).value = guards.evaluate(
                    inner.default, lookup, self.scopes.known
                )

    def _inline(
        self,
        frame: Frame,
        call: rules.Apply,
        found: tuple[rules.Pattern, Frame],
        equation: rules.Equation | None,
    ) -> list[oir.Value | None]:
        pattern, inner = found
        self.scopes.frames[inner.path] = inner
        if equation is not None:
            for outer, own in zip(equation.targets, pattern.targets, strict=False):
                if own.capture and outer.capture:
                    self.scopes.link(inner.path, own.name, self.scopes.cell(frame.path, outer.name))
        for parameter in pattern.parameters:
            argument = inner.arguments.get(parameter.name.text)
            if argument is not None and isinstance(argument[0], rules.Capture):
                self.scopes.link(inner.path, parameter.name.text, self.scopes.cell(frame.path, argument[0].name))
            elif argument is not None and not self._open(inner, parameter.name.text):
                # A value that is made already (or is made by operators) says what the dims of its type are.
                value = self.named(inner, parameter.name.text, parameter.span)
                if value is not None:
                    self.scopes.unify(inner, parameter.type, self.writer.shape(value))
                self.scopes.values[inner.path, parameter.name.text] = value
        return [self.named(inner, t.name, t.span) for t in pattern.targets if not t.capture]

    def _open(self, frame: Frame, name: str) -> bool:
        """Whether a name is a leaf whose shape is not known yet, or a number."""
        home, found, other = source(frame, name)
        if other is not None:
            return isinstance(other, rules.Literal_ | rules.Approximate | rules.Capture | rules.Items)
        if found in home.equations:
            return False
        return found == "_" or not self.leaves.decided(f"{home.path}:{found}")

    def _weak(self, frame: Frame, expr: Expr) -> bool:
        """Whether an operand takes its dtype or shape from the others."""
        if isinstance(expr, rules.Prefix):
            return isinstance(expr.operand, rules.Literal_ | rules.Approximate)
        if isinstance(expr, rules.Literal_ | rules.Approximate | rules.Capture | rules.Items):
            return True
        if isinstance(expr, rules.Typed):
            return isinstance(expr.operand, rules.Value) and self._weak(frame, expr.operand)
        if isinstance(expr, rules.Apply) and expr.callee == "either":
            at = self.tape.draw(place(f"either{frame.path}", expr.span), len(expr.inputs))
            return self._weak(frame, expr.inputs[at])
        return isinstance(expr, rules.Value) and self._open(frame, expr.name)

    def _operator(
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
        if op in COMMUTATIVE and len(slots) == 2 and self.tape.draw(place(f"order{frame.path}", span), 2):
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
                values[at] = self.expr(frame, slot, (op, at))
        label = place(f"{op}{frame.path}", span)
        chosen: dict[str, Any] = {}
        sampler = self._sampler(op, values, chosen)
        if known is not None:
            self._attributes(frame, known, attributes, rest, sampler, chosen, label)
        for at in self._listed(known, slots, weak):
            expr = slots[at]
            assert expr is not None
            values[at] = self._slot(frame, op, known, at, expr, values, chosen, f"{label}/{at}")
        if op == "Reshape" and len(slots) == 1:
            raise Rejected("a Reshape without its shape")
        if op in _VIEWS and not domain and values[0] is not None and self.tape.draw(f"{label}/as", 5) == 4:
            (made,) = self.writer.node(op, values, chosen)
            return [self._instead(values[0], made, label)]
        return self.writer.node(op, values, chosen, outputs=outputs, domain=domain)

    def _instead(self, value: oir.Value, made: oir.Value, label: str) -> oir.Value:
        """Another operator that brings `value` to the shape of `made`."""
        result = self.writer.shape(made)
        del self.instance.nodes[-1]
        return self._view(value, result, f"{label}/as", empty=False)

    def _sampler(self, op: str, values: Sequence[oir.Value | None], known: Mapping[str, Any]) -> Sampler:
        sampler = Sampler(
            self.tape, op, [None if v is None else self.writer.shape(v) for v in values], known, self.leaves.numbers
        )
        sampler.perms = self._perms
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
            if expr is not None:
                value = self._attribute(frame, known, name, expr, sampler, f"{label}/{name}")
            elif name in known.required or (rest and self.tape.draw(f"{label}/{name}/set", 2)):
                try:
                    value = self._free(known, name, sampler, f"{label}/{name}")
                except Rejected:
                    if name in known.required and name != "kernel_shape":
                        raise
                    continue
            elif name == "num_outputs" and sampler.op == "Split" and len(known.inputs) > 1:
                continue
            else:
                continue
            if name == "perm" and isinstance(value, tuple):
                self._perms.append(value)
            chosen[name] = value

    def _attribute(self, frame: Frame, known: Schema, name: str, expr: Expr, sampler: Sampler, label: str) -> Any:
        kind = known.attributes[name]
        if isinstance(expr, rules.Capture):
            value = self.capture(frame, expr, lambda: self._free(known, name, sampler, label))
        elif isinstance(expr, rules.Value) and expr.name in DTYPES:
            value = int(DTYPES[expr.name])
        elif isinstance(expr, rules.Value) and expr.name == "_":
            value = self._free(known, name, sampler, label)
        elif isinstance(expr, rules.Items):
            value = self._items(frame, expr, name, sampler, label)
        else:
            try:
                value = guards.evaluate(expr, self.scopes.lookup(frame), self.scopes.known)
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
            if default is not None and self.tape.draw(f"{label}/default", 3) == 0:
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
                    if self.scopes.cell(frame.path, item.name).value is None:
                        whole = whole or sampler.integers(label, name, len(expr.items))
                    part = whole[at] if whole is not None and at < len(whole) else None
                    made.append(
                        self.capture(
                            frame,
                            item,
                            lambda part=part, at=at: (
                                part if part is not None else sampler.integer(f"{label}/{at}", name)
                            ),
                        )
                    )
                elif isinstance(item, rules.Value) and item.name == "_":
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
            return guards.evaluate(item, self.scopes.lookup(frame), self.scopes.known)
        except guards.Unknown:
            size = sampler.integers(label, name, len(expr.items))[at]
            self.scopes.dims.bind(frame.path, item, size, self.scopes.params(frame))
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
            chosen_at = self.tape.draw(place(f"either{frame.path}", expr.span), len(expr.inputs))
            return self._slot(frame, op, known, at, expr.inputs[chosen_at], values, chosen, label)
        name, dtype = self._wants(known, at, values)
        sampler = self._sampler(op, values, chosen)
        if dtype in INTEGERS and name in _LISTS and isinstance(expr, rules.Capture | rules.Items | rules.Literal_):
            return self._list(frame, op, expr, name, dtype, values, chosen, sampler, label)
        if dtype in INTEGERS and isinstance(expr, rules.Items):
            items = self._items(frame, expr, name, sampler, label)
            return self.writer.constant(name, np.array(items, dtype.numpy()))
        shape = self._broadcast(values)
        if isinstance(expr, rules.Value | rules.Typed):
            self.leaves.context(op, name, at, values, self.writer, chosen)
        return self.expr(frame, expr, (op, at), (dtype, shape))

    def _list(
        self,
        frame: Frame,
        op: str,
        expr: Expr,
        name: str,
        dtype: oir.DataType,
        values: Sequence[oir.Value | None],
        chosen: dict[str, Any],
        sampler: Sampler,
        label: str,
    ) -> oir.Value:
        items: tuple[Any, ...]
        if op == "Reshape" and values[0] is not None and not isinstance(expr, rules.Literal_):
            shape = self.writer.shape(values[0])
            if isinstance(expr, rules.Items):
                items = self._stated(frame, expr.items, values[0], label)
            else:
                capture = cast(rules.Capture, expr)
                items = self.capture(frame, capture, lambda: views.any_shape(self.tape, label, shape))
        elif isinstance(expr, rules.Items):
            items = self._items(frame, expr, name, sampler, label)
        elif isinstance(expr, rules.Capture):
            items = self.capture(frame, expr, lambda: sampler.integers(label, name))
        else:
            items = (cast(rules.Literal_, expr).value,)
        if not isinstance(items, tuple):
            items = (items,)
        if name == "axes":
            chosen_axes = items
            sampler.known = {**sampler.known, "axes": chosen_axes}
        return self.writer.constant(name, np.array(items, dtype.numpy()))

    def _wants(self, known: Schema | None, at: int, values: Sequence[oir.Value | None]) -> tuple[str, oir.DataType]:
        """The name and the dtype of an input, as the others decide."""
        base = self.instance.base
        if known is None or not known.types:
            return "", base
        index = min(at, len(known.types) - 1)
        name, kind = known.inputs[index], known.types[index]
        allowed = known.constraints.get(kind)
        if allowed is None:
            return name, next((d for d, text in TYPE_NAMES.items() if text == kind), base)
        for other, value in enumerate(values):
            if value is not None and known.types[min(other, len(known.types) - 1)] == kind:
                return name, self.writer.dtype(value)
        if TYPE_NAMES[base] in allowed:
            return name, base
        return name, oir.DataType.INT64 if "tensor(int64)" in allowed else base

    def _broadcast(self, values: Sequence[oir.Value | None]) -> Shape:
        shapes = [self.writer.shape(v) for v in values if v is not None]
        return max(shapes, key=lambda s: (len(s), prod(s)), default=())


__all__ = ["ELEMENTWISE", "Sketch"]
