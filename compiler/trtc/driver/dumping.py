"""`dump`: a graph, at a stage of the compile, in a format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trtc.diagnostics import Remark
from trtc.driver.spec import Triple, spec_for
from trtc.lang.spec import Expect, Fixpoint, Step


def without_expectations(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of a pipeline that change or keep the graph."""
    return tuple(
        replace(step, steps=without_expectations(step.steps)) if isinstance(step, Fixpoint) else step
        for step in steps
        if not isinstance(step, Expect)
    )


def dump(
    path: str | Path,
    *,
    set: Mapping[str, object] | None = None,
    dim: Mapping[str, str | int | Triple] | None = None,
    stage: str | None = None,
    format: str | None = None,
    output: str | Path | None = None,
    full: bool = False,
    around: str | None = None,
    limit: int = 500,
) -> str | None:
    """The graph of a model or spec as text, or None when it was written to `output`.

    `stage` is `loaded` or `optimized` (default: optimized for a spec, loaded for a model).

    Raises:
        DiagnosticError: what is wrong with the spec or model, T11xx the output.
    """
    from trtc import dump as room
    from trtc import ir
    from trtc.driver.front import run_pipeline
    from trtc.ir.infer import infer_all
    from trtc.ir.interface import Declared, apply_inputs, fix_dims

    source = Path(path)
    spec = spec_for(source, set=set, dim=dim)
    module = ir.load(spec.model)
    module.symbols.update(spec.dims)
    apply_inputs(module, [Declared.of(t.name, t.dtype, t.dims, t.value, t.span) for t in spec.inputs])
    fix_dims(module)
    infer_all(module)
    remarks: Sequence[Remark] = ()
    if (stage or ("optimized" if source.suffix == ".trtspec" else "loaded")) == "optimized":
        # An `expect` that fails is a reason to look at the graph, not one to withhold it.
        remarks = run_pipeline(module, without_expectations(spec.pipeline)).remarks
    if output is not None:
        room.write(module, Path(output), format, full=full, limit=limit, around=around, remarks=remarks)
        return None
    return room.render(module, format or "text", full=full, limit=limit, around=around, remarks=remarks)
