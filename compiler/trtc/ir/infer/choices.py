"""Attributes that name one of a few ways to compute. Schemas say only that they are strings."""

from __future__ import annotations

from typing import Final

import onnx_ir as oir

_AUTO_PAD: Final = {"auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")}
_DIRECTION: Final = {"direction": ("forward", "reverse", "bidirectional")}
_LOSS: Final = {"reduction": ("mean", "sum", "none")}
_SCATTER: Final = {"reduction": ("none", "add", "mul", "max", "min")}

#: Operator of opset 23 -> attribute -> what it may be.
CHOICES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "AveragePool": _AUTO_PAD,
    "Conv": _AUTO_PAD,
    "ConvInteger": _AUTO_PAD,
    "ConvTranspose": _AUTO_PAD,
    "LpPool": _AUTO_PAD,
    "MaxPool": _AUTO_PAD,
    "QLinearConv": _AUTO_PAD,
    "BitShift": {"direction": ("LEFT", "RIGHT")},
    "DepthToSpace": {"mode": ("DCR", "CRD")},
    "Gelu": {"approximate": ("none", "tanh")},
    "GridSample": {
        "mode": ("linear", "nearest", "cubic", "bilinear", "bicubic"),
        "padding_mode": ("zeros", "border", "reflection"),
    },
    "GRU": _DIRECTION,
    "LSTM": _DIRECTION,
    "RNN": _DIRECTION,
    "NegativeLogLikelihoodLoss": _LOSS,
    "SoftmaxCrossEntropyLoss": _LOSS,
    "Pad": {"mode": ("constant", "reflect", "edge", "wrap")},
    "Resize": {
        "coordinate_transformation_mode": (
            *("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel"),
            *("align_corners", "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"),
        ),
        "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
        "mode": ("nearest", "linear", "cubic"),
        "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    },
    "RoiAlign": {"coordinate_transformation_mode": ("half_pixel", "output_half_pixel"), "mode": ("avg", "max")},
    "ScatterElements": _SCATTER,
    "ScatterND": _SCATTER,
}


def wrong(node: oir.Node) -> tuple[str, str, tuple[str, ...]] | None:
    """The first attribute of a standard operator that holds a name which it does not define: which one, what it holds
    and what it may. References to attributes of a function are not looked at."""
    for name, allowed in CHOICES.get(node.op_type, {}).items():
        found = node.attributes.get(name)
        if found is None or found.is_ref() or found.type != oir.AttributeType.STRING:
            continue
        text = found.as_string()
        if text not in allowed:
            return name, text, allowed
    return None
