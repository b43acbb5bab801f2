"""Quantization, half precision, and annotations that are wrong."""

from __future__ import annotations

from neighbours import Case, array, normal

CASES: dict[str, Case] = {
    "qdq_act_asym": Case(
        """
        (float[2,3] x) => (float[2,3] y) <float s={0.05}, uint8 z={128}> { q=QuantizeLinear(x,s,z)
        y=DequantizeLinear(q,s,z)}
        """,
        {"x": normal(2, 3)},
    ),
    "qdq_int8_asym": Case(
        """
        (float[2,3] x) => (float[2,3] y) <float s={0.05}, int8 z={5}> { q=QuantizeLinear(x,s,z)
        y=DequantizeLinear(q,s,z)}
        """,
        {"x": normal(2, 3)},
    ),
    "qdq_axis": Case(
        """
        (float[2,3,2] x) => (float[2,3,2] y,float[2,3,2] w) <float[3] s={0.05,0.5,1}, int8[3] z={0,0,0}, float[2]
        t={0.1,1}, int8[2] z2={0,0}> { q=QuantizeLinear(x,s,z) y=DequantizeLinear(q,s,z)
        r=QuantizeLinear<axis=-1>(x,t,z2) w=DequantizeLinear<axis=2>(r,t)}
        """,
        {
            "x": array(
                "float32",
                [
                    0.144078,
                    -2.01944,
                    5.396972,
                    -2.924732,
                    -0.319949,
                    4.366827,
                    -2.247491,
                    5.195451,
                    5.102525,
                    -1.100557,
                    0.022867,
                    2.594589,
                ],
                shape=(2, 3, 2),
            )
        },
    ),
    "dq_uint8_weight_zp": Case(
        """
        (float[2,3] x) => (float[?,?] y) <uint8[3,2] w={1,200,128,7,0,255}, float[2] s={0.1,0.2}, uint8[2]
        z={128,3}> { d=DequantizeLinear<axis=1>(w,s,z) y=MatMul(x,d)}
        """,
        {"x": normal(2, 3)},
    ),
    "dq_int8_weight_zp": Case(
        """
        (float[2,3] x) => (float[?,?] y) <int8[3,2] w={1,100,-128,7,0,25}, float[3] s={0.1,0.2,0.3}, int8[3]
        z={1,-3,0}> { d=DequantizeLinear<axis=0>(w,s,z) y=MatMul(x,d)}
        """,
        {"x": normal(2, 3)},
    ),
    "dq_transpose_axis": Case(
        """
        (float[2,3] x) => (float[?,?] y, float[?,?] u) <int8[2,3] w={1,100,-127,7,0,25}, float[3] s={0.1,0.2,0.3}> {
        d=DequantizeLinear<axis=1>(w,s) t=Transpose(d) y=MatMul(x,t) d2=DequantizeLinear<axis=-1>(w,s) u=Mul(x,d2)}
        """,
        {"x": normal(2, 3)},
    ),
    "dq_reshape_unsqueeze": Case(
        """
        (float[1,3,2,2] x) => (float[?,?,?,?] y) <int8[2,3] w={1,100,-127,7,0,25}, float[2] s={0.1,0.2}, int64[2]
        a={2,3}> { d=DequantizeLinear<axis=0>(w,s) t=Unsqueeze(d,a) y=Conv(x,t)}
        """,
        {"x": normal(1, 3, 2, 2)},
    ),
    "qdq_conv_bn": Case(
        """
        (float[1,2,4,4] x) => (float[?,?,?,?] y) <int8[2,2,1,1] w={1,100,-127,7}, float[2] s={0.1,0.2}, float[2]
        a={1,2}, float[2] b={0,1}, float[2] m={0.1,0.2}, float[2] v={1,2}> { d=DequantizeLinear<axis=0>(w,s)
        c=Conv(x,d) y=BatchNormalization(c,a,b,m,v)}
        """,
        {"x": normal(1, 2, 4, 4)},
    ),
    "q_const_folds": Case(
        """
        (float[2] x) => (float[2] y) <float[2] w={1.26,-300}, float s={0.5}, int8 z={0}> { q=QuantizeLinear(w,s,z)
        d=DequantizeLinear(q,s,z) y=Add(x,d)}
        """,
        {"x": normal(2)},
    ),
    "qdq_scale_array1": Case(
        """
        (float[2,3] x) => (float[2,3] y) <float[1] s={0.05}, int8[1] z={0}> { q=QuantizeLinear(x,s,z)
        y=DequantizeLinear(q,s,z)}
        """,
        {"x": normal(2, 3)},
    ),
    "qdq_rt_scale": Case(
        """
        (float[2,3] x, float s) => (float[2,3] y) <int8 z={0}> { q=QuantizeLinear(x,s,z) y=DequantizeLinear(q,s,z)}
        """,
        {"x": normal(2, 3), "s": array("float32", [0.1], shape=())},
    ),
    "dyn_quant": Case(
        """
        (float[2,3] x) => (uint8[2,3] y,float s,uint8 z) { y,s,z=DynamicQuantizeLinear(x)}
        """,
        {"x": normal(2, 3)},
    ),
    "q_int8_output": Case(
        """
        (float[2,3] x) => (int8[2,3] q) <float s={0.05}, int8 z={0}> { q=QuantizeLinear(x,s,z) }
        """,
        {"x": normal(2, 3)},
    ),
    "dq_int8_input": Case(
        """
        (int8[2,3] x) => (float[2,3] q) <float s={0.05}, int8 z={0}> { q=DequantizeLinear(x,s,z) }
        """,
        {"x": array("int8", [-23, 58, -80, -34, 74, 28], shape=(2, 3))},
    ),
    "dq_int32_bias": Case(
        """
        (float[1,2,3,3] x) => (float[?,?,?,?] y) <int32[2] b={100000,-7}, float[2] s={0.0001,0.1}, float[2,2,1,1]
        w={1,2,3,4}> { d=DequantizeLinear<axis=0>(b,s) y=Conv(x,w,d) }
        """,
        {"x": normal(1, 2, 3, 3)},
    ),
    "qdq_through_maxpool_relu": Case(
        """
        (float[1,1,4,4] x) => (float[?,?,?,?] y) <float s={0.05}, int8 z={0}> { q=QuantizeLinear(x,s,z)
        d=DequantizeLinear(q,s,z) p=MaxPool<kernel_shape=[2,2]>(d) r=Relu(p) q2=QuantizeLinear(r,s,z)
        y=DequantizeLinear(q2,s,z)}
        """,
        {"x": normal(1, 1, 4, 4)},
    ),
    "fp16_mask": Case(
        """
        (float16[2,3] x, bool[2,3] m) => (float16[2,3] y) <float16 n={-65504}> { w=Where(m,x,n) y=Softmax(w)}
        """,
        {
            "x": array("float16", [0.918457, 1.484375, -0.452393, 0.732422, 1.003906, 1.176758], shape=(2, 3)),
            "m": array("bool", [1, 0, 1, 0, 0, 0], shape=(2, 3)),
        },
    ),
    "fp16_reduce": Case(
        """
        (float16[1,4096] x) => (float16[1,1] y, float16[1,1] z) <int64[1] a={1}> { y=ReduceMean(x,a)
        z=ReduceSumSquare(x,a)}
        """,
        {"x": normal(1, 4096, dtype="float16")},
    ),
    "fp16_ln": Case(
        """
        (float16[2,8] x) => (float16[2,8] y) <float16[8] s={1,1,1,1,1,1,1,1}> { y=LayerNormalization(x,s)}
        """,
        {
            "x": array(
                "float16",
                [
                    -1144.0,
                    628.0,
                    433.75,
                    -861.5,
                    579.5,
                    -668.0,
                    -461.75,
                    -195.75,
                    -1616.0,
                    -670.0,
                    -1348.0,
                    192.75,
                    1234.0,
                    1618.0,
                    1120.0,
                    1321.0,
                ],
                shape=(2, 8),
            )
        },
    ),
    "mixed_cast_chain": Case(
        """
        (float[4] x) => (float[4] y,float16[4] z,float[4] w) { a=Cast<to=10>(x) y=Cast<to=1>(a) b=Cast<to=16>(x)
        z=Cast<to=10>(b) c=Cast<to=11>(x) w=Cast<to=1>(c)}
        """,
        {"x": array("float32", [1.0001, 65520.0, 1e-08, -3.3])},
    ),
    "bf16_ops": Case(
        """
        (bfloat16[4] x) => (bfloat16[4] y) { a=Exp(x) b=Mul(a,x) y=Softmax(b)}
        """,
        {"x": array("bfloat16", [-0.210938, 0.960938, 1.328125, -1.984375])},
    ),
    "pow2_chain": Case(
        """
        (float[3] x) => (float[3] y) <float[3] e={0.5,2,3}> { y=Pow(x,e)}
        """,
        {"x": array("float32", [0.553354, 0.048002, 2.79355])},
    ),
    "double_io_ok": Case(
        """
        (double[3] x) => (double[3] y) { y=Relu(x)}
        """,
        {"x": array("float64", [0.436986, -2.229152, -0.762278])},
    ),
    "stale_dtype": Case(
        """
        (float[3] x) => (float[3] y) <int16[7] a> { a = Neg (x) y = Exp (a) }
        """,
        {"x": normal(3)},
    ),
    "stale_shape_out": Case(
        """
        (float[N,3] x) => (float[7,3] y) { y=Exp(x) }
        """,
        {"x": normal(2, 3)},
    ),
    "stale_shape_rank_out": Case(
        """
        (float[N,3] x) => (float[M] y) { y=Exp(x) }
        """,
        {"x": normal(2, 3)},
    ),
    "same_symbol_out_differs": Case(
        """
        (float[N,3] x) => (float[N,3] y) { y=Concat<axis=0>(x,x) }
        """,
        {"x": normal(2, 3)},
    ),
    "same_symbol_two_inputs_bcast": Case(
        """
        (float[N,3] x, float[M,3] w) => (float[?,3] y) { y=Add(x,w) }
        """,
        {"x": normal(2, 3), "w": normal(2, 3)},
        {"x": normal(1, 3), "w": normal(4, 3)},
    ),
    "anon_dims": Case(
        """
        (float[?,?] x, float[?,?] w) => (float[?,?] y) { y=MatMul(x,w) }
        """,
        {"x": normal(2, 3), "w": normal(3, 2)},
    ),
}
