# ruff: noqa: E501, SIM905
"""One small graph per operator (several where it has several ways to be emitted), in the text form of ONNX.

N is dynamic; plans are built for N = 2.
"""

from __future__ import annotations


def floats(count: int) -> str:
    return "{" + ", ".join(str((7 * i % 11) / 10 + 0.05) for i in range(count)) + "}"


def _unary(op: str, kind: str = "float") -> str:
    return f"({kind}[N,3,4] x) => ({kind}[N,3,4] y) {{ y = {op}(x) }}"


CASES: dict[str, str] = {
    **{
        op: _unary(op)
        for op in (
            "Abs Neg Sign Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Exp Floor Log Reciprocal Round Sin Sinh "
            "Sqrt Tan Relu LeakyRelu Elu Selu Sigmoid HardSigmoid HardSwish Mish Softplus Softsign ThresholdedRelu "
            "Gelu Tanh Softmax LogSoftmax Hardmax Celu Shrink Identity LpNormalization"
        ).split()
    },
    "Abs int": _unary("Abs", "int64"),
    "Neg int": _unary("Neg", "int32"),
    "Sign int": _unary("Sign", "int64"),
    "Relu int": _unary("Relu", "int32"),
    "Not": _unary("Not", "bool"),
    "half": _unary("Relu", "float16"),
    "bfloat": "(bfloat16[N,4] x) => (bfloat16[N,4] y) <bfloat16 c = {16384}> { y = Mul(x, c) }",
    "Celu alpha": "(float[N,4] x) => (float[N,4] y) { y = Celu<alpha = 2.0>(x) }",
    "Gelu tanh": '(float[N,4] x) => (float[N,4] y) { y = Gelu<approximate = "tanh">(x) }',
    "Swish": '<ir_version: 10, opset_import: ["" : 24]> g (float[N,4] x) => (float[N,4] y) { y = Swish<alpha = 1.5>(x) }',
    "Softmax line": "(float[5] x) => (float[5] y) { y = Softmax(x) }",
    "Softmax axis": "(float[N,3,4] x) => (float[N,3,4] y) { y = Softmax<axis = 1>(x) }",
    "PRelu": "(float[N,3,4] x) => (float[N,3,4] y) <float[3,1] s = {0.1, 0.2, 0.3}> { y = PRelu(x, s) }",
    "IsNaN": "(float[N,4] x) => (bool[N,4] y) { y = IsNaN(x) }",
    "IsInf": "(float[N,4] x) => (bool[N,4] y) { y = IsInf(x) }",
    "IsInf positive": "(float[N,4] x) => (bool[N,4] y) { y = IsInf<detect_negative = 0>(x) }",
    "IsInf none": "(float[N,4] x) => (bool[N,4] y) { y = IsInf<detect_negative = 0, detect_positive = 0>(x) }",
    "Cast": "(float[N,4] x) => (int64[N,4] y) { y = Cast<to = 7>(x) }",
    "Cast bool": "(float[N,4] x) => (bool[N,4] y) { y = Cast<to = 9>(x) }",
    "Cast uint8 in": "(uint8[N,4] x) => (float[N,4] y) { y = Cast<to = 1>(x) }",
    "Cast int8 constant": "(float[N,3] x) => (float[N,3] y) <int8[2,3] w = {10, -20, 30, 1, 2, 3}> { c = Cast<to = 1>(w) \n m = ReduceSum<keepdims = 0>(c) \n y = Mul(x, m) }",
    "Cast int8 constant to half": "(float16[N,3] x) => (float16[N,3] y) <int8[3] w = {10, -20, 30}> { c = Cast<to = 10>(w) \n y = Mul(x, c) }",
    "Cast int8 constant to int": "(int64[N,3] x) => (int64[N,3] y) <int8[3] w = {10, -20, 30}> { c = Cast<to = 7>(w) \n y = Mul(x, c) }",
    "CastLike": "(float[N,4] x, float16[1] l) => (float16[N,4] y) { y = CastLike(x, l) }",
    "Dropout": "(float[N,4] x) => (float[N,4] y) { y = Dropout(x) }",
    "Dropout mask": "(float[N,4] x) => (float[N,4] y, bool[N,4] m) { y, m = Dropout(x) }",
    **{
        op: f"(float[N,3,4] a, float[4] b) => (float[N,3,4] y) {{ y = {op}(a, b) }}"
        for op in "Add Sub Mul Div Pow Min Max Sum Mean".split()
    },
    "Add int": "(int64[N,4] a, int64[4] b) => (int64[N,4] y) { y = Add(a, b) }",
    "Add constant": "(float[N,M,4] a) => (float[N,M,4] y) <float[4] b = {1.0, 2.0, 3.0, 4.0}> { y = Add(a, b) }",
    "Add ranks": "(float[N,M] a, float[2,N,M] b) => (float[2,N,M] y) { y = Add(a, b) }",
    "Mean half": "(float16[N,4] a, float16[4] b) => (float16[N,4] y) { y = Mean(a, b) }",
    **{
        f"Pow {e}": f"(float[N,4] a) => (float[N,4] y) <float e = {{{e}}}> {{ y = Pow(a, e) }}"
        for e in ("1.0", "2.0", "3.0", "0.5", "-1.0", "1.7")
    },
    "Pow int": "(int64[N,4] a, int64[4] b) => (int64[N,4] y) { y = Pow(a, b) }",
    "Pow int float": "(int64[N,4] a, float[4] b) => (int64[N,4] y) { y = Pow(a, b) }",
    "Pow half float": "(float16[N,4] a, float[4] b) => (float16[N,4] y) { y = Pow(a, b) }",
    "Mod": "(int64[N,4] a, int64[4] b) => (int64[N,4] y) { y = Mod(a, b) }",
    "Mod fmod": "(int32[N,4] a, int32[4] b) => (int32[N,4] y) { y = Mod<fmod = 1>(a, b) }",
    "Mod float": "(float16[N,4] a, float16[4] b) => (float16[N,4] y) { y = Mod<fmod = 1>(a, b) }",
    **{op: f"(bool[N,4] a, bool[4] b) => (bool[N,4] y) {{ y = {op}(a, b) }}" for op in "And Or Xor".split()},
    **{
        op: f"(float[N,4] a, float[4] b) => (bool[N,4] y) {{ y = {op}(a, b) }}"
        for op in "Equal Greater Less GreaterOrEqual LessOrEqual".split()
    },
    "Equal bool": "(bool[N,4] a, bool[4] b) => (bool[N,4] y) { y = Equal(a, b) }",
    "Where": "(bool[N,1] c, float[N,4] a, float b) => (float[N,4] y) { y = Where(c, a, b) }",
    "Clip": "(float[N,4] x) => (float[N,4] y) <float a = {0.0}, float b = {6.0}> { y = Clip(x, a, b) }",
    "Clip low": "(float[N,4] x) => (float[N,4] y) <float a = {0.5}> { y = Clip(x, a) }",
    "Clip high": '(float[N,4] x) => (float[N,4] y) <float b = {0.5}> { y = Clip(x, "", b) }',
    "Clip crossed": "(float[N,4] x) => (float[N,4] y) <float a = {2.0}, float b = {1.0}> { y = Clip(x, a, b) }",
    "Clip runtime": "(float[N,4] x, float a, float b) => (float[N,4] y) { y = Clip(x, a, b) }",
    "Clip int": "(int64[N,4] x) => (int64[N,4] y) <int64 a = {0}, int64 b = {6}> { y = Clip(x, a, b) }",
    # ---- matrices
    "MatMul": "(float[N,3,4] a, float[4,5] b) => (float[N,3,5] y) { y = MatMul(a, b) }",
    "MatMul vector": "(float[N,3,4] a, float[4] b) => (float[N,3] y) { y = MatMul(a, b) }",
    "MatMul row": "(float[4] a, float[N,4,5] b) => (float[N,5] y) { y = MatMul(a, b) }",
    "MatMul dot": "(float[4] a, float[4] b) => (float y) { y = MatMul(a, b) }",
    "MatMul constant": "(float[N,3,4] a) => (float[N,3,2] y) <float[4,2] w = " + floats(8) + "> { y = MatMul(a, w) }",
    "Gemm": "(float[N,4] a) => (float[N,2] y) <float[2,4] w = "
    + floats(8)
    + ", float[2] c = {1.0, 2.0}> { y = Gemm<transB = 1>(a, w, c) }",
    "Gemm scaled": "(float[4,N] a, float[4,2] b, float c) => (float[N,2] y) "
    "{ y = Gemm<transA = 1, alpha = 0.5, beta = 2.0>(a, b, c) }",
    "Einsum": '(float[N,3,4] a, float[4,5] b) => (float[N,3,5] y) { y = Einsum<equation = "bij, jK -> biK">(a, b) }',
    "Einsum ellipsis": '(float[N,3,4] a, float[4,5] b) => (float[N,3,5] y) { y = Einsum<equation = "...ij,jk->...ik">(a, b) }',
    # ---- windows
    "Conv": "(float[N,3,8,8] x) => (float[N,4,4,4] y) <float[4,3,3,3] w = "
    + floats(108)
    + ", float[4] b = {1.0, 2.0, 3.0, 4.0}> { y = Conv<kernel_shape = [3,3], pads = [1,1,1,1], strides = [2,2]>(x, w, b) }",
    "Conv group": "(float[N,4,H,W] x) => (float[N,4,H,W] y) <float[4,1,3,3] w = "
    + floats(36)
    + "> { y = Conv<kernel_shape = [3,3], pads = [1,1,1,1], group = 4>(x, w) }",
    "Conv line": "(float[N,3,8] x) => (float[N,4,9] y) <float[4,3,3] w = "
    + floats(36)
    + "> { y = Conv<kernel_shape = [3], pads = [1,2]>(x, w) }",
    "Conv volume": "(float[N,2,4,4,4] x) => (float[N,1,3,3,3] y) <float[1,2,2,2,2] w = "
    + floats(16)
    + "> { y = Conv<kernel_shape = [2,2,2]>(x, w) }",
    "Conv kernel": "(float[N,3,8,8] x, float[4,3,3,3] w, float[4] b) => (float[N,4,6,6] y) "
    "{ y = Conv<kernel_shape = [3,3]>(x, w, b) }",
    "Conv line kernel": "(float[N,3,8] x, float[4,3,3] w) => (float[N,4,6] y) { y = Conv<kernel_shape = [3]>(x, w) }",
    "Conv same": "(float[N,1,H,W] x) => (float[N,1,P,Q] y) <float[1,1,3,3] w = "
    + floats(9)
    + '> { y = Conv<kernel_shape = [3,3], auto_pad = "SAME_UPPER", strides = [2,2]>(x, w) }',
    "Conv crop": "(float[N,1,8,8] x) => (float[N,1,5,8] y) <float[1,1,3,3] w = "
    + floats(9)
    + "> { y = Conv<kernel_shape = [3,3], pads = [-1,1,0,1]>(x, w) }",
    "Conv half": "(float16[N,1,4,4] x) => (float16[N,1,3,3] y) <float16[1,1,2,2] w = {15360, 16384, 16896, 17408}> "
    "{ y = Conv<kernel_shape = [2,2]>(x, w) }",
    "Conv bfloat": "(bfloat16[N,1,4,4] x) => (bfloat16[N,1,3,3] y) <bfloat16[1,1,2,2] w = {16256, 16384, 16448, 16512}> "
    "{ y = Conv<kernel_shape = [2,2]>(x, w) }",
    "ConvTranspose": "(float[N,3,4,4] x) => (float[N,4,8,8] y) <float[3,2,3,3] w = "
    + floats(54)
    + "> { y = ConvTranspose<kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1], output_padding = [1,1], group = 1>(x, w) }",
    "ConvTranspose extended": "(float[N,1,4,4] x) => (float[N,1,9,9] y) <float[1,1,2,2] w = "
    + floats(4)
    + ", float[1] b = {3.0}> { y = ConvTranspose<kernel_shape = [2,2], strides = [2,2], output_padding = [1,1]>(x, w, b) }",
    "ConvTranspose line": "(float[N,3,4] x) => (float[N,2,9] y) <float[3,2,3] w = "
    + floats(18)
    + "> { y = ConvTranspose<kernel_shape = [3], strides = [2]>(x, w) }",
    "ConvTranspose output": "(float[N,1,4,4] x) => (float[N,1,8,8] y) <float[1,1,3,3] w = "
    + floats(9)
    + "> { y = ConvTranspose<kernel_shape = [3,3], strides = [2,2], output_shape = [8,8]>(x, w) }",
    "MaxPool": "(float[N,3,8,8] x) => (float[N,3,4,4] y) { y = MaxPool<kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]>(x) }",
    "MaxPool ceil": "(float[N,1,4,4] x) => (float[N,1,2,2] y) { y = MaxPool<kernel_shape = [2,2], strides = [3,3], pads = [1,1,1,1], ceil_mode = 1>(x) }",
    "MaxPool ceil dynamic": "(float[N,1,H,W] x) => (float[N,1,P,Q] y) { y = MaxPool<kernel_shape = [2,2], strides = [3,3], pads = [1,1,1,1], ceil_mode = 1>(x) }",
    "MaxPool line": "(float[N,3,8] x) => (float[N,3,4] y) { y = MaxPool<kernel_shape = [2], strides = [2]>(x) }",
    "AveragePool": "(float[N,3,8,8] x) => (float[N,3,8,8] y) { y = AveragePool<kernel_shape = [3,3], pads = [1,1,1,1]>(x) }",
    "AveragePool include": "(float[N,3,7,7] x) => (float[N,3,4,4] y) { y = AveragePool<kernel_shape = [3,3], strides = [2,2], pads = [1,1,0,0], count_include_pad = 1, ceil_mode = 1>(x) }",
    "LpPool": "(float[N,3,8,8] x) => (float[N,3,6,6] y) { y = LpPool<kernel_shape = [3,3], p = 2>(x) }",
    "GlobalAveragePool": "(float[N,3,H,W] x) => (float[N,3,1,1] y) { y = GlobalAveragePool(x) }",
    "GlobalMaxPool": "(float[N,3,8] x) => (float[N,3,1] y) { y = GlobalMaxPool(x) }",
    "GlobalLpPool": "(float[N,3,8,8] x) => (float[N,3,1,1] y) { y = GlobalLpPool(x) }",
    # ---- normalizations
    "BatchNormalization": "(float[N,2,4,4] x) => (float[N,2,4,4] y) <float[2] s = {1.0, 2.0}, float[2] b = {0.5, -0.5}, float[2] m = {0.1, 0.2}, float[2] v = {1.0, 4.0}> { y = BatchNormalization(x, s, b, m, v) }",
    "BatchNormalization half": "(float16[N,2,4,4] x) => (float16[N,2,4,4] y) <float16[2] s = {15360, 16384}, float16[2] b = {14336, 47104}, float16[2] m = {11878, 12902}, float16[2] v = {15360, 17408}> { y = BatchNormalization(x, s, b, m, v) }",
    "BatchNormalization line": "(float[N,2] x) => (float[N,2] y) <float[2] s = {1.0, 2.0}, float[2] b = {0.5, -0.5}, float[2] m = {0.1, 0.2}, float[2] v = {1.0, 4.0}> { y = BatchNormalization(x, s, b, m, v) }",
    "BatchNormalization runtime": "(float[N,2,4] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[N,2,4] y) { y = BatchNormalization(x, s, b, m, v) }",
    "InstanceNormalization": "(float[N,2,H,W] x) => (float[N,2,H,W] y) <float[2] s = {1.0, 2.0}, float[2] b = {0.5, -0.5}> { y = InstanceNormalization(x, s, b) }",
    "GroupNormalization": "(float[N,4,8,8] x) => (float[N,4,8,8] y) <float[4] s = {1.0, 2.0, 3.0, 4.0}, float[4] b = {0.5, -0.5, 0.0, 1.0}> { y = GroupNormalization<num_groups = 2>(x, s, b) }",
    "GroupNormalization of one group": "(float[N,4,8,8] x) => (float[N,4,8,8] y) <float[4] s = {1.0, 2.0, 3.0, 4.0}, float[4] b = {0.5, -0.5, 0.0, 1.0}> { y = GroupNormalization<num_groups = 1>(x, s, b) }",
    "LayerNormalization": "(float[N,T,4] x) => (float[N,T,4] y) <float[4] s = {1.0, 2.0, 3.0, 4.0}, float[4] b = {0.5, -0.5, 0.0, 1.0}> { y = LayerNormalization(x, s, b) }",
    "LayerNormalization outputs": "(float[N,3,4] x) => (float[N,3,4] y, float[N,3,1] m, float[N,3,1] i) <float[4] s = {1.0, 2.0, 3.0, 4.0}> { y, m, i = LayerNormalization(x, s) }",
    "RMSNormalization": "(float16[N,3,4] x) => (float16[N,3,4] y) <float16[4] s = {15360, 16384, 16896, 17408}> { y = RMSNormalization(x, s) }",
    "LRN": "(float[N,8,4,4] x) => (float[N,8,4,4] y) { y = LRN<size = 5>(x) }",
    "LRN even": "(float[N,8,4,4] x) => (float[N,8,4,4] y) { y = LRN<size = 4, alpha = 0.01>(x) }",
    "MeanVarianceNormalization": "(float[N,8,4,4] x) => (float[N,8,4,4] y) { y = MeanVarianceNormalization(x) }",
    # ---- reductions
    **{
        f"{op} {mode}": f"({kind}[N,3,4] x) => ({kind}[N,{'1,4' if keep else '4'}] y) <int64[1] a = {{1}}> "
        f"{{ y = {op}<keepdims = {keep}>(x, a) }}"
        for op in "ReduceSum ReduceMax ReduceMin ReduceProd ReduceMean ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
        "ReduceSumSquare".split()
        for mode, kind, keep in (("keep", "float", 1), ("drop", "float", 0), ("int", "int32", 1))
        if not (mode == "int" and "Log" in op)
    },
    "ReduceSum all": "(float[N,3,4] x) => (float y) { y = ReduceSum<keepdims = 0>(x) }",
    "ReduceSum none": "(float[N,3,4] x) => (float[N,3,4] y) { y = ReduceSum<noop_with_empty_axes = 1>(x) }",
    "ReduceL1 none": "(float[N,3,4] x) => (float[N,3,4] y) { y = ReduceL1<noop_with_empty_axes = 1>(x) }",
    "ReduceMax bool": "(bool[N,3] x) => (bool[N,1] y) <int64[1] a = {-1}> { y = ReduceMax(x, a) }",
    "ReduceMean int dynamic": "(int64[N,3] x) => (int64[3] y) <int64[1] a = {0}> { y = ReduceMean<keepdims = 0>(x, a) }",
    "CumSum": "(float[N,4] x) => (float[N,4] y) <int64 a = {1}> { y = CumSum<exclusive = 1, reverse = 1>(x, a) }",
    "CumSum int": "(int64[4] x) => (int64[4] y) <int64 a = {0}> { y = CumSum(x, a) }",
    "ArgMax": "(float[N,4] x) => (int64[N,1] y) { y = ArgMax<axis = -1>(x) }",
    "ArgMax drop": "(float[N,4] x) => (int64[N] y) { y = ArgMax<axis = -1, keepdims = 0>(x) }",
    "ArgMin last": "(float[N,4] x) => (int64[N,1] y) { y = ArgMin<axis = 1, select_last_index = 1>(x) }",
    "ArgMax last dynamic": "(float[N,4] x) => (int64[4] y) { y = ArgMax<axis = 0, select_last_index = 1, keepdims = 0>(x) }",
    "ArgMax line": "(float[5] x) => (int64[1] y) { y = ArgMax<axis = 0>(x) }",
    "TopK": "(float[N,8] x) => (float[N,3] v, int64[N,3] i) <int64[1] k = {3}> { v, i = TopK(x, k) }",
    "TopK smallest": "(float[8] x) => (float[3] v, int64[3] i) <int64[1] k = {3}> { v, i = TopK<largest = 0>(x, k) }",
    # ---- shapes
    "Shape": "(float[N,3,4] x) => (int64[3] y) { y = Shape(x) }",
    "Shape part": "(float[N,3,4] x) => (int64[1] y) { y = Shape<start = 0, end = -2>(x) }",
    "Shape static": "(float[N,3,4] x) => (int64[2] y) { y = Shape<start = 1>(x) }",
    "Size": "(float[N,3,4] x) => (int64 y) { y = Size(x) }",
    "Reshape": "(float[N,3,4] x) => (float[N,12] y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }",
    "Reshape static": "(float[2,3,4] x) => (float[4,6] y) <int64[2] s = {4, -1}> { y = Reshape(x, s) }",
    "Reshape two": "(float[N,M,4] x) => (float[N,M,2,2] y) <int64[4] s = {0, 0, 2, 2}> { y = Reshape(x, s) }",
    "Reshape swapped": "(float[N,M] x) => (float[M,N] y) { s = Shape(x) \n a = Constant<value = int64[1] {0}>() \n b = Constant<value = int64[1] {1}>() \n p = Gather(s, a) \n q = Gather(s, b) \n t = Concat<axis = 0>(q, p) \n y = Reshape(x, t) }",
    "Flatten": "(float[N,3,4] x) => (float[N,12] y) { y = Flatten(x) }",
    "Flatten zero": "(float[N,3,4] x) => (float[1,M] y) { y = Flatten<axis = 0>(x) }",
    "Flatten two": "(float[N,M,H,W] x) => (float[P,Q] y) { y = Flatten<axis = 2>(x) }",
    "Transpose": "(float[N,3,4] x) => (float[4,N,3] y) { y = Transpose<perm = [2, 0, 1]>(x) }",
    "Squeeze": "(float[N,1,M,1] x) => (float[N,M] y) <int64[2] a = {1, -1}> { y = Squeeze(x, a) }",
    "Squeeze all": "(float[1,3,1] x) => (float[3] y) { y = Squeeze(x) }",
    "Unsqueeze": "(float[N,M] x) => (float[N,1,M,1] y) <int64[2] a = {1, -1}> { y = Unsqueeze(x, a) }",
    "Concat": "(float[N,3] a, float[N,4] b) => (float[N,7] y) { y = Concat<axis = -1>(a, b) }",
    "Split": "(float[N,6] x) => (float[N,2] a, float[N,4] b) <int64[2] s = {2, 4}> { a, b = Split<axis = 1>(x, s) }",
    "Split equal": "(float[N,7] x) => (float[N,3] a, float[N,3] b, float[N,1] c) { a, b, c = Split<axis = 1, num_outputs = 3>(x) }",
    "Slice": "(float[N,8] x) => (float[N,3] y) <int64[1] s = {1}, int64[1] e = {7}, int64[1] a = {1}, int64[1] t = {2}> { y = Slice(x, s, e, a, t) }",
    "Slice reverse": "(float[N,8] x) => (float[N,8] y) <int64[1] s = {-1}, int64[1] e = {-9223372036854775808}, int64[1] a = {1}, int64[1] t = {-1}> { y = Slice(x, s, e, a, t) }",
    "Slice dynamic": "(float[N,8] x) => (float[M,8] y) <int64[1] s = {1}, int64[1] e = {9223372036854775807}, int64[1] a = {0}> { y = Slice(x, s, e, a) }",
    "Slice runtime": "(float[N,8] x, int64[1] s, int64[1] e) => (float[N,M] y) <int64[1] a = {1}> { y = Slice(x, s, e, a) }",
    "Pad": "(float[N,4] x) => (float[N,7] y) <int64[4] p = {0, 1, 0, 2}, float v = {3.0}> { y = Pad(x, p, v) }",
    "Pad reflect": '(float[N,1,4,4] x) => (float[N,1,6,6] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}> { y = Pad<mode = "reflect">(x, p) }',
    "Pad edge crop": '(float[N,1,4,4] x) => (float[N,1,4,6] y) <int64[8] p = {0, 0, -1, 1, 0, 0, 1, 1}> { y = Pad<mode = "edge">(x, p) }',
    "Pad negative": "(float[N,8] x) => (float[N,5] y) <int64[4] p = {0, -2, 0, -1}> { y = Pad(x, p) }",
    "Pad batch": "(float[N,4] x) => (float[M,4] y) <int64[4] p = {1, 0, 2, 0}> { y = Pad(x, p) }",
    "Pad bool": "(bool[N,4] x) => (bool[N,6] y) <int64[4] p = {0, 1, 0, 1}> { y = Pad(x, p) }",
    "Expand": "(float[3,1] x) => (float[2,3,4] y) <int64[3] s = {2, 3, 4}> { y = Expand(x, s) }",
    "Expand dynamic": "(float[1,4] x, float[N,4] l) => (float[N,4] y) { s = Shape(l) \n y = Expand(x, s) }",
    "Expand unknown": "(float[N,4] x, int64[2] s) => (float[P,Q] y) { y = Expand(x, s) }",
    "Tile": "(float[N,4] x) => (float[N,12] y) <int64[2] r = {1, 3}> { y = Tile(x, r) }",
    "Gather": "(float[N,4] x) => (float[N,2] y) <int64[2] i = {0, -1}> { y = Gather<axis = 1>(x, i) }",
    "Gather scalar": "(float[N,4] x) => (float[4] y) <int64 i = {-1}> { y = Gather<axis = 0>(x, i) }",
    "Gather embedding": "(int64[N,T] i) => (float[N,T,2] y) <float[4,2] w = " + floats(8) + "> { y = Gather(w, i) }",
    "Gather dynamic": "(float[N,4] x, int64[3] i) => (float[3,4] y) { y = Gather(x, i) }",
    "GatherElements": "(float[N,4] x, int64[N,2] i) => (float[N,2] y) { y = GatherElements<axis = 1>(x, i) }",
    "GatherND": "(float[N,4] x, int64[3,2] i) => (float[3] y) { y = GatherND(x, i) }",
    "GatherND batch": "(float[N,4] x, int64[N,1] i) => (float[N] y) { y = GatherND<batch_dims = 1>(x, i) }",
    "ScatterElements": "(float[N,4] x, int64[N,2] i, float[N,2] u) => (float[N,4] y) { y = ScatterElements<axis = 1>(x, i, u) }",
    "ScatterElements add": '(float16[N,4] x, int64[N,2] i, float16[N,2] u) => (float16[N,4] y) { y = ScatterElements<axis = 1, reduction = "add">(x, i, u) }',
    "ScatterND max": '(float[N,4] x, int64[K,1] i, float[K,4] u) => (float[N,4] y) { y = ScatterND<reduction = "max">(x, i, u) }',
    "ScatterND": "(float[N,4] x, float[2,4] u) => (float[N,4] y) <int64[2,1] i = {0, -1}> { y = ScatterND(x, i, u) }",
    "DepthToSpace": "(float[N,8,2,3] x) => (float[N,2,4,6] y) { y = DepthToSpace<blocksize = 2>(x) }",
    "DepthToSpace CRD": '(float[N,8,H,W] x) => (float[N,2,P,Q] y) { y = DepthToSpace<blocksize = 2, mode = "CRD">(x) }',
    "SpaceToDepth": "(float[N,2,4,6] x) => (float[N,8,2,3] y) { y = SpaceToDepth<blocksize = 2>(x) }",
    # ---- made from a shape
    "ConstantOfShape": "(float[N,3] x) => (float[N,3] y) { s = Shape(x) \n y = ConstantOfShape(s) }",
    "ConstantOfShape int": "(float[2,3] x) => (int64[2,3] y) <int64[2] s = {2, 3}> { y = ConstantOfShape<value = int64[1] {7}>(s) }",
    "ConstantOfShape bool": "(float[N,3] x) => (bool[N,3] y) { s = Shape(x) \n y = ConstantOfShape<value = bool[1] {1}>(s) }",
    "ConstantOfShape runtime": "(int64[2] s) => (float[P,Q] y) { y = ConstantOfShape(s) }",
    "Range": "(float[N,3] x) => (int64[N] y) <int64 a = {0}, int64 d = {1}> { s = Shape(x) \n z = Constant<value = int64 {0}>() \n n = Gather(s, z) \n y = Range(a, n, d) }",
    "Range runtime": "(int64 a, int64 b, int64 c) => (int64[M] y) { y = Range(a, b, c) }",
    "Range static": "(float[1] x) => (float[4] y) <float a = {1.0}, float b = {3.0}, float c = {0.5}> { y = Range(a, b, c) }",
    "Trilu": "(float[N,4,4] x) => (float[N,4,4] y) { y = Trilu(x) }",
    "Trilu lower dynamic": "(float[N,T,T] x, int64 k) => (float[N,T,T] y) { y = Trilu<upper = 0>(x, k) }",
    "Trilu bool": "(bool[T,T] x) => (bool[T,T] y) <int64 k = {1}> { y = Trilu(x, k) }",
    "EyeLike": "(float[3,4] x) => (float[3,4] y) { y = EyeLike<k = 1>(x) }",
    "EyeLike dynamic": "(float[N,4] x) => (float[N,4] y) { y = EyeLike(x) }",
    "OneHot": "(int64[N,2] i) => (float[N,2,5] y) <int64 d = {5}, float[2] v = {0.0, 1.0}> { y = OneHot(i, d, v) }",
    "OneHot runtime": "(int64[N] i, int64 d, float[2] v) => (float[M,N] y) { y = OneHot<axis = 0>(i, d, v) }",
    # ---- images
    "Resize scales": '(float[N,1,4,4] x) => (float[N,1,8,8] y) <float[4] s = {1.0, 1.0, 2.0, 2.0}> { y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, "", s) }',
    "Resize sizes": '(float[2,1,4,4] x) => (float[2,1,7,9] y) <int64[4] s = {2, 1, 7, 9}> { y = Resize<mode = "linear">(x, "", "", s) }',
    "Resize axes": '(float[N,1,4,4] x) => (float[N,1,7,9] y) <int64[2] s = {7, 9}> { y = Resize<mode = "cubic", axes = [2, 3]>(x, "", "", s) }',
    "Resize dynamic": '(float[N,1,H,W] x) => (float[N,1,P,Q] y) <float[4] s = {1.0, 1.0, 1.5, 2.0}> { y = Resize<mode = "linear", coordinate_transformation_mode = "align_corners">(x, "", s) }',
    "Resize like": '(float[N,1,4,4] x, float[N,1,H,W] l) => (float[N,1,H,W] y) { s = Shape(l) \n y = Resize<mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel">(x, "", "", s) }',
    "Resize int": '(int32[N,1,4,4] x) => (int32[N,1,8,8] y) <float[4] s = {1.0, 1.0, 2.0, 2.0}> { y = Resize(x, "", s) }',
    "GridSample": "(float[N,1,4,4] x, float[N,3,3,2] g) => (float[N,1,3,3] y) { y = GridSample(x, g) }",
    "GridSample nearest": '(float[N,1,4,4] x, float[N,3,3,2] g) => (float[N,1,3,3] y) { y = GridSample<mode = "nearest", padding_mode = "reflection", align_corners = 1>(x, g) }',
    # ---- quantization
    "QuantizeLinear": "(float[N,3,4,4] x) => (float[N,3,4,4] y) <float s = {0.1}, int8 z = {0}> { q = QuantizeLinear(x, s, z) \n y = DequantizeLinear(q, s, z) }",
    "QuantizeLinear channel": "(float[N,3,4,4] x) => (float[N,1,4,4] y) <float s = {0.1}, int8 z = {0}, int8[1,3,1,1] w = {10, -20, 30}, float[1] ws = {0.02}, int8[1] wz = {0}, int32[1] b = {100}> { q = QuantizeLinear(x, s, z) \n d = DequantizeLinear(q, s, z) \n k = DequantizeLinear<axis = 0>(w, ws, wz) \n c = DequantizeLinear(b, s) \n y = Conv<kernel_shape = [1,1]>(d, k, c) }",
    "QuantizeLinear shifted": "(float[N,4] x) => (float[N,4] y) <float s = {0.1}, int8 z = {3}> { q = QuantizeLinear(x, s, z) \n y = DequantizeLinear(q, s, z) }",
    "QuantizeLinear shifted channels": "(float[N,3] x) => (float[N,3] y) <float[3] s = {0.1, 0.2, 0.3}, uint8[3] z = {3, 128, 200}> { q = QuantizeLinear<axis = 1>(x, s, z) \n y = DequantizeLinear<axis = 1>(q, s, z) }",
    "DequantizeLinear channels": "(float[N,2] x) => (float[N,3] y) <int8[2,3] w = {10, -20, 30, 1, 2, 3}, float[3] s = {0.02, 0.03, 0.04}> { k = DequantizeLinear<axis = 1>(w, s) \n y = MatMul(x, k) }",
    # ---- attention
    "Attention": "(float16[N,2,5,8] q, float16[N,2,7,8] k, float16[N,2,7,4] v) => (float16[N,2,5,4] y) { y = Attention(q, k, v) }",
    "Attention mask": "(float[N,2,5,8] q, float[N,2,7,8] k, float[N,2,7,8] v, float[5,7] m) => (float[N,2,5,8] y) { y = Attention<scale = 0.25>(q, k, v, m) }",
    "Attention causal": "(float16[N,2,T,8] q, float16[N,2,T,8] k, float16[N,2,T,8] v) => (float16[N,2,T,8] y) { y = Attention<is_causal = 1>(q, k, v) }",
    "Attention causal mask": "(float[N,2,T,8] q, float[N,2,T,8] k, float[N,2,T,8] v, bool[N,1,1,T] m) => (float[N,2,T,8] y) { y = Attention<is_causal = 1>(q, k, v, m) }",
    "Attention packed": "(float16[N,T,16] q, float16[N,T,8] k, float16[N,T,8] v) => (float16[N,T,16] y) { y = Attention<q_num_heads = 2, kv_num_heads = 1>(q, k, v) }",
    "Attention past": '(float16[N,2,5,8] q, float16[N,2,5,8] k, float16[N,2,5,8] v, float16[N,2,P,8] pk, float16[N,2,P,8] pv) => (float16[N,2,5,8] y, float16[N,2,R,8] nk, float16[N,2,S,8] nv) { y, nk, nv = Attention<is_causal = 1>(q, k, v, "", pk, pv) }',
    "Attention softcap": '(float[N,4,5,8] q, float[N,2,7,8] k, float[N,2,7,8] v) => (float[N,4,5,8] y, float[N,4,5,7] p) { y, "", "", p = Attention<softcap = 2.0, qk_matmul_output_mode = 3>(q, k, v) }',
    "RotaryEmbedding": "(float[N,2,T,8] x, float[N,T,4] c, float[N,T,4] s) => (float[N,2,T,8] y) { y = RotaryEmbedding(x, c, s) }",
    "RotaryEmbedding interleaved": "(float[N,2,T,8] x, float[9,4] c, float[9,4] s, int64[N,T] p) => (float[N,2,T,8] y) { y = RotaryEmbedding<interleaved = 1>(x, c, s, p) }",
    "RotaryEmbedding partial": "(float[N,T,16] x, float[N,T,2] c, float[N,T,2] s) => (float[N,T,16] y) { y = RotaryEmbedding<num_heads = 2, rotary_embedding_dim = 4>(x, c, s) }",
    "ReverseSequence": "(float[4,N,3] x, int64[N] l) => (float[4,N,3] y) { y = ReverseSequence(x, l) }",
    "Split runtime": "(float[N,6] x, int64[2] s) => (float[N,A] a, float[N,B] b) { a, b = Split<axis = 1>(x, s) }",
    # ---- over time, and control flow
    "RNN": "(float[T,N,2] x, float[1,3,2] w, float[1,3,3] r) => (float[T,1,N,3] y) { y = RNN<hidden_size = 3>(x, w, r) }",
    "GRU": "(float[T,N,2] x, float[1,9,2] w, float[1,9,3] r) => (float[T,1,N,3] y) { y = GRU<hidden_size = 3>(x, w, r) }",
    "LSTM": "(float[T,N,2] x, float[1,12,2] w, float[1,12,3] r) => (float[T,1,N,3] y) { y = LSTM<hidden_size = 3>(x, w, r) }",
    "LSTM half": '(float16[T,N,2] x, float16[2,12,2] w, float16[2,12,3] r, int32[N] l) => (float16[T,2,N,3] y) { y = LSTM<hidden_size = 3, direction = "bidirectional">(x, w, r, "", l) }',
    "If": "(float[N,4] x, bool c) => (float[N,4] y) { y = If (c) <then_branch = t () => (float[N,4] a) { a = Relu(x) }, else_branch = e () => (float[N,4] b) { b = Neg(x) }> }",
    "Loop": '(float[N,4] x) => (float[N,4] y, float[3,N,4] z) <int64 m = {3}> { y, z = Loop (m, "", x) <body = b (int64 i, bool c, float[N,4] s) => (bool d, float[N,4] t, float[N,4] u) { d = Identity(c) \n t = Relu(s) \n u = Neg(s) }> }',
    "Loop condition": '(float[N,4] x, bool c) => (float[N,4] y) { y = Loop ("", c, x) <body = b (int64 i, bool c, float[N,4] s) => (bool d, float[N,4] t) { e = Constant<value = int64 {3}>() \n d = Less(i, e) \n t = Neg(s) }> }',
    "Scan": "(float[4] x, float[T,4] xs) => (float[4] y, float[T,4] ys) { y, ys = Scan<num_scan_inputs = 1, body = b (float[4] s, float[4] e) => (float[4] t, float[4] u) { t = Add(s, e) \n u = Neg(t) }>(x, xs) }",
    # ---- types
    "double": "(double[N,4] x) => (double[N,4] y) <double c = {2.5}> { y = Mul(x, c) }",
}
