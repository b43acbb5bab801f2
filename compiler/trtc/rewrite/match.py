"""Matching: a pattern as a tree of small closures with continuations, so that every choice can be taken back.

A matcher is called with the state, a value of the graph (None: an input that is not given) and what is to be matched
after it; it answers whether all of that fits, and leaves the state bound when it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import onnx_ir as oir

from trtc.lang import rules
from trtc.rewrite import program as p
from trtc.rewrite.attributes import attributes_matcher
from trtc.rewrite.constants import DTYPES, FLOATS, INTEGERS, relative_ulp, rounded
from trtc.rewrite.evaluate import Unbound, evaluate
from trtc.rewrite.operators import AXES, BROADCASTING, VIEWS
from trtc.rewrite.shapes import items_match, related, sure, type_matches
from trtc.rewrite.state import State

Then: TypeAlias = Callable[[], bool]
Matcher: TypeAlias = "Callable[[State, oir.Value | None, Then], bool]"


def matcher(node: p.Node) -> Matcher:
    """The matcher of a pattern node. Nodes that are used in several places share theirs."""
    return _Maker().make(node)


class _Maker:
    def __init__(self) -> None:
        self._made: dict[int, Matcher] = {}
        self._making: dict[int, list[Matcher]] = {}

    def make(self, node: p.Node) -> Matcher:
        found = self._made.get(id(node))
        if found is not None:
            return found
        made = self._new(node)
        self._made[id(node)] = made
        return made

    def _new(self, node: p.Node) -> Matcher:
        if isinstance(node, p.Var):
            return self._var(node)
        if isinstance(node, p.Op):
            return self._op(node, 0)
        if isinstance(node, p.Output):
            return self._op(node.op, node.index)
        if isinstance(node, p.TypedNode):
            return self._typed(node)
        if isinstance(node, p.Number):
            return _number(node)
        if isinstance(node, p.Captured):
            return _captured(node)
        if isinstance(node, p.Ints):
            return _ints(node)
        if isinstance(node, p.OptionalInput):
            return self._optional(node)
        if isinstance(node, p.Either):
            return self._either(node)
        if isinstance(node, p.View):
            return self._view(node)
        if isinstance(node, p.Guarded):
            return self._guarded(node)
        return _anything

    def _var(self, node: p.Var) -> Matcher:
        slot, definition, name, span = node.slot, node.definition, node.name, node.span
        inner = self.make(definition) if definition is not None else None

        def match(state: State, value: oir.Value | None, then: Then) -> bool:
            bound = state.values[slot]
            if bound is not None:
                if bound is value or _same_constant(state, bound, value):
                    return then()
                return state.miss(
                    span, value, lambda: f"`{name}` is {_name(bound)} already, and here stands {_what(state, value)}", 1
                )
            if value is None:
                return state.miss(span, None, lambda: f"there is no input for `{name}`", 1)
            state.bind(state.values, slot, value)
            if inner is None:
                return then()
            return inner(state, value, then)

        return match

    def _op(self, node: p.Op, index: int) -> Matcher:
        domain, op_type, slot, span, shared = node.domain, node.op_type, node.slot, node.span, node.shared
        inputs = tuple(None if i is None else self.make(i) for i in node.inputs)
        count, outputs = len(inputs), node.outputs
        attributes = attributes_matcher(node)
        variadic = op_type in ("Concat", "Sum", "Max", "Min", "Mean")
        swapped = (inputs[1], inputs[0]) if node.commutative else None
        broadcasts = op_type in BROADCASTING and not domain and any(_is_scalar(i) for i in node.inputs)

        def feed(
            state: State, given: tuple[Matcher | None, ...], values: Sequence[oir.Value | None], at: int, then: Then
        ) -> bool:
            if at == len(given):
                return then()
            one = given[at]
            value = values[at] if at < len(values) else None
            if one is None:
                if value is not None:
                    return state.miss(span, value, lambda: f"input {at + 1} of {op_type} is given: {_name(value)}", 1)
                return feed(state, given, values, at + 1, then)
            return one(state, value, lambda: feed(state, given, values, at + 1, then))

        def match(state: State, value: oir.Value | None, then: Then) -> bool:
            made = value.producer() if value is not None else None
            if made is None or made.op_type != op_type or made.domain != domain:
                return state.miss(span, value, lambda: f"the pattern needs {op_type}, found {_what(state, value)}")
            state.step()
            if value.index() != index:  # pyright: ignore[reportOptionalMemberAccess]
                return state.miss(span, value, lambda: f"this is output {value.index()} of {op_type}", 1)  # pyright: ignore[reportOptionalMemberAccess]
            bound = state.ops[slot]
            if bound is not None:
                return (
                    then()
                    if bound is made
                    else state.miss(span, value, lambda: f"it is another {op_type} than before: `{made.name}`", 1)
                )
            given = made.inputs
            if len(given) > count and (variadic or any(v is not None for v in given[count:])):
                return state.miss(span, value, lambda: f"{op_type} has {len(given)} inputs, the pattern {count}", 1)
            if len(given) < count and variadic and any(i is not None for i in inputs[len(given) :]):
                return state.miss(span, value, lambda: f"{op_type} has {len(given)} inputs, the pattern {count}", 1)
            if op_type == "Split" and len(made.outputs) != outputs:
                return state.miss(
                    span, value, lambda: f"Split has {len(made.outputs)} outputs, the pattern {outputs}", 1
                )
            if broadcasts and (wide := _widening(state, given)) is not None:
                return state.miss(
                    span, wide, lambda: f"{_name(wide)} is one number, but makes the result of {op_type} larger", 1
                )
            if state.nodes and made.graph is not state.nodes[0][0].graph:
                return state.miss(span, value, lambda: f"{op_type} `{made.name}` is in another graph", 1)
            mark = state.mark()
            if not attributes(state, made):
                state.undo(mark)
                return False
            state.bind(state.ops, slot, made)
            state.nodes.append((made, shared))
            if swapped is None:
                if feed(state, inputs, given, 0, then):
                    return True
            else:
                inner = state.mark()
                given = _in_order(state, given)
                if feed(state, inputs, given, 0, then):
                    return True
                state.undo(inner)
                if state.trace is None:
                    if feed(state, swapped, given, 0, then):
                        return True
                # Whoever asks why sees the operands in the order of the pattern, the first of which may fit.
                elif feed(state, inputs, given[::-1], 0, then):
                    return True
            state.undo(mark)
            return False

        return match

    def _typed(self, node: p.TypedNode) -> Matcher:
        type, scope, span = node.type, node.scope, node.span
        inner = self.make(node.inner)
        classes = _dtypes(type.dtype)
        plain = type.dims is None

        # The dims are compared when what is inside has bound what it can: but a type fails early more often.
        def match(state: State, value: oir.Value | None, then: Then) -> bool:
            if value is None:
                return inner(state, value, then)
            if classes is not None and state.module.dtype(value) not in classes:
                return state.miss(
                    span, value, lambda: f"{_name(value)} is {_dtype(state, value)}, the pattern needs {type.dtype}", 1
                )
            if type.const and not state.constants.is_constant(value):
                return state.miss(span, value, lambda: f"the pattern needs a constant, found {_what(state, value)}")
            if plain:
                return inner(state, value, then)
            mark = state.mark()
            late = type_matches(state, value, type, scope, span)
            if late is None:
                state.undo(mark)
                return False
            if inner(state, value, (lambda: late() and then()) if late is not sure else then):
                return True
            state.undo(mark)
            return False

        return match

    def _optional(self, node: p.OptionalInput) -> Matcher:
        inner = self.make(node.inner)

        def match(state: State, value: oir.Value | None, then: Then) -> bool:
            return then() if value is None else inner(state, value, then)

        return match

    def _either(self, node: p.Either) -> Matcher:
        alternatives = tuple((self.make(one), defaults) for one, defaults in node.alternatives)

        def match(state: State, value: oir.Value | None, then: Then) -> bool:
            for one, defaults in alternatives:
                mark = state.mark()
                if _set(state, defaults) and one(state, value, then):
                    return True
                state.undo(mark)
            return False

        return match

    def _view(self, node: p.View) -> Matcher:
        inner = self.make(node.inner)
        relation, scope, span = node.relation, node.scope, node.span

        def match(state: State, value: oir.Value | None, then: Then) -> bool:
            chain: list[oir.Node] = []
            ends = [value]
            while value is not None:
                made = value.producer()
                if made is None or made.op_type not in VIEWS or made.domain or made in chain:
                    break
                chain.append(made)
                value = made.inputs[0]
                ends.append(value)
            first = ends[0]
            for count in range(len(chain), -1, -1):
                end = ends[count]
                mark = state.mark()
                # What is a view is left standing where something else uses it.
                state.nodes.extend((made, True) for made in chain[:count])
                if relation is None:
                    if inner(state, end, then):
                        return True
                elif inner(
                    state, end, lambda end=end, said=relation: related(state, first, end, said, scope, span) and then()
                ):
                    return True
                state.undo(mark)
            return False

        return match

    def _guarded(self, node: p.Guarded) -> Matcher:
        inner = self.make(node.inner)
        guards = tuple((guard, node.scope) for guard in node.guards)

        def match(state: State, value: oir.Value | None, then: Then) -> bool:
            mark = state.mark()
            state.guards.extend(guards)
            if inner(state, value, then):
                return True
            state.undo(mark)
            return False

        return match


def _is_scalar(node: p.Node | None) -> bool:
    """Whether a pattern takes a constant there for the one number that it is filled with."""
    while isinstance(node, p.TypedNode | p.Guarded | p.OptionalInput):
        node = node.inner
    if isinstance(node, p.Either):
        return any(_is_scalar(one) for one, _ in node.alternatives)
    if isinstance(node, p.Var):
        return _is_scalar(node.definition)
    return isinstance(node, p.Number | p.Captured)


def _widening(state: State, given: Sequence[oir.Value | None]) -> oir.Value | None:
    """An operand filled with one number that is not just that: the others are repeated to its shape, which a sum over
    the result would count. None where there is no such operand, or nothing but such."""
    values = [v for v in given if v is not None]
    filled = [v for v in values if state.constants.uniform(v) is not None]
    shapes = [state.module.shape(v) for v in values if v not in filled]
    if not shapes:
        return None
    for value in filled:
        shape = state.module.shape(value)
        if not shape:
            continue
        for at, size in enumerate(reversed(shape), 1):
            if any(other is None for other in shapes):
                if size != 1:
                    return value
            elif not any(at <= len(other) and size in (1, other[-at]) for other in shapes if other is not None):
                return value
    return None


def _in_order(state: State, given: Sequence[oir.Value | None]) -> Sequence[oir.Value | None]:
    """Operands in an order of their own, whatever that in the file: where both orders match, always the same wins."""
    if len(given) != 2 or given[0] is None or given[1] is None:
        return given
    first, second = ((state.constants.is_constant(v), v.name or "") for v in given if v is not None)
    return given if first <= second else (given[1], given[0])


def _anything(state: State, value: oir.Value | None, then: Then) -> bool:
    return value is not None and then()


def _number(node: p.Number) -> Matcher:
    wanted, tolerance, span = node.value, node.tolerance, node.span

    def match(state: State, value: oir.Value | None, then: Then) -> bool:
        found = state.constants.uniform(value) if value is not None else None
        if found is None or isinstance(found, bool) != isinstance(wanted, bool):
            return state.miss(
                span, value, lambda: f"the pattern needs the constant {wanted}, found {_what(state, value)}"
            )
        dtype = state.module.dtype(value) if value is not None else None
        if dtype in FLOATS and dtype is not None:
            if tolerance is None:
                fits = found == rounded(wanted, dtype)
            else:
                fits = abs(found - wanted) <= (tolerance or max(1e-6, 2 * relative_ulp(dtype))) * abs(wanted)
        else:
            fits = found == wanted
        return (
            then()
            if fits
            else state.miss(span, value, lambda: f"the constant is {found:.9g}, the pattern needs {span.text}", 1)
        )

    return match


def _captured(node: p.Captured) -> Matcher:
    slot, whole, span = node.slot, node.whole, node.span

    def match(state: State, value: oir.Value | None, then: Then) -> bool:
        found: Any = None
        if value is not None:
            if whole:
                tensor_shape = state.module.shape(value)
                if tensor_shape is not None and len(tensor_shape) == 1:
                    found = state.constants.ints(value)
                    if found is None:
                        found = state.module.fact(value).value
            if found is None:
                found = state.constants.uniform(value)
        if found is None:
            return state.miss(span, value, lambda: f"the pattern needs a constant number, found {_what(state, value)}")
        bound = state.captures[slot]
        if bound is not None:
            if bound == found:
                return then()
            return state.miss(span, value, lambda: f"`{span.text}` is {bound} already, and here it is {found}", 1)
        state.bind(state.captures, slot, found)
        return then()

    return match


def _ints(node: p.Ints) -> Matcher:
    items, scope, span, op = node.items, node.scope, node.span, node.axes_of

    def match(state: State, value: oir.Value | None, then: Then) -> bool:
        found: Any = state.constants.ints(value) if value is not None else None
        if found is None and value is not None:
            found = state.module.fact(value).value
        if found is None:
            return state.miss(span, value, lambda: f"the pattern needs known integers, found {_what(state, value)}")
        rank = _axes_rank(state, op)
        mark = state.mark()
        if items_match(state, found, items, scope, rank):
            return then()
        state.undo(mark)
        return state.miss(span, value, lambda: f"{_name(value)} is {list(found)}, the pattern needs {span.text}", 1)

    return match


def _axes_rank(state: State, op: int | None) -> int | None:
    """The rank in which an operation counts its axes."""
    node = state.ops[op] if op is not None else None
    if node is None:
        return None
    reference = node.outputs[0] if AXES[node.op_type][1] else node.inputs[0]
    shape = state.module.shape(reference) if reference is not None else None
    return None if shape is None else len(shape)


def _set(state: State, defaults: tuple[tuple[int, rules.Expr, p.Scope], ...]) -> bool:
    """Bind the captures that an alternative fixes."""
    for slot, value, scope in defaults:
        try:
            number = evaluate(state, value, scope)
        except Unbound:
            return False
        if state.captures[slot] is None:
            state.bind(state.captures, slot, number)
        elif state.captures[slot] != number:
            return False
    return True


def _same_constant(state: State, one: oir.Value, other: oir.Value | None) -> bool:
    """Whether two values are the same small constant."""
    if other is None or not state.constants.is_constant(one) or not state.constants.is_constant(other):
        return False
    number = state.constants.uniform(one)
    if number is None or number != state.constants.uniform(other):
        return False
    return state.module.dtype(one) == state.module.dtype(other) and state.module.shape(one) == state.module.shape(other)


def _dtypes(word: str | None) -> frozenset[oir.DataType] | None:
    if word is None:
        return None
    if word == "float":
        return FLOATS
    if word == "int":
        return INTEGERS
    return frozenset({DTYPES[word]})


def _dtype(state: State, value: oir.Value | None) -> str:
    found = state.module.dtype(value) if value is not None else None
    return "not known" if found is None else found.name.lower()


def _what(state: State, value: oir.Value | None) -> str:
    """What stands where something else was wanted."""
    if value is None:
        return "no input"
    if state.constants.is_constant(value):
        number = state.constants.uniform(value)
        return f"the constant {number:.9g}" if number is not None else f"a constant (`{value.name}`)"
    made = value.producer()
    return f"an input of the graph (`{value.name}`)" if made is None else f"{made.op_type} (`{made.name}`)"


def _name(value: oir.Value | None) -> str:
    return "a value that is not given" if value is None else f"`{value.name}`"


__all__ = ["Matcher", "Then", "matcher"]
