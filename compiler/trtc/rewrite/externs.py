"""Constraints written in Python, named by a spec. Loaded only where the user allows code."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.ir.module import Module
from trtc.lang import rules

_allowed: ContextVar[bool] = ContextVar("trtc_code_allowed", default=False)


@contextlib.contextmanager
def allowed(code: bool, folder: Path | None = None) -> Generator[None]:
    """Inside, `load` imports what specs name, from `folder` too; without `code` that is an error."""
    token = _allowed.set(code)
    beside = [str(folder)] if code and folder is not None else []
    sys.path[:0] = beside
    try:
        yield
    finally:
        for path in beside:
            sys.path.remove(path)
        _allowed.reset(token)


def load(extern: rules.Extern) -> Callable[..., Any]:
    """The Python object that `extern … from "module:name"` names. It is called with the module and the arguments.

    Raises:
        DiagnosticError: T0341 code is not allowed, T0342 it cannot be imported.
    """
    if not _allowed.get():
        raise DiagnosticError(
            Diagnostic(
                "T0341",
                f"`{extern.name.text}` is Python code, which is loaded only when it is allowed",
                span=extern.span,
                help="look at the code, then run with `--allow-code`",
            )
        )
    module, _, name = extern.place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise DiagnosticError(
            Diagnostic(
                "T0342",
                f"`{extern.place}` cannot be loaded: {error}",
                span=extern.span,
                help='write `"module:name"`, with the module beside the spec or where Python finds it',
            )
        ) from None


def ask(extern: rules.Extern, module: Module, arguments: Sequence[Any]) -> bool:
    """What a constraint says of values, numbers and lists.

    Raises:
        DiagnosticError: T0341, T0342 as `load`; T0343 it raised something.
    """
    constraint = load(extern)
    try:
        return bool(constraint(module, *arguments))
    except DiagnosticError:
        raise
    except Exception as error:
        raise DiagnosticError(
            Diagnostic(
                "T0343",
                f"the constraint `{extern.name.text}` failed: {type(error).__name__}: {error}",
                span=extern.span,
                help=f"this is a fault of `{extern.place}`, which is called with the module and what the rule passes",
            )
        ) from error
