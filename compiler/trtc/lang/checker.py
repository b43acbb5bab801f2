"""From the text of a spec to the `Spec`, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from trtc.diagnostics import Diagnostic, DiagnosticError, Severity, Source, Span
from trtc.lang import rules, spec, syntax
from trtc.lang.arguments import override, parse_dim_argument
from trtc.lang.check_blocks import BlockChecker
from trtc.lang.check_interface import InterfaceChecker
from trtc.lang.check_pipeline import PipelineChecker
from trtc.lang.libraries import Libraries, Unit
from trtc.lang.parser import parse
from trtc.lang.report import Report, did_you_mean
from trtc.lang.scopes import Declared
from trtc.lang.vocabulary import Vocabulary

_Node = TypeVar("_Node", bound=syntax.Declaration)


def load(
    path: Path,
    vocabulary: Vocabulary,
    overrides: Mapping[str, str] | None = None,
    dims: Sequence[str] = (),
) -> spec.Spec:
    """The spec in a file. `overrides` is what `--set` says, `dims` the texts of `--dim`.

    Raises:
        DiagnosticError: T01xx, T02xx; T1010 and T1011 for `dims` and `overrides`; T1012 where the file cannot be read.
    """
    return loads(read_text(path), path, vocabulary, overrides, dims)


def loads(
    text: str,
    path: Path,
    vocabulary: Vocabulary,
    overrides: Mapping[str, str] | None = None,
    dims: Sequence[str] = (),
) -> spec.Spec:
    """As `load`, for text that would stand in the file `path`."""
    made, diagnostics = check_text(text, path, vocabulary, overrides, dims)
    if made is None:
        raise DiagnosticError.of([d for d in diagnostics if d.severity is Severity.ERROR])
    return made


def check_text(
    text: str,
    path: Path,
    vocabulary: Vocabulary,
    overrides: Mapping[str, str] | None = None,
    dims: Sequence[str] = (),
    read: Callable[[Path], str] | None = None,
) -> tuple[spec.Spec | None, tuple[Diagnostic, ...]]:
    """The spec, or None where there are errors; and all diagnostics in order of place, warnings too.

    `read` gives the text of the files that the spec uses (default: from the disk, as UTF-8).
    """
    source = Source(str(path), text.removeprefix("\ufeff"))
    try:
        fixed = [parse_dim_argument(argument) for argument in dims]
        file = parse(source)
    except DiagnosticError as error:
        return None, error.diagnostics
    except RecursionError:
        return None, (Diagnostic("T0110", "an expression in this file is too long", span=source.span(0, 0)),)
    try:
        return _Checker(source, path, file, vocabulary, read or _read_used).run(overrides or {}, fixed)
    except RecursionError:
        return None, (Diagnostic("T0110", "an expression in this file is too long", span=source.span(0, 0)),)


def for_model(path: Path, vocabulary: Vocabulary, dims: Sequence[str] = (), **settings: Any) -> spec.Spec:
    """The spec of a bare model, with the standard pipeline. `settings` as in `Spec.for_model`.

    Raises:
        DiagnosticError: T1010 for `dims`, the texts of `--dim`; T0203 where there is no standard pipeline.
    """
    found = [parse_dim_argument(argument) for argument in dims]
    source = Source(str(path), "")
    checker = _Checker(source, path, syntax.File(1, (), source.span(0, 0), rules.Environment()), vocabulary, _read_used)
    if "pipeline" not in settings:
        settings["pipeline"] = checker.standard()
    if checker.report.failed:
        raise DiagnosticError.of(checker.report.sorted())
    by_name = {name: (low, opt, high) for name, low, opt, high in found}
    return spec.Spec.for_model(path, dims=by_name, **settings)


def library_rules(name: str, vocabulary: Vocabulary) -> tuple[rules.Rule, ...]:
    """The rules of a library, in the order of its file.

    Raises:
        DiagnosticError: T01xx, T02xx, T03xx when it is wrong; T0219 when there is none of that name.
    """
    return _library(name, vocabulary).rules.rules()


def library_declarations(name: str, vocabulary: Vocabulary) -> tuple[Declared, ...]:
    """What `library_rules` returns, and the patterns, operators, plugins and functions in Python beside them.

    Raises:
        DiagnosticError: as `library_rules`.
    """
    return tuple(_library(name, vocabulary).rules.own.values())


def _library(name: str, vocabulary: Vocabulary) -> Unit:
    report = Report(name)
    span = Source("use", name).span(0, len(name))
    unit = Libraries(vocabulary, report, _read_used).by_name(name, span)
    if unit is None or report.failed:
        raise DiagnosticError.of(report.sorted())
    return unit


def file_rules(
    path: Path, vocabulary: Vocabulary, overrides: Mapping[str, str] | None = None
) -> tuple[rules.Rule, ...]:
    """The rules that a file declares, in order, whether or not it is a whole spec: it may name no model.

    Raises:
        DiagnosticError: T01xx, T02xx, T03xx; T1011 for `overrides`; T1012 where the file cannot be read.
    """
    source = Source(str(path), read_text(path))
    checker = _Checker(source, path, parse(source), vocabulary, _read_used)
    _, diagnostics = checker.run(overrides or {}, ())
    errors = [d for d in diagnostics if d.severity is Severity.ERROR and d.code != "T0217"]
    if errors:
        raise DiagnosticError.of(errors)
    return checker.unit.rules.rules()


def read_text(path: Path) -> str:
    """The text of a spec.

    Raises:
        DiagnosticError: T1012.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise DiagnosticError(Diagnostic("T1012", f"cannot read the spec: {reason}", file=str(path))) from None
    except UnicodeDecodeError as error:
        message = f"this is not a spec: byte {error.start} is not UTF-8 text"
        help = "a model is compiled as `trtc compile MODEL.onnx`" if path.suffix != ".trtspec" else None
        raise DiagnosticError(Diagnostic("T1012", message, file=str(path), help=help)) from None


