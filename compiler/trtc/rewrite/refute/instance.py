"""One instance of a rule: nodes, and what flows into them."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import DiagnosticError
from trtc.evaluate import Evaluator
from trtc.ir.infer import Fact, infer_node
from trtc.ir.module import IR_VERSION, OPSET, Module
from trtc.lang import rules
from trtc.rewrite.operators import Schema, schema
from trtc.rewrite.refute.data import Array
from trtc.rewrite.refute.tape import Decisions, Rejected

#: Elements of one value.
_MAX_ELEMENTS = 1 << 17

TYPE_NAMES = {
    oir.DataType.FLOAT: "tensor(float)",
    oir.DataType.FLOAT16: "tensor(float16)",
    oir.DataType.DOUBLE: "tensor(double)",
    oir.DataType.BFLOAT16: "tensor(bfloat16)",
    **{
        kind: f"tensor({kind.name.lower()})"
        for kind in (
            *(oir.DataType.INT8, oir.DataType.INT16, oir.DataType.INT32, oir.DataType.INT64, oir.DataType.UINT8),
            *(oir.DataType.UINT16, oir.DataType.UINT32, oir.DataType.UINT64, oir.DataType.BOOL),
        )
    },
}


@dataclass(slots=True)
class Instance:
    """A piece of graph that the rule should match, and the decisions that made it.

    base: what `float` is in it. exact: the number that the rule says, by name of the constant that holds it rounded.
    far: the same at the edge of its tolerance.
    """

    prefix: str
    base: oir.DataType
    decisions: Decisions = field(default_factory=Decisions)
    seed: int = 0
    special: bool = False
    nodes: list[oir.Node] = field(default_factory=list[oir.Node])
    functions: dict[Any, oir.Function] = field(default_factory=dict[Any, oir.Function])
    """Operators of a spec's own that nodes call, and those that their bodies call."""
    inputs: dict[oir.Value, Array] = field(default_factory=dict[oir.Value, Array])
    constants: list[oir.Value] = field(default_factory=list[oir.Value])
    outputs: list[oir.Value] = field(default_factory=list[oir.Value])
    roots: list[oir.Value] = field(default_factory=list[oir.Value])
    """Values that the rule replaces: outputs, or what they are computed from."""
    exact: dict[str, float] = field(default_factory=dict[str, float])
    far: dict[str, float] = field(default_factory=dict[str, float])
    leaves: dict[str, oir.Value] = field(default_factory=dict[str, oir.Value])
    """What the rule takes from outside, by its names, for people to read."""


def empty_module() -> Module:
    """What the facts of an instance are kept in while it is made."""
    graph = oir.Graph([], [], nodes=[], opset_imports={"": OPSET}, name="instances")
    return Module(oir.Model(graph, ir_version=IR_VERSION))


