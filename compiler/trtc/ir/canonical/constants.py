"""Constant nodes become initializers of the graph they stand in."""

from __future__ import annotations

import numpy as np
import onnx_ir as oir

from trtc.ir import edit
from trtc.ir.canonical.site import refuse
from trtc.ir.module import Module


def constant_tensor(module: Module, node: oir.Node) -> oir.TensorProtocol:
    """The tensor of a Constant node, whichever of its attributes holds it.

    Raises: DiagnosticError T0652 when there is not exactly one.
    """
    if len(node.attributes) != 1:
        raise refuse("T0652", f"a Constant has exactly one value, this one has {len(node.attributes)}", node, module)
    attr = next(iter(node.attributes.values()))
    match attr.name:
        case "value":
            return attr.as_tensor()
        case "value_int":
            return oir.tensor(np.array(attr.as_int(), dtype=np.int64))
        case "value_ints":
            return oir.tensor(np.array(attr.as_ints(), dtype=np.int64))
        case "value_float":
            return oir.tensor(np.array(attr.as_float(), dtype=np.float32))
        case "value_floats":
            return oir.tensor(np.array(attr.as_floats(), dtype=np.float32))
        case "value_string":
            return oir.StringTensor([attr.as_string().encode()], shape=oir.Shape([]))
        case "value_strings":
            values = [text.encode() for text in attr.as_strings()]
            return oir.StringTensor(values, shape=oir.Shape([len(values)]))
        case _:
            raise refuse("T0652", f"a Constant cannot hold its value in `{attr.name}`", node, module)


def to_initializer(module: Module, node: oir.Node) -> None:
    """Replace a Constant node by an initializer with the name of its output.

    Where the constant is an output of the graph, an Identity keeps the name and the initializer takes another.
    """
    graph = node.graph
    assert isinstance(graph, oir.Graph)
    old = node.outputs[0]
    tensor = constant_tensor(module, node)
    if old.is_graph_output():
        value = edit.constant(module, tensor, f"{old.name}_value", graph)
        edit.replace(module, [node], [], {old: value})
        return
    value = oir.Value(
        name=old.name, shape=oir.Shape(tensor.shape.numpy()), type=oir.TensorType(tensor.dtype), const_value=tensor
    )
    old.replace_all_uses_with(value)
    graph.remove(node)
    graph.register_initializer(value)
