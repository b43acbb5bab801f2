"""Nodes as text, and what is inferred of the last output: read by the tests of text and by those against a runtime.

A case is (inputs, body, expected): the fact of the first output of the last node, and its elements where known.
"""

from __future__ import annotations

import onnx_ir as oir
from onnx import parser

from trtc.ir import dims
from trtc.ir.infer import Fact, infer_all, show
from trtc.ir.module import Module

HEADER = (
    '<ir_version: 10, opset_import: ["" : 23, "local" : 1, "com.microsoft" : 1]>'
    " g ({inputs}) => () {{ {body} }} {functions}"
)


def module_of(inputs: str, body: str, functions: str = "") -> Module:
    model = parser.parse_model(HEADER.format(inputs=inputs, body=body, functions=functions))
    for at, node in enumerate(model.graph.node):
        node.name = node.name or f"n{at}"
    return Module(oir.from_proto(model))


def fact_of(inputs: str, body: str, functions: str = "") -> Fact:
    """The fact of the first output of the last node."""
    module = module_of(inputs, body, functions)
    infer_all(module)
    return module.fact(module.graph[-1].outputs[0])


def text_of(fact: Fact) -> str:
    if fact.value is None:
        return show(fact)
    return f"{show(fact)} = {{{', '.join(dims.text(d) for d in fact.value)}}}"


I = "Constant<value_ints = [{}]>()"  # noqa: E741


def ints(*numbers: int) -> str:
    return I.format(", ".join(map(str, numbers)))


