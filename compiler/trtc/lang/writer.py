"""The spec that `trtc init` writes for a model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trtc.lang.parser import VERSION

DEFAULT_RANGE = (1, 1, 8)


@dataclass(frozen=True, slots=True)
class InputDims:
    """An input of the model: a dim is a size, the model's name of a dynamic dim, or None where it has no name."""

    name: str
    dtype: str | None
    dims: Sequence[int | str | None]


def write_spec(
    model: str,
    inputs: Sequence[InputDims] = (),
    engine: str | None = None,
    ranges: Mapping[str, tuple[int, int, int]] | None = None,
) -> str:
    """The text of a short spec: `model` is the path to write, `engine` that of the engine (default: beside the model).

    Where inputs are dynamic, each dynamic dim gets a `dim`, and together they get a `profile`. The same name of the
    model is one dim; a name that is no identifier is made one. `ranges` is dim (as the model calls it, or `dimN` by
    order for a nameless one) -> (min, opt, max).
    """
    names = _dim_names(inputs)
    wanted = ranges or {}
    lines = [f"trtspec {VERSION}"]
    bounds = {name: wanted.get(key, wanted.get(name, DEFAULT_RANGE)) for key, name in names.items()}
    if bounds and not wanted:
        lines.append("# These ranges are a guess: put the sizes that you will run with, here and in the profile.")
    lines += [f"dim {name} in {low}..{high}" for name, (low, _, high) in bounds.items()]
    lines.append(f"model {quote(model)}")
    for at, tensor in enumerate(inputs):
        if all(isinstance(dim, int) for dim in tensor.dims):
            continue
        shape = ", ".join(str(d) if isinstance(d, int) else names[_key(d, at, i)] for i, d in enumerate(tensor.dims))
        lines.append(f"input {quote(tensor.name)} : {tensor.dtype or ''}[{shape}]")
    if bounds:
        entries = "  ".join(f"{n} = min {low} opt {opt} max {high}" for n, (low, opt, high) in bounds.items())
        lines.append(f'profile "default" {{ {entries} }}')
    lines.append("pipeline { standard() }")
    lines.append(f"emit {{ engine = {quote(engine or re.sub(r'[.]onnx$', '', model) + '.engine')} }}")
    return "\n".join(lines) + "\n"


def quote(text: str) -> str:
    """A string of the language; characters that do not print are written as escapes."""
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _key(dim: int | str | None, tensor: int, at: int) -> str:
    return dim if isinstance(dim, str) else f"\0{tensor}.{at}"


def _dim_names(inputs: Sequence[InputDims]) -> dict[str, str]:
    """Key of a dynamic dim -> an identifier of its own."""
    names: dict[str, str] = {}
    taken = {"min", "opt", "max", "_", "true", "false", "in"}
    for tensor_at, tensor in enumerate(inputs):
        for at, dim in enumerate(tensor.dims):
            key = _key(dim, tensor_at, at)
            if isinstance(dim, int) or key in names:
                continue
            base = re.sub(r"\W+", "_", dim, flags=re.ASCII).strip("_") if isinstance(dim, str) else ""
            if not base or base[0].isdigit():
                base = f"dim{base}" if base else f"dim{len(names)}"
            name, number = base, 2
            while name in taken:
                name, number = f"{base}_{number}", number + 1
            taken.add(name)
            names[key] = name
    return names
