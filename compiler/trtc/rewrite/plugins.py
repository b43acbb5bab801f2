"""Plugins and own operators of a spec as operators of the IR: the meaning becomes a function, the fields attributes of
the call.

A meaning is built anew for each call, because it may depend on the sizes and fields there; calls that mean the same
share a function.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.evaluate import Evaluator
from trtc.ir import bodies, dims, edit, plugins
from trtc.ir.dims import Dim, Expr
from trtc.ir.module import OPSET, Module, constant_tensor
from trtc.ir.plugins import FieldData, PluginData
from trtc.lang import rules, syntax
from trtc.lang.identity import domain_of
from trtc.rewrite.build import ABSENT, Builder, Declined, Workshop
from trtc.rewrite.constants import DTYPES, FLOATS, INTEGERS, Constants
from trtc.rewrite.functions import Array
from trtc.rewrite.program import Node, Program, Scope
from trtc.rewrite.state import State
from trtc.targets.plugins import PluginCode

#: Bytes of constants that a meaning may hold.
_BUDGET = 16 << 20
#: What an omitted parameter is in patterns: known, and bound to nothing. `b?` is absent then, and `b` missing.
_NOT_THERE = cast(Node, SimpleNamespace())


def data_of(plugin: rules.Plugin) -> PluginData:
    """What TensorRT needs to know of a plugin: all of the declaration but the meaning.

    Weights that name a parameter are that input of the call; the plugin gets the other parameters as tensors.
    """
    names = [parameter.name.text for parameter in plugin.parameters]
    fields = tuple(FieldData(f.name.text, f.type, f.list, None, _input(f, names)) for f in plugin.fields)
    weights = {entry.input for entry in fields}
    settings = plugin.settings
    made_by = plugin.extern.rpartition(":")[2] if plugin.extern else plugin.name.text
    return PluginData(
        plugin.name.text,
        str(settings.get("creator", made_by)),
        str(settings.get("version", "1")),
        str(settings.get("namespace", "")),
        settings.get("library") or plugin.extern,
        fields,
        tuple(at for at in range(len(names)) if at not in weights),
    )


def _input(field: rules.Field, names: Sequence[str]) -> int | None:
    if field.type == "weights" and isinstance(field.value, rules.Value) and field.value.name in names:
        return names.index(field.value.name)
    return None


def call(builder: Builder, plugin: rules.Plugin, inputs: Sequence[Any], given: Mapping[str, Any]) -> Any:
    """A call of a plugin on what was built; `given` are fields by name. One value, or a list where it has several.

    Raises:
        Declined: the types of the declaration do not fit, a field depends on what is not known.
    """
    values = [_operand(builder, plugin.parameters[at], item) for at, item in enumerate(inputs)]
    made = Instance(builder.module, builder.shop.evaluator, plugin, values, given)
    if builder.body and isinstance(plugin, rules.Operator):
        # Nothing would realize a call in there, and ONNX Runtime finds no overload from within a function.
        return made.inside(builder)
    if isinstance(plugin, rules.Operator):
        node = made.node(builder.origins, builder.rule)
    else:
        function = made.declare()
        node = plugins.call(builder.module, function, values, made.fields, origins=builder.origins, rule=builder.rule)
    builder.nodes.append(node)
    return node.outputs[0] if len(node.outputs) == 1 else list(node.outputs)


def _operand(builder: Builder, parameter: rules.Parameter, item: Any) -> oir.Value | None:
    if item is ABSENT:
        return None
    word = parameter.type.dtype or "float"
    return builder.value(item, DTYPES.get(word, oir.DataType.INT64 if word == "int" else oir.DataType.FLOAT))


def adopt(module: Module, declared: Sequence[rules.Plugin], evaluator: Evaluator) -> list[oir.Node]:
    """Make the nodes that a file has in the op type of a plugin's creator calls of it; those nodes.

    Raises:
        DiagnosticError: T0658 a node does not fit its declaration.
    """
    by_creator = {data_of(plugin).creator: plugin for plugin in declared}
    found: list[oir.Node] = []
    for node in plugins.written(module, by_creator):
        plugin = by_creator[node.op_type]
        data = data_of(plugin)
        given = plugins.fields_written(data, node)
        try:
            made = Instance(module, evaluator, plugin, list(node.inputs), given)
            function = made.declare()
        except Declined as error:
            raise DiagnosticError(
                Diagnostic(
                    "T0658",
                    f"`{node.name}` does not fit the plugin `{plugin.name.text}`: {error}",
                    span=plugin.name.span,
                    node=node.name,
                )
            ) from None
        plugins.adopt(module, function, node)
        for name, value in made.fields.items():
            node.attributes[name] = next(e for e in data.fields if e.name == name).attribute(value)
        found.append(node)
    return found


def creators_of(declared: Sequence[rules.Plugin]) -> frozenset[str]:
    """The names that plugins have in TensorRT's registry, and so in files."""
    return frozenset(data_of(plugin).creator for plugin in declared)


