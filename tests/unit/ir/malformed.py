"""Builders of broken and hostile model files, byte by byte where `onnx.helper` would not make them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

import onnx
from onnx import TensorProto, helper


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, content: bytes | int | str) -> bytes:
    """A field of a message: a varint for a number, length-delimited for bytes and text."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(
    op_type: str, inputs: Iterable[str], outputs: Iterable[str], *extra: bytes, name: str = "", domain: str = ""
) -> bytes:
    parts = [field(1, i) for i in inputs] + [field(2, o) for o in outputs]
    parts += [field(3, name)] if name else []
    parts += [field(4, op_type)] + ([field(7, domain)] if domain else [])
    return b"".join([*parts, *extra])


def info(name: str, dims: Iterable[int] = (4,), dtype: int = TensorProto.FLOAT) -> bytes:
    shape = b"".join(field(1, field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def tensor(name: str, dims: Iterable[int], *extra: bytes, dtype: int = TensorProto.FLOAT) -> bytes:
    return b"".join([*(field(1, d) for d in dims), field(2, dtype), field(8, name), *extra])


def graph(
    nodes: Iterable[bytes],
    *,
    weights: Iterable[bytes] = (),
    inputs: Iterable[bytes] = (),
    outputs: Iterable[bytes] = (),
) -> bytes:
    return b"".join(
        [
            *(field(1, n) for n in nodes),
            field(2, "g"),
            *(field(5, w) for w in weights),
            *(field(11, i) for i in inputs),
            *(field(12, o) for o in outputs),
        ]
    )


def model(body: bytes, *extra: bytes, ir: int | None = 8, opset: int | None = 17) -> bytes:
    parts = [] if ir is None else [field(1, ir)]
    parts.append(field(7, body))
    if opset is not None:
        parts.append(field(8, field(1, "") + field(2, opset)))
    return b"".join([*parts, *extra])


def add_weight(weight: bytes) -> bytes:
    """y = x + w, with `weight` as the tensor w."""
    return model(graph([node("Add", "xw", "y", name="add")], weights=[weight], inputs=[info("x")], outputs=[info("y")]))


def external(
    location: str, offset: str | None = "0", length: str | None = "16", *, dims: Iterable[int] = (4,), **more: str
) -> bytes:
    """y = x + w, with the data of w in a file."""
    entries = {"location": location, "offset": offset, "length": length, **more}
    data = [field(13, field(1, k) + field(2, v)) for k, v in entries.items() if v is not None]
    return add_weight(tensor("w", dims, *data, field(14, 1)))


def simple(*nodes: bytes, **options: object) -> bytes:
    """A model of float[4] x -> float[4] y."""
    return model(graph(nodes, inputs=[info("x")], outputs=[info("y")]), **options)  # type: ignore[arg-type]


def nested_ifs(depth: int) -> bytes:
    """`depth` Ifs inside one another."""
    body = graph([node("Identity", ["x"], ["y0"])], outputs=[info("y0")])
    for level in range(1, depth + 1):
        other = graph([node("Neg", ["x"], [f"e{level}"])], outputs=[info(f"e{level}")])
        branches = [
            field(5, field(1, name) + field(6, b) + field(20, 5))
            for name, b in (("then_branch", body), ("else_branch", other))
        ]
        result = f"y{level}" if level < depth else "y"
        body = graph([node("If", ["c"], [result], *branches)], outputs=[info(result)])
    scalar = info("c", (), TensorProto.BOOL)
    return model(body + field(11, info("x")) + field(11, scalar))


def function(name: str, calls: Iterable[str], *, nodes: int = 0) -> bytes:
    """A function local::`name` of a -> b that calls others one after another, then `nodes` Relus."""
    steps = [(c, "local") for c in calls] + [("Relu", "")] * nodes
    names = ["a", *(f"t{i}" for i in range(1, len(steps))), "b"]
    body = [node(op, [names[i]], [names[i + 1]], domain=d) for i, (op, d) in enumerate(steps)]
    opsets = [field(9, field(1, d) + field(2, v)) for d, v in (("", 17), ("local", 1))]
    return b"".join(
        [field(1, name), field(4, "a"), field(5, "b"), *(field(7, b) for b in body), *opsets, field(10, "local")]
    )


def with_functions(*functions: bytes, call: str = "F") -> bytes:
    return simple(node(call, "x", "y", domain="local")) + b"".join(
        [field(8, field(1, "local") + field(2, 1)), *(field(25, f) for f in functions)]
    )


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def int64s(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def write(folder: Path, data: bytes, name: str = "model.onnx") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def valid() -> onnx.ModelProto:
    """A model that is right, for tests that break it."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [4]) for n in "xy")
    body = helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "g", [x], [y])
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
