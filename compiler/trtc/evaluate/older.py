"""Models restated for an ONNX Runtime that does not run them, or runs them wrongly.

ONNX Runtime is what every proof rests on, from 1.23 on. What its older versions get wrong must not be blamed on the
model or on the compiler, so a session restates these few nodes in others that mean the same by the text of ONNX:

- `AveragePool` of opset 19 and later with `count_include_pad` takes the end of the wrong axis as the end of the
  padding, unless all pads are equal: it becomes a `Conv` by a constant. (Not with `ceil_mode`, which `Conv` lacks.)
- a reduction with `noop_with_empty_axes` and no axes fails: it reduces an axis of length one instead.
- `ReverseSequence` of a length of zero leaves its output unwritten: a sequence of one reversed is the same.
- `Attention` with fewer heads of keys than of queries gives each query the wrong ones, or memory that it does not own:
  keys and values are repeated before it. (Not with a past: that of a causal one stays as ONNX Runtime has it.)
- `Attention` takes a mask of the lowest finite number for one of -inf: a query all of whose keys have it gets zeros,
  where ONNX gives it the mean of the values. That number becomes one a little nearer to zero. (All versions.)
- `GroupNormalization` (from opset 21 on) is run as the function that ONNX gives for it, whose variance is the mean of
  the squares less the square of the mean: of values far from zero that leaves nothing. The instances of a reshaped
  tensor are normalized instead, by the kernel that takes the mean off first.
- `QuantizeLinear` of opset 23 has no kernel at all in 1.23: the model is given opset 21, or that node the operator
  of the same name that ONNX Runtime has of its own.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnx

#: What no version runs well.
_NEVER = (1 << 30, 0)
#: The first ONNX Runtime that runs what is listed here correctly, each by a word that every model with it contains.
_REPAIRED = {
    b"count_include_pad": (1, 25),
    b"noop_with_empty_axes": (1, 24),
    b"Attention": _NEVER,
    b"ReverseSequence": (1, 28),
    b"GroupNormalization": _NEVER,
}
#: The first ONNX Runtime that gives each query its own head of keys.
_HEADS_SINCE = (1, 24)

#: The lowest finite number of each type that a mask may add, by the number of the type in ONNX.
_LOWEST = {1: -3.4028234663852886e38, 10: -65504.0, 11: -1.7976931348623157e308, 16: -3.3895313892515355e38}

#: Operators that opset 23 added. Of the others, opsets 22 and 23 only widened the types, and added two attributes.
_ADDED_BY_23 = frozenset({"Attention", "RMSNormalization", "RotaryEmbedding"})
_ATTRIBUTES_OF_23 = {"QuantizeLinear": "precision", "DequantizeLinear": "output_dtype"}


def version(text: str) -> tuple[int, int]:
    """(1, 23) of "1.23.0"."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def repaired(model: Path | str | bytes, runtime: tuple[int, int]) -> bytes | None:
    """The model with the nodes restated that this ONNX Runtime gets wrong; None when there are none.

    Weights in other files stay where they are: their places are relative to the folder of the model.
    """
    words = [word for word, since in _REPAIRED.items() if runtime < since]
    if not any(_contains(model, word) for word in words):
        return None
    proto = _read(model)
    changed = False
    dtypes = _dtypes(proto) if b"Attention" in words else {}
    for nodes, opset in _bodies(proto):
        before = list(nodes)
        after: list[onnx.NodeProto] = []
        for at, node in enumerate(before):
            name = f"{node.output[0] or node.op_type}/trtc{at}"
            if node.op_type == "Attention" and node.domain in ("", "ai.onnx"):
                after += _mask(node, name, dtypes)
                if runtime >= _HEADS_SINCE:
                    after.append(node)
                    continue
            repair = _repair(node)
            after += repair(node, name, opset) if repair is not None else [node]
        if len(after) != len(before):
            del nodes[:]
            nodes.extend(after)
            changed = True
    return proto.SerializeToString() if changed else None


