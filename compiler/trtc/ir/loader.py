# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""From a file to a Module: weights mapped, structure checked, names unique.

The order matters: the wire scan comes first and bounds what the native decoder sees; the decoder gets a skeleton of
the file, with the weights cut out; what it gives is checked before `onnx_ir` links it; tensors are put back last, as
arrays over the mapping.
"""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as oir

from trtc import collector
from trtc.diagnostics import Diagnostic, DiagnosticError, escape
from trtc.ir import mapped, normalize, source, structure, wire_tensors
from trtc.ir.external import ExternalFiles
from trtc.ir.limits import Limits
from trtc.ir.module import OPSET, Module
from trtc.ir.sparse import Densifier
from trtc.ir.wire import Buffer, Scan, scan
from trtc.ir.wire_splice import Edit, splice, varint

__all__ = ["Limits", "load", "load_proto"]

#: Data of more bytes than this is cut out of the skeleton. Smaller data costs less to copy than to cut.
_CUT = 256


def load(
    path: str | os.PathLike[str],
    *,
    limits: Limits = Limits(),  # noqa: B008
    canonical: bool = True,
    plugins: Collection[str] = (),
) -> Module:
    """Read the ONNX model at `path`, external data included, into canonical form.

    Weights are not read but mapped, read-only: the file, and those of its external data, must stay as they are
    while the module lives. Writers that replace a file by another (as `save` does) do no harm; one that truncates it
    in place ends the process on the next access, as with every mapped file.

    `canonical=False` leaves operators as the file has them. Nodes of the default domain that have the name of one of
    `plugins` are no operators of ONNX; they get a domain of their own. Raises DiagnosticError T04xx, and T06xx from
    the canonical forms.
    """
    path = Path(path)
    with collector.paused():
        return _module(source.open_model(path), str(path), path, limits, canonical, plugins)


def load_proto(
    proto: onnx.ModelProto,
    path: Path | None = None,
    *,
    limits: Limits = Limits(),  # noqa: B008
    canonical: bool = True,
) -> Module:
    """A model in memory, with the checks of `load`. External data is looked for beside `path`; without one, refused."""
    try:
        data = proto.SerializeToString()
    except Exception as error:
        raise DiagnosticError(
            Diagnostic(
                code="T0403",
                message=f"the model cannot be serialized: {error}",
                help="models of more than 2 GB are loaded from a file, with external data",
            )
        ) from None
    with collector.paused():
        return _module(data, str(path) if path is not None else "model", path, limits, canonical)


def _module(
    data: Buffer, label: str, path: Path | None, limits: Limits, canonical: bool, plugins: Collection[str] = ()
) -> Module:
    if sys.byteorder != "little":
        raise DiagnosticError(
            Diagnostic(code="T0420", message="weights are mapped as they lie in the file, in little-endian order")
        )
    scanned = scan(data, file=label, depth=limits.depth)
    if not scanned.has_graph:
        source.refuse_foreign(data, label)
    faults = list(_first(wire_tensors.check(scanned, data, label, limits), limits.errors))
    if faults:
        raise DiagnosticError.of(faults)
    store = _Store(data, scanned, ExternalFiles(path, label))
    proto = _decode(b"".join(splice(data, scanned, store.edits())), label)
    try:
        found = structure.check(proto, label, limits)
        Densifier(store.array, store.keep, label, limits).model(proto)
        normalize.proto(proto, found)
        model = _link(proto, label)
    except UnicodeDecodeError as error:
        raise DiagnosticError(
            Diagnostic(code="T0402", message=f"a name in the model is not UTF-8: {error}", file=label)
        ) from None
    store.put_back(model)
    if not found.sorted:
        normalize.sort(model, label)
    opsets = model.graph.opset_imports
    normalize.names(model)
    module = Module(model, path, opsets.get("", OPSET))
    if plugins:
        _set_apart(module, plugins)
    if canonical:
        _canonicalize(module)
    return module


def _first(items: Iterator[Diagnostic], count: int) -> Iterator[Diagnostic]:
    for _, item in zip(range(count), items, strict=False):
        yield item


def _set_apart(module: Module, plugins: Collection[str]) -> None:
    from trtc.ir.plugins import FOREIGN

    for node in module.nodes():
        if node.op_type in plugins and node.domain in ("", "ai.onnx"):
            node.domain = FOREIGN
            module.model.opset_imports.setdefault(FOREIGN, 1)


def _canonicalize(module: Module) -> None:
    from trtc.ir.canonical import canonicalize

    canonicalize(module)


def _decode(skeleton: bytes, label: str) -> onnx.ModelProto:
    from google.protobuf.message import DecodeError

    try:
        return onnx.ModelProto.FromString(skeleton)
    except (DecodeError, RecursionError) as error:
        raise DiagnosticError(Diagnostic(code="T0402", message=f"not a valid ONNX file: {error}", file=label)) from None


def _link(proto: onnx.ModelProto, label: str) -> oir.Model:
    try:
        return oir.serde.deserialize_model(proto)
    except UnicodeDecodeError:
        raise
    except Exception as error:
        # Each level of the model wraps the error of the level below; the innermost says what it is.
        while error.__cause__ is not None and isinstance(error.__cause__, Exception):
            error = error.__cause__
        raise DiagnosticError(
            Diagnostic(
                code="T0403",
                message=escape(f"the model has a construct that is not supported: {error}"[:500]),
                file=label,
                help="map types and nested optional types, for instance, have no place in a TensorRT network",
            )
        ) from None


class _Store:
    """The data that was cut out of the file, by the number that stands in its place (`segment.begin`)."""

    def __init__(self, data: Buffer, scanned: Scan, files: ExternalFiles) -> None:
        self._data = data
        self._scan = scanned
        self._files = files
        self._kept: list[tuple[np.ndarray, oir.DataType]] = []

    def edits(self) -> Iterator[Edit]:
        """Cut each large tensor, and each external one, leaving its number."""
        for number, site in enumerate(self._scan.tensors):
            inline = site.raw or site.packed
            if not site.external and (inline is None or inline[1] <= _CUT):
                continue
            first, *others = sorted(site.spans)
            content = b"\x08" + varint(number)
            yield Edit(site.frame, *first, head=b"\x1a" + varint(len(content)) + content)
            for start, end in others:
                yield Edit(site.frame, start, end)

    def keep(self, array: np.ndarray, dtype: oir.DataType) -> int:
        """Store an array that is not in the file; gives its number."""
        self._kept.append((array, dtype))
        return len(self._scan.tensors) + len(self._kept) - 1

    def array(self, proto: onnx.TensorProto) -> np.ndarray:
        """The values of a tensor of the skeleton."""
        if proto.HasField("segment"):
            return self._tensor(proto.segment.begin, proto.name).numpy()
        return oir.serde.deserialize_tensor(proto).numpy()

    def put_back(self, model: oir.Model) -> None:
        """Replace every tensor of the skeleton by one over the mapping, or (small ones) by an array of its own."""
        for graph in normalize.graphs(model):
            if isinstance(graph, oir.Graph):
                for value in graph.initializers.values():
                    if value.const_value is not None:
                        tensor = self._final(value.const_value)
                        value.const_value = tensor
                        value.type = oir.TensorType(tensor.dtype)
                        value.shape = oir.Shape(tensor.shape.numpy())
            else:
                self._attributes(graph.attributes)
            for node in graph:
                if node.attributes:
                    self._attributes(node.attributes)

    def _attributes(self, attributes: Any) -> None:
        for name, attribute in list(attributes.items()):
            if attribute.is_ref():
                continue
            if attribute.type == oir.AttributeType.TENSOR:
                attributes[name] = oir.AttrTensor(name, self._final(attribute.value))
            elif attribute.type == oir.AttributeType.TENSORS:
                attributes[name] = oir.AttrTensors(name, [self._final(t) for t in attribute.value])

    def _final(self, tensor: Any) -> oir.TensorProtocol:
        if isinstance(tensor, oir.serde.TensorProtoTensor):
            proto = tensor.raw
            if proto.HasField("segment"):
                return self._tensor(proto.segment.begin, proto.name)
            return mapped.owned(tensor)
        return tensor

    def _tensor(self, number: int, name: str) -> oir.TensorProtocol:
        if number >= len(self._scan.tensors):
            array, dtype = self._kept[number - len(self._scan.tensors)]
            return oir.Tensor(array, dtype=dtype, name=name)
        site = self._scan.tensors[number]
        dtype = oir.DataType(site.dtype)
        nbytes = wire_tensors.expected_bytes(dtype, site.dims)
        buffer: bytes | mmap.mmap | None = self._data
        inline = site.raw or site.packed
        if site.external:
            buffer, start = self._files.region(self._scan.owner(self._data, site), site.entries, nbytes)
        else:
            assert inline is not None
            start = inline[0]
        return mapped.tensor(buffer, start, nbytes, dtype, site.dims, name)
