"""Functions that guards and right-hand sides may call. The language reference is made from their docstrings."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import onnx_ir as oir

from trtc.ir import dims
from trtc.ir.module import Module
from trtc.rewrite.constants import DTYPES, FLOATS, Constants

ABSENT: Final = object()

#: Elements that `filled` and `range` make, at most.
_MOST: Final = 1 << 27

#: Words that may stand in a guard: the dtypes, so that `dtype(x) == f16` can be said.
WORDS: Mapping[str, Any] = DTYPES


@dataclass(frozen=True, slots=True)
class Known:
    """What a function may look at."""

    module: Module
    constants: Constants


@dataclass(frozen=True, slots=True)
class Function:
    """`makes`: whether the result is a constant array, which only a right-hand side can use."""

    name: str
    run: Callable[..., Any]
    doc: str
    makes: bool


FUNCTIONS: dict[str, Function] = {}


def function(name: str, *, makes: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a function of the language under its name. Its first argument is `Known`."""

    def register(run: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS[name] = Function(name, run, (run.__doc__ or "").strip(), makes)
        return run

    return register


@dataclass(frozen=True, slots=True)
class Array:
    """A constant that is being computed, to be rounded to `dtype` when it becomes an initializer.

    Floats are float64 once something was computed; what was only moved is as it was in the file.
    """

    data: np.ndarray[Any, Any]
    dtype: oir.DataType


def array(known: Known, value: Any) -> np.ndarray[Any, Any]:
    """The elements of a constant, floats as float64.

    Raises:
        ValueError: it is not a constant.
    """
    if isinstance(value, Array):
        return widened(value.data)
    if isinstance(value, oir.Value):
        found = known.module.constant(value)
        if found is None:
            raise ValueError(f"`{value.name}` is not a constant")
        return widened(found)
    return np.asarray(value)


def widened(found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Floats as float64, everything else as it is."""
    floating = np.issubdtype(found.dtype, np.floating) or found.dtype.name in ("bfloat16",)
    return found.astype(np.float64) if floating else found


def dtype_of(known: Known, value: Any) -> oir.DataType:
    if isinstance(value, Array):
        return value.dtype
    found = known.module.dtype(value) if isinstance(value, oir.Value) else None
    if found is None:
        raise ValueError("the dtype is not known")
    return found


def shape_of(known: Known, value: Any) -> tuple[Any, ...]:
    if isinstance(value, Array):
        return value.data.shape
    found = known.module.shape(value)
    if found is None:
        raise ValueError("the rank is not known")
    return found


# ---- of values


@function("rank")
def _rank(known: Known, x: Any) -> int:
    """rank(x): how many dims `x` has."""
    return len(shape_of(known, x))


@function("dim")
def _dim(known: Known, x: Any, axis: int) -> Any:
    """dim(x, axis): the size of an axis, which may be symbolic."""
    return shape_of(known, x)[axis]


@function("size")
def _size(known: Known, x: Any) -> Any:
    """size(x): the number of elements."""
    return dims.product(shape_of(known, x))


@function("dtype")
def _dtype(known: Known, x: Any) -> Any:
    """dtype(x): the dtype of `x`, to be compared with a word such as `f16`."""
    return dtype_of(known, x)


@function("is_const")
def _is_const(known: Known, x: Any) -> bool:
    """is_const(x): whether `x` is a constant."""
    return isinstance(x, Array) or known.constants.is_constant(x)


@function("present")
def _present(known: Known, x: Any) -> bool:
    """present(b): whether the optional input `b` is given."""
    return x is not ABSENT


@function("default")
def _default(known: Known, x: Any, other: Any) -> Any:
    """default(b, other): `b` where it is given, else `other`."""
    return other if x is ABSENT else x


@function("same_shape")
def _same_shape(known: Known, a: Any, b: Any) -> bool:
    """same_shape(a, b): whether two values provably have one shape."""
    return shape_of(known, a) == shape_of(known, b)


# ---- of numbers and lists


@function("sqrt")
def _sqrt(known: Known, a: float) -> float:
    """sqrt(a): the square root of a number."""
    return math.sqrt(a)


@function("abs")
def _abs(known: Known, a: float) -> float:
    """abs(a): the magnitude of a number."""
    return abs(a)


@function("min")
def _min(known: Known, *numbers: Any) -> Any:
    """min(a, b, …): the least of numbers."""
    return min(numbers)


@function("max")
def _max(known: Known, *numbers: Any) -> Any:
    """max(a, b, …): the largest of numbers."""
    return max(numbers)


@function("len")
def _len(known: Known, items: Any) -> int:
    """len($l): the number of items of a list."""
    return len(items)


@function("at")
def _at(known: Known, items: Any, index: int) -> Any:
    """at($l, i): item `i` of a list; below zero it counts from the end."""
    return items[index]


@function("sum")
def _sum(known: Known, items: Any) -> Any:
    """sum($l): the sum of a list."""
    total: Any = 0
    for item in items:
        total = total + item
    return total


@function("product")
def _product(known: Known, items: Any) -> Any:
    """product($l): the product of a list."""
    return dims.product(tuple(items))


@function("range")
def _range(known: Known, start: int, end: int) -> tuple[int, ...]:
    """range(a, b): the list of the integers from `a` to before `b`."""
    if end - start > _MOST:
        raise ValueError("the list is too long")
    return tuple(range(start, end))


@function("filled_list")
def _filled_list(known: Known, value: Any, count: int) -> tuple[Any, ...]:
    """filled_list(v, n): the list of `n` times `v`."""
    return (value,) * count


@function("all_equal")
def _all_equal(known: Known, items: Any, value: Any) -> bool:
    """all_equal(l, v): whether every item of a list or element of a constant is `v`."""
    if isinstance(items, oir.Value):
        return known.constants.uniform(items) == value
    return all(item == value for item in items)


@function("same_equation")
def _same_equation(known: Known, one: str, other: str) -> bool:
    """same_equation($e, "bij,bjd->bid"): whether two equations of Einsum are the same but for their letters."""

    def plain(equation: str) -> str:
        letters: dict[str, str] = {}
        text = equation.replace(" ", "")
        return "".join(letters.setdefault(c, chr(97 + len(letters))) if c.isalpha() else c for c in text)

    return plain(one) == plain(other)


# ---- of permutations and axes


@function("identity")
def _identity(known: Known, perm: Any) -> bool:
    """identity($perm): whether a permutation moves nothing."""
    return tuple(perm) == tuple(range(len(perm)))


@function("compose")
def _compose(known: Known, first: Any, second: Any) -> tuple[int, ...]:
    """compose($p, $q): the permutation of `Transpose(Transpose(x, perm = $p), perm = $q)`."""
    return tuple(first[i] for i in second)


@function("inverse")
def _inverse(known: Known, perm: Any) -> tuple[int, ...]:
    """inverse($perm): the permutation that takes it back."""
    return tuple(sorted(range(len(perm)), key=lambda i: perm[i]))


@function("swaps_last_two")
def _swaps_last_two(known: Known, perm: Any) -> bool:
    """swaps_last_two($perm): whether a permutation swaps the last two axes and moves no other."""
    count = len(perm)
    return count >= 2 and tuple(perm) == (*range(count - 2), count - 1, count - 2)


@function("swap_last_two")
def _swap_last_two(known: Known, rank: int) -> tuple[int, ...]:
    """swap_last_two(n): the permutation of `n` axes that swaps the last two."""
    return (*range(rank - 2), rank - 1, rank - 2)


@function("trailing")
def _trailing(known: Known, axes: Any, rank: int) -> bool:
    """trailing($axes, rank(x)): whether axes are the last ones, in whatever order."""
    found = sorted({a + rank if a < 0 else a for a in axes})
    return bool(found) and found == list(range(rank - len(found), rank))


@function("first_axis")
def _first_axis(known: Known, axes: Any, rank: int) -> int:
    """first_axis($axes, rank(x)): the least of axes, counted from the front."""
    return min(a + rank if a < 0 else a for a in axes)


# ---- of constants


@function("finite")
def _finite(known: Known, w: Any) -> bool:
    """finite(w): whether every element of a constant is finite."""
    return bool(np.isfinite(array(known, w)).all())


@function("all_zero")
def _all_zero(known: Known, w: Any) -> bool:
    """all_zero(w): whether every element of a constant is 0."""
    return not array(known, w).any()


@function("halves_equal")
def _halves_equal(known: Known, w: Any) -> bool:
    """halves_equal(w): whether the two halves of the last axis of a constant are the same."""
    data = array(known, w)
    return (
        data.ndim > 0 and data.shape[-1] % 2 == 0 and bool((np.split(data, 2, -1)[0] == np.split(data, 2, -1)[1]).all())
    )


@function("pairs_equal")
def _pairs_equal(known: Known, w: Any) -> bool:
    """pairs_equal(w): whether every other element of the last axis of a constant is the one before it."""
    data = array(known, w)
    return data.ndim > 0 and data.shape[-1] % 2 == 0 and bool((data[..., ::2] == data[..., 1::2]).all())


@function("filled", makes=True)
def _filled(known: Known, value: float, shape: Any, like: Any) -> Array:
    """filled(v, [n, m], like): a constant of the shape filled with a number, of the dtype of `like`."""
    if not all(isinstance(n, int) for n in shape):
        raise ValueError("a constant needs a known shape")
    if math.prod(shape) > _MOST:
        raise ValueError("the constant is too large")
    dtype = dtype_of(known, like)
    return Array(np.full(tuple(shape), value, np.float64 if dtype in FLOATS else dtype.numpy()), dtype)


from trtc.rewrite import functions_axes as functions_axes  # noqa: E402  (registers its functions)
from trtc.rewrite import functions_windows as functions_windows  # noqa: E402  (registers its functions)
