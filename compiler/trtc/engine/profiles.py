"""Optimization profiles: numbers for dims become shapes for inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.engine.job import Profile
from trtc.ir import dims
from trtc.ir.interface import type_text
from trtc.ir.module import Module

#: min, opt and max of a dim.
Triple = tuple[int, int, int]


def input_symbols(module: Module) -> list[str]:
    """Names of the symbolic dims of the inputs, in order of appearance."""
    found: dict[str, None] = {}
    for value in module.graph.inputs:
        for dim in module.shape(value) or ():
            for name in sorted(dims.symbols(dim)):
                found.setdefault(name, None)
    return list(found)


def profiles_of(module: Module, wanted: Mapping[str, Mapping[str, Triple]], model: str) -> tuple[Profile, ...]:
    """The shapes of every dynamic input for each profile of a spec (name of the profile, then of the dim).

    Raises:
        DiagnosticError: T0576 a symbolic dim of an input is in no profile, T0577 an input of unknown rank,
            T0578 a profile gives a number to a dim that no input has.
    """
    problems: list[Diagnostic] = []
    symbols = input_symbols(module)
    for value in module.graph.inputs:
        if module.shape(value) is None:
            problems.append(
                Diagnostic(
                    "T0577",
                    f"the rank of the input `{value.name}` is not known",
                    node=value.name,
                    help=f'declare it in the spec: input "{value.name}" : f32[batch, …]',
                )
            )
    named = wanted or {"default": {}}
    for profile, numbers in named.items():
        missing = [name for name in symbols if name not in numbers]
        if missing:
            problems.append(_uncovered(module, profile if wanted else None, missing, symbols, model))
        for name in numbers:
            if name not in symbols:
                problems.append(
                    Diagnostic(
                        "T0578",
                        f"no input of the model has the dim `{name}`",
                        notes=(f"the inputs are {_inputs(module)}",),
                        help=f"its symbolic dims are {', '.join(symbols)}" if symbols else "it has no symbolic dim",
                    )
                )
    if problems:
        raise DiagnosticError.of(problems)
    if not symbols:
        return ()
    return tuple(Profile(name, _shapes(module, numbers)) for name, numbers in wanted.items())


def _shapes(module: Module, numbers: Mapping[str, Triple]) -> dict[str, Any]:
    envs: Sequence[dict[str, int]] = [{name: triple[k] for name, triple in numbers.items()} for k in range(3)]
    shapes: dict[str, Any] = {}
    for value in module.graph.inputs:
        shape = module.shape(value) or ()
        if any(not isinstance(d, int) for d in shape):
            low, opt, high = (tuple(dims.evaluate(d, env) for d in shape) for env in envs)
            shapes[value.name or ""] = (low, opt, high)
    return shapes


def environments(profiles: Mapping[str, Mapping[str, Triple]]) -> list[tuple[str, dict[str, int]]]:
    """The points at which a compile is verified: min, opt and max of every profile, each once, with a label."""
    points: list[tuple[str, dict[str, int]]] = []
    seen: list[dict[str, int]] = []
    for profile, numbers in profiles.items():
        for at, word in enumerate(("min", "opt", "max")):
            env = {name: triple[at] for name, triple in numbers.items()}
            if env not in seen:
                seen.append(env)
                points.append((f"{profile} {word}", env))
    return points or [("fixed shape", {})]


def _inputs(module: Module) -> str:
    return ", ".join(f"`{v.name}`: {type_text(module, v)}" for v in module.graph.inputs)


def _uncovered(module: Module, profile: str | None, missing: list[str], symbols: list[str], model: str) -> Diagnostic:
    where = f"in the profile `{profile}`" if profile is not None else "and no profile says how large they get"
    many = len(missing) > 1
    listed = ", ".join(f"`{name}`" for name in missing)
    if model.endswith(".trtspec"):
        blocks = "\n".join(f"dim {name} in 1..64" for name in missing)
        numbers = " ".join(f"{name} = min 1 opt 8 max 64" for name in (missing if profile else symbols))
        help = f'say so in the spec, for example:\n{blocks}\nprofile "{profile or "default"}" {{ {numbers} }}'
    else:
        arguments = " ".join(f"--dim {name}=1..8..64" for name in symbols)
        help = f"say min..opt..max for each, for example:\ntrtc compile {model} {arguments}"
    return Diagnostic(
        "T0576",
        f"the inputs have the symbolic {'dims' if many else 'dim'} {listed}, not covered {where}"
        if profile is not None
        else f"the inputs have the symbolic {'dims' if many else 'dim'} {listed}, {where}",
        notes=(f"the inputs are {_inputs(module)}",),
        help=help,
        data={"dims": missing},
    )
