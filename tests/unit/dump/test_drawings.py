"""DOT and SVG: what is shown, what is left out and said, and that names from a model stay text."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET

import onnx.parser
import onnx_ir as oir
import pytest

from trtc.diagnostics import DiagnosticError
from trtc.dump import to_dot, to_svg
from trtc.dump.families import ACTIVATION, CUSTOM, LAYER, OTHER, family
from trtc.dump.layout import layout, plain_layout
from trtc.dump.view import view
from trtc.ir.module import Module

SVG = "{http://www.w3.org/2000/svg}"


def module_of(text: str) -> Module:
    return Module(oir.from_proto(onnx.parser.parse_model(f'<ir_version: 11, opset_import: ["" : 23]>\n{text}')))


SMALL = """g (float[N,3,8,8] x, float[2] unused) => (float[N,4,4,4] y)
  <float[4,3,3,3] w, float[N,4,4,4] a, float[4,3,3,3] w = {WEIGHTS}, float s = {0.5}> {
    [conv] a = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], group = 1> (x, w)
    [scale] b = Mul (a, s)
    [act] y = Relu (b)
  }""".replace("float[4,3,3,3] w, float[N", "float[N").replace("WEIGHTS", ", ".join(["1.0"] * 108))


def chain(count: int) -> Module:
    lines = [f"[n{i}] v{i + 1} = Relu (v{i})" for i in range(count)]
    return module_of(f"g (float[2] v0) => (float[2] v{count}) {{ {' '.join(lines)} }}")


def texts(svg: str, kind: str) -> list[str]:
    return [e.text or "" for e in ET.fromstring(svg).iter(f"{SVG}text") if e.get("class") == kind]


def test_boxes_carry_operators_weights_and_attributes() -> None:
    shown = view(module_of(SMALL))
    assert [(b.kind, b.title, b.lines) for b in shown.boxes] == [
        ("input", "x", ("float[N,3,8,8]",)),
        ("input", "unused", ("float[2]",)),
        ("node", "Conv", ("kernel 3×3 · stride 2×2", "W 4×3×3×3")),
        ("node", "Mul", ("B = 0.5",)),
        ("node", "Relu", ()),
        ("output", "y", ("float[N,4,4,4]",)),
    ]
    assert [(e.source, e.target) for e in shown.edges] == [(0, 2), (2, 3), (3, 4), (4, 5)]
    assert shown.edges[1].label == "float[N,4,4,4]"
    assert shown.edges[0].label == ""  # the box of the input says it
    assert shown.note is None
    assert shown.title == "g · 3 nodes"


def test_the_svg_shows_them() -> None:
    svg = to_svg(module_of(SMALL))
    assert texts(svg, "title") == ["Conv", "Mul", "Relu"]
    assert texts(svg, "input-name") == ["x", "unused"]
    assert texts(svg, "output-name") == ["y"]
    assert "W 4×3×3×3" in texts(svg, "line")
    assert "float[N,4,4,4]" in texts(svg, "label")
    assert texts(svg, "note") == []
    assert LAYER.color in svg
    assert "prefers-color-scheme: dark" in svg


def test_boxes_do_not_overlap_and_nothing_leaves_the_picture() -> None:
    root = ET.fromstring(to_svg(module_of(SMALL)))
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    group = [e for e in root if e.tag == f"{SVG}g"][-1]
    left, top = map(float, re.findall(r"[\d.]+", group.get("transform", "")))
    frames = []
    for box in group.iter(f"{SVG}g"):
        if box.get("class") == "box":
            x, y = map(float, re.findall(r"-?[\d.]+", box.get("transform", "")))
            rect = box.find(f"{SVG}rect")
            assert rect is not None
            frames.append((left + x, top + y, float(rect.get("width", "0")), float(rect.get("height", "0"))))
    assert len(frames) == 6
    for x, y, w, h in frames:
        assert x >= 0
        assert y >= 0
        assert x + w <= width
        assert y + h <= height
    for at, (x, y, w, h) in enumerate(frames):
        for u, v, p, q in frames[at + 1 :]:
            assert x + w <= u or u + p <= x or y + h <= v or v + q <= y


def test_tooltips_say_name_types_and_provenance() -> None:
    module = module_of(SMALL)
    node = module.graph.node(0)
    node.metadata_props["trtc.origin"] = '["conv", "bn"]'
    node.metadata_props["trtc.rule"] = "fold_batch_norm"
    (conv,) = [b for b in view(module).boxes if b.title == "Conv"]
    lines = conv.tooltip.split("\n")
    assert lines[:2] == ["conv", "Conv"]
    assert "strides = [2, 2]" in lines
    assert "X: x float[N,3,8,8]" in lines
    assert "→ a float[N,4,4,4]" in lines
    assert lines[-2:] == ["from conv, bn", "by fold_batch_norm"]
    titles = [e.text for e in ET.fromstring(to_svg(module)).iter(f"{SVG}title")]
    assert conv.tooltip in titles


def test_a_limit_keeps_the_first_nodes_and_says_so() -> None:
    shown = view(chain(10), limit=4)
    assert [b.title for b in shown.boxes if b.kind == "node"] == ["Relu"] * 4
    assert shown.note == "shows 4 of 10 nodes: those up to `n3` in topological order; 6 are left out"
    assert [b.title for b in shown.boxes if b.kind == "cut"] == ["… 1 more"]
    assert [b.kind for b in shown.boxes if b.kind in ("input", "output")] == ["input"]
    assert " ".join(texts(to_svg(chain(10), limit=4), "note")) == shown.note
    assert shown.note in to_dot(chain(10), limit=4)
    assert view(chain(4), limit=4).note is None


@pytest.mark.parametrize("name", ["n5", "v6"])
def test_around_keeps_the_nearest(name: str) -> None:
    module = chain(10)
    shown = view(module, limit=3, around=name)
    kept = [b.tooltip.split("\n")[0] for b in shown.boxes if b.kind == "node"]
    assert kept == ["n4", "n5", "n6"]
    assert shown.note == f"shows 3 of 10 nodes: those nearest to `{name}`; 7 are left out"
    assert [b.kind for b in shown.boxes].count("cut") == 2


def test_around_an_input_starts_at_its_users() -> None:
    shown = view(chain(6), limit=2, around="v0")
    assert [b.tooltip.split("\n")[0] for b in shown.boxes if b.kind == "node"] == ["n0", "n1"]


def test_around_nothing_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(DiagnosticError) as caught:
        view(module_of(SMALL), around="scal")
    (found,) = caught.value.diagnostics
    assert (found.code, found.help) == ("T1106", "did you mean `scale`?")


def test_a_subgraph_is_a_line_and_what_it_captures_an_edge() -> None:
    module = module_of("""g (float[2] x, bool c) => (float[2] z) {
        [n0] y = Neg (x)
        [n1] z = If <then_branch = t () => (float[2] p) { p = Abs (y) }, else_branch = e () => (float[2] q)
            { r = Exp (y)  q = Log (r) }> (c) }""")
    shown = view(module)
    (branch,) = [b for b in shown.boxes if b.title == "If"]
    assert branch.lines == ("then_branch: 1 node", "else_branch: 2 nodes")
    (dashed,) = [e for e in shown.edges if e.captured]
    assert shown.boxes[dashed.source].title == "Neg"
    assert shown.boxes[dashed.target] is branch
    assert "style=dashed" in to_dot(module)
    assert 'class="edge captured"' in to_svg(module)


HOSTILE = '<script>alert("1")</script>\n&\\N\u202e]]>'


def test_hostile_names_stay_text() -> None:
    value = oir.Value(name=HOSTILE, shape=oir.Shape([HOSTILE, 2]), type=oir.TensorType(oir.DataType.FLOAT))
    node = oir.node(HOSTILE, [value], {"s": HOSTILE}, domain=HOSTILE, name=HOSTILE)
    node.outputs[0].name = "y"
    graph = oir.Graph([value], node.outputs, nodes=[node], opset_imports={"": 23, HOSTILE: 1}, name=HOSTILE)
    module = Module(oir.Model(graph, ir_version=11))
    svg = to_svg(module)
    tags = {e.tag.removeprefix(SVG) for e in ET.fromstring(svg).iter()}
    assert tags <= {"svg", "title", "style", "defs", "marker", "path", "text", "g", "rect"}
    assert "\u202e" not in svg
    dot = to_dot(module)
    assert "\u202e" not in dot
    # Each line of the file is one statement, and every quote in it is closed.
    for line in dot.splitlines()[1:-1]:
        assert re.sub(r'"(\\.|[^"\\])*"', "", line).count('"') == 0


def test_the_same_module_gives_the_same_bytes() -> None:
    for draw in (to_svg, to_dot):
        assert draw(module_of(SMALL)) == draw(module_of(SMALL))


def test_dot_is_this() -> None:
    module = module_of("g (float[N] x) => (float[N] y) { [n] y = Relu (x) }")
    assert to_dot(module) == (
        "digraph {\n"
        '  graph [label="g · 1 node" labelloc=t rankdir=TB nodesep=0.35 ranksep=0.4 fontname=Helvetica]\n'
        "  node [shape=box style=filled fontname=Helvetica fontsize=11 margin=0.1]\n"
        '  edge [fontname=Helvetica fontsize=9 color="#555b66" fontcolor="#555b66"]\n'
        '  n0 [label="x\\nfloat[N]" shape=ellipse fillcolor="#dfe8f5" color="#2f5d9b" tooltip="input x\\nfloat[N]"]\n'
        f'  n1 [label="Relu" fillcolor="{ACTIVATION.color}" fontcolor=white color="{ACTIVATION.color}" '
        'tooltip="n\\nRelu\\nX: x float[N]\\n→ y float[N]"]\n'
        '  n2 [label="y\\nfloat[N]" shape=ellipse fillcolor="#e3f1e1" color="#3f6b3a" penwidth=2 '
        'tooltip="output y\\nfloat[N]"]\n'
        '  n0 -> n1 [tooltip="x\\nfloat[N]"]\n'
        '  n1 -> n2 [tooltip="y\\nfloat[N]"]\n'
        "}\n"
    )


def test_families() -> None:
    assert [family("", op) for op in ("Conv", "Gelu", "Nothing")] == [LAYER, ACTIVATION, OTHER]
    assert family("com.microsoft", "Conv") is CUSTOM


def contrast(color: str) -> float:
    """Contrast of a colour with white, as WCAG 2 defines it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 1.05 / (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05)


