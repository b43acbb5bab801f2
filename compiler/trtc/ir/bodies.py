"""Operators of a spec's own in the IR: functions of the model that a rule put there, called by name on every target.

Such an operator has a domain for each meaning that a spec declares. A body is made for the types and fields of a call;
calls that differ there call different overloads, so that the name of the operator stays the name of its nodes.
"""

from __future__ import annotations

import hashlib
from typing import Final

import onnx_ir as oir

from trtc.ir.module import OPSET, Module
from trtc.ir.plugins import digest, name_parts

#: The key of a function's metadata that says so, with the name that the spec calls it.
METADATA: Final = "trtc.operator"


def is_operator(function: oir.Function | None) -> bool:
    """Whether a function is an operator of a spec's own, and no function that only came with a model."""
    return function is not None and METADATA in function.metadata_props


def declare(module: Module, domain: str, name: str, graph: oir.Graph, doc: str | None) -> oir.Function:
    """Make a body an overload of an operator of the module. The same body twice is the same function."""
    made = oir.Function(domain, name, graph=graph, attributes=())
    made.doc_string = doc
    made.metadata_props[METADATA] = name
    made.opset_imports.setdefault("", OPSET)
    for node in made.all_nodes():
        if node.domain:
            made.opset_imports.setdefault(node.domain, 1)
            # Where the body is inlined, its nodes are the model's.
            module.model.opset_imports.setdefault(node.domain, 1)
    name_parts(made)
    # By its content: what an overload is called depends on nothing that is made before it, nor on the model.
    made.overload = f"b{hashlib.sha256(digest(made)).hexdigest()[:8]}"
    module.model.opset_imports.setdefault(domain, 1)
    return module.model.functions.setdefault(made.identifier(), made)


__all__ = ["METADATA", "declare", "is_operator"]
