"""The file itself: is it there, can it be read, and if it is no ONNX model, what is it?"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import NoReturn

from trtc.diagnostics import Diagnostic, DiagnosticError, suggest
from trtc.ir.wire import Buffer

#: First bytes of files that are taken for models, and what to say.
_FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer, not the model", "fetch the file: git lfs pull"),
    (b"PK\x03\x04", "a zip archive (a PyTorch checkpoint, perhaps)", "export the model: torch.onnx.export(...)"),
    (b"\x80\x02", "a pickle (a PyTorch checkpoint, perhaps)", "export the model: torch.onnx.export(...)"),
    (b"\x1f\x8b", "a gzip archive", "unpack it first: gunzip"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it first: zstd -d"),
    (b"\x89HDF", "an HDF5 file (a Keras model, perhaps)", "convert it with tf2onnx"),
    (b"\x93NUMPY", "a numpy array", "name the ONNX model"),
    (b"ftrt", "a TensorRT engine, which is already compiled", "name the ONNX model that it was built from"),
    (b"ptrt", "a TensorRT engine, which is already compiled", "name the ONNX model that it was built from"),
    (b"GGUF", "a GGUF model", "export the model to ONNX"),
    (b"ORTM", "a model in ONNX Runtime's own format", "name the ONNX model that it was made from"),
)


def open_model(path: Path) -> mmap.mmap:
    """A read-only mapping of the model file. Raises DiagnosticError T0401 (cannot be read), T0402 (no ONNX model)."""
    label = str(path)
    try:
        if path.is_dir():
            models = sorted(p.name for p in path.iterdir() if p.suffix == ".onnx")[:5]
            raise _error(
                "T0401",
                f"`{label}` is a directory, not a model file",
                label,
                f"it holds {', '.join(f'`{name}`' for name in models)}" if models else None,
            )
        if path.exists() and not path.is_file():
            raise _error("T0401", f"`{label}` is not a regular file", label)
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                raise _error("T0402", "not a valid ONNX file: it is empty (0 bytes)", label)
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise _error("T0401", f"model file `{label}` does not exist", label, _near(path)) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise _error("T0401", f"model file `{label}` cannot be read: {reason}", label) from None
    _refuse_foreign(mapping, path.suffix, label)
    return mapping


def refuse_foreign(data: Buffer, label: str) -> NoReturn:
    """For data that scans, but has no graph."""
    _refuse_foreign(data, Path(label).suffix, label)
    raise _error(
        "T0402",
        f"not a valid ONNX file: it has no graph ({len(data):,} bytes)",
        label,
        "a file of weights (external data), or the start of a truncated model, has none; name the .onnx file",
    )


def _refuse_foreign(data: Buffer, suffix: str, label: str) -> None:
    head = bytes(data[: min(len(data), 512)])
    if suffix == ".trtspec":
        raise _error("T0402", "not a valid ONNX file: it is a spec", label, f"compile the spec: trtc compile {label}")
    for magic, what, help in _FOREIGN:
        if head.startswith(magic):
            raise _error("T0402", f"not a valid ONNX file: it is {what}", label, help)
    if head[8:10] == b'{"' and int.from_bytes(head[:8], "little") <= len(data):
        what, help = "a safetensors file: weights without a graph", "export the model to ONNX"
        raise _error("T0402", f"not a valid ONNX file: it is {what}", label, help)
    if head[4:8] == b"TFL3":
        raise _error("T0402", "not a valid ONNX file: it is a TFLite model", label, "convert it with tf2onnx")
    if head and all(byte in b"\t\n\r" or 32 <= byte < 127 for byte in head):
        raise _error(
            "T0402",
            "not a valid ONNX file: it is text",
            label,
            "an ONNX model is a binary file; the text forms of ONNX are read by onnx.parser and google.protobuf",
        )


def nearby(path: Path) -> Path | None:
    """The file beside `path` whose name is closest to it; endings are alike anyway and do not count."""
    if not path.parent.is_dir():
        return None
    files = sorted(name for name in os.listdir(path.parent)[:2000] if (path.parent / name).is_file())
    stems = {Path(name).stem: name for name in files if Path(name).suffix == path.suffix}
    close = suggest(path.stem, stems)
    return path.parent / stems[close] if close else None


def _near(path: Path) -> str | None:
    folder = path.parent
    if not folder.is_dir():
        return f"the folder `{folder}` does not exist either"
    names = sorted(os.listdir(folder))[:2000]
    close = nearby(path)
    if close:
        return f"did you mean `{close}`?"
    models = [name for name in names if name.endswith(".onnx")][:5]
    return f"models in that folder: {', '.join(f'`{name}`' for name in models)}" if models else None


def _error(code: str, message: str, label: str, help: str | None = None) -> DiagnosticError:
    return DiagnosticError(Diagnostic(code=code, message=message, file=label, help=help))
