"""What the command line adds to a spec, warnings, and the values that specs become."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtc.diagnostics import Diagnostic, DiagnosticError, Severity, render
from trtc.lang import Count, PassCall, Spec, Vocabulary, check_text, for_model, load, loads, parse_dim_argument

HERE = Path("dir/m.trtspec")
DYNAMIC = """trtspec 1
dim batch in 1..64
dim seq in 1..512
model "m.onnx"
input "x" : f32[batch, seq]
"""


def wrong(text: str, vocabulary: Vocabulary, **more: object) -> list[str]:
    made, diagnostics = check_text(text, HERE, vocabulary, **more)  # type: ignore[arg-type]
    assert made is None
    return [f"{d.code} {d.message}" for d in diagnostics]


def one(error: pytest.ExceptionInfo[DiagnosticError]) -> Diagnostic:
    (diagnostic,) = error.value.diagnostics
    return diagnostic


# ---- --dim


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("n=8", ("n", 8, 8, 8)),
        ("n=1..64", ("n", 1, 64, 64)),
        ("n=1..8..64", ("n", 1, 8, 64)),
        (" batch.size = 0 .. 3 ", ("batch.size", 0, 3, 3)),
    ],
)
def test_dim_argument(text: str, parsed: tuple[str, int, int, int]) -> None:
    assert parse_dim_argument(text) == parsed


@pytest.mark.parametrize(
    ("text", "message", "marked"),
    [
        ("n", "`--dim n` has no value", "n"),
        ("=8", "`--dim =8` has no name", "="),
        ("n=eight", "`eight` is neither a size nor a range", "eight"),
        ("n=1..2..3..4", "`1..2..3..4` is neither a size nor a range", "1..2..3..4"),
        ("n=-1", "`-1` is neither a size nor a range", "-1"),
        ("n=8..1", "`--dim n=8..1`: not minimum <= maximum", "8..1"),
        ("n=1..9..8", "`--dim n=1..9..8`: not minimum <= optimum <= maximum", "1..9..8"),
    ],
)
def test_wrong_dim_argument(text: str, message: str, marked: str) -> None:
    with pytest.raises(DiagnosticError) as error:
        parse_dim_argument(text)
    diagnostic = one(error)
    assert (diagnostic.code, diagnostic.message, diagnostic.status) == ("T1010", message, 2)
    assert diagnostic.span is not None
    assert (diagnostic.span.source.path, diagnostic.span.text) == ("--dim", marked)


def test_dim_argument_replaces_range_and_profiles(vocabulary: Vocabulary) -> None:
    spec = loads(DYNAMIC, HERE, vocabulary, dims=["batch=2..4..100", "seq=128"])
    assert spec.dims == {"batch": (2, 100), "seq": (128, 128)}
    assert [(p.name, p.dims) for p in spec.profiles] == [("default", {"batch": (2, 4, 100), "seq": (128, 128, 128)})]
    profile = 'profile "a" { batch = 1 seq = min 1 max 8 }\n'
    spec = loads(DYNAMIC + profile, HERE, vocabulary, dims=["batch=2..4"])
    assert spec.profiles[0].dims == {"batch": (2, 4, 4), "seq": (1, 8, 8)}


def test_dim_argument_must_cover_what_profiles_do_not(vocabulary: Vocabulary) -> None:
    message = "T0210 no profile says which sizes of `seq` to optimize for"
    assert wrong(DYNAMIC, vocabulary, dims=["batch=1"]) == [message]


# ---- --set

PARAMS = """trtspec 1
param depth = 12
param size = 4MiB
param share = 0.5
param deep = false
param file = "m.onnx"
param how = safe
param keep = ["Conv"]
param twice = 2 * depth
model file
pipeline {
  fixpoint(limit = twice) {
    fold_constants(max_growth = size, tolerance = share, deep = deep, mode = how, keep = keep)
  }
}
"""


def test_overrides(vocabulary: Vocabulary) -> None:
    overrides = {
        "depth": "2 * 3",
        "size": "1GiB",
        "share": "1",
        "deep": "true",
        "file": "b c.onnx",
        "how": "all",
        "keep": '["Erf", "Gelu"]',
    }
    spec = loads(PARAMS, HERE, vocabulary, overrides)
    (fixpoint,) = spec.pipeline
    assert fixpoint.limit == 12  # type: ignore[union-attr]
    assert fixpoint.steps[0].options == {  # type: ignore[union-attr]
        "max_growth": 1 << 30,
        "tolerance": 1.0,
        "deep": True,
        "mode": "all",
        "keep": ("Erf", "Gelu"),
    }
    assert spec.model == Path("dir/b c.onnx").absolute()
    assert spec.params["twice"] == 12


@pytest.mark.parametrize(
    ("name", "text", "message", "marked"),
    [
        ("depth", "many", "`--set depth=many`: `depth` is a whole number, as its default 12 says", "many"),
        ("depth", "1.5", "`--set depth=1.5`: `depth` is a whole number, as its default 12 says", "1.5"),
        ("depth", "(1", "`--set depth=(1`: `depth` is a whole number, as its default 12 says", "(1"),
        ("size", "4MB", "`--set size=4MB`: `size` is a size, as its default 4MiB says", "4MB"),
        ("deep", "1", "`--set deep=1`: `deep` is `true` or `false`, as its default false says", "1"),
        ("keep", "[1]", '`--set keep=[1]`: `keep` is a list, as its default ["Conv"] says', "[1]"),
        ("dept", "3", "the spec has no parameter `dept`", "dept"),
    ],
)
def test_wrong_overrides(name: str, text: str, message: str, marked: str, vocabulary: Vocabulary) -> None:
    with pytest.raises(DiagnosticError) as error:
        loads(PARAMS, HERE, vocabulary, {name: text})
    diagnostic = one(error)
    assert (diagnostic.code, diagnostic.message, diagnostic.status) == ("T1011", message, 2)
    assert diagnostic.span is not None
    assert (diagnostic.span.source.path, diagnostic.span.text) == ("--set", marked)


def test_override_out_of_range_is_an_error_where_it_is_used(vocabulary: Vocabulary) -> None:
    found = wrong(PARAMS, vocabulary, overrides={"depth": "0"})
    assert found == ["T0206 `limit` of `fixpoint` must be between 1 and 1000, found the number 0"]


# ---- warnings


def test_warnings_do_not_stop(vocabulary: Vocabulary) -> None:
    text = 'trtspec 1\nparam depth = 12\ndim batch in 1..64\nmodel "m.onnx"\n'
    spec, diagnostics = check_text(text, HERE, vocabulary)
    assert isinstance(spec, Spec)
    assert [(d.code, d.severity, d.message) for d in diagnostics] == [
        ("T0250", Severity.WARNING, "param `depth` is not used"),
        ("T0251", Severity.WARNING, "dim `batch` is used by no input, output or profile"),
    ]


# ---- files


def test_paths_are_absolute_and_relative_to_the_spec(tmp_path: Path, vocabulary: Vocabulary) -> None:
    path = tmp_path / "sub" / "m.trtspec"
    path.parent.mkdir()
    path.write_bytes(b'\xef\xbb\xbftrtspec 1\r\nmodel "../m.onnx"\r\nemit { engine = "out/m.engine" }\r\n')
    spec = load(path, vocabulary)
    assert spec.model == tmp_path / "sub" / ".." / "m.onnx"
    assert spec.emit == {"engine": tmp_path / "sub" / "out" / "m.engine"}
    assert spec.folder == path.parent


@pytest.mark.parametrize("content", [None, b"\x08\x07\xff\xfe\x00"])
def test_unreadable(content: bytes | None, tmp_path: Path, vocabulary: Vocabulary) -> None:
    path = tmp_path / "m.trtspec"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DiagnosticError) as error:
        load(path, vocabulary)
    assert (one(error).code, one(error).status, one(error).file) == ("T1012", 2, str(path))


def test_text_of_used_files_can_be_given(vocabulary: Vocabulary) -> None:
    text = 'trtspec 1\nuse "lib.trtspec"\nmodel "m.onnx"\npipeline { mine(rounds = 3) }\n'
    library = "trtspec 1\npipeline mine(rounds = 2) { fixpoint(limit = rounds) { dce() } }\n"
    spec, _ = check_text(text, HERE, vocabulary, read=lambda path: library if path.name == "lib.trtspec" else "")
    assert spec is not None
    assert spec.pipeline[0].limit == 3  # type: ignore[union-attr]
    assert spec.files[1:] == (Path("dir").absolute() / "lib.trtspec",)


# ---- without a file


def test_bare_model(vocabulary: Vocabulary) -> None:
    spec = for_model(Path("m.onnx"), vocabulary, ["n=1..8..64"])
    assert spec.model == Path("m.onnx").absolute()
    assert spec.dims == {"n": (1, 64)}
    assert spec.profiles[0].dims == {"n": (1, 8, 64)}
    assert isinstance(spec.pipeline[0], PassCall)
    assert spec.pipeline[0].options == {"max_growth": 16 << 20}


def test_no_standard_pipeline() -> None:
    with pytest.raises(DiagnosticError) as error:
        for_model(Path("m.onnx"), Vocabulary())
    assert one(error).code == "T0203"


# ---- expectations


def test_conditions_are_evaluated(vocabulary: Vocabulary) -> None:
    text = """trtspec 1
