"""What is said of a node, a value and a constant, in a line."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import DiagnosticError, escape
from trtc.ir import provenance
from trtc.ir.module import Module, constant_tensor

#: Elements of a constant that are shown instead of its shape.
_SHOWN = 4
#: Constant operands that are shown in a box.
_OPERANDS = 6
#: Attributes that say most of an operator, with the word for each.
_ATTRIBUTES = {
    "kernel_shape": "kernel",
    "strides": "stride",
    "group": "group",
    "perm": "perm",
    "axis": "axis",
    "axes": "axes",
    "to": "to",
    "equation": "",
    "epsilon": "ε",
    "alpha": "alpha",
    "beta": "beta",
    "transA": "transA",
    "transB": "transB",
    "num_heads": "heads",
    "q_num_heads": "heads",
}
_QUIET: dict[str, object] = {"group": 1, "transA": 0, "transB": 0, "alpha": 1.0, "beta": 1.0}


def short(text: str, width: int = 60) -> str:
    """`text`, its middle left out where it is longer than `width` characters."""
    if len(text) <= width:
        return text
    head = (width - 1) // 2
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def value_type(module: Module, value: oir.Value) -> str:
    """`float[N,64,112,112]`, as inferred or else as the model says; `?` when nothing is known."""
    from trtc.ir import dims

    try:
        fact = module.fact(value)
    except DiagnosticError:
        # A drawing of a broken model shows what the model says of itself.
        if value.dtype is None:
            return "?"
        known = value.shape
        return _typed(value.dtype.name.lower(), None if known is None else [_recorded_dim(d) for d in known])
    dtype = "?" if fact.dtype is None else fact.dtype.name.lower()
    return _typed(dtype, None if fact.shape is None else [dims.text(d) for d in fact.shape])


def _typed(dtype: str, shape: list[str] | None) -> str:
    if shape is None:
        return dtype if dtype == "?" else f"{dtype}[...]"
    return escape(f"{dtype}[{','.join(shape)}]" if shape else dtype)


def _recorded_dim(dim: int | oir.SymbolicDim) -> str:
    if isinstance(dim, int):
        return str(dim)
    return "?" if dim.value is None else str(dim.value)


def operand_lines(module: Module, node: oir.Node) -> Iterator[str]:
    """A line for each constant operand: its formal name and its shape, or its elements where they are few."""
    constants = [(at, v) for at, v in enumerate(node.inputs) if v is not None and constant_tensor(v) is not None]
    for found, (at, value) in enumerate(constants):
        if found == _OPERANDS:
            yield f"… {len(constants) - found} more"
            return
        tensor = constant_tensor(value)
        assert tensor is not None
        yield f"{formal_name(node, at)} {tensor_text(tensor)}"


def tensor_text(tensor: oir.TensorProtocol) -> str:
    """`64×3×7×7`, or `= 0.5`, `= [1, -1]` for a few elements."""
    dims = tensor.shape.numpy()
    if tensor.size > _SHOWN or tensor.size == 0 or tensor.dtype == oir.DataType.STRING:
        return "×".join(map(str, dims)) or "scalar"
    flat = np.asarray(tensor.numpy()).ravel()
    texts = [_number(x) for x in flat]
    return f"= {texts[0]}" if not dims else f"= [{', '.join(texts)}]"


def _number(value: Any) -> str:
    if value.dtype == np.bool_:
        return "true" if value else "false"
    if np.issubdtype(value.dtype, np.integer):
        return str(value)
    if np.issubdtype(value.dtype, np.complexfloating):
        return f"{complex(value):.4g}"
    return f"{float(value):.4g}"


@functools.cache
def _formal_names(domain: str, op_type: str, version: int) -> tuple[tuple[str, ...], bool]:
    """Names of the inputs in the standard, and whether the last repeats."""
    import onnx.defs

    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return (), False
    last = bool(schema.inputs) and schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return tuple(i.name for i in schema.inputs), last


def formal_name(node: oir.Node, at: int) -> str:
    """What the standard calls input number `at` of the operator, else `input 2`."""
    version = node.version or 23
    names, variadic = _formal_names("" if node.domain == "ai.onnx" else node.domain, node.op_type, version)
    if at < len(names) - variadic:
        return names[at]
    return f"{names[-1]}[{at - len(names) + 1}]" if variadic else f"input {at}"


def attribute_line(node: oir.Node) -> str:
    """The few attributes that tell two operators of a type apart: `kernel 3×3 · stride 2×2`."""
    parts: list[str] = []
    for name, word in _ATTRIBUTES.items():
        attr = node.attributes.get(name)
        if attr is None or attr.is_ref() or attr.value is None:
            continue
        value = attr.value
        if name in _QUIET and value == _QUIET[name]:
            continue
        if name == "strides" and all(x == 1 for x in attr.as_ints()):
            continue
        if name == "to":
            text = oir.DataType(attr.as_int()).name.lower()
        elif attr.type == oir.AttributeType.INTS:
            joint = "×" if name in ("kernel_shape", "strides") else ", "
            text = joint.join(map(str, attr.as_ints()))
        elif attr.type == oir.AttributeType.FLOAT:
            text = f"{attr.as_float():.4g}"
        elif attr.type in (oir.AttributeType.INT, oir.AttributeType.STRING):
            text = escape(str(value))
        else:
            continue
        parts.append(f"{word} {text}".strip())
    return short(" · ".join(parts), 44)


def attribute_text(attr: oir.Attr) -> str:
    """Name and value of any attribute on one line."""
    if attr.is_ref():
        return f"{attr.name} = @{attr.ref_attr_name}"
    if attr.type == oir.AttributeType.GRAPH:
        text = f"graph of {len(attr.as_graph())} nodes"
    elif attr.type == oir.AttributeType.GRAPHS:
        text = f"{len(attr.as_graphs())} graphs"
    elif attr.type == oir.AttributeType.TENSOR:
        tensor = attr.as_tensor()
        text = f"{tensor.dtype.name.lower()} {tensor_text(tensor)}"
    elif attr.type in (oir.AttributeType.INTS, oir.AttributeType.FLOATS, oir.AttributeType.STRINGS):
        text = "[" + ", ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in attr.value) + "]"
    elif attr.type == oir.AttributeType.FLOAT:
        text = f"{attr.as_float():.6g}"
    else:
        text = str(attr.value)
    return escape(f"{attr.name} = {short(text, 80)}")


def tooltip(module: Module, node: oir.Node) -> str:
    """Everything about a node that its box has no room for, in lines."""
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    lines = [f"{node.name or '(no name)'}", operator]
    lines += [attribute_text(attr) for attr in node.attributes.values()]
    for at, value in enumerate(node.inputs):
        if value is not None:
            lines.append(f"{formal_name(node, at)}: {value.name} {value_type(module, value)}")
    lines += [f"→ {value.name} {value_type(module, value)}" for value in node.outputs if value.name]
    origins = provenance.origins(node)
    rule = provenance.rule(node)
    if rule is not None or origins != (node.name,):
        if origins:
            lines.append(f"from {', '.join(origins[:8])}" + (" …" if len(origins) > 8 else ""))
        if rule is not None:
            lines.append(f"by {rule}")
    return "\n".join(escape(short(line, 200)) for line in lines)
