"""The names of rules, patterns, plugins and Python functions: those of a file and those that it uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from trtc.diagnostics import Label, Span
from trtc.lang import rules, syntax
from trtc.lang.report import Report

Declared: TypeAlias = rules.Pattern | rules.Rewrite | rules.Horizontal | rules.Plugin | rules.Extern

_DECLARED = (rules.Pattern, rules.Rewrite, rules.Horizontal, rules.Plugin, rules.Extern)
KINDS: Mapping[type, str] = {
    rules.Pattern: "pattern",
    rules.Rewrite: "rewrite",
    rules.Horizontal: "horizontal",
    rules.Plugin: "plugin",
    rules.Operator: "operator",
    rules.Extern: "function in Python",
}


@dataclass(slots=True, eq=False)
class RuleScope:
    """What a file declares (`own`, in order), and what it may name: `visible`, unless two used files declare it."""

    own: dict[str, Declared] = field(default_factory=dict[str, Declared])
    visible: dict[str, Declared] = field(default_factory=dict[str, Declared])
    ambiguous: dict[str, tuple[Declared, ...]] = field(default_factory=dict[str, tuple[Declared, ...]])

    def define(self, file: syntax.File, report: Report) -> None:
        """Collects what a file declares."""
        for declaration in file.declarations:
            if not isinstance(declaration, _DECLARED):
                continue
            name = declaration.name
            first = self.own.get(name.text)
            if first is not None:
                report.duplicate(f"`{name.text}` is defined", name.span, first.name.span)
            else:
                self.own[name.text] = declaration
        self.visible.update(self.own)

    def use(self, used: RuleScope, place: Span, report: Report) -> None:
        """Adds what a used file declares. Where two used files declare a name, it has to be written in full."""
        for name, declared in used.own.items():
            if name in self.own:
                first = self.own[name].name.span
                report.error(
                    "T0202",
                    f"`{name}` is defined twice",
                    first,
                    labels=(Label(declared.name.span, "and here"), Label(place, "which this `use` brings in")),
                )
            elif name in self.ambiguous or self.visible.get(name, declared) is not declared:
                others = self.ambiguous.get(name) or (self.visible.pop(name),)
                self.ambiguous[name] = (*others, declared)
            else:
                self.visible[name] = declared

    def rules(self) -> tuple[rules.Rule, ...]:
        """The rules that the file declares, in order."""
        return tuple(d for d in self.own.values() if isinstance(d, (rules.Rewrite, rules.Horizontal)))

    def replace(self, changed: Mapping[str, Declared]) -> None:
        """Puts other objects in the place of the file's own declarations."""
        self.own.update(changed)
        self.visible.update(changed)

    def fill(self, environment: rules.Environment) -> None:
        """Says in the environment of the file's rules what their names mean. Parameters stand as numbers by now."""
        for table in (environment.patterns, environment.plugins, environment.externs, environment.params):
            table.clear()
        for name, declared in self.visible.items():
            put(environment, name, declared)


def put(environment: rules.Environment, name: str, declared: Declared) -> None:
    """Lets `name` mean `declared`, where that is something which expressions name."""
    if isinstance(declared, rules.Pattern):
        environment.patterns[name] = declared
    elif isinstance(declared, rules.Plugin):
        environment.plugins[name] = declared
    elif isinstance(declared, rules.Extern):
        environment.externs[name] = declared
