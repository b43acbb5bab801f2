"""Values of nodes whose inputs are constants."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as oir

from trtc.evaluate.session import session
from trtc.ir.module import IR_VERSION, OPSET
from trtc.ir.nesting import taken

#: ONNX Runtime takes these from numpy; the others (bfloat16, float8, 4-bit) go in as initializers.
_FEEDABLE = frozenset("?bBhHiIlLqQefd")


class NotEvaluated(Exception):
    """Neither ONNX Runtime nor the reference computes this; the text says why."""


class Evaluator:
    """Computes constant pieces of a graph.

    `evaluate` takes a batch of nodes at once: one session for all of them costs little more than one for each, and
    a model has hundreds. A batch that fails is tried node by node, so that one operator without a kernel does not
    stop the others.
    """

    def __init__(self) -> None:
        self.sessions = 0
        """How many sessions were made; a test counts them."""

    def evaluate(
        self,
        nodes: Sequence[oir.Node],
        outputs: Sequence[oir.Value],
        constants: Mapping[oir.Value, oir.TensorProtocol],
        functions: Sequence[oir.Function] = (),
    ) -> dict[oir.Value, np.ndarray]:
        """The arrays of `outputs`, computed by `nodes` (in topological order) from `constants`.

        `constants` holds every value that a node, or a subgraph of one, takes from outside. An output that cannot
        be computed is absent from the answer. Dtypes are those that ONNX declares: nothing is promoted. `functions`
        are those that nodes call.

        The caller bounds the sizes, and never passes an integer division by zero (it kills the process).
        """
        try:
            return self._batch(nodes, outputs, constants, functions)
        except Exception:
            if len(nodes) == 1:
                return {}
        return self._one_by_one(nodes, outputs, constants, functions)

    def _one_by_one(
        self,
        nodes: Sequence[oir.Node],
        outputs: Sequence[oir.Value],
        constants: Mapping[oir.Value, oir.TensorProtocol],
        functions: Sequence[oir.Function] = (),
    ) -> dict[oir.Value, np.ndarray]:
        known: dict[oir.Value, oir.TensorProtocol] = dict(constants)
        wanted = set(outputs)
        found: dict[oir.Value, np.ndarray] = {}
        for node in nodes:
            if any(value not in known for value in node.inputs if value is not None):
                continue
            used = [v for v in node.outputs if v in wanted or v.uses()]
            try:
                values = self._batch([node], used, known, functions)
            except Exception:
                continue
            for value, array in values.items():
                known[value] = oir.Tensor(array)
                if value in wanted:
                    found[value] = array
        return found

    def _batch(
        self,
        nodes: Sequence[oir.Node],
        outputs: Sequence[oir.Value],
        constants: Mapping[oir.Value, oir.TensorProtocol],
        functions: Sequence[oir.Function] = (),
    ) -> dict[oir.Value, np.ndarray]:
        model, feeds = _model(nodes, outputs, constants)
        model.functions.extend(oir.serde.serialize_function(function) for function in functions)
        names = [value.name or "" for value in outputs]
        try:
            self.sessions += 1
            arrays: Sequence[Any] = session(model.SerializeToString()).run(names, feeds)
        except Exception:
            # Operators without a kernel on the CPU: the slow and complete reference. It holds no state.
            from onnx.reference import ReferenceEvaluator

            from trtc.evaluate.overloads import named_apart

            found: Any = ReferenceEvaluator(named_apart(model)).run(names, dict(feeds))
            arrays = found
        return {value: np.asarray(array) for value, array in zip(outputs, arrays, strict=True)}


def _model(
    nodes: Sequence[oir.Node],
    outputs: Sequence[oir.Value],
    constants: Mapping[oir.Value, oir.TensorProtocol],
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model of `nodes`: big constants are fed, so that no weight is copied into a protobuf."""
    graph = onnx.GraphProto(name="constants")
    feeds: dict[str, np.ndarray] = {}
    for value in _outside(nodes):
        tensor = constants.get(value)
        if tensor is None:
            raise NotEvaluated(f"`{value.name}` is not a constant")
        name = value.name or ""
        array = tensor.numpy()
        if array.dtype.char in _FEEDABLE and array.dtype.names is None:
            feeds[name] = array
            graph.input.append(onnx.helper.make_tensor_value_info(name, int(tensor.dtype), list(array.shape)))
        else:
            proto = oir.serde.serialize_tensor(tensor)
            proto.name = name
            graph.initializer.append(proto)
    graph.node.extend(oir.serde.serialize_node(node) for node in nodes)
    graph.output.extend(onnx.ValueInfoProto(name=value.name or "") for value in outputs)
    domains = {node.domain for node in nodes if node.domain}
    imports = [
        onnx.helper.make_opsetid("", OPSET),
        *(onnx.helper.make_opsetid(d, 1) for d in sorted(domains)),
    ]
    return onnx.ModelProto(ir_version=IR_VERSION, graph=graph, opset_import=imports), feeds


def _outside(nodes: Sequence[oir.Node]) -> Iterable[oir.Value]:
    """Values that the nodes, or the subgraphs in them, take from outside, each once."""
    made: set[oir.Value] = set()
    seen: dict[oir.Value, None] = {}
    for node in nodes:
        for value in taken(node):
            if value not in made:
                seen.setdefault(value, None)
        made.update(node.outputs)
    return seen
