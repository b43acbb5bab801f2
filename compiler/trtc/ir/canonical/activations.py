"""Activations: bounds of Clip, defaults that changed, the flattening Softmax, gated units of newer opsets."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir.canonical.site import Site, restate

#: The largest float32: what Clip-6 has for a bound that is not given.
_LARGEST = float(np.finfo(np.float32).max)


@restate("Selu", until=5)
def selu_rounded(site: Site) -> None:
    """Opset 1 rounds its defaults to four decimals."""
    for name, value in (("alpha", 1.6732), ("gamma", 1.0507)):
        if not site.has(name):
            site.set(name, value)


@restate("Clip", until=10, facts=True)
def clip_bounds(site: Site) -> None:
    """Opsets 1 to 10: bounds as attributes; from 6 on they are the finite float32 range when not given.

    A bound that no value of the dtype can pass (the float32 range in float16) is left out.
    """
    x = site.required(0)
    dtype = site.dtype(x)
    for at, name, default in ((1, "min", -_LARGEST), (2, "max", _LARGEST)):
        attr = site.take(name)
        if attr is None and site.opset < 6:
            continue
        if attr is not None and attr.is_ref():
            site.set_input(at, site.op("CastLike", site.from_attr(attr, name), x))
            continue
        bound = default if attr is None else attr.as_float()
        if dtype is not None and bound == default and dtype.itemsize == 2 and dtype.name == "FLOAT16":
            continue
        site.set_input(at, site.like(bound, x, name))


@restate("Softmax", "LogSoftmax", "Hardmax", until=12, facts=True)
def softmax_flattened(site: Site) -> None:
    """Opsets 1 to 12: over all dims from `axis` (default 1) on, flattened to one."""
    x = site.required(0)
    axis = site.take("axis")
    shape = site.shape(x)
    start = 1 if axis is None else axis.value if not axis.is_ref() else None
    if start is not None and shape is not None:
        start = start + len(shape) if start < 0 else start
        wide = [at for at in range(start, len(shape)) if shape[at] != 1]
        if start < len(shape) and len(wide) <= 1:
            site.set("axis", wide[0] if wide else start)
            return
    elif start == -1:
        site.set("axis", -1)
        return
    op_type = site.node.op_type
    flat = site.op("Flatten", x, axis=axis if axis is not None else 1)
    made = site.op(op_type, flat, axis=-1)
    static = None if shape is None or not all(isinstance(dim, int) for dim in shape) else shape
    target = site.op("Shape", x) if static is None else site.ints([int(str(d)) for d in static], "shape")
    site.become("Reshape", made, target, allowzero=1)


@restate("Swish", since=24, facts=True)
def swish(site: Site) -> None:
    """Opset 24: x · sigmoid(alpha · x)."""
    x = site.required(0)
    site.become("Mul", x, _gate(site, x))


@restate("SwiGLU", since=28, facts=True)
def swiglu(site: Site) -> None:
    """Opset 28: swish of the first input times the second."""
    a, b = site.required(0), site.required(1)
    site.become("Mul", site.op("Mul", a, _gate(site, a)), b)


def _gate(site: Site, x: oir.Value) -> oir.Value:
    alpha = site.take("alpha")
    if alpha is not None and alpha.is_ref():
        x = site.op("Mul", x, site.op("CastLike", site.from_attr(alpha, "alpha"), x))
    elif alpha is not None and alpha.value != 1.0:
        # A constant of the dtype, so that the product is rounded as the operator's own body rounds it.
        x = site.op("Mul", x, site.like(alpha.as_float(), x, "alpha"))
    return site.op("Sigmoid", x)


@restate("Celu", since=28, facts=True)
def celu_wide(site: Site) -> None:
    """Opset 28: dtypes other than float32; alpha · elu(x / alpha), of the halves in float32."""
    x = site.required(0)
    dtype = site.dtype(x)
    if dtype in (None, oir.DataType.FLOAT):
        return
    half = dtype.bitwidth < 32
    if half:
        x = site.op("Cast", x, to=int(oir.DataType.FLOAT))
    number = np.array(site.literal("alpha", 1.0), dtype=np.float32)
    alpha = site.constant(number if half else number.astype(dtype.numpy()), "alpha")
    elu = site.op("Elu", site.op("Div", x, alpha), alpha=1.0)
    if half:
        site.become("Cast", site.op("Mul", alpha, elu), to=int(dtype))
    else:
        site.become("Mul", alpha, elu)