def code_of(declared: Sequence[rules.Plugin], folder: Path) -> PluginCode:
    """The libraries, beside the spec in `folder`, and Python classes that plugins name: what `--allow-code` allows."""
    libraries = [str((folder / str(p.settings["library"])).resolve()) for p in declared if p.settings.get("library")]
    classes = [p.extern for p in declared if p.extern is not None]
    return PluginCode(tuple(dict.fromkeys(libraries)), tuple(dict.fromkeys(classes)), (str(folder.resolve()),))


@dataclass(slots=True)
class Instance:
    """A plugin at one call: names bound to what is there, fields computed, the meaning built."""

    module: Module
    evaluator: Evaluator
    plugin: rules.Plugin
    values: Sequence[oir.Value | None]
    given: Mapping[str, Any]
    fields: dict[str, Any] = field(init=False)
    """The values of the fields, but for those that are inputs."""
    sizes: dict[str, Dim] = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = {}
        for at, parameter in enumerate(self.plugin.parameters):
            value = self.values[at] if at < len(self.values) else None
            if value is None:
                if not parameter.optional:
                    raise Declined(f"`{parameter.name.text}` of the plugin is not there")
                continue
            self._fit(parameter, value)
        self.fields = self._fields()

    # ---- types

    def _fit(self, parameter: rules.Parameter, value: oir.Value) -> None:
        name, wanted = parameter.name.text, parameter.type
        dtype = self.module.dtype(value)
        if wanted.dtype is not None and dtype is not None and not _of_word(dtype, wanted.dtype):
            raise Declined(f"`{name}` of the plugin is {wanted.dtype}, and `{value.name}` is {dtype.name.lower()}")
        if wanted.const and constant_tensor(value) is None:
            raise Declined(f"`{name}` of the plugin is const, and `{value.name}` is computed at run time")
        if wanted.dims is None:
            return
        shape = self.module.shape(value)
        if shape is None:
            raise Declined(f"the shape of `{value.name}`, `{name}` of the plugin, is not known")
        said = list(wanted.dims)
        rest = next((at for at, one in enumerate(said) if isinstance(one, syntax.AnyDims)), None)
        if rest is not None:
            spare = len(shape) - len(said) + 1
            kept = list(shape[:rest]) + list(shape[rest + max(spare, 0) :])
            del said[rest]
        else:
            kept = list(shape)
        text = ", ".join(dims.text(d) for d in shape)
        if len(kept) != len(said):
            raise Declined(f"`{name}` of the plugin is `{wanted.span.text}`, and `{value.name}` is [{text}]")
        for one, dim in zip(said, kept, strict=True):
            if not self._size_fits(one, dim):
                raise Declined(f"`{name}` of the plugin is `{wanted.span.text}`, and `{value.name}` is [{text}]")

    def _size_fits(self, said: Any, dim: Dim) -> bool:
        if isinstance(said, syntax.Number):
            return said.value == dim
        name = getattr(said, "name", None) or getattr(said, "text", None)
        if not isinstance(name, str):
            return True  # arithmetic over other sizes: what the body computes is checked by inference
        params = self.plugin.environment.params
        return name == "_" or (params[name] if name in params else self.sizes.setdefault(name, dim)) == dim

    # ---- fields

    def _fields(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        unknown = [name for name in self.given if name not in {f.name.text for f in self.plugin.fields}]
        if unknown:
            raise Declined(f"the plugin `{self.plugin.name.text}` has no field `{unknown[0]}`")
        names = [parameter.name.text for parameter in self.plugin.parameters]
        for one in self.plugin.fields:
            name = one.name.text
            if _input(one, names) is not None:
                continue
            value = self.given[name] if name in self.given else self._builder(self.values, made).build(one.value)
            made[name] = _plain(name, value)
        return made

    def _builder(self, values: Sequence[oir.Value | None], captures: Mapping[str, Any]) -> Builder:
        """A builder for which the names of the plugin stand for these values."""
        scope = Scope(self.plugin.environment, captures={name: at for at, name in enumerate(captures)})
        program = SimpleNamespace(values=len(values), captures=len(captures), dims=0, ops=0)
        constants = Constants(self.module)
        state = State(self.module, constants, cast(Program, program))
        state.values = list(values)
        state.captures = [tuple(v) if isinstance(v, list) else v for v in captures.values()]
        shop = Workshop(self.module, constants, self.evaluator, _BUDGET)
        builder = Builder(shop, state, scope, (), self.plugin.name.text, body=True)
        builder.lets.update(self.sizes)
        padded = [*values, *[None] * (len(self.plugin.parameters) - len(values))]
        for parameter, value in zip(self.plugin.parameters, padded, strict=False):
            name = parameter.name.text
            if value is None:
                scope.values[name] = _NOT_THERE
            else:
                builder.lets[name] = value
        return builder

    def node(self, origins: Sequence[oir.Node], rule: str) -> oir.Node:
        """A call of an operator of the spec's own, not yet in a graph.

        Raises:
            Declined: the meaning cannot be built, or a field does not hold its value.
        """
        attributes: dict[str, oir.Attr] = {}
        for one in self.plugin.fields:
            name, value = one.name.text, self.fields[one.name.text]
            try:
                attributes[name] = FieldData(name, one.type, one.list).attribute(value)
            except (TypeError, ValueError) as error:
                raise Declined(f"the field `{name}` is {one.type}{'[]' if one.list else ''}: {error}") from None
        function = self.declare()
        node = edit.node(
            self.module,
            function.name,
            list(self.values),
            attributes,
            origins=origins,
            rule=rule,
            outputs=len(function.outputs),
            domain=function.domain,
        )
        node.overload = function.overload
        return node

    # ---- the meaning

    def inside(self, outer: Builder) -> Any:
        """The meaning in the place of the call. One value, or a list where there are several."""
        builder = self._builder(self.values, self.fields)
        try:
            outputs = self._outputs(builder)
        finally:
            outer.nodes += builder.nodes
            outer.made += builder.made
        return outputs[0] if len(outputs) == 1 else outputs

    def declare(self) -> oir.Function:
        """The function of the module that this call is one of.

        Raises:
            Declined: the meaning cannot be built for these sizes.
        """
        plugin = self.plugin
        if not plugin.meaning:
            raise Declined(f"the plugin `{plugin.name.text}` has no meaning in ONNX, so nothing could prove it")
        inputs: list[oir.Value] = []
        inner: list[oir.Value | None] = []
        for at, parameter in enumerate(plugin.parameters):
            outer = self.values[at] if at < len(self.values) else None
            value = oir.Value(name=parameter.name.text)
            inputs.append(value)
            inner.append(None if outer is None else value)
            if outer is not None:
                self.module.facts[value] = self.module.fact(outer)
        builder = self._builder(inner, self.fields)
        try:
            outputs = self._outputs(builder)
            nodes = _constants_inside(self.module, builder)
        except BaseException:
            builder.discard()
            raise
        _rename(nodes, inputs, outputs, [output.name.text for output in plugin.outputs])
        for value in (*inputs, *(out for node in nodes for out in node.outputs)):
            self.module.facts.pop(value, None)
        graph = oir.Graph(inputs, outputs, nodes=nodes, opset_imports={"": OPSET}, name=plugin.name.text)
        if isinstance(plugin, rules.Operator):
            return bodies.declare(self.module, domain_of(plugin), plugin.name.text, graph, plugin.doc or None)
        body = oir.Function(plugins.DOMAIN, plugin.name.text, graph=graph, attributes=())
        body.doc_string = plugin.doc or None
        return plugins.declare(self.module, data_of(plugin), body)

    def _outputs(self, builder: Builder) -> list[oir.Value]:
        for equation in self.plugin.meaning:
            made = builder.build(equation.value)
            items: list[Any] = made if isinstance(made, list) else [made]
            if len(items) < len(equation.targets):
                raise Declined(f"`{equation.span.text}` gives {len(items)} values")
            for target, item in zip(equation.targets, items, strict=False):
                builder.lets[target.name] = item
        outputs: list[oir.Value] = []
        for output in self.plugin.outputs:
            item = builder.lets.get(output.name.text, ABSENT)
            if item is ABSENT:
                raise Declined(f"the meaning does not define `{output.name.text}` here")
            wanted = DTYPES.get(output.type.dtype or "")
            value = builder.value(item, wanted or oir.DataType.FLOAT)
            if wanted is not None and self.module.dtype(value) not in (wanted, None):
                value = builder.op("", "Cast", [value], {"to": int(wanted)})
                value = builder.value(value, wanted)
            if value.producer() is None or value in outputs:
                # Its output is its own: no input, no constant, not that of another.
                (node,) = [edit.node(self.module, "Identity", [value], origins=(), rule=builder.rule)]
                builder.nodes.append(node)
                value = node.outputs[0]
            outputs.append(value)
        return outputs


def _of_word(dtype: oir.DataType, word: str) -> bool:
    if word == "float":
        return dtype in FLOATS
    if word == "int":
        return dtype in INTEGERS
    return DTYPES.get(word) == dtype


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Array):
        return oir.tensor(value.data.astype(value.dtype.numpy()))
    if value is ABSENT:
        raise Declined(f"the field `{name}` of the plugin is not known here")
    if isinstance(value, oir.Value):
        raise Declined(f"the field `{name}` of the plugin would be computed at run time")
    items: Sequence[Any] = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if any(isinstance(item, Expr) for item in items):
        raise Declined(f"the field `{name}` of the plugin depends on a dim that is not known")
    return list(items) if items is value else value


