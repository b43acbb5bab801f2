"""External data: which files a model may name, and a mapping of each.

The location of a tensor is text from outside. It is refused before anything is opened when it does not name a plain
file below the folder of the model, real paths compared.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
from pathlib import Path

from trtc.diagnostics import Diagnostic, DiagnosticError, escape, suggest

_INT64_MAX = (1 << 63) - 1
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


class ExternalFiles:
    """The files beside one model. Each is mapped once; arrays over a mapping keep it alive."""

    def __init__(self, model: Path | None, label: str) -> None:
        self._model = model
        self._label = label
        self._maps: dict[str, mmap.mmap | None] = {}

    def region(self, tensor: str, entries: list[tuple[str, str]], nbytes: int) -> tuple[mmap.mmap | None, int]:
        """The mapping and the offset where the `nbytes` bytes of a tensor begin; no mapping when it has no bytes.

        Keys other than location, offset and length (checksum, and whatever a file invents) are ignored.
        Raises DiagnosticError T0417 (location not allowed), T0418 (file missing, or the range is not in it).
        """
        fields = dict(reversed(entries))
        location = fields.get("location", "")
        offset = self._number(tensor, "offset", fields.get("offset"), 0)
        length = self._number(tensor, "length", fields.get("length"), nbytes)
        real = self._resolve(tensor, location)
        if length != nbytes:
            raise self._error(
                "T0418", tensor, f"external length is {length:,} bytes, its dims and type want {nbytes:,}"
            )
        mapping = self._map(tensor, location, real)
        size = 0 if mapping is None else len(mapping)
        if offset + length > size:
            raise self._error(
                "T0418",
                tensor,
                f"external file `{location}` has {size:,} bytes, too short for offset {offset:,} + length {length:,}",
                help="the file is truncated, or belongs to another version of the model; copy both again",
            )
        return mapping if nbytes else None, offset

    def _number(self, tensor: str, key: str, text: str | None, default: int) -> int:
        if text is None:
            return default
        bare = text.strip()
        if not re.fullmatch(r"-?[0-9]{1,40}", bare):
            raise self._error("T0418", tensor, f"external {key} `{text[:80]}` is not a number")
        number = int(bare)
        if number < 0:
            raise self._error("T0418", tensor, f"external {key} {number} is negative")
        if number > _INT64_MAX:
            raise self._error("T0418", tensor, f"external {key} {number} overflows a 64-bit integer")
        return number

    def _resolve(self, tensor: str, location: str) -> str:
        refusal = _refusal(location)
        if refusal is not None:
            raise self._error("T0417", tensor, f"external location `{location}` {refusal}")
        if self._model is None:
            raise self._error(
                "T0417", tensor, f"external location `{location}`, but the model has no folder: it is in memory"
            )
        folder = os.path.realpath(self._model.parent)
        real = os.path.realpath(os.path.join(folder, location))
        # A model that is itself a link (into a store of blobs, say) may have its data where it really lies.
        roots = (folder, os.path.dirname(os.path.realpath(self._model)))
        if not any(_below(real, root) for root in roots):
            raise self._error(
                "T0417",
                tensor,
                f"external location `{location}` is a symbolic link that leaves the folder of the model",
                help="put the file itself into the folder of the model",
            )
        return real

    def _map(self, tensor: str, location: str, real: str) -> mmap.mmap | None:
        if real in self._maps:
            return self._maps[real]
        try:
            # The type is looked at before opening, since opening a device or a pipe can already hang or act.
            if not stat.S_ISREG(os.stat(real).st_mode):
                raise self._error("T0417", tensor, f"external location `{location}` is not a regular file")
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            handle = os.open(real, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
            try:
                status = os.fstat(handle)
                if not stat.S_ISREG(status.st_mode):
                    raise self._error("T0417", tensor, f"external location `{location}` is not a regular file")
                mapping = mmap.mmap(handle, 0, access=mmap.ACCESS_READ) if status.st_size else None
            finally:
                os.close(handle)
        except FileNotFoundError:
            near = suggest(os.path.basename(location), _names(os.path.dirname(real)))
            raise self._error(
                "T0418",
                tensor,
                f"external file `{location}` does not exist",
                help=f"did you mean `{near}`?" if near else "copy the data file into the folder of the model",
            ) from None
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise self._error("T0418", tensor, f"external file `{location}` cannot be read: {reason}") from None
        self._maps[real] = mapping
        return mapping

    def _error(self, code: str, tensor: str, message: str, *, help: str | None = None) -> DiagnosticError:
        return DiagnosticError(
            Diagnostic(
                code=code,
                message=escape(f"tensor `{tensor}`: {message}"),
                node=tensor,
                file=self._label,
                help=help and escape(help),
            )
        )


def _refusal(location: str) -> str | None:
    """Why a location is not a relative path that stays below its folder; None when it is one. Opens nothing."""
    if not location:
        return "is empty"
    if "\0" in location:
        return "has a null character"
    if location.startswith(("/", "\\")):
        share = location.startswith(("//", "\\\\"))
        return "is a network share, not a path in the model's folder" if share else "is an absolute path"
    if _SCHEME.match(location):
        return "is a URL or starts with a drive, not a path in the model's folder"
    parts = re.split(r"[/\\]", location)
    if ".." in parts:
        return "leaves the folder of the model ('..')"
    return None


def _below(path: str, root: str) -> bool:
    try:
        return os.path.commonpath([path, root]) == root and path != root
    except ValueError:  # two drives
        return False


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:1000]
    except OSError:
        return []
