"""Literals of the textual form: numbers, strings, tensors, types; and what stands for a tensor that is left out."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import escape
from trtc.ir.text_names import Names, quote

_FLOATS = frozenset((oir.DataType.FLOAT, oir.DataType.DOUBLE))
_COMPLEX = {oir.DataType.COMPLEX64: np.float32, oir.DataType.COMPLEX128: np.float64}
#: Elements taken at a time for statistics: bounds the memory that the widening to double costs.
_CHUNK = 1 << 20


def dtype_name(dtype: oir.DataType) -> str:
    """The word of the syntax for a data type: `float`, `bfloat16`, `float8e4m3fn`."""
    return dtype.name.lower()


def float_literal(value: float | np.floating) -> str:
    """The shortest text that reads back as the same float32 or double: `0.1`, `-0.0`, `1e-05`, `inf`, `-inf`, `nan`.

    Python floats are attributes, which ONNX stores as float32.
    """
    number = value if isinstance(value, np.floating) else _to_float32(value)
    return "nan" if np.isnan(number) else str(number)


def _to_float32(value: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(value)


def type_text(kind: oir.TypeProtocol | None, shape: oir.Shape | None, names: Names) -> str:
    """`float[N,3]`, `float` (a scalar), `float[]` (rank not known), `seq(float[N])`; empty when nothing is known."""
    if kind is None:
        return ""
    if isinstance(kind, oir.SequenceType):
        return f"seq({type_text(kind.elem_type, shape, names)})"
    if isinstance(kind, oir.OptionalType):
        return f"optional({type_text(kind.elem_type, shape, names)})"
    if isinstance(kind, oir.SparseTensorType):
        return f"sparse_tensor({dtype_name(kind.dtype)}{_shape_text(shape, names)})"
    if kind.dtype == oir.DataType.UNDEFINED:
        return ""
    return dtype_name(kind.dtype) + _shape_text(shape, names)


def _shape_text(shape: oir.Shape | None, names: Names) -> str:
    if shape is None:
        return "[]"
    if len(shape) == 0:
        return ""
    return "[" + ",".join(_dim_text(d, names) for d in shape) + "]"


def _dim_text(dim: int | oir.SymbolicDim, names: Names) -> str:
    if isinstance(dim, int):
        return str(dim)
    return names.dim(str(dim.value)) if dim.value is not None else "?"


def tensor_type(tensor: oir.TensorProtocol) -> str:
    """`float[64,3]`; a scalar has no brackets."""
    dims = ",".join(str(d) for d in tensor.shape.numpy())
    return dtype_name(tensor.dtype) + (f"[{dims}]" if len(tensor.shape) else "")


def elements(tensor: oir.TensorProtocol, *, exact: bool = True) -> str:
    """The elements in braces, as the parser reads them.

    Types without a literal of their own (float16, bfloat16, the 8-, 4- and 2-bit types) are written as bit patterns;
    those under 8 bits packed, first element in the low bits. Where not `exact`, strings are escaped, so that each keeps
    to its line. Raises UnicodeDecodeError for an exact string that is no UTF-8.
    """
    return "{" + ", ".join(_elements(tensor, exact)) + "}"


def _elements(tensor: oir.TensorProtocol, exact: bool) -> Iterator[str]:
    dtype = tensor.dtype
    if dtype == oir.DataType.STRING:
        for raw in string_elements(tensor):
            yield quote(raw.decode("utf-8") if exact else escape(raw.decode("utf-8", "backslashreplace")))
        return
    if dtype.bitwidth < 8:
        yield from map(str, tensor.tobytes())
        return
    flat = _flat(tensor)
    if dtype in _COMPLEX:
        flat = flat.view(_COMPLEX[dtype])
        yield from map(float_literal, flat)
    elif dtype in _FLOATS:
        yield from map(float_literal, flat)
    elif dtype == oir.DataType.BOOL:
        yield from ("1" if x else "0" for x in flat)
    elif dtype.is_integer():
        yield from map(str, flat.tolist())
    else:
        bits = np.dtype(f"u{flat.dtype.itemsize}")
        yield from map(str, flat.view(bits).tolist())


def _flat(tensor: oir.TensorProtocol) -> Any:
    """The elements as a contiguous array of rank 1; not a copy where they are one already."""
    return np.ascontiguousarray(tensor.numpy()).ravel()


def string_elements(tensor: oir.TensorProtocol) -> list[bytes]:
    """The elements of a string tensor, in UTF-8 where whoever wrote the model kept to the standard."""
    items = _flat(tensor).astype(object).tolist()
    return [item if isinstance(item, bytes) else str(item).encode("utf-8", "surrogatepass") for item in items]


def readable(tensor: oir.TensorProtocol) -> str | None:
    """The values in decimal, for a tensor that `elements` writes as bit patterns; None for any other."""
    dtype = tensor.dtype
    if dtype == oir.DataType.STRING or dtype in _FLOATS or dtype in _COMPLEX or dtype == oir.DataType.BOOL:
        return None
    if dtype.is_integer() and dtype.bitwidth >= 8:
        return None
    values = _flat(tensor).astype(np.float64)
    return ", ".join(f"{v:g}" for v in values)


def has_subnormals(tensor: oir.TensorProtocol) -> bool:
    """Whether a float, double or complex tensor holds a number too small to be normal in its type."""
    if tensor.dtype not in _FLOATS and tensor.dtype not in _COMPLEX:
        return False
    flat = _flat(tensor)
    if tensor.dtype in _COMPLEX:
        flat = flat.view(_COMPLEX[tensor.dtype])
    tiny = np.finfo(flat.dtype).smallest_normal
    return any(
        bool(((part != 0) & (np.abs(part) < tiny)).any())
        for part in (flat[at : at + _CHUNK] for at in range(0, flat.size, _CHUNK))
    )


@dataclass(frozen=True, slots=True)
class Summary:
    """What stands for the elements of a tensor: enough to tell two apart and to see that something is wrong."""

    sha256: str
    """First 12 hexadecimal digits, over the elements as ONNX stores them (little-endian, packed)."""
    low: float | None
    high: float | None
    mean: float | None
    """Over the finite elements; None where there is none, or no order."""
    nan: int
    inf: int

    def __str__(self) -> str:
        parts = [f"sha256:{self.sha256}"]
        if self.low is not None:
            parts.append(f"min {self.low:.4g} max {self.high:.4g} mean {self.mean:.4g}")
        if self.nan:
            parts.append(f"nan {self.nan:,}")
        if self.inf:
            parts.append(f"inf {self.inf:,}")
        return " ".join(parts)


def summary(tensor: oir.TensorProtocol) -> Summary:
    """Hash and statistics of a tensor of any type, in memory that does not grow with it."""
    dtype = tensor.dtype
    digest = hashlib.sha256()
    if dtype == oir.DataType.STRING:
        for raw in string_elements(tensor):
            digest.update(len(raw).to_bytes(8, "little") + raw)
        return Summary(digest.hexdigest()[:12], None, None, None, 0, 0)
    flat = _flat(tensor)
    if dtype.bitwidth < 8:
        digest.update(tensor.tobytes())
    else:
        digest.update(flat.view(np.uint8).data)
    low, high, total, finite, nans, infs = np.inf, -np.inf, 0.0, 0, 0, 0
    for at in range(0, flat.size, _CHUNK):
        part = flat[at : at + _CHUNK]
        if dtype in _COMPLEX:
            nans += int(np.isnan(part).sum())
            infs += int(np.isinf(part).sum())
            continue
        wide = part.astype(np.float64)
        kept = wide[np.isfinite(wide)]
        missing = int(np.isnan(wide).sum())
        nans += missing
        infs += wide.size - kept.size - missing
        if kept.size:
            low, high = min(low, float(kept.min())), max(high, float(kept.max()))
            total += float(kept.sum())
            finite += kept.size
    known = finite > 0
    return Summary(
        digest.hexdigest()[:12],
        low if known else None,
        high if known else None,
        total / finite if known else None,
        nans,
        infs,
    )


@functools.cache
def parser_reads(literal: str) -> bool:
    """Whether the installed `onnx.parser` reads a piece of the syntax that not every version has.

    `literal` is the type and value of an initializer: `int2[1] w = {1}` (onnx 1.20), `float[1] w = {1e-45}` (1.20).
    """
    import onnx.parser

    try:
        onnx.parser.parse_model(f'<ir_version: 11, opset_import: ["" : 23]> g () => () <{literal}> {{ }}')
    except (onnx.parser.ParseError, IndexError, ValueError, RuntimeError):
        return False
    return True
