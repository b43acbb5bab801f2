"""Scatters with a reduction, by value: several updates meet at one place, negative indices count from the end."""

from __future__ import annotations

import numpy as np
import pytest
from emission_harness import build
from in_onnxruntime import compare

from trtc.diagnostics import DiagnosticError

REDUCTIONS = ["add", "mul", "max", "min"]
RNG = np.random.default_rng(3)


def data(*shape: int, kind: type = np.float32) -> np.ndarray:
    return RNG.integers(-9, 9, shape).astype(kind) if kind != np.float32 else RNG.standard_normal(shape).astype(kind)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements(reduction: str, axis: int) -> None:
    shape = {0: "K,3,4", 1: "N,K,4", -1: "N,3,K"}[axis]
    lengths = {0: (5, 3, 4), 1: (2, 5, 4), -1: (2, 3, 5)}[axis]
    size = {0: 2, 1: 3, -1: 4}[axis]
    built = compare(
        f"(float[N,3,4] x, int64[{shape}] i, float[{shape}] u) => (float[N,3,4] y) "
        f'{{ y = ScatterElements<axis = {axis}, reduction = "{reduction}">(x, i, u) }}',
        {"x": data(2, 3, 4), "i": RNG.integers(-size, size, lengths), "u": data(*lengths)},
    )
    assert "SCATTER" not in built.types()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_elements_of_integers(reduction: str, kind: str) -> None:
    of_kind = getattr(np, kind)
    compare(
        f"({kind}[N,4] x, int64[N,3] i, {kind}[N,3] u) => ({kind}[N,4] y) "
        f'{{ y = ScatterElements<axis = 1, reduction = "{reduction}">(x, i, u) }}',
        {
            "x": data(2, 4, kind=of_kind),
            "i": np.asarray([[0, 0, -1], [3, 1, 1]]),
            "u": data(2, 3, kind=of_kind),
        },
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("length", [1, 2, 3])
def test_tuples(reduction: str, length: int) -> None:
    rest = (2, 3, 4)[length:]
    text = "".join(f",{size}" for size in rest)
    built = compare(
        f"(float[N,3,4] x, int64[2,K,{length}] i, float[2,K{text}] u) => (float[N,3,4] y) "
        f'{{ y = ScatterND<reduction = "{reduction}">(x, i, u) }}',
        {
            "x": data(2, 3, 4),
            "i": np.stack([RNG.integers(-size, size, (2, 5)) for size in (2, 3, 4)[:length]], -1),
            "u": data(2, 5, *rest),
        },
    )
    assert built.plan(
        x=((1, 3, 4), (2, 3, 4), (3, 3, 4)),
        i=((2, 1, length), (2, 5, length), (2, 6, length)),
        u=((2, 1, *rest), (2, 5, *rest), (2, 6, *rest)),
    )


def test_constants_as_indices() -> None:
    compare(
        "(float[N,4] x, float[3,4] u) => (float[N,4] y) <int64[3,1] i = {0, -1, 0}> "
        '{ y = ScatterND<reduction = "add">(x, i, u) }',
        {"x": data(2, 4), "u": data(3, 4)},
    )


def test_what_is_declined() -> None:
    with pytest.raises(DiagnosticError) as caught:
        build(
            "(float[4,4] x, int64[1,3] i, float[1,3] u) => (float[4,4] y) "
            '{ y = ScatterElements<reduction = "add">(x, i, u) }'
        )
    assert "do not cover the other axes" in caught.value.diagnostics[0].notes[0]
    with pytest.raises(DiagnosticError) as caught:
        build(
            "(float[100000] x, int64[100000] i, float[100000] u) => (float[100000] y) "
            '{ y = ScatterElements<reduction = "add">(x, i, u) }'
        )
    assert "compares updates with places 10,000,000,000 times" in caught.value.diagnostics[0].notes[0]
