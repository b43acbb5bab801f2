"""The blocks of settings: model, target, builder, verify, emit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from trtc.diagnostics import Span, suggest
from trtc.lang import spec, syntax
from trtc.lang.report import Report, did_you_mean, listing
from trtc.lang.values import Evaluator, Wanted
from trtc.lang.vocabulary import Vocabulary

EMIT = {"engine": "model.engine", "onnx": "model.optimized.onnx", "readback": "model.readback.onnx"}
EMIT_LATER = frozenset({"report", "lock", "triton"})
_TOLERANCES = {"rtol": (0.0, None), "atol": (0.0, None), "cosine": (-1.0, 1.0)}
_MAX_SEED = (1 << 32) - 1


class BlockChecker:
    """Checks blocks against the vocabulary. Paths are made absolute from `folder`, that of the spec."""

    def __init__(self, vocabulary: Vocabulary, report: Report, evaluator: Evaluator, folder: Path) -> None:
        self.vocabulary = vocabulary
        self.report = report
        self.evaluator = evaluator
        self.folder = folder

    def path(self, expression: syntax.Expression, what: str) -> Path | None:
        if isinstance(expression, syntax.Reference) and "." in expression.text:
            text = expression.span.text
            self.report.error(
                "T0205", f"{what} must be a path in double quotes", expression.span, help=f'write `"{text}"`'
            )
            return None
        value = self.evaluator.take(expression, Wanted(what, "string"))
        if value is None:
            return None
        if not value or "\0" in value:
            self.report.error("T0206", f"{what} must be a path, found {value!r}", expression.span)
            return None
        return self.folder / value

    def _unique(self, entries: Sequence[syntax.Entry], block: str) -> Iterable[syntax.Entry]:
        """Entries whose key is new and built; the others are reported."""
        seen: dict[str, Span] = {}
        for entry in entries:
            key = entry.name.text
            if key in seen:
                self.report.duplicate(f"`{key}` is set", entry.name.span, seen[key])
            elif f"{block}.{key}" in self.vocabulary.not_built:
                self.report.not_built(f"`{key}` of `{block.partition('.')[0]}`", entry.name.span)
            else:
                yield entry
            seen.setdefault(key, entry.name.span)

    # ---- target and builder

    def target(self, target: syntax.Target) -> spec.Target:
        name = target.name.text
        signature = self.vocabulary.targets.get(name)
        if signature is None:
            if f"target.{name}" in self.vocabulary.not_built:
                self.report.not_built(f"the target `{name}`", target.name.span)
            else:
                help = did_you_mean(name, self.vocabulary.targets, "targets")
                self.report.error("T0213", f"unknown target `{name}`", target.name.span, help=help)
            return spec.Target(name, {}, target.span)
        known = {o.name: o for o in signature.options}
        options: dict[str, Any] = {}
        for entry in self._unique(target.entries, f"target.{name}"):
            key = entry.name.text
            if key not in known:
                help = did_you_mean(key, known, "options") if known else f"`{name}` has no options"
                self.report.error("T0213", f"target `{name}` has no option `{key}`", entry.name.span, help=help)
                continue
            option = known[key]
            wanted = Wanted(f"`{key}` of `{name}`", option.type, option.choices, option.min, option.max)
            value = self.evaluator.take(entry.value, wanted)
            if value is not None:
                options[key] = value
        return spec.Target(name, options, target.span)

    def builder(self, builder: syntax.Builder) -> dict[str, Any]:
        settings: dict[str, Any] = {}
        fields = self.vocabulary.builder
        for entry in self._unique(builder.entries, "builder"):
            key = entry.name.text
            if key not in fields:
                close = suggest(key, fields)
                self.report.error(
                    "T0214",
                    f"unknown builder setting `{key}`",
                    entry.name.span,
                    help=f"did you mean `{close}`?" if close else f"settings: {listing(sorted(fields))}",
                )
                continue
            known = fields[key]
            value = self.evaluator.take(
                entry.value, Wanted(f"`{key}`", known.type, known.choices, known.min, known.max)
            )
            if value is not None:
                settings[key] = value
        return settings

    # ---- verify

    def verify(self, verify: syntax.Verify) -> spec.Verify:
        require = spec.Verify().require
        inputs: spec.Random | Path | None = None
        for entry in self._unique(verify.entries, "verify"):
            key = entry.name.text
            if key == "require":
                require = self._rungs(entry.value)
            elif key == "inputs":
                inputs = self._data(entry.value)
            elif key in _TOLERANCES:
                self.report.error(
                    "T0215",
                    f"`{key}` belongs to an output",
                    entry.name.span,
                    help=f'write `output "NAME" {{ {entry.span.text} }}`',
                )
            else:
                help = did_you_mean(key, ("require", "inputs", "output"), "settings of `verify`")
                self.report.error("T0215", f"`verify` has no setting `{key}`", entry.name.span, help=help)
        outputs: dict[str, spec.Tolerance] = {}
        seen: dict[str, Span] = {}
        for block in verify.tolerances:
            name = block.name.value
            if name in seen:
                self.report.duplicate(f'output "{name}" stands in `verify`', block.name.span, seen[name])
            seen.setdefault(name, block.name.span)
            outputs[name] = self._tolerance(block)
        return spec.Verify(require, inputs, outputs, verify.span)

    def _rungs(self, expression: syntax.Expression) -> tuple[str, ...]:
        rungs = self.vocabulary.rungs
        later = {r.removeprefix("rung.") for r in self.vocabulary.not_built if r.startswith("rung.")}
        if isinstance(expression, syntax.List):
            kept: list[str] = []
            for item in expression.items:
                if isinstance(item, syntax.Reference) and item.text in later:
                    self.report.not_built(f"the rung `{item.text}`", item.span)
                elif isinstance(item, syntax.Reference) and item.text not in rungs:
                    help = did_you_mean(item.text, rungs, "rungs")
                    self.report.error("T0215", f"unknown rung `{item.text}`", item.span, help=help)
                else:
                    rung = self.evaluator.take(item, Wanted("every item of `require`", "ident", rungs))
                    kept += [rung] if rung is not None and rung not in kept else []
            return tuple(kept)
        self.evaluator.take(expression, Wanted("`require`", "idents", rungs))
        return ()

    def _data(self, expression: syntax.Expression) -> spec.Random | Path | None:
        if not isinstance(expression, syntax.Call):
            if isinstance(expression, syntax.Reference) and expression.text == "random":
                return spec.Random()
            return self.path(expression, "`inputs`")
        if expression.callee.text != "random":
            self.report.error(
                "T0215",
                f"unknown kind of data `{expression.callee.text}`",
                expression.callee.span,
                help='write `random(seed = 7)`, or a file: `"images.npz"`',
            )
            return None
        seed = 0
        for argument in expression.arguments:
            if argument.name is None or argument.name.text != "seed":
                span = argument.span if argument.name is None else argument.name.span
                self.report.error("T0215", "`random` takes only `seed`", span, help="write `random(seed = 7)`")
                continue
            found = self.evaluator.take(argument.value, Wanted("`seed` of `random`", "int", min=0, max=_MAX_SEED))
            seed = found if found is not None else seed
        return spec.Random(seed)

    def _tolerance(self, block: syntax.ToleranceBlock) -> spec.Tolerance:
        values: dict[str, float] = {}
        for entry in self._unique(block.entries, "verify.output"):
            key = entry.name.text
            if key not in _TOLERANCES:
                help = did_you_mean(key, _TOLERANCES, "tolerances")
                self.report.error("T0215", f"unknown tolerance `{key}`", entry.name.span, help=help)
                continue
            low, high = _TOLERANCES[key]
            value = self.evaluator.take(entry.value, Wanted(f"`{key}`", "float", min=low, max=high))
            if value is not None:
                values[key] = value
        return spec.Tolerance(**values)

    # ---- emit

    def emit(self, emit: syntax.Emit, model: Path | None) -> dict[str, Path]:
        files: dict[str, Path] = {}
        places: dict[Path, Span] = {}
        for block in emit.nested:
            self._emit_key(block.name, nested=True)
        for entry in self._unique(emit.entries, "emit"):
            key = entry.name.text
            if not self._emit_key(entry.name, nested=False):
                continue
            path = self.path(entry.value, f"`{key}`")
            if path is None:
                continue
            if path == model:
                self.report.error("T0216", f"`{key}` would be written over the model", entry.value.span)
            elif path in places:
                self.report.duplicate("this file would be written", entry.value.span, places[path])
            places.setdefault(path, entry.value.span)
            files[key] = path
        return files

    def _emit_key(self, name: syntax.Name, *, nested: bool) -> bool:
        key = name.text
        if key in EMIT_LATER or f"emit.{key}" in self.vocabulary.not_built:
            self.report.not_built(f"`{key}` of `emit`", name.span)
        elif key in EMIT and nested:
            self.report.error(
                "T0216", f"`{key}` takes a path, not a block", name.span, help=f'write `{key} = "{EMIT[key]}"`'
            )
        elif key in EMIT:
            return True
        else:
            help = did_you_mean(key, EMIT, "what `emit` can write")
            self.report.error("T0216", f"`emit` cannot write `{key}`", name.span, help=help)
        return False
