"""Reshaping, empty tensors, reductions and sorting."""

from __future__ import annotations

from neighbours import Case, array, empty, inf, nan, normal

CASES: dict[str, Case] = {
    "lrn3": Case(
        """
        (float[2,4,3,2] x) => (float[?,?,?,?] q,float[?,?,?,?] y) { y = LpNormalization<axis=1,p=1>(x)
        q=LRN<size=3,alpha=1.0,beta=0.5,bias=2.0>(x)}
        """,
        {"x": normal(2, 4, 3, 2)},
    ),
    "squeeze_all_neg": Case(
        """
        (float[1,2,1,3] x) => (float[2,3] y, float[2,1,3] z, float[1,1,2,1,3,1] w) <int64[1] a={-4}, int64[2]
        b={0,-1}> { y=Squeeze(x) z=Squeeze(x,a) w=Unsqueeze(x,b)}
        """,
        {"x": normal(1, 2, 1, 3)},
    ),
    "squeeze_opset11": Case(
        """
        (float[1,2,1,3] x) => (float[2,1,3] z, float[1,1,2,1,3,1] w) { z = Squeeze <axes: ints = [-4]> (x) w =
        Unsqueeze <axes: ints = [-1, 0]> (x) }
        """,
        {"x": normal(1, 2, 1, 3)},
        opset=11,
    ),
    "transpose_chain": Case(
        """
        (float[2,3,4] x) => (float[?,?,?] y,float[?,?,?] z) { a=Transpose<perm=[1,2,0]>(x)
        b=Transpose<perm=[1,2,0]>(a) y=Transpose(b) z=Transpose<perm=[1,2,0]>(b)}
        """,
        {"x": normal(2, 3, 4)},
    ),
    "flatten_axes": Case(
        """
        (float[2,3,4] x) => (float[?,?] a,float[?,?] b,float[?,?] c,float[?,?] d) { a=Flatten<axis=0>(x)
        b=Flatten<axis=3>(x) c=Flatten<axis=-1>(x) d=Flatten<axis=-3>(x)}
        """,
        {"x": normal(2, 3, 4)},
    ),
    "flatten_dyn_scalar": Case(
        """
        (float[N,3,M] x, float s) => (float[?,?] a,float[?,?] b, float[?,?] c) { a=Flatten<axis=2>(x)
        b=Flatten<axis=-2>(x) c=Flatten<axis=0>(s)}
        """,
        {"x": normal(2, 3, 4), "s": array("float32", [3.0], shape=())},
        {"x": normal(1, 3, 1), "s": array("float32", [3.0], shape=())},
    ),
    "reshape_zero_copy": Case(
        """
        (float[N,3,M] x) => (float[?,?] y, float[?,?,?] z) <int64[2] s={0,-1}, int64[3] t={-1,0,1}> { y=Reshape(x,s)
        z=Reshape(x,t)}
        """,
        {"x": normal(2, 3, 4)},
        {"x": normal(1, 3, 5)},
    ),
    "reshape_chain_zero": Case(
        """
        (float[2,3,4] x) => (float[?,?] y) <int64[3] s={4,0,2}, int64[2] t={0,-1}> { a=Reshape(x,s) y=Reshape(a,t)}
        """,
        {"x": normal(2, 3, 4)},
    ),
    "reshape_chain_dyn_zero": Case(
        """
        (float[N,M,4] x) => (float[?,?] y) <int64[3] s={0,4,-1}, int64[2] t={0,-1}> { a=Reshape(x,s) y=Reshape(a,t)}
        """,
        {"x": normal(2, 3, 4)},
        {"x": normal(3, 5, 4)},
    ),
    "reshape_runtime": Case(
        """
        (float[2,3] x, int64[2] s) => (float[?,?] y) { y=Reshape(x,s)}
        """,
        {"x": normal(2, 3), "s": array("int64", [3, 2])},
        {"x": normal(2, 3), "s": array("int64", [-1, 1])},
        {"x": normal(2, 3), "s": array("int64", [0, -1])},
    ),
    "empty_concat_reduce": Case(
        """
        (float[N,3] x) => (float[?,3] y, float[3] s, float[?,1] t) <int64[1] a={0}, int64[1] b={1}> {
        y=Concat<axis=0>(x,x) s=ReduceSum<keepdims=0>(x,a) t=ReduceSum(x,b)}
        """,
        {"x": normal(2, 3)},
        {"x": normal(0, 3)},
    ),
    "empty_static": Case(
        """
        (float[0,3] x, float[2,0] w) => (float[0,3] y, float[3] s, float[?,?] m, float[0] r, float[1] p, float q)
        <int64[1] a={0}, int64[1] b={1}> { y=Relu(x) s=ReduceSum<keepdims=0>(x,a) m=MatMul(w,x) n=Neg(x)
        r0=ReduceSum<keepdims=0>(n,b) r=Neg(r0) p0=ReduceProd<keepdims=0>(w) p1=Unsqueeze(p0,a) p=Neg(p1)
        q=ReduceSumSquare<keepdims=0>(x)}
        """,
        {"x": normal(0, 3), "w": normal(2, 0)},
    ),
    "empty_reduce_max": Case(
        """
        (float[0,3] x) => (float[3] s, float[3] t) <int64[1] a={0}> { s=ReduceMax<keepdims=0>(x,a)
        t=ReduceMin<keepdims=0>(x,a)}
        """,
        {"x": normal(0, 3)},
    ),
    "empty_mean": Case(
        """
        (float[0,3] x) => (float[3] s) <int64[1] a={0}> { s=ReduceMean<keepdims=0>(x,a)}
        """,
        {"x": normal(0, 3)},
    ),
    "empty_outputs": Case(
        """
        (float[2,3] x) => (float[?,?] s, int64[?] h) <int64[1] a={1}, int64[1] b={1}> { s=Slice(x,a,b) h=Shape(s)}
        """,
        {"x": normal(2, 3)},
    ),
    "empty_gather": Case(
        """
        (float[2,3] x, int64[0] i) => (float[?,?] s, float[?,?] e) <int64[2] z={0,3}> { s=Gather(x,i) e=Expand(s,z)}
        """,
        {"x": normal(2, 3), "i": empty("int64", 0)},
    ),
    "empty_conv_batch": Case(
        """
        (float[N,1,3,3] x) => (float[?,?,?,?] y) <float[1,1,2,2] w={1,2,3,4}> { y=Conv(x,w) }
        """,
        {"x": normal(0, 1, 3, 3)},
        {"x": normal(2, 1, 3, 3)},
    ),
    "reduce_noop": Case(
        """
        (float[2,3] x) => (float[2,3] y, float[1,1] z, float w) <int64[0] e={}> {
        y=ReduceSum<noop_with_empty_axes=1>(x,e) z=ReduceMax(x) w=ReduceMean<keepdims=0>(x,e)}
        """,
        {"x": normal(2, 3)},
    ),
    "reduce_noop18": Case(
        """
        (float[2,3] x) => (float[2,3] y, float[2,3] z, float[2,3] v) { y = ReduceL2 <noop_with_empty_axes: int = 1>
        (x) z = ReduceLogSum <noop_with_empty_axes: int = 1> (x) v = ReduceSumSquare <noop_with_empty_axes: int = 1>
        (x) }
        """,
        {"x": array("float32", [1.281322, 0.902405, 0.487048, 0.897812, 0.264749, 0.978027], shape=(2, 3))},
        opset=18,
    ),
    "reduces": Case(
        """
        (float[2,3,4] x) => (float[?,?] a,float[?,?] b,float[?,?] c,float[?,?,?] d,float[?,?] e, float[?,?] f)
        <int64[1] i={-2}, int64[2] j={-1,0}> { a=ReduceL1<keepdims=0>(x,i) b=ReduceL2<keepdims=0>(x,i)
        c=ReduceLogSumExp<keepdims=0>(x,i) d=ReduceProd(x,j) e=ReduceMin<keepdims=0>(x,i)
        f=ReduceSumSquare<keepdims=0>(x,i)}
        """,
        {"x": normal(2, 3, 4)},
    ),
    "reduce_int": Case(
        """
        (int64[2,3] x,int32[2,3] y) => (int64[?] a,int64[?] b,int64[?] c,int32[?] d, int32[?] e, int32[?] f)
        <int64[1] i={-1}> { a=ReduceSum<keepdims=0>(x,i) b=ReduceMax<keepdims=0>(x,i) c=ReduceProd<keepdims=0>(x,i)
        d=ReduceMean<keepdims=0>(y,i) e=ReduceMin<keepdims=0>(y,i) f=ReduceL1<keepdims=0>(y,i)}
        """,
        {
            "x": array("int64", [1152921504606846976, 5, -7, 9007199254740992, 1, 1], shape=(2, 3)),
            "y": array("int32", [-1, -1, -2, 1073741824, 16777217, -5], shape=(2, 3)),
        },
    ),
    "reduce_mean_int_neg": Case(
        """
        (int64[2,3] x) => (int64[?] a) <int64[1] i={-1}> { a=ReduceMean<keepdims=0>(x,i)}
        """,
        {"x": array("int64", [1099511627776, 5, -7, -3, -2, -2], shape=(2, 3))},
    ),
    "logsumexp_inf": Case(
        """
        (float[2,3] x) => (float[?] c, float[?] d) <int64[1] i={-1}> { c=ReduceLogSumExp<keepdims=0>(x,i) e=Exp(x)
        d=ReduceLogSum<keepdims=0>(e,i)}
        """,
        {"x": array("float32", [-inf, -inf, -inf, 100.0, 100.0, 100.0], shape=(2, 3))},
    ),
    "reduce_nan": Case(
        """
        (float[2,3] x) => (float[?] c,float[?] d) <int64[1] i={-1}> { c=ReduceMax<keepdims=0>(x,i)
        d=ReduceMin<keepdims=0>(x,i)}
        """,
        {"x": array("float32", [1.0, nan, 2.0, 1.0, 2.0, 3.0], shape=(2, 3))},
    ),
    "reduce_bool_max": Case(
        """
        (bool[2,3] x) => (bool[?] c,bool[?] d) <int64[1] i={-1}> { c=ReduceMax<keepdims=0>(x,i)
        d=ReduceMin<keepdims=0>(x,i)}
        """,
        {"x": array("bool", [1, 0, 0, 1, 1, 1], shape=(2, 3))},
    ),
    "argmax": Case(
        """
        (float[2,4] x) => (int64[?,?] a,int64[?] b,int64[?,?] c, int64[?] d) {
        a=ArgMax<axis=-1,select_last_index=1>(x) b=ArgMax<keepdims=0>(x) c=ArgMin<axis=1>(x)
        d=ArgMin<axis=-2,keepdims=0,select_last_index=1>(x)}
        """,
        {"x": array("float32", [1.0, 3.0, 3.0, -1.0, 1.0, 0.0, 0.0, -1.0], shape=(2, 4))},
    ),
    "argmax_int": Case(
        """
        (int32[2,4] x) => (int64[?,?] a) { a=ArgMax<axis=-1>(x) }
        """,
        {"x": array("int32", [16777216, 16777217, 3, -1, 1, 0, 0, -1], shape=(2, 4))},
    ),
    "cumsum": Case(
        """
        (float[2,4] x) => (float[?,?] a,float[?,?] b,float[?,?] c) <int64 n={-1}, int64 z={0}> {
        a=CumSum<exclusive=1>(x,n) b=CumSum<reverse=1>(x,z) c=CumSum<reverse=1,exclusive=1>(x,n)}
        """,
        {"x": normal(2, 4)},
    ),
    "cumsum_int": Case(
        """
        (int64[2,4] x) => (int64[?,?] a) <int64 n={-1}> { a=CumSum(x,n)}
        """,
        {"x": array("int64", [36028797018963968, 1, 1, 1, 1, 2, 3, 4], shape=(2, 4))},
    ),
    "topk": Case(
        """
        (float[2,5] x) => (float[?,?] a,int64[?,?] b,float[?,?] c,int64[?,?] d) <int64[1] k={3}, int64[1] k1={1}> {
        a,b=TopK<largest=0>(x,k) c,d=TopK<axis=0>(x,k1)}
        """,
        {"x": array("float32", [3.0, 1.0, 1.0, 2.0, 5.0, 0.0, 0.0, 0.0, 0.0, -1.0], shape=(2, 5))},
    ),
    "topk_int": Case(
        """
        (int64[5] x) => (int64[?] a,int64[?] b) <int64[1] k={3}> { a,b=TopK(x,k) }
        """,
        {"x": array("int64", [1152921504606846976, 1152921504606846977, -5, 3, 7])},
    ),
}