def _constants_inside(module: Module, builder: Builder) -> list[oir.Node]:
    """The nodes that were built, with the new initializers as Constant nodes before them."""
    made = dict.fromkeys(builder.made)
    nodes: list[oir.Node] = []
    for value in made:
        tensor = value.const_value
        assert tensor is not None
        array = np.array(tensor.numpy())
        held = oir.Tensor(array, dtype=tensor.dtype, shape=oir.Shape(array.shape))
        constant = edit.node(module, "Constant", [], {"value": oir.AttrTensor("value", held)}, origins=(), rule="")
        value.replace_all_uses_with(constant.outputs[0])
        module.graph.initializers.pop(value.name or "", None)
        nodes.append(constant)
    used = [node for node in nodes if node.outputs[0].uses()]
    return [*used, *builder.nodes]


def _rename(
    nodes: Sequence[oir.Node], inputs: Sequence[oir.Value], outputs: Sequence[oir.Value], names: Sequence[str]
) -> None:
    """Names that depend on nothing but the body: two calls that mean the same are then the same function."""
    taken = {*names, *(value.name for value in inputs)}
    for at, node in enumerate(nodes):
        node.metadata_props.clear()
        node.name = f"{node.op_type}_{at}"
        for value in node.outputs:
            value.name = f"v{at}_{value.index()}"
            while value.name in taken:
                value.name += "_"
    for value, name in zip(outputs, names, strict=True):
        value.name = name
