"""Trees of installed libraries, kept on disk: reading the standard library anew would take most of a second.

A tree is kept as JSON, so that what a damaged or foreign file can do is at most to be ignored: nothing in it is ever
executed. It lies in the user's own cache folder, is read only where nobody else could have written it, and is named
after the text that it is the tree of and after the source of this room: another version of either never reads it.
Everything that goes wrong here (no folder, no space, no rights) is silent, and the text is parsed.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Final, cast

from trtc import collector
from trtc.diagnostics import Source, Span
from trtc.lang import rules, syntax

#: Fields that hold a place in the text; each is kept as one number, `start * _WIDTH + length`.
_PLACES: Final = ("span", "name_span")
_WIDTH: Final = 1 << 24

#: Marks of what is no node: a tuple, a dict, a set, the environment of the file.
_TUPLE, _DICT, _SET, _ENVIRONMENT = -1, -2, -3, -4

#: Trees of one library that stay, the newest ones: versions of trtc beside each other.
_KEPT: Final = 4


def file_of(source: Source, name: str, parse: Callable[[Source, str], syntax.File]) -> syntax.File:
    """The tree of the library `name`: the kept one, or by `parse`, which is kept then.

    Raises:
        DiagnosticError: what `parse` raises.
    """
    place = _place(source, name)
    if place is not None:
        found = _read(place, source)
        if found is not None:
            return found
    file = parse(source, name)
    if place is not None:
        _write(place, file)
    return file


def folder() -> Path | None:
    """Where trees are kept: `trtc` in the user's cache folder. None where the user has none."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "") or os.path.expanduser("~/.cache")
    return Path(base) / "trtc" if os.path.isabs(base) else None


# ---- trees as JSON


@functools.cache
def _kinds() -> tuple[tuple[type[Any], tuple[str, ...]], ...]:
    """The classes of nodes and the names of their fields, in an order that only depends on this room."""
    words: list[Any] = [*vars(syntax).values(), *vars(rules).values()]
    classes: set[type[Any]] = {c for c in words if isinstance(c, type) and dataclasses.is_dataclass(c)}
    nodes = sorted(classes - {rules.Environment}, key=lambda c: c.__qualname__)
    return tuple((c, tuple(f.name for f in dataclasses.fields(c))) for c in nodes)


def encoded(file: syntax.File) -> Any:
    """A tree that was just parsed, as what JSON can hold."""
    numbers = {c: at for at, (c, _) in enumerate(_kinds())}

    def encode(value: Any) -> Any:
        if value is None or isinstance(value, (str, bool, int, float)):
            return value
        if isinstance(value, Span):
            return value.start * _WIDTH + (value.end - value.start)
        if isinstance(value, tuple):
            return [_TUPLE, *map(encode, cast("tuple[Any, ...]", value))]
        if isinstance(value, dict):
            return [_DICT, *(encode(part) for item in cast("dict[str, Any]", value).items() for part in item)]
        if isinstance(value, frozenset):
            return [_SET, *sorted(cast("frozenset[str]", value))]
        if value is file.environment:
            return [_ENVIRONMENT]
        at = numbers[type(value)]
        return [at, *(encode(getattr(value, name)) for name in _kinds()[at][1])]

    return encode(file)


def decoded(data: Any, source: Source) -> syntax.File:
    """The tree that `encoded` was given. Any exception where `data` is something else."""
    environment = rules.Environment()
    kinds: list[tuple[Any, list[int]]] = []
    for node, names in _kinds():
        kinds.append((node, [at for at, name in enumerate(names) if name in _PLACES]))

    def decode(item: list[Any]) -> Any:
        kind: int = item[0]
        parts: list[Any] = [decode(part) if part.__class__ is list else part for part in item[1:]]
        if kind >= 0:
            made, places = kinds[kind]
            for at in places:
                start, length = divmod(parts[at], _WIDTH)
                parts[at] = Span(source, start, start + length)
            return made(*parts)
        if kind == _TUPLE:
            return tuple(parts)
        if kind == _DICT:
            return dict(zip(parts[::2], parts[1::2], strict=True))
        if kind == _SET:
            return frozenset(parts)
        return environment

    file = decode(data)
    if not isinstance(file, syntax.File):
        raise TypeError("not the tree of a file")
    return file


# ---- files


@functools.cache
def _room() -> bytes:
    """A digest of the source of this room: of what turns a text into a tree."""
    digest = hashlib.sha256()
    for file in sorted(resources.files("trtc.lang").iterdir(), key=lambda f: f.name):
        if file.name.endswith((".py", ".lark")):
            digest.update(f"{file.name}\0".encode())
            digest.update(file.read_bytes())
    return digest.digest()


def _place(source: Source, name: str) -> Path | None:
    base = folder()
    if base is None or not name.replace(".", "").replace("_", "").isalnum():
        return None
    try:
        digest = hashlib.sha256(_room() + f"{name}\0{source.path}\0{source.text}".encode())
    except (OSError, UnicodeEncodeError):
        return None
    return base / f"{name}-{digest.hexdigest()[:32]}.json"


def _read(place: Path, source: Source) -> syntax.File | None:
    try:
        with place.open("rb") as file:
            if not _own(file.fileno()):
                return None
            head, _, body = file.read().partition(b"\n")
        if head.decode() != hashlib.sha256(body).hexdigest():
            return None
        with collector.paused():  # it makes ten thousands of objects, none of them garbage
            return decoded(json.loads(body), source)
    except Exception:
        return None


def _own(file: int) -> bool:
    """Whether nobody but this user can have written an open file."""
    if sys.platform == "win32":
        return True  # its cache folder is the user's alone
    status = os.fstat(file)
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _write(place: Path, tree: syntax.File) -> None:
    try:
        body = json.dumps(encoded(tree), separators=(",", ":")).encode()
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=".", suffix=".tmp")  # only its user may read it
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            os.replace(name, place)
        except BaseException:
            os.unlink(name)
            raise
        library = place.name.partition("-")[0]
        old = sorted(place.parent.glob(f"{library}-*.json"), key=lambda p: p.stat().st_mtime, reverse=True)
        for one in old[_KEPT:]:
            one.unlink(missing_ok=True)
    except Exception:
        return
