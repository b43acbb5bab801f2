"""Symbolic dims: normal forms as text, and numbers against Python's own arithmetic."""

from __future__ import annotations

import random
import subprocess
import sys
import threading

import pytest

from trtc.ir import dims
from trtc.ir.dims import Dim, Expr, bounds, ceildiv, evaluate, maximum, minimum, substitute, symbol, text

b, s, h, w, n = (symbol(name) for name in ("b", "s", "h", "w", "n"))


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (2 * b, "2*b"),
        (b + s - s, "b"),
        (b - b, "0"),
        (s * b + 1, "b*s + 1"),
        (3 - h, "3 - h"),
        (-h, "-h"),
        (h * h * 2 - 3 * h, "2*h^2 - 3*h"),
        ((b + s) * (b - s), "b^2 - s^2"),
        (2 * b * s // s, "2*b"),
        ((b + 1) * (s + 2) // (s + 2), "b + 1"),
        (6 * n // 3, "2*n"),
        ((4 * n + 3) // 4, "n"),
        ((4 * n + 5) // 4, "n + 1"),
        ((4 * n - 1) // 4, "n - 1"),
        ((h - 3) // 2 + 1, "floor((h + 1)/2) - 1"),
        ((h + 2 - 3) // 2 + 1, "floor((h + 1)/2)"),
        (h // 2 // 2, "floor(h/4)"),
        ((h // 2 + 1) // 3, "floor((h + 2)/6)"),
        ((2 * h + 1) // 4, "floor(h/2)"),
        (3 * h // 2, "floor(h/2) + h"),
        (h * s // (w * s), "floor(h/w)"),
        ((b * s + 1) // s, "b + floor(1/s)"),
        ((h + 1) // (2 * w), "floor((h + 1)/(2*w))"),
        (h // -2, "floor(h/2) - h"),
        (ceildiv(h, 2), "floor((h + 1)/2)"),
        (ceildiv(2 * h, 2), "h"),
        (6 * n % 3, "0"),
        ((3 * n + 4) % 3, "1"),
        (h % 2, "mod(h, 2)"),
        (h * s % s, "0"),
        (minimum(n, 0), "0"),
        (minimum(n, 1), "1"),
        (minimum(n, 3), "min(n, 3)"),
        (maximum(n, 1), "n"),
        (maximum(n - 1, 0), "n - 1"),
        (maximum(n - 3, 0), "max(n - 3, 0)"),
        (minimum(n, n + b), "n"),
        (minimum(minimum(n, 7), minimum(3, b)), "min(b, n, 3)"),
        (maximum(0, n - minimum(n, 3)), "n - min(n, 3)"),
        (minimum((h + 1) // 2, (h + 3) // 2), "floor((h + 1)/2)"),
        (minimum(h // 2 + 1, (h + 1) // 2), "floor((h + 1)/2)"),
        (maximum(h // 2, 0), "floor(h/2)"),
        (maximum(dims.unknown("u"), 0), "?u"),
        (maximum(dims.unknown("v", signed=True), 0), "max(?v, 0)"),
    ],
)
def test_normal_forms(dim: Dim, expected: str) -> None:
    assert text(dim) == expected


def test_equal_expressions_are_one_object() -> None:
    assert (b + 1) * s is s + b * s
    assert h // 2 - 1 is (h - 2) // 2
    assert maximum(h - 3, w) is maximum(w, h - 3)
    assert symbol("b") is b
    assert isinstance(b - b + 4, int)


def test_bounds() -> None:
    assert bounds(2 * b + 3) == (5, None)
    assert bounds(b - s) == (None, None)
    assert bounds(3 - b) == (None, 2)
    assert bounds(minimum(n, 7) * 2) == (2, 14)
    assert bounds(h // 2 - 1, {"h": (224, 640)}) == (111, 319)
    assert bounds(b * s, {"b": (1, 8), "s": (16, 512)}) == (16, 4096)
    assert bounds(h % 8) == (0, 7)
    assert bounds(h - h // 2) == (1, None)
    assert bounds(dims.unknown("u") - 1) == (-1, None)
    assert bounds(5) == (5, 5)


def test_reading() -> None:
    dim = minimum(b * s, h // 3) + dims.unknown("k")
    assert dims.symbols(dim) == {"b", "s", "h"}
    assert dims.unknowns(dim) == {"?k"}
    assert evaluate(dim, {"b": 2, "s": 8, "h": 30, "?k": 5}) == 15
    assert substitute(dim, {"h": 3 * w, "?k": 0}) is minimum(b * s, w)
    assert dims.exact_quotient(b * b - s * s, b - s) is b + s
    assert dims.exact_quotient(b * s + 1, s) is None
    with pytest.raises(KeyError, match="h"):
        evaluate(h, {})
    with pytest.raises(ZeroDivisionError):
        dims.floordiv(h, 0)


def test_arithmetic_agrees_with_python() -> None:
    """Random expressions, built twice: of dims, and as a function of numbers."""
    rng = random.Random(7)
    names = ["b", "s", "h", "w"]
    for _ in range(3000):
        pool: list[tuple[Dim, list[int]]] = []
        envs = [{name: rng.randint(1, 40) for name in names} for _ in range(4)]
        pool += [(symbol(name), [env[name] for env in envs]) for name in names]
        pool += [(k, [k] * 4) for k in (rng.randint(0, 9), rng.randint(1, 9))]
        for _ in range(5):
            (x, xs), (y, ys) = rng.choice(pool), rng.choice(pool)
            op = rng.choice(["+", "-", "*", "//", "%", "min", "max"])
            if op in ("//", "%") and not (bounds(y)[0] or 0) > 0:
                continue
            made: Dim
            if op == "+":
                made, numbers = x + y, [i + j for i, j in zip(xs, ys, strict=True)]
            elif op == "-":
                made, numbers = x - y, [i - j for i, j in zip(xs, ys, strict=True)]
            elif op == "*":
                made, numbers = x * y, [i * j for i, j in zip(xs, ys, strict=True)]
            elif op == "//":
                made, numbers = x // y, [i // j for i, j in zip(xs, ys, strict=True)]
            elif op == "%":
                made, numbers = x % y, [i % j for i, j in zip(xs, ys, strict=True)]
            elif op == "min":
                made, numbers = minimum(x, y), [min(i, j) for i, j in zip(xs, ys, strict=True)]
            else:
                made, numbers = maximum(x, y), [max(i, j) for i, j in zip(xs, ys, strict=True)]
            assert [evaluate(made, env) for env in envs] == numbers, (text(x), op, text(y), text(made))
            lo, hi = bounds(made)
            assert all(lo is None or lo <= number for number in numbers), (text(made), lo, numbers)
            assert all(hi is None or hi >= number for number in numbers), (text(made), hi, numbers)
            assert dims.substitute(made, {}) is made
            pool.append((made, numbers))


def test_growth_is_bounded() -> None:
    total: Dim = 0
    for at in range(80):
        total = total + symbol(f"x{at}")
    assert isinstance(total, Expr)
    assert len(total.terms) <= dims.MAX_TERMS
    assert dims.is_signed(total)
    nested: Dim = h
    for at in range(2, 300):
        nested = maximum(nested // symbol(f"y{at}"), minimum(nested, symbol(f"z{at}")))
    assert len(text(nested)) <= 3 * dims.MAX_TEXT


def test_text_does_not_depend_on_the_order_of_creation() -> None:
    """In a new process that names symbols in another order."""
    code = (
        "from trtc.ir.dims import *; {}; b, s, h = symbol('b'), symbol('s'), symbol('h');"
        "print(text((h*s + b - 3)//4 + minimum(s*h, b) + b*s))"
    )
    shown = {
        subprocess.run([sys.executable, "-c", code.format(first)], capture_output=True, text=True, check=True).stdout
        for first in ("symbol('h') * symbol('s')", "maximum(symbol('b'), symbol('s') * 2)")
    }
    assert shown == {"b*s + floor((b + h*s + 1)/4) + min(b, h*s) - 1\n"} or len(shown) == 1


def test_needs_neither_onnx_nor_numpy() -> None:
    code = "import sys, trtc.ir.dims; print([m for m in ('onnx', 'onnx_ir', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_threads_share_expressions() -> None:
    made: list[Dim] = []

    def build() -> None:
        for at in range(200):
            made.append((symbol(f"t{at}") + 1) * symbol("u") // 3)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(dim) for dim in made}) == 200
