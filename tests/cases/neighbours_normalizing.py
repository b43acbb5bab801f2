"""Normalization, softmax, activations, and what a convolution may take over."""

from __future__ import annotations

from neighbours import Case, array, inf, nan, normal

CASES: dict[str, Case] = {
    "conv_bn_graph_output": Case(
        """
        (float[1,2,4,4] x) => (float[1,2,4,4] c, float[1,2,4,4] y) <float[2] s={1,-2}, float[2] b={0,1}, float[2]
        m={0.1,0.2}, float[2] v={1,2}, float[2,2,1,1] w={1,2,3,4}> { c = Conv(x,w) y = BatchNormalization(c,s,b,m,v)
        }
        """,
        {"x": normal(1, 2, 4, 4)},
    ),
    "conv_bias_shared_bn": Case(
        """
        (float[1,2,4,4] x) => (float[1,2,4,4] y, float[2] z) <float[2] s={1,-2}, float[2] b={0,1}, float[2]
        m={0.1,0.2}, float[2] v={1,2}, float[2,2,1,1] w={1,2,3,4}> { c = Conv(x,w,m) y =
        BatchNormalization(c,s,m,m,v) z = Add(m,v) }
        """,
        {"x": normal(1, 2, 4, 4)},
    ),
    "bn2d3d": Case(
        """
        (float[5,2] x, float[2,2,3] t) => (float[5,2] y, float[2,2,3] u) <float[2] s={1,-2}, float[2] b={0,1},
        float[2] m={0.1,0.2}, float[2] v={1,2}> { y = BatchNormalization(x,s,b,m,v) u =
        BatchNormalization<epsilon=0.1>(t,s,b,m,v) }
        """,
        {"x": normal(5, 2), "t": normal(2, 2, 3)},
    ),
    "convT_groups_bn_asym": Case(
        """
        (float[1,2,3,3] x) => (float[?,?,?,?] y) <float[2] s={1,-2}, float[2] b={0,1}, float[2] m={0.1,0.2},
        float[2] v={1,2}, float[2,1,2,2] w={1,2,3,4,5,6,7,8}> { c =
        ConvTranspose<group=2,strides=[2,2],output_padding=[1,0],pads=[0,1,0,0]>(x,w) y =
        BatchNormalization(c,s,b,m,v) }
        """,
        {"x": normal(1, 2, 3, 3)},
    ),
    "convT_output_shape": Case(
        """
        (float[1,2,3,3] x) => (float[?,?,?,?] y, float[?,?,?,?] z) <float[2,1,2,2] w={1,2,3,4,5,6,7,8}> { y =
        ConvTranspose<strides=[2,2],output_shape=[5,6]>(x,w) z =
        ConvTranspose<strides=[2,2],auto_pad="SAME_LOWER",dilations=[2,1]>(x,w) }
        """,
        {"x": normal(1, 2, 3, 3)},
    ),
    "convT_1d_dyn": Case(
        """
        (float[N,2,L] x) => (float[?,?,?] y) <float[2,1,3] w={1,2,3,4,5,6}> { y =
        ConvTranspose<strides=[2],auto_pad="SAME_UPPER">(x,w) }
        """,
        {"x": normal(1, 2, 3)},
        {"x": normal(3, 2, 4)},
    ),
    "conv_1d_3d": Case(
        """
        (float[1,2,7] x, float[1,1,3,3,3] t) => (float[?,?,?] y, float[?,?,?,?,?] z) <float[2,1,3] w={1,2,3,4,5,6},
        float[1,1,2,2,2] q={1,2,3,4,5,6,7,8}> { y = Conv<group=2,pads=[2,0],dilations=[2]>(x,w) z =
        Conv<auto_pad="SAME_LOWER",strides=[2,1,1]>(t,q) }
        """,
        {"x": normal(1, 2, 7), "t": normal(1, 1, 3, 3, 3)},
    ),
    "conv_runtime_weight": Case(
        """
        (float[1,2,5,5] x, float[2,2,3,3] w, float[2] b) => (float[?,?,?,?] y) { y =
        Conv<pads=[1,1,1,1],strides=[2,1]>(x,w,b) }
        """,
        {"x": normal(1, 2, 5, 5), "w": normal(2, 2, 3, 3), "b": normal(2)},
    ),
    "conv_fp16": Case(
        """
        (float16[1,2,5,5] x) => (float16[?,?,?,?] y) <float16[1,2,1,1] w={1,2}> { y = Conv(x,w) }
        """,
        {"x": normal(1, 2, 5, 5, dtype="float16")},
    ),
    "ln_wrong_axis": Case(
        """
        (float[2,3,3] x) => (float[2,3,3] y) <int64[1] a={1}, float two={2}, float e={0.00001}> { m =
        ReduceMean(x,a) d = Sub(x,m) q = Pow(d,two) v = ReduceMean(q,a) w = Add(v,e) s = Sqrt(w) y = Div(d,s) }
        """,
        {"x": normal(2, 3, 3)},
    ),
    "ln_axes_two": Case(
        """
        (float[2,3,3] x) => (float[2,3,3] y) <int64[2] a={-1,0}, float two={2}, float e={0.1}> { m = ReduceMean(x,a)
        d = Sub(x,m) q = Pow(d,two) v = ReduceMean(q,a) w = Add(v,e) s = Sqrt(w) y = Div(d,s) }
        """,
        {"x": normal(2, 3, 3)},
    ),
    "layernorm_axis1_outputs": Case(
        """
        (float[2,3,4] x) => (float[2,3,4] y, float[2,1,1] m, float[2,1,1] i) <float[3,4]
        s={1,2,3,4,5,6,7,8,9,10,11,12}> { y,m,i = LayerNormalization<axis=1>(x,s) }
        """,
        {"x": normal(2, 3, 4)},
    ),
    "layernorm_scale_broadcast": Case(
        """
        (float[2,3,4] x) => (float[2,3,4] y) <float[1] s={2}, float[3,1] b={1,2,3}> { y =
        LayerNormalization<axis=-2,epsilon=0.1>(x,s,b) }
        """,
        {"x": normal(2, 3, 4)},
    ),
    "groupnorm_instnorm": Case(
        """
        (float[2,4,3] x) => (float[2,4,3] y,float[2,4,3] z) <float[4] s={1,2,3,4},float[4] b={4,3,2,1}> { y =
        GroupNormalization<num_groups=2>(x,s,b) z = InstanceNormalization<epsilon=0.1>(x,s,b)}
        """,
        {"x": normal(2, 4, 3)},
    ),
    "groupnorm18": Case(
        """
        (float[2,4,3] x) => (float[2,4,3] y) <float[2] s = {1,2}, float[2] b = {4,3}> { y = GroupNormalization
        <num_groups: int = 2> (x, s, b) }
        """,
        {"x": normal(2, 4, 3)},
        opset=18,
    ),
    "rmsnorm": Case(
        """
        (float[2,4,3] x) => (float[2,4,3] y) <float[4,3] s = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = RMSNormalization
        <axis: int = 1, epsilon: float = 0.1> (x, s) }
        """,
        {"x": normal(2, 4, 3)},
        opset=23,
    ),
    "lpnorm_zero": Case(
        """
        (float[2,3] x) => (float[2,3] y,float[2,3] z) { y = LpNormalization<axis=1,p=1>(x) z = LpNormalization(x)}
        """,
        {"x": array("float32", [0.0, 0.0, 0.0, 0.0, 0.0, 0.0], shape=(2, 3))},
    ),
    "Softmax_old_default": Case(
        """
        (float[2,3,4] x) => (float[2,3,4] y, float[2,3,4] z) { y = Softmax (x) z = Softmax <axis: int = -1> (x) }
        """,
        {"x": normal(2, 3, 4)},
        opset=11,
    ),
    "Softmax_old_axis0_dyn": Case(
        """
        (float[N,3,M] x) => (float[N,3,M] y, float[N,3,M] z) { y = Softmax <axis: int = 0> (x) z = Softmax <axis:
        int = -2> (x) }
        """,
        {"x": normal(2, 3, 4)},
        {"x": normal(1, 3, 2)},
        opset=11,
    ),
    "Softmax_13": Case(
        """
        (float[2,3,4] x) => (float[2,3,4] y, float[2,3,4] z, float[2,3,4] w) { y=Softmax(x) z=Softmax<axis=0>(x)
        w=Softmax<axis=-2>(x)}
        """,
        {"x": normal(2, 3, 4)},
    ),
    "LogSoftmax_old_default": Case(
        """
        (float[2,3,4] x) => (float[2,3,4] y, float[2,3,4] z) { y = LogSoftmax (x) z = LogSoftmax <axis: int = -1>
        (x) }
        """,
        {"x": normal(2, 3, 4)},
        opset=11,
    ),
    "LogSoftmax_old_axis0_dyn": Case(
        """
        (float[N,3,M] x) => (float[N,3,M] y, float[N,3,M] z) { y = LogSoftmax <axis: int = 0> (x) z = LogSoftmax
        <axis: int = -2> (x) }
        """,
        {"x": normal(2, 3, 4)},
        {"x": normal(1, 3, 2)},
        opset=11,
    ),
    "LogSoftmax_13": Case(
        """
        (float[2,3,4] x) => (float[2,3,4] y, float[2,3,4] z, float[2,3,4] w) { y=LogSoftmax(x)
        z=LogSoftmax<axis=0>(x) w=LogSoftmax<axis=-2>(x)}
        """,
        {"x": normal(2, 3, 4)},
    ),
    "Hardmax_old_default": Case(
        """
        (float[2,3,4] x) => (float[2,3,4] y, float[2,3,4] z) { y = Hardmax (x) z = Hardmax <axis: int = -1> (x) }
        """,
        {"x": normal(2, 3, 4)},
        opset=11,
    ),
    "Hardmax_old_axis0_dyn": Case(
        """
        (float[N,3,M] x) => (float[N,3,M] y, float[N,3,M] z) { y = Hardmax <axis: int = 0> (x) z = Hardmax <axis:
        int = -2> (x) }
        """,
        {"x": normal(2, 3, 4)},
        {"x": normal(1, 3, 2)},
        opset=11,
    ),
    "Hardmax_13": Case(
        """
        (float[2,3,4] x) => (float[2,3,4] y, float[2,3,4] z, float[2,3,4] w) { y=Hardmax(x) z=Hardmax<axis=0>(x)
        w=Hardmax<axis=-2>(x)}
        """,
        {"x": normal(2, 3, 4)},
    ),
    "softmax_inf": Case(
        """
        (float[2,3] x) => (float[2,3] y, float[2,3] z) { y=Softmax(x) z=LogSoftmax(x)}
        """,
        {"x": array("float32", [-inf, 0.0, 1.0, -inf, -inf, -inf], shape=(2, 3))},
    ),
    "softmax_scalar_1d": Case(
        """
        (float[3] x) => (float[3] y) { y=Softmax<axis=0>(x)}
        """,
        {"x": normal(3)},
    ),
    "hardmax_ties": Case(
        """
        (float[2,3] x) => (float[2,3] y) { y=Hardmax(x)}
        """,
        {"x": array("float32", [1.0, 1.0, 0.0, 2.0, 3.0, 3.0], shape=(2, 3))},
    ),
    "gelu_ops": Case(
        """
        (float[2,3] x) => (float[2,3] y, float[2,3] z) { y=Gelu(x) z=Gelu<approximate="tanh">(x)}
        """,
        {"x": normal(2, 3)},
    ),
    "activations": Case(
        """
        (float[9] x) => (float[?] a,float[?] b,float[?] c,float[?] d,float[?] e,float[?] f,float[?] h,float[?]
        i,float[?] j,float[?] k,float[?] l,float[?] m) { a=HardSigmoid<alpha=0.5,beta=0.1>(x) b=HardSwish(x)
        c=Elu<alpha=2.0>(x) d=Selu<alpha=1.0,gamma=3.0>(x) e=Celu<alpha=0.5>(x) f=ThresholdedRelu<alpha=0.5>(x)
        h=Shrink<bias=0.2,lambd=0.4>(x) i=Softplus(x) j=Softsign(x) k=LeakyRelu(x) l=Mish(x)
        m=LeakyRelu<alpha=-0.5>(x)}
        """,
        {"x": array("float32", [-100.0, -2.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 100.0])},
    ),
    "activations_extreme": Case(
        """
        (float[5] x) => (float[?] a,float[?] i,float[?] j,float[?] l,float[?] t,float[?] e, float[?] r) {
        a=HardSwish(x) i=Softplus(x) j=Softsign(x) l=Mish(x) t=Tanh(x) e=Erf(x) r=Relu(x)}
        """,
        {"x": array("float32", [-10000.0, 10000.0, 88.0, -88.0, nan])},
    ),
    "prelu": Case(
        """
        (float[2,3,2] x) => (float[2,3,2] y, float[2,3,2] z) <float[3,1] s={0.1,-2,3}, float[1] t={0.5}> {
        y=PRelu(x,s) z=PRelu(x,t)}
        """,
        {"x": normal(2, 3, 2)},
    ),
    "clip": Case(
        """
        (float[4] x, float lo) => (float[4] y, float[4] z, float[4] w) <float hi={0.5}> { y=Clip(x,lo,hi)
        z=Clip(x,hi,lo) w=Clip(x,,hi)}
        """,
        {"x": array("float32", [-2.0, 0.0, 2.0, nan]), "lo": array("float32", [-1.0], shape=())},
    ),
    "clip_int": Case(
        """
        (int64[4] x,int32[2] q) => (int64[4] y, int32[2] z) <int64 hi={5}, int32 l={-3}> { y=Clip(x,,hi) z =
        Clip(q,l)}
        """,
        {"x": array("int64", [-4611686018427387904, 0, 2, 4611686018427387904]), "q": array("int32", [-5, 9])},
    ),
    "minmax_variadic": Case(
        """
        (float[4] x, float[3,1] z) => (float[?,?] y, float[?,?] w, float[?] o,float[?,?] s, float[?,?] m) {
        y=Max(x,z,x) w=Min(z,x) o=Max(x) s=Sum(x,z,x) m=Mean(x,z,z)}
        """,
        {"x": array("float32", [-2.0, 0.0, 2.0, inf]), "z": normal(3, 1)},
    ),
    "minmax_int": Case(
        """
        (int64[2] x, int64[2] z,int32[2] a) => (int64[2] y, int64[2] w,int32[2] m) { y=Max(x,z) w=Min(z,x)
        m=Min(a,a)}
        """,
        {
            "x": array("int64", [1152921504606846977, -5]),
            "z": array("int64", [1152921504606846976, 3]),
            "a": array("int32", [1, 2]),
        },
    ),
    "minmax_nan": Case(
        """
        (float[2] x, float[2] z) => (float[2] y, float[2] w) { y=Max(x,z) w=Min(x,z)}
        """,
        {"x": array("float32", [nan, 1.0]), "z": array("float32", [1.0, nan])},
    ),
}
