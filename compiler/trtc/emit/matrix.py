"""Matrix products."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import re
from typing import Any

import onnx_ir as oir

from trtc.emit.facts import Facts, attr, given, input_at, refuse
from trtc.emit.registry import operator
from trtc.emit.scope import Scope


@operator("MatMul", typed=None)
def matmul(s: Scope, node: oir.Node) -> Any:
    """A vector gets its unit dim, which the result loses again; fewer batch dims are filled with 1s."""
    a_value, b_value = given(node, 0), given(node, 1)
    a_rank, b_rank = s.rank(a_value), s.rank(b_value)
    rank = max(a_rank, b_rank, 2)
    a = s.operand(a_value, rank)
    if b_rank == 1:
        array = s.array(b_value)
        if array is not None:
            b = s.tensor(b_value, (1,) * (rank - 2) + (array.shape[0], 1))
        else:
            b = s.pad_rank(s.unsqueeze(s.tensor(b_value), [1], "column"), rank)
    else:
        b = s.operand(b_value, rank)
    drop = [rank - 2] * (a_rank == 1) + [rank - 1] * (b_rank == 1)
    result = s.matmul(a, b, "product" if drop else "")
    return s.squeeze(result, drop) if drop else result


@operator("Gemm", typed=None)
def gemm(s: Scope, node: oir.Node) -> Any:
    """alpha * A' B' + beta * C. The factors are layers of their own: rounding them into weights would lose bits."""
    alpha, beta = attr(node, "alpha", 1.0), attr(node, "beta", 1.0)
    c_value = input_at(node, 2)
    bias = c_value is not None and beta != 0.0
    result = s.matmul(
        s.input(node, 0),
        s.input(node, 1),
        "" if alpha == 1.0 and not bias else "product",
        trans_a=bool(attr(node, "transA", 0)),
        trans_b=bool(attr(node, "transB", 0)),
    )
    if alpha != 1.0:
        result = s.elementwise("PROD", result, s.scalar(alpha, result, "alpha"), "alpha" if bias else "")
    if bias:
        assert c_value is not None
        c = s.operand(c_value, 2)
        if beta != 1.0:
            c = s.elementwise("PROD", c, s.scalar(beta, c, "beta"), "beta")
        result = s.elementwise("SUM", result, c)
    return result


def _einsum(facts: Facts, node: oir.Node) -> None:
    equation = attr(node, "equation", "")
    _lower_case(equation)
    if len(node.inputs) > 2 and not facts.caps.einsum_general:
        refuse("an einsum of more than two operands", "contract two at a time")
    left = equation.replace(" ", "").split("->")[0].split(",")
    repeated = any(len(set(term)) != len(term) for term in (o.replace(".", "") for o in left))
    if repeated and not facts.caps.einsum_general:
        refuse("an einsum that takes a diagonal", "take the diagonal by GatherND")


def _lower_case(equation: str) -> str:
    """TensorRT takes lower-case letters only."""
    equation = equation.replace(" ", "")
    letters = set(re.findall(r"[a-z]", equation))
    free = [c for c in "zyxwvutsrqponmlkjihgfedcba" if c not in letters]
    for upper in sorted(set(re.findall(r"[A-Z]", equation))):
        if not free:
            refuse("an einsum of more than 26 letters")
        equation = equation.replace(upper, free.pop(0))
    return equation


@operator("Einsum", typed=None, check=_einsum)
def einsum(s: Scope, node: oir.Node) -> Any:
    """Ellipses of different rank are made equal: TensorRT does not broadcast them."""
    equation = attr(node, "equation", "")
    terms = equation.replace(" ", "").split("->")[0].split(",")
    values = [given(node, at) for at in range(len(terms))]
    spans = [s.rank(v) - len(t.replace("...", "")) if "..." in t else 0 for v, t in zip(values, terms, strict=True)]
    tensors: list[Any] = []
    for value, term, span in zip(values, terms, spans, strict=True):
        tensor = s.tensor(value)
        missing = max(spans) - span
        if "..." in term and missing:
            at = term.index("...")
            tensor = s.unsqueeze(tensor, range(at, at + missing), "ellipsis")
        tensors.append(tensor)
    implicit = "->" not in equation
    written = _lower_case(equation)
    if implicit and written != equation.replace(" ", ""):
        # The implicit output is in alphabetical order (capitals first): written out before letters are renamed.
        joined = "".join(terms).replace(".", "")
        once = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
        written = _lower_case(f"{','.join(terms)}->{'...' if '...' in equation else ''}{once}")
    if "..." in written and len({span for span, term in zip(spans, terms, strict=True) if "..." in term}) == 1:
        written = _spelled_out(written, terms, max(spans))
    return s.add(s.net.add_einsum(tensors, written))


def _spelled_out(equation: str, terms: list[str], span: int) -> str:
    """Letters in the place of an ellipsis of `span` axes: TensorRT 8.6 knows none."""
    inputs, arrow, output = equation.partition("->")
    if not arrow:
        joined = "".join(terms).replace(".", "")
        output = "..." + "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    free = [c for c in "zyxwvutsrqponmlkjihgfedcba" if c not in equation][:span]
    if len(free) < span:
        return equation
    return f"{inputs}->{output}".replace("...", "".join(free))
