"""The catalogue of rules: what `trtc rules` prints, and the tables of the documentation that are made from it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError, suggest
from trtc.driver.library import libraries, vocabulary
from trtc.lang import library_declarations, rules
from trtc.lang.scopes import KINDS, Declared


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule, or a pattern, operator or plugin that rules are made of.

    benefit: of a rewrite, its own or the number of operations that its pattern always has; else None.
    """

    library: str
    name: str
    kind: str
    doc: str
    assumes: tuple[str, ...]
    benefit: int | None
    source: str
    place: str

    @property
    def full_name(self) -> str:
        return f"{self.library}.{self.name}"

    @property
    def rule(self) -> bool:
        """Whether `apply` takes it."""
        return self.kind in ("rewrite", "horizontal")

    @property
    def summary(self) -> str:
        """The doc up to an empty line, in one line."""
        return " ".join(self.doc.split("\n\n")[0].split())

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.full_name,
            "kind": self.kind,
            "doc": self.doc,
            "benefit": self.benefit,
            "assumes": list(self.assumes),
            "source": self.source,
            "place": self.place,
        }


def entries(library: str) -> tuple[Entry, ...]:
    """Everything that an installed library declares, in the order of its file.

    Raises:
        DiagnosticError: T0219 where there is no such library; what is wrong with it.
    """
    return tuple(_entry(library, declared) for declared in library_declarations(library, vocabulary()))


def named(name: str) -> tuple[Entry, ...]:
    """The rules of a library, or what is called `name`, with or without its library.

    Raises:
        DiagnosticError: T1006 where nothing is.
    """
    if name in libraries():
        return tuple(entry for entry in entries(name) if entry.rule)
    known = [entry for library in libraries() for entry in entries(library)]
    found = tuple(entry for entry in known if name in (entry.name, entry.full_name))
    if not found:
        names = [*libraries(), *(n for entry in known for n in (entry.name, entry.full_name))]
        close = suggest(name, names)
        help = f"did you mean `{close}`?" if close else "`trtc rules` lists them"
        raise DiagnosticError(Diagnostic("T1006", f"there is no library or rule `{name}`", help=help))
    return found


def _entry(library: str, declared: Declared) -> Entry:
    benefit = None
    if isinstance(declared, rules.Rewrite):
        from trtc.rewrite.program import compiled

        benefit = compiled(declared).benefit
    span = declared.span
    assumes = tuple(sorted(declared.assumes)) if isinstance(declared, rules.Rewrite) else ()
    doc = inspect.cleandoc(declared.doc or "")
    place = f"{span.source.path}:{declared.name.span.line}"
    return Entry(library, declared.name.text, KINDS[type(declared)], doc, assumes, benefit, span.text, place)


# ---- the documentation


def introduction(library: str) -> str:
    """The comment that a library's file begins with, as paragraphs."""
    lines: list[str] = []
    for line in libraries()[library][1].splitlines()[1:]:
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return "\n".join(lines).strip()


def catalogue() -> str:
    """The tables of docs/standard_library.md: a section for each library of `std`, Markdown."""
    parts: list[str] = []
    for library in (name for name in libraries() if name.startswith("std.")):
        declared = entries(library)
        parts += [f"## {library}\n", introduction(library) + "\n"]
        rows = [entry for entry in declared if entry.rule]
        if rows:
            parts += ["| rule | what it finds, and who writes it | benefit | |", "|---|---|---|---|"]
            parts += [_row(entry) for entry in rows]
            parts.append("")
        for kind, title in (("operator", "Operators"), ("plugin", "Plugins"), ("pattern", "Patterns")):
            group = [entry for entry in declared if entry.kind == kind]
            if group:
                parts += [f"| {title.lower()[:-1]} | |", "|---|---|"]
                parts += [f"| `{entry.name}` | {_cell(entry.doc)} |" for entry in group]
                parts.append("")
    return "\n".join(parts).rstrip() + "\n"


def _row(entry: Entry) -> str:
    marks = [*(f"assumes {word}" for word in entry.assumes), *(["horizontal"] if entry.kind == "horizontal" else [])]
    benefit = "–" if entry.benefit is None else str(entry.benefit)
    return f"| `{entry.name}` | {_cell(entry.doc)} | {benefit} | {', '.join(marks)} |"


def _cell(doc: str) -> str:
    return " ".join(doc.split()).replace("|", "\\|").replace("<", "&lt;")


def functions_table() -> str:
    """The functions of the language as a table, from their docstrings, in the order of their files.

    Read off the text, as the vocabulary is: the room that defines them computes with numpy.
    """
    lines = ["| function | |", "|---|---|"]
    files = [f for f in resources.files("trtc.rewrite").iterdir() if f.name.startswith("functions")]
    for file in sorted(files, key=lambda f: f.name):
        for node in ast.parse(file.read_text(encoding="utf-8")).body if file.name.endswith(".py") else ():
            if isinstance(node, ast.FunctionDef) and _registered(node.decorator_list):
                head, _, text = " ".join((ast.get_docstring(node) or "").split()).partition("): ")
                lines.append(f"| `{head})` | {_cell(text)} |")
    return "\n".join(lines) + "\n"


def _registered(decorators: Sequence[ast.expr]) -> bool:
    return any(isinstance(d, ast.Call) and isinstance(d.func, ast.Name) and d.func.id == "function" for d in decorators)


__all__ = ["Entry", "catalogue", "entries", "functions_table", "introduction", "named"]
