"""One node as an inference rule sees it, and the table of the rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, TypeAlias, TypeGuard

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.ir import dims
from trtc.ir.dims import Dim
from trtc.ir.infer.fact import UNKNOWN, Fact

Shape: TypeAlias = tuple[Dim, ...]


class Host(Protocol):
    """What inference needs of `trtc.ir.module.Module`; the inside of a function call has it too."""

    facts: dict[oir.Value, Fact]

    @property
    def model(self) -> oir.Model: ...

    @property
    def path(self) -> Any: ...

    def constant(self, value: oir.Value | None) -> np.ndarray[Any, Any] | None: ...


class Op:
    """A node, the facts of its inputs, and typed access to its attributes.

    An input that is omitted or not there has the fact `UNKNOWN`; an attribute of the wrong type is T0622.
    """

    __slots__ = ("_attributes", "facts", "host", "node")

    def __init__(self, host: Host, node: oir.Node, facts: list[Fact]) -> None:
        self.host = host
        self.node = node
        self.facts = facts
        self._attributes = node.attributes

    # Inputs

    def has(self, at: int) -> bool:
        inputs = self.node.inputs
        return at < len(inputs) and inputs[at] is not None

    def fact(self, at: int) -> Fact:
        return self.facts[at] if at < len(self.facts) else UNKNOWN

    def dtype(self, at: int) -> oir.DataType | None:
        return self.fact(at).dtype

    def shape(self, at: int) -> Shape | None:
        return self.fact(at).shape

    def value(self, at: int) -> Shape | None:
        return self.fact(at).value

    def array(self, at: int) -> np.ndarray[Any, Any] | None:
        """The constant at an input, None when it is not one."""
        inputs = self.node.inputs
        return self.host.constant(inputs[at]) if at < len(inputs) else None

    def numbers(self, at: int) -> tuple[int, ...] | None:
        """The elements of a small integer tensor when all are known numbers."""
        value = self.fact(at).value
        return None if value is None or not static(value) else value

    def number(self, at: int) -> int | None:
        numbers = self.numbers(at)
        return numbers[0] if numbers is not None and len(numbers) == 1 else None

    def elements(self, at: int, limit: int = 64) -> Shape | None:
        """The elements of an integer tensor of at most `limit` of them; those not known are signed unknowns, named
        after the value so that a second use is the same number."""
        fact = self.fact(at)
        if fact.value is not None:
            return fact.value
        shape, value = fact.shape, self.node.inputs[at] if at < len(self.node.inputs) else None
        if shape is None or value is None or not static(shape):
            return None
        count = math.prod(shape)
        if count > limit:
            return None
        prefix = getattr(self.host, "prefix", "")
        return tuple(dims.unknown(f"{prefix}{value.name}[{i}]", signed=True) for i in range(count))

    # Attributes

    def int(self, name: str, default: int | None = None) -> Any:
        return self._get(name, oir.AttributeType.INT, default)

    def ints(self, name: str, default: Any = None) -> Any:
        return self._get(name, oir.AttributeType.INTS, default)

    def float(self, name: str, default: float | None = None) -> Any:
        return self._get(name, oir.AttributeType.FLOAT, default)

    def str(self, name: str, default: str | None = None) -> Any:
        return self._get(name, oir.AttributeType.STRING, default)

    def graph(self, name: str) -> oir.Graph:
        found = self._get(name, oir.AttributeType.GRAPH, None)
        if found is None:
            self.fail("T0618", f"{self.label} has no body", f"attribute `{name}` must be a graph")
        return found

    def attribute(self, name: str) -> oir.Attr | None:
        """The attribute of whatever type; a reference to an attribute of the function is resolved."""
        found = self._attributes.get(name)
        if found is not None and found.is_ref():
            bound: dict[str, oir.Attr] = getattr(self.host, "attributes", {})
            return bound.get(found.ref_attr_name or "")
        return found

    def _get(self, name: str, kind: oir.AttributeType, default: Any) -> Any:
        found = self._attributes.get(name)
        if found is None:
            return default
        if found.is_ref():
            found = self.attribute(name)
            if found is None:
                return default
        if found.type != kind:
            self.fail("T0622", f"attribute `{name}` of {self.label} is {found.type}", f"it must be {kind}")
        return found.value

    def data_type(self, name: str, default: int | None = None) -> oir.DataType | None:
        """An attribute that holds an element type; 0 is absent."""
        number = self.int(name, default)
        if not number:
            return None
        if number not in _DATA_TYPES:
            self.fail("T0622", f"attribute `{name}` of {self.label} is {number}", "no element type has that number")
        return oir.DataType(number)

    # Outputs

    @property
    def outputs(self) -> int:
        return len(self.node.outputs)

    def unknown(self, axis: int, output: int = 0) -> Dim:
        """A dim of an output that nothing is known of."""
        outputs = self.node.outputs
        name = outputs[output].name if output < len(outputs) else self.node.name
        return dims.unknown(f"{getattr(self.host, 'prefix', '')}{name}_{axis}")

    def unknowns(self, rank: int, output: int = 0) -> Shape:
        return tuple(self.unknown(axis, output) for axis in range(rank))

    # Checks

    @property
    def label(self) -> str:
        return f"{self.node.op_type} `{self.node.name}`"

    def fail(self, code: str, message: str, *notes: str, help: str | None = None) -> NoReturn:
        path = self.host.path
        raise DiagnosticError(
            Diagnostic(
                code=code,
                message=message,
                node=self.node.name,
                file=None if path is None else str(path),
                notes=(*notes, *self._input_notes()),
                help=help,
            )
        )

    def _input_notes(self) -> list[str]:
        return [
            f"input {at} `{value.name}` is {show(self.fact(at))}"
            for at, value in enumerate(self.node.inputs)
            if value is not None
        ]

    def axis(self, name: str, rank: int | None, default: int | None = None) -> int | None:
        """A non-negative axis from an attribute; None when it is negative and the rank is not known."""
        number = self.int(name, default)
        if number is None:
            self.fail("T0618", f"{self.label} has no `{name}`", f"attribute `{name}` is required")
        return self.normal(number, rank)

    def normal(self, axis: int, rank: int | None, *, end: bool = False) -> int | None:
        """An axis counted from the front. T0612 when it is out of range; `end`: the rank itself is in range."""
        if rank is None:
            return axis if axis >= 0 else None
        last = rank if end else rank - 1
        if not -rank <= axis <= last:
            self.fail("T0612", f"axis {axis} of {self.label} is out of range", f"expected {-rank} to {last}")
        return axis + rank if axis < 0 else axis

    def rank(self, at: int, least: int, most: int | None = None) -> None:
        """T0617 when the rank of an input is known and outside of the range."""
        shape = self.shape(at)
        if shape is not None and not least <= len(shape) <= (len(shape) if most is None else most):
            wanted = f"{least}" if most == least else f"at least {least}" if most is None else f"{least} to {most}"
            self.fail("T0617", f"input {at} of {self.label} has rank {len(shape)}", f"expected rank {wanted}")

    def same_dtype(self, *ats: int) -> oir.DataType | None:
        """The dtype that the inputs share, None when none is known. T0611 when two differ."""
        found: oir.DataType | None = None
        for at in ats or range(len(self.facts)):
            dtype = self.dtype(at)
            if dtype is None:
                continue
            if found is None:
                found = dtype
            elif found != dtype:
                self.fail(
                    "T0611",
                    f"{self.label} mixes {name_of(found)} and {name_of(dtype)}",
                    "these inputs must have one dtype",
                    help="put a Cast before one of the inputs",
                )
        return found


_DATA_TYPES = frozenset(int(t) for t in oir.DataType)


def static(shape: Sequence[Dim]) -> TypeGuard[tuple[int, ...]]:
    """Whether all are numbers."""
    return all(isinstance(d, int) for d in shape)


def name_of(dtype: oir.DataType | None) -> str:
    return "?" if dtype is None else dtype.name.lower()


def show_shape(shape: Shape | None) -> str:
    return "[?]" if shape is None else f"[{', '.join(dims.text(d) for d in shape)}]"


def show(fact: Fact) -> str:
    inner = f"{name_of(fact.dtype)}{show_shape(fact.shape)}"
    return inner if fact.kind == "tensor" else f"{fact.kind} of {inner}"


Rule: TypeAlias = Callable[[Op], "Fact | list[Fact]"]

RULES: dict[tuple[str, str], tuple[Rule, int]] = {}
"""(domain, op_type) -> the rule and how many first inputs the operator cannot do without."""


def rule(*names: str, inputs: int = 1, domain: str = "") -> Callable[[Rule], Rule]:
    """Registers a function as the rule of the operators named."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[domain, name] = function, inputs
        return function

    return register
