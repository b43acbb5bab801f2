"""Diagnostics: what was wrong, where, what was expected, what to do. Knows neither the language nor the IR."""

from trtc.diagnostics.diagnostic import (
    Diagnostic,
    DiagnosticError,
    Label,
    Remark,
    RemarkKind,
    Severity,
    exit_status,
)
from trtc.diagnostics.explain import all_codes, explain, title
from trtc.diagnostics.render import escape, excerpt, plural, render, suggest
from trtc.diagnostics.source import Source, Span

__all__ = [
    "Diagnostic",
    "DiagnosticError",
    "Label",
    "Remark",
    "RemarkKind",
    "Severity",
    "Source",
    "Span",
    "all_codes",
    "escape",
    "excerpt",
    "exit_status",
    "explain",
    "plural",
    "render",
    "suggest",
    "title",
]
