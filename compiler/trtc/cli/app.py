"""The group of commands, and the one place where anything that went wrong becomes text and an exit status.

0 done, 1 the spec or the model is wrong, 2 usage, 3 verification failed, 4 the environment lacks something,
5 TensorRT refused the build or an internal fault, 130 cancelled.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from trtc.diagnostics import Diagnostic, DiagnosticError, exit_status, render

#: Commands by name; a command is imported when it runs, or when its own help is asked for.
_COMMANDS = {
    "compile": ("trtc.cli.compile", "Compile a .trtspec or an ONNX model to a verified TensorRT engine."),
    "check": ("trtc.cli.check", "Find every mistake in a .trtspec or a model without building."),
    "init": ("trtc.cli.init", "Write a first .trtspec for a model."),
    "fmt": ("trtc.cli.fmt", "Write specs in the one form; --check only says where they are not."),
    "test": ("trtc.cli.test", "Try to refute rewrite rules on random instances."),
    "why": ("trtc.cli.why", "Say where a rule matched, where it nearly did, and what stopped it."),
    "rules": ("trtc.cli.rules", "List the rewrite rules of the libraries, or show one."),
    "dump": ("trtc.cli.dump", "Show a graph as text, JSON, ONNX, DOT or SVG."),
    "passes": ("trtc.cli.listing", "List the optimization passes and their options."),
    "ops": ("trtc.cli.listing", "List the ONNX operators that can be emitted."),
    "explain": ("trtc.cli.listing", "Explain a diagnostic, for example `trtc explain T0501`."),
    "version": ("trtc.cli.listing", "Show what is installed and which targets work here."),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(_COMMANDS[cmd_name][0])
        return getattr(module, f"{cmd_name}_command")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from trtc.diagnostics import suggest

        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            close = suggest(args[0], _COMMANDS)
            hint = f" Did you mean `trtc {close}`?" if close else ""
            if args[0].endswith((".trtspec", ".onnx")):
                hint = f" Did you mean `trtc compile {args[0]}`?"
            raise click.UsageError(f"There is no command `{args[0]}`.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # From the table, so that the help imports no command.
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


_EPILOG = """\b
First steps:
  trtc init model.onnx              write model.trtspec
  trtc compile model.trtspec        optimize, build, verify
  trtc compile model.onnx --dim batch=1..8..64
  trtc dump model.onnx -o model.svg look at the graph

"""


@click.group(cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trtc", prog_name="trtc", message="%(prog)s %(version)s")
def app() -> None:
    """trtc compiles ONNX models to TensorRT engines as a .trtspec file says, and proves the result."""


def color(stream: Any) -> bool:
    """Colour only on a terminal, and not when the user asks for none (https://no-color.org)."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (default: `sys.argv`); the exit status."""
    if arguments is None:
        # Whoever ends this process (a CI job, `timeout`) wants nothing left behind, as with Ctrl-C.
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _cancel)
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    try:
        status = app.main(given, prog_name="trtc", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except DiagnosticError as error:
        report(error.diagnostics, as_json=as_json)
        return error.status
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.UsageError as error:
        if as_json:
            report([Diagnostic("T1000", error.format_message())], as_json=True)
        else:
            error.show()
        return 2
    except click.ClickException as error:
        report([Diagnostic("T1000", error.format_message())], as_json=as_json)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("cancelled", err=True)
        return 130
    except BrokenPipeError:
        # `trtc dump … | head`: the reader has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        report([_internal(error)], as_json=as_json)
        return 5


def _cancel(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def report(diagnostics: Sequence[Diagnostic], *, as_json: bool) -> None:
    """Diagnostics for people on stderr, or for machines on stdout."""
    diagnostics = [_with_crash_file(d) for d in diagnostics]
    if as_json:
        answer = {"ok": exit_status(diagnostics) == 0, "diagnostics": [d.to_json() for d in diagnostics]}
        click.echo(json.dumps(answer, indent=1, ensure_ascii=False))
        return
    for diagnostic in diagnostics:
        click.echo(render(diagnostic, color=color(sys.stderr)), err=True, color=True)
        click.echo(err=True)
    errors = sum(d.severity.value == "error" for d in diagnostics)
    if errors > 1:
        click.echo(f"{errors} errors", err=True)


def _internal(error: Exception) -> Diagnostic:
    from trtc.engine.worker import internal

    return internal(error)


def _with_crash_file(diagnostic: Diagnostic) -> Diagnostic:
    """A fault of trtc itself leaves its traceback in a file: the user sees a sentence, and has something to send."""
    from dataclasses import replace

    trace = diagnostic.data.get("traceback")
    if diagnostic.code != "T0800" or trace is None:
        return diagnostic
    from trtc.engine.supervisor import write_crash_file

    path = write_crash_file(Path.cwd(), str(trace))
    return replace(diagnostic, help=f"please report it with {path}", data={"crash_file": str(path)})
