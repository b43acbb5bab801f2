"""Content of constants, compared without reading more than has to be read."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as oir

#: A tensor up to this size is hashed whole at once; of a bigger one a sample is compared first.
_SAMPLED = 1 << 16
_META = "trtc.digest"


def sample(tensor: oir.TensorProtocol) -> bytes:
    """Tensors of equal content have equal samples. Reads at most 64 KiB."""
    array = _bytes(tensor)
    if isinstance(array, bytes):
        return hashlib.blake2b(array, digest_size=16).digest()
    if array.size > _SAMPLED:
        step = array.size // 64
        array = array[: step * 64].reshape(64, step)[:, : _SAMPLED // 64]
    return hashlib.blake2b(array.tobytes(), digest_size=16).digest()


def digest(value: oir.Value) -> bytes:
    """A hash of the content of a constant value; computed once for each tensor."""
    tensor = value.const_value
    assert tensor is not None
    kept = value.meta.get(_META)
    if kept is not None and kept[0] is tensor:
        return kept[1]
    made = tensor_digest(tensor)
    value.meta[_META] = (tensor, made)
    return made


def tensor_digest(tensor: oir.TensorProtocol) -> bytes:
    array = _bytes(tensor)
    return hashlib.blake2b(array if isinstance(array, bytes) else array.data, digest_size=16).digest()


def _bytes(tensor: oir.TensorProtocol) -> np.ndarray | bytes:
    """The content as a flat array of bytes, without a copy where the array is contiguous."""
    import numpy as np

    array = tensor.numpy()
    if array.dtype.kind in "SUO":
        items = [item if isinstance(item, bytes) else str(item).encode() for item in array.ravel()]
        return b"".join(len(item).to_bytes(8, "little") + item for item in items)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
