"""`trtc compile`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from trtc.cli.app import color, report
from trtc.cli.options import (
    code_option,
    dim_option,
    json_option,
    model_argument,
    pairs,
    set_option,
    target_option,
)
from trtc.cli.progress import Progress
from trtc.diagnostics import RemarkKind, plural


@click.command("compile")
@model_argument
@set_option
@dim_option
@target_option
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for everything that is written; default: beside the spec or model.",
)
@click.option("--no-verify", is_flag=True, help="Build only. Every rung is reported as NOT RUN.")
@click.option(
    "--input",
    "input_",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Verify on the arrays of an .npz file (or a Polygraphy loader script) instead of random data.",
)
@click.option("--dump-after", metavar="PASS|all", help="Write the graph as text after a pass, or after every pass.")
@code_option
@click.option("-v", "--verbose", is_flag=True, help="Print every remark of the passes.")
@json_option
def compile_command(
    source: Path,
    settings: tuple[str, ...],
    dims: tuple[str, ...],
    target: str | None,
    output: Path | None,
    no_verify: bool,
    input_: Path | None,
    dump_after: str | None,
    allow_code: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Compile a .trtspec or an ONNX model to a verified TensorRT engine.

    \b
    trtc compile model.trtspec
    trtc compile model.onnx --dim batch=1..8..64 -o build
    trtc compile model.trtspec --input images.npz --dump-after all

    The model is optimized, emitted through TensorRT's network-definition API, read back and compared with the
    original in ONNX Runtime, built, and written with a manifest. An engine that fails verification is kept under
    failed/, never at its destination.
    """
    from trtc.driver import compile

    with Progress(enabled=not as_json) as progress:
        result = compile(
            source,
            set=pairs(settings, "--set"),
            dim=pairs(dims, "--dim"),
            target=target,
            output=output,
            verify=not no_verify,
            input=input_,
            dump_after=dump_after,
            allow_code=allow_code,
            progress=progress,
        )
    if as_json:
        click.echo(json.dumps({"ok": True, **result.to_json()}, indent=1, ensure_ascii=False))
        return
    if result.warnings:
        report(result.warnings, as_json=False)
    for remark in result.remarks:
        if verbose or remark.kind is RemarkKind.ANALYSIS:
            where = f" at {remark.node}" if remark.node else ""
            click.echo(f"{remark.kind.value}: {remark.source}{where}: {remark.message}")
    first, last = (
        (result.pipeline[0]["nodes_before"], result.pipeline[-1]["nodes_after"]) if result.pipeline else (0, 0)
    )
    click.echo(f"{first:,} nodes, {last:,} after the pipeline, {plural(len(result.layers), 'layer')}")
    click.echo(f"target {result.target} {result.version}")
    click.echo()
    click.echo(_painted(result.table, color(sys.stdout)), color=True)
    click.echo()
    size = result.engine.stat().st_size
    click.echo(f"engine    {_near(result.engine)} ({size / 1e6:,.1f} MB)")
    for name, path in (("onnx", result.onnx), ("readback", result.readback), ("manifest", result.manifest)):
        if path is not None:
            click.echo(f"{name:<9} {_near(path)}")
    if not result.verified:
        click.echo("NOT VERIFIED: nothing proves that this engine computes what the model computes", err=True)


def _near(path: Path) -> Path:
    """A path as seen from here, when it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _painted(table: str, colored: bool) -> str:
    if not colored:
        return table
    for word, code in (("passed", "32"), ("FAILED", "31"), ("NOT RUN", "33")):
        table = table.replace(word, f"\x1b[{code}m{word}\x1b[0m")
    return table
