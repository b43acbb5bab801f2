"""Dumps as files, and the JSON form."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import onnx
import onnx.parser
import onnx_ir as oir
import pytest

from trtc.diagnostics import DiagnosticError
from trtc.dump import FORMATS, format_of, render, to_dot, to_json, to_svg, write
from trtc.ir.module import Module
from trtc.ir.text import to_text


@pytest.fixture
def module() -> Module:
    return Module(
        oir.from_proto(
            onnx.parser.parse_model(
                """<ir_version: 11, opset_import: ["" : 23, "my.ops" : 1]>
            g (float[N,3] x, bool c) => (float[N,3] z)
              <float[3] b = {1.0, nan, -inf}, bool[2] m = {1, 0}, int64[17] big = {BIG}> {
                [n0] y = my.ops.Fn <alpha = 2.0> (x, "", b)
                [n1] z = If <then_branch = t () => (float[N,3] p) { p = Abs (y) },
                             else_branch = e () => (float[N,3] q) { q = Neg (y) }> (c)
              }
            <domain: "my.ops", opset_import: ["" : 23]> Fn <alpha> (a, w, b) => (r)
              { r = Elu <alpha: float = @alpha> (a) }
            """.replace("BIG", ", ".join(map(str, range(17))))
            )
        )
    )


@pytest.mark.parametrize("name", ["m.onnxtxt", "m.TXT", "m.dot", "m.gv", "m.svg", "m.json"])
def test_the_ending_chooses_the_form(module: Module, tmp_path: Path, name: str) -> None:
    path = write(module, tmp_path / name)
    forms = {"text": to_text, "dot": to_dot, "svg": to_svg, "json": to_json}
    assert path.read_text(encoding="utf-8") == forms[format_of(path)](module)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_options_reach_the_forms(module: Module, tmp_path: Path) -> None:
    full = write(module, tmp_path / "m.txt", full=True).read_text(encoding="utf-8")
    assert full == to_text(module, full=True)
    assert full != to_text(module)
    drawn = write(module, tmp_path / "part", "svg", limit=1, around="n1").read_text(encoding="utf-8")
    assert drawn == to_svg(module, limit=1, around="n1")


def test_every_ending_belongs_to_one_format() -> None:
    endings = [ending for endings in FORMATS.values() for ending in endings]
    assert len(endings) == len(set(endings))
    assert format_of("a.b.onnx") == "onnx"


@pytest.mark.parametrize(
    ("path", "format", "says"),
    [
        ("model.png", None, "no format has the ending `.png`"),
        ("model", None, "the name of the file has no ending"),
        ("model.svg", "svgg", "there is no format `svgg`"),
    ],
)
def test_an_unknown_format_is_refused(module: Module, path: str, format: str | None, says: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        write(module, path, format)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("T1105", says)
    assert found.help is not None
    assert "svg" in found.help


def test_a_folder_that_is_missing_is_said(module: Module, tmp_path: Path) -> None:
    with pytest.raises(DiagnosticError) as caught:
        write(module, tmp_path / "missing" / "m.json")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("T1104", "the file could not be written: No such file or directory")
    assert found.file == str(tmp_path / "missing" / "m.json")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.json"
    path.write_text("old")

    def full_disk(source: str, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(DiagnosticError, match="No space left on device"):
        write(module, path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_the_file_has_the_rights_of_any_other_file(module: Module, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    path = write(module, tmp_path / "m.json")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_json_says_everything(module: Module) -> None:
    node = module.graph.node(0)
    node.metadata_props["trtc.origin"] = '["a", "b"]'
    node.metadata_props["trtc.rule"] = "fuse"
    form = json.loads(to_json(module))
    assert form["format"] == "trtc.module/1"
    assert form["opset_imports"] == {"": 23, "my.ops": 1}
    graph = form["graph"]
    assert graph["inputs"] == [
        {"name": "x", "dtype": "float", "shape": ["N", 3]},
        {"name": "c", "dtype": "bool", "shape": []},
    ]
    small, mask, big = graph["initializers"]
    assert (small["elements"], small["nan"], small["inf"], small["min"]) == ([1.0, "nan", "-inf"], 1, 1, 1.0)
    assert mask["elements"] == [True, False]
    assert "elements" not in big
    assert (big["dtype"], big["shape"], big["min"], big["max"], big["mean"]) == ("int64", [17], 0.0, 16.0, 8.0)
    first, second = graph["nodes"]
    assert (first["domain"], first["op_type"], first["inputs"]) == ("my.ops", "Fn", ["x", None, "b"])
    assert (first["origins"], first["rule"]) == (["a", "b"], "fuse")
    assert first["attributes"] == {"alpha": {"type": "float", "value": 2.0}}
    branch = second["attributes"]["then_branch"]["value"]
    assert [n["op_type"] for n in branch["nodes"]] == ["Abs"]
    (function,) = form["functions"]
    assert function["nodes"][0]["attributes"] == {"alpha": {"type": "float", "ref": "alpha"}}
    assert to_json(module) == to_json(module)


def test_onnx_is_no_text(module: Module) -> None:
    with pytest.raises(DiagnosticError) as caught:
        render(module, "onnx")
    assert [d.code for d in caught.value.diagnostics] == ["T1105"]


def test_an_onnx_file_is_a_model(module: Module, tmp_path: Path) -> None:
    path = write(module, tmp_path / "m.onnx")
    assert [n.op_type for n in onnx.load(path).graph.node] == ["Fn", "If"]
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
