"""Matrix products, einsum, attention, rotary embedding, fill."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from trtc.diagnostics import DiagnosticError


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    ("shapes", "ops", "expected"),
    [
        (((2, 3, 4), (2, 4, 5)), ("NONE", "NONE"), lambda a, b: a @ b),
        (((2, 4, 3), (1, 5, 4)), ("TRANSPOSE", "TRANSPOSE"), lambda a, b: a.swapaxes(1, 2) @ b.swapaxes(1, 2)),
        (((3, 4), (3, 4, 5)), ("VECTOR", "NONE"), lambda a, b: np.stack([x @ y for x, y in zip(a, b, strict=True)])),
        (((3, 2, 4), (3, 4)), ("NONE", "VECTOR"), lambda a, b: np.stack([x @ y for x, y in zip(a, b, strict=True)])),
        (((3, 4), (3, 4)), ("VECTOR", "VECTOR"), lambda a, b: (a * b).sum(1)),
        (((4,), (4,)), ("VECTOR", "VECTOR"), lambda a, b: a @ b),
    ],
)
def test_matrix_multiply(net: Any, rng: Any, shapes: Any, ops: Any, expected: Any, dtype: Any) -> None:
    a, b = (net.input(shape, dtype) for shape in shapes)
    kinds = [getattr(net.trt.MatrixOperation, op) for op in ops]
    out = net.network.add_matrix_multiply(a, kinds[0], b, kinds[1]).get_output(0)
    half = dtype == np.float16
    net.check(
        out,
        lambda a, b: expected(a.astype(np.float64), b.astype(np.float64)),
        tuple(rng.normal(size=s).astype(dtype) for s in shapes),
        rtol=2e-3 if half else 1e-4,
        atol=5e-3 if half else 1e-5,
    )


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("bij,bkj->bik", ((2, 3, 4), (2, 5, 4))),
        ("ii->i", ((3, 3),)),
        ("ij->", ((2, 3),)),
        ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 2))),
    ],
)
def test_einsum(net: Any, rng: Any, equation: str, shapes: Any) -> None:
    inputs = [net.input(shape) for shape in shapes]
    out = net.network.add_einsum(inputs, equation).get_output(0)
    case = tuple(rng.normal(size=s).astype(np.float32) for s in shapes)
    net.check(out, lambda *a: np.einsum(equation, *a), case, rtol=1e-4, atol=1e-5)


def attended(q: Any, k: Any, v: Any, mask: Any = None, causal: str = "NONE") -> np.ndarray:
    """Row by row, without scaling."""
    out = np.zeros((*q.shape[:3], v.shape[3]))
    heads = q.shape[1] // k.shape[1]
    for b, h, i in np.ndindex(*q.shape[:3]):
        scores = k[b, h // heads].astype(np.float64) @ q[b, h, i]
        for j in range(len(scores)):
            limit = {"NONE": math.inf, "UPPER_LEFT": i, "LOWER_RIGHT": i + k.shape[2] - q.shape[2]}[causal]
            if j > limit:
                scores[j] = -np.inf
        if mask is not None:
            row = np.broadcast_to(mask, (*q.shape[:3], k.shape[2]))[b, h, i]
            scores = np.where(row, scores, -np.inf) if mask.dtype == bool else scores + row
        weights = np.exp(scores - scores.max())
        out[b, h, i] = weights / weights.sum() @ v[b, h // heads]
    return out


@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize("kind", ["plain", "UPPER_LEFT", "LOWER_RIGHT", "bool mask", "float mask"])
def test_attention(net: Any, rng: Any, kind: str, heads: int) -> None:
    q, k, v = net.input((-1, 4, 3, 8)), net.input((-1, heads, 5, 8)), net.input((-1, heads, 5, 8))
    causal = kind if kind.isupper() else "NONE"
    layer = net.network.add_attention_v2(
        q, k, v, net.trt.AttentionNormalizationOp.SOFTMAX, getattr(net.trt.CausalMaskKind, causal)
    )
    layer.decomposable = True
    masks: tuple[np.ndarray, ...] = ()
    if kind.endswith("mask"):
        layer.mask = net.input((1, 1, 3, 5), np.bool_ if kind == "bool mask" else np.float32)
        keep = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 1, 0], [1, 1, 1, 1, 1]], bool)[None, None]
        masks = (keep if kind == "bool mask" else rng.normal(size=(1, 1, 3, 5)).astype(np.float32),)
    cases = [
        (*(rng.normal(size=(n, h, s, 8)).astype(np.float32) for h, s in ((4, 3), (heads, 5), (heads, 5))), *masks)
        for n in (1, 2)
    ]
    net.check(layer.get_output(0), lambda q, k, v, m=None: attended(q, k, v, m, causal), *cases, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("ids", [False, True])
@pytest.mark.parametrize("turned", [0, 4])
@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_embedding(net: Any, rng: Any, interleaved: bool, turned: int, ids: bool) -> None:
    half = (turned or 6) // 2
    x = net.input((2, 3, 4, 6))
    shape = (9, half) if ids else (2, 4, half)
    cos, sin = net.input(shape), net.input(shape)
    layer = net.network.add_rotary_embedding(x, cos, sin, interleaved, turned)
    positions = (np.array([[0, 2, 4, 8], [7, 1, 1, 3]]),) if ids else ()
    if ids:
        layer.set_input(3, net.input((2, 4), np.int64))

    def expected(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, at: Any = None) -> np.ndarray:
        out = x.copy()
        for b, h, t, i in np.ndindex(2, 3, 4, half):
            c, s = (m[at[b, t], i] if ids else m[b, t, i] for m in (cos, sin))
            first, second = (2 * i, 2 * i + 1) if interleaved else (i, i + half)
            out[b, h, t, first] = x[b, h, t, first] * c - x[b, h, t, second] * s
            out[b, h, t, second] = x[b, h, t, second] * c + x[b, h, t, first] * s
        return out

    case = tuple(rng.normal(size=s).astype(np.float32) for s in ((2, 3, 4, 6), shape, shape))
    net.check(layer.get_output(0), expected, (*case, *positions))


@pytest.mark.parametrize(("dtype", "alpha", "beta"), [("float32", 1.5, -0.25), ("int32", 3, 2), ("int64", 2**40, -1)])
def test_fill_with_numbers(net: Any, dtype: str, alpha: Any, beta: Any) -> None:
    layer = net.network.add_fill((4,), net.trt.FillOperation.LINSPACE, getattr(net.trt, dtype))
    layer.alpha, layer.beta = alpha, beta
    wide = net.network.add_identity(net.input((1,)))
    expected = np.array([alpha + beta * i for i in range(4)], dtype)
    net.check([layer.get_output(0), wide.get_output(0)], lambda x: (expected, x), (np.ones(1, np.float32),))


def test_fill_with_tensors(net: Any) -> None:
    dims, alpha, beta = net.input((2,), np.int64), net.input((), np.int32), net.input((2,), np.int32)
    layer = net.network.add_fill((1, 1), net.trt.FillOperation.LINSPACE, net.trt.int32)
    for index, tensor in enumerate((dims, alpha, beta)):
        layer.set_input(index, tensor)

    def expected(dims: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
        return np.fromfunction(lambda i, j: alpha + beta[0] * i + beta[1] * j, tuple(dims), dtype=np.int32)

    cases = [(np.array(d), np.array(5, np.int32), np.array([10, -1], np.int32)) for d in ([2, 3], [4, 1])]
    net.check(layer.get_output(0), expected, *cases)


def test_random_numbers_are_refused_by_name(net: Any) -> None:
    layer = net.network.add_fill((4,), net.trt.FillOperation.RANDOM_UNIFORM, net.trt.float32)
    layer.name = "noise"
    layer.metadata = '{"trtc.origin": ["rand_7"]}'
    net.out(layer.get_output(0))
    with pytest.raises(DiagnosticError) as caught:
        net.read()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "T0954"
    assert diagnostic.node == "noise"
    assert "FILL" in diagnostic.message
    assert "rand_7" in diagnostic.message