model "m.onnx"
param layers = 3
pipeline {
  expect(count(Conv) == 2 * layers, count(Conv) - count(Erf) < 2, 2 * count(com.microsoft.Gelu) >= count(Erf))
}
"""
    (expect,) = loads(text, HERE, vocabulary).pipeline
    counts = {("", "Conv"): 6, ("", "Erf"): 4, ("com.microsoft", "Gelu"): 2}

    def count(what: Count) -> int:
        return counts[what.domain, what.op_type]

    assert [c.holds(count) for c in expect.conditions] == [True, False, True]  # type: ignore[union-attr]
    assert expect.conditions[1].text == "count(Conv) - count(Erf) < 2"  # type: ignore[union-attr]


# ---- places


def test_carets_stand_under_what_is_wrong(vocabulary: Vocabulary) -> None:
    text = 'trtspec 1\nmodel "m.onnx"\npipeline {\n\tfold_constants(max_growth = "4MiB")\n}\n'
    _, (diagnostic,) = check_text(text, HERE, vocabulary)
    assert diagnostic.span is not None
    assert (diagnostic.span.line, diagnostic.span.column, diagnostic.span.text) == (4, 30, '"4MiB"')
    assert "\t                            ^^^^^^" in render(diagnostic)


# ---- what should not break it


def test_sizes_and_numbers(vocabulary: Vocabulary) -> None:
    def growth(text: str) -> int:
        spec = loads(f'trtspec 1\nmodel "m"\npipeline {{ fold_constants(max_growth = {text}) }}', HERE, vocabulary)
        return spec.pipeline[0].options["max_growth"]  # type: ignore[union-attr]

    assert growth("4KiB") == 4096
    assert growth("1.5MiB") == 1572864
    assert growth("2 * (3GiB - 1GiB) / 4") == 1 << 30
    assert growth("-4 + 5 * 2") == 6


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("9" * 5000, "T0109"),
        ("1e999", "T0109"),
        ("(" * 500 + "1" + ")" * 500, "T0110"),
        ("+".join(["1"] * 20000), "T0110"),
        ("*".join(["9" * 39] * 9), "T0225"),
        ("1e300 * 1e300", "T0225"),
    ],
)
def test_extremes(expression: str, code: str, vocabulary: Vocabulary) -> None:
    found = wrong(f'trtspec 1\nparam x = {expression}\nmodel "m"', vocabulary)
    assert [f.split()[0] for f in found] == [code]
