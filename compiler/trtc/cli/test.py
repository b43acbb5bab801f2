"""`trtc test`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from trtc.cli.app import report
from trtc.cli.options import code_option, json_option, pairs, set_option
from trtc.diagnostics import Severity, plural

if TYPE_CHECKING:
    from trtc.rewrite.refute.report import Outcome


@click.command("test")
@click.argument("target", metavar="SPEC|LIBRARY")
@click.argument("names", metavar="[RULE]...", nargs=-1)
@click.option("--instances", type=click.IntRange(min=1), default=200, show_default=True, help="Instances of each rule.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed makes the same instances.")
@click.option("--strict", is_flag=True, help="What is untested fails as well (status 3).")
@click.option("--coverage", is_flag=True, help="How often each alternative, option and order was tested.")
@set_option
@code_option
@json_option
def test_command(
    target: str,
    names: tuple[str, ...],
    instances: int,
    seed: int,
    strict: bool,
    coverage: bool,
    settings: tuple[str, ...],
    allow_code: bool,
    as_json: bool,
) -> int:
    """Try to refute rewrite rules on random instances.

    \b
    trtc test mine.trtspec              the rules of a file
    trtc test mine.trtspec fuse_gelu    one of them
    trtc test std.norm                  a library; `std` is the whole standard library

    Instances are made from the pattern and the guards; the rule rewrites them; the right side's error must stay within
    a small factor of the left side's own. Status 3 when a rule is refuted. What no instance satisfied is untested, and
    said to be.
    """
    from pathlib import Path

    from trtc.driver.refuting import refute, rules_to_test
    from trtc.rewrite.externs import allowed
    from trtc.rewrite.refute.report import lines

    rules = rules_to_test(target, names, set=pairs(settings, "--set"))
    outcomes: list[Outcome] = []
    with allowed(allow_code, Path(target).resolve().parent):
        for outcome in refute(rules, instances=instances, seed=seed):
            outcomes.append(outcome)
            if not as_json:
                for line in lines(outcome, coverage=coverage or bool(names)):
                    click.echo(line)
                if outcome.diagnostics:
                    report(outcome.diagnostics, as_json=False)
    wrong = [o for o in outcomes if any(d.severity is Severity.ERROR for d in o.diagnostics)]
    gaps = [o for o in outcomes if o.gaps]
    status = 3 if wrong or (strict and gaps) else 0
    if as_json:
        answer = {"ok": status == 0, "rules": [o.to_json() for o in outcomes]}
        click.echo(json.dumps(answer, indent=1, ensure_ascii=False))
        return status
    held = sum(o.status == "held" for o in outcomes)
    untested = sum(o.status == "untested" for o in outcomes)
    partly = len(gaps) - untested
    parts = [
        f"{plural(len(outcomes), 'rule')}: {held} held",
        *([f"{len(wrong)} refuted"] if wrong else []),
        *([f"{untested} untested"] if untested else []),
    ]
    click.echo(", ".join(parts) + (f" ({partly} of them with untested parts)" if partly else ""))
    return status
