"""Plugins in the IR: operators whose body says what they mean, and data that says how a target may realize them.

A plugin is a function of the model, in the domain `trtc.plugin`. Its inputs and outputs are those of the declaration,
its body is the meaning in opset 23. The fields that the plugin is created with are attributes of the call; the body may
refer to them. The data lies in the function's metadata, so that all of it survives a save, and ONNX Runtime runs the
model through the body.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError, suggest
from trtc.ir import edit
from trtc.ir.module import OPSET, Module
from trtc.ir.nesting import walk

DOMAIN: Final = "trtc.plugin"
#: The key of a function's metadata under which its plugin data lies.
METADATA: Final = "trtc.plugin"
#: Where loading puts nodes of plugins that a file has in the default domain.
FOREIGN: Final = "TRT"

INTEGERS: Final = ("i8", "u8", "i16", "i32", "i64", "bool")
FLOATS: Final = ("f16", "bf16", "f32", "f64")
#: Every word that a field's type may be; the first two groups may be lists too.
FIELD_TYPES: Final = (*INTEGERS, *FLOATS, "string", "dims", "weights")

#: Attributes by which exporters name the plugin itself.
_NAMING = frozenset({"plugin_version", "plugin_namespace", "plugin_name"})


@dataclass(frozen=True, slots=True)
class FieldData:
    """One field of a plugin: `type` is a word of `FIELD_TYPES`, `list` whether it holds several.

    Its value is the attribute of its name at the call; without one, `default`. Weights may be an input of the call
    instead, number `input`: a constant, which the plugin then does not get as a tensor.
    """

    name: str
    type: str
    list: bool = False
    default: Any = None
    input: int | None = None

    def attribute(self, value: Any) -> oir.Attr:
        """The attribute that holds a value of this field.

        Raises:
            TypeError, ValueError: the value is not of the field's type.
        """
        if self.type == "weights" or self.type == "f64":
            # An attribute holds floats of 32 bits.
            array = value if isinstance(value, oir.TensorProtocol) else oir.tensor(_array(self, value))
            return oir.AttrTensor(self.name, array)
        if self.type == "dims":
            return oir.AttrInt64s(self.name, [int(v) for v in value])
        convert: Any = int if self.type in INTEGERS else str if self.type == "string" else float
        if self.list:
            values = [convert(v) for v in value]
            makers = {int: oir.AttrInt64s, float: oir.AttrFloat32s, str: oir.AttrStrings}
            return makers[convert](self.name, values)
        makers_of_one = {int: oir.AttrInt64, float: oir.AttrFloat32, str: oir.AttrString}
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            raise TypeError("it holds one value")
        return makers_of_one[convert](self.name, convert(value))


def _array(of: FieldData, value: Any) -> np.ndarray:
    return np.asarray(value, dtype=np.float64) if of.type == "f64" else np.asarray(value)


@dataclass(frozen=True, slots=True)
class PluginData:
    """How a target may realize the operator `name`.

    `creator`, `version` and `namespace` find the plugin in TensorRT's registry. `library` names the shared library or
    the class that brings it, for messages: what is loaded is what the spec says, never what a model does. `tensors` are
    the inputs of the call that the plugin takes, in its order; the others are weights of fields.
    """

    name: str
    creator: str
    version: str = "1"
    namespace: str = ""
    library: str | None = None
    fields: tuple[FieldData, ...] = ()
    tensors: tuple[int, ...] = ()

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> PluginData:
        """Raises ValueError, KeyError or TypeError for a text that `to_json` did not write."""
        data = dict(json.loads(text))
        data["fields"] = tuple(FieldData(**entry) for entry in data["fields"])
        data["tensors"] = tuple(int(at) for at in data["tensors"])
        return cls(**data)


def data_of(function: oir.Function | None) -> PluginData | None:
    """The plugin data of a function; None for a function that is no plugin."""
    if function is None or (text := function.metadata_props.get(METADATA)) is None:
        return None
    try:
        return PluginData.from_json(text)
    except (ValueError, KeyError, TypeError):
        return None  # a file of somebody else's: the function is its body and nothing more


def plugin_of(module: Module, node: oir.Node) -> PluginData | None:
    """The plugin data of the function that a node calls."""
    functions = module.model.functions
    return data_of(functions.get(node.op_identifier())) if functions else None


def declare(module: Module, data: PluginData, body: oir.Function) -> oir.Function:
    """Make `data` with the meaning `body` an operator of the module.

    The function is `trtc.plugin::<data.name>`, with a number behind when one of that name means something else (a
    meaning may depend on the fields of the call). Declaring the same twice gives the same function.
    """
    if body.name == data.name and body.domain == DOMAIN and (data_of(body) == data):
        made = body
    else:
        attributes = dict(body.attributes)
        for entry in data.fields:
            if entry.input is None and entry.name not in attributes:
                attributes[entry.name] = (
                    entry.attribute(entry.default)
                    if entry.default is not None
                    else oir.Attr(entry.name, oir.AttributeType.UNDEFINED, None)
                )
        made = oir.Function(DOMAIN, data.name, graph=body.graph, attributes=attributes)
        made.doc_string = body.doc_string
    made.metadata_props[METADATA] = data.to_json()
    made.opset_imports.setdefault("", OPSET)
    name_parts(made)
    wanted = digest(made)
    number = 1
    while (known := module.model.functions.get(made.identifier())) is not None:
        if known is made or digest(known) == wanted:
            return known
        number += 1
        made.name = f"{data.name}_{number}"
    module.model.functions[made.identifier()] = made
    module.model.opset_imports.setdefault(DOMAIN, 1)
    return made


def call(
    module: Module,
    function: oir.Function,
    inputs: Sequence[oir.Value | None],
    fields: Mapping[str, Any] | None = None,
    *,
    origins: Iterable[oir.Node],
    rule: str,
    name: str | None = None,
) -> oir.Node:
    """A new node that calls a plugin, not yet in a graph. `fields`: values for this call, by name of the field.

    Raises:
        DiagnosticError: T0658 a field that the plugin does not have, or a value that its type does not hold.
    """
    data = data_of(function)
    assert data is not None, "declared first"
    attributes = {key: _attribute(data, key, value, None) for key, value in (fields or {}).items()}
    return edit.node(
        module,
        function.name,
        inputs,
        attributes,
        origins=origins,
        rule=rule,
        outputs=len(function.outputs),
        domain=DOMAIN,
        name=name,
    )


def written(module: Module, creators: Collection[str]) -> list[oir.Node]:
    """The nodes of the model that are plugins already, under the name of a creator in whatever domain; in order."""
    functions = module.model.functions
    return [
        node
        for node in module.nodes()
        if node.op_type in creators and node.domain != DOMAIN and node.op_identifier() not in functions
    ]


def fields_written(data: PluginData, node: oir.Node) -> dict[str, Any]:
    """The values of the fields that a node of `written` says, as Python values.

    Raises:
        DiagnosticError: T0658 an attribute that is no field, or another version of the plugin.
    """
    found: dict[str, Any] = {}
    for key, attribute in node.attributes.items():
        value: Any = attribute.value
        if key == "plugin_version" and _text(value) not in ("", data.version):
            raise _unfit(
                node,
                f"`{node.name}` is version {_text(value)} of {data.creator}, and the plugin `{data.name}` "
                f"declares version {data.version}",
                f'write `version = "{_text(value)}"`',
            )
        if key in _NAMING:
            continue
        _attribute(data, key, value, node)
        found[key] = value
    return found


def adopt(module: Module, function: oir.Function, node: oir.Node) -> None:
    """Make a node that the file has under the creator's name a call of the plugin. Its attributes become fields.

    Raises:
        DiagnosticError: T0658 the node does not fit the declaration.
    """
    data = data_of(function)
    assert data is not None, "declared first"
    fields = fields_written(data, node)
    if len(node.inputs) > len(function.inputs) or len(node.outputs) > len(function.outputs):
        raise _unfit(
            node,
            f"`{node.name}` has {len(node.inputs)} inputs and {len(node.outputs)} outputs, and the plugin "
            f"`{data.name}` declares {len(function.inputs)} and {len(function.outputs)}",
            None,
        )
    attributes = [_attribute(data, key, value, node) for key, value in fields.items()]
    node.attributes.clear()
    for attribute in attributes:
        node.attributes[attribute.name] = attribute
    node.domain, node.op_type, node.overload = DOMAIN, function.name, ""
    for value in node.outputs:
        module.facts.pop(value, None)


def value_of(data: PluginData, entry: FieldData, node: oir.Node) -> Any:
    """The value of a field at a call, None where nothing says it. Weights of an input are the caller's to find."""
    attribute = node.attributes.get(entry.name)
    if attribute is not None and attribute.value is not None:
        return attribute.value
    return entry.default


