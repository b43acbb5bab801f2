"""The manifest: what was compiled from what, for what, and how it was proved. The same compile, the same bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

#: Raised by one when a reader of older manifests would misread a newer one.
SCHEMA = 1


def sha256(path: Path) -> str:
    """The SHA-256 of a file as hex digits, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            digest.update(piece)
    return digest.hexdigest()


def manifest(
    *,
    version: str,
    model: Path,
    target: Mapping[str, Any],
    builder: Mapping[str, Any],
    profiles: Iterable[Mapping[str, Any]],
    pipeline: Sequence[Mapping[str, Any]],
    bindings: Sequence[Mapping[str, Any]],
    layers: Sequence[Mapping[str, Any]],
    rungs: Sequence[Mapping[str, Any]],
    files: Mapping[str, str],
    rules: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The manifest as JSON types. Holds no time, no path of this machine and no measured number."""
    return {
        "schema": SCHEMA,
        "trtc": version,
        "model": {"file": model.name, "sha256": sha256(model), "bytes": model.stat().st_size},
        "target": dict(target),
        "builder": dict(builder),
        "profiles": list(profiles),
        "pipeline": list(pipeline),
        "rules": [dict(rule) for rule in rules],
        "verification": list(rungs),
        "files": dict(files),
        "bindings": [dict(b) for b in bindings],
        "layers": [dict(layer) for layer in layers],
    }


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Indented JSON with the order of keys kept and a newline at the end."""
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
