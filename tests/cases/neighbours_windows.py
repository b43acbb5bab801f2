"""Convolutions, poolings and pads."""

from __future__ import annotations

from neighbours import Case, array, inf, normal

CASES: dict[str, Case] = {
    "conv_bn_output_also_graph_output": Case(
        """
        (float[1,2,4,4] x) => (float[1,2,4,4] c, float[1,2,4,4] y) <float[2,2,1,1] w={1,2,3,4}, float[2] s={1,2},
        float[2] b={0,1}, float[2] m={0.1,0.2}, float[2] v={1,2}> { c = Conv(x,w) y = BatchNormalization(c,s,b,m,v)
        }
        """,
        {"x": normal(1, 2, 4, 4)},
    ),
    "conv_bias_used_elsewhere_bn": Case(
        """
        (float[1,2,4,4] x) => (float[1,2,4,4] y, float[2] z) <float[2,2,1,1] w={1,2,3,4}, float[2] s={1,2}, float[2]
        m={0.1,0.2}, float[2] v={1,2}> { c = Conv(x,w,m) y = BatchNormalization(c,s,m,m,v) z = Add(m,v) }
        """,
        {"x": normal(1, 2, 4, 4)},
    ),
    "gemm_bn_like_mul_add": Case(
        """
        (float[3,2] x) => (float[3,4] y) <float[2,4] w={1,2,3,4,5,6,7,8}, float[4] s={1,2,3,4}, float[4]
        b={4,3,2,1}> { c = MatMul(x,w) d = Mul(c,s) y = Add(d,b) }
        """,
        {"x": normal(3, 2)},
    ),
    "matmul_row_scale": Case(
        """
        (float[4,2] x) => (float[4,4] y) <float[2,4] w={1,2,3,4,5,6,7,8}, float[4,1] s={1,2,3,4}> { c = MatMul(x,w)
        y = Mul(c,s) }
        """,
        {"x": normal(4, 2)},
    ),
    "bn_3d_and_2d": Case(
        """
        (float[5,2] x, float[2,2,3] t) => (float[5,2] y, float[2,2,3] u) <float[2] s={1,2}, float[2] b={0,1},
        float[2] m={0.1,0.2}, float[2] v={1,2}> { y = BatchNormalization(x,s,b,m,v) u =
        BatchNormalization<epsilon=0.1>(t,s,b,m,v) }
        """,
        {"x": normal(5, 2), "t": normal(2, 2, 3)},
    ),
    "bn_runtime_stats": Case(
        """
        (float[5,2] x, float[2] s, float[2] m, float[2] v) => (float[5,2] y) <float[2] b={0,1}> { y =
        BatchNormalization(x,s,b,m,v) }
        """,
        {"x": normal(5, 2), "s": normal(2), "m": normal(2), "v": array("float32", [0.694172, 0.75837])},
    ),
    "pad_constant_neg": Case(
        """
        (float[1,2,5,5] x) => (float[?,?,?,?] y) <int64[8] p = {0,0,-1,2,0,0,1,-1}> { y = Pad <mode: string =
        "constant"> (x, p) }
        """,
        {"x": normal(1, 2, 5, 5)},
        opset=19,
    ),
    "pad_reflect_neg": Case(
        """
        (float[1,2,5,5] x) => (float[?,?,?,?] y) <int64[8] p = {0,0,-1,2,0,0,1,-1}> { y = Pad <mode: string =
        "reflect"> (x, p) }
        """,
        {"x": normal(1, 2, 5, 5)},
        opset=19,
    ),
    "pad_edge_neg": Case(
        """
        (float[1,2,5,5] x) => (float[?,?,?,?] y) <int64[8] p = {0,0,-1,2,0,0,1,-1}> { y = Pad <mode: string =
        "edge"> (x, p) }
        """,
        {"x": normal(1, 2, 5, 5)},
        opset=19,
    ),
    "pad_wrap_neg": Case(
        """
        (float[1,2,5,5] x) => (float[?,?,?,?] y) <int64[8] p = {0,0,-1,2,0,0,1,-1}> { y = Pad <mode: string =
        "wrap"> (x, p) }
        """,
        {"x": normal(1, 2, 5, 5)},
        opset=19,
    ),
    "pad_axes": Case(
        """
        (float[2,3,4] x) => (float[?,?,?] y) <int64[4] p={1,2,0,1}, int64[2] a={-1,0}, float v={7}> { y =
        Pad(x,p,v,a) }
        """,
        {"x": normal(2, 3, 4)},
    ),
    "pad_neg_inf_maxpool": Case(
        """
        (float[1,1,4,4] x) => (float[?,?,?,?] y) <int64[8] p={0,0,1,1,0,0,1,1}, float v={-1000000}> { q = Pad(x,p,v)
        y = MaxPool<kernel_shape=[3,3]>(q) }
        """,
        {"x": normal(1, 1, 4, 4)},
    ),
    "pad_int": Case(
        """
        (int64[2,3] x) => (int64[?,?] y) <int64[4] p={1,0,0,2}, int64 v={9223372036854775807}> { y = Pad(x,p,v) }
        """,
        {"x": array("int64", [0, 1, 2, 3, 4, 5], shape=(2, 3))},
    ),
    "pad_bool": Case(
        """
        (bool[2,3] x) => (bool[?,?] y) <int64[4] p={1,0,0,2}, bool v={1}> { y = Pad(x,p,v) }
        """,
        {"x": array("bool", [0, 0, 0, 0, 0, 0], shape=(2, 3))},
    ),
    "pad_conv_auto_pad": Case(
        """
        (float[1,1,5,5] x) => (float[?,?,?,?] y) <int64[8] p={0,0,1,1,0,0,1,1}, float[1,1,3,3]
        w={1,2,3,4,5,6,7,8,9}> { q = Pad(x,p) y = Conv<auto_pad="SAME_LOWER",strides=[2,2]>(q,w) }
        """,
        {"x": normal(1, 1, 5, 5)},
    ),
    "pad_channels_conv": Case(
        """
        (float[1,1,5,5] x) => (float[?,?,?,?] y) <int64[8] p={0,1,1,0,0,0,0,1}, float[1,2,2,2] w={1,2,3,4,5,6,7,8}>
        { q = Pad(x,p) y = Conv<pads=[1,0,0,0]>(q,w) }
        """,
        {"x": normal(1, 1, 5, 5)},
    ),
    "pad_conv_runtime_value": Case(
        """
        (float[1,1,5,5] x, float v) => (float[?,?,?,?] y) <int64[8] p={0,0,1,1,0,0,1,1}, float[1,1,3,3]
        w={1,2,3,4,5,6,7,8,9}> { q = Pad(x,p,v) y = Conv(q,w) }
        """,
        {"x": normal(1, 1, 5, 5), "v": array("float32", [3.0], shape=())},
    ),
    "avgpool_same_upper_exclude": Case(
        """
        (float[1,1,5,6] x) => (float[?,?,?,?] y, float[?,?,?,?] z) { y =
        AveragePool<kernel_shape=[3,2],strides=[2,2],auto_pad="SAME_UPPER">(x) z =
        AveragePool<kernel_shape=[2,3],strides=[2,2],auto_pad="SAME_LOWER",count_include_pad=1>(x)}
        """,
        {"x": normal(1, 1, 5, 6)},
    ),
    "avgpool_asym_pads": Case(
        """
        (float[1,2,5,5] x) => (float[?,?,?,?] y, float[?,?,?,?] z) { y =
        AveragePool<kernel_shape=[3,3],pads=[1,0,0,2]>(x) z =
        AveragePool<kernel_shape=[3,3],pads=[1,0,0,2],count_include_pad=1>(x)}
        """,
        {"x": normal(1, 2, 5, 5)},
    ),
    "avgpool_dilated": Case(
        """
        (float[1,2,7,7] x) => (float[?,?,?,?] y,float[?,?,?,?] z,float[?,?,?,?] w) { y =
        AveragePool<kernel_shape=[3,3],dilations=[2,2],pads=[1,1,1,1]>(x) z =
        AveragePool<kernel_shape=[3,2],dilations=[2,1],pads=[1,0,1,1],count_include_pad=1,strides=[2,1]>(x) w =
        AveragePool<kernel_shape=[2,2],dilations=[1,3],pads=[1,0,1,1],strides=[2,2],ceil_mode=1>(x)}
        """,
        {"x": normal(1, 2, 7, 7)},
    ),
    "maxpool_1d_3d": Case(
        """
        (float[1,2,7] x, float[1,1,4,5,6] t) => (float[?,?,?] y, float[?,?,?,?,?] z) { y =
        MaxPool<kernel_shape=[3],strides=[2],ceil_mode=1>(x) z =
        MaxPool<kernel_shape=[2,3,2],pads=[1,0,1,0,1,0]>(t)}
        """,
        {"x": normal(1, 2, 7), "t": normal(1, 1, 4, 5, 6)},
    ),
    "avgpool_1d_3d_ceil": Case(
        """
        (float[1,2,8] x, float[1,1,4,5,6] t) => (float[?,?,?] y, float[?,?,?,?,?] z) { y =
        AveragePool<kernel_shape=[3],strides=[2],ceil_mode=1,pads=[1,1]>(x) z =
        AveragePool<kernel_shape=[2,3,2],pads=[1,0,1,0,1,0],count_include_pad=1>(t)}
        """,
        {"x": normal(1, 2, 8), "t": normal(1, 1, 4, 5, 6)},
    ),
    "maxpool_nan": Case(
        """
        (float[1,1,4,4] x) => (float[?,?,?,?] y) { y = MaxPool<kernel_shape=[2,2]>(x) }
        """,
        {
            "x": array(
                "float32",
                [
                    -4.468057,
                    -4.561422,
                    -5.541939,
                    -4.764685,
                    -5.216455,
                    -5.669336,
                    -5.421969,
                    -5.250163,
                    -4.803558,
                    -5.681894,
                    -5.17555,
                    -4.495147,
                    -4.849191,
                    -3.781871,
                    -4.038444,
                    -inf,
                ],
                shape=(1, 1, 4, 4),
            )
        },
    ),
    "lppool": Case(
        """
        (float[1,1,4,4] x) => (float[?,?,?,?] y,float[?,?,?,?] z) { y = LpPool<kernel_shape=[2,2],p=3>(x) z =
        GlobalLpPool<p=2>(x)}
        """,
        {"x": normal(1, 1, 4, 4)},
    ),
    "globalpools_2d": Case(
        """
        (float[2,3] x,float[2,3,4] t) => (float[2,3,1] y, float[2,3,1] z) { y = GlobalAveragePool(t) z =
        GlobalMaxPool(t)}
        """,
        {"x": normal(2, 3), "t": normal(2, 3, 4)},
    ),
    "dynamic_avgpool": Case(
        """
        (float[N,1,H,W] x) => (float[?,?,?,?] y, float[?,?,?,?] z) { y =
        AveragePool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1],ceil_mode=1>(x) z =
        MaxPool<kernel_shape=[3,3],strides=[2,2],auto_pad="SAME_UPPER">(x)}
        """,
        {"x": normal(1, 1, 5, 6)},
        {"x": normal(2, 1, 4, 4)},
        {"x": normal(2, 1, 7, 8)},
    ),
    "avgpool_dilated_incl_ceil": Case(
        """
        (float[1,2,7,8] x) => (float[?,?,?,?] w) { w =
        AveragePool<kernel_shape=[2,3],dilations=[2,3],pads=[1,0,1,1],strides=[3,2],ceil_mode=1,count_include_pad=1>(x)}
        """,
        {"x": normal(1, 2, 7, 8)},
    ),
    "maxpool_dilated": Case(
        """
        (float[N,2,H,W] x) => (float[?,?,?,?] y,float[?,?,?,?] z) { y =
        MaxPool<kernel_shape=[3,2],dilations=[2,3],pads=[1,0,1,2],strides=[2,1]>(x)
        z=MaxPool<kernel_shape=[2,2],strides=[2,2],dilations=[2,2],ceil_mode=1>(x)}
        """,
        {"x": normal(1, 2, 7, 7, dtype="float32")},
        {"x": normal(2, 2, 6, 9)},
    ),
    "maxpool_dilated_1d": Case(
        """
        (float16[1,2,7] x) => (float16[?,?,?] y) { y = MaxPool<kernel_shape=[3],dilations=[2],pads=[1,1]>(x)}
        """,
        {
            "x": array(
                "float16",
                [
                    0.720215,
                    -0.553711,
                    -1.291992,
                    -1.600586,
                    0.553223,
                    0.710449,
                    -0.875977,
                    -0.527832,
                    -0.728027,
                    -1.895508,
                    0.199097,
                    0.846191,
                    -0.223389,
                    -1.422852,
                ],
                shape=(1, 2, 7),
            )
        },
    ),
    "space_depth": Case(
        """
        (float[1,8,2,4] x) => (float[?,?,?,?] a) { a=SpaceToDepth<blocksize=2>(x)}
        """,
        {"x": normal(1, 8, 2, 4)},
    ),
}
