"""Where a node comes from: the nodes of the file it stands for, and the pass or rule that made it.

Kept in `metadata_props`, so that it survives a save and ends in `ILayer.metadata`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import onnx_ir as oir

ORIGIN = "trtc.origin"
RULE = "trtc.rule"
ASSUMES = "trtc.assumes"

#: A node that stands for more than this many nodes of the file keeps the first ones and a count.
_LIMIT = 64


def origins(node: oir.Node) -> tuple[str, ...]:
    """Names of the nodes of the original file that `node` stands for."""
    text = node.metadata_props.get(ORIGIN)
    if text is None:
        return (node.name,) if node.name else ()
    return tuple(json.loads(text))


def rule(node: oir.Node) -> str | None:
    """The pass or rule that made the node; None for a node of the file."""
    return node.metadata_props.get(RULE)


def assumptions(node: oir.Node) -> tuple[str, ...]:
    """What the rules that made a node took for granted of its values: `finite`, or nothing."""
    text = node.metadata_props.get(ASSUMES)
    return tuple(text.split(",")) if text else ()


def assume(node: oir.Node, words: Iterable[str]) -> None:
    """Record what was taken for granted when a node was made; what is made of it inherits that."""
    node.metadata_props[ASSUMES] = ",".join(sorted({*assumptions(node), *words}))


def stamp(node: oir.Node, sources: Iterable[oir.Node], made_by: str | None) -> None:
    """Record that `node` stands for what `sources` stand for, and who made it."""
    sources = list(sources)
    names = list(dict.fromkeys(name for source in sources for name in origins(source)))
    assumed = sorted({word for source in sources for word in assumptions(source)})
    if assumed:
        assume(node, assumed)
    if len(names) > _LIMIT:
        names = [*names[:_LIMIT], f"… and {len(names) - _LIMIT} more"]
    node.metadata_props[ORIGIN] = json.dumps(names, ensure_ascii=False)
    if made_by is not None:
        node.metadata_props[RULE] = made_by


def stamp_inner(node: oir.Node, call: oir.Node, inner: oir.Node, made_by: str) -> None:
    """Record that `node` is node `inner` of the body of the function that `call` called."""
    part = (origins(inner) or (inner.op_type,))[0]
    names = [f"{name}/{part}" for name in origins(call)] or [part]
    node.metadata_props[ORIGIN] = json.dumps(names, ensure_ascii=False)
    node.metadata_props[RULE] = made_by