def without_gaps(model: Path | str | bytes) -> bytes | None:
    """A model that has no kernel for some node of opset 22 or 23, in an opset that has; None where nothing helps."""
    proto = _read(model)
    nodes = [node for body, _ in _bodies(proto) for node in body if node.domain in ("", "ai.onnx")]
    imports = [entry for owner in (proto, *proto.functions) for entry in owner.opset_import if not entry.domain]
    if any(entry.version > 23 for entry in imports):
        return None
    if all(node.op_type not in _ADDED_BY_23 and not _has_attribute_of_23(node) for node in nodes):
        for node in nodes:
            kept = [a for a in node.attribute if a.name != _ATTRIBUTES_OF_23.get(node.op_type)]
            del node.attribute[:]
            node.attribute.extend(kept)
        for entry in imports:
            entry.version = min(entry.version, 21)
        return proto.SerializeToString()
    changed = False
    for node in nodes:
        if node.op_type == "QuantizeLinear" and _fits_contrib(node):
            axis = _integer(node, "axis", 1)
            del node.attribute[:]
            node.attribute.append(_helper().make_attribute("axis", axis))
            node.domain = "com.microsoft"
            changed = True
    if not changed:
        return None
    for owner in (proto, *proto.functions):
        if all(entry.domain != "com.microsoft" for entry in owner.opset_import):
            owner.opset_import.append(_helper().make_opsetid("com.microsoft", 1))
    return proto.SerializeToString()


