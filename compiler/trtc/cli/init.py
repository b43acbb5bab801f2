"""`trtc init`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("init")
@click.argument("model", metavar="MODEL.onnx", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="The spec; default: MODEL.trtspec."
)
def init_command(model: Path, output: Path | None) -> None:
    """Write a first .trtspec for a model: short, with a dim and a profile where the model is dynamic.

    Never overwrites a file.
    """
    from trtc.driver.init import write_first_spec

    path = write_first_spec(model, output)
    click.echo(path.read_text(encoding="utf-8"), nl=False)
    click.echo(f"\nwrote {path}; next: trtc compile {path}", err=True)
