"""Recurrent operators and control flow."""

from __future__ import annotations

import onnx_ir as oir

from trtc.ir.canonical.site import OPSET, Site, restate


@restate("RNN", "GRU", "LSTM", until=6)
def recurrent_output_sequence(site: Site) -> None:
    """Opsets 1 to 6 say by an attribute whether Y is produced; from 7 on an output that is not named is not."""
    site.take("output_sequence")


@restate("Scan", until=8)
def scan_batched(site: Site) -> None:
    """Opset 8: every state and sequence has a batch axis in front, and a Scan runs for each element of the batch.

    So a Scan over the batch, whose body is the Scan of one element:

        states, outputs = Scan[batch](states, sequences) { Scan[time](state, sequence) { body } }
    """
    if site.input(0) is not None:
        raise site.refusal(
            "T0657",
            "Scan (opset 8) with `sequence_lens` has no form at opset 23: its sequences may differ in length",
        )
    body = site.literal("body")
    scanned = site.literal("num_scan_inputs")
    directions = list(site.literal("directions", ()) or [0] * scanned)
    inputs = list(site.node.inputs[1:])
    states = len(inputs) - scanned
    count = len(site.node.outputs)
    module, name = site.module, site.node.name
    elements = [oir.Value(name=module.unique(f"{name}_element")) for _ in inputs]
    for element, value in zip(elements, inputs, strict=True):
        if value is not None:
            element.type = value.type
    site.take("body")
    inner = oir.Node(
        "",
        "Scan",
        elements,
        [
            oir.AttrGraph("body", body),
            oir.AttrInt64("num_scan_inputs", scanned),
            oir.AttrInt64s("scan_input_axes", [0] * scanned),
            oir.AttrInt64s("scan_input_directions", directions),
            oir.AttrInt64s("scan_output_axes", [0] * (count - states)),
            oir.AttrInt64s("scan_output_directions", [0] * (count - states)),
        ],
        num_outputs=count,
        name=module.unique(f"{name}_time"),
        version=OPSET,
    )
    for made, old in zip(inner.outputs, site.node.outputs, strict=True):
        made.name = module.unique(f"{old.name or name}_element")
        made.type = old.type
    outer = oir.Graph(elements, list(inner.outputs), nodes=[inner], name=module.unique(f"{name}_batch"))
    site.become(
        "Scan",
        *inputs,
        body=outer,
        num_scan_inputs=len(inputs),
        scan_input_axes=[0] * len(inputs),
        scan_input_directions=[0] * len(inputs),
        scan_output_axes=[0] * count,
        scan_output_directions=[0] * count,
    )


@restate("LpPool", "GlobalLpPool", until=1)
def lp_order(site: Site) -> None:
    """Opset 1: p is a float; from 2 on an integer."""
    p = site.literal("p", 2.0)
    if p != int(p):
        raise site.refusal("T0657", f"{site.node.op_type} (opset 1) with p = {p}: from opset 2 on p is an integer")
    site.set("p", int(p))
