"""What the command line says about a spec: `--dim batch=1..8..64` and `--set depth=24`."""

from __future__ import annotations

import re
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError, Source, Span
from trtc.lang.parser import parse_value
from trtc.lang.report import Report
from trtc.lang.values import Evaluator, Scope, Value, Wanted

_DIM = re.compile(r"\s*([^=\s]+)\s*=\s*(\d{1,18})(?:\s*\.\.\s*(\d{1,18})(?:\s*\.\.\s*(\d{1,18}))?)?\s*")
_FORMS = "write `--dim NAME=8`, `--dim NAME=1..64` or `--dim NAME=1..8..64` (minimum, optimum, maximum)"


def parse_dim_argument(text: str) -> tuple[str, int, int, int]:
    """Name, minimum, optimum and maximum of a `--dim`.

    `n=8` is a fixed dimension, `n=1..64` has its maximum as optimum, `n=1..8..64` says all three.

    Raises:
        DiagnosticError: T1010.
    """
    source = Source("--dim", text)
    match = _DIM.fullmatch(text)
    if match is None:
        raise DiagnosticError(_bad_dim(source))
    name, *numbers = match.groups()
    values = [int(n) for n in numbers if n is not None]
    low, high = values[0], values[-1]
    opt = values[1] if len(values) == 3 else high
    if not low <= opt <= high:
        order = "minimum <= optimum <= maximum" if len(values) == 3 else "minimum <= maximum"
        span = source.span(match.start(2), len(text.rstrip()))
        raise DiagnosticError(Diagnostic("T1010", f"`--dim {text}`: not {order}", span=span, help=_FORMS))
    return name, low, opt, high


def _bad_dim(source: Source) -> Diagnostic:
    text = source.text
    name, equal, value = text.partition("=")
    if not equal:
        return Diagnostic("T1010", f"`--dim {text}` has no value", span=source.span(0, len(text)), help=_FORMS)
    if not name.strip():
        return Diagnostic("T1010", f"`--dim {text}` has no name", span=source.span(0, 1), help=_FORMS)
    start = len(name) + 1
    return Diagnostic(
        "T1010",
        f"`{value}` is neither a size nor a range",
        span=source.span(start, max(len(text), start + 1)),
        help=_FORMS,
    )


def override(report: Report, name: str, text: str, default: Value) -> Value | None:
    """The value that `--set name=text` gives a parameter, of the type of its default; None with T1011 reported."""
    source = Source("--set", f"{name}={text}")
    start = len(name) + 1
    span = source.span(start, len(source.text))
    if default.type in ("string", "ident") and not text.startswith('"'):
        return Value(text, default.type, span)
    try:
        expression = parse_value(source, start)
    except DiagnosticError as error:
        _refuse(report, name, text, default, span, error.diagnostics[0].help)
        return None
    inner = Report("--set")
    value = Evaluator(inner, Scope()).evaluate(expression)
    converted = _as_type_of(value, default, name, inner) if value is not None else None
    if converted is None or inner.failed:
        _refuse(report, name, text, default, span, next((d.help for d in inner.sorted()), None))
        return None
    return Value(converted, default.type, span)


def _as_type_of(value: Value, default: Value, name: str, report: Report) -> Any:
    if default.type != "list":
        wanted: Any = default.type
        return Evaluator(report, Scope()).convert(value, Wanted(f"`{name}`", wanted))
    kinds = {item.type for item in default.value}
    if value.type != "list" or (kinds and any(item.type not in kinds for item in value.value)):
        return None
    return value.value


def _refuse(report: Report, name: str, text: str, default: Value, span: Span, help: str | None) -> None:
    report.error(
        "T1011",
        f"`--set {name}={text}`: `{name}` is {_kind(default)}, as its default {default.span.text} says",
        span,
        help=help,
    )


def _kind(value: Value) -> str:
    names = {
        "bool": "`true` or `false`",
        "int": "a whole number",
        "float": "a number",
        "bytes": "a size",
        "list": "a list",
    }
    return names.get(value.type, "a string")
