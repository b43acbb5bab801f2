"""Options that several commands share, and how their values are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

model_argument = click.argument("source", metavar="SPEC|MODEL.onnx", type=click.Path(path_type=Path))
json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON on standard output.")
set_option = click.option(
    "--set", "settings", metavar="NAME=VALUE", multiple=True, help="Give a `param` of the spec a value."
)
dim_option = click.option(
    "--dim",
    "dims",
    metavar="NAME=MIN..OPT..MAX",
    multiple=True,
    help="Range and profile of a symbolic dim: batch=1..8..64, batch=1..64 or batch=8.",
)
target_option = click.option(
    "--target", metavar="NAME", help="tensorrt or tensorrt_rtx; default: the first that builds here."
)
code_option = click.option(
    "--allow-code", is_flag=True, help="Let the spec or the command line run Python (a data loader script)."
)


def pairs(values: tuple[str, ...], option: str) -> Mapping[str, str]:
    """`NAME=VALUE` arguments as a dict; a later one wins."""
    found: dict[str, str] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise click.UsageError(f"{option} wants NAME=VALUE, got `{text}`.")
        found[name.strip()] = value.strip()
    return found
