"""Rules compiled: names resolved to slots, patterns expanded in place, options made into alternatives.

What comes out is a small graph of pattern nodes for each rule, which `match` turns into matchers. A named value of a
rule is a `Var`: it is matched once, and stands for the same value of the graph wherever the name is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from trtc.diagnostics import Diagnostic, DiagnosticError, Span
from trtc.ir.schemas import Operator, schemas
from trtc.lang import rules
from trtc.lang.identity import domain_of
from trtc.rewrite.operators import ARITHMETIC, AXES, COMMUTATIVE, VIEWS, Schema

_MAX_DEPTH = 64


@dataclass(slots=True, eq=False)
class Var:
    """A value with a name. Without a definition it is a capture: anything that its type allows."""

    slot: int
    name: str
    span: Span
    definition: Node | None = None
    shared: bool = False


@dataclass(slots=True, eq=False)
class Wildcard:
    """`_`: any value."""

    span: Span


@dataclass(slots=True, eq=False)
class TypedNode:
    inner: Node
    type: rules.Type
    scope: Scope
    span: Span


@dataclass(slots=True, eq=False)
class Number:
    """A literal where a value is expected: a uniform constant. tolerance: None is exact, 0.0 the default of `~`."""

    value: bool | int | float
    tolerance: float | None
    span: Span


@dataclass(slots=True, eq=False)
class Captured:
    """`$p` where a value is expected: the number in a uniform constant, or (`whole`) all integers of a list."""

    slot: int
    whole: bool
    span: Span


@dataclass(slots=True, eq=False)
class Ints:
    """`[0, $e, _]` where a value is expected: a constant (or symbolically known) list of integers.

    axes_of: the slot of the operation whose axes these are, which may count from the end.
    """

    items: tuple[rules.Expr, ...]
    scope: Scope
    span: Span
    axes_of: int | None = None


@dataclass(slots=True, eq=False)
class Op:
    """A node. `attributes` are those that the pattern mentions."""

    domain: str
    op_type: str
    inputs: tuple[Node | None, ...]
    attributes: tuple[tuple[str, rules.Expr], ...]
    rest: bool
    outputs: int
    scope: Scope
    span: Span
    slot: int
    """Which node this is in a match."""
    shared: bool = False

    @property
    def commutative(self) -> bool:
        return self.op_type in COMMUTATIVE and not self.domain and len(self.inputs) == 2


@dataclass(slots=True, eq=False)
class Output:
    """Output `index` of an operation with several."""

    op: Op
    index: int
    span: Span


@dataclass(slots=True, eq=False)
class OptionalInput:
    """`b?`: an input that may be left out."""

    inner: Node
    span: Span


@dataclass(slots=True, eq=False)
class Either:
    """Alternatives in order, each with the captures that it fixes."""

    alternatives: tuple[tuple[Node, tuple[tuple[int, rules.Expr, Scope], ...]], ...]
    span: Span


@dataclass(slots=True, eq=False)
class View:
    """A chain of views. relation: None for any, or (`Reshape`, items), (`Unsqueeze`, axes): how the shapes relate."""

    inner: Node
    relation: tuple[str, rules.Expr | None] | None
    scope: Scope
    span: Span


@dataclass(slots=True, eq=False)
class Guarded:
    """A pattern in the place where it is used: its guards hold there, too."""

    inner: Node
    guards: tuple[rules.Expr, ...]
    scope: Scope
    span: Span


Node: TypeAlias = (
    Var | Wildcard | TypedNode | Number | Captured | Ints | Op | Output | OptionalInput | Either | View | Guarded
)


@dataclass(slots=True, eq=False)
class Scope:
    """What the names of one pattern or rule are. Values are pattern nodes, captures and dims are slots."""

    environment: rules.Environment
    values: dict[str, Node] = field(default_factory=dict[str, Node])
    captures: dict[str, int] = field(default_factory=dict[str, int])
    dims: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(slots=True, eq=False)
class Program:
    """A compiled rewrite. roots: operators that the first target may be."""

    rule: rules.Rewrite
    scope: Scope
    targets: tuple[Var, ...]
    values: int
    captures: int
    dims: int
    ops: int
    names: tuple[str, ...]
    benefit: int
    """The rule's own, or the number of operations that are always there."""


