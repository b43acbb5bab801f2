"""A scan of the protobuf wire format of an ONNX model, before any decoder sees it.

The scan walks every message of the file once, without recursion and without copying: it checks that each length
stays inside its message, that no varint is over-long, that no message is nested deeper than decoders can follow, and
writes down where the data of every tensor lies. `trtc.ir.wire_splice` uses these places to cut weights out of a
model, and to put them into one.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field

from trtc.diagnostics import Diagnostic, DiagnosticError

#: Anything that is indexed by position and gives bytes.
Buffer = bytes | mmap.mmap

#: Kinds of messages that the scan knows; every other length-delimited field is a leaf.
MODEL, GRAPH, NODE, ATTRIBUTE, SPARSE, FUNCTION, TRAINING = range(7)
VALUE_INFO, TYPE, TENSOR_TYPE, SHAPE, DIM, ELEMENT_TYPE, MAP_TYPE = range(7, 14)
TENSOR, ENTRY, OPSET = range(14, 17)
LEAF, TEXT = -1, -2

KIND_NAMES = (
    *("ModelProto", "GraphProto", "NodeProto", "AttributeProto", "SparseTensorProto", "FunctionProto"),
    *("TrainingInfoProto", "ValueInfoProto", "TypeProto", "TypeProto.Tensor", "TensorShapeProto"),
    *("TensorShapeProto.Dimension", "TypeProto.Sequence", "TypeProto.Map", "TensorProto"),
    *("StringStringEntryProto", "OperatorSetIdProto"),
)

_VARINT, _I64, _LEN, _I32 = 0, 1, 2, 5


def _fields(
    texts: str = "", leaves: str = "", varints: str = "", i32: str = "", **messages: tuple[int, ...]
) -> dict[int, int]:
    """Tag -> kind of the message, LEAF or TEXT. `messages` maps the name of a kind to its field numbers."""
    table: dict[int, int] = {}
    for numbers, wire in ((leaves, _LEN), (varints, _VARINT), (i32, _I32)):
        for number in numbers.split():
            table[int(number) << 3 | wire] = LEAF
    for number in texts.split():
        table[int(number) << 3 | _LEN] = TEXT
    for name, found in messages.items():
        for number in found:
            table[number << 3 | _LEN] = globals()[name]
    return table


#: By kind: what each tag holds. A repeated number may be packed (a leaf of its bytes) or not.
_TABLES: tuple[dict[int, int], ...] = (
    _fields("2 3 4 6", "26", "1 5", GRAPH=(7,), OPSET=(8,), ENTRY=(14,), TRAINING=(20,), FUNCTION=(25,)),
    _fields("2 10", "14", NODE=(1,), TENSOR=(5,), SPARSE=(15,), VALUE_INFO=(11, 12, 13), ENTRY=(16,)),
    _fields("1 2 3 4 6 7 8", "10", ATTRIBUTE=(5,), ENTRY=(9,)),
    _fields(
        *("1 13 21", "4 7 8 9", "3 8 20", "2 7"),
        TENSOR=(5, 10),
        GRAPH=(6, 11),
        SPARSE=(22, 23),
        TYPE=(14, 15),
    ),
    _fields("", "3", "3", TENSOR=(1, 2)),
    _fields("1 4 5 6 8 10 13", NODE=(7,), OPSET=(9,), ATTRIBUTE=(11,), VALUE_INFO=(12,), ENTRY=(14,)),
    _fields(GRAPH=(1, 2), ENTRY=(3, 4)),
    _fields("1 3", TYPE=(2,), ENTRY=(4,)),
    _fields("6", "7", TENSOR_TYPE=(1, 8), ELEMENT_TYPE=(4, 9), MAP_TYPE=(5,)),
    _fields("", "", "1", SHAPE=(2,)),
    _fields(DIM=(1,)),
    _fields("2 3", "", "1"),
    _fields(TYPE=(1,)),
    _fields("", "", "1", TYPE=(2,)),
    {},
    _fields("1 2"),
    _fields("1", "", "2"),
)
#: Field numbers by kind: a known field with another wire type than its own is a broken file.
_NUMBERS = tuple(frozenset(tag >> 3 for tag in table) for table in _TABLES)
#: Messages that may stand once in their parent. Decoders merge a second one into the first; nobody writes that.
_SINGULAR = frozenset(
    [
        (MODEL, 7 << 3 | _LEN),
        (ATTRIBUTE, 5 << 3 | _LEN),
        (ATTRIBUTE, 6 << 3 | _LEN),
        (ATTRIBUTE, 22 << 3 | _LEN),
        (SPARSE, 1 << 3 | _LEN),
        (SPARSE, 2 << 3 | _LEN),
    ]
)

#: TensorProto: tag -> name of the field that holds values, and bytes per value (0: varints).
_TYPED = {
    0x22: ("float_data", 4),
    0x25: ("float_data", 4),
    0x2A: ("int32_data", 0),
    0x28: ("int32_data", 0),
    0x3A: ("int64_data", 0),
    0x38: ("int64_data", 0),
    0x52: ("double_data", 8),
    0x51: ("double_data", 8),
    0x5A: ("uint64_data", 0),
    0x58: ("uint64_data", 0),
}


@dataclass(frozen=True, slots=True)
class Frame:
    """A message that holds tensors: where its length is written, and where it ends."""

    kind: int
    parent: int
    """Index of the enclosing frame, -1 for the model."""
    length_at: int
    start: int
    end: int


@dataclass(slots=True)
class TensorSite:
    """A TensorProto in the file: what it says of itself and where its parts lie. Positions are byte offsets."""

    frame: int
    """Index of its own frame."""
    name: str = ""
    dims: list[int] = field(default_factory=list[int])
    dtype: int = 0
    raw: tuple[int, int] | None = None
    """Start and length of the content of `raw_data`."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Values by typed field (`float_data`, ..., `string_data`); varints are counted, not decoded."""
    packed: tuple[int, int] | None = None
    """Start and length of the one packed run of `float_data` or `double_data`, if that is all there is."""
    external: bool = False
    entries: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    segment: int | None = None
    """`segment.begin`, which marks the place of a cut tensor."""
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Start and end, tags included, of the fields that are cut when the data is: raw_data, the packed run,
    external_data, data_location."""
    segment_span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """The outcome: frames of messages that hold tensors (outer before inner), and the tensors in file order."""

    frames: list[Frame]
    tensors: list[TensorSite]
    has_graph: bool

    def owner(self, data: Buffer, site: TensorSite) -> str:
        """How to call a tensor in a message: its name, or the node that it is an attribute of."""
        if site.name:
            return site.name
        at = site.frame
        while at >= 0:
            frame = self.frames[at]
            if frame.kind == NODE:
                parts = _strings(data, frame, (3, 4, 2))
                return parts.get(3) or parts.get(2) or parts.get(4) or f"node at byte {frame.start}"
            at = frame.parent
        return f"tensor at byte {self.frames[site.frame].start}"


class _Broken(Exception):
    """The structure is not what the wire format allows."""


def scan(data: Buffer, *, file: str, depth: int = 100) -> Scan:
    """Walk the whole of `data`, a serialized ModelProto.

    `depth` bounds the nesting of messages; protobuf itself decodes 100. Time is linear in the number of fields, and
    does not depend on the size of leaves. Raises DiagnosticError T0402 (not a model, or truncated), T0404 (too deep).
    """
    state = _Scanner(data, file, depth)
    try:
        state.walk()
    except _Broken as error:
        raise DiagnosticError(_not_a_model(file, str(error), len(data))) from None
    except IndexError:
        message = "a field runs past the end of the file"
        raise DiagnosticError(_not_a_model(file, message, len(data))) from None
    return Scan(state.frames, state.tensors, state.has_graph)


def _not_a_model(file: str, reason: str, size: int) -> Diagnostic:
    return Diagnostic(
        code="T0402",
        message=f"not a valid ONNX file, or a truncated one: {reason}",
        file=file,
        notes=(f"the file has {size:,} bytes",),
        help="compare the size with that of the original, and copy or export the model again",
    )


class _Scanner:
    def __init__(self, data: Buffer, file: str, depth: int) -> None:
        self.data = data
        self.file = file
        self.depth = depth
        self.frames: list[Frame] = []
        self.tensors: list[TensorSite] = []
        self.has_graph = False

    def walk(self) -> None:
        data, size = self.data, len(self.data)
        pos, end, kind, length_at, start = 0, size, MODEL, -1, 0
        # One entry per open message: (end, kind, length_at, start, index of its frame or -1).
        stack: list[list[int]] = [[end, kind, length_at, start, -1]]
        table = _TABLES[kind]
        once: set[tuple[int, int]] = set()
        while True:
            if pos >= end:
                if pos > end:
                    raise _Broken(f"a field of a {KIND_NAMES[kind]} runs past its end at byte {end:,}")
                stack.pop()
                if not stack:
                    return
                top = stack[-1]
                end, kind = top[0], top[1]
                table = _TABLES[kind]
                continue
            tag_at = pos
            tag = data[pos]
            pos += 1
            if tag >= 0x80:
                tag, pos = _varint(data, tag_at, 5)
            wire = tag & 7
            action = table.get(tag)
            if action is None:
                self.unknown(tag, kind, tag_at)
            if wire == _LEN:
                length_at = pos
                length = data[pos]
                pos += 1
                if length >= 0x80:
                    length, pos = _varint(data, length_at, 10)
                if length > end - pos:
                    raise _Broken(
                        f"the field at byte {tag_at:,} of a {KIND_NAMES[kind]} wants {length:,} bytes, "
                        f"{max(end - pos, 0):,} are left"
                    )
                if action is None or action < 0:
                    if action == TEXT and length:
                        _text(data, pos, pos + length)
                    pos += length
                    continue
                if kind < SPARSE + 1 and (kind, tag) in _SINGULAR:
                    key = (stack[-1][3], tag)
                    if key in once:
                        raise _Broken(f"a {KIND_NAMES[kind]} has the field {tag >> 3} twice (byte {tag_at:,})")
                    once.add(key)
                    self.has_graph = self.has_graph or kind == MODEL
                if len(stack) >= self.depth:
                    raise DiagnosticError(self.too_deep(tag_at))
                entry = [pos + length, action, length_at, pos, -1]
                if action == TENSOR:
                    stack.append(entry)
                    frame = self.frame_of(stack)
                    stack.pop()
                    self.tensors.append(self.tensor(frame, pos, pos + length))
                    pos += length
                    continue
                stack.append(entry)
                end, kind = entry[0], action
                table = _TABLES[kind]
            elif wire == _VARINT:
                if data[pos] < 0x80:
                    pos += 1
                else:
                    _, pos = _varint(data, pos, 10)
            elif wire == _I32:
                pos += 4
            elif wire == _I64:
                pos += 8
            else:
                raise _Broken(f"wire type {wire} at byte {tag_at:,}")

    def unknown(self, tag: int, kind: int, at: int) -> None:
        if tag >> 3 == 0:
            raise _Broken(f"field number 0 at byte {at:,}")
        if tag >> 3 in _NUMBERS[kind]:
            name = KIND_NAMES[kind]
            raise _Broken(f"field {tag >> 3} of a {name} has the wrong wire type {tag & 7} (byte {at:,})")

    def too_deep(self, at: int) -> Diagnostic:
        return Diagnostic(
            code="T0404",
            message=f"nesting too deep: messages inside messages beyond {self.depth} levels at byte {at:,}",
            file=self.file,
            notes=("a subgraph inside a subgraph costs three levels, and decoders of protobuf stop at 100",),
            help="flatten the nested If, Loop or Scan bodies of the model",
        )

    def frame_of(self, stack: list[list[int]]) -> int:
        """The index of the frame of the innermost open message; frames of the outer ones are made with it."""
        parent = -1
        for entry in stack:
            if entry[4] < 0:
                entry[4] = len(self.frames)
                self.frames.append(Frame(entry[1], parent, entry[2], entry[3], entry[0]))
            parent = entry[4]
        return parent

    def tensor(self, frame: int, pos: int, end: int) -> TensorSite:
        data = self.data
        site = TensorSite(frame)
        runs: list[tuple[int, int, int, int]] = []
        while pos < end:
            tag_at = pos
            tag, pos = _varint(data, pos, 5)
            wire = tag & 7
            start, length, number = pos, 0, 0
            if wire == _LEN:
                length, start = _varint(data, pos, 10)
                pos = start + length
            elif wire == _VARINT:
                number, pos = _varint(data, pos, 10)
            elif wire in (_I32, _I64):
                length = 4 if wire == _I32 else 8
                pos += length
            else:
                raise _Broken(f"wire type {wire} at byte {tag_at:,}")
            if pos > end:
                raise _Broken(
                    f"the field at byte {tag_at:,} of a TensorProto wants {length:,} bytes, {end - start:,} are left"
                )
            if tag == 0x08:
                site.dims.append(_signed(number))
            elif tag == 0x0A:
                at = start
                while at < pos:
                    number, at = _varint(data, at, 10)
                    site.dims.append(_signed(number))
                if at > pos:
                    raise _Broken(f"a dimension runs past its field at byte {pos:,}")
            elif tag == 0x10:
                site.dtype = _signed(number)
            elif tag == 0x42:
                site.name = _text(data, start, pos)
            elif tag == 0x4A:
                if site.raw is not None:
                    raise _Broken(f"a tensor has raw_data twice (byte {tag_at:,})")
                site.raw = (start, length)
                site.spans.append((tag_at, pos))
            elif tag in _TYPED:
                field_name, width = _TYPED[tag]
                count = 1 if wire != _LEN else _count(data, start, length, width, tag_at)
                site.counts[field_name] = site.counts.get(field_name, 0) + count
                runs.append((tag, start, length, tag_at))
            elif tag == 0x32:
                site.counts["string_data"] = site.counts.get("string_data", 0) + 1
            elif tag == 0x6A:
                site.entries.append(_entry(data, start, pos))
                site.spans.append((tag_at, pos))
            elif tag == 0x70:
                site.external = number == 1
                site.spans.append((tag_at, pos))
            elif tag == 0x62:
                _text(data, start, pos)
            elif tag == 0x1A:
                begin, at = (0, start)
                if length and data[start] == 0x08:
                    begin, at = _varint(data, start + 1, 10)
                site.segment = begin
                site.segment_span = (tag_at, pos)
        if len(runs) == 1 and runs[0][0] in (0x22, 0x52) and site.raw is None and not site.external:
            # A packed run of floats is, byte for byte, what raw_data would be: it can be mapped just as well.
            _, start, length, tag_at = runs[0]
            site.packed = (start, length)
            site.spans.append((tag_at, start + length))
        return site


def _varint(data: Buffer, pos: int, limit: int) -> tuple[int, int]:
    """The varint at `pos` of at most `limit` bytes, and the position after it."""
    value, shift, first = 0, 0, pos
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, pos
        shift += 7
        if pos - first >= limit:
            raise _Broken(f"a number of more than {limit} bytes at byte {first:,}")


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _count(data: Buffer, start: int, length: int, width: int, tag_at: int) -> int:
    if width:
        if length % width:
            raise _Broken(f"the packed field at byte {tag_at:,} is no whole number of values")
        return length // width
    if not length:
        return 0
    import numpy as np

    run = np.frombuffer(data, np.uint8, length, start)
    if run[-1] >= 0x80:
        raise _Broken(f"the packed field at byte {tag_at:,} ends inside a number")
    return int(np.count_nonzero(run < 0x80))


def _text(data: Buffer, start: int, end: int) -> str:
    try:
        return data[start:end].decode()
    except UnicodeDecodeError:
        raise _Broken(f"the text at byte {start:,} is not UTF-8") from None


def _entry(data: Buffer, pos: int, end: int) -> tuple[str, str]:
    found = _strings(data, Frame(LEAF, -1, -1, pos, end), (1, 2))
    return found.get(1, ""), found.get(2, "")


def _strings(data: Buffer, frame: Frame, numbers: tuple[int, ...]) -> dict[int, str]:
    """The first text of each of the fields `numbers` of a message that was scanned, or is a leaf."""
    found: dict[int, str] = {}
    pos = frame.start
    while pos < frame.end:
        tag, pos = _varint(data, pos, 5)
        wire = tag & 7
        if wire == _LEN:
            length, pos = _varint(data, pos, 10)
            if length > frame.end - pos:
                raise _Broken(f"a text runs past its message at byte {frame.end:,}")
            if tag >> 3 in numbers and tag >> 3 not in found:
                found[tag >> 3] = _text(data, pos, pos + length)
            pos += length
        elif wire == _VARINT:
            _, pos = _varint(data, pos, 10)
        elif wire in (_I32, _I64):
            pos += 4 if wire == _I32 else 8
        else:
            raise _Broken(f"wire type {wire} in a message before byte {frame.end:,}")
    return found
