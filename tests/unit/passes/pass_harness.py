"""Graph text in, pass, graph text out, and the values before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as oir
from onnx import parser

from trtc import ir
from trtc.evaluate import Evaluator, run_session, session
from trtc.ir import Module
from trtc.pipeline import Context, PassResult


def model(text: str, weights: Mapping[str, np.ndarray] | None = None, functions: str = "", opset: int = 23) -> Any:
    """A ModelProto from the text of a graph; `weights` become initializers, beside those in the text."""
    domains = "".join(f', "{d}" : 1' for d in ("mine", "com.microsoft"))
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}{domains}]>\n{text}\n{functions}')
    for name, array in (weights or {}).items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return proto


def load(proto: onnx.ModelProto) -> Module:
    return ir.load_proto(proto)


def run(module: Module, *passes: Any) -> tuple[PassResult, Context]:
    """Run the passes one after the other, with the verifier after each; the last one's result and all remarks."""
    context = Context(Evaluator())
    result = PassResult(False)
    for one in passes:
        context.source = one.name
        result = one.run(module, context)
        ir.verify(module)
    return result, context


def listing(module: Module) -> list[str]:
    """One line for each node: outputs, operator, inputs, and attributes that are not at their default.

    A constant of at most eight elements is written by its values, a larger one by its shape.
    """
    return [line for graph in (module.graph,) for line in _lines(module, graph, "")]


def _lines(module: Module, graph: oir.Graph, indent: str) -> list[str]:
    lines: list[str] = []
    for node in graph:
        outputs = ", ".join(value.name or "_" for value in node.outputs)
        inputs = ", ".join("_" if value is None else _operand(module, value) for value in node.inputs)
        attributes, bodies = _attributes(node)
        domain = f"{node.domain}." if node.domain else ""
        lines.append(f"{indent}{outputs} = {domain}{node.op_type}({inputs}){attributes}")
        for name, body in bodies:
            results = ", ".join(value.name or "_" for value in body.outputs)
            lines.append(f"{indent}  {name} -> {results}")
            lines += _lines(module, body, indent + "    ")
    return lines


def _operand(module: Module, value: oir.Value) -> str:
    array = module.constant(value)
    if array is None:
        return value.name or "?"
    if array.size > 8:
        return f"const{list(array.shape)}"
    return str(array.tolist())


def _attributes(node: oir.Node) -> tuple[str, list[tuple[str, oir.Graph]]]:
    defaults: dict[str, Any] = {}
    if node.domain == "" and onnx.defs.has(node.op_type):
        schema = onnx.defs.get_schema(node.op_type, 23)
        for name, attr in schema.attributes.items():
            if attr.default_value.type:
                defaults[name] = oir.serde.deserialize_attribute(attr.default_value).value
    parts: list[str] = []
    bodies: list[tuple[str, oir.Graph]] = []
    for name in sorted(node.attributes):
        attr = node.attributes[name]
        if attr.type == oir.AttributeType.GRAPH:
            bodies.append((name, attr.as_graph()))
        elif attr.type == oir.AttributeType.TENSOR:
            parts.append(f"{name}={attr.as_tensor().numpy().tolist()}")
        elif not (name in defaults and defaults[name] == attr.value) and name not in _OBVIOUS:
            value = list(attr.value) if isinstance(attr.value, tuple) else attr.value
            parts.append(f"{name}={value}")
    return ("[" + ", ".join(parts) + "]" if parts else ""), bodies


#: Filled in by loading, and said by the weight already.
_OBVIOUS = frozenset({"kernel_shape", "dilations", "strides"})


def messages(context: Context, kind: str) -> list[tuple[str | None, str]]:
    """(node, message) of the remarks of a kind."""
    return [(r.node, r.message) for r in context.remarks if r.kind.value == kind]


def feeds(proto: onnx.ModelProto, seed: int = 0, **symbols: int) -> dict[str, np.ndarray]:
    """Random inputs; symbolic dims from `symbols`, 2 where not given."""
    rng = np.random.default_rng(seed)
    weights = {tensor.name for tensor in proto.graph.initializer}
    found: dict[str, np.ndarray] = {}
    for value in proto.graph.input:
        if value.name in weights:
            continue
        tensor = value.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else symbols.get(d.dim_param, 2) for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind == "b":
            found[value.name] = rng.integers(0, 2, shape).astype(dtype)
        elif dtype.kind in "iu":
            found[value.name] = rng.integers(0 if dtype.kind == "u" else -4, 5, shape).astype(dtype)
        else:
            found[value.name] = rng.normal(size=shape).astype(dtype)
    return found


def values(proto: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return run_session(session(proto.SerializeToString()), inputs)


def saved(module: Module) -> onnx.ModelProto:
    """The module as a ModelProto that a runtime takes."""
    proto = oir.serde.serialize_model(module.model)
    proto.ir_version = ir.IR_VERSION
    return proto


def assert_same(
    proto: onnx.ModelProto,
    module: Module,
    inputs: Sequence[Mapping[str, np.ndarray]] | None = None,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    **symbols: int,
) -> None:
    """The outputs of the original and of the module have equal names, dtypes, shapes and values."""
    for one in inputs if inputs is not None else [feeds(proto, seed, **symbols) for seed in range(2)]:
        before, after = values(proto, one), values(saved(module), one)
        assert list(before) == list(after)
        for name, expected in before.items():
            assert after[name].dtype == expected.dtype, name
            assert after[name].shape == expected.shape, name
            np.testing.assert_allclose(after[name], expected, rtol=rtol, atol=atol, err_msg=name)


def check(
    text: str,
    passes: Sequence[Any] | Any,
    expected: Sequence[str],
    *,
    weights: Mapping[str, np.ndarray] | None = None,
    functions: str = "",
    rtol: float = 0.0,
    atol: float = 0.0,
    shapes: Sequence[Mapping[str, int]] = ({},),
) -> tuple[Module, Context]:
    """The whole check of one rewrite: text out, values at several shapes, and nothing left to do."""
    proto = model(text, weights, functions)
    module = load(proto)
    several = list(passes) if isinstance(passes, list | tuple) else [passes]
    _, context = run(module, *several)
    assert listing(module) == list(expected)
    for symbols in shapes:
        assert_same(proto, module, rtol=rtol, atol=atol, **symbols)
    for one in several:
        again, _ = run(module, one)
        assert not again.changed, f"{one.name} is not idempotent: {dict(again.counts)}"
    assert listing(module) == list(expected)
    return module, context
