"""`trtc passes`, `trtc ops`, `trtc explain`, `trtc version`: what there is."""

from __future__ import annotations

import inspect
import json
import sys

import click

from trtc.cli.options import json_option
from trtc.diagnostics import Diagnostic, DiagnosticError, all_codes, explain, suggest, title


@click.command("passes")
@click.argument("name", required=False)
@json_option
def passes_command(name: str | None, as_json: bool) -> None:
    """List the optimization passes and their options; with NAME, all about one."""
    from trtc.driver.library import first_line, registry
    from trtc.pipeline import options_of

    installed = registry()
    if name is not None and name not in installed:
        close = suggest(name, installed)
        raise DiagnosticError(
            Diagnostic(
                "T1004",
                f"there is no pass `{name}`",
                help=f"did you mean `{close}`?" if close else "`trtc passes` lists them",
            )
        )
    chosen = [name] if name is not None else list(installed)
    if as_json:
        data = [
            {
                "name": one,
                "doc": inspect.cleandoc(installed[one].__doc__ or ""),
                "options": [
                    {"name": o.name, "type": o.type, "default": o.default, "doc": o.doc, "choices": list(o.choices)}
                    for o in options_of(installed[one])
                ],
            }
            for one in chosen
        ]
        click.echo(json.dumps(data, indent=1, default=str))
        return
    for one in chosen:
        cls = installed[one]
        options = options_of(cls)
        click.echo(f"{one}({', '.join(f'{o.name} = {_value(o.default)}' for o in options)})")
        text = inspect.cleandoc(cls.__doc__ or "") if name is not None else first_line(cls.__doc__)
        for line in text.splitlines():
            click.echo(f"    {line}".rstrip())
        for option in options:
            kind = " | ".join(option.choices) or option.type
            click.echo(f"    {option.name}: {kind} = {_value(option.default)}   {option.doc}")
        click.echo()


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(_value(v) for v in value) + "]"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return json.dumps(value) if isinstance(value, str) else repr(value)


@click.command("ops")
@json_option
def ops_command(as_json: bool) -> None:
    """List the ONNX operators that can be emitted, with what to know about each."""
    from trtc import emit

    rows = emit.operators()
    if as_json:
        click.echo(json.dumps([{"domain": d, "operator": o, "note": n} for d, o, n in rows], indent=1))
        return
    width = max(len(operator) for _, operator, _ in rows)
    for domain, operator, note in rows:
        name = f"{domain}.{operator}" if domain else operator
        click.echo(f"{name:<{width}}  {note}".rstrip())
    click.echo(f"\n{len(rows)} operators; every other one is reported by `trtc check`", err=True)


@click.command("explain")
@click.argument("code", required=False)
def explain_command(code: str | None) -> None:
    """Explain a diagnostic by its code; without one, list them all."""
    if code is None:
        for one in all_codes():
            click.echo(f"{one}  {title(one)}")
        return
    page = explain(code.upper())
    if page is None:
        close = suggest(code, all_codes())
        raise DiagnosticError(
            Diagnostic(
                "T1005",
                f"there is no diagnostic `{code}`",
                help=f"did you mean `{close}`?" if close else "`trtc explain` lists them",
            )
        )
    click.echo(page.rstrip())


@click.command("version")
@json_option
def version_command(as_json: bool) -> None:
    """Show what is installed and which targets work here, and why not."""
    from importlib import metadata

    from trtc import targets

    names = ["trtc", "onnx", "onnx-ir", "onnxruntime", "polygraphy", "onnx-graphsurgeon", "networkx", "numpy", "lark"]
    packages: dict[str, str | None] = {}
    for name in names:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = None
    statuses = targets.probe()
    if as_json:
        answer = {
            "python": sys.version.split()[0],
            "packages": packages,
            "targets": [status.to_json() for status in statuses],
        }
        click.echo(json.dumps(answer, indent=1))
        return
    click.echo(f"python {sys.version.split()[0]}")
    for name, version in packages.items():
        click.echo(f"{name} {version or 'not installed'}")
    click.echo()
    for status in statuses:
        state = "builds here" if status.can_build else f"cannot build here: {status.reason}"
        click.echo(f"target {status.name}{' ' + status.version if status.version else ''}: {state}")