def declaration(module: Module, node: oir.Node) -> str:
    """A `plugin` declaration for a node that names a creator: what to put into a spec, but for the meaning."""

    def typed(value: oir.Value) -> str:
        dtype = module.dtype(value)
        return _WORDS.get(dtype.name, dtype.name.lower()) if dtype is not None else "f32"

    inputs = ", ".join(f"in{at}: {typed(value)}[...]" for at, value in enumerate(node.inputs) if value is not None)
    outputs = ", ".join(f"out{at}: {typed(value)}[...]" for at, value in enumerate(node.outputs))
    if len(node.outputs) != 1:
        outputs = f"({outputs})"
    version = node.attributes.get("plugin_version")
    lines = [
        f"plugin my_{node.op_type.lower()}({inputs}) -> {outputs} {{",
        f'  creator = "{node.op_type}"',
        f'  version = "{_text(version.value) if version is not None else "1"}"',
    ]
    fields = [_field_text(a) for key, a in node.attributes.items() if key not in _NAMING]
    if fields:
        lines.append(f"  fields {{ {'  '.join(fields)} }}")
    lines += ["  meaning …", "}"]
    return "\n".join(lines)


_WORDS = {
    "FLOAT": "f32",
    "FLOAT16": "f16",
    "BFLOAT16": "bf16",
    "DOUBLE": "f64",
    "INT8": "i8",
    "INT32": "i32",
    "INT64": "i64",
    "BOOL": "bool",
}


