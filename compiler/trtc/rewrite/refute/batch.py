"""Many instances as one model: rewritten by the engine at once, and each side computed in one session."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx_ir as oir

from trtc.diagnostics import DiagnosticError
from trtc.evaluate import Evaluator, session
from trtc.evaluate.overloads import named_apart
from trtc.ir.canonical import canonicalize
from trtc.ir.infer import infer_all
from trtc.ir.module import IR_VERSION, OPSET, Module
from trtc.lang.rules import Rule
from trtc.pipeline.passes import Context
from trtc.rewrite.refute.compare import Difference, compare
from trtc.rewrite.refute.doubled import doubled, single, wide, without_bfloat
from trtc.rewrite.refute.instance import Instance
from trtc.rewrite.refute.restated import restated

Arrays = dict[str, np.ndarray[Any, Any]]

#: What ONNX Runtime raises for a graph that is wrong, not one that it has no kernels for.
_REFUSALS = frozenset({"Fail", "InvalidArgument"})
#: Faults of the engine after which it is not asked which instance is to blame.
_FAULTS = 3


@dataclass(slots=True)
class Verdict:
    """What became of one instance.

    fired: the rule replaced what it should. error: why a side was not computed; fault: because the engine raised what
    is no diagnostic. difference: the counterexample.
    """

    instance: Instance
    fired: bool = False
    error: str | None = None
    fault: bool = False
    difference: Difference | None = None
    output: str = ""
    ratio: float = 0.0
    certain: bool = True
    """Whether the truth was computed in float64."""

    @property
    def held(self) -> bool:
        return self.fired and self.error is None and self.difference is None


@dataclass(slots=True)
class Applied:
    """The two sides of some instances as models, and which of them the rule rewrote."""

    left: onnx.ModelProto
    right: onnx.ModelProto
    fired: set[str] = field(default_factory=set[str])
    """Prefixes of the instances."""


def run(rule: Rule, instances: Sequence[Instance]) -> list[Verdict]:
    """Applies the rule to all instances and compares the sides. What the engine or a session refuses is an `error`."""
    verdicts = {i.prefix: Verdict(i) for i in instances}
    _apply(rule, list(instances), verdicts, [])
    return list(verdicts.values())


def _apply(rule: Rule, instances: list[Instance], verdicts: Mapping[str, Verdict], faults: list[Exception]) -> None:
    if not instances:
        return
    try:
        applied = apply(rule, instances)
    except Exception as error:
        # One instance that is no model, or that the engine stumbles over, does not stop the others.
        refused = isinstance(error, DiagnosticError)
        if len(instances) == 1 or len(faults) >= _FAULTS:
            for instance in instances:
                verdict = verdicts[instance.prefix]
                verdict.error, verdict.fault = _text(error), not refused
            faults += [] if refused else [error]
            return
        half = len(instances) // 2
        for part in (instances[:half], instances[half:]):
            _apply(rule, part, verdicts, faults)
        return
    fired = [i for i in instances if i.prefix in applied.fired]
    for instance in fired:
        verdicts[instance.prefix].fired = True
    _compare(rule, fired, applied, verdicts)


def apply(rule: Rule, instances: Sequence[Instance]) -> Applied:
    """One model of all instances, brought to canonical form and rewritten.

    Raises:
        DiagnosticError: an instance is no valid model.
    """
    from trtc.rewrite.engine import apply as rewrite

    module = _module(instances)
    canonicalize(module)
    infer_all(module)
    left = oir.serde.serialize_model(module.model)
    names = {v.name for i in instances for v in i.roots}
    before = {v.name: n for n in module.graph for v in n.outputs if v.name in names}
    rewrite(module, (rule,), Context(Evaluator()))
    right = oir.serde.serialize_model(module.model)
    fired = {i.prefix for i in instances if all(before[v.name].graph is None for v in i.roots)}
    return Applied(left, right, fired)


def _module(instances: Sequence[Instance]) -> Module:
    """Copies of the instances side by side."""
    model = oir.serde.serialize_model(
        oir.Model(oir.Graph([], [], nodes=[], opset_imports={"": OPSET}, name="instances"), ir_version=IR_VERSION)
    )
    graph = model.graph
    domains: set[str] = set()
    called: dict[Any, oir.Function] = {}
    for instance in instances:
        called.update(instance.functions)
        for value in instance.inputs:
            oir.serde.serialize_value_into(graph.input.add(), value)
        for value in instance.constants:
            assert value.const_value is not None
            tensor = oir.serde.serialize_tensor(value.const_value)
            tensor.name = value.name or ""
            graph.initializer.append(tensor)
        for node in instance.nodes:
            graph.node.append(oir.serde.serialize_node(node))
            domains.add(node.domain)
        for value in instance.outputs:
            oir.serde.serialize_value_into(graph.output.add(), value)
    for domain in sorted(domains - {""}):
        model.opset_import.add(domain=domain, version=1)
    model.functions.extend(oir.serde.serialize_function(function) for function in called.values())
    return Module(oir.serde.deserialize_model(model))


def _compare(rule: Rule, instances: list[Instance], applied: Applied, verdicts: Mapping[str, Verdict]) -> None:
    if not instances:
        return
    names = {v.name or "": i for i in instances for v in i.outputs}
    feeds: Arrays = {v.name or "": a for i in instances for v, a in i.inputs.items()}
    exact = {name: number for i in instances for name, number in i.exact.items()}
    far = {name: number for i in instances for name, number in i.far.items()}
    sides = [applied.left, applied.right]
    if any(a.dtype.name == "bfloat16" for a in feeds.values()):
        sides = [without_bfloat(side) for side in sides]
    left = compute(sides[0], names, single(feeds), verdicts)
    invalid: dict[str, str] = {}
    right = compute(sides[1], names, single(feeds), verdicts, invalid)
    truth = _truth(applied.left, exact, names, feeds)
    edge = _truth(applied.left, {**exact, **far}, names, feeds) if far else {}
    finite = "finite" in getattr(rule, "assumes", ())
    for name, instance in names.items():
        verdict = verdicts[instance.prefix]
        if name in left and instance.prefix in invalid:
            reason = f"the right side is no valid graph: {invalid[instance.prefix]}"
            verdict.difference = Difference(reason, (), None, None, None, np.inf, 0.0)
            continue
        if name not in left or name not in right:
            verdict.error = verdict.error or "it was not computed"
            continue
        verdict.certain &= name in truth
        wrong, ratio = compare(
            left[name],
            right[name],
            truth.get(name),
            edge.get(name),
            operands=_largest(instance),
            assumes_finite=finite,
        )
        verdict.ratio = max(verdict.ratio, ratio)
        if wrong is not None and verdict.difference is None:
            verdict.difference, verdict.output = wrong, name


def _largest(instance: Instance) -> float:
    """The largest finite number among the operands."""
    found = 0.0
    constants = [v.const_value.numpy() for v in instance.leaves.values() if v.const_value is not None]
    for array in (*instance.inputs.values(), *constants):
        if np.issubdtype(array.dtype, np.floating) and array.size:
            found = max(found, float(np.abs(array[np.isfinite(array)]).max(initial=0)))
    return found


def compute(
    model: onnx.ModelProto,
    names: Mapping[str, Instance],
    feeds: Arrays,
    verdicts: Mapping[str, Verdict],
    invalid: dict[str, str] | None = None,
) -> Arrays:
    """Outputs by ONNX Runtime; what it has no kernel for, by the reference; what fails is noted.

    invalid: gets what ONNX Runtime refuses for another reason than that it has no kernel.
    """

    def failed(prefix: str, error: Exception) -> None:
        if invalid is not None and type(error).__name__ in _REFUSALS:
            invalid[prefix] = _text(error)
        else:
            verdicts[prefix].error = _text(error)

    return _bisected(model, list(names), names, feeds, _by_runtime, failed)


def _truth(
    model: onnx.ModelProto, numbers: Mapping[str, float], names: Mapping[str, Instance], feeds: Arrays
) -> Arrays:
    return _bisected(doubled(model, numbers), list(names), names, wide(feeds), _by_either, lambda _prefix, _error: None)


_Run = Callable[[onnx.ModelProto, Arrays, Sequence[str]], Sequence[Any]]


def _bisected(
    model: onnx.ModelProto,
    outputs: list[str],
    names: Mapping[str, Instance],
    feeds: Arrays,
    run: _Run,
    failed: Callable[[str, Exception], None],
) -> Arrays:
    prefixes = list(dict.fromkeys(names[o].prefix for o in outputs))
    part = extract(model, outputs)
    wanted = {info.name for info in part.graph.input}
    try:
        values = run(part, {k: v for k, v in feeds.items() if k in wanted}, outputs)
    except Exception as error:
        if len(prefixes) == 1:
            if type(error).__name__ in _REFUSALS:
                failed(prefixes[0], error)
                return {}
            try:
                values = _by_reference(part, {k: v for k, v in feeds.items() if k in wanted}, outputs)
            except Exception:
                failed(prefixes[0], error)
                return {}
            return dict(zip(outputs, (np.asarray(v) for v in values), strict=True))
        half = set(prefixes[: len(prefixes) // 2])
        first = [o for o in outputs if names[o].prefix in half]
        second = [o for o in outputs if names[o].prefix not in half]
        return {
            **_bisected(part, first, names, feeds, run, failed),
            **_bisected(part, second, names, feeds, run, failed),
        }
    return dict(zip(outputs, (np.asarray(v) for v in values), strict=True))


def extract(model: onnx.ModelProto, outputs: Sequence[str]) -> onnx.ModelProto:
    """The part of a model that the outputs need."""
    graph = model.graph
    all_nodes = list(graph.node)
    makers = {name: at for at, node in enumerate(all_nodes) for name in node.output if name}
    needed: set[str] = set()
    nodes: set[int] = set()
    stack = list(outputs)
    while stack:
        name = stack.pop()
        if name in needed:
            continue
        needed.add(name)
        at = makers.get(name)
        if at is not None and at not in nodes:
            nodes.add(at)
            stack += [i for i in all_nodes[at].input if i]
    made = onnx.ModelProto(ir_version=IR_VERSION, opset_import=model.opset_import, functions=model.functions)
    made.graph.name = graph.name
    made.graph.node.extend(all_nodes[at] for at in sorted(nodes))
    made.graph.input.extend(info for info in graph.input if info.name in needed)
    made.graph.initializer.extend(t for t in graph.initializer if t.name in needed)
    made.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
    return made


def _by_runtime(model: onnx.ModelProto, feeds: Arrays, outputs: Sequence[str]) -> Sequence[Any]:
    running = session(restated(model).SerializeToString(), threads=1)
    # Copied while the session lives: what it gives may lie in its memory.
    return [np.array(value) for value in running.run(list(outputs), feeds)]


def _by_reference(model: onnx.ModelProto, feeds: Arrays, outputs: Sequence[str]) -> Sequence[Any]:
    from onnx.reference import ReferenceEvaluator

    from trtc.rewrite.refute.kernels import KERNELS

    found: Any = ReferenceEvaluator(named_apart(model), new_ops=KERNELS if _one_output(model) else None)
    with np.errstate(all="ignore"):
        return found.run(list(outputs), feeds)


def _one_output(model: onnx.ModelProto) -> bool:
    """No MaxPool gives indices, which `kernels` does not."""
    return all(len(node.output) == 1 for node in model.graph.node if node.op_type == "MaxPool")


def _by_either(model: onnx.ModelProto, feeds: Arrays, outputs: Sequence[str]) -> Sequence[Any]:
    try:
        return _by_runtime(model, feeds, outputs)
    except Exception:
        # ONNX Runtime has few kernels in float64; the reference has nearly all.
        return _by_reference(model, feeds, outputs)


def _text(error: Exception) -> str:
    if isinstance(error, DiagnosticError):
        return error.diagnostics[0].message
    return f"{type(error).__name__}: {error}"[:300]


__all__ = ["Applied", "Verdict", "apply", "run"]
