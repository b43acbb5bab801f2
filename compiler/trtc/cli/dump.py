"""`trtc dump`."""

from __future__ import annotations

from pathlib import Path

import click

from trtc.cli.options import dim_option, model_argument, pairs, set_option


@click.command("dump")
@model_argument
@set_option
@dim_option
@click.option(
    "--stage",
    type=click.Choice(["loaded", "optimized"]),
    help="The graph as loaded, or after the pipeline; default: optimized for a spec, loaded for a model.",
)
@click.option(
    "-f",
    "--format",
    "format_",
    type=click.Choice(["text", "json", "onnx", "dot", "svg"]),
    help="Default: by the name of the output file, else text.",
)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Default: standard output.")
@click.option("--full", is_flag=True, help="Text that holds every weight and parses back.")
@click.option("--around", metavar="NODE", help="Only the neighbourhood of a node (dot, svg).")
@click.option(
    "--limit", type=click.IntRange(min=1), help="Nodes in a picture (dot, svg); default: 500, 40 with --around."
)
def dump_command(
    source: Path,
    settings: tuple[str, ...],
    dims: tuple[str, ...],
    stage: str | None,
    format_: str | None,
    output: Path | None,
    full: bool,
    around: str | None,
    limit: int | None,
) -> None:
    """Show a graph as text, JSON, ONNX, DOT or SVG.

    \b
    trtc dump model.onnx                       types and shapes as comments
    trtc dump model.trtspec -o optimized.svg   a picture, without graphviz
    trtc dump model.onnx --full > model.txt    parses back
    """
    from trtc.driver.dumping import dump
    from trtc.dump import format_of

    chosen = format_ or (format_of(output) if output is not None else "text")
    for given, name, fits in (
        (full, "--full", ("text",)),
        (around is not None, "--around", ("dot", "svg")),
        (limit is not None, "--limit", ("dot", "svg")),
    ):
        if given and chosen not in fits:
            raise click.UsageError(f"{name} is for {' and '.join(fits)}, and the format is {chosen}.")
    text = dump(
        source,
        set=pairs(settings, "--set"),
        dim=pairs(dims, "--dim"),
        stage=stage,
        format=format_,
        output=output,
        full=full,
        around=around,
        limit=limit or (500 if around is None else 40),
    )
    if text is not None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        click.echo(f"wrote {output}", err=True)
