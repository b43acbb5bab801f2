"""Plugin layers: a call of the function that says what the plugin means.

Nothing of what a plugin computes can be read from a network. What is proved is the rest: which tensors it got, and that
it is the plugin that was meant.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from trtc.ir.plugins import Meaning
from trtc.readback.layers import Layer, refuse
from trtc.readback.scope import Scope


def plugin(scope: Scope, layer: Layer) -> None:
    """Raises T0950 for a layer without a meaning, T0957 for one that is another plugin than was meant."""
    meaning = scope.plugins.get(layer.name)
    if meaning is None:
        raise refuse(layer, "T0950", "is a plugin, and nothing says what it means")
    _same(layer, meaning)
    inputs: list[Any] = []
    for parameter, dtype in zip(meaning.parameters, (*meaning.dtypes, *[None] * len(meaning.parameters)), strict=False):
        if parameter is None:
            inputs.append(None)
        elif isinstance(parameter, int):
            value = scope.input(layer, parameter)
            inputs.append(value if dtype is None else scope.cast(value, dtype))
        else:
            inputs.append(scope.constant(parameter))
    function = meaning.function
    for needed in (function, *meaning.functions):
        scope.functions[needed.identifier()] = needed
    results = scope.ops(
        function.name,
        inputs,
        meaning.results,
        function.domain,
        **meaning.attributes,
    )
    spare = [None] * (len(layer.outputs) - len(results))
    for index, value in enumerate((*results, *spare)):
        if value is not None:
            scope.bind(layer, value, index)


def _same(layer: Layer, meaning: Meaning) -> None:
    """What TensorRT tells of a plugin: its name and version for the interface V2, and for V3 written in Python."""
    held = getattr(layer.handle, "plugin", None)
    for attribute, wanted in (
        ("plugin_type", meaning.creator),
        ("plugin_name", meaning.creator),
        ("plugin_version", meaning.version),
    ):
        found = getattr(held, attribute, None)
        if isinstance(found, str) and found != wanted:
            raise refuse(layer, "T0957", f"holds a plugin whose {attribute} is `{found}`, not `{wanted}`")
