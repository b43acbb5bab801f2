"""ONNX Runtime with nothing of its own cleverness: the reference must not share our mistakes, nor add its own."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def session(model: Path | str | bytes, *, threads: int | None = None) -> Any:
    """An `onnxruntime.InferenceSession` on the CPU with every graph optimization off.

    A path is needed for a model with external data. Raises what onnxruntime raises. What an older ONNX Runtime runs
    wrongly, or has no kernel for, is restated first (`trtc.evaluate.older`).
    """
    import onnxruntime as ort
    from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

    from trtc.evaluate import older

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = threads or min(os.cpu_count() or 1, 8)
    # Prepacking copies every weight into a layout of its own: memory for speed that a single run never repays.
    options.add_session_config_entry("session.disable_prepacking", "1")
    options.enable_cpu_mem_arena = False

    def make(source: Path | str | bytes) -> Any:
        if isinstance(source, bytes) and not isinstance(model, bytes):
            folder = str(Path(model).absolute().parent)
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        text = source if isinstance(source, bytes) else str(source)
        return ort.InferenceSession(text, options, providers=["CPUExecutionProvider"])

    source = older.repaired(model, older.version(ort.__version__)) or model
    try:
        return make(source)
    except NoKernel:
        other = older.without_gaps(source)
        if other is None:
            raise
        return make(other)


def run_session(
    running: Any, feeds: Mapping[str, np.ndarray], outputs: Sequence[str] | None = None
) -> dict[str, np.ndarray]:
    """Outputs by name. `feeds` may hold more than the session asks for."""
    names = list(outputs) if outputs is not None else [o.name for o in running.get_outputs()]
    wanted = {i.name for i in running.get_inputs()}
    values = running.run(names, {k: v for k, v in feeds.items() if k in wanted})
    return dict(zip(names, values, strict=True))
