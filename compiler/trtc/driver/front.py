"""The front end: a model loaded, checked against its spec, and through its pipeline. TensorRT is not needed for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtc.diagnostics import Diagnostic, DiagnosticError, suggest
from trtc.driver.library import registry
from trtc.driver.spec import Triple
from trtc.engine.job import BuildJob
from trtc.lang.spec import Spec
from trtc.targets import has_plugins

if TYPE_CHECKING:
    from trtc.ir.module import Module
    from trtc.pipeline.runner import Instrument, Outcome


@dataclass(slots=True)
class Prepared:
    """A model loaded, checked against its spec and, after `optimize`, through the pipeline."""

    spec: Spec
    module: Module
    profiles: Mapping[str, Mapping[str, Triple]]
    interface: Any
    """Names and dtypes of inputs and outputs as the file declares them."""
    frozen: Mapping[str, Any]
    adopted: bool = False
    """Whether the file holds nodes of plugins, so that ONNX Runtime runs it only with their meanings."""
    outcome: Outcome | None = None


def _known_outputs(spec: Spec, outputs: Mapping[str, Any]) -> None:
    """Raises DiagnosticError T0570 for a tolerance of an output that the model does not have."""
    problems = [
        Diagnostic(
            "T0570",
            f"`verify` has a tolerance for `{name}`, and the model has no such output",
            span=spec.verify.span,
            help=f"did you mean `{close}`?" if (close := suggest(name, outputs)) else f"outputs: {', '.join(outputs)}",
        )
        for name in spec.verify.outputs
        if name not in outputs
    ]
    if problems:
        raise DiagnosticError.of(problems)


def prepare(spec: Spec, *, covered: bool = True) -> Prepared:
    """Load the model of a spec and apply what the spec says of its interface.

    `covered=False` leaves profiles unchecked.

    Raises:
        DiagnosticError: T04xx the file, T057x the interface, T06xx the graph.
    """
    from trtc import ir
    from trtc.engine.profiles import input_symbols
    from trtc.evaluate import Evaluator
    from trtc.ir.infer import infer_all
    from trtc.ir.interface import Declared, apply_inputs, check_outputs, fix_dims
    from trtc.verify.interface import interface_of

    creators = frozenset[str]()
    if spec.plugins:
        from trtc.rewrite.plugins import creators_of

        creators = creators_of(spec.plugins)
    module = ir.load(spec.model, plugins=creators)
    interface = interface_of(module)
    module.symbols.update(spec.dims)
    inputs = [Declared.of(t.name, t.dtype, t.dims, t.value, t.span) for t in spec.inputs]
    apply_inputs(module, inputs)
    used = input_symbols(module)
    fixed = fix_dims(module)
    adopted = False
    if spec.plugins:
        from trtc.rewrite.plugins import adopt

        adopted = bool(adopt(module, spec.plugins, Evaluator()))
    infer_all(module)
    check_outputs(module, [Declared.of(t.name, t.dtype, t.dims, None, t.span) for t in spec.outputs])
    profiles = {p.name: {d: t for d, t in p.dims.items() if d not in fixed or d not in used} for p in spec.profiles}
    _known_outputs(spec, interface.outputs)
    frozen = {one.name: one.value for one in inputs if one.value is not None}
    prepared = Prepared(spec, module, profiles, interface, frozen, adopted)
    if covered:
        cover(prepared)  # what is wrong with the profiles is said before any work
    return prepared


def cover(prepared: Prepared) -> None:
    """Raises DiagnosticError T0576, T0577, T0578, T0580 for what the profiles of a spec leave open."""
    from trtc.engine.profiles import profiles_of
    from trtc.verify.inputs import refuse_shape_inputs

    profiles_of(prepared.module, prepared.profiles, prepared.spec.path.name)
    refuse_shape_inputs(prepared.module)


@dataclass(slots=True)
class PreparedModel:
    """A model in memory through the standard pipeline, for callers without files."""

    module: Module
    interface: Any
    dims: Mapping[str, Triple]

    def build(self, lowered: Any) -> bytes:
        """The bytes of an engine of the network, with one profile over `dims`."""
        import tempfile

        from trtc.engine.build import build
        from trtc.engine.profiles import profiles_of

        profiles = profiles_of(self.module, {"default": self.dims} if self.dims else {}, "model")
        with tempfile.NamedTemporaryFile(prefix="trtc-", suffix=".engine") as file:
            job = BuildJob(model="", target=lowered.target.name, profiles=profiles, plan=file.name)
            build(lowered.builder, lowered.network, lowered.target, job, lambda _event: None, lambda: False)
            return Path(file.name).read_bytes()


def prepare_module(module: Module, dim: Mapping[str, str | int | Triple] | None = None) -> PreparedModel:
    """Run the standard pipeline on a module that was just loaded."""
    from trtc import lang
    from trtc.driver.library import vocabulary
    from trtc.driver.spec import triple
    from trtc.ir.infer import infer_all
    from trtc.verify.interface import interface_of

    interface = interface_of(module)
    dims = {name: triple(name, value) for name, value in (dim or {}).items()}
    module.symbols.update({name: (low, high) for name, (low, _, high) in dims.items()})
    infer_all(module)
    run_pipeline(module, lang.for_model(Path("model.onnx"), vocabulary()).pipeline)
    return PreparedModel(module, interface, dims)


def run_pipeline(
    module: Module, steps: Sequence[Any], instruments: Sequence[Instrument] = (), *, plugins: bool | None = None
) -> Outcome:
    """Run steps with the installed passes, the IR verified after every pass. `plugins`: whether the target has such."""
    from trtc.evaluate import Evaluator
    from trtc.pipeline import Context
    from trtc.pipeline.runner import Verify, run

    return run(module, steps, registry(), Context(Evaluator(), plugins=plugins), [Verify(), *instruments])


def optimize(prepared: Prepared, instruments: Sequence[Instrument] = (), *, allow_code: bool = False) -> Outcome:
    """Run the pipeline of the spec, the IR verified after every pass. `allow_code`: constraints in Python may run."""
    from trtc.rewrite.externs import allowed

    spec = prepared.spec
    # Who declares no plugin need not wait until it is known which TensorRT will be taken.
    plugins = has_plugins(spec.target.name if spec.target is not None else None) if spec.plugins else None
    with allowed(allow_code, spec.path.parent):
        outcome = run_pipeline(prepared.module, spec.pipeline, instruments, plugins=plugins)
    prepared.outcome = outcome
    return outcome
