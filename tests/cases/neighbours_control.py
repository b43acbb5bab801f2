"""Branches, loops, scans and recurrent layers."""

from __future__ import annotations

from neighbours import Case, array, normal

CASES: dict[str, Case] = {
    "if_const_true": Case(
        """
        (float[2] x) => (float[2] y) <bool c={1}, float[2] w={1,2}> { y = If(c)<then_branch = t () => (float[2] a) {
        a = Add(x,w) }, else_branch = e () => (float[2] b) { b = Sub(x,w) }> }
        """,
        {"x": normal(2)},
    ),
    "if_const_names_clash": Case(
        """
        (float[2] x) => (float[2] y, float[2] z) <bool c={1}, bool d={0}, float[2] w={1,2}> { y = If(c)<then_branch
        = t () => (float[2] a) { q=Neg(x) a = Add(q,w) }, else_branch = e () => (float[2] b) { b = Sub(x,w) }> z =
        If(d)<then_branch = t () => (float[2] a) { q=Abs(x) a = Add(q,w) }, else_branch = e () => (float[2] a) { q =
        Sub(x,w) a=Exp(q)}> }
        """,
        {"x": normal(2)},
    ),
    "if_branch_output_is_capture": Case(
        """
        (float[2] x) => (float[2] y) <bool c={1}> { n=Neg(x) y = If(c)<then_branch = t () => (float[2] n2) {
        n2=Identity(n) }, else_branch = e () => (float[2] b) { b = Sub(x,x) }> }
        """,
        {"x": normal(2)},
    ),
    "if_from_shape": Case(
        """
        (float[2,1] x) => (float[?] y) <int64 one={1}, int64[1] ax={1}> { s=Shape<start=1>(x) e=Equal(s,one)
        c=Squeeze(e) y = If(c)<then_branch = t () => (float[2] a) { a=Squeeze(x,ax) }, else_branch = e () =>
        (float[2,1] b) { b = Identity(x) }> }
        """,
        {"x": normal(2, 1)},
    ),
    "if_runtime": Case(
        """
        (float[2] x, bool c) => (float[2] y) <float[2] w={1,2}> { y = If(c)<then_branch = t () => (float[2] a) { a =
        Add(x,w) }, else_branch = e () => (float[2] b) { b = Sub(x,w) }> }
        """,
        {"x": normal(2), "c": array("bool", [1], shape=())},
        {"x": normal(2), "c": array("bool", [0], shape=())},
    ),
    "loop_const": Case(
        """
        (float[2] x) => (float[2] y, float[?,2] z) <int64 n={3}, bool c={1}> { y,z = Loop(n,c,x)<body = b (int64 i,
        bool ci, float[2] s) => (bool co, float[2] so, float[2] sc) { so=Add(s,x) co=Identity(ci) sc=Identity(s) }>
        }
        """,
        {"x": normal(2)},
    ),
    "loop_zero": Case(
        """
        (float[2] x) => (float[2] y, float[?,2] z) <int64 n={0}, bool c={1}> { y,z = Loop(n,c,x)<body = b (int64 i,
        bool ci, float[2] s) => (bool co, float[2] so, float[2] sc) { so=Add(s,x) co=Identity(ci) sc=Identity(s) }>
        }
        """,
        {"x": normal(2)},
    ),
    "loop_cond_false": Case(
        """
        (float[2] x) => (float[2] y) <int64 n={3}, bool c={0}> { y = Loop(n,c,x)<body = b (int64 i, bool ci,
        float[2] s) => (bool co, float[2] so) { so=Add(s,x) co=Identity(ci) }> }
        """,
        {"x": normal(2)},
    ),
    "loop_swap": Case(
        """
        (float[2] x, float[2] w) => (float[2] y, float[2] z) <int64 n={3}, bool c={1}> { y,z = Loop(n,c,x,w)<body =
        b (int64 i, bool ci, float[2] s, float[2] t) => (bool co, float[2] so, float[2] to) { so=Identity(t)
        to=Identity(s) co=Identity(ci) }> }
        """,
        {"x": normal(2), "w": normal(2)},
    ),
    "loop_runtime_trip": Case(
        """
        (float[2] x, int64 n) => (float[2] y) <bool c={1}> { y = Loop(n,c,x)<body = b (int64 i, bool ci, float[2] s)
        => (bool co, float[2] so) { so=Add(s,x) co=Identity(ci) }> }
        """,
        {"x": normal(2), "n": array("int64", [3], shape=())},
        {"x": normal(2), "n": array("int64", [0], shape=())},
    ),
    "scan": Case(
        """
        (float[3,2] x, float[2] s0) => (float[2] y, float[3,2] z) { y,z = Scan<num_scan_inputs=1, body = b (float[2]
        s, float[2] e) => (float[2] so, float[2] sc) { so=Add(s,e) sc=Identity(so) }>(s0,x) }
        """,
        {"x": normal(3, 2), "s0": normal(2)},
    ),
    "scan_reverse": Case(
        """
        (float[2,3] x, float[2] s0) => (float[2] y, float[2,3] z) { y,z = Scan<num_scan_inputs=1,
        scan_input_axes=[1],scan_output_axes=[-1],scan_input_directions=[1],scan_output_directions=[1], body = b
        (float[2] s, float[2] e) => (float[2] so, float[2] sc) { so=Add(s,e) sc=Mul(so,e) }>(s0,x) }
        """,
        {"x": normal(2, 3), "s0": normal(2)},
    ),
    "if_in_if_capture_rt": Case(
        """
        (float[2] x, bool c, bool d) => (float[2] y) <float[2] w={1,2}> { n=Neg(x) y = If(c)<then_branch = t () =>
        (float[2] a) { p=Mul(n,w) a = If(d)<then_branch = t2 () => (float[2] q) {q=Add(p,n)}, else_branch = e2 () =>
        (float[2] q2) {q2=Identity(x)}> }, else_branch = e () => (float[2] b) { b = Identity(w) }> }
        """,
        {"x": normal(2), "c": array("bool", [1], shape=()), "d": array("bool", [1], shape=())},
        {"x": normal(2), "c": array("bool", [1], shape=()), "d": array("bool", [0], shape=())},
        {"x": normal(2), "c": array("bool", [0], shape=()), "d": array("bool", [1], shape=())},
        {"x": normal(2), "c": array("bool", [0], shape=()), "d": array("bool", [0], shape=())},
    ),
    "if_two_outputs_int": Case(
        """
        (int64[2] x, bool c) => (int64[2] y, bool[2] z) { y,z = If(c)<then_branch = t () => (int64[2] a,bool[2] b) {
        a=Add(x,x) b=Equal(x,x) }, else_branch = e () => (int64[2] a2, bool[2] b2) { a2=Neg(x) b2=Greater(x,a2) }> }
        """,
        {"x": array("int64", [1099511627776, -5]), "c": array("bool", [1], shape=())},
        {"x": array("int64", [1099511627776, -5]), "c": array("bool", [0], shape=())},
    ),
    "if_shapes_differ": Case(
        """
        (float[4] x, bool c) => (float[K] y) <int64[1] z={0}, int64[1] t={2}> { y = If(c)<then_branch = t () =>
        (float[2] a) { a=Slice(x,z,t) }, else_branch = e () => (float[4] b) { b = Neg(x) }> }
        """,
        {"x": normal(4), "c": array("bool", [1], shape=())},
        {"x": normal(4), "c": array("bool", [0], shape=())},
    ),
    "if_cond_1elem": Case(
        """
        (float[4] x, bool[1] c) => (float[4] y) { y = If(c)<then_branch = t () => (float[4] a) { a=Exp(x) },
        else_branch = e () => (float[4] b) { b = Neg(x) }> }
        """,
        {"x": normal(4), "c": array("bool", [1])},
        {"x": normal(4), "c": array("bool", [0])},
    ),
    "if_dyn": Case(
        """
        (float[N,3] x) => (float[N,3] y) <float z={0}> { s=ReduceSum<keepdims=0>(x) c=Greater(s,z) y =
        If(c)<then_branch = t () => (float[N,3] a) { a=Exp(x) }, else_branch = e () => (float[N,3] b) { b = Neg(x)
        }> }
        """,
        {"x": array("float32", [0.717454, 0.131278, 1.402519, 1.87097, 1.075007, 1.028337], shape=(2, 3))},
        {
            "x": array(
                "float32",
                [
                    -2.246885,
                    -0.731761,
                    -1.758455,
                    -0.334997,
                    -0.171183,
                    -1.537986,
                    -0.617221,
                    -0.978654,
                    -0.010495,
                    -0.319588,
                    -0.191225,
                    -0.620036,
                ],
                shape=(4, 3),
            )
        },
    ),
    "if_const_inside_branches": Case(
        """
        (float[2] x, bool c) => (float[2] y) { y = If(c)<then_branch = t () => (float[2] a) {
        k=Constant<value=float[2]{1,2}>() a=Identity(k) }, else_branch = e () => (float[2] b) <float[2] k={3,4}> { b
        = Mul(x,k) }> }
        """,
        {"x": normal(2), "c": array("bool", [1], shape=())},
        {"x": normal(2), "c": array("bool", [0], shape=())},
    ),
    "loop_nested": Case(
        """
        (float[2] x) => (float[2] y) <int64 n={3}, int64 m={2}, bool c={1}> { y = Loop(n,c,x)<body = b (int64 i,
        bool ci, float[2] s) => (bool co, float[2] so) { f=Cast<to=1>(i) so=Loop(m,ci,s)<body = b2 (int64 j, bool
        cj, float[2] t) => (bool cjo, float[2] to) { g=Cast<to=1>(j) h=Add(f,g) u=Add(t,h) to=Mul(u,x)
        cjo=Identity(cj) }> co=Identity(ci) }> }
        """,
        {"x": normal(2)},
    ),
    "loop_int_state": Case(
        """
        (int64 n) => (int64 y, int64[?] z) <bool c={1}, int64 one={1}> { y,z = Loop(n,c,one)<body = b (int64 i, bool
        ci, int64 s) => (bool co, int64 so, int64 sc) { k=Add(i,one) so=Mul(s,k) sc=Identity(s) co=Identity(ci) }> }
        """,
        {"n": array("int64", [20], shape=())},
        {"n": array("int64", [0], shape=())},
        {"n": array("int64", [1], shape=())},
    ),
    "loop_bool_state": Case(
        """
        (float[3] x) => (bool[3] y) <int64 n={3}, bool c={1}, float z={0}> { p=Greater(x,z) y = Loop(n,c,p)<body = b
        (int64 i, bool ci, bool[3] s) => (bool co, bool[3] so) { so=Not(s) co=Identity(ci) }> }
        """,
        {"x": normal(3)},
    ),
    "loop_invariant_body_out": Case(
        """
        (float[2] x) => (float[?,2] z, float[2] y) <int64 n={3}, float[2] k={5,6}> { z0 = Neg(x) y,z =
        Loop(n,,x)<body = b (int64 i, bool ci, float[2] s) => (bool co, float[2] so, float[2] sc) { sc=Identity(z0)
        so=Identity(k) co=Identity(ci) }> }
        """,
        {"x": normal(2)},
    ),
    "loop_cond_from_body_const_false": Case(
        """
        (float[2] x) => (float[2] y) <int64 n={5}> { y = Loop(n,,x)<body = b (int64 i, bool ci, float[2] s) => (bool
        co, float[2] so) { so=Add(s,x) co=Constant<value=bool{0}>() }> }
        """,
        {"x": normal(2)},
    ),
    "loop_in_if": Case(
        """
        (float[2] x, bool c) => (float[2] y) <int64 n={3}> { y = If(c)<then_branch = t () => (float[2] a) {
        a=Loop(n,,x)<body = b (int64 i, bool ci, float[2] s) => (bool co, float[2] so) { so=Add(s,x)
        co=Identity(ci)}> }, else_branch = e () => (float[2] b) { b = Neg(x) }> }
        """,
        {"x": normal(2), "c": array("bool", [1], shape=())},
        {"x": normal(2), "c": array("bool", [0], shape=())},
    ),
    "scan_two_in": Case(
        """
        (float[N,2] x, float[N,2] w, float[2] s0) => (float[2] y, float[N,2] z, float[N] q) { y,z,q =
        Scan<num_scan_inputs=2, body = b (float[2] s, float[2] e, float[2] f) => (float[2] so, float[2] sc, float
        qq) { m=Mul(e,f) so=Add(s,m) sc=Identity(s) qq=ReduceSum<keepdims=0>(m) }>(s0,x,w) }
        """,
        {"x": normal(3, 2), "w": normal(3, 2), "s0": normal(2)},
        {"x": normal(1, 2), "w": normal(1, 2), "s0": normal(2)},
    ),
    "lstm_dyn": Case(
        """
        (float[T,N,3] x, float[1,8,3] W, float[1,8,2] R, float[1,16] B, int64[1] u) => (float[?,?,?,?] y,
        float[?,?,?] h, float[?,?,?] c) { y,h,c=LSTM<hidden_size=2>(x,W,R,B) }
        """,
        {
            "x": normal(4, 2, 3),
            "W": normal(1, 8, 3),
            "R": normal(1, 8, 2),
            "B": normal(1, 16),
            "u": array("int64", [0]),
        },
        {
            "x": normal(1, 1, 3),
            "W": normal(1, 8, 3),
            "R": normal(1, 8, 2),
            "B": normal(1, 16),
            "u": array("int64", [0]),
        },
    ),
    "lstm_seqlens": Case(
        """
        (float[4,2,3] x, float[1,8,3] W, float[1,8,2] R, float[1,16] B, int32[2] l) => (float[?,?,?,?] y,
        float[?,?,?] h, float[?,?,?] c) { y,h,c=LSTM<hidden_size=2,direction="reverse">(x,W,R,B,l) }
        """,
        {
            "x": normal(4, 2, 3),
            "W": normal(1, 8, 3),
            "R": normal(1, 8, 2),
            "B": normal(1, 16),
            "l": array("int32", [2, 4]),
        },
    ),
    "lstm_seqlens_fwd": Case(
        """
        (float[4,2,3] x, float[1,8,3] W, float[1,8,2] R, float[1,16] B, int32[2] l) => (float[?,?,?,?] y,
        float[?,?,?] h, float[?,?,?] c) { y,h,c=LSTM<hidden_size=2,clip=0.3>(x,W,R,B,l) }
        """,
        {
            "x": normal(4, 2, 3),
            "W": normal(1, 8, 3),
            "R": normal(1, 8, 2),
            "B": normal(1, 16),
            "l": array("int32", [2, 3]),
        },
    ),
    "gru_lbr": Case(
        """
        (float[3,2,3] x, float[2,6,3] W, float[2,6,2] R, float[2,12] B) => (float[?,?,?,?] y, float[?,?,?] h,
        float[?,?,?,?] y2) { y,h=GRU<hidden_size=2,linear_before_reset=1,direction="bidirectional">(x,W,R,B)
        y2=GRU<hidden_size=2,direction="bidirectional">(x,W,R,B)}
        """,
        {"x": normal(3, 2, 3), "W": normal(2, 6, 3), "R": normal(2, 6, 2), "B": normal(2, 12)},
    ),
    "rnn_act": Case(
        """
        (float[3,2,3] x, float[1,2,3] W, float[1,2,2] R) => (float[?,?,?,?] y, float[?,?,?] h) {
        y,h=RNN<hidden_size=2,activations=["Relu"]>(x,W,R)}
        """,
        {"x": normal(3, 2, 3), "W": normal(1, 2, 3), "R": normal(1, 2, 2)},
    ),
    "rnn_act_alpha": Case(
        """
        (float[3,2,3] x, float[1,2,3] W, float[1,2,2] R) => (float[?,?,?,?] y, float[?,?,?] h) {
        y,h=RNN<hidden_size=2,activations=["LeakyRelu"],activation_alpha=[0.3]>(x,W,R)}
        """,
        {"x": normal(3, 2, 3), "W": normal(1, 2, 3), "R": normal(1, 2, 2)},
    ),
    "lstm_peephole_init": Case(
        """
        (float[3,2,3] x, float[1,8,3] W, float[1,8,2] R, float[1,16] B, float[1,2,2] h0, float[1,2,2] c0, float[1,6]
        P) => (float[?,?,?,?] y, float[?,?,?] h, float[?,?,?] c) { y,h,c=LSTM<hidden_size=2>(x,W,R,B,,h0,c0,P) }
        """,
        {
            "x": normal(3, 2, 3),
            "W": normal(1, 8, 3),
            "R": normal(1, 8, 2),
            "B": normal(1, 16),
            "h0": normal(1, 2, 2),
            "c0": normal(1, 2, 2),
            "P": normal(1, 6),
        },
    ),
    "lstm_forget_coupled": Case(
        """
        (float[3,2,3] x, float[1,8,3] W, float[1,8,2] R, float[1,16] B) => (float[?,?,?,?] y) {
        y=LSTM<hidden_size=2,input_forget=1>(x,W,R,B) }
        """,
        {"x": normal(3, 2, 3), "W": normal(1, 8, 3), "R": normal(1, 8, 2), "B": normal(1, 16)},
    ),
    "lstm_layout1": Case(
        """
        (float[2,3,3] x, float[1,8,3] W, float[1,8,2] R, float[1,16] B) => (float[?,?,?,?] y,float[?,?,?] h) {
        y,h=LSTM<hidden_size=2,layout=1>(x,W,R,B) }
        """,
        {"x": normal(2, 3, 3), "W": normal(1, 8, 3), "R": normal(1, 8, 2), "B": normal(1, 16)},
    ),
}
