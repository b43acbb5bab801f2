"""A whole module into an empty network."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

from typing import Any

import onnx_ir as oir

from trtc.diagnostics import DiagnosticError
from trtc.emit.emission import Binding, Emission
from trtc.emit.legality import check, report
from trtc.emit.nodes import emit_nodes
from trtc.emit.scope import Scope
from trtc.ir import dims
from trtc.ir.module import Module
from trtc.targets import Target


def emit(module: Module, target: Target, network: Any, log: Any | None = None) -> Emission:
    """Fill `network` (empty, from `target.network(builder)`) with the graph of `module`.

    Calls of functions become layers or plugins where the target has such, else their bodies, in place. `log` is
    `target.logger`.

    Raises:
        DiagnosticError: T0701 nodes that cannot be emitted, all of them, before a layer is added (T0707 plugins, T0708
            fields that the registry does not know, when that is all); T0702 TensorRT refused a layer; T0703 it
            refused a property; T0704 the network is not what the IR says; T0705 a value that cannot be held; T0706
            TensorRT refused an input or output; T0709 its creator made no plugin.
    """
    file = str(module.path) if module.path is not None else None
    findings = check(module, target)
    if findings:
        raise DiagnosticError(report(findings, target, file))
    scope = Scope(module, target, network, log if log is not None else target.logger)
    bindings = [_input(scope, value) for value in module.graph.inputs]
    emit_nodes(scope, module.graph)
    marked: set[Any] = set()
    bindings += [_output(scope, value, marked) for value in module.graph.outputs]
    return Emission(
        network,
        tuple(bindings),
        tuple(scope.records),
        (*(_difference(b) for b in bindings if b.differs), *dict.fromkeys(scope.notes)),
        scope.keepalive,
        scope.unreadable,
        scope.plugins,
    )


def _input(s: Scope, value: oir.Value) -> Binding:
    shape = s.shape(value)
    dtype = s.engine_type(value)
    mark = s.log.mark()
    wanted = tuple(d if isinstance(d, int) else -1 for d in shape)
    tensor = s.net.add_input(value.name, s.type(dtype), wanted)
    if tensor is None or s.log.errors(mark):
        raise s.error("T0706", f"TensorRT refused the input `{value.name}`")
    if s.caps.dimension_names:
        for axis, dim in enumerate(shape):
            if not isinstance(dim, int):
                tensor.set_dimension_name(axis, dims.text(dim))
    s.fixed.add(tensor)
    s.bind(value, tensor)
    return _binding(s, value, dtype, True)


def _output(s: Scope, value: oir.Value, marked: set[Any]) -> Binding:
    """An input, a constant, or a tensor that is an output already, gets an identity layer and so a name of its own."""
    tensor = s.tensor(value)
    mark = s.log.mark()
    if tensor in s.fixed or tensor in marked or tensor in s.constants():
        tensor = s.add(s.net.add_identity(tensor), f"output/{value.name}")
    tensor.name = value.name
    s.net.mark_output(tensor)
    if s.log.errors(mark) or tensor.name != value.name:
        raise s.error("T0706", f"TensorRT refused the output `{value.name}`")
    marked.add(tensor)
    return _binding(s, value, s.type_of(tensor), False)


_SAME = {
    "FLOAT": "FLOAT",
    "FLOAT16": "HALF",
    "BFLOAT16": "BF16",
    "FLOAT8E4M3FN": "FP8",
}


def _binding(s: Scope, value: oir.Value, engine: str, is_input: bool) -> Binding:
    model = s.dtype(value).name
    return Binding(
        name=value.name or "",
        is_input=is_input,
        model_dtype=model,
        engine_dtype=engine,
        shape=tuple(dims.text(d) for d in s.shape(value)),
        differs=_SAME.get(model, model) != engine,
    )


def _difference(binding: Binding) -> str:
    kind = "input" if binding.is_input else "output"
    return (
        f"{kind} `{binding.name}` is {binding.model_dtype.lower()} in the model and "
        f"{binding.engine_dtype.lower()} in the engine: this TensorRT has no {binding.model_dtype.lower()}"
    )
