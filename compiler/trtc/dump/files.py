"""A dump as a file: the format by the ending of its name, and no half-written file at its place."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trtc.diagnostics import Diagnostic, DiagnosticError, Remark, escape, suggest
from trtc.ir.module import Module

#: Endings of file names by format.
FORMATS: dict[str, tuple[str, ...]] = {
    "text": (".onnxtxt", ".txt"),
    "onnx": (".onnx",),
    "dot": (".dot", ".gv"),
    "svg": (".svg",),
    "json": (".json",),
}


def format_of(path: str | os.PathLike[str]) -> str:
    """The format that the ending of `path` asks for. Raises DiagnosticError (T1105)."""
    ending = Path(path).suffix.lower()
    for name, endings in FORMATS.items():
        if ending in endings:
            return name
    known = ", ".join(e for endings in FORMATS.values() for e in endings)
    message = f"no format has the ending `{escape(ending)}`" if ending else "the name of the file has no ending"
    raise DiagnosticError(Diagnostic("T1105", message, file=str(path), help=f"known endings: {known}"))


def write(
    module: Module,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    full: bool = False,
    limit: int = 500,
    around: str | None = None,
    remarks: Sequence[Remark] = (),
) -> Path:
    """Write `module` to `path` in `format` (default: by the ending) and return the path.

    `full` asks for a text with every value, `limit` and `around` are of the drawings; `remarks`, what passes and rules
    said, end a text that is not full and a JSON document. The file is written under
    another name beside `path` and renamed, so that at `path` there is the old file or the whole new one. Raises
    DiagnosticError: T1104 when the file cannot be written, T1105 for an unknown format, and what the format raises.
    """
    target = Path(path)
    chosen = format_of(target) if format is None else _known(format)
    if chosen == "onnx":
        from trtc.ir import save

        save(module, target)
        return target
    text = render(module, chosen, full=full, limit=limit, around=around, remarks=remarks)
    try:
        _write_whole(target, text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DiagnosticError(
            Diagnostic("T1104", f"the file could not be written: {reason}", file=str(target))
        ) from error
    return target


def render(
    module: Module,
    format: str,
    *,
    full: bool = False,
    limit: int = 500,
    around: str | None = None,
    remarks: Sequence[Remark] = (),
) -> str:
    """`module` in a format that is text: every one but `onnx`. Options and errors are those of `write`."""
    match _known(format):
        case "text":
            from trtc.ir.text import to_text

            return to_text(module, full=full) + ("" if full else "".join(map(_comment, remarks)))
        case "dot":
            from trtc.dump.dot import to_dot

            return to_dot(module, limit=limit, around=around)
        case "svg":
            from trtc.dump.svg import to_svg

            return to_svg(module, limit=limit, around=around)
        case "json":
            from trtc.dump.json_form import to_json

            return to_json(module, remarks=remarks)
        case _:
            message = "an ONNX file is not text: it needs a path to be written to"
            raise DiagnosticError(Diagnostic("T1105", message, help="name a file that ends in .onnx"))


def _comment(remark: Remark) -> str:
    """`# applied fuse_gelu at Mul_3: 5 operations became 1 (std/activation.trtspec:40:9)`"""
    at = f" at {remark.node}" if remark.node is not None else ""
    place = f" ({remark.span})" if remark.span is not None else ""
    return "# " + escape(f"{remark.kind.value} {remark.source}{at}: {remark.message}{place}") + "\n"


def _known(format: str) -> str:
    if format not in FORMATS:
        close = suggest(format, FORMATS)
        hint = f"did you mean `{close}`?" if close else f"known formats: {', '.join(FORMATS)}"
        raise DiagnosticError(Diagnostic("T1105", f"there is no format `{escape(format)}`", help=hint))
    return format


def _write_whole(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
        # mkstemp makes a file for its owner only; this one is as any other that the user makes.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
