"""Operators with a body: which the target realizes by a layer or a plugin, and how a plugin gets into the network."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import suggest
from trtc.emit.facts import Facts, refuse
from trtc.emit.plugin_fields import kind_of, plugin_field
from trtc.emit.registry import table
from trtc.ir.canonical.carried import DOMAIN as CARRIED
from trtc.ir.inlining import inline
from trtc.ir.module import Module
from trtc.ir.plugins import DOMAIN, Meaning, PluginData, called_by, declaration, plugin_of, value_of
from trtc.lang.identity import LIBRARIES
from trtc.targets import Target
from trtc.targets.plugins import Creator, creators, find

if TYPE_CHECKING:
    from trtc.emit.scope import Scope

_RULE = "emit"
#: Domains of operators that are trtc's: a layer may stand for their functions. In any other the model's body rules.
_OWN = frozenset({CARRIED, DOMAIN})


def realize(module: Module, target: Target) -> None:
    """Put the body of a function in the place of every call that the target has nothing better for.

    A layer is better, and where the target takes plugins a plugin. What the body calls is looked at in turn.
    """
    functions = module.model.functions
    if not functions:
        return
    layers = table()
    todo = [node for node in module.nodes() if node.op_identifier() in functions]
    while todo:
        call = todo.pop()
        if (call.domain in _OWN or call.domain.startswith(LIBRARIES)) and (call.domain, call.op_type) in layers:
            continue
        if target.capabilities.plugins and plugin_of(module, call) is not None:
            continue
        todo += [node for node in inline(module, call, _RULE) if node.op_identifier() in functions]


def check_plugin(facts: Facts, node: oir.Node, data: PluginData, target: Target) -> Creator:
    """The creator for a node. Raises Refusal T0707 for a plugin, T0708 for a field, that the registry does not know."""
    creator = find(target.module, target.logger, data.creator, data.version, data.namespace)
    if creator is None:
        refuse(*_missing(data, target), code="T0707")
    known = creator.fields()
    for entry in data.fields:
        if known and entry.name not in known:
            close = suggest(entry.name, known)
            refuse(
                f"{creator.text} has no field `{entry.name}`",
                f"did you mean `{close}`?" if close else f"its fields: {', '.join(known)}",
                code="T0708",
            )
        if entry.input is not None:
            value = node.inputs[entry.input] if entry.input < len(node.inputs) else None
            if value is not None and facts.array(value) is None:
                refuse(
                    f"the field `{entry.name}` of the plugin is weights, and `{value.name}` is computed at run time",
                    "say `const` in the pattern of the rewrite",
                    code="T0708",
                )
    absent = [at for at in data.tensors if at >= len(node.inputs) or node.inputs[at] is None]
    if absent and absent != list(data.tensors[-len(absent) :]):
        refuse(f"input {absent[0]} is omitted before one that is not; a plugin takes its tensors without holes")
    return creator


def _missing(data: PluginData, target: Target) -> tuple[str, str]:
    all_known = creators(target.module, target.logger)
    same = [c for c in all_known if c.name == data.creator]
    wanted = Creator(data.creator, data.version, data.namespace, False, None)
    reason = f"{target.name} {target.version} has no plugin {wanted.text}"
    if same:
        return reason, f"it has {', '.join(c.text for c in same)}"
    if data.library is not None:
        return reason, f"`{data.library}` brings it? add `--allow-code`, without which no library is loaded"
    close = suggest(data.creator, {c.name for c in all_known})
    if close:
        return reason, f"did you mean `{close}`?"
    return reason, "say which `library` brings it, or leave out the rewrite that makes it"


def unknown_operator(module: Module, node: oir.Node, target: Target) -> str | None:
    """Help for a node that nothing declares when its operator has the name of a plugin of the target."""
    if not target.capabilities.plugins:
        return None
    named = [c for c in creators(target.module, target.logger) if c.name == node.op_type]
    if not named:
        return None
    return f"{named[0].text} is a plugin of {target.name}; declare what it means:\n{declaration(module, node)}"


def emit_plugin(s: Scope, node: oir.Node, data: PluginData) -> tuple[Any, ...]:
    """Add the plugin of a node; its outputs, in the types that the model has for them."""
    creator = check_plugin(s, node, data, s.target)
    kinds = creator.fields()
    fields: list[Any] = []
    for entry in data.fields:
        value = _value(s, data, entry.name, node)
        if value is None:
            continue  # the plugin has a default of its own
        wanted = kind_of(entry)
        if wanted is not None and kinds.get(entry.name, wanted) not in (wanted, "UNKNOWN"):
            s.notes.append(
                f"the field `{entry.name}` of the plugin `{data.name}` is {entry.type}, "
                f"and {creator.text} says {kinds[entry.name].lower()}"
            )
        fields.append(plugin_field(s.trt, entry, value, s.caps.shape_dtype == "INT64", s.keepalive))
    collection = s.trt.PluginFieldCollection(fields)
    name = node.name or data.name
    if creator.version_3:
        plugin = creator.handle.create_plugin(name, collection, s.trt.TensorRTPhase.BUILD)
    else:
        plugin = creator.handle.create_plugin(name, collection)
    if plugin is None:
        raise s.error(
            "T0709",
            f"{creator.text} made no plugin of these fields: {', '.join(entry.name for entry in data.fields)}",
            "TensorRT's messages say which field it minds; some plugins want every field",
        )
    s.keepalive += [creator, collection, plugin]
    places = [at for at in data.tensors if at < len(node.inputs) and node.inputs[at] is not None]
    tensors = [s.input(node, at) for at in places]
    if creator.version_3:
        made = s.net.add_plugin_v3(tensors, [], plugin)
    else:
        made = s.net.add_plugin_v2(tensors, plugin)
    layer = s.layer(made)
    outputs = [layer.get_output(at) for at in range(layer.num_outputs)]
    function = s.module.model.functions[node.op_identifier()]
    if len(outputs) != len(function.outputs):
        raise s.error(
            "T0704",
            f"{creator.text} has {len(outputs)} outputs, and the plugin `{data.name}` declares {len(function.outputs)}",
        )
    s.plugins[layer.name] = _meaning(s, node, data, function, places)
    return tuple(
        s.cast(tensor, s.engine_type(value), f"cast_{at}") if value.name else tensor
        for at, (value, tensor) in enumerate(zip(node.outputs, outputs, strict=False))
    )


def _value(s: Scope, data: PluginData, name: str, node: oir.Node) -> Any:
    entry = next(entry for entry in data.fields if entry.name == name)
    if entry.input is None:
        return value_of(data, entry, node)
    value = node.inputs[entry.input] if entry.input < len(node.inputs) else None
    return s.array(value)


def _meaning(s: Scope, node: oir.Node, data: PluginData, function: oir.Function, places: list[int]) -> Meaning:
    parameters: list[int | np.ndarray | None] = []
    for at in range(len(function.inputs)):
        value = node.inputs[at] if at < len(node.inputs) else None
        if value is None:
            parameters.append(None)
        elif at in places:
            parameters.append(places.index(at))
        else:
            array = s.array(value)
            assert array is not None, "checked"
            parameters.append(array)
    return Meaning(
        function,
        tuple(parameters),
        dict(node.attributes),
        tuple(s.dtype(v) if v is not None else None for v in node.inputs),
        tuple(s.dtype(value) for value in node.outputs),
        data.creator,
        data.version,
        called_by(s.module, function),
    )
