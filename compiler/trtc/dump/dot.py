"""A module as a DOT file, for Graphviz and everything else that reads it."""

from __future__ import annotations

from collections.abc import Iterator

from trtc.dump.view import Box, View, view
from trtc.ir.module import Module


def to_dot(module: Module, *, limit: int = 500, around: str | None = None) -> str:
    """The main graph in the DOT language; what is shown is said at `trtc.dump.view.view`, errors too."""
    return "\n".join([*_lines(view(module, limit=limit, around=around)), ""])


def _lines(shown: View) -> Iterator[str]:
    yield "digraph {"
    heading = shown.title if shown.note is None else f"{shown.title}\n{shown.note}"
    yield f"  graph [label={_quote(heading)} labelloc=t rankdir=TB nodesep=0.35 ranksep=0.4 fontname=Helvetica]"
    yield "  node [shape=box style=filled fontname=Helvetica fontsize=11 margin=0.1]"
    yield '  edge [fontname=Helvetica fontsize=9 color="#555b66" fontcolor="#555b66"]'
    for at, box in enumerate(shown.boxes):
        label = _quote("\n".join([box.title, *box.lines]))
        yield f"  n{at} [label={label} {_look(box)} tooltip={_quote(box.tooltip)}]"
    for edge in shown.edges:
        style = " style=dashed" if edge.captured else ""
        label = f"label={_quote(edge.label)} " if edge.label else ""
        yield f"  n{edge.source} -> n{edge.target} [{label}tooltip={_quote(edge.tooltip)}{style}]"
    yield "}"


def _look(box: Box) -> str:
    match box.kind:
        case "node":
            return f'fillcolor="{box.family.color}" fontcolor=white color="{box.family.color}"'
        case "input":
            return 'shape=ellipse fillcolor="#dfe8f5" color="#2f5d9b"'
        case "output":
            return 'shape=ellipse fillcolor="#e3f1e1" color="#3f6b3a" penwidth=2'
        case "cut":
            return 'shape=plaintext fillcolor="#ffffff00" fontcolor="#777d88"'


def _quote(text: str) -> str:
    """A DOT string. Backslashes are doubled: the label of a node has escapes of its own (`\\N`, `\\l`)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
