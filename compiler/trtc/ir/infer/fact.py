"""What is known of a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.dims import Dim

Ratio: TypeAlias = "tuple[Dim, int]"
"""A number as numerator and positive denominator."""

MAX_VALUE: Final = 1024
"""Tensors of more elements have no `value`."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Dtype, symbolic shape and, of small tensors, the elements. None is "not known", never "none".

    `kind` is "tensor", or "sequence" or "optional", and then the rest is about the element.
    """

    dtype: oir.DataType | None = None
    shape: tuple[Dim, ...] | None = None
    value: tuple[Dim, ...] | None = None
    """The elements, row-major, of an integer or bool tensor of static shape and at most `MAX_VALUE` elements."""
    kind: Literal["tensor", "sequence", "optional"] = "tensor"
    real: tuple[Ratio, ...] | None = None
    """The elements of a small float tensor, where float arithmetic on them is known to be exact."""


UNKNOWN: Final = Fact()