CASES: list[tuple[str, str, str]] = [
    # elementwise and broadcasting
    ("float[N,3] x", "y = Relu(x)", "float[N, 3]"),
    ("float[N,1] x, float[3] z", "y = Add(x, z)", "float[N, 3]"),
    ("float[N,C,1,1] x, float[C,H,W] z", "y = Mul(x, z)", "float[N, C, H, W]"),
    ("float[N,3] x, float[M,3] z", "y = Sub(x, z)", "float[max(M, N), 3]"),
    ("float[N] x, float[7] z", "y = Div(x, z)", "float[7]"),
    ("float[N,S] x, float[N,S] z", "y = Less(x, z)", "bool[N, S]"),
    ("bool[N,1] c, float[S] x, float[1] z", "y = Where(c, x, z)", "float[N, S]"),
    ("float[N] x, float[1] z, float[2,1] w", "y = Max(x, z, w)", "float[2, N]"),
    ("float[N,2] x", "y = Cast<to = 10>(x)", "float16[N, 2]"),
    ("float[N,2] x, int32[1] z", "y = CastLike(x, z)", "int32[N, 2]"),
    ("float[N,2] x, float e", "y = Pow(x, e)", "float[N, 2]"),
    ("float[N,2] x", "y = IsNaN(x)", "bool[N, 2]"),
    ("float[N,2] x", "y = Softmax<axis = -1>(x)", "float[N, 2]"),
    ("int64[N,2] x, int64[2] z", "y = BitwiseAnd(x, z)", "int64[N, 2]"),
    ("float[N,2] x, float lo", "y = Clip(x, lo)", "float[N, 2]"),
    # convolutions and pools
    (
        "float[N,3,H,W] x, float[8,3,3,3] w",
        "y = Conv<pads = [1,1,1,1], strides = [2,2]>(x, w)",
        "float[N, 8, floor((H + 1)/2), floor((W + 1)/2)]",
    ),
    ("float[N,3,H,W] x, float[8,3,3,3] w", "y = Conv<pads = [1,1,1,1]>(x, w)", "float[N, 8, H, W]"),
    ("float[N,4,L] x, float[8,1,5] w", "y = Conv<group = 4, dilations = [2]>(x, w)", "float[N, 8, L - 8]"),
    (
        "float[N,3,H,9] x, float[8,3,3,3] w",
        'y = Conv<auto_pad = "SAME_UPPER", strides = [2,2]>(x, w)',
        "float[N, 8, floor((H + 1)/2), 5]",
    ),
    (
        "float[1,3,H,H] x, float[8,3,3,3] w",
        'y = Conv<auto_pad = "VALID", strides = [2,2]>(x, w)',
        "float[1, 8, floor((H + 1)/2) - 1, floor((H + 1)/2) - 1]",
    ),
    ("float[N,8,H,W] x, float[8,4,2,2] w", "y = ConvTranspose<strides = [2,2]>(x, w)", "float[N, 4, 2*H, 2*W]"),
    (
        "float[N,8,L] x, float[8,2,4] w",
        "y = ConvTranspose<strides = [2], pads = [1,1], output_padding = [1], group = 2>(x, w)",
        "float[N, 4, 2*L + 1]",
    ),
    (
        "float[N,3,H,W] x",
        "y = MaxPool<kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]>(x)",
        "float[N, 3, floor((H + 1)/2), floor((W + 1)/2)]",
    ),
    (
        "float[N,3,H,W] x",
        "y = MaxPool<kernel_shape = [2,2], strides = [2,2], ceil_mode = 1>(x)",
        "float[N, 3, floor((H + 1)/2), floor((W + 1)/2)]",
    ),
    ("float[N,3,H] x", "y = MaxPool<kernel_shape = [3], strides = [2], ceil_mode = 1>(x)", "float[N, 3, floor(H/2)]"),
    (
        "float[N,3,5] x",
        "y = AveragePool<kernel_shape = [2], strides = [3], pads = [1,1], ceil_mode = 1>(x)",
        "float[N, 3, 2]",
    ),
    ("float[N,3,H,W] x", "y = GlobalAveragePool(x)", "float[N, 3, 1, 1]"),
    # products
    ("float[B,S,8] x, float[8,16] w", "y = MatMul(x, w)", "float[B, S, 16]"),
    ("float[B,1,S,8] x, float[H,8,T] w", "y = MatMul(x, w)", "float[B, H, S, T]"),
    ("float[8] x, float[B,8,4] w", "y = MatMul(x, w)", "float[B, 4]"),
    ("float[B,S,8] x, float[8] w", "y = MatMul(x, w)", "float[B, S]"),
    ("float[N,8] x, float[4,8] w, float[4] b", "y = Gemm<transB = 1>(x, w, b)", "float[N, 4]"),
    ("float[B,S,H,8] x, float[B,T,H,8] z", 'y = Einsum<equation = "bshd,bthd->bhst">(x, z)', "float[B, H, S, T]"),
    ("float[B,S,4] x, float[4,5] z", 'y = Einsum<equation = "...i,ij">(x, z)', "float[B, S, 5]"),
    # normalization, reductions, choices
    ("float[N,S,8] x, float[8] s", "y, m, d = LayerNormalization<axis = -1>(x, s)", "float[N, S, 8]"),
    ("float[N,S,8] x", f"a = {ints(1)} y = ReduceMean(x, a)", "float[N, 1, 8]"),
    ("float[N,S,8] x", f"a = {ints(-1, 0)} y = ReduceSum<keepdims = 0>(x, a)", "float[S]"),
    ("float[N,S] x", "y = ReduceMax<keepdims = 0>(x)", "float[]"),
    ("float[N,S] x", "y = ReduceSum<noop_with_empty_axes = 1>(x)", "float[N, S]"),
    ("float[N,S] x", "y = ArgMax<axis = 1, keepdims = 0>(x)", "int64[N]"),
    ("float[N,9] x", f"k = {ints(4)} y, i = TopK(x, k)", "float[N, 4]"),
    ("float[N,S] x", "y = NonZero(x)", "int64[2, ?y_1]"),
    ("float[N,S] x", f"k = {ints(1)} y = CumSum(x, k)", "float[N, S]"),
    # layout
    ("float[B,S,768] x", f"s = {ints(0, 0, 12, 64)} y = Reshape(x, s)", "float[B, S, 12, 64]"),
    ("float[B,S,768] x", f"s = {ints(-1, 768)} y = Reshape(x, s)", "float[B*S, 768]"),
    ("float[B,S,12,64] x", f"s = {ints(0, -1, 768)} y = Reshape(x, s)", "float[B, S, 768]"),
    ("float[B,6] x", f"s = {ints(-1, 2)} y = Reshape(x, s)", "float[3*B, 2]"),
    ("float[0,6] x", f"s = {ints(0, 3)} y = Reshape<allowzero = 1>(x, s)", "float[0, 3]"),
    ("float[N,C,H,W] x", "y = Flatten(x)", "float[N, C*H*W]"),
    ("float[N,C,H,W] x", "y = Flatten<axis = -1>(x)", "float[C*H*N, W]"),
    ("float[N,C,H] x", "y = Transpose<perm = [2,0,1]>(x)", "float[H, N, C]"),
    ("float[N,C] x", "y = Transpose(x)", "float[C, N]"),
    ("float[N,1,C,1] x", f"a = {ints(1, -1)} y = Squeeze(x, a)", "float[N, C]"),
    ("float[N,C] x", f"a = {ints(-1, 0)} y = Unsqueeze(x, a)", "float[1, N, C, 1]"),
    ("float[N,C] x, float[M,C] z", "y = Concat<axis = 0>(x, z, x)", "float[M + 2*N, C]"),
    ("float[N,3] x, float[N,D] z", "y = Concat<axis = -1>(x, z)", "float[N, D + 3]"),
    ("float[N,7] x", "a, b, y = Split<axis = 1, num_outputs = 3>(x) z = Identity(y)", "float[N, 1]"),
    ("float[N,7] x", f"s = {ints(2, 5)} a, y = Split<axis = 1>(x, s) z = Identity(y)", "float[N, 5]"),
    ("float[1,C] x", f"s = {ints(4, 1)} y = Expand(x, s)", "float[4, C]"),
    ("float[N,C] x", f"s = {ints(2, 3)} y = Tile(x, s)", "float[2*N, 3*C]"),
    ("float[N,8,H,W] x", "y = DepthToSpace<blocksize = 2>(x)", "float[N, 2, 2*H, 2*W]"),
    ("float[N,3,4,6] x", "y = SpaceToDepth<blocksize = 2>(x)", "float[N, 12, 2, 3]"),
    # positions
    (
        "float[N,9] x",
        f"s = {ints(2)} e = {ints(7)} a = {ints(1)} t = {ints(2)} y = Slice(x, s, e, a, t)",
        "float[N, 3]",
    ),
    (
        "float[N,S] x",
        f"s = {ints(1)} e = {ints(9223372036854775807)} a = {ints(1)} y = Slice(x, s, e, a)",
        "float[N, S - 1]",
    ),
    ("float[N,S] x", f"s = {ints(0)} e = {ints(-1)} a = {ints(1)} y = Slice(x, s, e, a)", "float[N, S - 1]"),
    ("float[N,S] x", f"s = {ints(0)} e = {ints(3)} a = {ints(1)} y = Slice(x, s, e, a)", "float[N, min(S, 3)]"),
    (
        "float[N,S] x",
        f"s = {ints(-3)} e = {ints(2147483647)} a = {ints(1)} y = Slice(x, s, e, a)",
        "float[N, min(S, 3)]",
    ),
    (
        "float[S] x",
        f"s = {ints(-1)} e = {ints(-9223372036854775807)} a = {ints(0)} t = {ints(-1)} y = Slice(x, s, e, a, t)",
        "float[S]",
    ),
    (
        "float[S] x",
        f"s = {ints(2)} e = {ints(9223372036854775807)} a = {ints(0)} t = {ints(3)} y = Slice(x, s, e, a, t)",
        "float[floor(S/3)]",
    ),
    (
        "float[S] x",
        f"s = {ints(-1)} e = {ints(-4)} a = {ints(0)} t = {ints(-1)} y = Slice(x, s, e, a, t)",
        "float[S - max(S - 4, -1) - 1]",
    ),
    # A start before the front is the front, also on the way back: one element, where Python has none.
    (
        "float[3] x",
        f"s = {ints(-5)} e = {ints(-9223372036854775807)} a = {ints(0)} t = {ints(-2)} y = Slice(x, s, e, a, t)",
        "float[1]",
    ),
    (
        "float[S] x",
        f"s = {ints(-5)} e = {ints(-9223372036854775807)} a = {ints(0)} t = {ints(-1)} y = Slice(x, s, e, a, t)",
        "float[max(S - 5, 0) + 1]",
    ),
    ("float[N,3] x, float[S,1] z", "y = PRelu(x, z)", "float[N, 3]"),
    ("float[N,H,W] x", f"p = {ints(0, 1, 2, 0, 1, 3)} y = Pad(x, p)", "float[N, H + 2, W + 5]"),
    ("float[V,8] x, int64[B,S] i", "y = Gather(x, i)", "float[B, S, 8]"),
    ("float[N,S,8] x", "i = Constant<value_int = -1>() y = Gather<axis = 1>(x, i)", "float[N, 8]"),
    ("float[N,S] x, int64[N,2] i", "y = GatherElements<axis = 1>(x, i)", "float[N, 2]"),
    ("float[N,S,8] x, int64[B,2] i", "y = GatherND(x, i)", "float[B, 8]"),
    ("float[N,8] x, int64[2,1] i, float[2,8] u", "y = ScatterND(x, i, u)", "float[N, 8]"),
    ("int64[N,S] x, float[2] v", "d = Constant<value_int = 5>() y = OneHot(x, d, v)", "float[N, S, 5]"),
    ("float[N,S,S] x", "y = Trilu<upper = 0>(x)", "float[N, S, S]"),
    # images
    (
        "float[N,3,H,W] x",
        "s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>() y = Resize(x, , s)",
        "float[N, 3, 2*H, 2*W]",
    ),
    (
        "float[N,3,H,W] x",
        "s = Constant<value_floats = [0.5, 0.5]>() y = Resize<axes = [2,3]>(x, , s)",
        "float[N, 3, floor(H/2), floor(W/2)]",
    ),
    ("float[N,3,H,W] x", f"s = {ints(7, 9)} y = Resize<axes = [2,3]>(x, , , s)", "float[N, 3, 7, 9]"),
    (
        "float[1,3,10,20] x",
        f's = {ints(5, 5)} y = Resize<axes = [2,3], keep_aspect_ratio_policy = "not_larger">(x, , , s)',
        "float[1, 3, 3, 5]",
    ),
    ("float[N,3,H,W] x, float[N,A,B,2] g", "y = GridSample(x, g)", "float[N, 3, A, B]"),
    # recurrent, attention
    (
        "float[S,B,4] x, float[1,12,4] w, float[1,12,3] r",
        "y, h, c = LSTM<hidden_size = 3>(x, w, r)",
        "float[S, 1, B, 3]",
    ),
    (
        "float[S,B,4] x, float[2,9,4] w, float[2,9,3] r",
        'y, h = GRU<hidden_size = 3, direction = "bidirectional">(x, w, r) z = Identity(h)',
        "float[2, B, 3]",
    ),
    ("float[B,4,S,8] q, float[B,2,T,8] k, float[B,2,T,8] v", "y = Attention(q, k, v)", "float[B, 4, S, 8]"),
    (
        "float[B,S,32] q, float[B,T,16] k, float[B,T,16] v",
        "y = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v)",
        "float[B, S, 32]",
    ),
    # generated
    ("int64[2] x", "y = ConstantOfShape(x)", "float[max(?x[0], 0), max(?x[1], 0)]"),
    ("float[N] x", "y = RandomNormalLike<dtype = 1>(x)", "float[N]"),
    ("float[N,S] x", "y = EyeLike<dtype = 7>(x)", "int64[N, S]"),
    # shape arithmetic
    ("float[B,S,8] x", "y = Shape(x)", "int64[3] = {B, S, 8}"),
    ("float[B,S,8] x", "y = Shape<start = -2, end = 2>(x)", "int64[1] = {S}"),
    ("float[B,S,8] x", "y = Size(x)", "int64[] = {8*B*S}"),
    ("float[B,S,8] x", f"s = Shape(x) i = {ints(0, 2)} y = Gather(s, i)", "int64[2] = {B, 8}"),
    ("float[B,S,8] x", f"s = Shape(x) a = {ints(1)} b = {ints(3)} y = Slice(s, a, b)", "int64[2] = {S, 8}"),
    (
        "float[B,S,8] x",
        f"s = Shape(x) a = {ints(-1)} b = {ints(-9)} c = {ints(0)} y = Slice(s, a, b, c, a)",
        "int64[3] = {8, S, B}",
    ),
    (
        "float[B,S,8] x",
        f"s = Shape(x) a = {ints(-7)} b = {ints(-9)} c = {ints(0)} d = {ints(-1)} y = Slice(s, a, b, c, d)",
        "int64[1] = {B}",
    ),
    ("float[B,S] x", f"s = Shape(x) c = {ints(2)} y = Mul(s, c)", "int64[2] = {2*B, 2*S}"),
    ("float[B,S] x", f"s = Shape(x) c = {ints(2)} y = Div(s, c)", "int64[2] = {floor(B/2), floor(S/2)}"),
    ("float[B,S] x", f"s = Shape(x) c = {ints(3)} y = Mod(s, c)", "int64[2] = {mod(B, 3), mod(S, 3)}"),
    ("float[B,S] x", "s = Shape(x) y = ReduceProd<keepdims = 0>(s)", "int64[] = {B*S}"),
    ("float[B,S] x", f"s = Shape(x) c = {ints(4)} m = Min(s, c) y = Neg(m)", "int64[2] = {-min(B, 4), -min(S, 4)}"),
    (
        "float[B,S] x",
        f"s = Shape(x) c = {ints(-1)} n = {ints(-1)} e = Equal(s, n) y = Where(e, c, s)",
        "int64[2] = {B, S}",
    ),
    (
        "float[B,S] x",
        f"t = {ints(4, -1)} s = Shape(x) n = {ints(-1)} e = Equal(t, n) y = Where(e, s, t)",
        "int64[2] = {4, S}",
    ),
    (
        "float[B,S] x",
        "s = Shape(x) f = Cast<to = 1>(s) h = Constant<value_float = 0.5>() m = Mul(f, h) "
        "r = Floor(m) y = Cast<to = 7>(r)",
        "int64[2] = {floor(B/2), floor(S/2)}",
    ),
    (
        "float[B,S] x",
        "s = Shape(x) f = Cast<to = 1>(s) h = Constant<value_float = 3.0>() m = Div(f, h) "
        "r = Ceil(m) y = Cast<to = 7>(r)",
        "int64[2] = {floor((B + 2)/3), floor((S + 2)/3)}",
    ),
    ("float[B,S] x", f"s = Shape(x) i = {ints(1)} u = {ints(-1)} y = ScatterElements(s, i, u)", "int64[2] = {B, -1}"),
    (
        "float[B,S,8] x",
        "s = Shape(x) a, b, c = Split<num_outputs = 3>(s) y = Concat<axis = 0>(c, a)",
        "int64[2] = {8, B}",
    ),
    (
        "float[B,S] x",
        "s = Shape<start = 1>(x) z = Constant<value_int = 0>() o = Constant<value_int = 1>() "
        "e = Squeeze(s) y = Range(z, e, o)",
        "int64[S]",
    ),
    (
        "float[3,S] x",
        "s = Shape<end = 1>(x) z = Constant<value_int = 0>() o = Constant<value_int = 2>() "
        "e = Squeeze(s) y = Range(z, e, o)",
        "int64[2] = {0, 2}",
    ),
    ("float[B,S] x", f"s = Shape(x) m = {ints(-1)} t = Concat<axis = 0>(s, m) y = Reshape(x, t)", "float[B, S, 1]"),
    (
        "float[B,S,12] x",
        f"s = Shape<end = 2>(x) m = {ints(4, 3)} t = Concat<axis = 0>(s, m) y = Reshape(x, t)",
        "float[B, S, 4, 3]",
    ),
    ("float[B,S] x", "s = Shape(x) y = ConstantOfShape(s)", "float[B, S]"),
    ("float[B,S] x, float[1,1] z", "s = Shape(x) y = Expand(z, s)", "float[B, S]"),
    (
        "float[N,3,H,W] x, float[N,3,A,B] z",
        "a = Shape<end = 2>(x) b = Shape<start = 2>(z) s = Concat<axis = 0>(a, b) y = Resize(x, , , s)",
        "float[N, 3, A, B]",
    ),
    (
        "float[B,S,8] x, float[P,8] e",
        f"s = Shape<start = 1, end = 2>(x) z = {ints(0)} y = Slice(e, z, s, z)",
        "float[min(P, S), 8]",
    ),
    ("float[B,S] x, int64[1] k", "s = Shape<end = 1>(x) t = Concat<axis = 0>(s, k) y = Reshape(x, t)", "float[B, S]"),
]
