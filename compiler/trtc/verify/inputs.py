"""What the models are run on: seeded random data that the graph accepts, a file, or a Polygraphy loader script."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import runpy
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError, suggest
from trtc.ir import dims
from trtc.ir.module import Module
from trtc.verify.arrays import read_npz
from trtc.verify.ranges import MASK, ShapeInput, integer_range, shape_inputs

if TYPE_CHECKING:
    from trtc.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Point:
    """One run: a label for people (`profile latency, min`) and an array for every input."""

    label: str
    feeds: Mapping[str, np.ndarray]


def random_points(
    module: Module,
    environments: Iterable[tuple[str, Mapping[str, int]]],
    seed: int,
    given: Mapping[str, np.ndarray] | None = None,
) -> list[Point]:
    """A point for every (label, numbers for the symbolic dims), drawn by `numpy.random.PCG64`.

    float inputs: standard normal. bool: fair. Integers: uniform over what the graph accepts (`integer_range`), 0
    and 1 where it says nothing. The same seed gives the same data whatever the order or number of inputs. `given`
    holds inputs that are not drawn.

    Raises:
        DiagnosticError: T0571 an input decides shapes, or has no shape that numbers can be put into.
    """
    points: list[Point] = []
    seen: set[tuple[tuple[str, int], ...]] = set()
    for label, environment in environments:
        env = dict(environment)
        key = tuple(sorted(env.items()))
        if key in seen:
            continue
        seen.add(key)
        feeds = dict(given or {})
        for value in module.graph.inputs:
            if value.name not in feeds:
                feeds[value.name or ""] = _draw(module, value, env, seed)
        points.append(Point(label, feeds))
    return points


def refuse_shape_inputs(module: Module) -> None:
    """Raises DiagnosticError T0580 for inputs whose values decide shapes: no profile says yet what they may be."""
    problems = [
        Diagnostic(
            "T0580",
            f"the values of the input `{value.name}` decide a shape: {node.op_type} `{node.name}` takes them",
            node=value.name,
            help="TensorRT needs their range in a profile, which a spec cannot say yet; freeze the input instead:\n"
            f'input "{value.name}" = [1, 64]',
        )
        for value, node in shape_inputs(module)
    ]
    if problems:
        raise DiagnosticError.of(problems)


def _draw(module: Module, value: oir.Value, env: dict[str, int], seed: int) -> np.ndarray:
    name = value.name or ""
    fact = module.fact(value)
    if fact.shape is None or fact.dtype is None:
        raise DiagnosticError(_cannot_draw(name, "its type or rank is not known"))
    try:
        shape = tuple(dims.evaluate(d, env) for d in fact.shape)
    except (KeyError, ValueError):
        raise DiagnosticError(_cannot_draw(name, "a dim of its shape has no number")) from None
    generator = np.random.Generator(np.random.PCG64([seed, zlib.crc32(name.encode()), *shape]))
    dtype = fact.dtype
    if dtype == oir.DataType.BOOL:
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.is_integer():
        try:
            found = integer_range(module, value, env)
        except ShapeInput as error:
            raise DiagnosticError(_cannot_draw(name, f"its values decide a shape in {error}")) from None
        low, high = found if found is not None else MASK
        return generator.integers(low, high, shape, endpoint=True).astype(dtype.numpy())
    if dtype.is_floating_point():
        return generator.standard_normal(shape).astype(dtype.numpy())
    raise DiagnosticError(_cannot_draw(name, f"trtc draws no values of type {dtype.name}"))


def _cannot_draw(name: str, why: str) -> Diagnostic:
    return Diagnostic(
        "T0571",
        f"no random values can be drawn for the input `{name}`: {why}",
        node=name,
        help="give it a value: `--input FILE.npz`, or freeze it in the spec with `input` and `= …`",
    )


def file_points(module: Module, path: Path, *, allow_code: bool) -> list[Point]:
    """Points from `FILE.npz` (one array per input) or from a Polygraphy data loader script (`load_data()`).

    Raises:
        DiagnosticError: T0572 the file cannot be read or does not fit the model, T0573 code without permission.
    """
    if not path.is_file():
        raise DiagnosticError(Diagnostic("T0572", "there is no such input file", file=str(path)))
    if path.suffix == ".py":
        if not allow_code:
            raise DiagnosticError(
                Diagnostic(
                    "T0573",
                    "a loader script is code: it runs only with permission",
                    file=str(path),
                    help="add `--allow-code`, or save its arrays with `numpy.savez` and give the .npz file",
                )
            )
        sets: Sequence[Any] = _run_loader(path)
        labels = [f"{path.name} [{at}]" for at in range(len(sets))]
    else:
        try:
            sets = [read_npz(path)]
        except Exception as error:
            raise DiagnosticError(
                Diagnostic(
                    "T0572",
                    f"this is not a .npz file of arrays: {error}",
                    file=str(path),
                    help="write it with `numpy.savez(path, name=array, …)`, one array per input",
                )
            ) from error
        labels = [path.name]
    return [Point(label, _fit(module, feeds, path)) for label, feeds in zip(labels, sets, strict=True)]


def array_points(module: Module, arrays: Mapping[str, Any]) -> list[Point]:
    """One point from arrays by name. Raises DiagnosticError T0572 when they do not fit the model."""
    return [Point("given arrays", _fit(module, arrays, None))]


def require_covered(
    module: Module, points: Sequence[Point], profiles: Mapping[str, Mapping[str, tuple[int, int, int]]]
) -> None:
    """Raises DiagnosticError T0582 for a point whose sizes no profile covers: the engine could not take it."""
    for point in points:
        sizes: dict[str, int] = {}
        for value in module.graph.inputs:
            shape = module.shape(value) or ()
            for dim, size in zip(shape, point.feeds[value.name or ""].shape, strict=False):
                if not isinstance(dim, int):
                    sizes[dims.text(dim)] = size
        outside = [
            f"profile `{profile}`: `{name}` is {sizes[name]}, the profile takes {low} to {high}"
            for profile, numbers in profiles.items()
            for name, (low, _, high) in numbers.items()
            if name in sizes and not low <= sizes[name] <= high
        ]
        if len({text.split("`")[1] for text in outside}) == len(profiles) and profiles:
            raise DiagnosticError(
                Diagnostic(
                    "T0582",
                    f"the inputs of `{point.label}` fit no profile, so the engine could not take them",
                    notes=tuple(outside),
                    help="verify on data of a size that a profile covers, or widen the profile",
                )
            )


def _run_loader(path: Path) -> list[Any]:
    try:
        load_data = runpy.run_path(str(path))["load_data"]
        sets = list(load_data())
    except Exception as error:
        raise DiagnosticError(
            Diagnostic(
                "T0572",
                f"the loader script failed: {type(error).__name__}: {error}",
                file=str(path),
                help="a Polygraphy loader script defines `load_data()`, which yields dicts of name to array",
            )
        ) from error
    if not sets:
        raise DiagnosticError(Diagnostic("T0572", "the loader script yields nothing", file=str(path)))
    return sets


def _fit(module: Module, feeds: Mapping[str, Any], path: Path | None) -> dict[str, np.ndarray]:
    """The arrays by input, checked and brought to the declared dtype where no value changes."""
    label = str(path) if path is not None else None
    inputs = {v.name or "": v for v in module.graph.inputs}
    problems = [
        Diagnostic(
            "T0572",
            f"the model has no input `{name}`",
            file=label,
            help=f"did you mean `{close}`?" if (close := suggest(name, inputs)) else f"inputs: {', '.join(inputs)}",
        )
        for name in feeds
        if name not in inputs
    ]
    env: dict[str, int] = {}
    fitted: dict[str, np.ndarray] = {}
    for name, value in inputs.items():
        if name not in feeds:
            problems.append(Diagnostic("T0572", f"there is no array for the input `{name}`", file=label))
            continue
        array = np.asarray(feeds[name])
        fact = module.fact(value)
        problem = _dtype_problem(array, fact.dtype) or _shape_problem(array, fact.shape, env)
        if problem is not None:
            problems.append(Diagnostic("T0572", f"input `{name}`: {problem}", file=label))
        elif fact.dtype is not None:
            fitted[name] = np.ascontiguousarray(array, dtype=fact.dtype.numpy()).reshape(array.shape)
    if problems:
        raise DiagnosticError.of(problems)
    return fitted


def _dtype_problem(array: np.ndarray, dtype: oir.DataType | None) -> str | None:
    if dtype is None or array.dtype == dtype.numpy():
        return None
    with np.errstate(all="ignore"):
        cast = array.astype(dtype.numpy())
        back = cast.astype(array.dtype)
    if np.array_equal(back, array, equal_nan=np.issubdtype(array.dtype, np.floating)):
        return None
    # A float64 array for a float32 input is how numpy users write numbers: rounding is meant, overflow is not.
    if np.issubdtype(array.dtype, np.floating) and dtype.is_floating_point() and np.isfinite(cast).all():
        return None
    return f"the array is {array.dtype}, the model wants {dtype.name}, and values would change"


def _shape_problem(array: np.ndarray, shape: tuple[Dim, ...] | None, env: dict[str, int]) -> str | None:
    if shape is None:
        return None
    wanted = "[" + ", ".join(dims.text(d) for d in shape) + "]"
    if array.ndim != len(shape):
        return f"the array has shape {list(array.shape)}, the model wants {wanted}"
    for have, dim in zip(array.shape, shape, strict=True):
        if isinstance(dim, int):
            if have != dim:
                return f"the array has shape {list(array.shape)}, the model wants {wanted}"
        elif (name := dims.text(dim)) in env:
            if env[name] != have:
                return f"`{name}` is {have} here and {env[name]} in another input"
        else:
            env[name] = have
    return None
