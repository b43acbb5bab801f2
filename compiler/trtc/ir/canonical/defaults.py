"""Every attribute that has a default in ONNX is written out, whether the schema says it or only the text."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as oir

from trtc.ir.canonical.axes import count_from_front
from trtc.ir.canonical.schema import MANY, Form, form
from trtc.ir.canonical.site import OPSET, Site
from trtc.ir.canonical.windows import WINDOWED, fill_window


def trim_inputs(node: oir.Node) -> None:
    """Drop inputs at the end that are not given."""
    count = len(node.inputs)
    while count and node.inputs[count - 1] is None:
        count -= 1
    node.resize_inputs(count)


def _trim_outputs(node: oir.Node, current: Form) -> None:
    """Drop outputs at the end that have no name, unless their number has a meaning (Split, Loop…)."""
    count = len(node.outputs)
    if current.max_outputs >= MANY:
        return
    while (
        count > max(current.min_outputs, 1) and not node.outputs[count - 1].name and not node.outputs[count - 1].uses()
    ):
        count -= 1
    node.resize_outputs(count)


def fill(site: Site) -> None:
    """Bring a node of opset 23 to canonical form: defaults written out, axes counted from the front, inputs trimmed."""
    node = site.node
    trim_inputs(node)
    current = form(node.op_type, OPSET)
    if current is None:
        return
    _trim_outputs(node, current)
    for attr in current.defaults:
        if attr.name not in node.attributes:
            node.attributes[attr.name] = attr
    special = _SPECIAL.get(node.op_type)
    if special is not None:
        special(site)
    count_from_front(site)


def _transpose(site: Site) -> None:
    if site.has("perm"):
        return
    rank = site.rank(site.required(0))
    if rank is not None:
        # An empty list has no element to tell its type from.
        site.set("perm", oir.AttrInt64s("perm", range(rank - 1, -1, -1)))


_GATES = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}


def _recurrent(site: Site) -> None:
    direction = site.node.attributes.get("direction")
    if not site.has("activations") and direction is not None and not direction.is_ref():
        count = 2 if direction.as_string() == "bidirectional" else 1
        site.set("activations", list(_GATES[site.node.op_type]) * count)
    if not site.has("hidden_size"):
        shape = site.shape(site.required(2))
        if shape is not None and len(shape) == 3 and isinstance(shape[2], int):
            site.set("hidden_size", shape[2])


def _scan(site: Site) -> None:
    scanned = site.node.attributes.get("num_scan_inputs")
    if scanned is None or scanned.is_ref():
        return
    inputs = scanned.as_int()
    outputs = len(site.node.outputs) - (len(site.node.inputs) - inputs)
    for name, count in (("scan_input", inputs), ("scan_output", outputs)):
        for what in ("axes", "directions"):
            if not site.has(f"{name}_{what}"):
                site.set(f"{name}_{what}", oir.AttrInt64s(f"{name}_{what}", [0] * count))


def _constant_of_shape(site: Site) -> None:
    if not site.has("value"):
        site.set("value", oir.tensor(np.zeros(1, dtype=np.float32)))


def _split(site: Site) -> None:
    if site.input(1) is None and not site.has("num_outputs"):
        site.set("num_outputs", len(site.node.outputs))


def _like(site: Site) -> None:
    """The dtype is that of the input when it is not given."""
    if not site.has("dtype"):
        dtype = site.dtype(site.required(0))
        if dtype is not None:
            site.set("dtype", int(dtype))


_SPECIAL: dict[str, Callable[[Site], None]] = {
    **dict.fromkeys(WINDOWED, fill_window),
    **dict.fromkeys(_GATES, _recurrent),
    **dict.fromkeys(("EyeLike", "RandomNormalLike", "RandomUniformLike", "Bernoulli"), _like),
    "Transpose": _transpose,
    "Scan": _scan,
    "ConstantOfShape": _constant_of_shape,
    "Split": _split,
}
