"""std.norm: the forms that exporters write, each into its operator, and what must be left alone."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from rewrite_harness import Rewritten, rewritten

RNG = np.random.default_rng(0)


def weights(body: str, dtype: type = np.float32, width: int = 8) -> dict[str, np.ndarray]:
    """The constants that a body names: numbers, axes, and vectors of the width."""
    known = {
        "eps": np.array(1e-5, dtype),
        "two": np.array(2.0, dtype),
        "half": np.array(0.5, dtype),
        "one": np.array(1.0, dtype),
        "zero": np.array(0.0, dtype),
        "mhalf": np.array(-0.5, dtype),
        "last": np.array([-1]),
        "lasts": np.array([-2, -1]),
        "spatial": np.array([2, 3]),
        "channel": np.array([1]),
        "all": np.array([1, 2, 3]),
        "gamma": (RNG.standard_normal(width) + 2).astype(dtype),
        "beta": RNG.standard_normal(width).astype(dtype),
        "column_w": (RNG.standard_normal((width, 1, 1)) + 2).astype(dtype),
        "column_b": RNG.standard_normal((width, 1, 1)).astype(dtype),
        "groups": np.array([0, 4, -1]),
        "least": np.array(1e-12, dtype),
        "tiny": np.array(1e-6, dtype),
    }
    words = set(body.replace("(", " ").replace(")", " ").replace(",", " ").split())
    return {name: value for name, value in known.items() if name in words}


def norm(body: str, x: str = "float[2, 3, 8]", y: str | None = None, **more: np.ndarray) -> Rewritten:
    """x => y after std.norm."""
    dtype = np.float16 if x.startswith("float16") else np.float64 if x.startswith("double") else np.float32
    graph = f"g ({x} x) => ({y or x} y) {{ {body} }}"
    return rewritten("std.norm", graph, weights=weights(body, dtype) | more)


def attribute(found: Rewritten, name: str) -> object:
    (node,) = found.module.nodes()
    return node.attributes[name].value


MEAN = "m = ReduceMean(x, {axes})"
VARIANCE = {
    "Pow": "d = Sub(x, m) s = Pow(d, two) v = ReduceMean(s, {axes})",
    "Mul": "d = Sub(x, m) s = Mul(d, d) v = ReduceMean(s, {axes})",
    "twice": "d = Sub(x, m) d2 = Sub(x, m) s = Mul(d2, d2) v = ReduceMean(s, {axes})",
    "moments": "d = Sub(x, m) q = Mul(x, x) r = ReduceMean(q, {axes}) k = Mul(m, m) v = Sub(r, k)",
    "Flax": "d = Sub(x, m) q = Mul(x, x) r = ReduceMean(q, {axes}) k = Mul(m, m) w = Sub(r, k) v = Max(zero, w)",
}
ROOT = {
    "Div by Sqrt": "e = Add(v, eps) t = Sqrt(e) n = Div(d, t)",
    "Reciprocal of Sqrt": "e = Add(v, eps) t = Sqrt(e) i = Reciprocal(t) n = Mul(d, i)",
    "1 / Sqrt": "e = Add(eps, v) t = Sqrt(e) i = Div(one, t) n = Mul(i, d)",
    "Pow": "e = Add(v, eps) i = Pow(e, mhalf) n = Mul(d, i)",
    "Pow and Div": "e = Add(v, eps) t = Pow(e, half) n = Div(d, t)",
}
AFFINE = "p = Mul(n, gamma) y = Add(p, beta)"


@pytest.mark.parametrize(("variance", "root"), list(product(VARIANCE, ROOT)))
def test_layer_norm(variance: str, root: str) -> None:
    found = norm(f"{MEAN} {VARIANCE[variance]} {ROOT[root]} {AFFINE}".format(axes="last"))
    assert found.operators == "LayerNormalization"
    assert found.counts["fuse_layer_norm"] == 1
    assert attribute(found, "axis") in (-1, 2)
    assert attribute(found, "epsilon") == pytest.approx(1e-5)
    found.same(rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("affine", "inputs"),
    [
        ("y = Identity(n)", 2),
        ("y = Mul(gamma, n)", 2),
        ("y = Add(beta, n)", 3),
        ("p = Mul(gamma, n) y = Add(beta, p)", 3),
        ("c = Cast<to = 1>(n) p = Mul(gamma, c) y = Add(p, beta)", 3),
        ("p = Add(n, beta) y = Mul(p, gamma)", 3),
    ],
)
def test_layer_norm_with_what_follows(affine: str, inputs: int) -> None:
    found = norm(f"{MEAN} {VARIANCE['Pow']} {ROOT['Div by Sqrt']} {affine}".format(axes="last"))
    (node, *rest) = found.module.nodes()
    assert node.op_type == "LayerNormalization"
    assert {n.op_type for n in rest} <= {"Identity"}
    assert len(node.inputs) == inputs
    found.same(rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        # the scale before the division
        f"{MEAN} {VARIANCE['Pow']} e = Add(v, eps) t = Sqrt(e) g = Mul(gamma, d) n = Div(g, t) y = Add(n, beta)",
        # Flax: (x - mean) (rsqrt(var + eps) scale) + bias
        f"{MEAN} {VARIANCE['Flax']} e = Add(v, eps) t = Sqrt(e) i = Reciprocal(t) g = Mul(i, gamma) n = Mul(d, g) "
        "y = Add(n, beta)",
        # Keras by way of batch_normalization
        f"{MEAN} {VARIANCE['Mul']} e = Add(v, eps) t = Sqrt(e) i = Reciprocal(t) g = Mul(i, gamma) a = Mul(x, g) "
        "b = Mul(m, g) c = Sub(beta, b) y = Add(a, c)",
        # Keras 3
        f"{MEAN} {VARIANCE['moments'].replace('d = Sub(x, m) ', '')} e = Add(v, eps) t = Sqrt(e) i = Reciprocal(t) "
        "g = Mul(i, gamma) o = Neg(m) b = Mul(o, g) c = Add(b, beta) a = Mul(x, g) y = Add(a, c)",
    ],
)
def test_layer_norm_with_its_scale_inside(body: str) -> None:
    found = norm(body.format(axes="last"))
    assert found.operators == "LayerNormalization"
    found.same(rtol=1e-4, atol=1e-5)


def test_layer_norm_over_several_axes() -> None:
    body = f"{MEAN} {VARIANCE['Pow']} {ROOT['Div by Sqrt']} y = Mul(n, gamma)".format(axes="lasts")
    found = norm(body)
    assert found.operators == "LayerNormalization"
    assert attribute(found, "axis") in (-2, 1)
    (node,) = found.module.nodes()
    assert found.module.shape(node.inputs[1]) == (3, 8)
    found.same(rtol=1e-4, atol=1e-5)


def test_layer_norm_with_dims_that_are_not_known() -> None:
    body = f"{MEAN} {VARIANCE['Pow']} {ROOT['Div by Sqrt']} {AFFINE}".format(axes="last")
    found = norm(body, "float[B, S, 8]")
    assert found.operators == "LayerNormalization"
    found.same(rtol=1e-4, atol=1e-5, B=3, S=5)


def test_a_scale_that_varies_elsewhere_stays() -> None:
    body = f"{MEAN} {VARIANCE['Pow']} {ROOT['Div by Sqrt']} y = Mul(n, rows)".format(axes="last")
    found = norm(body, rows=np.arange(3, dtype=np.float32).reshape(3, 1))
    assert found.operators == "LayerNormalization Mul"
    found.same(rtol=1e-4, atol=1e-5)


def test_a_scale_that_is_an_input_joins() -> None:
    body = f"{MEAN} {VARIANCE['Pow']} {ROOT['Div by Sqrt']} p = Mul(n, w) y = Add(p, b)".format(axes="last")
    graph = f"g (float[2, 8] x, float[8] w, float[8] b) => (float[2, 8] y) {{ {body} }}"
    found = rewritten("std.norm", graph, weights=weights(body))
    assert found.lines == ["y = LayerNormalization(x, w, b)[axis=1]"]
    found.same(rtol=1e-4, atol=1e-5)


def test_means_over_different_axes_are_no_layer_norm() -> None:
    body = f"{MEAN.format(axes='last')} {VARIANCE['Pow'].format(axes='lasts')} {ROOT['Div by Sqrt']} y = Identity(n)"
    assert "LayerNormalization" not in norm(body).operators


def test_an_unbiased_deviation_is_no_layer_norm() -> None:
    body = "m = ReduceMean(x, last) d = Sub(x, m) s = Mul(d, d) v = ReduceSum(s, last) {root} y = Identity(n)"
    assert norm(body.format(root=ROOT["Div by Sqrt"])).counts.total() == 0


def test_statistics_in_double_precision_stay() -> None:
    body = f"{MEAN} {VARIANCE['Pow']} {ROOT['Div by Sqrt']} {AFFINE}".format(axes="last")
    assert norm(body, "double[2, 8]").counts.total() == 0


def test_layer_norm_over_channels() -> None:
    body = f"{MEAN} {VARIANCE['Pow']} {ROOT['Div by Sqrt']} p = Mul(column_w, n) y = Add(p, column_b)"
    found = norm(body.format(axes="channel"), "float[2, 8, 3, 5]")
    assert found.operators == "Transpose LayerNormalization Transpose"
    found.same(rtol=1e-4, atol=1e-5)


HALF = "float16[2, 3, 8]"


def test_layer_norm_in_half_precision_by_casts() -> None:
    core = f"{MEAN} {VARIANCE['Pow']} {ROOT['Div by Sqrt']}".format(axes="last").replace("(x,", "(h,")
    body = f"h = Cast<to = 1>(x) {core} c = Cast<to = 10>(n) p = Mul(c, gamma) y = Add(p, beta)"
    graph = f"g ({HALF} x) => ({HALF} y) {{ {body} }}"
    half = {k: weights(body, np.float16)[k] for k in ("gamma", "beta")}
    found = rewritten("std.norm", graph, weights=weights(body) | half)
    assert found.operators == "LayerNormalization"
    assert attribute(found, "stash_type") == 1
    found.same(rtol=2e-3, atol=2e-3)


RMS = {
    "torchscript": "s = Pow(x, two) v = ReduceMean(s, last) e = Add(v, eps) t = Sqrt(e) i = Div(one, t) n = Mul(x, i)",
    "dynamo": "s = Pow(x, two) v = ReduceMean(s, last) e = Add(v, eps) t = Sqrt(e) i = Reciprocal(t) n = Mul(x, i)",
    "quotient": "s = Mul(x, x) v = ReduceMean(s, last) e = Add(eps, v) t = Sqrt(e) n = Div(x, t)",
    "Pow": "s = Mul(x, x) v = ReduceMean(s, last) e = Add(eps, v) i = Pow(e, mhalf) n = Mul(i, x)",
}


@pytest.mark.parametrize("form", RMS)
@pytest.mark.parametrize("scale", ["y = Mul(gamma, n)", "c = Cast<to = 1>(n) y = Mul(c, gamma)"])
def test_rms_norm(form: str, scale: str) -> None:
    found = norm(f"{RMS[form]} {scale}")
    assert found.operators == "RMSNormalization"
    assert found.counts["fuse_rms_norm"] == 1
    found.same(rtol=1e-4, atol=1e-5)


def test_rms_norm_with_its_scale_inside() -> None:
    body = "s = Mul(x, x) v = ReduceMean(s, last) e = Add(v, eps) t = Sqrt(e) i = Reciprocal(t) g = Mul(i, gamma) "
    found = norm(f"{body} y = Mul(x, g)")
    assert found.operators == "RMSNormalization"
    found.same(rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("second", ["", "h2 = Cast<to = 1>(x)"])
def test_rms_norm_in_half_precision_by_casts(second: str) -> None:
    core = RMS["dynamo"].replace("(x,", "(h,")
    if second:  # T5 widens once for the mean, and once for the product
        core = core.replace("Mul(h,", "Mul(h2,")
    body = f"h = Cast<to = 1>(x) {second} {core} c = Cast<to = 10>(n) y = Mul(gamma, c)"
    half = {"gamma": weights(body, np.float16)["gamma"]}
    found = rewritten("std.norm", f"g ({HALF} x) => ({HALF} y) {{ {body} }}", weights=weights(body) | half)
    assert found.operators == "RMSNormalization"
    found.same(rtol=2e-3, atol=2e-3)


GROUPS = "r = Reshape(x, groups) n = InstanceNormalization<epsilon = 1e-6>(r, s, b) {back} {affine}"
BACK = {
    "constant": ("z = Reshape(n, back)", {"back": np.array([0, 8, 3, 5])}),
    "Shape": ("q = Shape(x) z = Reshape(n, q)", {}),
    "steps": ("f = Flatten(n) z = Reshape(f, back)", {"back": np.array([-1, 8, 3, 5])}),
}


@pytest.mark.parametrize("back", BACK)
@pytest.mark.parametrize("affine", ["p = Mul(z, column_w) y = Add(p, column_b)", "y = Identity(z)"])
def test_group_norm(back: str, affine: str) -> None:
    text, more = BACK[back]
    more = more | {"s": np.ones(4, np.float32), "b": np.zeros(4, np.float32)}
    found = norm(GROUPS.format(back=text, affine=affine), "float[2, 8, 3, 5]", **more)
    (node,) = (n for n in found.module.nodes() if n.op_type == "GroupNormalization")
    assert set(found.operators.split()) <= {"GroupNormalization", "Identity", "Shape"}
    assert node.attributes["num_groups"].value == 4
    found.same(rtol=1e-4, atol=1e-5)


def test_group_norm_with_a_scale_for_each_group() -> None:
    more = {"s": np.arange(4, dtype=np.float32) + 1, "b": np.arange(4, dtype=np.float32), **BACK["constant"][1]}
    body = GROUPS.format(back=BACK["constant"][0], affine="p = Mul(z, column_w) y = Add(p, column_b)")
    found = norm(body, "float[N, 8, 3, 5]", **more)
    assert found.operators == "GroupNormalization"
    found.same(rtol=1e-4, atol=1e-5, N=3)


def test_groups_that_split_channels_stay() -> None:
    more = {"s": np.ones(4, np.float32), "b": np.zeros(4, np.float32), "back": np.array([0, 6, 2, 2])}
    body = GROUPS.format(back="y = Reshape(n, back)", affine="")
    assert "InstanceNormalization" in norm(body, "float[2, 6, 2, 2]", **more).operators


def test_group_norm_worked_out_by_hand() -> None:
    core = f"{MEAN} {VARIANCE['Mul']} {ROOT['Div by Sqrt']}".format(axes="last").replace("(x,", "(r,")
    body = f"r = Reshape(x, groups) {core} q = Shape(x) z = Reshape(n, q) p = Mul(z, column_w) y = Add(p, column_b)"
    found = norm(body, "float[2, 8, H, W]")
    assert set(found.operators.split()) <= {"GroupNormalization", "Shape"}
    found.same(rtol=1e-4, atol=1e-5, H=3, W=4)


def test_instance_norm() -> None:
    body = f"{MEAN} {VARIANCE['Pow']} {ROOT['Div by Sqrt']} p = Mul(n, column_w) y = Add(p, column_b)"
    found = norm(body.format(axes="spatial"), "float[N, 8, H, W]")
    assert found.operators == "InstanceNormalization"
    found.same(rtol=1e-4, atol=1e-5, N=2, H=4, W=5)


@pytest.mark.parametrize(
    "length",
    [
        "l = ReduceL2(x, last)",
        "s = Mul(x, x) t = ReduceSum(s, last) l = Sqrt(t)",
        "b = Abs(x) s = Pow(b, two) t = ReduceSum(s, last) l = Pow(t, half)",
        "t = ReduceSumSquare(x, last) l = Sqrt(t)",
    ],
)
def test_a_vector_over_its_length(length: str) -> None:
    found = norm(f"{length} y = Div(x, l)")
    assert found.operators == "LpNormalization"
    found.same(rtol=1e-4, atol=1e-5)


def test_normalize_of_torch_keeps_its_bound() -> None:
    found = norm("l = ReduceL2(x, last) c = Clip(l, least) q = Shape(x) e = Expand(c, q) y = Div(x, e)")
    assert [o for o in found.operators.split() if o != "Shape"] == ["ReduceL2", "Max", "Div"]
    found.same(rtol=1e-4, atol=1e-5)


def test_normalize_of_tensorflow() -> None:
    body = "s = Mul(x, x) t = ReduceSum(s, last) m = Max(t, tiny) r = Sqrt(m) i = Reciprocal(r) y = Mul(x, i)"
    found = norm(body)
    assert found.operators == "ReduceL2 Max Div"
    found.same(rtol=1e-4, atol=1e-5)
