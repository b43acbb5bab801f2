"""Diagnostics as text."""

from __future__ import annotations

from trtc.diagnostics import (
    Diagnostic,
    DiagnosticError,
    Label,
    Severity,
    Source,
    escape,
    exit_status,
    plural,
    render,
    suggest,
)

SOURCE = Source("m.trtspec", "trtspec 1\n\tmodel m\nlast")


def test_the_place_is_shown_with_carets_and_tabs_keep_their_width() -> None:
    span = SOURCE.span(11, 16)
    text = render(Diagnostic("T0101", "wrong", span, help="do\nthis", notes=("because",)))
    assert text.splitlines() == [
        "error[T0101]: wrong",
        "  --> m.trtspec:2:2",
        "   |",
        " 2 | \tmodel m",
        "   | \t^^^^^",
        "   = because",
        "   = help: do",
        "     this",
    ]


def test_a_second_place_is_labelled() -> None:
    text = render(Diagnostic("T0101", "wrong", SOURCE.span(19, 23), labels=(Label(SOURCE.span(0, 7), "opened here"),)))
    assert " 3 | last\n   | ^^^^" in text
    assert "  ::: m.trtspec:1:1" in text
    assert " 1 | trtspec 1\n   | ------- opened here" in text


def test_an_empty_span_at_the_end_of_the_file_still_has_a_caret() -> None:
    assert " 3 | last\n   |     ^" in render(Diagnostic("T0101", "wrong", SOURCE.span(23, 23)))


def test_names_from_a_model_cannot_move_the_cursor_or_reorder_the_line() -> None:
    assert escape("a\nb\x1b[31m\u202e") == "a\\nb\\x1b[31m\\u202e"
    assert escape("grün 数") == "grün 数"
    text = render(Diagnostic("T0401", "bad", node="n\nn\u202e", file="m.onnx"))
    assert text.splitlines()[1] == "  --> m.onnx: n\\nn\\u202e"


def test_colour_only_when_asked_for() -> None:
    diagnostic = Diagnostic("T0101", "wrong", severity=Severity.WARNING)
    assert "\x1b" not in render(diagnostic)
    assert render(diagnostic, color=True).startswith("\x1b[1;33mwarning[T0101]\x1b[0m")


def test_the_status_is_that_of_the_first_error() -> None:
    warning = Diagnostic("T0901", "w", severity=Severity.WARNING)
    assert exit_status([warning]) == 0
    assert [exit_status([warning, Diagnostic(c, "e")]) for c in ("T0203", "T0002", "T0804", "T0901", "T1000")] == [
        *(1, 4, 5, 3, 2)
    ]
    assert DiagnosticError(Diagnostic("T0901", "e")).status == 3


def test_json_holds_places_as_numbers() -> None:
    data = Diagnostic("T0101", "wrong", SOURCE.span(11, 16), notes=("n",)).to_json()
    assert data["span"] == {"path": "m.trtspec", "line": 2, "column": 2, "end_line": 2, "end_column": 7}
    assert data["notes"] == ["n"]
    assert "help" not in data


def test_words() -> None:
    assert [plural(1, "node"), plural(2000, "node"), plural(0, "entry", "entries")] == [
        *("1 node", "2,000 nodes", "0 entries")
    ]
    assert suggest("fold_constant", ["fold_constants", "cse"]) == "fold_constants"
    assert suggest("zzz", ["fold_constants"]) is None
