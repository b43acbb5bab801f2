"""Whatever is typed, the checker answers with diagnostics, quickly."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from trtc.diagnostics import render
from trtc.lang import InputDims, Vocabulary, check_text, loads, write_spec

SPECS = Path(__file__).parents[2] / "golden" / "specs"
RULES = (SPECS / "right" / "rules.trtspec").read_text()
VALUES = (SPECS / "right" / "values.trtspec").read_text()


def answers(text: str, vocabulary: Vocabulary) -> None:
    spec, diagnostics = check_text(text, SPECS / "right" / "x.trtspec", vocabulary)
    assert spec is not None or diagnostics
    for diagnostic in diagnostics:
        assert render(diagnostic)


@pytest.mark.parametrize("text", [RULES, VALUES], ids=["rules", "values"])
def test_every_beginning_of_a_spec_is_answered(text: str, vocabulary: Vocabulary) -> None:
    for end in range(0, len(text), 17):
        answers(text[:end], vocabulary)


@pytest.mark.parametrize("text", [RULES, VALUES], ids=["rules", "values"])
@pytest.mark.parametrize("seed", range(4))
def test_missing_doubled_and_swapped_words_are_answered(seed: int, text: str, vocabulary: Vocabulary) -> None:
    chance = random.Random(seed)
    pieces = re.findall(r'"[^"\n]*"|\w+|\s+|.', text)
    for _ in range(40):
        changed = list(pieces)
        for _ in range(chance.randint(1, 4)):
            at, other = chance.randrange(len(changed)), chance.randrange(len(changed))
            if chance.random() < 0.4:
                del changed[at]
            elif chance.random() < 0.5:
                changed.insert(at, changed[other])
            else:
                changed[at], changed[other] = changed[other], changed[at]
        answers("".join(changed), vocabulary)


def test_line_breaks_mean_nothing(vocabulary: Vocabulary) -> None:
    text = re.sub(r"#.*", "", VALUES)
    path = SPECS / "right" / "values.trtspec"
    one_line = loads(re.sub(r"\s+", " ", text), path, vocabulary)
    lines = loads(text.replace(" ", "\n\t"), path, vocabulary)
    assert one_line.params == lines.params
    assert [p.dims for p in one_line.profiles] == [p.dims for p in lines.profiles]
    assert len(one_line.pipeline) == len(lines.pipeline) == 9


def test_ten_times_the_lines_are_ten_times_the_work(
    vocabulary: Vocabulary, count_calls: Callable[[Callable[[], object]], int]
) -> None:
    def lines(count: int) -> str:
        params = [f"param p{i} = 2 * {i} + 1   # a comment" for i in range(count)]
        calls = [f"  fold_constants(max_growth = {i}MiB, deep = true)  cse()  dce()" for i in range(count)]
        return "\n".join(["trtspec 1", 'model "m.onnx"', *params, "pipeline {", *calls, "}"])

    check_text('trtspec 1\nmodel "m"', Path("m.trtspec"), vocabulary)  # the grammar is built once
    small = count_calls(lambda: check_text(lines(100), Path("m.trtspec"), vocabulary))
    large = count_calls(lambda: check_text(lines(1000), Path("m.trtspec"), vocabulary))
    assert large < 12 * small
    spec, _ = check_text(lines(1000), Path("m.trtspec"), vocabulary)
    assert spec is not None
    assert len(spec.pipeline) == 3000


# ---- init


def test_static_model(vocabulary: Vocabulary) -> None:
    text = write_spec("resnet50.onnx", [InputDims("x", "f32", [1, 3, 224, 224])])
    assert text == ('trtspec 1\nmodel "resnet50.onnx"\npipeline { standard() }\nemit { engine = "resnet50.engine" }\n')
    loads(text, Path("m.trtspec"), vocabulary)


def test_dynamic_model(vocabulary: Vocabulary) -> None:
    inputs = [InputDims("ids", "i64", ["batch", "seq"]), InputDims("mask", None, ["batch", 1, "seq"])]
    text = write_spec("m.onnx", inputs, "out/m.engine", {"seq": (1, 128, 512)})
    assert (
        text
        == """trtspec 1
dim batch in 1..8
dim seq in 1..512
model "m.onnx"
input "ids" : i64[batch, seq]
input "mask" : [batch, 1, seq]
profile "default" { batch = min 1 opt 1 max 8  seq = min 1 opt 128 max 512 }
pipeline { standard() }
emit { engine = "out/m.engine" }
"""
    )
    spec = loads(text, Path("m.trtspec"), vocabulary)
    assert spec.inputs[0].dims == ("batch", "seq")


def test_names_that_are_no_identifiers(vocabulary: Vocabulary) -> None:
    inputs = [
        InputDims('in"put\u202e', "f32", ["batch size", "12", None, "min", "größe"]),
        InputDims("b\\n", "f32", ["batch_size", None, "batch size"]),
    ]
    spec = loads(write_spec("a\nb.onnx", inputs), Path("m.trtspec"), vocabulary)
    assert spec.inputs[0].name == 'in"put\u202e'
    assert spec.inputs[0].dims == ("batch_size", "dim12", "dim2", "min_2", "gr_e")
    assert spec.inputs[1].dims == ("batch_size_2", "dim6", "batch_size")
    assert spec.model.name == "a\nb.onnx"
    assert "\u202e" not in write_spec("a\nb.onnx", inputs)


def test_light_imports() -> None:
    import subprocess
    import sys

    code = "import sys, trtc.lang; print(sorted({'numpy', 'onnx', 'onnx_ir'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
