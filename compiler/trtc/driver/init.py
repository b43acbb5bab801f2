"""`init`: the first spec of a model."""

from __future__ import annotations

import os
from pathlib import Path

from trtc import lang
from trtc.diagnostics import Diagnostic, DiagnosticError


def write_first_spec(model: Path, output: Path | None = None) -> Path:
    """Write a spec for `model` beside it (or at `output`); its path.

    Raises:
        DiagnosticError: T04xx the model, T1003 the file exists already, T1120 it cannot be written.
    """
    from trtc import ir
    from trtc.ir import dims
    from trtc.ir.interface import dtype_name

    path = output if output is not None else model.with_suffix(".trtspec")
    if path.exists():
        raise DiagnosticError(
            Diagnostic(
                "T1003",
                "there is a spec already; it stays as it is",
                file=str(path),
                help="give another name with `-o FILE`, or delete the file first",
            )
        )
    module = ir.load(model)
    inputs = [
        lang.InputDims(
            value.name or "",
            dtype_name(module.dtype(value)),
            [d if isinstance(d, int) else dims.text(d) for d in module.shape(value) or ()],
        )
        for value in module.graph.inputs
    ]
    text = lang.write_spec(Path(os.path.relpath(model.absolute(), path.absolute().parent)).as_posix(), inputs)
    try:
        # "x": of two that run at once, one fails instead of overwriting.
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise DiagnosticError(
            Diagnostic(
                "T1120",
                f"cannot write here: {error.strerror or error}",
                file=str(path),
                help="give another place with `-o FILE`",
            )
        ) from error
    return path
