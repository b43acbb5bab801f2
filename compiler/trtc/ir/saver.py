# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""From a Module to a file: the structure is serialized without weights, and these are streamed in from their arrays."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.ir.module import IR_VERSION, OPSET, Module
from trtc.ir.serialize import Serializer, facts_of
from trtc.ir.wire import Scan, scan
from trtc.ir.wire_splice import Edit, splice, varint

#: Protobuf holds no message of 2 GiB; above this the weights go to a file of their own.
_INLINE_LIMIT = 1_900_000_000
#: Tensors in a data file begin at multiples of this, so that arrays over a mapping are aligned for any type.
_ALIGNMENT = 64


def save(
    module: Module | oir.Model,
    path: str | os.PathLike[str],
    *,
    external: bool | None = None,
    value_info: bool | None = None,
) -> None:
    """Write `module` to `path` as ONNX: ir_version 11, the opset that its graph imports (23 in canonical form).

    Weights are written from their arrays, one after another; the whole model is never in memory. `external=True`
    puts those of more than 256 bytes into `<path>.data` beside it, and so does None for models above 1.9 GB. With
    `value_info` the dtypes and shapes that a Module infers are written for every value (None: when it can infer).
    The same module gives the same bytes. Files appear whole, under a temporary name first, or not at all: a module
    may be saved over the file that it is mapped from. Raises DiagnosticError T1110 (cannot write), T1111 (a model
    that does not fit).
    """
    path = Path(path)
    model = module.model if isinstance(module, Module) else module
    describe = facts_of(module) if isinstance(module, Module) and value_info is not False else None
    serializer = Serializer(describe)
    proto = serializer.model(model, IR_VERSION)
    if not any(entry.domain == "" for entry in proto.opset_import):
        proto.opset_import.insert(0, onnx.OperatorSetIdProto(domain="", version=OPSET))
    try:
        skeleton = proto.SerializeToString(deterministic=True)
    except Exception as error:
        raise DiagnosticError(
            Diagnostic(code="T1111", message=f"the model cannot be serialized: {error}", file=str(path))
        ) from None
    del proto
    tensors = serializer.tensors
    weight = sum(tensor.nbytes for tensor in tensors)
    if external is None:
        external = len(skeleton) + weight > _INLINE_LIMIT
    if not external and len(skeleton) + weight >= 1 << 31:
        raise DiagnosticError(
            Diagnostic(
                code="T1111",
                message=f"the model has {weight:,} bytes of weights, and an ONNX file holds less than 2 GiB",
                file=str(path),
                help="write the weights beside it: external=True",
            )
        )
    scanned = scan(skeleton, file=str(path), depth=1000)
    with _whole(path) as files:
        if external and tensors:
            edits = _beside(files, path, tensors, scanned)
        else:
            edits = _inside(tensors, scanned)
        with files.open(path) as file:
            for piece in splice(skeleton, scanned, edits):
                file.write(piece)


def payload(tensor: oir.TensorProtocol) -> memoryview:
    """The little-endian bytes of a tensor, without a copy where its array has them in one run."""
    if isinstance(tensor, oir.PackedTensor):
        array = tensor.numpy_packed()
    elif tensor.dtype.bitwidth < 8:
        return memoryview(tensor.tobytes())
    else:
        array = np.asarray(tensor.numpy())
    array = np.ascontiguousarray(array)
    if array.dtype.byteorder == ">":
        array = array.byteswap()
    return memoryview(array.reshape(-1).view(np.uint8))  # pyright: ignore[reportArgumentType]


def _inside(tensors: list[oir.TensorProtocol], scanned: Scan) -> Iterator[Edit]:
    for site in scanned.tensors:
        if site.segment is not None and site.segment_span is not None:
            data = payload(tensors[site.segment])
            yield Edit(site.frame, *site.segment_span, b"\x4a" + varint(data.nbytes), data)


def _beside(files: _Files, path: Path, tensors: list[oir.TensorProtocol], scanned: Scan) -> list[Edit]:
    target = path.with_name(path.name + ".data")
    places: dict[int, tuple[int, int]] = {}
    with files.open(target) as file:
        offset = 0
        for number, tensor in enumerate(tensors):
            gap = -offset % _ALIGNMENT
            file.write(b"\0" * gap)
            data = payload(tensor)
            file.write(data)
            places[number] = (offset + gap, data.nbytes)
            offset += gap + data.nbytes
    edits: list[Edit] = []
    for site in scanned.tensors:
        if site.segment is not None and site.segment_span is not None:
            offset, size = places[site.segment]
            place = onnx.TensorProto(data_location=onnx.TensorProto.EXTERNAL)
            for key, value in (("location", target.name), ("offset", str(offset)), ("length", str(size))):
                place.external_data.add(key=key, value=value)
            edits.append(Edit(site.frame, *site.segment_span, place.SerializeToString(deterministic=True)))
    return edits


class _Files:
    """Files under temporary names in the folder of the target, renamed together when all are written."""

    def __init__(self) -> None:
        self._written: list[tuple[Path, Path]] = []

    @contextlib.contextmanager
    def open(self, target: Path) -> Generator[BinaryIO]:
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        self._written.append((temporary, target))
        with temporary.open("wb", buffering=1 << 20) as file:
            yield file

    def commit(self) -> None:
        for temporary, target in self._written:
            os.replace(temporary, target)
        self._written.clear()

    def discard(self) -> None:
        for temporary, _ in self._written:
            with contextlib.suppress(OSError):
                temporary.unlink()


@contextlib.contextmanager
def _whole(path: Path) -> Generator[_Files]:
    files = _Files()
    try:
        yield files
        files.commit()
    except OSError as error:
        raise DiagnosticError(
            Diagnostic(
                code="T1110",
                message=f"`{path}` cannot be written: {error.strerror or error}",
                file=str(path),
                help=_advice(path, error),
            )
        ) from None
    finally:
        files.discard()


def _advice(path: Path, error: OSError) -> str | None:
    import errno

    if not path.parent.is_dir():
        return f"make the folder first: `{path.parent}`"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space, or write to another disk; nothing half written was left"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"choose a folder that can be written to, or change the permissions of `{path.parent}`"
    return None
