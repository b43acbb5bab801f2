"""Constant branches, inputs, outputs and names."""

from __future__ import annotations

from neighbours import Case, array, normal

CASES: dict[str, Case] = {
    "init_as_input": Case(
        """
        (float[2,3] x, float[3] w) => (float[2,3] y, float[3] w2) <float[3] w = {1,2,3}> { y = Add (x, w) w2 =
        Identity (w) }
        """,
        {"x": normal(2, 3), "w": array("float32", [1.0, 2.0, 3.0])},
    ),
    "init_as_input_other_value": Case(
        """
        (float[2,3] x, float[3] w) => (float[2,3] y, float[3] w2) <float[3] w = {1,2,3}> { y = Add (x, w) w2 =
        Identity (w) }
        """,
        {"x": normal(2, 3), "w": array("float32", [3.0, 2.0, 1.0])},
    ),
    "output_is_init": Case(
        """
        (float[2,3] x) => (float[3] w, float[2,3] y) <float[3] w={1,2,3}> { y=Add(x,w) }
        """,
        {"x": normal(2, 3)},
    ),
    "const_only_outputs": Case(
        """
        (float[2,3] x) => (float[3] c, int64[2] s, bool[1] b, float16[1] hh) <float[3] w={1,2,3}> { c=Neg(w)
        s=Shape(x) b=Constant<value=bool[1]{1}>() hh=Constant<value=float16[1]{1}>() }
        """,
        {"x": normal(2, 3)},
    ),
    "unused_const_input_dims": Case(
        """
        (float[2,3] x, float[N] u, int64 k) => (float[2,3] y) { y=Neg(x) }
        """,
        {"x": normal(2, 3), "u": normal(4), "k": array("int64", [3], shape=())},
    ),
    "scalar_io": Case(
        """
        (float x, int64 k) => (float y, int64 z, float[1] w) <int64[1] a={0}> { y=Neg(x) z=Add(k,k)
        w=Unsqueeze(x,a)}
        """,
        {"x": array("float32", [2.0], shape=()), "k": array("int64", [1099511627776], shape=())},
    ),
    "bool_io": Case(
        """
        (bool[2] x) => (bool[2] y, float[2] z) { y=Not(x) z=Cast<to=1>(x)}
        """,
        {"x": array("bool", [1, 0])},
    ),
    "bf16_io": Case(
        """
        (bfloat16[2] x) => (bfloat16[2] y) { y=Neg(x) }
        """,
        {"x": array("bfloat16", [-2.4375, 0.972656])},
    ),
    "same_output_used_twice": Case(
        """
        (float[2] x) => (float[2] y, float[2] z, float[2] w) { y=Neg(x) z=Neg(x) w=Identity(z) }
        """,
        {"x": normal(2)},
    ),
    "dropout_variants": Case(
        """
        (float[2,3] x) => (float[2,3] y, bool[2,3] m, float[2,3] z) <float r={0.5}, bool t={0}> { y,m=Dropout(x,r,t)
        z=Dropout(x)}
        """,
        {"x": normal(2, 3)},
    ),
    "dropout_old": Case(
        """
        (float[N,3] x) => (float[N,3] y, bool[N,3] m) { y, m = Dropout <ratio: float = 0.9> (x) }
        """,
        {"x": normal(2, 3)},
        opset=11,
    ),
    "dropout_6": Case(
        """
        (float[2,3] x) => (float[2,3] y, float[2,3] m) { y, m = Dropout <ratio: float = 0.9> (x) }
        """,
        {"x": normal(2, 3)},
        opset=7,
    ),
    "bn_old_outputs": Case(
        """
        (float[2,3,4] x, float[3] s) => (float[2,3,4] y) { y = BatchNormalization (x, s, s, s, s) }
        """,
        {"x": normal(2, 3, 4), "s": array("float32", [0.611798, 0.459391, 0.176573])},
        opset=9,
    ),
}
