"""Convolutions and pools: kernel, strides, dilations and pads written out; automatic padding resolved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trtc.ir.canonical.site import Site

if TYPE_CHECKING:
    from trtc.ir.dims import Dim

#: Which input holds the kernel (None: the attribute is required).
_KERNEL = {"Conv": 1, "ConvTranspose": 1, "ConvInteger": 1, "QLinearConv": 3, "DeformConv": 1}
_POOLS = ("AveragePool", "MaxPool", "LpPool")

WINDOWED = (*_KERNEL, *_POOLS, "MaxUnpool", "Col2Im")


def fill_window(site: Site) -> None:
    """Fill `kernel_shape`, `strides`, `dilations` and `pads`, and resolve `auto_pad`.

    VALID is no padding. SAME_* are pads when they do not depend on a dim that is not known: with strides of 1, or with
    known sizes; `auto_pad` is NOTSET then, and stays what it was otherwise.
    """
    node = site.node
    kernel = _kernel(site)
    if kernel is None:
        return
    spatial = len(kernel)
    if node.op_type != "Col2Im" and not site.has("kernel_shape"):
        site.set("kernel_shape", kernel)
    if not site.has("strides"):
        site.set("strides", [1] * spatial)
    if node.op_type != "MaxUnpool" and not site.has("dilations"):
        site.set("dilations", [1] * spatial)
    if node.op_type == "ConvTranspose":
        if not site.has("output_padding"):
            site.set("output_padding", [0] * spatial)
        _resolve_transposed(site, kernel)
    elif site.has("auto_pad"):
        _resolve(site, kernel)
    if not site.has("pads") and _text(site, "auto_pad") in (None, "NOTSET", "VALID"):
        site.set("pads", [0] * (2 * spatial))


def _kernel(site: Site) -> list[int] | None:
    """The size of the kernel, None when it cannot be told."""
    name = "block_shape" if site.node.op_type == "Col2Im" else "kernel_shape"
    attr = site.node.attributes.get(name)
    if attr is not None:
        return None if attr.is_ref() else list(attr.as_ints())
    at = 2 if name == "block_shape" else _KERNEL.get(site.node.op_type)
    value = None if at is None else site.input(at)
    if value is None:
        return None
    if name == "block_shape":
        block = site.module.constant(value)
        return None if block is None else [int(size) for size in block]
    tensor = site.module.constant(value)
    shape = site.shape(value) if tensor is None else tensor.shape
    if shape is None:
        return None
    sizes = [size for size in shape[2:] if isinstance(size, int)]
    return sizes if len(sizes) == len(shape) - 2 else None


def _text(site: Site, name: str) -> str | None:
    attr = site.node.attributes.get(name)
    return None if attr is None or attr.is_ref() else attr.as_string()


def _ints(site: Site, name: str) -> tuple[int, ...] | None:
    attr = site.node.attributes.get(name)
    return None if attr is None or attr.is_ref() else attr.as_ints()


def _spatial_dims(site: Site, count: int) -> Sequence[Dim] | None:
    x = site.input(0)
    shape = None if x is None else site.shape(x)
    return None if shape is None or len(shape) != count + 2 else shape[2:]


def _resolve(site: Site, kernel: list[int]) -> None:
    mode = _text(site, "auto_pad")
    if mode in (None, "NOTSET"):
        return
    spatial = len(kernel)
    if mode == "VALID":
        site.set("pads", [0] * (2 * spatial))
        site.set("auto_pad", "NOTSET")
        return
    strides, dilations = _ints(site, "strides"), _ints(site, "dilations")
    if strides is None or dilations is None:
        return
    if site.node.op_type in _POOLS and any(dilation != 1 for dilation in dilations):
        # ONNX Runtime pads dilated pools as if they were not, so pads by the standard would change what it gives.
        return
    dims = None if all(stride == 1 for stride in strides) else _spatial_dims(site, spatial)
    totals: list[int] = []
    for at in range(spatial):
        extent = (kernel[at] - 1) * dilations[at] + 1
        if strides[at] == 1:
            totals.append(extent - 1)
            continue
        size = None if dims is None else dims[at]
        if not isinstance(size, int):
            return
        windows = -(-size // strides[at])
        totals.append(max((windows - 1) * strides[at] + extent - size, 0))
    before = [total // 2 if mode == "SAME_UPPER" else total - total // 2 for total in totals]
    site.set("pads", before + [total - begin for total, begin in zip(totals, before, strict=True)])
    site.set("auto_pad", "NOTSET")
    if site.has("ceil_mode"):
        # The pads make the windows fit, and one that would start behind the data is not made.
        site.set("ceil_mode", 0)


def _resolve_transposed(site: Site, kernel: list[int]) -> None:
    """`output_shape` and `auto_pad` of ConvTranspose as pads.

    total = stride · (size - 1) + output_padding + extent - output size; SAME_UPPER puts the odd one at the end,
    everything else at the beginning.
    """
    mode = _text(site, "auto_pad")
    wanted = _ints(site, "output_shape")
    spatial = len(kernel)
    if wanted is None and mode in (None, "NOTSET"):
        return
    if wanted is None and mode == "VALID":
        site.set("pads", [0] * (2 * spatial))
        site.set("auto_pad", "NOTSET")
        return
    strides, dilations, extra = (_ints(site, name) for name in ("strides", "dilations", "output_padding"))
    if strides is None or dilations is None or extra is None or mode is None:
        return
    dims = None if wanted is None else _spatial_dims(site, spatial)
    totals: list[int] = []
    for at in range(spatial):
        extent = (kernel[at] - 1) * dilations[at] + 1
        if wanted is None:
            # The output is size · stride.
            total = extra[at] + extent - strides[at]
        else:
            size = None if dims is None else dims[at]
            if not isinstance(size, int):
                return
            total = strides[at] * (size - 1) + extra[at] + extent - wanted[len(wanted) - spatial + at]
        if total < 0:
            return
        totals.append(total)
    before = [total // 2 if mode == "SAME_UPPER" else total - total // 2 for total in totals]
    site.set("pads", before + [total - begin for total, begin in zip(totals, before, strict=True)])
    site.set("auto_pad", "NOTSET")
    site.take("output_shape")
