"""Gather, slices, products, resizing and generators."""

from __future__ import annotations

from neighbours import Case, array, nan, normal

CASES: dict[str, Case] = {
    "gather_neg": Case(
        """
        (float[3,4] x, int64[2] i) => (float[?,?] a,float[?,?] b,float[?] c, float[?,?,?] d) <int64 k={-1},
        int64[1,2] j={-4,3}> { a=Gather(x,i) b=Gather<axis=-1>(x,i) c=Gather(x,k) d=Gather<axis=1>(x,j)}
        """,
        {"x": normal(3, 4), "i": array("int64", [-3, 2])},
    ),
    "gather_shape_neg": Case(
        """
        (float[N,3,M] x) => (int64[?] a, int64 b, float[?,?] c) <int64 k={-1}, int64[1] m={-1}, int64[1] z={0},
        int64[2] j={-3,-1}> { s=Shape(x) a=Gather(s,j) b=Gather(s,k) t=Unsqueeze(b,z) q=Concat<axis=0>(m,t)
        c=Reshape(x,q)}
        """,
        {"x": normal(2, 3, 4)},
        {"x": normal(1, 3, 5)},
    ),
    "shape_start_end": Case(
        """
        (float[N,3,M] x) => (int64[?] a,int64[?] b,int64[?] c, int64 d) { a=Shape<start=-2>(x) b=Shape<end=-1>(x)
        c=Shape<start=1,end=100>(x) d=Size(x)}
        """,
        {"x": normal(2, 3, 4)},
        {"x": normal(1, 3, 5)},
    ),
    "gather_elements": Case(
        """
        (float[2,3] x, int64[2,2] i) => (float[?,?] a,float[?,?] b) { a=GatherElements<axis=-1>(x,i)
        b=GatherElements(x,i)}
        """,
        {"x": normal(2, 3), "i": array("int64", [-1, 0, 1, -2], shape=(2, 2))},
    ),
    "gather_nd": Case(
        """
        (float[2,3,4] x, int64[2,2] i, int64[2,1] j) => (float[?,?] a,float[?,?] b) { a=GatherND(x,i)
        b=GatherND<batch_dims=1>(x,j)}
        """,
        {
            "x": normal(2, 3, 4),
            "i": array("int64", [-1, 0, 1, -2], shape=(2, 2)),
            "j": array("int64", [2, -1], shape=(2, 1)),
        },
    ),
    "slice": Case(
        """
        (float[5,6] x) => (float[?,?] a,float[?,?] b,float[?,?] c,float[?,?] d) <int64[1] s={-1},int64[1]
        e={-9223372036854775807},int64[1] ax={-1},int64[1] st={-2},int64[2] s2={1,-100},int64[2] e2={100,4},
        int64[1] z={3}, int64[1] y={3}> { a=Slice(x,s,e,ax,st) b=Slice(x,s2,e2) c=Slice(x,z,y) d=Slice(x,y,s,ax)}
        """,
        {"x": normal(5, 6)},
    ),
    "slice_dyn": Case(
        """
        (float[N,6] x, int64[1] s, int64[1] e) => (float[?,?] a,float[?,?] b) <int64[1] ax={0}, int64[1] m={-1}> {
        a=Slice(x,s,e,ax) b=Slice(x,s,e,ax,m)}
        """,
        {"x": normal(5, 6), "s": array("int64", [1]), "e": array("int64", [100])},
        {"x": normal(5, 6), "s": array("int64", [-2]), "e": array("int64", [-1])},
        {"x": normal(5, 6), "s": array("int64", [4]), "e": array("int64", [-100])},
        {"x": normal(2, 6), "s": array("int64", [7]), "e": array("int64", [0])},
    ),
    "slice_int32_idx": Case(
        """
        (float[N,6] x) => (float[?,?] a,float[?,?] b) <int32[1] ax={-2}, int32[1] s={-2}, int32[1] e={2147483647},
        int32[1] m={-1}, int32[1] b0={-2147483648}> { a=Slice(x,s,e,ax) b=Slice(x,e,b0,ax,m)}
        """,
        {"x": normal(5, 6)},
        {"x": normal(1, 6)},
    ),
    "slice_old": Case(
        """
        (float[5,6] x) => (float[?,?] a) { a = Slice <starts: ints = [1, -3], ends: ints = [-1, 2147483647], axes:
        ints = [0, 1]> (x) }
        """,
        {"x": normal(5, 6)},
        opset=9,
    ),
    "split": Case(
        """
        (float[5,6] x) => (float[?,?] a,float[?,?] b,float[?,?] c,float[?,?] d,float[?,?] e) <int64[2] sp={1,4}> {
        a,b=Split(x,sp) c,d,e=Split<axis=-1,num_outputs=3>(x)}
        """,
        {"x": normal(5, 6)},
    ),
    "split_uneven": Case(
        """
        (float[5,7] x) => (float[?,?] c,float[?,?] d,float[?,?] e) { c,d,e=Split<axis=1,num_outputs=3>(x)}
        """,
        {"x": normal(5, 7)},
    ),
    "split_dyn": Case(
        """
        (float[N,4] x) => (float[?,?] c,float[?,?] d) { c,d=Split<axis=0,num_outputs=2>(x)}
        """,
        {"x": normal(4, 4)},
        {"x": normal(5, 4)},
    ),
    "split_zero": Case(
        """
        (float[5,6] x) => (float[?,?] a,float[?,?] b,float[?,?] c) <int64[3] sp={0,5,0}> { a,b,c=Split(x,sp) }
        """,
        {"x": normal(5, 6)},
    ),
    "concat_neg": Case(
        """
        (float[5,2] x,float[5,0] y) => (float[?,?] a) { a=Concat<axis=-1>(x,y,x)}
        """,
        {"x": normal(5, 2), "y": normal(5, 0)},
    ),
    "expand_tile": Case(
        """
        (float[3,1] x) => (float[?,?,?] a,float[?,?] b,float[?,?] c) <int64[3] s={2,1,4}, int64[2] r={2,3}, int64[1]
        o={1}> { a=Expand(x,s) b=Tile(x,r) c=Expand(x,o)}
        """,
        {"x": normal(3, 1)},
    ),
    "tile_zero_rt": Case(
        """
        (float[3,2] x,int64[2] r) => (float[?,?] b) { b=Tile(x,r)}
        """,
        {"x": normal(3, 2), "r": array("int64", [2, 1])},
        {"x": normal(3, 2), "r": array("int64", [0, 1])},
    ),
    "expand_dyn": Case(
        """
        (float[N,1] x,float[M] y) => (float[?,?] a) { s=Shape(y) a=Expand(x,s)}
        """,
        {"x": normal(3, 1), "y": normal(4)},
        {"x": normal(1, 1), "y": normal(1)},
    ),
    "trilu": Case(
        """
        (float[3,4] x,int64 k) => (float[?,?] a,float[?,?] b,float[?,?] c) <int64 o={1},int64 m={-1}> { a=Trilu(x,o)
        b=Trilu<upper=0>(x,m) c=Trilu(x,k)}
        """,
        {"x": normal(3, 4), "k": array("int64", [-5], shape=())},
        {"x": normal(3, 4), "k": array("int64", [1], shape=())},
    ),
    "trilu_nan": Case(
        """
        (float[3,3] x) => (float[?,?] a) { a=Trilu<upper=0>(x)}
        """,
        {"x": array("float32", [nan, nan, nan, nan, nan, nan, nan, nan, nan], shape=(3, 3))},
    ),
    "eyelike_onehot": Case(
        """
        (float[3,4] x,int64[3] i) => (float[?,?] a,float[?,?] b, int64[?,?] c) <int64 d={4}, float[2] v={-1,7},
        int64[2] w={0,9}> { a=EyeLike<k=-1>(x) b=OneHot<axis=0>(i,d,v) c=OneHot(i,d,w)}
        """,
        {"x": normal(3, 4), "i": array("int64", [-1, 0, 4])},
    ),
    "depth_space": Case(
        """
        (float[1,8,2,3] x) => (float[?,?,?,?] a,float[?,?,?,?] b,float[?,?,?,?] c) { a=DepthToSpace<blocksize=2>(x)
        b=DepthToSpace<blocksize=2,mode="CRD">(x) c=SpaceToDepth<blocksize=2>(a)}
        """,
        {"x": normal(1, 8, 2, 3)},
    ),
    "einsum": Case(
        """
        (float[2,3] x,float[3,4] y, float[2,2] q) => (float[?,?] a,float[?] b,float[?] c,float[?,?] d,float e) {
        a=Einsum<equation="ij, jk -> ki">(x,y) b=Einsum<equation="ii->i">(q) c=Einsum<equation="ij->j">(x)
        d=Einsum<equation="...j,jk">(x,y) e=Einsum<equation="ij,ij->">(x,x)}
        """,
        {"x": normal(2, 3), "y": normal(3, 4), "q": normal(2, 2)},
    ),
    "einsum_order": Case(
        """
        (float[2,3] x,float[3,4] y) => (float[?,?] a) { a=Einsum<equation="bj,ja">(x,y)}
        """,
        {"x": normal(2, 3), "y": normal(3, 4)},
    ),
    "matmul_ranks": Case(
        """
        (float[3] v,float[3,4] y, float[2,5,3] t,float[3] w) => (float a,float[?] b,float[?,?,?] c,float[?,?] d) {
        a=MatMul(v,w) b=MatMul(v,y) c=MatMul(t,y) d=MatMul(t,v)}
        """,
        {"v": normal(3), "w": normal(3), "y": normal(3, 4), "t": normal(2, 5, 3)},
    ),
    "matmul_bcast": Case(
        """
        (float[2,1,3,4] x,float[5,4,2] y) => (float[?,?,?,?] a) { a=MatMul(x,y)}
        """,
        {"x": normal(2, 1, 3, 4), "y": normal(5, 4, 2)},
    ),
    "gemm": Case(
        """
        (float[3,2] x,float[4,3] y, float[4] c) => (float[?,?] a,float[?,?] b,float[?,?] d) <float[2,1] k={1,2},
        float s={3}> { a=Gemm<transA=1,transB=1,alpha=0.5,beta=2.0>(x,y,c) b=Gemm<transA=1,transB=1,beta=0.0>(x,y,s)
        d=Gemm<transA=1,transB=1>(x,y,k)}
        """,
        {"x": normal(3, 2), "y": normal(4, 3), "c": normal(4)},
    ),
    "gemm_beta0_nan": Case(
        """
        (float[3,2] x,float[2,4] y, float[4] c) => (float[?,?] a) { a=Gemm<beta=0.0>(x,y,c)}
        """,
        {"x": normal(3, 2), "y": normal(2, 4), "c": array("float32", [nan, nan, nan, nan])},
    ),
    "resize_many": Case(
        """
        (float[1,1,4,4] x) => (float[?,?,?,?] a,float[?,?,?,?] b,float[?,?,?,?] c,float[?,?,?,?] d) <float[4]
        s={1,1,1.5,2}, int64[4] z={1,1,7,3}> { a=Resize<mode="nearest">(x,,s)
        b=Resize<mode="linear",coordinate_transformation_mode="align_corners">(x,,,z)
        c=Resize<mode="nearest",nearest_mode="ceil",coordinate_transformation_mode="asymmetric">(x,,,z)
        d=Resize<mode="linear">(x,,,z)}
        """,
        {"x": normal(1, 1, 4, 4)},
    ),
    "resize_more": Case(
        """
        (float[1,1,4,4] x) => (float[?,?,?,?] a,float[?,?,?,?] b,float[?,?,?,?] c,float[?,?,?,?] d) <float[4]
        s={1,1,0.6,0.8}, int64[2] z={7,3}, float[2] h={0.5,2}> { a=Resize<mode="nearest",nearest_mode="floor">(x,,s)
        b=Resize<mode="linear",coordinate_transformation_mode="half_pixel">(x,,s)
        c=Resize<mode="cubic",axes=[2,3]>(x,,,z)
        d=Resize<mode="linear",coordinate_transformation_mode="pytorch_half_pixel",axes=[-2,-1]>(x,,h)}
        """,
        {"x": normal(1, 1, 4, 4)},
    ),
    "resize_nearest_modes": Case(
        """
        (float[1,1,5,7] x) => (float[?,?,?,?] a,float[?,?,?,?] b,float[?,?,?,?] c,float[?,?,?,?] d) <int64[4]
        z={1,1,3,11}> { a=Resize<mode="nearest",nearest_mode="round_prefer_ceil">(x,,,z)
        b=Resize<mode="nearest",nearest_mode="floor",coordinate_transformation_mode="align_corners">(x,,,z)
        c=Resize<mode="nearest",coordinate_transformation_mode="half_pixel">(x,,,z)
        d=Resize<mode="nearest",nearest_mode="ceil",coordinate_transformation_mode="half_pixel">(x,,,z)}
        """,
        {"x": normal(1, 1, 5, 7)},
    ),
    "resize_opset10_up": Case(
        """
        (float[1,1,4,4] x) => (float[?,?,?,?] a, float[?,?,?,?] b) <float[4] s = {1,1,1.5,2}> { a = Resize <mode:
        string = "nearest"> (x, s) b = Resize <mode: string = "linear"> (x, s) }
        """,
        {"x": normal(1, 1, 4, 4)},
        opset=10,
    ),
    "upsample9": Case(
        """
        (float[1,1,4,4] x) => (float[?,?,?,?] a, float[?,?,?,?] b) <float[4] s = {1,1,1.5,2}> { a = Upsample <mode:
        string = "nearest"> (x, s) b = Upsample <mode: string = "linear"> (x, s) }
        """,
        {"x": normal(1, 1, 4, 4)},
        opset=9,
    ),
    "resize_dyn": Case(
        """
        (float[N,1,H,W] x) => (float[?,?,?,?] a,float[?,?,?,?] b) <float[4] s={1,1,2,0.5}, int64[4] z={0,0,6,6}> {
        a=Resize<mode="nearest",coordinate_transformation_mode="asymmetric",nearest_mode="floor">(x,,s)
        b=Resize<mode="linear">(x,,s)}
        """,
        {"x": normal(1, 1, 4, 4)},
        {"x": normal(2, 1, 5, 3)},
    ),
    "grid_sample": Case(
        """
        (float[1,1,4,4] x, float[1,2,2,2] q) => (float[?,?,?,?] a,float[?,?,?,?] b) { a=GridSample(x,q)
        b=GridSample<mode="nearest",align_corners=1,padding_mode="border">(x,q)}
        """,
        {"x": normal(1, 1, 4, 4), "q": normal(1, 2, 2, 2)},
    ),
    "range": Case(
        """
        (int64 a,int64 b,int64 c) => (int64[?] r) { r=Range(a,b,c)}
        """,
        {"a": array("int64", [0], shape=()), "b": array("int64", [5], shape=()), "c": array("int64", [2], shape=())},
        {"a": array("int64", [5], shape=()), "b": array("int64", [0], shape=()), "c": array("int64", [-2], shape=())},
        {"a": array("int64", [5], shape=()), "b": array("int64", [0], shape=()), "c": array("int64", [2], shape=())},
    ),
    "constofshape": Case(
        """
        (float[N,2] x) => (float[?,?] r, int64[?,?] i, float[?,?] z) { s=Shape(x)
        r=ConstantOfShape<value=float[1]{2.5}>(s) i=ConstantOfShape<value=int64[1]{-3}>(s) z=ConstantOfShape(s)}
        """,
        {"x": normal(3, 2)},
        {"x": normal(0, 2)},
    ),
    "reverse_seq": Case(
        """
        (float[4,2] x, int64[2] c) => (float[?,?] r) { r=ReverseSequence(x,c)}
        """,
        {"x": normal(4, 2), "c": array("int64", [3, 1])},
    ),
}
