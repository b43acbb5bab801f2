"""Operators that work element by element: activations, arithmetic, comparisons, logic, casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.broadcast import broadcast
from trtc.ir.infer.fact import Fact, Ratio
from trtc.ir.infer.op import Op, Shape, rule
from trtc.ir.infer.values import FLOATS, INTEGERS, elementwise, fit, realwise, sign, truncated

BOOL = oir.DataType.BOOL


# fmt: off
_SAME = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Celu", "Cos", "Cosh", "Elu",
    "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "Hardmax", "LeakyRelu", "Log", "LogSoftmax",
    "Mish", "Reciprocal", "Relu", "Selu", "Shrink", "Sigmoid", "Sin", "Sinh", "Softmax", "Softplus",
    "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu",
)
# fmt: on


@rule(*_SAME)
def same(op: Op) -> Fact:
    fact = op.fact(0)
    if op.node.op_type in ("Softmax", "LogSoftmax", "Hardmax") and fact.shape is not None:
        op.axis("axis", len(fact.shape), -1)
    return Fact(fact.dtype, fact.shape)


@rule("Identity")
def identity(op: Op) -> Fact:
    return op.fact(0)


# Operators whose result on integers is known in closed form.


@rule("Abs", "Neg", "Sign", "Floor", "Ceil", "Round")
def unary(op: Op) -> Fact:
    fact, name = op.fact(0), op.node.op_type
    value = real = None
    if fact.value is not None:
        value = fit(fact.dtype, elementwise(_UNARY[name], [fact], fact.shape))
    elif fact.real is not None and name in _REAL_UNARY:
        real = realwise(_REAL_UNARY[name], [fact], fact.shape)
    return Fact(fact.dtype, fact.shape, value, real=real)


def _abs(a: Dim) -> Dim | None:
    at = sign(a)
    return None if at is None else a * at


def _sign(a: Dim) -> Dim | None:
    low, high = dims.bounds(a)
    if low is not None and low > 0:
        return 1
    return -1 if high is not None and high < 0 else 0 if a == 0 else None


_UNARY: dict[str, Callable[[Dim], Dim | None]] = {
    "Abs": _abs,
    "Neg": lambda a: -a,
    "Sign": _sign,
    "Floor": lambda a: a,
    "Ceil": lambda a: a,
    "Round": lambda a: a,
}
_REAL_UNARY: dict[str, Callable[[Ratio], Ratio | None]] = {
    "Neg": lambda a: (-a[0], a[1]),
    "Floor": lambda a: (dims.floordiv(a[0], a[1]), 1),
    "Ceil": lambda a: (dims.ceildiv(a[0], a[1]), 1),
    "Round": lambda a: a if a[1] == 1 else None,
}


@rule("Add", "Sub", "Mul", "Div", "Mod", inputs=2)
def arithmetic(op: Op) -> Fact:
    dtype, shape, facts = op.same_dtype(0, 1), broadcast(op, [op.shape(0), op.shape(1)]), op.facts
    a, b = facts[0], facts[1]
    name = op.node.op_type
    value = real = None
    if a.value is not None and b.value is not None:
        value = fit(dtype, elementwise(_c_mod if name == "Mod" and op.int("fmod", 0) else _BINARY[name], facts, shape))
    elif a.real is not None and b.real is not None and name in _REAL_BINARY:
        real = realwise(_REAL_BINARY[name], facts, shape)
    return Fact(dtype, shape, value, real=real)


def _c_mod(a: Dim, b: Dim) -> Dim | None:
    return _mod(a, b) if sign(a) == 1 and sign(b) == 1 else None


def _mod(a: Dim, b: Dim) -> Dim | None:
    low, _ = dims.bounds(b)
    return dims.mod(a, b) if (isinstance(b, int) and b != 0) or (low is not None and low > 0) else None


_BINARY: dict[str, Callable[[Dim, Dim], Dim | None]] = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": truncated,
    "Mod": _mod,
    "Max": dims.maximum,
    "Min": dims.minimum,
}


def _real_add(a: Ratio, b: Ratio) -> Ratio | None:
    return _short(a[0] * b[1] + b[0] * a[1], a[1] * b[1])


def _real_mul(a: Ratio, b: Ratio) -> Ratio | None:
    return _short(a[0] * b[0], a[1] * b[1])


def _real_div(a: Ratio, b: Ratio) -> Ratio | None:
    """Rounding of a quotient of two integers below 2**24 never carries it over an integer, so what rounds it to one
    later is right; arithmetic on other quotients is not followed (see `_short`)."""
    if isinstance(b[0], int):
        if b[0] == 0:
            return None
        top, bottom = a[0] * b[1], a[1] * b[0]
        return (-top, -bottom) if bottom < 0 else _reduced(top, bottom)
    exact = dims.exact_quotient(a[0] * b[1], b[0] * a[1])
    return None if exact is None else (exact, 1)


def _reduced(top: Dim, bottom: int) -> Ratio:
    exact = dims.exact_quotient(top, bottom)
    return (top, bottom) if exact is None else (exact, 1)


def _short(top: Dim, bottom: int) -> Ratio | None:
    """A binary fraction short enough that float32 holds it exactly, for dims of ordinary size."""
    return _reduced(top, bottom) if bottom <= 65536 and bottom & (bottom - 1) == 0 else None


_REAL_BINARY: dict[str, Callable[[Ratio, Ratio], Ratio | None]] = {
    "Add": _real_add,
    "Sub": lambda a, b: _real_add(a, (-b[0], b[1])),
    "Mul": _real_mul,
    "Div": _real_div,
}


@rule("Max", "Min", "Sum", "Mean")
def variadic(op: Op) -> Fact:
    dtype, shape = op.same_dtype(), broadcast(op, [fact.shape for fact in op.facts])
    value = None
    combine = _BINARY.get(op.node.op_type)
    if combine is not None and all(fact.value is not None for fact in op.facts):

        def fold(*row: Dim) -> Dim | None:
            made: Dim | None = row[0]
            for d in row[1:]:
                made = combine(made, d)
                if made is None:
                    return None
            return made

        value = elementwise(fold, op.facts, shape)
    return Fact(dtype, shape, value)


@rule("Pow", "PRelu", inputs=2)
def left_dtype(op: Op) -> Fact:
    shape = broadcast(op, [op.shape(0), op.shape(1)])
    if op.node.op_type == "PRelu":
        # The slope is broadcast to the input, never the other way.
        return Fact(op.dtype(0), op.shape(0))
    value = None
    base, exponent = op.fact(0), op.number(1)

    def power(a: Dim) -> Dim:
        return dims.product([a] * (exponent or 0))

    if base.value is not None and exponent is not None and 0 <= exponent <= 4:
        value = fit(base.dtype, elementwise(power, [base], shape))
    return Fact(op.dtype(0), shape, value)


@rule("BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", inputs=2)
def bitwise(op: Op) -> Fact:
    return Fact(op.same_dtype(0, 1), broadcast(op, [op.shape(0), op.shape(1)]))


# Comparisons and logic


def _order(decide: Callable[[Dim, Dim], bool | None]) -> Callable[[Dim, Dim], Dim | None]:
    def compare(a: Dim, b: Dim) -> Dim | None:
        found = decide(a, b)
        return None if found is None else int(found)

    return compare


def _equal(a: Dim, b: Dim) -> bool | None:
    if a is b or a == b:
        return True
    low, high = dims.bounds(a - b)
    return False if (low is not None and low > 0) or (high is not None and high < 0) else None


def _less(a: Dim, b: Dim) -> bool | None:
    low, high = dims.bounds(a - b)
    if high is not None and high < 0:
        return True
    return False if low is not None and low >= 0 else None


def _negated(found: bool | None) -> bool | None:
    return None if found is None else not found


_COMPARE: dict[str, Callable[[Dim, Dim], Dim | None]] = {
    "Equal": _order(_equal),
    "Less": _order(_less),
    "Greater": _order(lambda a, b: _less(b, a)),
    "LessOrEqual": _order(lambda a, b: _negated(_less(b, a))),
    "GreaterOrEqual": _order(lambda a, b: _negated(_less(a, b))),
}


@rule(*_COMPARE, inputs=2)
def compare(op: Op) -> Fact:
    op.same_dtype(0, 1)
    shape = broadcast(op, [op.shape(0), op.shape(1)])
    return Fact(BOOL, shape, elementwise(_COMPARE[op.node.op_type], op.facts, shape))


def _decided(decide: Callable[[bool, bool], bool]) -> Callable[[Dim, Dim], Dim | None]:
    def logic(a: Dim, b: Dim) -> Dim | None:
        return int(decide(bool(a), bool(b))) if isinstance(a, int) and isinstance(b, int) else None

    return logic


_LOGIC: dict[str, Callable[[Dim, Dim], Dim | None]] = {
    "And": _decided(lambda a, b: a and b),
    "Or": _decided(lambda a, b: a or b),
    "Xor": _decided(lambda a, b: a != b),
}


def _not(a: Dim) -> Dim | None:
    return 1 - a if isinstance(a, int) else None


@rule("And", "Or", "Xor", inputs=2)
def logic(op: Op) -> Fact:
    _require(op, BOOL, 0, 1)
    shape, name = broadcast(op, [op.shape(0), op.shape(1)]), op.node.op_type
    return Fact(BOOL, shape, elementwise(_LOGIC[name], op.facts, shape))


@rule("Not")
def negation(op: Op) -> Fact:
    _require(op, BOOL, 0)
    fact = op.fact(0)
    return Fact(BOOL, fact.shape, elementwise(_not, [fact], fact.shape))


def _require(op: Op, dtype: oir.DataType, *ats: int) -> None:
    for at in ats:
        found = op.dtype(at)
        if found is not None and found != dtype:
            op.fail("T0611", f"input {at} of {op.label} is {found.name.lower()}", f"it must be {dtype.name.lower()}")


@rule("IsNaN", "IsInf")
def predicate(op: Op) -> Fact:
    return Fact(BOOL, op.shape(0))


@rule("Where", inputs=3)
def where(op: Op) -> Fact:
    _require(op, BOOL, 0)
    dtype, shape = op.same_dtype(1, 2), broadcast(op, [op.shape(0), op.shape(1), op.shape(2)])

    def choose(condition: Dim, a: Dim, b: Dim) -> Dim | None:
        if a is b:
            return a
        return (a if condition else b) if isinstance(condition, int) else None

    facts = op.facts
    value = elementwise(choose, facts, shape)
    if value is None and facts[0].value is None and facts[1].value is not None and facts[1].value == facts[2].value:
        value = facts[1].value if facts[1].shape == shape else None
    return Fact(dtype, shape, value)


@rule("Clip")
def clip(op: Op) -> Fact:
    fact = op.fact(0)
    dtype = op.same_dtype()
    value = fact.value
    for at, limit in ((1, dims.maximum), (2, dims.minimum)):
        if op.has(at) and value is not None:
            by = op.value(at)
            value = None if by is None or len(by) != 1 else tuple(limit(d, by[0]) for d in value)
    return Fact(dtype, fact.shape, value)


# Casts


@rule("Cast")
def cast(op: Op) -> Fact:
    to = op.data_type("to")
    if to is None:
        op.fail("T0618", f"{op.label} has no `to`", "attribute `to` is required")
    return converted(op.fact(0), to)


@rule("CastLike", inputs=2)
def cast_like(op: Op) -> Fact:
    to = op.dtype(1)
    return Fact(None, op.shape(0)) if to is None else converted(op.fact(0), to)


def converted(fact: Fact, to: oir.DataType) -> Fact:
    """The fact of a Cast. Integers keep their elements where they fit, floats where they are exact."""
    if fact.dtype == to:
        return Fact(to, fact.shape, fact.value, real=fact.real)
    if fact.value is not None and fact.dtype in INTEGERS:
        if to in INTEGERS:
            if to == BOOL:
                return Fact(to, fact.shape, elementwise(_truth, [fact], fact.shape))
            return Fact(to, fact.shape, fit(to, fact.value))
        if to in FLOATS and to not in (oir.DataType.FLOAT16, oir.DataType.BFLOAT16):
            return Fact(to, fact.shape, real=_exact(fact.value))
    if fact.real is not None and to in FLOATS and oir.DataType.FLOAT16 != to != oir.DataType.BFLOAT16:
        return Fact(to, fact.shape, real=fact.real)
    if fact.real is not None and to in INTEGERS and to != BOOL:
        return Fact(to, fact.shape, fit(to, _truncated(fact.real)))
    return Fact(to, fact.shape)


def _truth(a: Dim) -> Dim | None:
    low, high = dims.bounds(a)
    if (low is not None and low > 0) or (high is not None and high < 0):
        return 1
    return 0 if a == 0 else None


def _exact(value: Shape) -> tuple[Ratio, ...] | None:
    """Integers as floats; numbers that float32 would round are not followed."""
    return tuple((d, 1) for d in value) if all(not isinstance(d, int) or abs(d) <= 1 << 24 for d in value) else None


def _truncated(real: Sequence[Ratio]) -> tuple[Dim, ...] | None:
    out = [truncated(top, bottom) for top, bottom in real]
    return None if any(d is None for d in out) else tuple(d for d in out if d is not None)


@rule("Dropout")
def dropout(op: Op) -> list[Fact]:
    fact = op.fact(0)
    return [Fact(fact.dtype, fact.shape), Fact(BOOL, fact.shape)]


@rule("Bernoulli")
def bernoulli(op: Op) -> Fact:
    return Fact(op.data_type("dtype") or op.dtype(0), op.shape(0))
