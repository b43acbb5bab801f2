"""The optimization passes of trtc, one module each. `PASSES` is what the entry point `trtc.passes` names.

A pass imports onnx_ir, numpy and the editing of the IR inside its functions, so that its options can be listed and
checked without them.
"""

from trtc_passes.cse import Cse
from trtc_passes.dce import Dce
from trtc_passes.fold_batch_norm import FoldBatchNorm
from trtc_passes.fold_constants import FoldConstants
from trtc_passes.fold_pad import FoldPad
from trtc_passes.inline_functions import InlineFunctions
from trtc_passes.inline_if import InlineIf
from trtc_passes.merge_chains import MergeChains
from trtc_passes.remove_identities import RemoveIdentities
from trtc_passes.simplify_shapes import SimplifyShapes

PASSES: tuple[type, ...] = (
    Cse,
    Dce,
    FoldBatchNorm,
    FoldConstants,
    FoldPad,
    InlineFunctions,
    InlineIf,
    MergeChains,
    RemoveIdentities,
    SimplifyShapes,
)

__all__ = [
    "PASSES",
    "Cse",
    "Dce",
    "FoldBatchNorm",
    "FoldConstants",
    "FoldPad",
    "InlineFunctions",
    "InlineIf",
    "MergeChains",
    "RemoveIdentities",
    "SimplifyShapes",
]
