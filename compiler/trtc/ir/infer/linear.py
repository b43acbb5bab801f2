"""Matrix products: MatMul, Gemm, Einsum and their quantized forms."""

from __future__ import annotations

import onnx_ir as oir

from trtc.ir.dims import Dim
from trtc.ir.infer.broadcast import broadcast
from trtc.ir.infer.fact import Fact
from trtc.ir.infer.op import Op, Shape, rule, show_shape


def product_shape(op: Op, a: Shape | None, b: Shape | None) -> Shape | None:
    """numpy.matmul's shape of [*, M, K] and [*, K, N]. T0613 when the Ks differ."""
    if a is None or b is None:
        return None
    if not a or not b:
        op.fail("T0617", f"{op.label} multiplies a scalar", f"shapes {show_shape(a)} and {show_shape(b)}")
    left, right = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    check_inner(op, left[-1], right[-2], a, b)
    batch = broadcast(op, [left[:-2], right[:-2]], "the batch dims") or ()
    rows: Shape = () if len(a) == 1 else (left[-2],)
    columns: Shape = () if len(b) == 1 else (right[-1],)
    return (*batch, *rows, *columns)


def check_inner(op: Op, left: Dim, right: Dim, a: Shape, b: Shape) -> None:
    if isinstance(left, int) and isinstance(right, int) and left != right:
        op.fail(
            "T0613",
            f"the inner dims of {op.label} differ",
            f"shapes {show_shape(a)} and {show_shape(b)}: {left} against {right}",
        )


@rule("MatMul", inputs=2)
def matmul(op: Op) -> Fact:
    return Fact(op.same_dtype(0, 1), product_shape(op, op.shape(0), op.shape(1)))


@rule("MatMulInteger", inputs=2)
def matmul_integer(op: Op) -> Fact:
    return Fact(oir.DataType.INT32, product_shape(op, op.shape(0), op.shape(1)))


@rule("QLinearMatMul", inputs=8)
def qlinear_matmul(op: Op) -> Fact:
    return Fact(op.dtype(7), product_shape(op, op.shape(0), op.shape(3)))


@rule("Gemm", inputs=2)
def gemm(op: Op) -> Fact:
    """[M, K] by [K, N], each transposed when its attribute says so, plus C that broadcasts to [M, N]."""
    dtype, a, b = op.same_dtype(), op.shape(0), op.shape(1)
    op.rank(0, 2, 2)
    op.rank(1, 2, 2)
    left = None if a is None else a[::-1] if op.int("transA", 0) else a
    right = None if b is None else b[::-1] if op.int("transB", 0) else b
    if left is not None and right is not None:
        check_inner(op, left[1], right[0], a or (), b or ())
    rows = op.unknown(0) if left is None else left[0]
    columns = op.unknown(1) if right is None else right[1]
    bias = op.shape(2) if op.has(2) else None
    if bias is not None:
        broadcast(op, [(rows, columns), bias], "the product and the bias")
    return Fact(dtype, (rows, columns))


@rule("Det")
def det(op: Op) -> Fact:
    x = op.shape(0)
    op.rank(0, 2)
    if x is not None:
        check_inner(op, x[-2], x[-1], x, x)
    return Fact(op.dtype(0), None if x is None else x[:-2])


@rule("Einsum")
def einsum(op: Op) -> Fact:
    dtype = op.same_dtype()
    equation: str = op.str("equation", "").replace(" ", "")
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(op.facts) or not equation:
        op.fail("T0622", f"equation `{equation}` of {op.label} has {len(terms)} terms", f"inputs: {len(op.facts)}")
    sizes: dict[str, Dim] = {}
    ellipses: list[Shape] = []
    for at, term in enumerate(terms):
        shape = op.shape(at)
        if shape is None:
            return Fact(dtype)
        before, dots, after = term.partition("...")
        named = len(before) + len(after)
        if len(shape) < named or (not dots and len(shape) != named):
            op.fail("T0617", f"input {at} of {op.label} has rank {len(shape)}", f"its term is `{term}`")
        tail = len(shape) - len(after)
        pairs = [*zip(before, shape, strict=False), *zip(after, shape[tail:], strict=True)]
        for letter, size in pairs:
            _bind(op, sizes, letter, size)
        if dots:
            ellipses.append(shape[len(before) : tail])
    batch = (broadcast(op, ellipses, "the ellipses") or ()) if ellipses else ()
    if not arrow:
        # Without an arrow: the letters that occur once, in alphabetical order.
        letters = left.replace(",", "").replace(".", "")
        result = ("..." if ellipses else "") + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    before, dots, after = result.partition("...")
    missing = [letter for letter in before + after if letter not in sizes]
    if missing:
        op.fail("T0622", f"equation `{equation}` of {op.label} has `{missing[0]}` on the right only")
    return Fact(dtype, (*(sizes[x] for x in before), *(batch if dots else ()), *(sizes[x] for x in after)))


def _bind(op: Op, sizes: dict[str, Dim], letter: str, size: Dim) -> None:
    old = sizes.get(letter)
    if old is None or old == 1 or (isinstance(size, int) and not isinstance(old, int) and size != 1):
        sizes[letter] = size
    elif isinstance(old, int) and isinstance(size, int) and old != size and size != 1:
        op.fail("T0613", f"`{letter}` of {op.label} is {old} and {size}", f"equation `{op.str('equation')}`")
