"""The nodes of a graph, one after another; the graph of a model, of a branch or of the body of a loop."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import onnx_ir as oir

from trtc.emit.facts import Refusal
from trtc.emit.plugins import emit_plugin
from trtc.emit.registry import table
from trtc.emit.scope import Scope
from trtc.emit.shaping import Unknown
from trtc.ir.plugins import plugin_of


def emit_nodes(s: Scope, graph: oir.Graph) -> None:
    """Emit every node of `graph` that somebody uses.

    Raises:
        DiagnosticError: T0702 TensorRT refused a layer, T0703 a property, T0704 the network is not what the IR says,
            T0705 a value that cannot be held.
    """
    operators = table()
    around = s.node
    for node in graph:
        if not any(value.uses() or value.is_graph_output() for value in node.outputs):
            continue
        s.begin(node)
        known = operators.get((node.domain, node.op_type))
        _emit_node(s, node, known.emit if known is not None else _emit_plugin)
    s.begin(around)


def _emit_plugin(s: Scope, node: oir.Node) -> Any:
    data = plugin_of(s.module, node)
    assert data is not None, "checked before the first layer"
    return emit_plugin(s, node, data)


def _emit_node(s: Scope, node: oir.Node, function: Any) -> None:
    mark = s.log.mark()
    try:
        made = function(s, node)
    except Refusal as found:
        raise s.error("T0705", found.reason, found.help) from found
    except Unknown as found:
        raise s.error("T0704", f"the size {found} cannot be computed from the network's tensors") from found
    except (TypeError, ValueError, RuntimeError) as found:
        raise s.error("T0702", f"TensorRT refused a call: {str(found).strip().splitlines()[0]}") from found
    outputs = made if isinstance(made, tuple) else (made,)
    for value, tensor in zip(node.outputs, outputs, strict=False):
        if tensor is None:
            continue
        if s.dtype(value) == oir.DataType.UINT8:
            tensor = s.cast(tensor, s.engine_type(value))
        s.bind(value, tensor)
        if not value.is_graph_output() and value.name:
            s.name(tensor, value.name)
    if s.log.errors(mark):
        raise s.error("T0702", "TensorRT reported an error")
