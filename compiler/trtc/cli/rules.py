"""`trtc rules`."""

from __future__ import annotations

import json

import click

from trtc.cli.options import json_option
from trtc.diagnostics import plural


@click.command("rules")
@click.argument("name", metavar="[LIBRARY|RULE]", required=False)
@json_option
def rules_command(name: str | None, as_json: bool) -> None:
    """List the rewrite rules of the installed libraries, or show one.

    \b
    trtc rules                    every rule of every library
    trtc rules std.norm           those of a library
    trtc rules fuse_gelu          a rule, pattern, operator or plugin: its text as it stands in the library
    """
    from trtc.driver.catalogue import entries, named
    from trtc.driver.library import libraries

    whole = name is None or name in libraries()
    found = [e for one in libraries() for e in entries(one) if e.rule] if name is None else list(named(name))
    if as_json:
        click.echo(json.dumps([entry.to_json() for entry in found], indent=1, ensure_ascii=False))
        return
    if not whole:
        for entry in found:
            facts = [entry.kind, *([f"benefit {entry.benefit}"] if entry.benefit is not None else [])]
            doc = f'"""{entry.doc}"""\n' if entry.doc else ""
            click.echo(f"{entry.full_name}  {entry.place}  {', '.join(facts)}\n\n{doc}{entry.source}\n")
        return
    for entry in found:
        click.echo(f"{entry.full_name}\n    {entry.summary}")
    click.echo(f"\n{plural(len(found), 'rule')}; `trtc rules NAME` shows one", err=True)