def _read_used(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig")


class _Checker:
    """The state of one check, declaration by declaration."""

    def __init__(
        self,
        source: Source,
        path: Path,
        file: syntax.File,
        vocabulary: Vocabulary,
        read: Callable[[Path], str],
    ) -> None:
        self.source = source
        self.path = path.absolute()
        self.file = file
        self.vocabulary = vocabulary
        self.report = Report(source.path)
        self.unit = Unit(str(path.resolve()), self.path, file)
        self.libraries = Libraries(vocabulary, self.report, read)
        self.scope = self.unit.scope
        self.interface = InterfaceChecker(self.report, self.scope)
        self.pipelines = PipelineChecker(vocabulary, self.libraries, self.report)
        self.blocks = BlockChecker(vocabulary, self.report, self.interface.evaluator, self.path.parent)

    def _all(self, kind: type[_Node]) -> list[_Node]:
        return [d for d in self.file.declarations if isinstance(d, kind)]

    def _one(self, kind: type[_Node], keyword: str) -> _Node | None:
        """The declaration that may stand once; further ones are reported."""
        found = [d for d in self._all(kind) if not (isinstance(d, syntax.Pipeline) and d.name is not None)]
        for again in found[1:]:
            self.report.duplicate(f"`{keyword}` is written", _head(again, keyword), _head(found[0], keyword))
        return found[0] if found else None

    def run(
        self, overrides: Mapping[str, str], dims: Sequence[tuple[str, int, int, int]]
    ) -> tuple[spec.Spec | None, tuple[Diagnostic, ...]]:
        self.libraries.start(self.unit)
        for precision in self._all(syntax.Precision):
            self.report.not_built("`precision`", _head(precision, "precision"))
        params = self._params(overrides)
        self.libraries.finish(self.unit)
        for dim in self._all(syntax.Dim):
            self.interface.dim(dim, params)
        self.interface.override(dims)
        model = self._model()
        inputs, outputs = self._tensors("input"), self._tensors("output")
        profiles = self.interface.finish(self._profiles())
        pipeline = self._pipeline()
        target = self._one(syntax.Target, "target")
        builder = self._one(syntax.Builder, "builder")
        verify = self._one(syntax.Verify, "verify")
        emit = self._one(syntax.Emit, "emit")
        made = spec.Spec(
            path=self.path,
            model=model or self.path,
            params={name: value.plain() for name, value in self.scope.params.items()},
            dims=dict(self.interface.dims),
            inputs=inputs,
            outputs=outputs,
            profiles=profiles,
            target=self.blocks.target(target) if target is not None else None,
            builder=self.blocks.builder(builder) if builder is not None else {},
            pipeline=pipeline,
            verify=self.blocks.verify(verify) if verify is not None else spec.Verify(),
            emit=self.blocks.emit(emit, model) if emit is not None else {},
            rules=self.unit.rules.rules(),
            plugins=tuple(d for d in self.unit.rules.visible.values() if type(d) is rules.Plugin),
            externs=tuple(d for d in self.unit.rules.visible.values() if isinstance(d, rules.Extern)),
            source=self.source,
            files=(self.path, *self.libraries.files),
        )
        self._applied_together(pipeline)
        for name, span in params.items():
            if name not in self.scope.used:
                self.report.warning("T0250", f"param `{name}` is not used", span)
        return (None if self.report.failed else made), self.report.sorted()

    def _applied_together(self, steps: Sequence[spec.Step]) -> None:
        """Lets the vocabulary look at the rules that the steps apply, each of which is right by itself."""
        look = self.vocabulary.check_rules
        if look is not None and not self.report.failed:
            look(steps, self.report)

    def standard(self) -> tuple[spec.Step, ...]:
        """The steps of `standard()`. Reports T0203 where no library defines it."""
        if self.unit.visible.get("standard") is None and self.libraries.standard("standard") is None:
            help = "write a `pipeline { … }`"
            self.report.error("T0203", "no library defines the pipeline `standard`", self.source.span(0, 0), help=help)
        return self.pipelines.standard(self.unit)

    # ---- parts

    def _params(self, overrides: Mapping[str, str]) -> dict[str, Span]:
        """Evaluates the parameters in their order; returns where each is declared."""
        places: dict[str, Span] = {}
        self.scope.later = frozenset(param.name.text for param in self._all(syntax.Param))
        for param in self._all(syntax.Param):
            name = param.name.text
            if name in places:
                self.report.duplicate(f"param `{name}` is declared", param.name.span, places[name])
                continue
            places[name] = param.name.span
            default = self.interface.evaluator.evaluate(param.default)
            value = default
            if default is not None and name in overrides:
                value = override(self.report, name, overrides[name], default)
            if value is None:
                self.scope.broken.add(name)
            else:
                self.scope.params[name] = value
        for name, text in overrides.items():
            if name not in places:
                source = Source("--set", f"{name}={text}")
                help = did_you_mean(name, places, "parameters")
                self.report.error("T1011", f"the spec has no parameter `{name}`", source.span(0, len(name)), help=help)
        return places

    def _model(self) -> Path | None:
        model = self._one(syntax.Model, "model")
        if model is not None:
            return self.blocks.path(model.path, "the model")
        end = len(self.source.text.rstrip())
        self.report.error(
            "T0217",
            "the spec names no model",
            self.source.span(end, end),
            help='add `model "resnet50.onnx"`, with the path relative to this file',
        )
        return None

    def _tensors(self, kind: str) -> tuple[spec.TensorSpec, ...]:
        declarations = self._all(syntax.Input) if kind == "input" else self._all(syntax.Output)
        seen: dict[str, Span] = {}
        made: list[spec.TensorSpec] = []
        for declaration in declarations:
            name = declaration.name.value
            if name in seen:
                self.report.duplicate(f'{kind} "{name}" is declared', declaration.name.span, seen[name])
                continue
            seen[name] = declaration.name.span
            made.append(self.interface.tensor(kind, declaration))
        return tuple(made)

    def _profiles(self) -> list[spec.Profile]:
        seen: dict[str, Span] = {}
        made: list[spec.Profile] = []
        for profile in self._all(syntax.Profile):
            name = profile.name.value
            if name in seen:
                self.report.duplicate(f'profile "{name}" is declared', profile.name.span, seen[name])
                continue
            seen[name] = profile.name.span
            made.append(self.interface.profile(profile))
        return made

    def _pipeline(self) -> tuple[spec.Step, ...]:
        for definition in self.unit.pipelines.values():
            self.pipelines.define(definition)
        pipeline = self._one(syntax.Pipeline, "pipeline")
        return self.pipelines.steps(pipeline.steps, self.unit, self.scope) if pipeline else self.standard()


def _head(declaration: syntax.Declaration, keyword: str) -> Span:
    start = declaration.span.start
    return declaration.span.source.span(start, start + len(keyword))
