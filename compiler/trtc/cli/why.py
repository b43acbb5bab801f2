"""`trtc why`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trtc.cli.app import color
from trtc.cli.options import code_option, dim_option, json_option, model_argument, pairs, set_option, target_option
from trtc.diagnostics import escape, excerpt, plural

if TYPE_CHECKING:
    from trtc.driver.why import Answer
    from trtc.rewrite.explain import NearMiss

#: Matches that are printed one by one.
_MATCHES = 8
#: Names of nodes in one line.
_NODES = 8


@click.command("why")
@model_argument
@click.argument("rule", metavar="RULE")
@click.option("--at", metavar="NODE", help="A node or value, as the file or the optimized graph calls it.")
@click.option("--limit", type=click.IntRange(min=1), default=5, help="Near misses to show; default: 5.")
@set_option
@dim_option
@target_option
@code_option
@json_option
def why_command(
    source: Path,
    rule: str,
    at: str | None,
    limit: int,
    settings: tuple[str, ...],
    dims: tuple[str, ...],
    target: str | None,
    allow_code: bool,
    as_json: bool,
) -> int:
    """Say where a rule matched, where it nearly did, and what stopped it.

    \b
    trtc why bert.trtspec fuse_attention
    trtc why bert.trtspec fuse_attention --at /encoder/layer.7/MatMul_1
    trtc why model.onnx std.norm.fuse_layer_norm

    The pipeline runs up to its end, and the rule is looked at whenever it has run. A rule that the pipeline does not
    apply, or a pattern, is looked for in what the pipeline leaves. With --at, everything that the node could be in
    the pattern is tried.
    """
    from trtc.driver.why import why

    answer = why(
        source,
        rule,
        at=at,
        set=pairs(settings, "--set"),
        dim=pairs(dims, "--dim"),
        target=target,
        limit=limit,
        allow_code=allow_code,
    )
    if as_json:
        click.echo(json.dumps({"ok": True, **answer.to_json()}, indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(_lines(answer)), color=True)
    return 0


def _lines(answer: Answer) -> list[str]:
    span = answer.rule.name.span
    lines = [f"{answer.name}  {escape(span.source.path)}:{span.line}:{span.column}"]
    if answer.pattern:
        lines.append("a pattern, looked for in what the pipeline leaves")
    elif not answer.applied:
        lines.append("the pipeline does not apply it; it was tried on what the pipeline leaves")
    lines.append(f"matched {plural(len(answer.matches), 'time')}" if answer.matches else "never matched")
    for remark in answer.matches[:_MATCHES] if answer.at is None else ():
        lines.append(f"  {escape(remark.node or '')}: {escape(remark.message)}")
    if answer.at is None and len(answer.matches) > _MATCHES:
        lines.append(f"  and {len(answer.matches) - _MATCHES} more")
    if answer.at is not None:
        lines += [f"at {escape(answer.at)}: {escape(one)}" for one in answer.fate]
    # Where it matched, what has no more than an operator in common with it was never meant.
    misses = [m for m in answer.misses if m.matched > 1 or m.whole or not answer.matches or answer.at is not None]
    for number, miss in enumerate(misses):
        lines += ["", *_miss(miss, "nearest miss" if number == 0 else "near miss")]
    if not misses and answer.at is None:
        lines += ["", "nothing else in the graph comes near its pattern"]
    return lines


def _miss(miss: NearMiss, title: str) -> list[str]:
    what = "fits and was declined" if miss.whole else f"matched {miss.progress}"
    lines = [f"{title}: {escape(miss.root)} ({escape(miss.op_type)}) {what}"]
    width = 1
    if miss.span is not None:
        width = len(str(miss.span.line))
        lines.append(excerpt(miss.span, color=color(sys.stdout)))
    bar = " " * (width + 2) + "="
    lines.append(f"{bar} {escape(miss.reason)}")
    if miss.value is not None:
        lines.append(f"{bar} at {escape(miss.value)}, {_made(miss)}")
    if miss.nodes:
        shown = ", ".join(map(escape, miss.nodes[:_NODES]))
        lines.append(
            f"{bar} matched: {shown}" + (f" and {len(miss.nodes) - _NODES} more" if len(miss.nodes) > _NODES else "")
        )
    others = [origin for origin in miss.origins if origin != miss.root]
    if others:
        shown = ", ".join(map(escape, others[:_NODES]))
        lines.append(f"{bar} {escape(miss.root)} stands for {shown}" + (" …" if len(others) > _NODES else ""))
    return lines


def _made(miss: NearMiss) -> str:
    made = miss.made_by or ""
    return escape(made) if made.startswith(("a ", "an ")) else f"made by {escape(made)}"
