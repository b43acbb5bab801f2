"""Cut fields out of a serialized model, or put others in, without ever holding the whole model.

Every edit changes the length of the messages around it, and those lengths are written in front of them; both are
worked out first, then the pieces are given in file order: ranges of the source, new bytes, and buffers of weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trtc.ir.wire import Buffer, Scan


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes `[start, end)` inside frame `frame` become `head` followed by `payload`."""

    frame: int
    start: int
    end: int
    head: bytes = b""
    payload: memoryview | None = None

    @property
    def size(self) -> int:
        return len(self.head) + (self.payload.nbytes if self.payload is not None else 0)


def varint(number: int) -> bytes:
    """A non-negative number as the wire format writes it."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def splice(data: Buffer, scan: Scan, edits: Iterable[Edit]) -> Iterator[bytes | memoryview]:
    """The pieces of the edited model, in order. Edits may not overlap."""
    pending = list(edits)
    grown = [0] * len(scan.frames)
    for edit in pending:
        grown[edit.frame] += edit.size - (edit.end - edit.start)
    # Frames are listed outer before inner: from the back, each is final before its parent is looked at.
    for index in range(len(scan.frames) - 1, -1, -1):
        frame, delta = scan.frames[index], grown[index]
        if delta == 0 or frame.parent < 0:
            continue
        length = varint(frame.end - frame.start + delta)
        pending.append(Edit(frame.parent, frame.length_at, frame.start, length))
        grown[frame.parent] += delta + len(length) - (frame.start - frame.length_at)
    pending.sort(key=lambda edit: edit.start)
    pos = 0
    for edit in pending:
        if edit.start > pos:
            yield data[pos : edit.start]
        if edit.head:
            yield edit.head
        if edit.payload is not None:
            yield edit.payload
        pos = edit.end
    if pos < len(data):
        yield data[pos : len(data)]
