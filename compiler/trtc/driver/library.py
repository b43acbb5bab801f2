"""The vocabulary of the language, gathered from the rooms that own its words. Imports neither onnx nor TensorRT."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from importlib import metadata, resources
from typing import TYPE_CHECKING, Any

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.ir.operators import OPERATORS
from trtc.ir.schemas import schemas
from trtc.lang import library_rules
from trtc.lang.rules import Rule
from trtc.lang.vocabulary import BuilderField, Option, PassSignature, TargetSignature, Vocabulary
from trtc.pipeline import Registry, options_of
from trtc.targets import BUILDER_FIELDS, TARGETS

if TYPE_CHECKING:
    from trtc.lang.report import Report
    from trtc.lang.spec import Step

GROUP = "trtc.specs"

#: What the language calls the types of builder settings that have choices.
_KINDS = {"choice": "ident", "choices": "idents"}


@functools.cache
def registry() -> Registry:
    """The installed passes."""
    return Registry.installed()


@functools.cache
def libraries() -> Mapping[str, tuple[str, str]]:
    """Library files by the name that `use` calls them: (what to print as their path, text).

    An entry point of the group `trtc.specs` names a package; each of its `.trtspec` files is `<entry point>.<stem>`.

    Raises:
        DiagnosticError: T0512 when a distribution's files cannot be read.
    """
    found: dict[str, tuple[str, str]] = {}
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        try:
            folder = resources.files(point.value)
            for file in sorted(folder.iterdir(), key=lambda f: f.name):
                if file.name.endswith(".trtspec"):
                    stem = file.name.removesuffix(".trtspec")
                    found[f"{point.name}.{stem}"] = (f"{point.name}/{file.name}", file.read_text(encoding="utf-8"))
        except (ImportError, OSError, ValueError) as error:
            raise DiagnosticError(
                Diagnostic("T0512", f"the spec library `{point.value}` cannot be read: {error}")
            ) from error
    return found


@functools.cache
def functions() -> Mapping[str, tuple[int, int | None]]:
    """The functions that rules may call, with the least and the greatest number of values that each takes.

    They are read off the text of the room that defines them, which computes with numpy and is not imported for that.
    """
    found: dict[str, tuple[int, int | None]] = {}
    files = (f for f in resources.files("trtc.rewrite").iterdir() if f.name.startswith("functions"))
    texts = [
        file.read_text(encoding="utf-8") for file in sorted(files, key=lambda f: f.name) if file.name.endswith(".py")
    ]
    for node in [node for text in texts for node in ast.parse(text).body]:
        for call in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "function":
                assert isinstance(node, ast.FunctionDef)
                assert isinstance(call.args[0], ast.Constant)
                most = len(node.args.args) - 1  # the first is what a function may look at
                least = most - len(node.args.defaults)
                found[str(call.args[0].value)] = (least, None if node.args.vararg else most)
    return found


@functools.cache
def vocabulary() -> Vocabulary:
    """Everything that a spec may name here and now."""
    passes = {
        name: PassSignature(name, tuple(_option(o) for o in options_of(cls)), first_line(cls.__doc__))
        for name, cls in registry().items()
    }
    targets = {
        info.name: TargetSignature(
            info.name,
            tuple(Option(o.name, "strings", None, o.doc, o.choices) for o in info.options if o.built),
            info.doc,
        )
        for info in TARGETS.values()
    }
    builder: dict[str, BuilderField] = {}
    later: set[str] = {"emit.report", "emit.lock", "emit.triton", "extern.pass"}
    for field in BUILDER_FIELDS.values():
        if field.built:
            kind: Any = _KINDS.get(field.type, field.type)
            builder[field.name] = BuilderField(field.name, kind, field.choices, field.doc, field.low, field.high)
        else:
            later.add(f"builder.{field.name}")
    for info in TARGETS.values():
        later.update(f"target.{info.name}.{o.name}" for o in info.options if not o.built)
    return Vocabulary(
        passes=passes,
        targets=targets,
        builder=builder,
        operators=OPERATORS,
        schemas=schemas(),
        functions=functions(),
        check_rules=_check_rules,
        libraries=libraries(),
        not_built=frozenset(later),
    )


def _check_rules(steps: Sequence[Step], report: Report) -> None:
    from trtc.rewrite.overlap import check

    for diagnostic in check(steps):
        report.add(diagnostic)


def rules_of(name: str) -> tuple[Rule, ...]:
    """The rules of an installed library such as `std.norm`, in the order of its file.

    Raises:
        DiagnosticError: T01xx, T02xx, T03xx when it is wrong; T0219 when there is none of that name.
    """
    return library_rules(name, vocabulary())


def _option(info: Any) -> Option:
    kind: Any = "ident" if info.choices else info.type
    return Option(info.name, kind, info.default, info.doc, info.choices)


def first_line(doc: str | None) -> str:
    """The first line of a docstring."""
    return (doc or "").strip().splitlines()[0] if doc and doc.strip() else ""
