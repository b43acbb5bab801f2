"""Constraints written in Python, named by a spec. Loaded only where the user allows code."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.lang import rules

_allowed = False


def allow(code: bool) -> None:
    """Let `load` import what specs name, or not."""
    global _allowed
    _allowed = code


def load(extern: rules.Extern) -> Callable[..., Any]:
    """The Python object that `extern … from "module:name"` names.

    Raises:
        DiagnosticError: T0341 code is not allowed, T0342 it cannot be imported.
    """
    if not _allowed:
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
                help='write `"module:name"`, with the module where Python finds it (PYTHONPATH)',
            )
        ) from None
