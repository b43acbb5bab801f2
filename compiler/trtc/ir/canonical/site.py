"""A node at work, and the table of restatements.

A restatement is a small function for one change that one operator went through between two opsets. It is registered
with the opsets that it is for, gets a `Site`, and either changes the node where it stands or makes it the last of a
few nodes that together say the same (`Site.op`, `Site.become`), so that the outputs keep their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.ir import edit, provenance
from trtc.ir.module import IR_VERSION, OPSET, Module

if TYPE_CHECKING:
    from trtc.ir.dims import Dim

RULE = "canonical"

__all__ = ["IR_VERSION", "OPSET", "RULE", "Restatement", "Site", "refuse", "restate", "restatements"]

_CONSTANT_KEY = {
    oir.AttributeType.INT: "value_int",
    oir.AttributeType.INTS: "value_ints",
    oir.AttributeType.FLOAT: "value_float",
    oir.AttributeType.FLOATS: "value_floats",
}


def refuse(code: str, message: str, node: oir.Node, module: Module, **more: Any) -> DiagnosticError:
    """A diagnostic at a node, ready to be raised."""
    file = None if module.path is None else str(module.path)
    return DiagnosticError(Diagnostic(code=code, message=message, node=node.name, file=file, **more))


@dataclass(slots=True)
class Site:
    """One node to be restated, and what a restatement may ask and do."""

    module: Module
    node: oir.Node
    opset: int
    """The opset that the node is written for."""
    in_function: bool
    """Inside the body of a function: nothing is known of values, and constants are Constant nodes."""
    made: list[oir.Node] = field(default_factory=list[oir.Node])
    """The nodes put before it so far."""

    # What is there.

    def input(self, at: int) -> oir.Value | None:
        return self.node.inputs[at] if at < len(self.node.inputs) else None

    def required(self, at: int) -> oir.Value:
        """An input that the operator cannot do without."""
        value = self.input(at)
        if value is None:
            raise self.refusal("T0652", f"{self.node.op_type} needs its input {at}")
        return value

    def output_used(self, at: int) -> bool:
        if at >= len(self.node.outputs):
            return False
        value = self.node.outputs[at]
        return value.is_graph_output() or bool(value.uses())

    def shape(self, value: oir.Value) -> tuple[Dim, ...] | None:
        return None if self.in_function else self.module.shape(value)

    def rank(self, value: oir.Value) -> int | None:
        shape = self.shape(value)
        return None if shape is None else len(shape)

    def dtype(self, value: oir.Value) -> oir.DataType | None:
        return None if self.in_function else self.module.dtype(value)

    def has(self, name: str) -> bool:
        return name in self.node.attributes

    def take(self, name: str) -> oir.Attr | None:
        """Remove an attribute and return it."""
        return self.node.attributes.pop(name, None)

    def literal(self, name: str, default: Any = None) -> Any:
        """The value of an attribute; refused when it refers to an attribute of the function around it."""
        attr = self.node.attributes.get(name)
        if attr is None:
            return default
        if attr.is_ref():
            raise self.refusal(
                "T0657",
                f"attribute `{name}` of {self.node.op_type} (opset {self.opset}) refers to the function attribute "
                f"`{attr.ref_attr_name}`, and has no form at opset {OPSET} without its value",
                help="inline the function before compiling (onnx.inliner)",
            )
        return attr.value

    def refusal(self, code: str, message: str, **more: Any) -> DiagnosticError:
        return refuse(code, message, self.node, self.module, **more)

    # What may be done.

    def set(self, name: str, value: Any) -> None:
        attr = value if isinstance(value, oir.Attr) else oir.convenience.convert_attribute(name, value)
        self.node.attributes[name] = attr

    def set_input(self, at: int, value: oir.Value | None) -> None:
        if at >= len(self.node.inputs):
            if value is None:
                return
            self.node.resize_inputs(at + 1)
        old = self.node.inputs[at]
        self.node.replace_input_with(at, value)
        if old is not None and old is not value:
            drop_if_unused(old)

    def constant(self, array: np.ndarray, hint: str) -> oir.Value:
        """A constant that the node can use: an initializer of its graph, a Constant node in a function."""
        base = f"{self.node.name}_{hint}"
        if not self.in_function:
            return edit.constant(self.module, array, base, self._graph())
        return self._constant_node(oir.AttrTensor("value", oir.tensor(array)), base)

    def ints(self, values: Iterable[int], hint: str) -> oir.Value:
        """An int64 vector."""
        return self.constant(np.array(list(values), dtype=np.int64), hint)

    def from_attr(self, attr: oir.Attr, hint: str) -> oir.Value:
        """A constant with the value of an attribute: int64 or float32, scalar or vector.

        An attribute of the function around the node is referred to by a Constant node.
        """
        if attr.is_ref():
            key = _CONSTANT_KEY[attr.type]
            return self._constant_node(
                oir.RefAttr(key, attr.ref_attr_name or "", attr.type), f"{self.node.name}_{hint}"
            )
        whole = attr.type in (oir.AttributeType.INT, oir.AttributeType.INTS)
        return self.constant(np.array(attr.value, dtype=np.int64 if whole else np.float32), hint)

    def like(self, scalar: float, target: oir.Value, hint: str) -> oir.Value:
        """A scalar constant of the dtype of `target`, through CastLike where that is not known."""
        dtype = self.dtype(target)
        if dtype is not None:
            return self.constant(np.array(scalar).astype(dtype.numpy()), hint)
        return self.op("CastLike", self.constant(np.array(scalar, dtype=np.float32), hint), target)

    def op(self, op_type: str, *inputs: oir.Value | None, **attributes: Any) -> oir.Value:
        """A new node before this one, of opset 23; its only output."""
        return self.ops(op_type, inputs, 1, **attributes)[0]

    def ops(
        self, op_type: str, inputs: Sequence[oir.Value | None], outputs: int, **attributes: Any
    ) -> tuple[oir.Value, ...]:
        made = edit.node(self.module, op_type, inputs, attributes, origins=[self.node], rule=RULE, outputs=outputs)
        made.version = OPSET
        edit.insert_before(self.node, [made])
        self.made.append(made)
        return tuple(made.outputs)

    def become(self, op_type: str, *inputs: oir.Value | None, **attributes: Any) -> None:
        """Make the node another operator of opset 23 with these inputs and attributes; its outputs stay."""
        node = self.node
        node.op_type = op_type
        node.domain = ""
        node.overload = ""
        node.attributes.clear()
        for name, value in attributes.items():
            self.set(name, value)
        node.resize_inputs(len(inputs))
        for at, value in enumerate(inputs):
            node.replace_input_with(at, value)
        node.version = OPSET
        provenance.stamp(node, [node], RULE)

    def replace_output(self, at: int, value: oir.Value) -> None:
        """Let everybody who uses output `at` use `value` instead."""
        old = self.node.outputs[at]
        if value.shape is None:
            # An output of the model declares its shape.
            value.shape = old.shape
        edit.replace_value(self.module, old, value)

    def drop_outputs(self, count: int) -> None:
        """Keep the first `count` outputs; the others are unused."""
        if len(self.node.outputs) > count:
            self.node.resize_outputs(count)

    def _graph(self) -> oir.Graph:
        graph = self.node.graph
        assert isinstance(graph, oir.Graph)
        return graph

    def _constant_node(self, attr: oir.Attr, name: str) -> oir.Value:
        made = edit.node(self.module, "Constant", [], {attr.name: attr}, origins=[self.node], rule=RULE, outputs=[name])
        made.version = OPSET
        edit.insert_before(self.node, [made])
        self.made.append(made)
        return made.outputs[0]


def drop_if_unused(value: oir.Value | None) -> None:
    """Remove an initializer that nobody uses any more."""
    if value is None or value.uses() or not value.is_initializer() or value.is_graph_input() or value.is_graph_output():
        return
    graph = value.graph
    if graph is not None and value.name is not None and value.name in graph.initializers:
        del graph.initializers[value.name]


Function = Callable[[Site], None]


@dataclass(frozen=True, slots=True)
class Restatement:
    """One change of one operator."""

    since: int
    until: int
    """The first and the last opset whose form it restates."""
    facts: bool
    """Asks for shapes or dtypes, and so waits until every other node has its form."""
    run: Function

    def applies(self, opset: int) -> bool:
        return self.since <= opset <= self.until


_TABLE: dict[str, list[Restatement]] = {}


def restate(
    *op_types: str, since: int = 1, until: int = 2**31 - 1, facts: bool = False
) -> Callable[[Function], Function]:
    """Register a restatement for nodes written for opsets `since` to `until`, both included.

    Those of one operator run in the order of registration, so an older form is registered before a newer one.
    """

    def register(function: Function) -> Function:
        for op_type in op_types:
            _TABLE.setdefault(op_type, []).append(Restatement(since, until, facts, function))
        return function

    return register


def restatements(op_type: str) -> Sequence[Restatement]:
    return _TABLE.get(op_type, ())
