"""The command line: what it prints, what it leaves, and its exit status."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest

from trtc.cli import main

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[N,3] x) => (float[N,3] y) <float[3] b = {1,2,3}> { s = Add(x, b) i = Identity(s) y = Relu(i) }
"""

SPEC = """trtspec 1
dim N in 1..8
model "m.onnx"
input "x" : f32[N, 3]
profile "p" { N = min 1 opt 2 max 8 }
target tensorrt_rtx
pipeline { standard() }
emit { engine = "m.engine"  onnx = "m.opt.onnx"  readback = "m.back.onnx" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "m.onnx")
    (tmp_path / "m.trtspec").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def test_compile_writes_what_the_spec_names_and_prints_the_table(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", "m.trtspec"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^graph +y +3 .* passed$", out, re.MULTILINE)
    assert re.search(r"^network +y +3 .* passed$", out, re.MULTILINE)
    assert re.search(r"^engine +NOT RUN: ", out, re.MULTILINE) or re.search(r"^engine +y +3 ", out, re.MULTILINE)
    assert names(folder) == {
        *("m.onnx", "m.trtspec", "m.engine", "m.opt.onnx", "m.back.onnx", "m.manifest.json", "m.build.json")
    }
    assert [n.op_type for n in onnx.load("m.opt.onnx").graph.node] == ["Add", "Relu"]


def test_two_compiles_write_the_same_model_and_manifest(folder: Path) -> None:
    assert main(["compile", "m.trtspec", "-o", "one"]) == 0
    assert main(["compile", "m.trtspec", "-o", "two"]) == 0
    for name in ("m.opt.onnx", "m.manifest.json", "m.back.onnx"):
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes()


def test_a_bare_dynamic_model_is_answered_with_its_dims_and_the_ready_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", "m.onnx"]) == 1
    err = capsys.readouterr().err
    assert "error[T0576]: the inputs have the symbolic dim `N`" in err
    assert "trtc compile m.onnx --dim N=1..8..64" in err
    assert names(folder) == {"m.onnx", "m.trtspec"}


def test_a_bare_model_compiles_with_dim(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "m.onnx", "--dim", "N=1..2..4", "-o", "out", "--target", "tensorrt_rtx", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is True
    assert answer["verified"] == ["graph", "network"]
    assert [(r["rung"], r["status"]) for r in answer["rungs"]][:2] == [("graph", "passed"), ("network", "passed")]
    assert [p["point"] for p in answer["rungs"][0]["points"]] == ["default min", "default opt", "default max"]
    assert names(folder / "out") == {"m.engine", "m.manifest.json", "m.build.json"}


def test_without_verification_the_output_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "m.trtspec", "--no-verify"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("NOT RUN: --no-verify") == 3
    assert "NOT VERIFIED" in captured.err
    statuses = [r["status"] for r in json.loads((folder / "m.manifest.json").read_text())["verification"]]
    assert statuses == ["not run"] * 3


def test_dump_after_writes_the_graph_after_every_pass(folder: Path) -> None:
    assert main(["compile", "m.trtspec", "--dump-after", "all"]) == 0
    dumps = sorted(p.name for p in (folder / "m.dumps").iterdir())
    assert len(dumps) >= 3
    assert all(re.fullmatch(r"\d\d_\w+\.txt", name) for name in dumps)


def test_check_finds_mistakes_in_the_spec_without_the_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.trtspec").write_text(
        'trtspec 1\nmodel "absent.onnx"\npipeline { fold_constant()  cse(limit = 2) }\n'
    )
    assert main(["check", "bad.trtspec"]) == 1
    err = capsys.readouterr().err
    assert "did you mean `fold_constants`?" in err
    assert "2 errors" in err


def test_check_says_what_it_could_not_look_at(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "early.trtspec").write_text('trtspec 1\nmodel "absent.onnx"\n')
    assert main(["check", "early.trtspec"]) == 0
    assert "not checked: the model: absent.onnx does not exist yet" in capsys.readouterr().out


def test_check_reports_what_cannot_be_emitted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2,2] x) => (float y) { y = Det(x) }'
    )
    onnx.save(model, "det.onnx")
    assert main(["check", "det.onnx", "--target", "tensorrt_rtx", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert found["code"] == "T0701"
    assert "Det" in json.dumps(found)


def test_init_writes_a_spec_that_checks_and_never_overwrites(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "m.onnx", "-o", "new.trtspec"]) == 0
    text = (folder / "new.trtspec").read_text()
    assert text.startswith("trtspec 1\n")
    assert "dim N" in text
    assert main(["check", "new.trtspec"]) == 0
    assert main(["init", "m.onnx", "-o", "new.trtspec"]) == 2
    assert "error[T1003]" in capsys.readouterr().err
    assert (folder / "new.trtspec").read_text() == text


def test_dump_prints_text_with_types(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", "m.onnx"]) == 0
    out = capsys.readouterr().out
    assert "Identity" in out
    assert "float[N,3]" in out
    assert main(["dump", "m.trtspec"]) == 0
    graph = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    assert not any("Identity" in line for line in graph)


def test_passes_ops_explain_and_version_list_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes"]) == 0
    assert "fold_constants(" in capsys.readouterr().out
    assert main(["passes", "fold_batch_norm", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "fold_batch_norm"
    assert main(["ops", "--json"]) == 0
    assert {"Conv", "MatMul", "Softmax"} <= {o["operator"] for o in json.loads(capsys.readouterr().out)}
    assert main(["explain", "T0501"]) == 0
    assert capsys.readouterr().out.startswith("# T0501: an `expect` does not hold")
    assert main(["version", "--json"]) == 0
    targets = {t["name"]: t for t in json.loads(capsys.readouterr().out)["targets"]}
    assert targets["tensorrt_rtx"]["can_build"] is True
    assert targets["tensorrt"]["can_build"] or targets["tensorrt"]["reason"]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["compil", "m.onnx"], 2, "Did you mean `trtc compile`?"),
        (["m.onnx"], 2, "Did you mean `trtc compile m.onnx`?"),
        (["compile"], 2, "Missing argument"),
        (["compile", "m.onnx", "--dim", "N"], 2, "--dim wants NAME=VALUE"),
        (["compile", "m.onnx", "--dim", "N=4..2"], 2, "T1010"),
        (["compile", "m.onnx", "--set", "a=1"], 2, "T1001"),
        (["compile", "m.onnx", "--target", "tensorrt-rtx"], 2, "did you mean `tensorrt_rtx`?"),
        (["compile", "absent.onnx"], 1, "T0401"),
        (["compile", "absent.trtspec"], 2, "T1012"),
        (["explain", "T9999"], 2, "T1005"),
        (["passes", "csee"], 2, "did you mean `cse`?"),
    ],
)
def test_mistakes_have_a_code_and_a_status(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, words: str
) -> None:
    assert main(arguments) == status
    assert words in capsys.readouterr().err
    assert names(folder) == {"m.onnx", "m.trtspec"}


def test_json_answers_mistakes_in_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "absent.onnx", "--json"]) == 1
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["ok"] is False
    assert answer["diagnostics"][0]["code"] == "T0401"
    assert captured.err == ""


def test_an_internal_fault_is_a_sentence_and_a_crash_file(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from trtc import ir

    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(ir, "load", broken)
    assert main(["compile", "m.trtspec"]) == 5
    err = capsys.readouterr().err
    assert "error[T0800]: a fault inside trtc: RuntimeError: boom" in err
    assert "Traceback" not in err
    (crash,) = folder.glob("trtc-crash-*.txt")
    assert "RuntimeError: boom" in crash.read_text()
    assert names(folder) == {"m.onnx", "m.trtspec", crash.name}


HEAVY = ("onnx", "onnx_ir", "numpy", "onnxruntime", "tensorrt_rtx", "polygraphy", "rich", "networkx")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["compile", "--help"], ["explain", "T0501"], ["check", "early.trtspec"], ["passes"]]
)
def test_light_commands_import_nothing_heavy(folder: Path, arguments: list[str]) -> None:
    (folder / "early.trtspec").write_text('trtspec 1\nmodel "absent.onnx"\n')
    code = (
        f"import sys; from trtc.cli import main; main({arguments!r}); print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.splitlines()[-1] == "[]"
