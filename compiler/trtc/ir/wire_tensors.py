"""Does the data of each tensor in a scanned file agree with its dims and its type?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import onnx_ir as oir

from trtc.diagnostics import Diagnostic, escape
from trtc.ir.limits import Limits
from trtc.ir.wire import Buffer, Scan, TensorSite

_INT64_MAX = (1 << 63) - 1

#: The typed field that holds each type, and how many of its values make one element.
_FIELD: dict[str, tuple[str, int]] = {
    "FLOAT": ("float_data", 1),
    "COMPLEX64": ("float_data", 2),
    "DOUBLE": ("double_data", 1),
    "COMPLEX128": ("double_data", 2),
    "INT64": ("int64_data", 1),
    "UINT64": ("uint64_data", 1),
    "UINT32": ("uint64_data", 1),
    "STRING": ("string_data", 1),
}


def expected_bytes(dtype: oir.DataType, dims: list[int]) -> int:
    """Bytes of a tensor, types below a byte packed and the last byte padded."""
    return (math.prod(dims) * dtype.bitwidth + 7) // 8


def data_type(number: int) -> oir.DataType | None:
    """The type of a number in the file; None when it is no type of a tensor, or newer than the installed onnx_ir."""
    try:
        dtype = oir.DataType(number)
    except ValueError:
        return None
    return None if dtype == oir.DataType.UNDEFINED else dtype


def check(scan: Scan, data: Buffer, file: str, limits: Limits) -> Iterator[Diagnostic]:
    """T0403 (segments), T0407 (data and dims disagree), T0408 (dims), T0409 (type), one per faulty tensor."""
    for site in scan.tensors:
        fault = _fault(site, limits)
        if fault is not None:
            code, message = fault
            yield Diagnostic(
                code=code,
                message=escape(f"tensor `{scan.owner(data, site)}`: {message}"),
                node=scan.owner(data, site),
                file=file,
            )


def _fault(site: TensorSite, limits: Limits) -> tuple[str, str] | None:
    if site.segment is not None:
        return "T0403", "it is stored in segments, which no version of ONNX has defined"
    dims = site.dims
    if len(dims) > limits.rank:
        return "T0408", f"rank {len(dims):,}, at most {limits.rank} is supported"
    negative = [d for d in dims if d < 0]
    if negative:
        return "T0408", f"negative dimension {negative[0]} in {dims}"
    # A dim of 0 does not excuse the others: strides are computed from them all the same.
    elements = math.prod(d for d in dims if d)
    if elements > _INT64_MAX:
        return "T0408", f"{dims} is {elements:,} elements, more than a 64-bit integer counts"
    dtype = data_type(site.dtype)
    if dtype is None:
        known = max(int(d) for d in oir.DataType)
        return "T0409", f"unknown data type {site.dtype}, this version of onnx_ir knows types 1 to {known}"
    return _amount(site, dtype, math.prod(dims))


def _amount(site: TensorSite, dtype: oir.DataType, elements: int) -> tuple[str, str] | None:
    dims = site.dims
    filled = [name for name, count in site.counts.items() if count]
    stores = filled + (["raw_data"] if site.raw is not None and site.raw[1] else [])
    if site.external:
        if dtype == oir.DataType.STRING:
            return "T0407", "text cannot be stored in an external file"
        if stores:
            return "T0407", f"its data is both in an external file and in {stores[0]}"
        return None
    if len(stores) > 1:
        return "T0407", f"its data is given twice, in {stores[0]} and in {stores[1]}"
    if site.raw is not None:
        if dtype == oir.DataType.STRING:
            return "T0407", "text is stored in string_data, not in raw_data"
        want = expected_bytes(dtype, dims)
        if site.raw[1] != want:
            return "T0407", f"raw_data has {site.raw[1]:,} bytes, {dtype.name} {dims} wants {want:,}"
        return None
    field, per_element = _FIELD.get(dtype.name, ("int32_data", 1))
    if filled and filled[0] != field:
        return "T0407", f"it has {filled[0]}, but {dtype.name} is stored in {field}"
    want = elements * per_element
    if dtype != oir.DataType.STRING and dtype.bitwidth in (2, 4):
        # Types of 2 and 4 bits are packed in the bytes of int32_data; 6 bits are not.
        want = expected_bytes(dtype, dims)
    have = site.counts.get(field, 0)
    if have != want:
        return "T0407", f"{field} has {have:,} values, {dtype.name} {dims} wants {want:,}"
    return None
