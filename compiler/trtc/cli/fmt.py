"""`trtc fmt`."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from trtc.cli.app import report
from trtc.cli.options import json_option
from trtc.diagnostics import Diagnostic, DiagnosticError, exit_status, plural

_DIFF_LINES = 40


@dataclass(frozen=True, slots=True)
class _Formatted:
    """A file, or standard input (`path` is None): its text before and after."""

    name: str
    path: Path | None
    before: str
    after: str

    @property
    def changed(self) -> bool:
        return self.before != self.after


@click.command("fmt")
@click.argument("files", metavar="FILES... | -", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Change nothing; status 1 and a diff where a file is not formatted.")
@json_option
def fmt_command(files: tuple[str, ...], check: bool, as_json: bool) -> int:
    """Write specs in the one form; `-` reads standard input and writes standard output.

    Comments stay, and so does what the file says. A file that does not parse is left as it is.
    """
    if "-" in files and len(files) > 1:
        raise click.UsageError("`-` stands alone.")
    formatted: list[_Formatted] = []
    diagnostics: list[Diagnostic] = []
    for name in files:
        try:
            one = _format(name)
            if one.changed and not check and one.path is not None:
                _write(one.path, one.after)
            formatted.append(one)
        except DiagnosticError as error:
            diagnostics += error.diagnostics
    changed = [one for one in formatted if one.changed]
    status = exit_status(diagnostics) or int(check and bool(changed))
    if as_json:
        answer = {
            "ok": status == 0,
            "files": [_to_json(one, check) for one in formatted],
            "diagnostics": [d.to_json() for d in diagnostics],
        }
        click.echo(json.dumps(answer, indent=1, ensure_ascii=False))
        return status
    report(diagnostics, as_json=False)
    if check:
        for one in changed:
            click.echo(f"{one.name} is not formatted")
            click.echo(_diff(one))
    elif files == ("-",):
        for one in formatted:
            _write_stdout(one.after)
        return status
    else:
        for one in changed:
            click.echo(f"formatted {one.name}")
    click.echo(_summary(len(changed), len(formatted), len(files), check), err=True)
    return status


def _format(name: str) -> _Formatted:
    """Read and format one file.

    Raises:
        DiagnosticError: T01xx where it does not parse, T1012 where it cannot be read.
    """
    from trtc.lang.formatter import format_text

    path = None if name == "-" else Path(name)
    shown = "<stdin>" if path is None else name
    try:
        data = sys.stdin.buffer.read() if path is None else path.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise DiagnosticError(Diagnostic("T1012", f"cannot read the spec: {reason}", file=shown)) from None
    except UnicodeDecodeError as error:
        message = f"this is not a spec: byte {error.start} is not UTF-8 text"
        raise DiagnosticError(Diagnostic("T1012", message, file=shown)) from None
    return _Formatted(shown, path, text, format_text(text, shown))


def _write(path: Path, text: str) -> None:
    """Replace the content of a file in one step; its mode stays, and a symbolic link stays one.

    Raises:
        DiagnosticError: T1120.
    """
    target = path.resolve()
    temporary: str | None = None
    try:
        if not stat.S_ISREG(target.stat().st_mode):
            raise DiagnosticError(Diagnostic("T1120", "cannot write: not a regular file", file=str(path)))
        if not os.access(target, os.W_OK):
            raise DiagnosticError(Diagnostic("T1120", "cannot write: the file is read-only", file=str(path)))
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
        shutil.copymode(target, temporary)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        message = f"cannot write: {error.strerror or error}"
        raise DiagnosticError(Diagnostic("T1120", message, file=str(path))) from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _write_stdout(text: str) -> None:
    """As it is: the lines of a file from Windows end there as they did."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8"))
    sys.stdout.buffer.flush()


def _diff(one: _Formatted) -> str:
    """The changes, the first of them where there are many."""
    before, after = one.before.split("\n"), one.after.split("\n")
    lines = [line.rstrip("\r") for line in difflib.unified_diff(before, after, one.name, one.name, "", "", 1, "")]
    if len(lines) > _DIFF_LINES:
        lines = [*lines[:_DIFF_LINES], f"... {plural(len(lines) - _DIFF_LINES, 'more line')}"]
    return "\n".join(lines)


def _to_json(one: _Formatted, check: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"path": one.name, "changed": one.changed}
    if check and one.changed:
        found["diff"] = _diff(one)
    elif one.path is None and not check:
        found["text"] = one.after
    return found


def _summary(changed: int, formatted: int, given: int, check: bool) -> str:
    parts: list[str] = []
    if changed:
        parts.append(f"{plural(changed, 'file')} {'to format' if check else 'formatted'}")
    if formatted > changed:
        parts.append(f"{plural(formatted - changed, 'file')} already formatted")
    if given > formatted:
        parts.append(f"{plural(given - formatted, 'file')} left as {'it is' if given - formatted == 1 else 'they are'}")
    return ", ".join(parts)
