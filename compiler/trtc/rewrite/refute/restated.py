"""Operators that ONNX Runtime computes by a body which loses digits: restated, so that a rule is not blamed for it.

`GroupNormalization` has no kernel; its body in ONNX takes the variance as E[x^2] - E[x]^2, which cancels where the mean
is larger than the deviation. InstanceNormalization over the groups is the same function, and its kernel is not so.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


def restated(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or one with the same results without such operators."""
    if all(node.op_type != "GroupNormalization" for node in model.graph.node):
        return model
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.node[:]
    for node in model.graph.node:
        made.graph.node.extend(_group(node) if node.op_type == "GroupNormalization" and not node.domain else [node])
    return made


def _group(node: onnx.NodeProto) -> Sequence[onnx.NodeProto]:
    name = node.output[0]
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    groups = int(attributes["num_groups"])
    x, scale, bias = node.input
    made: list[onnx.NodeProto] = []

    def add(op: str, inputs: list[str], suffix: str, **kept: Any) -> str:
        made.append(helper.make_node(op, inputs, [f"{name}/{suffix}"], **kept))
        return f"{name}/{suffix}"

    def constant(suffix: str, array: np.ndarray[Any, Any]) -> str:
        return add("Constant", [], suffix, value=numpy_helper.from_array(array))

    shape = add("Shape", [x], "shape")
    flat = add("Reshape", [x, constant("groups", np.array([0, groups, -1]))], "flat")
    ones = add("CastLike", [constant("ones32", np.ones(groups, np.float32)), x], "ones")
    zeros = add("CastLike", [constant("zeros32", np.zeros(groups, np.float32)), x], "zeros")
    epsilon = float(attributes.get("epsilon", 1e-5))
    plain = add("InstanceNormalization", [flat, ones, zeros], "plain", epsilon=epsilon)
    back = add("Reshape", [plain, shape], "back")
    # [C] as [C, 1, ...]: as many ones as there are axes of space.
    rank = add("Shape", [shape], "rank")
    space = add("Sub", [rank, constant("two", np.array([2]))], "space")
    tail = add("Expand", [constant("one", np.array([1])), space], "tail")
    per_channel = add("Concat", [constant("all", np.array([-1])), tail], "per_channel", axis=0)
    scaled = add("Mul", [back, add("Reshape", [scale, per_channel], "scale")], "scaled")
    made.append(helper.make_node("Add", [scaled, add("Reshape", [bias, per_channel], "bias")], [name]))
    return made


__all__ = ["restated"]
