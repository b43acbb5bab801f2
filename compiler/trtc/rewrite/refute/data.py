"""Numbers for the leaves: plain ones, large and tiny ones, zeros, and now and then what is not finite."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.rewrite.refute.tape import Tape

Array = np.ndarray[Any, Any]

#: Ways to fill a float tensor, the simplest first, with how often each is taken.
STYLES = ("small integers", "normal", "scaled", "positive", "sparse", "tiny", "large", "mixed", "halves", "exponents")
_WEIGHTS = (1, 6, 3, 2, 1, 1, 1, 1, 1, 1)
#: Of `exponents` in more than one leaf: what cancels in a sum or a quotient, and overflows in each term.
_TOGETHER = 16

#: Inputs of operators that are variances or lengths: never negative.
_POSITIVE = frozenset(
    {("BatchNormalization", 4), ("Sqrt", 0), ("Log", 0), ("QuantizeLinear", 1), ("DequantizeLinear", 1)}
)
#: Operators that take integers of any size.
_COUNTING = frozenset(
    {"Add", "Sub", "Mul", "Div", "Mod", "+", "-", "*", "/", "Neg", "Abs", "Sign", "Max", "Min", "Where", "Equal"}
    | {"Greater", "Less", "GreaterOrEqual", "LessOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"}
)
#: Integer inputs of these operators divide.
DIVIDERS = frozenset({"Div", "Mod", "Reciprocal", "/"})


def sample(
    tape: Tape,
    label: str,
    dtype: oir.DataType,
    shape: tuple[int, ...],
    role: tuple[str, int],
    *,
    special: bool,
    divides: bool,
) -> Array:
    """Values of `dtype` and `shape`.

    role: the operator that takes them first, and as which of its inputs. special: infinities and NaN among them.
    divides: integers without zero.
    """
    generator = np.random.default_rng(tape.generator_seed(label))
    if dtype == oir.DataType.BOOL:
        return generator.integers(0, 2, shape).astype(bool)
    if role[0].startswith(("Gather", "Scatter")) and dtype.is_integer():
        # In range for nearly every size. Models count from the front where an index is no constant.
        return generator.integers(0, 1, shape, endpoint=True).astype(dtype.numpy())
    if dtype.is_integer():
        low = 0 if not dtype.is_signed() else -9
        made = generator.integers(low, 9, shape, endpoint=True)
        if role[0] in _COUNTING and tape.draw(f"{label}/large", 2, (7, 1)):
            bound = np.iinfo(dtype.numpy())
            anything = generator.integers(int(bound.min), int(bound.max), shape, dtype.numpy(), endpoint=True)
            anything >>= generator.integers(0, bound.bits) * generator.integers(0, 2)
            made = np.where(generator.random(shape) < 0.5, anything, made)
        if divides:
            made = np.where(made == 0, 1, made)
        return np.asarray(made).astype(dtype.numpy())
    half = dtype in (oir.DataType.FLOAT16, oir.DataType.BFLOAT16)
    style = STYLES[tape.draw(f"{label}/style", len(STYLES), _WEIGHTS)]
    if tape.draw("data/exponents", _TOGETHER) == _TOGETHER - 1:
        style = "exponents"
    made = _floats(style, generator, shape, half)
    if role in _POSITIVE:
        made = np.abs(made)
    if special and made.size:
        flat = made.reshape(-1)
        kinds = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0])
        count = min(flat.size, 1 + int(generator.integers(3)))
        at = generator.choice(flat.size, count, replace=False)
        flat[at] = generator.choice(kinds, count)
    with np.errstate(over="ignore"):
        return np.asarray(made).astype(dtype.numpy())


def _floats(style: str, generator: np.random.Generator, shape: tuple[int, ...], half: bool) -> Array:
    normal = np.asarray(generator.standard_normal(shape))
    if style == "small integers":
        return np.round(normal * 2)
    if style == "scaled":
        return normal * 10.0 ** generator.uniform(-2, 1) + generator.choice([0.0, 0.0, 1.0, -3.0])
    if style == "positive":
        return np.abs(normal) + 0.01
    if style == "sparse":
        return np.where(generator.random(shape) < 0.5, 0.0, normal)
    if style == "tiny":
        return normal * (2.0**-9 if half else 2.0**-20)
    if style == "large":
        return normal * (2.0**4 if half else 2.0**12)
    if style == "halves":
        return np.round(normal * 4) / 2
    if style == "exponents":
        return normal * (2.0**3 if half else 2.0**6)
    if style == "mixed":
        return normal * 10.0 ** generator.uniform(-2, 1 if half else 2, shape)
    return normal


def _halves(array: Array) -> Array:
    half = array[..., : array.shape[-1] // 2]
    return np.concatenate([half, half], axis=-1) if array.ndim and array.shape[-1] % 2 == 0 else array


def _pairs(array: Array) -> Array:
    return np.repeat(array[..., ::2], 2, axis=-1) if array.ndim and array.shape[-1] % 2 == 0 else array


#: What makes numbers fit a function of guards, by its name.
SHAPED: dict[str, Callable[[Array], Array]] = {
    "halves_equal": _halves,
    "pairs_equal": _pairs,
    "all_zero": np.zeros_like,
    "positive": np.abs,
    "nonnegative": np.abs,
}

__all__ = ["DIVIDERS", "SHAPED", "STYLES", "Array", "sample"]
