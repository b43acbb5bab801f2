"""The interface of the original model: what every runner answers with, whatever the bindings of the target are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.ir.interface import dtype_name
from trtc.ir.module import Module


@dataclass(frozen=True, slots=True)
class Interface:
    """Names and numpy dtypes of inputs and outputs as the original model declares them."""

    inputs: Mapping[str, np.dtype[Any]]
    outputs: Mapping[str, np.dtype[Any]]


def interface_of(module: Module) -> Interface:
    """The interface of a module as it was loaded, before a pass or a spec touched it.

    Raises:
        DiagnosticError: T0579 an input or output is no tensor, or its dtype is not known; T0581 an output is declared
            with another dtype than it has.
    """
    problems: list[Diagnostic] = []

    def dtypes(values: Any, what: str) -> dict[str, np.dtype[Any]]:
        found: dict[str, np.dtype[Any]] = {}
        for value in values:
            # What an operator that nobody knows gives is what the model says; emission names the operator.
            dtype = module.dtype(value) or (value.dtype if isinstance(value.type, oir.TensorType) else None)
            if dtype is None:
                problems.append(
                    Diagnostic(
                        "T0579",
                        f"the {what} `{value.name}` is not a tensor of a known dtype",
                        node=value.name,
                        help="TensorRT takes and gives tensors: convert sequences and optionals in the model",
                    )
                )
            else:
                found[value.name or ""] = np.dtype(dtype.numpy())
                if value.dtype not in (None, oir.DataType.UNDEFINED, dtype):
                    problems.append(
                        Diagnostic(
                            "T0581",
                            f"the model declares the {what} `{value.name}` {dtype_name(value.dtype)}, "
                            f"but what it computes is {dtype_name(dtype)}",
                            node=value.name,
                            help="correct the declaration, or put a Cast before the output",
                        )
                    )
        return found

    interface = Interface(dtypes(module.graph.inputs, "input"), dtypes(module.graph.outputs, "output"))
    if problems:
        raise DiagnosticError.of(problems)
    return interface