def compile_rule(rule: rules.Rewrite) -> Program:
    """Compile a rewrite.

    Raises:
        DiagnosticError: T0340 for what the checker of the language cannot know.
    """
    compiler = Compiler(rule.environment)
    scope = compiler.scope()
    compiler.equations(rule.equations, scope)
    targets: list[Var] = []
    for target in rule.targets:
        node = scope.values.get(target.name)
        if not isinstance(node, Var) or node.definition is None:
            raise _fault(f"`{target.name}` is not a value that the match defines", target.span)
        targets.append(node)
    benefit = rule.benefit if rule.benefit is not None else sum(least(t) for t in targets[:1])
    return Program(
        rule,
        scope,
        tuple(targets),
        compiler.values,
        compiler.captures,
        compiler.dims,
        compiler.ops,
        tuple(compiler.names),
        benefit,
    )


_COMPILED: dict[int, tuple[rules.Rewrite, Program]] = {}


def compiled(rule: rules.Rewrite) -> Program:
    """A rewrite, compiled once."""
    found = _COMPILED.get(id(rule))
    if found is None or found[0] is not rule:
        found = _COMPILED[id(rule)] = (rule, compile_rule(rule))
    return found[1]


def _schema(op_type: str, domain: str) -> Operator | Schema | None:
    """Names of inputs and attributes. Those of ai.onnx are at hand without importing onnx."""
    if not domain:
        return schemas().get(op_type)
    from trtc.rewrite.operators import schema

    return schema(op_type, domain)


def _fault(message: str, span: Span) -> DiagnosticError:
    return DiagnosticError(Diagnostic("T0340", message, span=span))


def least(node: Node | None, seen: set[int] | None = None) -> int:
    """How many operations a pattern has at least; one that is used twice counts once."""
    seen = set() if seen is None else seen
    if isinstance(node, Var):
        if node.slot in seen:
            return 0
        seen.add(node.slot)
        return least(node.definition, seen)
    if isinstance(node, TypedNode | Guarded | View):
        return least(node.inner, seen)
    if isinstance(node, Output):
        return least(node.op, seen)
    if isinstance(node, Op):
        if -1 - node.slot in seen:
            return 0
        seen.add(-1 - node.slot)
        return 1 + sum(least(i, seen) for i in node.inputs)
    if isinstance(node, Either):
        found = [(least(alternative, seen_ := set(seen)), seen_) for alternative, _ in node.alternatives]
        count, of_least = min(found, key=lambda pair: pair[0])
        seen |= of_least
        return count
    return 0


