"""A module as an SVG picture, drawn without Graphviz; for light and dark backgrounds."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape as escape_xml

from trtc.dump.families import Family
from trtc.dump.layout import Layout, Point, layout
from trtc.dump.view import Box, Edge, View, view
from trtc.ir.module import Module

#: px: size of the title of a box, of a line in it, of the label of an edge, and the room around and in boxes.
_TITLE, _LINE, _LABEL = 13.0, 11.0, 10.5
_HEAD, _STEP, _PAD, _MARGIN = 24.0, 15.0, 12.0, 28.0
_CORNER = 5.0

_STYLE = """
svg { background: #ffffff; }
text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, "DejaVu Sans", sans-serif; }
.heading { font-size: 15px; font-weight: 600; fill: #1d2129; }
.note { font-size: 12px; fill: #9a3412; }
.key { font-size: 11px; fill: #4a505b; }
.title { font-size: 13px; font-weight: 600; fill: #ffffff; text-anchor: middle; }
.line { font-size: 11px; fill: #333943; text-anchor: middle; }
.body { fill: #f7f8fa; }
.frame { fill: none; stroke-width: 1.2; }
.end { stroke-width: 1.5; }
.input { fill: #e4ecf8; stroke: #2f5d9b; }
.output { fill: #e3f1e1; stroke: #3f6b3a; }
.input-name, .output-name { font-size: 12.5px; font-weight: 600; text-anchor: middle; }
.input-name { fill: #1e4272; }
.output-name { fill: #2c5128; }
.cut { font-size: 11px; font-style: italic; fill: #6b717d; text-anchor: middle; }
.edge { fill: none; stroke: #6b7280; stroke-width: 1.3; }
.captured { stroke-dasharray: 5 4; }
.tip { fill: #6b7280; }
.label { font-size: 10.5px; fill: #4a505b; text-anchor: middle; }
.plate { fill: #ffffff; fill-opacity: 0.88; }
g.asked .frame { stroke: #d97706; stroke-width: 4; }
g.box:hover .frame, g.box:hover .end { stroke-width: 2.6; }
g.link:hover .edge { stroke: #d97706; stroke-width: 2.6; }
@media (prefers-color-scheme: dark) {
  svg { background: #16191f; }
  .heading { fill: #e8eaee; }
  .note { fill: #f5a36a; }
  .key, .label { fill: #a9b0bc; }
  .plate { fill: #16191f; }
  .line { fill: #d5d9e0; }
  .body { fill: #242932; }
  .input { fill: #1d2a3d; stroke: #6d9be0; }
  .output { fill: #1d2f20; stroke: #7cb572; }
  .input-name { fill: #a9c8f5; }
  .output-name { fill: #b4dbac; }
  .cut { fill: #8f96a3; }
  .edge { stroke: #7d8593; }
  .tip { fill: #7d8593; }
}
"""


def to_svg(module: Module, *, limit: int = 500, around: str | None = None) -> str:
    """The main graph as one SVG document; what is shown is said at `trtc.dump.view.view`, errors too.

    Boxes are coloured by family of operators and carry the shapes of their weights, edges their dtype and shape;
    names, attributes and provenance are in tooltips. The same module gives the same bytes.
    """
    return draw(view(module, limit=limit, around=around))


def draw(shown: View) -> str:
    sizes = [_size(box) for box in shown.boxes]
    for edge in shown.edges:
        if edge.label and shown.boxes[edge.source].kind == "node":
            # Labels of neighbours have room side by side when boxes are as wide as the labels below them.
            width, tall = sizes[edge.source]
            sizes[edge.source] = max(width, min(_width(edge.label, _LABEL) - 10.0, 170.0)), tall
    links = [(e.source, e.target, (_width(e.label, _LABEL) + 8.0, 15.0) if e.label else None) for e in shown.edges]
    placed = layout(sizes, links)
    families = sorted({b.family for b in shown.boxes if b.kind == "node"}, key=lambda f: f.name)
    note = [] if shown.note is None else _wrapped(shown.note)
    width = max(placed.width, _width(shown.title, 15.0), 360.0, *(_width(t, 12.0) for t in note)) + 2 * _MARGIN
    key, key_height = _key(families, width)
    top = _MARGIN + 24.0 + 18.0 * len(note) + key_height + 18.0
    height = placed.height + top + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<title>{_text(shown.title)}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto" '
        'markerUnits="userSpaceOnUse"><path class="tip" d="M0 0.8 8 4 0 7.2z"/></marker></defs>',
        f'<text class="heading" x="{_MARGIN}" y="{_MARGIN + 8}">{_text(shown.title)}</text>',
    ]
    parts += [
        f'<text class="note" x="{_MARGIN}" y="{_MARGIN + 28 + 18 * at:.0f}">{_text(line)}</text>'
        for at, line in enumerate(note)
    ]
    parts.append(f'<g transform="translate({_MARGIN} {_MARGIN + 24 + 18 * len(note):.0f})">')
    parts += [*key, "</g>"]
    left = (width - placed.width) / 2
    parts.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    # Labels last: a line that crosses one stays behind it.
    parts += [_edge(e, route) for e, route in zip(shown.edges, placed.routes, strict=True)]
    for box, size, center in zip(shown.boxes, sizes, placed.centers, strict=True):
        parts += _box(box, size, center)
    parts += _labels(shown.edges, placed)
    parts += ["</g>", "</svg>", ""]
    return "\n".join(parts)


def _size(box: Box) -> tuple[float, float]:
    if box.kind == "cut":
        return _width(box.title, _LINE) + 8.0, 16.0
    lines = max((_width(line, _LINE) for line in box.lines), default=0.0)
    width = max(_width(box.title, _TITLE, bold=True), lines, 44.0) + 2 * _PAD
    body = _STEP * len(box.lines)
    if box.kind == "node":
        return width, _HEAD + (body + 9.0 if box.lines else 0.0)
    return width + 10.0, 24.0 + body


def _box(box: Box, size: tuple[float, float], center: Point) -> Iterator[str]:
    width, height = size
    x, y = center[0] - width / 2, center[1] - height / 2
    asked = " asked" if box.asked else ""
    yield f'<g class="box{asked}" transform="translate({x:.1f} {y:.1f})"><title>{_text(box.tooltip)}</title>'
    middle = f"{width / 2:.1f}"
    rect = f'width="{width:.1f}" height="{height:.1f}"'
    if box.kind == "cut":
        yield f'<text class="cut" x="{middle}" y="12">{_text(box.title)}</text></g>'
        return
    if box.kind == "node":
        color = box.family.color
        if box.lines:
            yield f'<rect class="body" {rect} rx="{_CORNER}"/>'
            yield (
                f'<path fill="{color}" d="M0 {_HEAD}V{_CORNER}Q0 0 {_CORNER} 0H{width - _CORNER:.1f}'
                f'Q{width:.1f} 0 {width:.1f} {_CORNER}V{_HEAD}z"/>'
            )
        else:
            yield f'<rect fill="{color}" {rect} rx="{_CORNER}"/>'
        yield f'<rect class="frame" stroke="{color}" {rect} rx="{_CORNER}"/>'
        yield f'<text class="title" x="{middle}" y="16.5">{_text(box.title)}</text>'
        first = _HEAD + 15.0
    else:
        yield f'<rect class="end {box.kind}" {rect} rx="{min(height / 2, 16.0):.1f}"/>'
        yield f'<text class="{box.kind}-name" x="{middle}" y="16.5">{_text(box.title)}</text>'
        first = 31.0
    for at, line in enumerate(box.lines):
        yield f'<text class="line" x="{middle}" y="{first + _STEP * at:.1f}">{_text(line)}</text>'
    yield "</g>"


def _edge(edge: Edge, route: Sequence[Point]) -> str:
    dashed = " captured" if edge.captured else ""
    path = f'<path class="edge{dashed}" d="{_path(route)}" marker-end="url(#arrow)"/>'
    tooltip = f"<title>{_text(edge.tooltip)}</title>" if edge.tooltip else ""
    return f'<g class="link">{path}{tooltip}</g>'


def _path(route: Sequence[Point]) -> str:
    """The route with rounded corners."""
    x, y = route[0]
    parts = [f"M{x:g} {y:g}"]
    for before, corner, after in zip(route, route[1:], route[2:], strict=False):
        radius = min(_CORNER + 2.0, _distance(before, corner) / 2, _distance(corner, after) / 2)
        start, end = _toward(corner, before, radius), _toward(corner, after, radius)
        parts.append(f"L{start[0]:g} {start[1]:g}Q{corner[0]:g} {corner[1]:g} {end[0]:g} {end[1]:g}")
    x, y = route[-1]
    parts.append(f"L{x:g} {y:g}")
    return "".join(parts)


def _distance(a: Point, b: Point) -> float:
    return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5


def _toward(a: Point, b: Point, length: float) -> Point:
    whole = _distance(a, b)
    part = length / whole if whole else 0.0
    return round(a[0] + (b[0] - a[0]) * part, 1), round(a[1] + (b[1] - a[1]) * part, 1)


def _labels(edges: Sequence[Edge], placed: Layout) -> Iterator[str]:
    for edge, (x, y) in zip(edges, placed.labels, strict=True):
        if edge.label:
            width = _width(edge.label, _LABEL) * 0.94
            place = f'x="{x - width / 2:.1f}" y="{y - 7:.1f}"'
            yield f'<rect class="plate" {place} width="{width:.1f}" height="14" rx="3"/>'
            yield f'<text class="label" x="{x:g}" y="{y + 3.5:g}">{_text(edge.label)}</text>'


def _key(families: Sequence[Family], width: float) -> tuple[list[str], float]:
    """The families in the drawing with their colours, in as many rows as they need; and the height."""
    parts: list[str] = []
    x, y = 0.0, 0.0
    for family in families:
        step = 16.0 + _width(family.name, 11.0) + 14.0
        if x and x + step > width - 2 * _MARGIN:
            x, y = 0.0, y + 18.0
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="11" height="11" rx="2.5" fill="{family.color}"/>')
        parts.append(f'<text class="key" x="{x + 16:.1f}" y="{y + 9.5:.1f}">{_text(family.name)}</text>')
        x += step
    return parts, (y + 18.0 if parts else 0.0)


def _wrapped(text: str, width: int = 90) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width) or [""]


def _width(text: str, size: float, *, bold: bool = False) -> float:
    """A generous guess of the width of `text` in px: the font is the reader's."""
    total = 0.0
    for char in text:
        if char in "iljtfI.,:;'|![]()/ ·":
            total += 0.36
        elif unicodedata.east_asian_width(char) in "WF":
            total += 1.05
        elif char in "mwMW@%":
            total += 0.92
        elif char.isupper():
            total += 0.7
        else:
            total += 0.6
    return total * size * (1.06 if bold else 1.0)


def _text(text: str) -> str:
    return escape_xml(text)
