"""Where boxes and edges go: by graphlay, or by a plain layered layout where graphlay is not installed.

graphlay has wheels with the stable ABI for Linux on x86-64 and aarch64, is deterministic, and knows sizes of boxes,
room for labels and routes around boxes. It is young, so the plain layout stays: nothing else of trtc may depend on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Point = tuple[float, float]
#: With more links at one box than the first number, graphlay does not spread them evenly (its time grows with about the
#: fourth power of their number: half a second at 128); with more than the second, the plain layout draws.
_SPREAD, _PLACED = 48, 200
#: Distances in px between layers, and between boxes of a layer.
_LAYER_GAP = 34.0
_NODE_GAP = 26.0


@dataclass(frozen=True, slots=True)
class Layout:
    """In px, y downwards, from (0, 0): the centre of each box, the corners of each edge, the place of its label."""

    centers: tuple[Point, ...]
    routes: tuple[tuple[Point, ...], ...]
    labels: tuple[Point, ...]
    width: float
    height: float


Size = tuple[float, float]
Link = tuple[int, int, Size | None]
"""Source, target, and the size of the label if there is one."""


def layout(sizes: Sequence[Size], links: Sequence[Link]) -> Layout:
    """Lay out boxes of these sizes from top to bottom. Links go forward: a box comes behind its sources."""
    if not sizes:
        return Layout((), (), (), 0.0, 0.0)
    ends = Counter((0, source) for source, _, _ in links) + Counter((1, target) for _, target, _ in links)
    most = max(ends.values(), default=0)
    if most > _PLACED:
        return plain_layout(sizes, links)
    try:
        import graphlay
    except ImportError:
        return plain_layout(sizes, links)
    graph = graphlay.Graph()
    for width, height in sizes:
        graph.node(width=width, height=height)
    for source, target, label in links:
        if label is None:
            graph.edge(source, target)
        else:
            graph.edge(source, target, label_size={"width": label[0], "height": label[1]})
    options: dict[str, Any] = {
        "direction": "topbottom",
        "spacing": {"layer_gap": _LAYER_GAP, "node_gap": _NODE_GAP, "dummy_gap": 18.0, "edge_label_margin": 12.0},
        "labels": {"reservation": "always", "placement": "gap_centre"},
    }
    if most > _SPREAD:
        options["tuning"] = {"routing": {"port_relax_rounds": 0}}
    try:
        made = graphlay.layout(graph, options=options)
    except graphlay.GraphlayError:  # a limit of the engine
        return plain_layout(sizes, links)
    centers = [(n["center"]["x"], n["center"]["y"]) for n in made.nodes]
    routes = [[(p["x"], p["y"]) for p in e["points"]] for e in made.edges]
    labels: list[Point] = []
    for edge, route, (_, _, size) in zip(made.edges, routes, links, strict=True):
        anchor = edge.get("label_anchor")
        if anchor is None:
            labels.append(_middle(route))
        else:
            labels.append(_on_route((anchor["x"], anchor["y"]), route, size[0] if size else 0.0))
    return _framed(sizes, links, centers, routes, labels)


def plain_layout(sizes: Sequence[Size], links: Sequence[Link]) -> Layout:
    """Layers by longest path, order in a layer by the mean place of the sources, links of three straight parts."""
    layer = [0] * len(sizes)
    sources: list[list[int]] = [[] for _ in sizes]
    for source, target, _ in links:
        sources[target].append(source)
    for at in _forward_order(sources):
        layer[at] = max((layer[s] + 1 for s in sources[at]), default=0)
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for at, row in enumerate(layer):
        rows[row].append(at)
    x = [0.0] * len(sizes)
    y = [0.0] * len(sizes)
    top = 0.0
    for row in rows:
        means = {at: sum(x[s] for s in sources[at]) / len(sources[at]) if sources[at] else 0.0 for at in row}
        row.sort(key=lambda at: (means[at], at))
        tallest = max(sizes[at][1] for at in row)
        edge = float("-inf")
        for at in row:
            x[at] = max(means[at], edge + _NODE_GAP + sizes[at][0] / 2)
            y[at] = top + tallest / 2
            edge = x[at] + sizes[at][0] / 2
        middle = sum(means[at] - x[at] for at in row) / len(row)
        for at in row:
            x[at] += middle
        top += tallest + _LAYER_GAP + 14.0
    routes: list[list[Point]] = []
    for source, target, _ in links:
        start = (x[source], y[source] + sizes[source][1] / 2)
        end = (x[target], y[target] - sizes[target][1] / 2)
        bend = end[1] - _LAYER_GAP / 2
        straight = abs(start[0] - end[0]) < 0.5
        routes.append([start, end] if straight else [start, (start[0], bend), (end[0], bend), end])
    return _framed(sizes, links, list(zip(x, y, strict=True)), routes, [_middle(r) for r in routes])


def _forward_order(sources: list[list[int]]) -> list[int]:
    """Every box behind its sources; the rest, if there is a cycle, in the order given."""
    users: list[list[int]] = [[] for _ in sources]
    waiting = [len(s) for s in sources]
    for at, found in enumerate(sources):
        for source in found:
            users[source].append(at)
    ready = [at for at, count in enumerate(waiting) if count == 0]
    for at in ready:  # grows while it is walked
        for user in users[at]:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    return ready


def _middle(route: Sequence[Point]) -> Point:
    """The point half way along a route."""
    lengths = [abs(b[0] - a[0]) + abs(b[1] - a[1]) for a, b in pairwise(route)]
    left = sum(lengths) / 2
    for (a, b), length in zip(pairwise(route), lengths, strict=True):
        if left <= length and length > 0:
            part = left / length
            return a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part
        left -= length
    return route[0]


def _on_route(label: Point, route: Sequence[Point], width: float) -> Point:
    """`label`, or where it does not touch its route (it gave way to others), the place of the route at that height."""
    x, y = label
    passing = [a[0] for a, b in pairwise(route) if min(a[1], b[1]) <= y <= max(a[1], b[1])]
    if not passing:
        return _middle(route)
    near = min(passing, key=lambda other: abs(other - x))
    return label if abs(near - x) <= width / 2 else (near, y)


def _framed(
    sizes: Sequence[Size],
    links: Sequence[Link],
    centers: Sequence[Point],
    routes: Sequence[Sequence[Point]],
    labels: Sequence[Point],
) -> Layout:
    """Everything moved so that the drawing begins at (0, 0), in tenths of a px."""
    xs = [p[0] for route in routes for p in route]
    ys = [p[1] for route in routes for p in route]
    for (cx, cy), (width, height) in zip(centers, sizes, strict=True):
        xs += [cx - width / 2, cx + width / 2]
        ys += [cy - height / 2, cy + height / 2]
    for (cx, cy), (_, _, label) in zip(labels, links, strict=True):
        if label is not None:
            xs += [cx - label[0] / 2, cx + label[0] / 2]
            ys += [cy - label[1] / 2, cy + label[1] / 2]
    left, top = min(xs), min(ys)

    def moved(point: Point) -> Point:
        return round(point[0] - left, 1), round(point[1] - top, 1)

    return Layout(
        tuple(map(moved, centers)),
        tuple(tuple(map(moved, route)) for route in routes),
        tuple(map(moved, labels)),
        round(max(xs) - left, 1),
        round(max(ys) - top, 1),
    )