def test_white_text_can_be_read_on_every_family() -> None:
    from trtc.dump import families

    found = [f for f in vars(families).values() if isinstance(f, families.Family)]
    assert len(found) == 13
    assert min(contrast(f.color) for f in found) >= 4.5


SIZES = [(100.0, 40.0), (60.0, 30.0), (80.0, 50.0), (60.0, 30.0)]
LINKS = [(0, 1, None), (0, 2, (70.0, 14.0)), (1, 3, None), (2, 3, None)]


@pytest.mark.parametrize("place", [layout, plain_layout])
def test_a_layout_goes_downwards_and_ends_at_the_boxes(place) -> None:
    made = place(SIZES, LINKS)
    for (source, target, _), route in zip(LINKS, made.routes, strict=True):
        assert made.centers[source][1] < made.centers[target][1]
        assert route[0][1] == pytest.approx(made.centers[source][1] + SIZES[source][1] / 2, abs=0.2)
        assert route[-1][1] == pytest.approx(made.centers[target][1] - SIZES[target][1] / 2, abs=0.2)
    for (x, y), (w, h) in zip(made.centers, SIZES, strict=True):
        assert w / 2 - 0.2 <= x <= made.width - w / 2 + 0.2
        assert h / 2 - 0.2 <= y <= made.height - h / 2 + 0.2
    one, two = made.centers[1], made.centers[2]
    assert abs(one[0] - two[0]) >= (SIZES[1][0] + SIZES[2][0]) / 2


def test_without_graphlay_the_plain_layout_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graphlay", None)
    assert layout(SIZES, LINKS) == plain_layout(SIZES, LINKS)
    assert texts(to_svg(module_of(SMALL)), "title") == ["Conv", "Mul", "Relu"]


@pytest.mark.parametrize("fan", [120, 300])
def test_a_wide_fan_is_drawn_whole(fan: int) -> None:
    # The layout library takes minutes for such fans when it spreads them evenly: this one would not come to its end.
    nodes = " ".join(f"y{i} = Relu (x)" for i in range(fan))
    svg = to_svg(module_of(f"g (float[2] x) => ({', '.join(f'float[2] y{i}' for i in range(fan))}) {{ {nodes} }}"))
    assert texts(svg, "title") == ["Relu"] * fan


def test_an_empty_graph_is_drawn() -> None:
    assert texts(to_svg(module_of("g () => () { }")), "heading") == ["g · 0 nodes"]


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one node"):
        view(chain(2), limit=0)


def test_the_node_that_was_asked_for_stands_out() -> None:
    svg = to_svg(module_of(SMALL), around="act")
    assert re.findall(r'<g class="box asked"[^>]*><title>([^\n<]*)', svg) == ["act"]
