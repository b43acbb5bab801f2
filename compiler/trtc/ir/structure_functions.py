"""Local functions: none may reach itself, and inlining all of them must stay within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import onnx

from trtc.ir.versions import default_domain

if TYPE_CHECKING:
    from trtc.ir.structure import Report

Key = tuple[str, str, str]


def key(domain: str, name: str, overload: str) -> Key:
    return default_domain(domain), name, overload


def check(proto: onnx.ModelProto, report: Report) -> None:
    """T0410 (two functions of one name), T0415 (recursion), T0416 (too many nodes once inlined). Inlines nothing."""
    if not proto.functions:
        _budget(sum(1 for _ in _nodes(proto.graph.node)), report)
        return
    bodies: dict[Key, onnx.FunctionProto] = {}
    for function in proto.functions:
        identity = key(function.domain, function.name, function.overload)
        if identity in bodies:
            report.add("T0410", f"two functions are called `{_text(identity)}`", function.name)
        bodies[identity] = function
    own: dict[Key, int] = {}
    calls: dict[Key, dict[Key, int]] = {}
    for identity, function in bodies.items():
        own[identity], calls[identity] = _calls(function.node, bodies)
    order = _order(calls, report)
    if order is None:
        return
    total: dict[Key, int] = {}
    for identity in order:
        total[identity] = own[identity] + sum(total[c] * n for c, n in calls[identity].items())
    direct, called = _calls(proto.graph.node, bodies)
    _budget(direct + sum(total[c] * n for c, n in called.items()), report)


def _budget(count: int, report: Report) -> None:
    if count > report.limits.nodes:
        amount = f"{count:,}" if count < 10**15 else f"{count:.1e}"
        report.add(
            "T0416",
            f"the model has {amount} nodes once its functions are inlined, at most {report.limits.nodes:,} are "
            "supported",
            None,
            "functions that call one another many times over multiply; a model rarely has more than 100,000 nodes",
        )


def _nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes and those of their subgraphs, without recursion."""
    stack = [iter(nodes)]
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            continue
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                stack.append(iter(attribute.g.node))
            stack.extend(iter(graph.node) for graph in attribute.graphs)


def _calls(nodes: Iterable[onnx.NodeProto], bodies: dict[Key, onnx.FunctionProto]) -> tuple[int, dict[Key, int]]:
    """How many nodes are no calls, and how often each function is called."""
    own = 0
    called: dict[Key, int] = {}
    for node in _nodes(nodes):
        target = key(node.domain, node.op_type, node.overload)
        if target in bodies:
            called[target] = called.get(target, 0) + 1
        else:
            own += 1
    return own, called


def _order(calls: dict[Key, dict[Key, int]], report: Report) -> list[Key] | None:
    """Callees before callers; None after reporting a cycle."""
    done: dict[Key, None] = {}
    for root in calls:
        if root in done:
            continue
        path: dict[Key, Iterator[Key]] = {root: iter(calls[root])}
        while path:
            current = next(reversed(path))
            callee = next(path[current], None)
            if callee is None:
                path.pop(current)
                done[current] = None
            elif callee in path:
                names = list(path)
                cycle = [*names[names.index(callee) :], callee]
                shown = [*cycle[:6], cycle[-1]] if len(cycle) > 8 else cycle
                chain = " -> ".join(f"`{_text(k)}`" for k in shown)
                report.add(
                    "T0415",
                    f"function `{_text(callee)}` calls itself, by recursion {chain}",
                    callee[1],
                    "functions of ONNX are inlined; a repetition is a Loop or a Scan",
                )
                return None
            elif callee not in done:
                path[callee] = iter(calls[callee])
    return list(done)


def _text(identity: Key) -> str:
    domain, name, overload = identity
    return f"{domain or 'ai.onnx'}::{name}" + (f":{overload}" if overload else "")
