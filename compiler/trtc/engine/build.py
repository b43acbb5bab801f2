"""The builder's configuration from the fields of a spec, and the build itself."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.engine.job import BuildEvent, BuildJob, Profile
from trtc.engine.monitor import monitor
from trtc.targets import BUILDER_FIELDS, Target
from trtc.targets.fields import Field


def build(
    builder: Any,
    network: Any,
    target: Target,
    job: BuildJob,
    on_event: Callable[[BuildEvent], None],
    cancelled: Callable[[], bool],
) -> int:
    """Build the engine of a network into the file `job.plan`; its size in bytes.

    Raises:
        DiagnosticError: T0802 TensorRT refused a setting, T0803 a profile, T0804 the build; T0805 cancelled.
    """
    config = builder.create_builder_config()
    configure(config, target, job)
    for profile in job.profiles:
        config.add_optimization_profile(_profile(builder, network, target, profile))
    watch = monitor(target.module, on_event, cancelled)
    if watch is not None:
        config.progress_monitor = watch
    mark = target.logger.mark()
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        if cancelled():
            raise DiagnosticError(Diagnostic("T0805", "the build was cancelled"))
        raise DiagnosticError(_refused(target, mark))
    assert job.plan is not None
    view = memoryview(plan)
    with Path(job.plan).open("wb") as file:
        file.write(view)
    return view.nbytes


def configure(config: Any, target: Target, job: BuildJob) -> None:
    """Apply every builder field, the defaults of trtc included, and read each back: TensorRT's setters do not raise."""
    settings = {name: field.default for name, field in BUILDER_FIELDS.items() if field.default is not None}
    settings.update(job.builder)
    for name, value in settings.items():
        field = BUILDER_FIELDS[name]
        if target.name in field.targets:
            _apply(config, target, field, value)
    if job.compute:
        _compute(config, target, job.compute)


def _apply(config: Any, target: Target, field: Field, value: Any) -> None:
    trt = target.module
    mark = target.logger.mark()
    try:
        if field.mapped == "flag":
            flag = getattr(trt.BuilderFlag, field.member)
            (config.set_flag if value else config.clear_flag)(flag)
            now: Any = bool(config.get_flag(flag))
        elif field.mapped == "pool":
            pool = getattr(trt.MemoryPoolType, field.member)
            config.set_memory_pool_limit(pool, int(value))
            now = config.get_memory_pool_limit(pool)
        elif field.mapped == "sources":
            value = sum(1 << int(getattr(trt.TacticSource, name.upper())) for name in value)
            config.set_tactic_sources(value)
            now = config.get_tactic_sources()
        elif field.mapped == "enum":
            value = getattr(getattr(trt, str(field.enum)), str(value).upper())
            setattr(config, field.member, value)
            now = getattr(config, field.member)
        else:
            setattr(config, field.member, value)
            now = getattr(config, field.member)
    except AttributeError:
        # Setting to its default what this TensorRT does not have at all is no wish that could go unheard.
        if value == field.default:
            return
        raise DiagnosticError(
            Diagnostic(
                "T0802",
                f"{target.name} {target.version} has no `{field.name}`",
                help=f"leave `{field.name}` out of the builder block, or choose another target",
            )
        ) from None
    if now != value:
        raise DiagnosticError(
            Diagnostic(
                "T0802",
                f"{target.name} {target.version} did not accept `{field.name} = {_text(value)}`",
                notes=(f"it keeps {_text(now)}", *target.logger.errors(mark)),
            )
        )


def _text(value: Any) -> str:
    return getattr(value, "name", str(value)).lower()


def _compute(config: Any, target: Target, wanted: tuple[str, ...]) -> None:
    if not target.capabilities.compute_capabilities:
        raise DiagnosticError(
            Diagnostic(
                "T0802",
                f"{target.name} {target.version} builds for the GPU it runs on: it takes no `compute`",
                help="leave `compute` out",
            )
        )
    config.num_compute_capabilities = len(wanted)
    for at, text in enumerate(wanted):
        member = target.compute_capability(text)
        config.set_compute_capability(member, at)
        if config.get_compute_capability(at) != member:
            raise DiagnosticError(Diagnostic("T0802", f"{target.name} did not accept compute capability {text}"))


def _profile(builder: Any, network: Any, target: Target, profile: Profile) -> Any:
    made = builder.create_optimization_profile()
    mark = target.logger.mark()
    inputs = {network.get_input(i).name for i in range(network.num_inputs)}
    for kind, ranges in (("shape", profile.shapes), ("shape_input", profile.values)):
        for name, (low, opt, high) in ranges.items():
            if name not in inputs:
                continue
            if kind == "shape":
                made.set_shape(name, low, opt, high)
                now = [tuple(dims) for dims in made.get_shape(name)]
            else:
                made.set_shape_input(name, low, opt, high)
                now = [tuple(values) for values in made.get_shape_input(name)]
            if now != [low, opt, high]:
                raise DiagnosticError(
                    Diagnostic(
                        "T0803",
                        f"{target.name} did not accept the profile `{profile.name}` for `{name}`",
                        node=name,
                        notes=(f"min {low}, opt {opt}, max {high}", *target.logger.errors(mark)),
                    )
                )
    return made


def _refused(target: Target, mark: int) -> Diagnostic:
    errors = target.logger.errors(mark)
    return Diagnostic(
        "T0804",
        f"{target.name} {target.version} did not build the engine",
        notes=errors[:6] or ("it gave no reason",),
        help="the layer named in the message carries the name of its ONNX node; "
        "`trtc dump --around NODE` shows its neighbourhood",
    )