class Compiler:
    """Gives every name of a rule and of the patterns that it uses a slot of its own."""

    def __init__(self, environment: rules.Environment) -> None:
        self.environment = environment
        self.values = 0
        self.captures = 0
        self.dims = 0
        self.ops = 0
        self.names: list[str] = []
        self._depth = 0

    def scope(self, environment: rules.Environment | None = None) -> Scope:
        return Scope(environment or self.environment)

    # ---- names

    def var(self, name: str, span: Span) -> Var:
        self.values += 1
        self.names.append(name)
        return Var(self.values - 1, name, span)

    def capture(self, name: str, scope: Scope) -> int:
        if name not in scope.captures:
            scope.captures[name] = self.captures
            self.captures += 1
        return scope.captures[name]

    def dim(self, name: str, scope: Scope) -> int:
        if name not in scope.dims:
            scope.dims[name] = self.dims
            self.dims += 1
        return scope.dims[name]

    def type(self, type: rules.Type, scope: Scope) -> None:
        """Gives the dims of a type slots."""
        from trtc.lang import syntax

        def visit(expression: Any) -> None:
            if isinstance(expression, syntax.Reference):
                if expression.text != "_" and expression.text not in scope.environment.params:
                    self.dim(expression.text, scope)
            elif isinstance(expression, syntax.Binary):
                visit(expression.left)
                visit(expression.right)
            elif isinstance(expression, syntax.Unary):
                visit(expression.operand)

        for dim in type.dims or ():
            visit(dim)

    # ---- equations

    def equations(self, equations: Iterable[rules.Equation], scope: Scope) -> None:
        """Compile equations in whatever order they stand: every target first has its name."""
        pending: list[rules.Equation] = []
        for equation in equations:
            for target in equation.targets:
                if target.capture:
                    self.capture(target.name, scope)
                elif target.name != "_":
                    var = self.var(target.name, target.span)
                    var.shared = equation.shared
                    existing = scope.values.get(target.name)
                    if isinstance(existing, Var) and existing.definition is None:
                        existing.shared = equation.shared  # a target that a caller named
                    else:
                        scope.values[target.name] = var
            pending.append(equation)
        for equation in pending:
            self._equation(equation, scope)

    def _equation(self, equation: rules.Equation, scope: Scope) -> None:
        targets = equation.targets
        plain = [t for t in targets if not t.capture]
        value = equation.value
        if isinstance(value, rules.Apply):
            pattern = scope.environment.patterns.get(value.callee)
            if pattern is not None:
                self._define_all(targets, self._called(value, pattern, scope, targets), scope, equation)
                return
            if len(plain) > 1:
                op = self._op(value, scope, len(plain))
                op.shared = equation.shared
                outputs: list[Node | None] = [Output(op, at, value.span) for at in range(len(plain))]
                self._define_all(targets, outputs, scope, equation)
                return
        node = self.expression(value, scope)
        if isinstance(node, Op):
            node.shared = equation.shared
        self._define_all(targets, [node], scope, equation)

    def _define_all(
        self, targets: tuple[rules.Target_, ...], nodes: list[Node | None], scope: Scope, equation: rules.Equation
    ) -> None:
        values = [t for t in targets if not t.capture]
        for target, node in zip(values, nodes, strict=False):
            if target.name == "_" or node is None:
                continue
            var = scope.values[target.name]
            assert isinstance(var, Var)
            var.definition = node
            var.shared = var.shared or equation.shared

    # ---- expressions

    def expression(self, value: rules.Expr, scope: Scope, *, whole: bool = False) -> Node:
        """`whole`: where a list of integers may stand (an input given by its name)."""
        if isinstance(value, rules.Value):
            return self._value(value, scope)
        if isinstance(value, rules.Literal_):
            if isinstance(value.value, str):
                raise _fault("a text is not a value of the graph", value.span)
            return Number(value.value, None, value.span)
        if isinstance(value, rules.Approximate):
            return Number(value.value, value.tolerance if value.tolerance is not None else 0.0, value.span)
        if isinstance(value, rules.Capture):
            return Captured(self.capture(value.name, scope), whole, value.span)
        if isinstance(value, rules.Items):
            self._captures_in(value, scope)
            return Ints(value.items, scope, value.span)
        if isinstance(value, rules.Typed):
            self.type(value.type, scope)
            return TypedNode(self.expression(value.operand, scope), value.type, scope, value.span)
        if isinstance(value, rules.Prefix):
            return self._prefix(value, scope)
        if isinstance(value, rules.Infix):
            if value.operator not in ARITHMETIC:
                raise _fault(f"`{value.operator}` is no operation of a graph", value.span)
            constant = self._constant(value, scope)
            if constant is not None:
                return Number(constant, None, value.span)
            inputs = (self.expression(value.left, scope), self.expression(value.right, scope))
            return self._new_op("", ARITHMETIC[value.operator], inputs, (), False, scope, value.span)
        if isinstance(value, rules.Apply):
            return self._apply(value, scope)
        raise _fault("this is not an operation", value.span)

    def _captures_in(self, value: rules.Expr, scope: Scope) -> None:
        if isinstance(value, rules.Capture):
            self.capture(value.name, scope)
        elif isinstance(value, rules.Items):
            for item in value.items:
                self._captures_in(item, scope)

    def _constant(self, value: rules.Expr, scope: Scope) -> bool | int | float | None:
        """Arithmetic over literals and params is a literal."""
        if isinstance(value, rules.Literal_) and not isinstance(value.value, str):
            return value.value
        if isinstance(value, rules.Value) and value.name in scope.environment.params and value.name not in scope.values:
            found = scope.environment.params[value.name]
            return found if isinstance(found, int | float) else None
        if isinstance(value, rules.Prefix) and value.operator in "+-":
            operand = self._constant(value.operand, scope)
            return None if operand is None else -operand if value.operator == "-" else operand
        if isinstance(value, rules.Infix) and value.operator in "+-*/":
            left, right = self._constant(value.left, scope), self._constant(value.right, scope)
            if left is None or right is None:
                return None
            if value.operator == "/":
                return left / right if right else None
            return {"+": left + right, "-": left - right, "*": left * right}[value.operator]
        return None

    def _prefix(self, value: rules.Prefix, scope: Scope) -> Node:
        constant = self._constant(value, scope)
        if constant is not None:
            return Number(constant, None, value.span)
        if value.operator == "-" and isinstance(value.operand, rules.Approximate):
            inner = value.operand
            return Number(-inner.value, inner.tolerance if inner.tolerance is not None else 0.0, value.span)
        if value.operator == "-":
            inputs = (self.expression(value.operand, scope),)
            return self._new_op("", "Neg", inputs, (), False, scope, value.span)
        if value.operator == "!":
            inputs = (self.expression(value.operand, scope),)
            return self._new_op("", "Not", inputs, (), False, scope, value.span)
        return self.expression(value.operand, scope)

    def _value(self, value: rules.Value, scope: Scope) -> Node:
        if value.name == "_":
            node: Node = Wildcard(value.span)
        elif value.name in scope.values:
            node = scope.values[value.name]
        elif value.name in scope.environment.params and value.type is None:
            found = scope.environment.params[value.name]
            if not isinstance(found, int | float):
                raise _fault(f"param `{value.name}` is not a number", value.span)
            return Number(found, None, value.span)
        else:
            node = scope.values[value.name] = self.var(value.name, value.span)
        if value.type is not None:
            self.type(value.type, scope)
            node = TypedNode(node, value.type, scope, value.span)
        return OptionalInput(node, value.span) if value.optional else node

    def _apply(self, call: rules.Apply, scope: Scope) -> Node:
        if call.callee == "either":
            return Either(tuple((self.expression(i, scope), ()) for i in call.inputs), call.span)
        if call.callee == "view":
            return View(self.expression(call.inputs[0], scope), None, scope, call.span)
        pattern = scope.environment.patterns.get(call.callee)
        if pattern is not None:
            found = self._called(call, pattern, scope, ())[0]
            assert found is not None
            return found
        if call.callee in VIEWS and not call.rest:
            relation = self._relation(call, scope)
            if relation is not None:
                inner = self.expression(call.inputs[0], scope)
                node: Node = View(inner, relation, scope, call.span)
                return Either(((node, ()), (inner, ())), call.span) if call.optional else node
        op = self._op(call, scope, 1)
        if not call.optional:
            return op
        through = op.inputs[0]
        assert through is not None
        return Either(((op, ()), (through, ())), call.span)

    def _relation(self, call: rules.Apply, scope: Scope) -> tuple[str, rules.Expr | None] | None:
        """How the shapes of a view relate; None where the operator is to be matched as itself."""
        names = {"Reshape": "shape", "Squeeze": "axes", "Unsqueeze": "axes", "Flatten": "axis"}
        given = {g.name.text: g.value for g in call.given}
        said = call.inputs[1] if len(call.inputs) > 1 else given.pop(names[call.callee], None)
        if isinstance(said, rules.Capture):
            self.capture(said.name, scope)
            return None
        if said is None and call.callee == "Squeeze":
            return None
        if isinstance(said, rules.Value):
            return None
        if said is not None:
            self._captures_in(said, scope)
            self._dims_in(said, scope)
        return call.callee, said

    def _dims_in(self, value: rules.Expr, scope: Scope) -> None:
        """Names in a list of sizes are dims."""
        if isinstance(value, rules.Items):
            for item in value.items:
                self._dims_in(item, scope)
        elif isinstance(value, rules.Value) and value.name != "_":
            if value.name not in scope.environment.params:
                self.dim(value.name, scope)
        elif isinstance(value, rules.Infix):
            self._dims_in(value.left, scope)
            self._dims_in(value.right, scope)

    def _op(self, call: rules.Apply, scope: Scope, outputs: int) -> Op:
        domain, _, op_type = call.callee.rpartition(".")
        plugin = scope.environment.plugins.get(call.callee)
        if plugin is not None:
            from trtc.ir.plugins import DOMAIN

            domain = domain_of(plugin) if isinstance(plugin, rules.Operator) else DOMAIN
            op_type = plugin.name.text
        known = _schema(op_type, domain)
        inputs: list[Node | None] = [self.expression(i, scope) for i in call.inputs]
        attributes: list[tuple[str, rules.Expr]] = []
        for given in call.given:
            name = given.name.text
            if known is not None and name not in known.attributes and name in known.inputs:
                at = known.inputs.index(name)
                while len(inputs) <= at:
                    inputs.append(None)
                self._dims_in(given.value, scope) if isinstance(given.value, rules.Items) else None
                inputs[at] = self.expression(given.value, scope, whole=True)
            else:
                self._captures_in(given.value, scope)
                attributes.append((name, given.value))
        if plugin is not None and not call.rest:
            said = {name for name, _ in attributes}
            attributes += [(f.name.text, f.value) for f in plugin.fields if f.name.text not in said and _plain(f.value)]
        return self._new_op(
            domain,
            op_type,
            tuple(inputs),
            tuple(attributes),
            call.rest or call.spread is not None,
            scope,
            call.span,
            outputs=outputs,
        )

    def _new_op(
        self,
        domain: str,
        op_type: str,
        inputs: tuple[Node | None, ...],
        attributes: tuple[tuple[str, rules.Expr], ...],
        rest: bool,
        scope: Scope,
        span: Span,
        outputs: int = 1,
    ) -> Op:
        self.ops += 1
        known = _schema(op_type, domain)
        if op_type in AXES and known is not None:
            name = AXES[op_type][0]
            at = known.inputs.index(name) if name in known.inputs else len(inputs)
            axes = inputs[at] if at < len(inputs) else None
            if isinstance(axes, Ints):
                axes.axes_of = self.ops - 1
        return Op(domain, op_type, inputs, attributes, rest, outputs, scope, span, self.ops - 1)

    # ---- patterns within patterns

    def _called(
        self, call: rules.Apply, pattern: rules.Pattern, outer: Scope, targets: tuple[rules.Target_, ...]
    ) -> list[Node | None]:
        """The nodes of the pattern's values, in order, in the place of a call."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _fault("patterns use each other too deeply", call.span)
        scope = self.scope(pattern.environment)
        arguments: list[Node] = []
        for parameter, argument in zip(pattern.parameters, call.inputs, strict=True):
            node = self.expression(argument, outer)
            if not isinstance(node, Var | Wildcard | OptionalInput | Number | Captured | Ints):
                # Used more than once in the pattern, it is one value all the same.
                held = self.var(parameter.name.text, argument.span)
                held.definition = node
                node = held
            arguments.append(node)
            bare = node.inner if isinstance(node, OptionalInput) else node
            if parameter.type.dtype is not None or parameter.type.dims is not None or parameter.type.const:
                self.type(parameter.type, scope)
                bare = TypedNode(bare, parameter.type, scope, parameter.span)
            if parameter.optional or isinstance(node, OptionalInput):
                bare = OptionalInput(bare, parameter.span)
            scope.values[parameter.name.text] = bare
        defaults: list[tuple[int, rules.Expr, Scope]] = []
        self._name_captures(call, pattern, targets, outer, scope, defaults)
        self.equations(pattern.equations, scope)
        self._depth -= 1
        made: list[Node | None] = []
        for target in pattern.targets:
            if target.capture:
                continue
            node = scope.values[target.name]
            if not made:
                node = Guarded(node, pattern.guards, scope, call.span) if pattern.guards else node
                if call.optional:
                    node = Either(((node, ()), (arguments[0], tuple(defaults))), call.span)
            made.append(node)
        return made

    def _name_captures(
        self,
        call: rules.Apply,
        pattern: rules.Pattern,
        targets: tuple[rules.Target_, ...],
        outer: Scope,
        scope: Scope,
        defaults: list[tuple[int, rules.Expr, Scope]],
    ) -> None:
        """The captures that a pattern gives are those that its caller names; the rest are its own."""
        outside = [t for t in targets if t.capture]
        inside = [t for t in pattern.targets if t.capture]
        for at, target in enumerate(inside):
            if at < len(outside):
                scope.captures[target.name] = self.capture(outside[at].name, outer)
            else:
                self.capture(target.name, scope)
            if target.default is not None:
                defaults.append((scope.captures[target.name], target.default, scope))


def _plain(value: rules.Expr) -> bool:
    """Whether the default of a field is the same at every call."""
    items = value.items if isinstance(value, rules.Items) else (value,)
    return all(isinstance(item, rules.Literal_) for item in items)


def roots(node: Node | None) -> frozenset[tuple[str, str]] | None:
    """The operators whose result a value may be; None: any."""
    if isinstance(node, Var):
        return roots(node.definition) if node.definition is not None else None
    if isinstance(node, TypedNode | Guarded):
        return roots(node.inner)
    if isinstance(node, Op):
        return frozenset({(node.domain, node.op_type)})
    if isinstance(node, Output):
        return roots(node.op)
    if isinstance(node, View):
        inner = roots(node.inner)
        return None if inner is None else inner | {("", name) for name in VIEWS}
    if isinstance(node, Either):
        found: frozenset[tuple[str, str]] = frozenset()
        for alternative, _ in node.alternatives:
            one = roots(alternative)
            if one is None:
                return None
            found |= one
        return found
    return None


def heads(node: Node | None) -> list[Op] | None:
    """The operations that may make a value, followed through names and alternatives; None: anything may."""
    if isinstance(node, Var):
        return heads(node.definition) if node.definition is not None else None
    if isinstance(node, TypedNode | Guarded):
        return heads(node.inner)
    if isinstance(node, Op):
        return [node]
    if isinstance(node, Output):
        return [node.op]
    if isinstance(node, Either):
        found: list[Op] = []
        for alternative, _ in node.alternatives:
            one = heads(alternative)
            if one is None:
                return None
            found += one
        return found
    return None


def compile_all(wanted: Iterable[rules.Rewrite]) -> list[Program]:
    """Programs in the order in which they run: by benefit, then as declared."""
    programs = [compile_rule(rule) for rule in wanted]
    return sorted(programs, key=lambda p: -p.benefit)


def parameters(scope: Scope) -> Mapping[str, Any]:
    """The params that a scope sees."""
    return scope.environment.params
