"""`trtc check`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from trtc.cli.app import report
from trtc.cli.options import dim_option, json_option, model_argument, pairs, set_option, target_option
from trtc.diagnostics import exit_status, plural


@click.command("check")
@model_argument
@set_option
@dim_option
@target_option
@json_option
def check_command(
    source: Path,
    settings: tuple[str, ...],
    dims: tuple[str, ...],
    target: str | None,
    as_json: bool,
) -> int:
    """Find every mistake in a .trtspec or a model without building.

    Without the model: syntax, names, types, ranges. With it: the file, the interface, the pipeline and what the
    target cannot emit. A spec whose model is not there yet is checked as far as that goes, and says so.
    """
    from trtc.driver.checking import check

    outcome = check(source, set=pairs(settings, "--set"), dim=pairs(dims, "--dim"), target=target)
    status = exit_status(outcome.diagnostics)
    if as_json:
        answer = {
            "ok": status == 0,
            "checked": list(outcome.checked),
            "not_checked": list(outcome.not_checked),
            "diagnostics": [d.to_json() for d in outcome.diagnostics],
        }
        click.echo(json.dumps(answer, indent=1, ensure_ascii=False))
        return status
    if outcome.diagnostics:
        report(outcome.diagnostics, as_json=False)
    for note in outcome.not_checked:
        click.echo(f"not checked: {note}")
    if status == 0:
        warnings = len(outcome.diagnostics)
        suffix = f" ({plural(warnings, 'warning')})" if warnings else ""
        click.echo(f"{source}: no mistakes found in {', '.join(outcome.checked)}{suffix}")
    return status