class Writer:
    """Adds nodes to an instance, each inferred at once. Raises Rejected for what does not fit together."""

    def __init__(self, module: Module, instance: Instance) -> None:
        self.module = module
        self.instance = instance
        self._count = 0

    def name(self, hint: str) -> str:
        self._count += 1
        return f"{self.instance.prefix}{hint}.{self._count}"

    def shape(self, value: oir.Value) -> tuple[int, ...]:
        found = self.module.static_shape(value)
        if found is None:
            raise Rejected(f"the shape of {value.name} is not known")
        return found

    def dtype(self, value: oir.Value) -> oir.DataType:
        found = self.module.dtype(value)
        if found is None:
            raise Rejected(f"the dtype of {value.name} is not known")
        return found

    def input(self, hint: str, array: Array) -> oir.Value:
        dtype = oir.DataType.from_numpy(array.dtype)
        value = oir.Value(name=self.name(hint), shape=oir.Shape(array.shape), type=oir.TensorType(dtype))
        self.module.facts[value] = Fact(dtype, array.shape)
        self.instance.inputs[value] = array
        return value

    def constant(self, hint: str, array: Array, exact: float | None = None, far: float | None = None) -> oir.Value:
        name = self.name(hint)
        tensor = oir.Tensor(array, name=name)
        value = oir.Value(
            name=name, shape=oir.Shape(array.shape), type=oir.TensorType(tensor.dtype), const_value=tensor
        )
        self.instance.constants.append(value)
        if exact is not None:
            self.instance.exact[name] = exact
        if far is not None:
            self.instance.far[name] = far
        return value

    def node(
        self,
        op: str,
        inputs: Sequence[oir.Value | None],
        attributes: Mapping[str, Any] | None = None,
        *,
        outputs: int = 1,
        domain: str = "",
    ) -> list[oir.Value]:
        """The outputs of a new node."""
        while inputs and inputs[-1] is None:
            inputs = inputs[:-1]
        known = schema(op, domain)
        if known is not None:
            self._check(op, inputs, known)
        attrs = [
            oir.convenience.convert_attribute(name, value)
            for name, value in (attributes or {}).items()
            if value is not None
        ]
        made = oir.Node(domain, op, list(inputs), attrs, num_outputs=outputs, name=self.name(op))
        return self._added(made)

    def call(
        self, operator: rules.Operator, inputs: Sequence[oir.Value | None], fields: Mapping[str, Any]
    ) -> list[oir.Value]:
        """The outputs of a call of an operator of a spec's own."""
        from trtc.rewrite.build import Declined
        from trtc.rewrite.plugins import Instance as Call

        try:
            made = Call(self.module, Evaluator(), operator, inputs, fields).node((), "")
        except Declined as error:
            raise Rejected(str(error)) from None
        self.instance.functions.update(self.module.model.functions)
        made.name = self.name(made.op_type)
        return self._added(made)

    def _added(self, made: oir.Node) -> list[oir.Value]:
        op = made.op_type
        for value in made.outputs:
            value.name = self.name(op.lower())
        try:
            facts = infer_node(self.module, made)
        except DiagnosticError as error:
            raise Rejected(error.diagnostics[0].message) from None
        for value, fact in zip(made.outputs, facts, strict=True):
            if fact.shape is None or fact.dtype is None:
                raise Rejected(f"nothing is known of the result of {op}")
            sizes = [d for d in fact.shape if isinstance(d, int)]
            if len(sizes) != len(fact.shape) or int(np.prod(sizes, dtype=np.int64)) > _MAX_ELEMENTS:
                raise Rejected(f"the result of {op} is too large, or not of a known size")
            if any(size == 0 for size in sizes):
                raise Rejected(f"the result of {op} is empty")
            self.module.facts[value] = fact
            value.type = oir.TensorType(fact.dtype)
            value.shape = oir.Shape(sizes)
        self.instance.nodes.append(made)
        return list(made.outputs)

    def _check(self, op: str, inputs: Sequence[oir.Value | None], known: Schema) -> None:
        if len([v for v in inputs if v is not None]) < known.least:
            raise Rejected(f"{op} lacks an input")
        first = inputs[0] if inputs else None
        if op == "RotaryEmbedding" and first is not None:
            shape = self.shape(first)
            if len(shape) == 4 and shape[-1] % 2:
                raise Rejected("a rotary embedding turns pairs")  # ONNX Runtime leaves the last element unwritten
        variables: dict[str, str] = {}
        for at, value in enumerate(inputs):
            if value is None or not known.types:
                continue
            kind = known.types[min(at, len(known.types) - 1)]
            name = TYPE_NAMES.get(self.dtype(value))
            allowed = known.constraints.get(kind)
            if name is None or (name != kind if allowed is None else name not in allowed):
                raise Rejected(f"{op} takes no {name}")
            if allowed is not None and variables.setdefault(kind, name) != name:
                raise Rejected(f"{op} wants equal dtypes")


__all__ = ["TYPE_NAMES", "Instance", "Writer", "empty_module"]