def _contains(model: Path | str | bytes, word: bytes) -> bool:
    if isinstance(model, bytes):
        return word in model
    with open(model, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return view.find(word) >= 0


def _read(model: Path | str | bytes) -> Any:
    import onnx

    return (
        onnx.ModelProto.FromString(model)
        if isinstance(model, bytes)
        else onnx.load(str(model), load_external_data=False)
    )


def _helper() -> Any:
    import onnx.helper

    return onnx.helper


def _bodies(proto: Any) -> list[tuple[Any, int]]:
    """(nodes, opset) of the graph, its subgraphs and the functions; subgraphs before the body that holds them, which
    copies its nodes when it changes."""
    found = [(proto.graph.node, _opset(proto)), *((f.node, _opset(f)) for f in proto.functions)]
    for nodes, opset in found:  # grows as it is walked
        for node in nodes:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    found.append((attribute.g.node, opset))
                found += [(graph.node, opset) for graph in attribute.graphs]
    return found[::-1]


def _opset(owner: Any) -> int:
    return next((entry.version for entry in owner.opset_import if entry.domain in ("", "ai.onnx")), 1)


def _attribute(node: Any, name: str) -> Any:
    return next((a for a in node.attribute if a.name == name), None)


def _integer(node: Any, name: str, default: int = 0) -> int:
    found = _attribute(node, name)
    return default if found is None else int(found.i)


def _has_attribute_of_23(node: Any) -> bool:
    name = _ATTRIBUTES_OF_23.get(node.op_type)
    return name is not None and _integer(node, name) != 0


def _fits_contrib(node: Any) -> bool:
    typed = len(node.input) > 2 and bool(node.input[2])
    return (
        not _integer(node, "block_size")
        and not _has_attribute_of_23(node)
        and (typed or not _integer(node, "output_dtype"))
    )


_Repair = Callable[[Any, str, int], "list[onnx.NodeProto]"]


def _repair(node: Any) -> _Repair | None:
    if node.domain not in ("", "ai.onnx") or any(a.ref_attr_name for a in node.attribute):
        return None
    if node.op_type == "AveragePool":
        return _average
    if node.op_type == "ReverseSequence":
        return _reverse
    if node.op_type == "Attention":
        return _attention
    if node.op_type == "GroupNormalization":
        return _group
    return _reduce if node.op_type.startswith("Reduce") else None


def _average(node: Any, name: str, opset: int) -> list[Any]:
    pads = _attribute(node, "pads")
    automatic = _attribute(node, "auto_pad")
    same = automatic is not None and automatic.s.startswith(b"SAME")
    uneven = pads is not None and len(set(pads.ints)) > 1
    if opset < 19 or not _integer(node, "count_include_pad") or _integer(node, "ceil_mode") or not (same or uneven):
        return [node]
    helper, kernel = _helper(), list(_attribute(node, "kernel_shape").ints)
    kept = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    for gone in ("count_include_pad", "ceil_mode", *(("pads",) if same else ())):
        kept.pop(gone, None)
    x, y = node.input[0], node.output[0]
    weight = helper.make_tensor("", 1, [1, 1, *kernel], [1 / prod(kernel)] * prod(kernel))
    flat = helper.make_tensor("", 7, [2 + len(kernel)], [-1, 1, *(0 for _ in kernel)])
    return [
        helper.make_node("Constant", [], [f"{name}/w"], value=weight),
        helper.make_node("Constant", [], [f"{name}/to"], value=flat),
        helper.make_node("Reshape", [x, f"{name}/to"], [f"{name}/flat"]),
        helper.make_node("Conv", [f"{name}/flat", f"{name}/w"], [f"{name}/y"], **kept),
        helper.make_node("Shape", [x], [f"{name}/front"], end=2),
        helper.make_node("Shape", [f"{name}/y"], [f"{name}/back"], start=2),
        helper.make_node("Concat", [f"{name}/front", f"{name}/back"], [f"{name}/shape"], axis=0),
        helper.make_node("Reshape", [f"{name}/y", f"{name}/shape"], [y]),
    ]


def _reduce(node: Any, name: str, opset: int) -> list[Any]:
    if not _integer(node, "noop_with_empty_axes") or any(node.input[1:]):
        return [node]
    helper = _helper()
    axes = helper.make_tensor("", 7, [1], [0])
    return [
        helper.make_node("Constant", [], [f"{name}/axes"], value=axes),
        helper.make_node("Unsqueeze", [node.input[0], f"{name}/axes"], [f"{name}/x"]),
        helper.make_node(node.op_type, [f"{name}/x", f"{name}/axes"], node.output, keepdims=0),
    ]


def _reverse(node: Any, name: str, opset: int) -> list[Any]:
    if opset < 12:  # Max takes no int64 before
        return [node]
    helper = _helper()
    inputs: Sequence[str] = [node.input[0], f"{name}/lengths"]
    kept = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return [
        helper.make_node("Constant", [], [f"{name}/one"], value=helper.make_tensor("", 7, [1], [1])),
        helper.make_node("Max", [node.input[1], f"{name}/one"], [f"{name}/lengths"]),
        helper.make_node("ReverseSequence", inputs, node.output, **kept),
    ]


def _group(node: Any, name: str, opset: int) -> list[Any]:
    if opset < 21 or _integer(node, "stash_type", 1) != 1:
        return [node]
    helper, groups = _helper(), _integer(node, "num_groups")
    x, scale, bias = node.input
    epsilon = _attribute(node, "epsilon")
    made: list[Any] = []

    def add(op: str, inputs: list[str], suffix: str, **attributes: Any) -> str:
        made.append(helper.make_node(op, inputs, [f"{name}/{suffix}"], **attributes))
        return f"{name}/{suffix}"

    def constant(suffix: str, dtype: int, values: list[Any]) -> str:
        return add("Constant", [], suffix, value=helper.make_tensor("", dtype, [len(values)], values))

    grouped = add("Reshape", [add("Cast", [x], "wide", to=1), constant("groups", 7, [0, groups, -1])], "grouped")
    ones, zeros = constant("ones", 1, [1.0] * groups), constant("zeros", 1, [0.0] * groups)
    kept = {} if epsilon is None else {"epsilon": epsilon.f}
    unit = add("CastLike", [add("InstanceNormalization", [grouped, ones, zeros], "unit", **kept), x], "narrow")
    channels = add(
        "Concat",
        [constant("batch", 7, [0]), add("Shape", [scale], "size"), constant("rest", 7, [-1])],
        "channels",
        axis=0,
    )
    flat, axis = add("Reshape", [unit, channels], "flat"), constant("axis", 7, [1])
    scaled = add("Mul", [flat, add("Unsqueeze", [scale, axis], "scale")], "scaled")
    shifted = add("Add", [scaled, add("Unsqueeze", [bias, axis], "bias")], "shifted")
    made.append(helper.make_node("Reshape", [shifted, add("Shape", [x], "shape")], node.output))
    return made


def _dtypes(proto: Any) -> dict[str, int]:
    """The types of values as the model's graphs state them, by name."""
    found: dict[str, int] = {}
    graphs = [proto.graph]
    for graph in graphs:  # grows as it is walked
        for value in (*graph.input, *graph.value_info, *graph.output):
            found[value.name] = value.type.tensor_type.elem_type
        found |= {tensor.name: tensor.data_type for tensor in graph.initializer}
        for node in graph.node:
            for attribute in node.attribute:
                graphs += [*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs]
    return found


def _mask(node: Any, name: str, dtypes: dict[str, int]) -> list[Any]:
    """What comes before an Attention whose mask adds numbers; its mask is another one then."""
    dtype = dtypes.get(node.input[3], 0) if len(node.input) > 3 else 0
    if dtype not in _LOWEST:
        return []
    helper, mask, lowest = _helper(), node.input[3], _LOWEST[dtype]
    node.input[3] = f"{name}/mask"
    return [
        helper.make_node("Constant", [], [f"{name}/lowest"], value=helper.make_tensor("", dtype, [], [lowest])),
        helper.make_node("Constant", [], [f"{name}/low"], value=helper.make_tensor("", dtype, [], [lowest * 0.984375])),
        helper.make_node("Equal", [mask, f"{name}/lowest"], [f"{name}/hidden"]),
        helper.make_node("Where", [f"{name}/hidden", f"{name}/low", mask], [f"{name}/mask"]),
    ]


def _attention(node: Any, name: str, opset: int) -> list[Any]:
    heads = (_integer(node, "q_num_heads"), _integer(node, "kv_num_heads"))
    if any(node.input[4:]) or any(node.output[1:]) or (heads[0] and heads[0] == heads[1]):
        return [node]
    helper = _helper()
    made: list[Any] = []

    def add(op: str, inputs: list[str], suffix: str, **attributes: Any) -> str:
        made.append(helper.make_node(op, inputs, [f"{name}/{suffix}"], **attributes))
        return f"{name}/{suffix}"

    def integers(suffix: str, *values: int) -> str:
        return add("Constant", [], suffix, value=helper.make_tensor("", 7, [len(values)], values))

    q, *pair = node.input[:3]
    full: list[str] = []
    # The place of an axis for the copies of a head, and how often each stands in it.
    if heads[0]:
        times = integers("times", 1, 1, 1, heads[0] // heads[1], 1)
    else:
        counts = [add("Shape", [of], f"heads{at}", start=1, end=2) for at, of in enumerate((q, pair[0]))]
        ones = (integers("one2", 1, 1), integers("ones", 1, 1))
        times = add("Concat", [ones[0], add("Div", counts, "factor"), ones[1]], "times", axis=0)
    for at, value in enumerate(pair):
        if heads[0]:
            split = add("Reshape", [value, integers(f"split{at}", 0, 0, heads[1], 1, -1)], f"apart{at}")
            shape = integers(f"shape{at}", 0, 0, -1)
        else:
            split = add("Unsqueeze", [value, integers(f"axis{at}", 2)], f"apart{at}")
            front = add("Shape", [value], f"front{at}", start=0, end=1)
            back = add("Shape", [value], f"back{at}", start=2)
            shape = add("Concat", [front, integers(f"all{at}", -1), back], f"shape{at}", axis=0)
        full.append(add("Reshape", [add("Tile", [split, times], f"copies{at}"), shape], f"full{at}"))
    kept = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if heads[0]:
        kept["kv_num_heads"] = heads[0]
    made.append(helper.make_node("Attention", [q, *full, *node.input[3:]], node.output, **kept))
    return made
