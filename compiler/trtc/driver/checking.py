"""`check`: everything that can be found without building."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trtc import lang
from trtc.diagnostics import Diagnostic, DiagnosticError, exit_status
from trtc.driver.library import vocabulary
from trtc.driver.spec import Triple, dim_text, spec_for
from trtc.ir.source import nearby
from trtc.lang import checker

if TYPE_CHECKING:
    from trtc.ir.module import Module


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What was looked at, what could not be, and what is wrong."""

    diagnostics: tuple[Diagnostic, ...]
    checked: tuple[str, ...]
    not_checked: tuple[str, ...] = ()


def check(
    path: str | Path,
    *,
    set: Mapping[str, object] | None = None,
    dim: Mapping[str, str | int | Triple] | None = None,
    target: str | None = None,
) -> CheckOutcome:
    """Check a spec or a bare model as far as this machine allows. Raises nothing for a user's mistake."""
    source = Path(path)
    warnings: list[Diagnostic] = []
    checked: list[str] = []
    try:
        if source.suffix == ".trtspec":
            overrides = {k: str(v) for k, v in (set or {}).items()}
            dims = [dim_text(name, value) for name, value in (dim or {}).items()]
            _, found = lang.check_text(checker.read_text(source), source, vocabulary(), overrides, dims)
            if exit_status(found):
                return CheckOutcome(tuple(found), ("the spec",))
            warnings += found
            checked.append("the spec")
        spec = spec_for(source, set=set, dim=dim, target=target)
        if source.suffix == ".trtspec" and not spec.model.exists():
            close = nearby(spec.model)
            note = f"the model: {spec.model.name} does not exist yet" + (f" (there is {close.name})" if close else "")
            return CheckOutcome(tuple(warnings), tuple(checked), (note,))
        from trtc.driver.front import cover, optimize, prepare

        prepared = prepare(spec, covered=False)
        checked.append("the model")
        problems: list[Diagnostic] = []
        missing: tuple[str, ...] = ()
        # One after another, whatever the one before found: all that is wrong is said at once.
        try:
            cover(prepared)
        except DiagnosticError as error:
            problems += error.diagnostics
        try:
            warnings += optimize(prepared).warnings
            checked.append("the pipeline")
        except DiagnosticError as error:
            problems += error.diagnostics
        try:
            missing = _emission(prepared.module, spec.target.name if spec.target is not None else None, checked)
        except DiagnosticError as error:
            problems += error.diagnostics
        return CheckOutcome((*warnings, *problems), tuple(checked), missing)
    except DiagnosticError as error:
        return CheckOutcome((*warnings, *error.diagnostics), tuple(checked))


def _emission(module: Module, target: str | None, checked: list[str]) -> tuple[str, ...]:
    """What the target cannot emit, raised; a target that is not here leaves that unchecked."""
    from trtc import emit, targets

    try:
        loaded = targets.choose(target)
    except DiagnosticError as error:
        return (f"emission: {error.diagnostics[0].message}",)
    findings = emit.check(module, loaded)
    if findings:
        raise DiagnosticError(emit.report(findings, loaded, str(module.path) if module.path is not None else None))
    checked.append(f"emission for {loaded.name} {loaded.version}")
    return ()
