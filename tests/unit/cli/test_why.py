"""`trtc why`: what it prints, for rules of a spec, of libraries, and for patterns."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx.parser
import pytest

from trtc.cli import main

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2,8] x, float[2,8] z) => (float[2,8] y, float[2,8] w)
<float r = {1.41421356}, float one = {1.0}, float half = {0.5}, float quarter = {0.25}>
{
  [good_div] d = Div(x, r)  [good_erf] e = Erf(d)  [good_add] a = Add(e, one)  [good_mul] m = Mul(x, a)
  [good_half] y = Mul(m, half)
  [bad_div] d2 = Div(z, r)  [bad_erf] e2 = Erf(d2)  [bad_add] a2 = Add(e2, one)  [bad_mul] m2 = Mul(z, a2)
  [bad_half] w = Mul(m2, quarter)
}
"""

SPEC = """trtspec 1
model "m.onnx"
pattern erf_gelu(x: float[...]) -> y {
  y = (x * (Erf(x / ~1.41421356) + 1.0)) * 0.5
}
rewrite fuse_gelu { match y = erf_gelu(x)  replace y with Gelu(x) }
rewrite spare { match y = Relu(x)  replace y with x }
pipeline {
  fixpoint(limit = 3) { apply(fuse_gelu)  dce() }
  expect(fuse_gelu == 2)
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    (tmp_path / "m.trtspec").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["why", *arguments]) == 0
    return capsys.readouterr().out


def test_matches_and_the_nearest_miss(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "m.trtspec", "fuse_gelu") == (
        "fuse_gelu  m.trtspec:6:9\n"
        "matched 1 time\n"
        "  good_half: 5 operations became 1\n"
        "\n"
        "nearest miss: bad_half (Mul) matched 4 of 5 operations\n"
        "  --> m.trtspec:4:44\n"
        "   |\n"
        " 4 |   y = (x * (Erf(x / ~1.41421356) + 1.0)) * 0.5\n"
        "   |                                            ^^^\n"
        "   = the constant is 0.25, the pattern needs 0.5\n"
        "   = at quarter float[], a constant\n"
        "   = matched: bad_half, bad_mul, bad_add, bad_erf, bad_div\n"
    )


@pytest.mark.parametrize("at", ["bad_erf", "e2", "z"])
def test_a_node_or_value_of_the_file(at: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "m.trtspec", "fuse_gelu", "--at", at)
    assert "nearest miss: bad_half (Mul) matched 4 of 5 operations" in out
    assert "= the constant is 0.25, the pattern needs 0.5" in out


@pytest.mark.parametrize("at", ["good_erf", "a", "y"])
def test_a_node_that_the_rule_took(at: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "m.trtspec", "fuse_gelu", "--at", at)
    assert f"at {at}: it became Gelu `" in out
    assert "` by this rule\n" in out
    assert "nearest miss" not in out


def test_an_operator_that_the_pattern_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "m.trtspec", "spare", "--at", "bad_erf")
    assert "the pipeline does not apply it" in out
    assert "at bad_erf: it is Erf, and the pattern has no such operation; it has Relu" in out


def test_a_rule_of_a_library_on_a_bare_model(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "m.onnx", "std.activation.fuse_gelu")
    assert out.startswith("std.activation.fuse_gelu  std/activation.trtspec:")
    assert "nearest miss: bad_half (Mul) matched 4 of 5 operations\n" in out


def test_a_pattern_is_found_where_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bare.trtspec").write_text('trtspec 1\nmodel "m.onnx"\npipeline { simplify() }\n')
    out = printed(capsys, "bare.trtspec", "std.activation.half_gated")
    assert "a pattern, looked for in what the pipeline leaves\nmatched 1 time\n  good_half: 3 of 3 operations\n" in out
    assert "nearest miss: bad_half (Mul) matched 2 of 3 operations\n" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    answer = json.loads(printed(capsys, "m.trtspec", "fuse_gelu", "--json"))
    assert answer["ok"] is True
    assert (answer["rule"], answer["applied_by_pipeline"], answer["runs"]) == ("fuse_gelu", True, 2)
    assert [match["node"] for match in answer["matches"]] == ["good_half"]
    (miss,) = answer["misses"]
    assert (miss["node"], miss["matched"], miss["operations"], miss["declined"]) == ("bad_half", 4, 5, False)
    assert miss["span"] == {"path": "m.trtspec", "line": 4, "column": 44, "text": "0.5"}
    assert miss["nodes"] == ["bad_half", "bad_mul", "bad_add", "bad_erf", "bad_div"]


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["fuse_gelo"], "T0360", "did you mean `fuse_gelu`?"),
        (["std.activation.fuse_gelo"], "T0360", "did you mean `std.activation.fuse_gelu`?"),
        (["fuse_gelu", "--at", "bad_erff"], "T0361", "did you mean `bad_erf`?"),
    ],
)
def test_unknown_names(arguments: list[str], code: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "m.trtspec", *arguments]) == 1
    err = capsys.readouterr().err
    assert f"error[{code}]" in err
    assert hint in err


def test_the_help_of_a_failed_expect_is_a_command_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "m.trtspec"]) == 1
    help = next(line for line in capsys.readouterr().err.splitlines() if "help: see" in line)
    command = help.split("`")[1].split()
    assert command == ["trtc", "why", "m.trtspec", "fuse_gelu", "--at", "bad_half"]
    assert "nearest miss: bad_half" in printed(capsys, *command[2:])


def test_remarks_of_rules_are_in_dumps_and_records(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "m.trtspec"]) == 0
    out = capsys.readouterr().out
    assert "from good_half, good_mul, good_add, good_erf and 1 more by fuse_gelu" in out
    assert "\n}\n# applied fuse_gelu at good_half: 5 operations became 1 (m.trtspec:6:9)\n" in out
    assert main(["dump", "m.trtspec", "-f", "json"]) == 0
    remark = json.loads(capsys.readouterr().out)["remarks"][0]
    assert (remark["kind"], remark["source"], remark["node"]) == ("applied", "fuse_gelu", "good_half")
    assert remark["span"]["line"] == 6


def test_the_manifest_says_which_rules_were_applied_and_where_one_was_declined(folder: Path) -> None:
    rule = "rewrite wider { match y = Neg(x)  replace y with ReduceMax(x, axes = [0]) }\n"
    spec = SPEC.replace("fuse_gelu == 2", "fuse_gelu == 1").replace("rewrite spare", rule + "rewrite spare")
    spec = spec.replace("dce()", "apply(wider)  dce()")
    (folder / "m.trtspec").write_text(spec + "target tensorrt_rtx\n")
    model = onnx.load("m.onnx")
    model.graph.node[-1].op_type = "Neg"
    del model.graph.node[-1].input[1]
    onnx.save(model, "m.onnx")
    assert main(["compile", "m.trtspec", "--no-verify"]) == 0
    rules = json.loads((folder / "m.manifest.json").read_text())["rules"]
    assert rules == [
        {"rule": "fuse_gelu", "place": "m.trtspec:6:9", "applied": 1},
        {
            "rule": "wider",
            "place": "m.trtspec:7:9",
            "applied": 0,
            "declined": [{"node": "bad_half", "reason": "the replacement's shape is [1, 8], not [2, 8]"}],
        },
    ]
    remarks = json.loads((folder / "m.build.json").read_text())["remarks"]
    declined = next(r for r in remarks if r["source"] == "wider")
    assert (declined["kind"], declined["node"], declined["span"]["line"]) == ("declined", "bad_half", 7)
