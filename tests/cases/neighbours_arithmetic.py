"""Integers, casts, comparisons and functions of numbers."""

from __future__ import annotations

from neighbours import Case, array, inf, nan, normal

CASES: dict[str, Case] = {
    "int_div_mod": Case(
        """
        (int64[6] a, int64[6] b) => (int64[?] d,int64[?] m,int64[?] f) { d=Div(a,b) m=Mod(a,b) f=Mod<fmod=1>(a,b) }
        """,
        {
            "a": array("int64", [7, -7, 7, -7, 9007199254740993, -4611686018427387904]),
            "b": array("int64", [3, 3, -3, -3, 2, 7]),
        },
    ),
    "int32_div_mod": Case(
        """
        (int32[6] a, int32[6] b) => (int32[?] d,int32[?] m,int32[?] f) { d=Div(a,b) m=Mod(a,b) f=Mod<fmod=1>(a,b) }
        """,
        {"a": array("int32", [7, -7, 7, -7, 2147483647, -2147483648]), "b": array("int32", [3, 3, -3, -3, 2, 7])},
    ),
    "float_mod": Case(
        """
        (float[4] a, float[4] b) => (float[?] f) { f=Mod<fmod=1>(a,b) }
        """,
        {"a": array("float32", [5.5, -5.5, 5.5, -5.5]), "b": array("float32", [2.0, 2.0, -2.0, -2.0])},
    ),
    "int_by_const": Case(
        """
        (int64[4] a) => (int64[?] d,int64[?] m,int64[?] e, int64[?] n) <int64 k={-4}, int64[1] j={5}> { d=Div(a,k)
        m=Mod(a,k) e=Div(j,a) n=Mod(j,a)}
        """,
        {"a": array("int64", [7, -7, 2, -2])},
    ),
    "uint8_cast_sub": Case(
        """
        (uint8[4] a) => (float[?] d, uint8[?] r, int32[?] i, bool[?] b) { d=Cast<to=1>(a) r=Cast<to=2>(d)
        i=Cast<to=6>(a) b=Cast<to=9>(a)}
        """,
        {"a": array("uint8", [200, 3, 255, 0])},
    ),
    "int32_overflow": Case(
        """
        (int32[3] a) => (int32[?] x,int32[?] y,int32[?] n,int32[?] ab) { x=Add(a,a) y=Mul(a,a) n=Neg(a) ab=Abs(a)}
        """,
        {"a": array("int32", [1073741824, -2147483648, 65537])},
    ),
    "int64_big": Case(
        """
        (int64[3] a) => (int64[?] x,int64[?] y,int64[?] s,int64[?] ab) { x=Add(a,a) y=Mul(a,a) s=Sign(a) ab=Abs(a)}
        """,
        {"a": array("int64", [2305843009213693952, -2305843009213693952, 2147483651])},
    ),
    "pow_int": Case(
        """
        (int64[3] a, int32[3] b) => (int64[?] x,int32[?] y) <int64 k={3}, int32 j={2}> { x=Pow(a,k) y=Pow(b,j)}
        """,
        {"a": array("int64", [5, -3, 200001]), "b": array("int32", [5, -3, 30001])},
    ),
    "pow_mixed": Case(
        """
        (float[3] a, int64[3] b) => (float[?] x, float[?] y) <float h={0.5}> { x=Pow(a,b) y=Pow(a,h)}
        """,
        {"a": array("float32", [2.0, -2.0, 0.0]), "b": array("int64", [3, 3, 0])},
    ),
    "pow_neg_base": Case(
        """
        (float[4] a) => (float[?] x, float[?] y, float[?] z, float[?] w) <float t={2}, float th={3},float m={-1},
        float h={2.5}> { x=Pow(a,t) y=Pow(a,th) z=Pow(a,m) w=Pow(a,h)}
        """,
        {"a": array("float32", [2.0, -2.0, 0.5, -0.5])},
    ),
    "casts": Case(
        """
        (float[6] x) => (int32[?] a,bool[?] b,float16[?] c,int64[?] d, bfloat16[?] e) { a=Cast<to=6>(x)
        b=Cast<to=9>(x) c=Cast<to=10>(x) d=Cast<to=7>(x) e=Cast<to=16>(x)}
        """,
        {"x": array("float32", [1.9, -1.9, 0.3, -0.0, 1e-08, 12345.678])},
    ),
    "cast_bool_nan": Case(
        """
        (float[3] x) => (bool[?] b, int32[?] c) { b=Cast<to=9>(x) c=Cast<to=6>(b)}
        """,
        {"x": array("float32", [nan, inf, -0.0])},
    ),
    "cast_int_narrow": Case(
        """
        (int64[3] x) => (int32[?] b, int64[?] r,uint8[?] u,int8[?] i) { b=Cast<to=6>(x) r=Cast<to=7>(b)
        u=Cast<to=2>(x) i=Cast<to=3>(x)}
        """,
        {"x": array("int64", [1, 255, -1])},
    ),
    "cast_int_narrow_wrap": Case(
        """
        (int64[3] x) => (int32[?] b, int64[?] r) { b=Cast<to=6>(x) r=Cast<to=7>(b) }
        """,
        {"x": array("int64", [4294967301, 2147483648, -1099511627776])},
    ),
    "cast_f16_overflow": Case(
        """
        (float[3] x) => (float16[?] b, float[?] r) { b=Cast<to=10>(x) r=Cast<to=1>(b) }
        """,
        {"x": array("float32", [1000000.0, -1000000.0, 65519.0])},
    ),
    "castlike": Case(
        """
        (float[3] x, int32[1] q) => (int32[?] b) { b=CastLike(x,q) }
        """,
        {"x": array("float32", [1.5, -1.5, 7.0]), "q": array("int32", [1])},
    ),
    "compare": Case(
        """
        (float[4] x, float[4] y,int64[2] i,int64[2] j,bool[2] p,bool[2] q) => (bool[?] a,bool[?] b,bool[?] c,bool[?]
        d,bool[?] e,bool[?] f,bool[?] h) { a=Equal(x,y) b=Less(x,y) c=LessOrEqual(x,y) d=GreaterOrEqual(x,y)
        e=Equal(i,j) f=Equal(p,q) h=GreaterOrEqual(i,j)}
        """,
        {
            "x": array("float32", [1.0, nan, inf, -0.0]),
            "y": array("float32", [1.0, nan, inf, 0.0]),
            "i": array("int64", [9007199254740993, 2]),
            "j": array("int64", [9007199254740992, 2]),
            "p": array("bool", [1, 0]),
            "q": array("bool", [1, 1]),
        },
    ),
    "isnan_inf": Case(
        """
        (float[4] x) => (bool[?] a,bool[?] b,bool[?] c,bool[?] d,float[?] s) { a=IsNaN(x) b=IsInf(x)
        c=IsInf<detect_negative=0>(x) d=IsInf<detect_positive=0>(x) s=Sign(x)}
        """,
        {"x": array("float32", [1.0, nan, inf, -inf])},
    ),
    "rounding": Case(
        """
        (float[8] x) => (float[?] a,float[?] b,float[?] c) { a=Round(x) b=Floor(x) c=Ceil(x)}
        """,
        {"x": array("float32", [0.5, 1.5, -0.5, -1.5, 2.5, -2.5, 2.4999, 1e20])},
    ),
    "where_nan": Case(
        """
        (bool[3] c, float[3] x, float[2,1] y,int64[3] i) => (float[?,?] a,int64[?] b) <int64
        m={-9223372036854775807}> { a=Where(c,x,y) b=Where(c,i,m)}
        """,
        {
            "c": array("bool", [1, 0, 1]),
            "x": array("float32", [1.0, nan, inf]),
            "y": normal(2, 1),
            "i": array("int64", [1, 2, 1152921504606846976]),
        },
    ),
    "where_like_mask": Case(
        """
        (bool[2,3] c) => (float[2,3] a) <float z={0}, float n={-3.4028235e38}> { a=Where(c,z,n)}
        """,
        {"c": array("bool", [1, 0, 1, 0, 0, 0], shape=(2, 3))},
    ),
    "math": Case(
        """
        (float[4] x) => (float[?] a,float[?] b,float[?] c,float[?] d,float[?] e,float[?] f,float[?] h,float[?]
        i,float[?] j,float[?] k) { a=Sin(x) b=Tan(x) c=Atan(x) d=Sinh(x) e=Asinh(x) f=Reciprocal(x) h=Log(x)
        i=Sqrt(x) j=Exp(x) k=Cosh(x)}
        """,
        {"x": array("float32", [0.5, 1.0, -1.0, 0.0])},
    ),
    "math2": Case(
        """
        (float[3] x) => (float[?] a,float[?] b,float[?] c,float[?] d) { a=Asin(x) b=Acos(x) c=Atanh(x) y=Exp(x)
        d=Acosh(y)}
        """,
        {"x": array("float32", [0.5, 0.0, 0.9])},
    ),
    "unsupported_unary_int": Case(
        """
        (int64[3] x) => (int64[?] a) { a=Relu(x)}
        """,
        {"x": array("int64", [1, -2, 3])},
    ),
    "neg_mul_identity": Case(
        """
        (float[3] x) => (float[3] a,float[3] b,float[3] c,float[3] d) <float o={1}, float z={0}, float[1,3]
        w={1,1,1}> { a=Mul(x,z) b=Sub(z,x) c=Pow(x,o) d=Div(x,o)}
        """,
        {"x": array("float32", [nan, inf, -0.0])},
    ),
    "add0_broadcasts": Case(
        """
        (float[3] x) => (float[2,3] a,float[1,3] b,float[3] c) <float[2,3] z={0,0,0,0,0,0}, float[1,1] o={1}, float
        nz={-0.0}> { a=Add(x,z) b=Mul(x,o) c=Add(x,nz)}
        """,
        {"x": normal(3)},
    ),
    "double_neg_not": Case(
        """
        (float[3] x, bool[3] p) => (float[3] a,bool[3] b,float[3] c) { n=Neg(x) a=Neg(n) m=Not(p) b=Not(m) r=Relu(x)
        c=Relu(r)}
        """,
        {"x": normal(3), "p": array("bool", [1, 0, 1])},
    ),
    "x_minus_x": Case(
        """
        (float[3] x) => (float[3] a,float[3] b) { a=Sub(x,x) b=Div(x,x)}
        """,
        {"x": array("float32", [nan, inf, 0.0])},
    ),
}
