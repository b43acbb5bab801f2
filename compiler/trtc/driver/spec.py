"""From what a user gives (a spec or a bare model, `--set`, `--dim`, `--target`) to a resolved `Spec`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trtc import lang
from trtc.deploy.files import Outputs
from trtc.diagnostics import Diagnostic, DiagnosticError, suggest
from trtc.driver.library import vocabulary
from trtc.lang.spec import Spec, Target
from trtc.targets import TARGETS

#: min, opt and max of a dim.
Triple = tuple[int, int, int]


def load_spec(path: str | Path, *, set: Mapping[str, object] | None = None) -> Spec:
    """Read and check a spec. Touches no model.

    Raises:
        DiagnosticError: everything that is wrong with it, in order of place.
    """
    return lang.load(Path(path), vocabulary(), overrides={k: _plain(v) for k, v in (set or {}).items()})


def _plain(value: object) -> str:
    """A Python value as `--set` would write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def spec_for(
    path: str | Path,
    *,
    set: Mapping[str, object] | None = None,
    dim: Mapping[str, str | int | Triple] | None = None,
    target: str | None = None,
) -> Spec:
    """The spec of a `.trtspec` file, or the one that a bare model stands for, with the command line applied.

    `dim` gives a range and a profile at once: `1..8..64`, or the triple, or one number. In a spec it replaces the
    range of that dim and its numbers in every profile.
    """
    source = Path(path)
    dims = [dim_text(name, value) for name, value in (dim or {}).items()]
    if source.suffix == ".trtspec":
        overrides = {k: _plain(v) for k, v in (set or {}).items()}
        spec = lang.load(source, vocabulary(), overrides, dims)
    else:
        if set:
            raise DiagnosticError(
                Diagnostic(
                    "T1001",
                    "`--set` gives a value to a `param` of a spec, and a bare model has none",
                    help="write a spec: `trtc init MODEL`",
                )
            )
        spec = lang.for_model(source, vocabulary(), dims)
    if target is not None:
        if target not in TARGETS:
            close = suggest(target, TARGETS)
            raise DiagnosticError(
                Diagnostic(
                    "T1002",
                    f"unknown target `{target}`",
                    notes=(f"targets: {', '.join(TARGETS)}",),
                    help=f"did you mean `{close}`?" if close else None,
                )
            )
        if spec.target is None or spec.target.name != target:
            # The options of a target block are of the target that the block names.
            spec = replace(spec, target=Target(target))
    return spec


def dim_text(name: str, value: str | int | Triple) -> str:
    """A dim as `--dim` would write it, from text, one number or a triple."""
    return f"{name}={'..'.join(map(str, value)) if isinstance(value, tuple) else value}"


def triple(name: str, value: str | int | Triple) -> Triple:
    """min, opt and max of a dim. Raises DiagnosticError T1010."""
    return lang.parse_dim_argument(dim_text(name, value))[1:]


def outputs_of(spec: Spec, folder: Path | None) -> Outputs:
    """Where the products of a spec go; `folder` (`-o DIR`) takes the place of the folder of the spec."""

    def place(path: Path) -> Path:
        if folder is None:
            return path
        relative = os.path.relpath(path, spec.folder)
        return folder.absolute() / (path.name if relative.startswith("..") else relative)

    engine = spec.emit.get("engine") or spec.folder / f"{spec.path.stem}.engine"
    onnx, readback = spec.emit.get("onnx"), spec.emit.get("readback")
    return Outputs(place(engine), place(onnx) if onnx else None, place(readback) if readback else None)
