"""Right-hand sides: from an expression and the bindings of a match to nodes that are not yet in the graph."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import onnx
import onnx_ir as oir

from trtc.evaluate import Evaluator
from trtc.ir import dims, edit
from trtc.ir.canonical.defaults import fill
from trtc.ir.canonical.site import OPSET, Site
from trtc.ir.dims import Expr
from trtc.ir.module import Module, constant_tensor
from trtc.lang import rules
from trtc.rewrite.constants import FLOATS, Constants
from trtc.rewrite.evaluate import Unbound, lookup, slot_of
from trtc.rewrite.folding import compute
from trtc.rewrite.functions import ABSENT, FUNCTIONS, Array, Known
from trtc.rewrite.operators import ARITHMETIC, AXES, Schema, schema
from trtc.rewrite.program import OptionalInput, Scope
from trtc.rewrite.state import State

_COMPARES: Final = ("==", "!=", "<", "<=", ">", ">=", "&&", "||")


class Declined(Exception):
    """The replacement cannot be made here; the text says why."""


class Missing(Declined):
    """A name stands for nothing in this match: an optional input, or what an untaken alternative would have bound."""


@dataclass(slots=True)
class Workshop:
    """What building needs beyond one match; lives as long as one application of rules."""

    module: Module
    constants: Constants
    evaluator: Evaluator
    budget: int
    """Bytes that constants may still grow by."""
    plugins: bool = True
    """Whether the target can run plugins; False declines what would become one."""
    popular: set[oir.Value] = field(default_factory=set[oir.Value])
    """Weights with very many users, which no match frees; to count those each time would make the work quadratic."""
    scalars: dict[tuple[float | int | bool, oir.DataType], oir.Value] = field(
        default_factory=dict[tuple["float | int | bool", oir.DataType], oir.Value]
    )


@dataclass(slots=True)
class Builder:
    """Builds the right-hand side of one match."""

    shop: Workshop
    state: State
    scope: Scope
    origins: Sequence[oir.Node]
    rule: str
    lets: dict[str, Any] = field(default_factory=dict[str, Any])
    siblings: tuple[State, ...] = ()
    """Of a horizontal: the matches of all members, in order."""
    nodes: list[oir.Node] = field(default_factory=list[oir.Node])
    made: list[oir.Value] = field(default_factory=list[oir.Value])
    """New initializers."""
    added: int = 0
    body: bool = False
    """Whether this is the body of an operator."""

    @property
    def module(self) -> Module:
        return self.shop.module

    # ---- expressions

    def build(self, value: rules.Expr) -> Any:
        """A value of the graph, an `Array`, a number, text, tuple or dim, or `ABSENT`.

        Raises:
            Declined: it cannot be built.
        """
        if isinstance(value, rules.Literal_ | rules.Approximate):
            return value.value
        if isinstance(value, rules.Capture):
            slot = self.scope.captures.get(value.name)
            found = None if slot is None else self.state.captures[slot]
            return ABSENT if found is None else found
        if isinstance(value, rules.Items):
            return tuple(self.build(item) for item in value.items)
        if isinstance(value, rules.Value):
            return self._name(value)
        if isinstance(value, rules.Typed):
            return self.build(value.operand)
        if isinstance(value, rules.Prefix):
            operand = self.build(value.operand)
            if _plain(operand):
                try:
                    return not operand if value.operator == "!" else -operand if value.operator == "-" else operand
                except TypeError as error:
                    raise Declined(f"`{value.span.text}`: {error}") from None
            if value.operator == "+":
                return operand
            return self.op("", "Neg" if value.operator == "-" else "Not", [operand], {})
        if isinstance(value, rules.Infix):
            return self._infix(value)
        if isinstance(value, rules.Tuple_):
            return [self.build(item) for item in value.items]
        return self._apply(value)

    def _name(self, value: rules.Value) -> Any:
        if value.name in self.lets:
            return self.lets[value.name]
        node = self.scope.values.get(value.name)
        if node is not None:
            slot = slot_of(node)
            found = self.state.values[slot] if slot is not None else None
            if found is None:
                if value.optional or isinstance(node, OptionalInput):
                    return ABSENT
                raise Missing(f"`{value.name}` is not there in this match")
            return found
        try:
            return lookup(self.state, value.name, self.scope)
        except Unbound:
            raise Missing(f"`{value.name}` is not there in this match") from None

    def _infix(self, value: rules.Infix) -> Any:
        left, right = self.build(value.left), self.build(value.right)
        if _plain(left) and _plain(right):
            from trtc.rewrite.evaluate import OPERATORS

            try:
                return OPERATORS[value.operator](left, right)
            except (Unbound, ArithmeticError, TypeError) as error:
                raise Declined(f"`{value.span.text}`: {error}") from None
        if value.operator in _COMPARES:
            raise Declined(f"`{value.operator}` compares numbers only")
        return self.op("", ARITHMETIC[value.operator], [left, right], {})

    def _apply(self, call: rules.Apply) -> Any:
        if call.callee == "default":
            try:
                found = self.build(call.inputs[0])
            except Missing:
                found = ABSENT
            return self.build(call.inputs[1]) if found is ABSENT else found
        if call.callee == "concat" and self.siblings:
            return self._concat(call)
        function = FUNCTIONS.get(call.callee)
        if function is not None:
            arguments = [self.build(one) for one in call.inputs]
            named = {g.name.text: self.build(g.value) for g in call.given}
            if call.callee != "present" and any(one is ABSENT for one in arguments):
                raise Missing(f"an argument of `{call.callee}` is not there in this match")
            try:
                return function.run(Known(self.module, self.shop.constants), *arguments, **named)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                raise Declined(f"{call.callee}: {error}") from None
        plugin = self.scope.environment.plugins.get(call.callee)
        if plugin is not None:
            from trtc.rewrite import plugins

            if not self.shop.plugins and not isinstance(plugin, rules.Operator):
                raise Declined(f"the target has no plugins, so `{call.callee}` stays the operators that it means")
            fields = {given.name.text: self.build(given.value) for given in call.given}
            return plugins.call(self, plugin, [self.build(one) for one in call.inputs], fields)
        domain, _, op_type = call.callee.rpartition(".")
        known = schema(op_type, domain)
        inputs = [self.build(one) for one in call.inputs]
        if call.optional and any(one is ABSENT for one in inputs):
            return inputs[0]
        attributes: dict[str, Any] = {}
        if call.spread is not None:
            attributes.update(self._spread(call.spread, known))
        for given in call.given:
            name = given.name.text
            item = self.build(given.value)
            if known is not None and name not in known.attributes and name in known.inputs:
                at = known.inputs.index(name)
                inputs.extend([ABSENT] * (at + 1 - len(inputs)))
                inputs[at] = item
            elif item is ABSENT:
                attributes.pop(name, None)
            else:
                attributes[name] = item
        return self.op(domain, op_type, inputs, attributes)

    def _concat(self, call: rules.Apply) -> Any:
        """`concat(w, axis = 0)` in a horizontal: the `w` of every member. `concat(default(b, zeros), axis = 0)` fills
        in for members without `b`, and is not there where no member has one."""
        argument = call.inputs[0]
        filled = isinstance(argument, rules.Apply) and argument.callee == "default"
        items = self._of_each(argument.inputs[0] if filled else argument)  # pyright: ignore[reportAttributeAccessIssue]
        if all(item is ABSENT for item in items):
            return ABSENT
        if filled:
            items = self._of_each(argument)
        if any(item is ABSENT for item in items):
            raise Declined(f"not every sibling has `{argument.span.text}`")
        axis = next((self.build(g.value) for g in call.given), 0)
        tensors = [constant_tensor(item) if isinstance(item, oir.Value) else None for item in items]
        if all(t is not None and t.dtype == tensors[0].dtype for t in tensors):  # pyright: ignore[reportOptionalMemberAccess]
            # As they are: weights are large, and nothing is computed.
            arrays = [t.numpy() for t in tensors if t is not None]
            try:
                return Array(np.concatenate(arrays, axis=axis), tensors[0].dtype)  # pyright: ignore[reportOptionalMemberAccess]
            except ValueError as error:
                raise Declined(f"concat: {error}") from None
        return self.op("", "Concat", items, {"axis": axis})

    def _of_each(self, value: rules.Expr) -> list[Any]:
        """What an expression is in each member."""
        first = self.state
        found: list[Any] = []
        try:
            for state in self.siblings:
                self.state = state
                try:
                    found.append(self.build(value))
                except Missing:
                    found.append(ABSENT)
        finally:
            self.state = first
        return found

    def _spread(self, name: str, known: Schema | None) -> dict[str, Any]:
        node = self.scope.values.get(name)
        slot = slot_of(node) if node is not None else None
        value = self.state.values[slot] if slot is not None else None
        source = value.producer() if value is not None else None
        if source is None:
            raise Declined(f"`{name}` was made by no node of the match")
        return {key: attr for key, attr in source.attributes.items() if known is None or key in known.attributes}

    # ---- operations

    def op(self, domain: str, op_type: str, inputs: list[Any], attributes: dict[str, Any]) -> Any:
        """An operation on what was built; computed at once where all of it is constant."""
        known = schema(op_type, domain)
        while inputs and inputs[-1] is ABSENT:
            inputs.pop()
        self._count_from_front(op_type if not domain else "", known, inputs)
        dtypes = self._dtypes(known, inputs)
        attributes = {name: self._attribute(known, name, value) for name, value in attributes.items()}
        folded = self._folded(domain, op_type, inputs, dtypes, attributes)
        if folded is not None:
            return folded
        values = [
            # In a Reshape alone a size may be taken from the tensor that it shapes.
            None if item is ABSENT else self.value(item, dtypes[at], inputs if op_type == "Reshape" else (), at)
            for at, item in enumerate(inputs)
        ]
        self._takes(op_type, known, values)
        outputs = 1
        if op_type == "Split":
            outputs = len(inputs[1]) if len(inputs) > 1 and isinstance(inputs[1], tuple) else 1
            outputs = int(attributes.get("num_outputs", outputs))
        elif op_type == "TopK":
            outputs = 2
        origins, rule = self.origins, self.rule
        node = edit.node(
            self.module, op_type, values, attributes, origins=origins, rule=rule, domain=domain, outputs=outputs
        )
        self.nodes.append(node)
        if not domain:
            fill(Site(self.module, node, OPSET, False))
        return node.outputs[0] if outputs == 1 else list(node.outputs)

    def _takes(self, op_type: str, known: Schema | None, values: Sequence[oir.Value | None]) -> None:
        """Raises Declined where an operator does not take the dtype of an operand."""
        for at, value in enumerate(values):
            variable = _variable(known, at)
            dtype = self.module.dtype(value) if value is not None else None
            if known is None or variable is None or dtype is None:
                continue
            allowed = known.constraints.get(variable, frozenset({variable}))
            if f"tensor({dtype.name.lower()})" not in allowed and any(one.startswith("tensor") for one in allowed):
                raise Declined(f"{op_type} takes no {dtype.name.lower()}")

    def _count_from_front(self, op_type: str, known: Schema | None, inputs: list[Any]) -> None:
        """Axes that are an input count from the front, as everywhere in a module."""
        entry = AXES.get(op_type)
        if entry is None or known is None or entry[0] not in known.inputs:
            return
        at = known.inputs.index(entry[0])
        axes = inputs[at] if at < len(inputs) else None
        if not isinstance(axes, tuple) or not any(isinstance(a, int) and a < 0 for a in axes):
            return
        data = inputs[0]
        shape = data.data.shape if isinstance(data, Array) else self.module.shape(data)
        if shape is not None:
            rank = len(shape) + (len(axes) if entry[1] else 0)
            inputs[at] = tuple(a + rank if a < 0 else a for a in axes)

    def _dtypes(self, known: Schema | None, inputs: Sequence[Any]) -> list[oir.DataType]:
        """The dtype that each input has, or would have as a constant: that of the others of its type variable."""
        found: list[oir.DataType | None] = [
            item.dtype if isinstance(item, Array) else self.module.dtype(item) if isinstance(item, oir.Value) else None
            for item in inputs
        ]
        variables = [_variable(known, at) for at in range(len(inputs))]
        of_variable = {v: d for v, d in zip(variables, found, strict=True) if d is not None and v is not None}
        made: list[oir.DataType] = []
        for at, dtype in enumerate(found):
            variable = variables[at]
            if dtype is None and variable is not None:
                dtype = of_variable.get(variable) or _only(known, variable)
            if dtype is None:
                dtype = _of_number(inputs[at])
            made.append(dtype)
        return made

    def _attribute(self, known: Schema | None, name: str, value: Any) -> Any:
        if isinstance(value, oir.Attr):
            return value
        kind = known.attributes.get(name) if known is not None else None
        if isinstance(value, tuple):
            if any(isinstance(v, Expr) for v in value):
                raise Declined(f"`{name}` depends on a dim that is not known")
            if kind == onnx.AttributeProto.INTS:
                return oir.AttrInt64s(name, [_whole(v) for v in value])
            return oir.AttrFloat32s(name, [float(v) for v in value]) if kind == onnx.AttributeProto.FLOATS else value
        if isinstance(value, Expr):
            raise Declined(f"`{name}` depends on a dim that is not known")
        if isinstance(value, oir.DataType):
            return int(value)
        if kind == onnx.AttributeProto.FLOAT:
            return float(value)
        if kind == onnx.AttributeProto.INT or isinstance(value, bool):
            return _whole(value)
        return value

    def _folded(
        self,
        domain: str,
        op_type: str,
        inputs: Sequence[Any],
        dtypes: Sequence[oir.DataType],
        attributes: Mapping[str, Any],
    ) -> Array | None:
        if domain or not inputs or op_type in ("QuantizeLinear", "DequantizeLinear"):
            return None
        arrays: list[Array] = []
        any_tensor = False
        for item, dtype in zip(inputs, dtypes, strict=True):
            if item is ABSENT:
                return None
            if isinstance(item, Array):
                arrays.append(item)
                any_tensor = True
            elif isinstance(item, oir.Value):
                tensor = constant_tensor(item)
                if tensor is None or tensor.dtype == oir.DataType.STRING:
                    return None
                arrays.append(Array(tensor.numpy(), tensor.dtype))
                any_tensor = True
            elif isinstance(item, tuple) and any(isinstance(v, Expr) for v in item):
                return None
            elif isinstance(item, int | float | tuple):
                _hold(dtype, np.asarray(item))
                kind = np.float64 if dtype in FLOATS else dtype.numpy()
                arrays.append(Array(np.asarray(item).astype(kind), dtype))
            else:
                return None
        if not any_tensor:
            return None
        plain = {n: _value_of(a) for n, a in attributes.items()}
        try:
            made = compute(op_type, arrays, plain)
        except (ValueError, IndexError) as error:
            raise Declined(f"{op_type} of constants: {error}") from None
        if made is not None and not _finite(made) and all(_finite(one) for one in arrays):
            raise Declined(f"{op_type} of constants gives what is not finite")
        return made

    # ---- constants

    def value(self, item: Any, dtype: oir.DataType, inputs: Sequence[Any] = (), at: int = 0) -> oir.Value:
        """What was built as a value of the graph."""
        if isinstance(item, oir.Value):
            return item
        if isinstance(item, Array):
            return self._initializer(item.data, item.dtype)
        if isinstance(item, tuple):
            if any(isinstance(v, Expr) for v in item):
                return self._sizes(item, inputs, at)
            return self._initializer(np.asarray(item), dtype)
        if isinstance(item, bool | int | float):
            return self._scalar(item, dtype)
        if isinstance(item, Expr):
            return self._sizes((item,), inputs, at)
        raise Declined("this is not a value of the graph")

    def _scalar(self, number: float | int | bool, dtype: oir.DataType) -> oir.Value:
        key = (number, dtype)
        known = self.shop.scalars.get(key)
        if known is not None and known.graph is self.module.graph:
            return known
        value = self._initializer(np.asarray(number), dtype)
        self.shop.scalars[key] = value
        return value

    def _initializer(self, data: np.ndarray[Any, Any], dtype: oir.DataType) -> oir.Value:
        _hold(dtype, data)
        with np.errstate(all="ignore"):
            rounded = np.ascontiguousarray(data.astype(dtype.numpy(), copy=False))
        computed = dtype in FLOATS and data.dtype != rounded.dtype
        if computed and np.isfinite(data).all() and not np.isfinite(rounded.astype(np.float64)).all():
            raise Declined(f"a constant of the replacement does not fit into {dtype.name.lower()}")
        rounded = rounded.reshape(data.shape)  # `ascontiguousarray` makes a list of a scalar
        self.added += rounded.nbytes
        tensor = oir.Tensor(rounded, dtype=dtype, shape=oir.Shape(data.shape))
        value = edit.constant(self.module, tensor, f"{self.rule}_constant")
        self.made.append(value)
        return value

    def _sizes(self, items: tuple[Any, ...], inputs: Sequence[Any], at: int) -> oir.Value:
        """A list of sizes of which some are not known before the engine runs."""
        data = inputs[0] if inputs else None
        shape = self.module.shape(data) if isinstance(data, oir.Value) else None
        reshaped = at == 1 and shape is not None
        if reshaped and shape is not None:
            # In a Reshape 0 is the dim that was there, and one -1 what is left.
            said = [0 if i < len(shape) and shape[i] == d and isinstance(d, Expr) else d for i, d in enumerate(items)]
            if sum(isinstance(d, Expr) for d in said) == 1 and dims.product(items) == dims.product(shape):
                said = [-1 if isinstance(d, Expr) else d for d in said]
            if not any(isinstance(d, Expr) for d in said):
                return self._initializer(np.asarray(said, np.int64), oir.DataType.INT64)
        int64 = oir.DataType.INT64
        parts: list[Any] = [
            self._initializer(np.asarray([item]), int64) if isinstance(item, int) else self._size(item)
            for item in items
        ]
        return parts[0] if len(parts) == 1 else self.op("", "Concat", parts, {"axis": 0})

    def _size(self, dim: Expr) -> oir.Value:
        """A symbolic dim as a list of one element, from a value of the match that has it."""
        for value in self.state.values:
            shape = self.module.shape(value) if value is not None and value.producer() not in self.origins else None
            for axis, one in enumerate(shape or ()):
                if one == dim:
                    return self.op("", "Shape", [value], {"start": axis, "end": axis + 1})
        raise Declined(f"nothing in the match has the size {dims.text(dim)}")

    def discard(self) -> None:
        """Forget what was built: it uses nothing any more."""
        for node in reversed(self.nodes):
            for at in range(len(node.inputs)):
                node.replace_input_with(at, None)
            for value in node.outputs:
                self.module.facts.pop(value, None)
        for value in self.made:
            if value.name in self.module.graph.initializers:
                del self.module.graph.initializers[value.name or ""]
        if self.made:
            gone = set(self.made)
            for key in [k for k, v in self.shop.scalars.items() if v in gone]:
                del self.shop.scalars[key]


def _finite(item: Array) -> bool:
    return item.dtype not in FLOATS or bool(np.isfinite(item.data).all())


def _whole(number: Any) -> int:
    """What stands where an integer is wanted: 3 and 3.0, but not 3.5. Raises Declined."""
    if not isinstance(number, int | float) or number != number // 1 or not -(2**63) <= number < 2**63:
        raise Declined(f"{number} is no whole number of 64 bits")
    return int(number)


def _hold(dtype: oir.DataType, data: np.ndarray[Any, Any]) -> None:
    """Raises Declined for numbers that no constant of `dtype` is made of: fractions as integers, more than 64 bits.
    Integers of fewer bits wrap around, as they do in a graph."""
    fits = data.dtype.kind != "O"
    if dtype.is_integer() and data.dtype.kind == "f":
        fits = bool((np.floor(data) == data).all() and (np.abs(data) < 2.0**63).all())
    elif dtype == oir.DataType.INT64 and data.dtype.kind == "u":
        fits = bool((data < 2**63).all())
    if not fits:
        raise Declined(f"a constant of the replacement is no whole number that {dtype.name.lower()} holds")


def _plain(item: Any) -> bool:
    return isinstance(item, bool | int | float | str | Expr | tuple | oir.DataType)


def _variable(known: Schema | None, at: int) -> str | None:
    if known is None or not known.types:
        return None
    if at < len(known.types):
        return known.types[at]
    return known.types[-1] if known.variadic else None


def _only(known: Schema | None, variable: str) -> oir.DataType | None:
    """The dtype of a type that leaves no choice."""
    allowed = known.constraints.get(variable, frozenset({variable})) if known is not None else frozenset[str]()
    names = {"tensor(bool)": oir.DataType.BOOL, "tensor(float)": oir.DataType.FLOAT}
    if "tensor(int64)" in allowed and allowed <= {"tensor(int32)", "tensor(int64)"}:
        return oir.DataType.INT64
    return names.get(next(iter(allowed))) if len(allowed) == 1 else None


def _of_number(item: Any) -> oir.DataType:
    first = item[0] if isinstance(item, tuple) and item else item
    if isinstance(first, bool):
        return oir.DataType.BOOL
    return oir.DataType.FLOAT if isinstance(first, float) else oir.DataType.INT64


def _value_of(attribute: Any) -> Any:
    from trtc.rewrite.attributes import plain

    return plain(attribute) if isinstance(attribute, oir.Attr) else attribute


__all__ = ["ABSENT", "Builder", "Declined", "Workshop"]