def _field_text(attribute: oir.Attr) -> str:
    kinds = oir.AttributeType
    value: Any = attribute.value
    if attribute.type == kinds.INT:
        word, text = "i32", str(value)
    elif attribute.type == kinds.FLOAT:
        word, text = "f32", f"{value:.7g}"
    elif attribute.type == kinds.STRING:
        word, text = "string", f'"{_text(value)}"'
    elif attribute.type in (kinds.INTS, kinds.FLOATS):
        word = "i32[]" if attribute.type == kinds.INTS else "f32[]"
        text = f"[{', '.join(f'{number:.7g}' for number in value)}]"
    else:
        word, text = "weights", "…"
    return f"{attribute.name}: {word} = {text}"


def _attribute(data: PluginData, key: str, value: Any, node: oir.Node | None) -> oir.Attr:
    known = {entry.name: entry for entry in data.fields}
    entry = known.get(key)
    if entry is None:
        close = suggest(key, known)
        raise _unfit(
            node,
            f"the plugin `{data.name}` has no field `{key}`",
            f"did you mean `{close}`?" if close else f"its fields: {', '.join(known) or 'none'}",
        )
    try:
        return entry.attribute(value)
    except (TypeError, ValueError) as error:
        kind = entry.type + ("[]" if entry.list else "")
        raise _unfit(node, f"the field `{key}` of the plugin `{data.name}` is {kind}: {error}", None) from error


def _unfit(node: oir.Node | None, message: str, help: str | None) -> DiagnosticError:
    return DiagnosticError(Diagnostic("T0658", message, node=node.name if node is not None else None, help=help))


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def name_parts(function: oir.Function) -> None:
    """Names for nodes and values that have none: the verifier wants them, within the function unique."""
    nodes = list(walk(function.graph))
    taken = {node.name for node in nodes if node.name}
    taken |= {value.name for node in nodes for value in node.outputs if value.name}
    taken |= {value.name for value in function.inputs if value.name}

    def fresh(base: str) -> str:
        number, name = 1, base
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        return name

    for node in nodes:
        if not node.name:
            node.name = fresh(node.op_type)
        for value in node.outputs:
            if value.name is None:
                value.name = fresh(f"{node.name}_out")


def digest(function: oir.Function) -> bytes:
    """The same for two functions that differ in name only."""
    from trtc.ir.serialize import Serializer

    serializer = Serializer()
    proto = serializer.function(function)
    proto.name = ""
    return proto.SerializeToString(deterministic=True) + b"".join(t.tobytes() for t in serializer.tensors)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a layer that is a plugin stands for: kept beside the network, which does not say it.

    `parameters` has, for each input of `function`, the number of the layer's input, a constant, or None where it is
    omitted. `dtypes` are those that the model has for these inputs, `results` for the outputs. `functions` are those
    that the body calls.
    """

    function: oir.Function
    parameters: tuple[int | np.ndarray | None, ...]
    attributes: Mapping[str, oir.Attr]
    dtypes: tuple[oir.DataType | None, ...]
    results: tuple[oir.DataType, ...]
    creator: str
    version: str
    functions: tuple[oir.Function, ...] = field(default=())


def called_by(module: Module, function: oir.Function) -> tuple[oir.Function, ...]:
    """The functions of the module that a body calls, directly or not."""
    found: dict[tuple[str, str, str], oir.Function] = {}
    todo = [function]
    while todo:
        for node in walk(todo.pop().graph):
            key = node.op_identifier()
            inner = module.model.functions.get(key)
            if inner is not None and key not in found:
                found[key] = inner
                todo.append(inner)
    return tuple(found.values())
