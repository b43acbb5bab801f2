"""A rule's pattern made into a piece of graph: choices by the tape, shapes by the types, constants by the numbers."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
import onnx_ir as oir

from trtc.ir.module import Module
from trtc.ir.plugins import FLOATS
from trtc.lang import rules
from trtc.lang.rules import Expr, Horizontal, Rule
from trtc.lang.syntax import AnyDims, Reference
from trtc.rewrite.constants import DTYPES
from trtc.rewrite.refute import guards, views
from trtc.rewrite.refute.attributes import Sampler
from trtc.rewrite.refute.instance import Instance, Writer
from trtc.rewrite.refute.leaves import Leaves
from trtc.rewrite.refute.operators import Operators
from trtc.rewrite.refute.scope import Cell, Scopes
from trtc.rewrite.refute.shapes import Shape
from trtc.rewrite.refute.survey import INFIX, Frame, Survey, called, frame_of, optional_leaf, place, source
from trtc.rewrite.refute.survey import leaf_key as key_of
from trtc.rewrite.refute.tape import Rejected, Tape

_VIEWS = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
#: Operators in which a scalar may as well be a filled tensor of any shape that broadcasts.
ELEMENTWISE = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Where", "Mod", "And", "Or", "Xor", "Equal", "Less", "Sum"}
    | {"Greater", "LessOrEqual", "GreaterOrEqual", "Mean", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "PRelu"}
)


#: Samples of a capture before one is taken that a guard refuses.
_TRIES = 40


class Sketch:
    """Makes one instance. Raises Rejected where the decisions lead to none."""

    def __init__(self, module: Module, rule: Rule, survey: Survey, tape: Tape, instance: Instance) -> None:
        self.rule = rule
        self.tape = tape
        self.instance = instance
        self.writer = Writer(module, instance)
        self.scopes = Scopes(module)
        self.leaves = Leaves(self.writer, rule, survey, tape, self.scopes)
        self.hints: dict[tuple[str, int], tuple[Frame, Sequence[Any]]] = {}
        """Shapes that types state of results whose operators are not made yet, by the scope and place of the call."""
        self._made: dict[tuple[str, int], list[oir.Value | None]] = {}
        self._operators = Operators(self)

    def make(self) -> None:
        """Everything."""
        root = self.scopes.frames[""] = frame_of("", self.rule)
        if isinstance(self.rule, Horizontal):
            self._members(self.rule, root)
        else:
            self.leaves.plan("")
            self._corners(root)
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
        if not self.instance.nodes or any(v.producer() is None for v in self.instance.roots):
            raise Rejected("there is nothing to match")
        self.scopes.check()
        if self.tape.draw("tail", 3) == 2:
            self.instance.outputs = [self._tail(v) for v in self.instance.outputs]
        self.instance.leaves = {key.lstrip(":").lstrip("/"): v for key, v in self.leaves.made.items() if v is not None}
        self.instance.decisions = self.tape.made

    def _tail(self, value: oir.Value) -> oir.Value:
        """Something exact behind a result: what is an output of the graph itself cannot be replaced by an input."""
        dtype = self.writer.dtype(value)
        if dtype == oir.DataType.BOOL:
            return self.writer.node("Not", [value])[0]
        if dtype.is_floating_point() and dtype != oir.DataType.BFLOAT16:
            return self.writer.node("Neg", [value])[0]
        return value

    def _members(self, rule: Horizontal, root: Frame) -> None:
        count = 2 + self.tape.draw("members", 3)
        self.leaves.plan("", count)
        shared = self.named(root, rule.over.name.text)
        assert shared is not None
        for k in range(count):
            frame = self.scopes.frames[f"#{k}"] = frame_of(f"#{k}", rule)
            over = rules.Value(rule.over.name.text, False, None, rule.over.span)
            frame.arguments[rule.over.name.text] = (over, root)
            self.scopes.inherit("", frame.path)
            for capture in rule.same:
                self.scopes.link(frame.path, capture.name, self.scopes.cell("", capture.name))
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
                if expr.type is not None and expr.type.dims is not None:
                    self._hint(home, found[0].value, frame, expr.type.dims)
                made = self.equation(home, found[0])[found[1]]
                if expr.type is not None and made is not None:
                    self.scopes.unify(frame, expr.type, self.writer.shape(made))
                return made
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
            return self._operators.make(frame, op, [expr.left, expr.right], (), False, expr.span, 1)[0]
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
            return self.view(value, self.stated(frame, type_.dims, value, label), label)
        if isinstance(operand, rules.Literal_) and type_.dims is not None:
            label = place(f"filled{frame.path}", expr.span)
            shape = self.scopes.dims.make(frame.path, type_.dims, self.scopes.params(frame), self.tape, label)
            dtype = DTYPES.get(type_.dtype or "float", self.instance.base)
            return self.writer.constant("c", np.full(shape, operand.value).astype(dtype.numpy()))
        if type_.dims is not None:
            self._hint(frame, operand, frame, type_.dims)
        value = self._required(frame, operand)
        self.scopes.unify(frame, type_, self.writer.shape(value))
        return value

    def _hint(self, frame: Frame, expr: Expr, stated: Frame, dims: Sequence[Any]) -> None:
        """Tell an Expand or a Tile whose list is open which shape a type states of its result."""
        if isinstance(expr, rules.Value):
            home, name, other = source(frame, expr.name)
            if other is None and name in home.equations:
                self._hint(home, home.equations[name][0].value, stated, dims)
        elif isinstance(expr, rules.Apply) and expr.callee == "either":
            for option in expr.inputs:
                self._hint(frame, option, stated, dims)
        elif isinstance(expr, rules.Apply) and expr.callee in ("Expand", "Tile", "view"):
            self.hints[frame.path, expr.span.start] = stated, dims

    def widened(self, frame: Frame, span: Any, shape: Shape) -> Shape | None:
        """The shape that a type states of the result of a call on a value of shape `shape`; None where none does."""
        hint = self.hints.get((frame.path, span.start))
        if hint is None:
            return None
        stated, dims = hint
        self.scopes.solve(stated)
        params = self.scopes.params(stated)
        dims = [d for d in dims if not isinstance(d, AnyDims)]
        known = [self.scopes.dims.number(stated.path, d, params) for d in dims]
        for at, (dim, size) in enumerate(zip(reversed(dims), reversed(shape), strict=False)):
            if known[-1 - at] is None and size == 1 and isinstance(dim, rules.Value | Reference):
                known[-1 - at] = self.times(dim.name if isinstance(dim, rules.Value) else dim.text)
        count = min(len(known), len(shape))
        found = [d if d is not None else s for d, s in zip(known[len(known) - count :], shape[-count:], strict=True)]
        made = (*shape[: len(shape) - count], *found) if count else shape
        return made if made != shape and all(s in (1, d) for s, d in zip(shape, made, strict=True)) else None

    def times(self, name: str) -> int:
        """How often something is repeated: one number for each name of a dim, in whatever pattern it is."""
        return self.tape.pick(f"times/{name}", (2, 1, 3), (5, 1, 1))

    def _corners(self, root: Frame) -> None:
        """The corners of a block in some order, where a guard wants captures to be that."""
        for guard in guards.conditions(root.owner.guards):
            found = isinstance(guard, rules.Apply) and guard.callee == "corners" and guard.inputs[0]
            if isinstance(found, rules.Items):
                left = [(0, 0), (1, 0), (0, 1), (1, 1)]
                order = [left.pop(self.tape.draw(f"corner{k}", len(left))) for k in range(4)]
                for item, number in zip(found.items, (n for pair in order for n in pair), strict=False):
                    if isinstance(item, rules.Capture):
                        self.scopes.cell(root.path, item.name).value = number

    def _required(self, frame: Frame, expr: Expr) -> oir.Value:
        value = self.expr(frame, expr)
        if value is None:
            raise Rejected("an operand is absent")
        return value

    def stated(self, frame: Frame, dims: Sequence[Any], value: oir.Value, label: str) -> Shape:
        """The shape that a type or a list states, of as many elements as `value` has."""
        self.scopes.solve(frame)
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

    def view(self, value: oir.Value, result: Shape, label: str, *, empty: bool = True) -> oir.Value:
        for op, items, attributes in views.chain(self.tape, label, self.writer.shape(value), result, empty=empty):
            inputs = [value]
            if items is not None:
                inputs.append(self.writer.constant("shape", np.array(items, np.int64)))
            (value,) = self.writer.node(op, inputs, attributes)
        return value

    # ---- numbers

    def _number(self, number: Any, expr: Expr, role: tuple[str, int], like: Any) -> oir.Value:
        dtype, shape = like or (self.instance.base, ())
        if isinstance(number, bool):
            dtype = oir.DataType.BOOL
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
        elif role == ("Gather", 1):
            form = self.tape.pick(label, ((), (1,)))
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
            # An index has to be within bounds, which are not known here.
            options = (0, -1, 1) if role[0].startswith("Gather") else None
            number = self.capture(
                frame,
                expr,
                lambda: sampler.integer(label, expr.name) if options is None else self.tape.pick(label, options),
            )
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
                return cell.value
            for attempt in range(_TRIES):
                self.tape.again = f"~{attempt}" if attempt else ""
                try:
                    cell.value = sample()
                finally:
                    self.tape.again = ""
                if not self.scopes.refused(cell):
                    break
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
            hint = self.hints.get((frame.path, call.span.start))
            if hint is not None:
                return [self.view(value, self.stated(hint[0], hint[1], value, label), label)]
            said = self._same_shape(frame, equation)
            if said is not None and prod(said) == prod(self.writer.shape(value)):
                return [self.view(value, said, label)]
            if self.tape.draw(f"{label}/same", 6) == 0:
                return [value]
            return [self.view(value, views.any_shape(self.tape, label, self.writer.shape(value)), label)]
        found = called(frame, call)
        if call.optional and not self._present(frame, call):
            if found is not None:
                self._defaults(frame, equation, found[0])
            kept = next((v for v in call.inputs if optional_leaf(frame, v) is None), call.inputs[0])
            return [self.expr(frame, kept)]
        own = frame.owner.environment.plugins.get(call.callee)
        if isinstance(own, rules.Operator):
            return list(self._own(frame, call, own))
        if found is None:
            domain, _, op = call.callee.rpartition(".")
            return list(
                self._operators.make(frame, op, list(call.inputs), call.given, call.rest, call.span, outputs, domain)
            )
        return self._inline(frame, call, found, equation)

    def said_shape(self) -> Shape | None:
        """The shape of a value that a guard of the rule compares another's with."""
        for guard in guards.conditions(self.rule.guards):
            if isinstance(guard, rules.Apply) and guard.callee == "same_shape":
                for one in guard.inputs:
                    found = self.scopes.values.get(("", one.name)) if isinstance(one, rules.Value) else None
                    if found is not None:
                        return self.writer.shape(found)
        return None

    def _own(self, frame: Frame, call: rules.Apply, operator: rules.Operator) -> list[oir.Value]:
        """A call of an operator of a spec's own: its fields by the pattern, else by its default or any number."""
        values = [self.expr(frame, one) for one in call.inputs]
        given = {one.name.text: one.value for one in call.given}
        fields: dict[str, Any] = {}
        for one in operator.fields:
            name = one.name.text
            label = place(f"{operator.name.text}{frame.path}/{name}", call.span)
            value = given.get(name)
            free = value is None and call.rest and bool(self.tape.draw(f"{label}/set", 2))
            if value is None and not free:
                continue
            sampler = Sampler(self.tape, operator.name.text, (), {}, self.leaves.numbers)
            real = one.type in FLOATS

            def sample(sampler: Sampler = sampler, label: str = label, name: str = name, real: bool = real) -> Any:
                return sampler.number(label) if real else sampler.integer(label, name)

            if free or (isinstance(value, rules.Value) and value.name == "_"):
                fields[name] = sample()
            elif isinstance(value, rules.Capture):
                fields[name] = self.capture(frame, value, sample)
            elif value is not None:
                fields[name] = guards.evaluate(value, self.scopes.lookup(frame), self.scopes.known)
        return self.writer.call(operator, values, fields)

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
            elif argument is not None and not self.is_open(inner, parameter.name.text):
                # A value that is made already (or is made by operators) says what the dims of its type are.
                value = self.named(inner, parameter.name.text, parameter.span)
                if value is not None:
                    self.scopes.unify(inner, parameter.type, self.writer.shape(value))
                self.scopes.values[inner.path, parameter.name.text] = value
        return [self.named(inner, t.name, t.span) for t in pattern.targets if not t.capture]

    def is_open(self, frame: Frame, name: str) -> bool:
        """Whether a name is a leaf whose shape is not known yet, or a number."""
        home, found, other = source(frame, name)
        if other is not None:
            return isinstance(other, rules.Literal_ | rules.Approximate | rules.Capture | rules.Items)
        if found in home.equations:
            return False
        return found == "_" or not self.leaves.decided(f"{home.path}:{found}")


__all__ = ["Sketch"]
