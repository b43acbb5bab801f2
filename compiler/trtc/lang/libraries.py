"""`use`: the files of a spec, their parameters, and the named pipelines that they define."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trtc.diagnostics import DiagnosticError, Label, Source, Span
from trtc.lang import rules, stored, syntax
from trtc.lang.check_rules import RuleChecker
from trtc.lang.parser import parse
from trtc.lang.report import Report, did_you_mean
from trtc.lang.scopes import Declared, RuleScope, put
from trtc.lang.substitution import substituted
from trtc.lang.values import Evaluator, Scope
from trtc.lang.vocabulary import Vocabulary
from trtc.lang.walk import applications

#: What a file that is used by another may hold.
_OF_LIBRARIES = (
    syntax.Use,
    syntax.Param,
    syntax.Pipeline,
    rules.Pattern,
    rules.Rewrite,
    rules.Horizontal,
    rules.Plugin,
    rules.Extern,
)
_PIPELINE = re.compile(r"^\s*pipeline\s+(\w+)", re.MULTILINE)


@dataclass(slots=True, eq=False)
class Unit:
    """One file: its tree, its parameters, the pipelines and rules that it defines and those that it may name."""

    key: str
    path: Path | None
    file: syntax.File
    scope: Scope = field(default_factory=Scope)
    pipelines: dict[str, Definition] = field(default_factory=dict[str, "Definition"])
    visible: dict[str, Definition] = field(default_factory=dict[str, "Definition"])
    rules: RuleScope = field(default_factory=RuleScope)
    used: list[Unit] = field(default_factory=list["Unit"])


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
        unit.rules.define(unit.file, self.report)
        for declaration in unit.file.declarations:
            if isinstance(declaration, syntax.Use):
                used = self._use(declaration, unit)
                if used is not None and used not in unit.used:
                    unit.used.append(used)
                    self._import(unit, used, declaration)
                    unit.rules.use(used.rules, declaration.span, self.report)

    def finish(self, unit: Unit) -> None:
        """Says what the names in a file's rules mean and checks the rules, once its parameters have their values."""
        scope, environment = unit.rules, unit.file.environment
        scope.replace(substituted(scope.own, unit.scope))
        scope.fill(environment)
        full: dict[str, Declared] = {}
        for declared in scope.own.values():
            for call in applications(declared):
                found = self.qualified(call.callee, unit) if "." in call.callee else None
                if found is not None:
                    full[call.callee] = found
                    put(environment, call.callee, found)
        RuleChecker(self.report, self.vocabulary, scope, full, unit.visible).check()

    def qualified(self, name: str, unit: Unit) -> Declared | None:
        """What `std.norm.layer_norm` names: a declaration of a library that is used, or of the standard one."""
        library, _, last = name.rpartition(".")
        found = self.library(library, unit)
        return found.rules.own.get(last) if found is not None else None

    def library(self, name: str, unit: Unit) -> Unit | None:
        """A library that a file may name: one that it uses, or one of the standard library. Reports nothing."""
        if name.startswith("std."):
            return self._library(name, None)
        return next((used for used in unit.used if used.key == name), None)

    def standard(self, name: str) -> Definition | None:
        """A pipeline of the standard library, which needs no `use`."""
        for key in self._standard_with(name):
            unit = self._library(key, None)
            if unit is not None and name in unit.pipelines:
                return unit.pipelines[name]
        return None

    def standard_names(self) -> list[str]:
        texts = (text for key, (_, text) in self.vocabulary.libraries.items() if key.startswith("std."))
        return [name for text in texts for name in _PIPELINE.findall(text)]

    def _standard_with(self, name: str) -> list[str]:
        # Libraries that do not have the pipeline are not parsed: a library of rules takes its time.
        libraries = self.vocabulary.libraries.items()
        return [key for key, (_, text) in libraries if key.startswith("std.") and name in _PIPELINE.findall(text)]

    def by_name(self, name: str, span: Span) -> Unit | None:
        """A library, used or not; T0219 is reported at `span` where there is none."""
        return self._library(name, span)

    def broken(self, name: str) -> bool:
        """Whether a library was looked for and has errors, which are reported already."""
        return name in self._units and self._units[name] is None

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
            file = parse(source) if path is not None else _parse_library(source.path, source.text, key)
        except DiagnosticError as error:
            for diagnostic in error.diagnostics:
                self.report.add(diagnostic)
            return None
        unit = Unit(key, path, file)
        self._open.append((key, span))
        self.enter(unit)
        self._open.pop()
        self._check(unit)
        self.finish(unit)
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


@functools.lru_cache(maxsize=64)
def _parse_library(path: str, text: str, name: str) -> syntax.File:
    """Libraries do not change while a process runs."""
    return stored.file_of(Source(path, text), name, parse)
