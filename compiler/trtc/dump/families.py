"""Families of operators, and the colour of each in a drawing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """A group of operators that are drawn alike. Colours are `#rrggbb`, with white text on them (4.5:1 or better)."""

    name: str
    color: str


LAYER = Family("layer", "#2f5d9b")
ACTIVATION = Family("activation", "#8f3327")
POOL = Family("pooling", "#3f6b3a")
NORMALIZATION = Family("normalization", "#1f6f64")
ELEMENTWISE = Family("elementwise", "#565b66")
REDUCTION = Family("reduction", "#5d6120")
SHAPE = Family("shape", "#7a5030")
INDEXING = Family("indexing", "#6e4a6e")
QUANTIZATION = Family("quantization", "#8a5a00")
CONTROL = Family("control flow", "#a0204e")
LOGIC = Family("logic", "#4a5580")
CUSTOM = Family("function or custom operator", "#5b3fa0")
OTHER = Family("other", "#474c55")

_MEMBERS: dict[Family, str] = {
    LAYER: """Conv ConvTranspose ConvInteger DeformConv Gemm MatMul MatMulInteger Einsum LSTM GRU RNN Attention
        RotaryEmbedding Det""",
    ACTIVATION: """Relu LeakyRelu PRelu Sigmoid HardSigmoid HardSwish Tanh Elu Selu Celu Softplus Softsign Softmax
        LogSoftmax Hardmax Gelu Mish Swish ThresholdedRelu Clip Shrink Erf""",
    POOL: """MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool GlobalLpPool MaxUnpool MaxRoiPool RoiAlign
        Resize Upsample GridSample AffineGrid""",
    NORMALIZATION: """BatchNormalization InstanceNormalization GroupNormalization LayerNormalization RMSNormalization
        LRN LpNormalization MeanVarianceNormalization Dropout""",
    ELEMENTWISE: """Add Sub Mul Div Pow Sqrt Reciprocal Exp Log Abs Neg Sign Floor Ceil Round Min Max Mean Sum Mod Cast
        CastLike Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh BitShift Identity CumSum""",
    REDUCTION: """ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
        ReduceSumSquare ArgMax ArgMin TopK""",
    SHAPE: """Reshape Transpose Flatten Squeeze Unsqueeze Concat Split Expand Tile Pad Shape Size ConstantOfShape
        DepthToSpace SpaceToDepth Col2Im CenterCropPad""",
    INDEXING: """Gather GatherElements GatherND Scatter ScatterElements ScatterND TensorScatter Slice OneHot NonZero
        Compress Range EyeLike Trilu ReverseSequence Unique NonMaxSuppression""",
    QUANTIZATION: "QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearConv QLinearMatMul",
    CONTROL: "If Loop Scan SequenceMap",
    LOGIC: """And Or Xor Not Equal Less LessOrEqual Greater GreaterOrEqual Where IsNaN IsInf BitwiseAnd BitwiseOr
        BitwiseXor BitwiseNot""",
}
_OF = {op: family for family, ops in _MEMBERS.items() for op in ops.split()}


def family(domain: str, op_type: str) -> Family:
    """The family of an operator; everything outside ai.onnx is of one family."""
    if domain not in ("", "ai.onnx"):
        return CUSTOM
    return _OF.get(op_type, OTHER)
