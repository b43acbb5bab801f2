"""Whether a merge of siblings is worth it.

The structural cost counts elements moved. What a merge saves is that the shared input is read once and not N times.
What it may add are copies: a result that is a slice of a wider tensor is read in place by pointwise operations,
convolutions, matrix products, reductions and transposes, but has to be copied to be an output of the model, and a
convolution that would have taken the Relu or the Add behind it into its own kernel does not any more.

A measured cost is another `Cost`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from trtc.ir import dims
from trtc.lang.identity import LIBRARIES, PREFIX

if TYPE_CHECKING:
    import onnx_ir as oir

    from trtc.ir.module import Module


class Cost(Protocol):
    """Judges a group before it is merged."""

    def declines(
        self,
        module: Module,
        over: oir.Value,
        results: Sequence[oir.Value],
        nodes: Sequence[Sequence[oir.Node]],
    ) -> str | None:
        """Why a group stays as it is; None when it is to be merged. `nodes`: those of each member, result first."""
        ...


#: Chains of views that are looked through.
_VIEWS: Final = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
#: A size that nothing is known of.
_UNKNOWN: Final = 8
#: Operators of a model that need their input as a tensor of its own.
_COPIES: Final = frozenset({"Concat", "If", "Loop", "Scan", "ScatterND", "ScatterElements", "GatherND", "Identity"})
#: What a convolution takes into its own kernel.
_EPILOGUES: Final = frozenset({"Relu", "Clip", "Add", "LeakyRelu"})


@dataclass(frozen=True, slots=True)
class Structural:
    """Elements moved, at the middle of the declared ranges."""

    def declines(
        self,
        module: Module,
        over: oir.Value,
        results: Sequence[oir.Value],
        nodes: Sequence[Sequence[oir.Node]],
    ) -> str | None:
        saved = (len(results) - 1) * elements(module, over)
        copied = 0
        for result, of_member in zip(results, nodes, strict=True):
            if _copied(result) or (of_member[0].op_type == "Conv" and _epilogue(result)):
                copied += 2 * elements(module, result)
        if copied <= saved:
            return None
        return f"it would save reading {saved} elements and add copies that move {copied}"


def elements(module: Module, value: oir.Value) -> int:
    """The number of elements, every symbol in the middle of its range."""
    count = 1
    for dim in module.shape(value) or ():
        if isinstance(dim, int):
            count *= dim
            continue
        named: dict[str, int] = {}
        for name in dims.symbols(dim):
            low, high = module.symbols.get(name, (_UNKNOWN, _UNKNOWN))
            named[name] = (low + high) // 2
        try:
            count *= max(int(dims.evaluate(dim, named)), 1)
        except (KeyError, ValueError, ZeroDivisionError):
            count *= _UNKNOWN
    return count


def _users(value: oir.Value) -> Iterator[oir.Node | None]:
    """Nodes that use a value, seen through views; None for the graph around."""
    waiting, seen = [value], {value}
    while waiting:
        one = waiting.pop()
        if one.is_graph_output():
            yield None
        for use in one.uses():
            if use.node.op_type in _VIEWS and not use.node.domain:
                out = use.node.outputs[0]
                if out not in seen:
                    seen.add(out)
                    waiting.append(out)
            else:
                yield use.node


def _copied(result: oir.Value) -> bool:
    return any(user is None or not _known(user) or user.op_type in _COPIES for user in _users(result))


def _known(node: oir.Node) -> bool:
    """Whether what a node is says what it does with its inputs. Operators of a spec's own are a few nodes of ONNX."""
    return node.domain == "" or node.domain.startswith((PREFIX, LIBRARIES))


def _epilogue(result: oir.Value) -> bool:
    users = [u for u in _users(result) if u is None or u.op_type not in ("Shape", "Size")]
    return len(users) == 1 and users[0] is not None and users[0].op_type in _EPILOGUES


STRUCTURAL: Final = Structural()

__all__ = ["STRUCTURAL", "Cost", "Structural", "elements"]
