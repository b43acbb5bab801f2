"""`use`: the files of a spec, their parameters, and the named pipelines that they define."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trtc.diagnostics import DiagnosticError, Label, Source, Span
from trtc.lang import syntax
from trtc.lang.parser import parse
from trtc.lang.report import Report, did_you_mean
from trtc.lang.values import Evaluator, Scope
from trtc.lang.vocabulary import Vocabulary

#: What a file that is used by another may hold.
_OF_LIBRARIES = (syntax.Use, syntax.Param, syntax.Pipeline, syntax.Rule)


@dataclass(slots=True, eq=False)
class Unit:
    """One file: its tree, its parameters, the pipelines that it defines and those that it may call."""

    key: str
    path: Path | None
    file: syntax.File
    scope: Scope = field(default_factory=Scope)
    pipelines: dict[str, Definition] = field(default_factory=dict[str, "Definition"])
    visible: dict[str, Definition] = field(default_factory=dict[str, "Definition"])


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A named pipeline and the file whose names it sees."""

    declaration: syntax.Pipeline
    name: syntax.Name
    unit: Unit


class Libraries:
    """Loads what is used, each file once.

    `read` gives the text of a file (an editor has newer text than the disk).
    """

    def __init__(self, vocabulary: Vocabulary, report: Report, read: Callable[[Path], str]) -> None:
        self.vocabulary = vocabulary
        self.report = report
        self.read = read
        self.files: list[Path] = []
        self._units: dict[str, Unit | None] = {}
        self._open: list[tuple[str, Span | None]] = []

    def enter(self, unit: Unit) -> None:
        """Resolves the `use` declarations of a file and collects its pipelines."""
        self._define(unit)
        for declaration in unit.file.declarations:
            if isinstance(declaration, syntax.Use):
                used = self._use(declaration, unit)
                if used is not None:
                    self._import(unit, used, declaration)

    def standard(self, name: str) -> Definition | None:
        """A pipeline of the standard library, which needs no `use`."""
        for key in self.vocabulary.libraries:
            if key.startswith("std."):
                unit = self._library(key, None)
                if unit is not None and name in unit.pipelines:
                    return unit.pipelines[name]
        return None

    def standard_names(self) -> list[str]:
        units = (self._library(key, None) for key in self.vocabulary.libraries if key.startswith("std."))
        return [name for unit in units if unit is not None for name in unit.pipelines]

    def _define(self, unit: Unit) -> None:
        for declaration in unit.file.declarations:
            if not isinstance(declaration, syntax.Pipeline) or declaration.name is None:
                continue
            name = declaration.name
            first = unit.pipelines.get(name.text)
            if first is not None:
                self.report.duplicate(f"pipeline `{name.text}` is defined", name.span, first.name.span)
            elif name.text in self.vocabulary.passes:
                self.report.error("T0202", f"`{name.text}` is the name of a pass already", name.span)
            else:
                unit.pipelines[name.text] = Definition(declaration, name, unit)
        unit.visible.update(unit.pipelines)

    def _import(self, unit: Unit, used: Unit, declaration: syntax.Use) -> None:
        for name, definition in used.pipelines.items():
            first = unit.visible.get(name)
            if first is not None and first is not definition:
                self.report.error(
                    "T0202",
                    f"pipeline `{name}` is defined twice",
                    declaration.span,
                    labels=(
                        Label(first.name.span, "first here"),
                        Label(definition.name.span, "and here, which this `use` brings in"),
                    ),
                )
            unit.visible[name] = definition

    def _use(self, use: syntax.Use, unit: Unit) -> Unit | None:
        target = use.target
        if isinstance(target, syntax.Reference):
            return self._library(target.text, target.span)
        if unit.path is None:
            self.report.error("T0219", "a library cannot use a file by its path", target.span)
            return None
        if not target.value or "\0" in target.value:
            self.report.error("T0219", "this is not a path", target.span)
            return None
        path = unit.path.parent / target.value
        key = str(path.resolve())
        if self._cycle(key, target.span):
            return None
        if key not in self._units:
            self._units[key] = None
            try:
                text = self.read(path)
            except (OSError, UnicodeDecodeError) as error:
                reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
                self.report.error("T0219", f'cannot read "{target.value}": {reason}', target.span)
                return None
            self.files.append(path)
            shown = os.path.normpath(Path(use.span.source.path).parent / target.value)
            self._units[key] = self._load(key, path, Source(shown, text), target.span)
        return self._units[key]

    def _library(self, name: str, span: Span | None) -> Unit | None:
        if name not in self.vocabulary.libraries:
            if span is not None:
                self._unknown(name, span)
            return None
        if self._cycle(name, span):
            return None
        if name not in self._units:
            self._units[name] = None
            path, text = self.vocabulary.libraries[name]
            self._units[name] = self._load(name, None, Source(path, text), span)
        return self._units[name]

    def _unknown(self, name: str, span: Span) -> None:
        if f"use.{name}" in self.vocabulary.not_built:
            self.report.not_built(f"the library `{name}`", span)
            return
        help = did_you_mean(name, self.vocabulary.libraries, "libraries")
        if "." not in name:
            help = f'a file beside this one is used by its path: `use "./{name}.trtspec"`'
        self.report.error("T0219", f"unknown library `{name}`", span, help=help)

    def _cycle(self, key: str, span: Span | None) -> bool:
        at = next((i for i, (open_key, _) in enumerate(self._open) if open_key == key), None)
        if at is None or span is None:
            return at is not None
        chain = [s for _, s in self._open[at + 1 :] if s is not None]
        labels = tuple(Label(s, "which is used here") for s in chain)
        self.report.error(
            "T0220", "this file uses itself" if not chain else "files use each other in a circle", span, labels=labels
        )
        return True

    def start(self, unit: Unit) -> None:
        """Enters the spec itself."""
        self._open.append((unit.key, None))
        self.enter(unit)
        self._open.pop()

    def _load(self, key: str, path: Path | None, source: Source, span: Span | None) -> Unit | None:
        try:
            file = parse(source)
        except DiagnosticError as error:
            for diagnostic in error.diagnostics:
                self.report.add(diagnostic)
            return None
        unit = Unit(key, path, file)
        self._open.append((key, span))
        self.enter(unit)
        self._open.pop()
        self._check(unit)
        return unit

    def _check(self, unit: Unit) -> None:
        evaluator = Evaluator(self.report, unit.scope)
        for declaration in unit.file.declarations:
            if isinstance(declaration, syntax.Param):
                name, value = declaration.name, evaluator.evaluate(declaration.default)
                if name.text in unit.scope.params:
                    first = unit.scope.params[name.text].span
                    self.report.duplicate(f"param `{name.text}` is declared", name.span, first)
                elif value is not None:
                    unit.scope.params[name.text] = value
                else:
                    unit.scope.broken.add(name.text)
            elif isinstance(declaration, syntax.Rule):
                refuse_rule(declaration, self.report)
            elif not isinstance(declaration, _OF_LIBRARIES) or (
                isinstance(declaration, syntax.Pipeline) and declaration.name is None
            ):
                keyword = declaration.span.text.split(None, 1)[0]
                self.report.error(
                    "T0222",
                    f"`{keyword}` cannot stand in a file that another one uses",
                    declaration.span.source.span(declaration.span.start, declaration.span.start + len(keyword)),
                    help="give the pipeline a name: `pipeline NAME() { … }`"
                    if keyword.startswith("pipeline")
                    else "a used file holds parameters, rules and named pipelines",
                )


def refuse_rule(rule: syntax.Rule, report: Report) -> None:
    """Rules are parsed and not built yet: each is refused by name."""
    start = rule.span.start
    keyword = rule.span.source.span(start, start + len(rule.keyword))
    report.not_built(
        f"`{rule.keyword}`",
        rule.name.span if rule.name is not None else keyword,
        help="leave it out; what it should do, a pass of your own can do in Python (docs/writing_a_pass.md)",
    )
