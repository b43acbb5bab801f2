"""What passes ask of a node: its attributes, its subgraphs, whether it gives the same result every time."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as oir

    from trtc.ir.module import Module

#: Operators whose result is another one each time.
RANDOM = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
)

#: Contrib operators that draw random numbers contain one of these words.
_RANDOM_WORDS = ("Random", "Dropout", "Sampling", "Bernoulli", "Multinomial")


def integer(node: oir.Node, name: str, default: int) -> int:
    """An attribute of type INT; `default` where it is absent or refers to an attribute of the function around it."""
    attr = node.attributes.get(name)
    return default if attr is None or attr.is_ref() else attr.as_int()


def real(node: oir.Node, name: str, default: float) -> float:
    attr = node.attributes.get(name)
    return default if attr is None or attr.is_ref() else attr.as_float()


def integers(node: oir.Node, name: str) -> tuple[int, ...] | None:
    attr = node.attributes.get(name)
    return None if attr is None or attr.is_ref() else tuple(attr.as_ints())


def text(node: oir.Node, name: str, default: str) -> str:
    attr = node.attributes.get(name)
    return default if attr is None or attr.is_ref() else attr.as_string()


def given(node: oir.Node, index: int) -> oir.Value | None:
    """Input `index`, None where it is omitted."""
    return node.inputs[index] if index < len(node.inputs) else None


def used(value: oir.Value) -> bool:
    """Whether a node (of a subgraph too) or the interface of a graph uses the value."""
    return value.is_graph_output() or bool(value.uses())


def only_user(value: oir.Value) -> oir.Node | None:
    """The node that alone uses the value, once; None when there are others or the value is an output of a graph."""
    uses = value.uses()
    if len(uses) != 1 or value.is_graph_output():
        return None
    return next(iter(uses)).node


def is_call(module: Module, node: oir.Node) -> bool:
    """Whether the node calls a function of the model. The key is domain, name and overload: never the name alone."""
    return bool(module.model.functions) and node.op_identifier() in module.model.functions


def deterministic(module: Module, node: oir.Node, known: dict[tuple[str, str, str], bool] | None = None) -> bool:
    """Whether equal inputs give equal outputs every time. Operators that nobody knows count as random.

    `known` remembers functions from one call to the next: each body is looked at once.
    """
    if is_call(module, node):
        known = {} if known is None else known
        key = node.op_identifier()
        if key not in known:
            body = module.model.functions[key]
            known[key] = all(deterministic(module, inner, known) for inner in body.all_nodes())
        return known[key]
    if node.domain == "com.microsoft":
        return not any(word in node.op_type for word in _RANDOM_WORDS)
    if node.domain != "" or node.op_type in RANDOM:
        return False
    if node.op_type == "Dropout":
        return not trains(module, node)
    return True


def trains(module: Module, node: oir.Node) -> bool:
    """Whether a Dropout or BatchNormalization may be in training mode."""
    if node.op_type == "BatchNormalization":
        return integer(node, "training_mode", 0) != 0
    mode = given(node, 2)
    if mode is None:
        return False
    constant = module.constant(mode)
    return constant is None or bool(constant.any())


def filled_with(array: np.ndarray | None, number: float) -> bool:
    """Whether every element is exactly `number` (a zero of either sign is 0.0). An empty array is not."""
    if array is None or array.size == 0 or array.dtype.kind in "SUO":
        return False
    # The first element settles it for nearly every weight.
    return bool(array.flat[0] == number) and bool((array == number).all())


def same_shape(module: Module, a: oir.Value, b: oir.Value) -> bool:
    """Whether the shapes are known to be equal for every input of the model."""
    one, other = module.shape(a), module.shape(b)
    return one is not None and one == other
