"""The one form of a spec: pairs of before and after, and what holds for every spec."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trtc.diagnostics import DiagnosticError, Source, Span
from trtc.lang import InputDims, format_layout, formatter, parse, write_spec
from trtc.lang.formatter import format_text

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "formatter"
BEFORE = sorted(GOLDEN.glob("*.before.trtspec"))
SPECS = sorted(
    path
    for folder in ("examples", "specs", "tests/golden/specs/right", "tests/golden/specs/used")
    for path in (ROOT / folder).rglob("*.trtspec")
    if path.stem != "broken"
)


def said(text: str) -> Any:
    """What a file says: its syntax tree without places."""

    def bare(value: Any) -> Any:
        if isinstance(value, Span):
            return None
        if dataclasses.is_dataclass(value):
            fields = dataclasses.fields(value)
            return (type(value).__name__, *(bare(getattr(value, f.name)) for f in fields if f.type != "Span"))
        return tuple(map(bare, value)) if isinstance(value, tuple) else value

    return bare(parse(Source("test", text)))


WORD = re.compile(r'#[^\n]*|"""(?:[^"]|"(?!""))*"""|"(?:[^"\\\n]|\\[^\n])*"|[$\w]+|\.\.\.|\.\.|[=!<>]=|->|&&|\|\||\S')


def words(text: str) -> list[str]:
    """Words, marks and comments in order, found without the parser."""
    return [word.rstrip() for word in WORD.findall(text)]


def check(text: str) -> str:
    made = format_text(text)
    assert words(made) == words(text)
    assert format_text(made) == made
    assert said(made) == said(text)
    assert made.endswith("\n")
    assert not re.search(r"[ \t]$|\n\n\n|\t", re.sub(r'"""[^"]*"""', "doc", made), re.MULTILINE)
    return made


# ---- pairs


@pytest.mark.parametrize("path", BEFORE, ids=lambda p: p.name.split(".")[0])
def test_golden(path: Path, golden: Callable[[Path, str], None]) -> None:
    golden(path.with_name(path.name.replace("before", "after")), check(path.read_text(encoding="utf-8")))


def test_there_are_pairs() -> None:
    assert {p.name.split(".")[0] for p in BEFORE} >= {"rules", "long", "comments", "blocks"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("param  a=1+2*-3", "param a = 1 + 2 * -3"),
        ("param a = ( 1+2 ) / 4", "param a = (1 + 2) / 4"),
        ("dim a in 1 .. 2*b", "dim a in 1..2 * b"),
        ('input "x":f32 [ ...,n ,3 ]', 'input "x" : f32[..., n, 3]'),
        ('input "x"=[ [1,2],[ ] ]', 'input "x" = [[1, 2], []]'),
        ('profile "p"{a=min 1 opt 2 max 3 b=4}', 'profile "p" { a = min 1 opt 2 max 3  b = 4 }'),
        ("builder{}", "builder {}"),
        ("builder {\n\n}", "builder {}"),
        ("use std . conv", "use std.conv"),
        ("pipeline{a ( )b(c=[1,2,],)}", "pipeline { a()  b(c = [1, 2,],) }"),
        ("pipeline { fixpoint ( limit=2 ) { a() } }", "pipeline { fixpoint(limit = 2) { a() } }"),
        ("pipeline { expect (count( A )==1) }", "pipeline { expect(count(A) == 1) }"),
        ("pattern p ( x :float ) -> y { y=f?( x ,.. ) }", "pattern p(x: float) -> y { y = f?(x, ..) }"),
        (
            "pattern p(x:f32,m ?:float)->(y,$a){y=g(x)+~1.5(1e-3)@x}",
            "pattern p(x: f32, m?: float) -> (y, $a) { y = g(x) + ~1.5(1e-3) @ x }",
        ),
        ("pattern p(x: f32)->y{a=x (y,b)=f(a)}", "pattern p(x: f32) -> y { a = x  (y, b) = f(a) }"),
    ],
)
def test_spaces(before: str, after: str) -> None:
    assert check(f"trtspec 1\n{before}\n") == f"trtspec 1\n{after}\n"


def test_a_block_on_one_line_stays_while_it_fits() -> None:
    calls = ["simplify()"] * 7
    fits = "pipeline { " + "  ".join([*calls, "last".ljust(21, "_") + "()"]) + " }"
    assert len(fits) == 120
    assert check(f"trtspec 1\n{fits}\n") == f"trtspec 1\n{fits}\n"
    longer = check(f"trtspec 1\n{fits.replace('last_', 'last__')}\n")
    assert longer == "trtspec 1\n\npipeline {\n" + "  simplify()\n" * 7 + "  last__________________()\n}\n"


def test_declarations_of_one_line_keep_their_groups_and_others_stand_alone() -> None:
    text = (
        'trtspec 1\nparam a = 1\n\n\n\nparam b = 2\ndim c in 1..2\n"""Doc."""\nparam d = 3\n'
        'emit {\nengine = "e"}\nuse e.f'
    )
    assert check(text) == (
        'trtspec 1\nparam a = 1\n\nparam b = 2\ndim c in 1..2\n\n"""Doc."""\nparam d = 3\n\n'
        'emit {\n  engine = "e"\n}\n\nuse e.f\n'
    )


# ---- files


def test_a_file_from_windows_stays_one_and_the_mark_at_its_beginning_goes() -> None:
    text = "\ufefftrtspec 1\r\nparam a=1 # c\r\n\r\n# d\r\n\r\nparam b = 2\r\n"
    made = format_text(text)
    assert made == "trtspec 1\r\nparam a = 1  # c\r\n\r\n# d\r\n\r\nparam b = 2\r\n"
    assert format_text(made) == made


def test_docstrings_of_several_lines_stay_as_they_are() -> None:
    text = 'trtspec 1\n\n"""One.\n\n   two   \n\tthree"""  # why\nparam a = 1\n'
    assert format_text(text) == text


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_specs_of_this_project_say_the_same(path: Path) -> None:
    check(path.read_text(encoding="utf-8"))


def test_what_init_writes_is_formatted() -> None:
    text = write_spec("m.onnx", [InputDims("ids", "i64", ["batch", "seq"]), InputDims("mask", None, ["batch", 1])])
    assert format_text(text) == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "T0105"),
        ("trtspec 2\n", "T0106"),
        ("trtspec 1\npipeline { a(] }\n", "T0108"),
        ("trtspec 1\nparam a = " + "(" * 200 + "1" + ")" * 200, "T0110"),
        ("trtspec 1\nparam a = " + "1 + " * 5000 + "1", "T0110"),
    ],
)
def test_what_does_not_parse_is_refused(text: str, code: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        format_text(text)
    assert caught.value.diagnostics[0].code == code


@pytest.mark.parametrize(
    "harm", [lambda t: t.replace("+", "-"), lambda t: t.replace("# c", "")], ids=["tree", "comment"]
)
def test_a_result_that_says_something_else_is_a_fault(harm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatter, "layout", lambda tokens: harm(format_layout.layout(tokens)))
    with pytest.raises(AssertionError, match="would change what it says"):
        format_text("trtspec 1\nparam a = 1 + 2  # c\n")


def test_ten_times_the_lines_are_ten_times_the_work(count_calls: Callable[[Callable[[], object]], int]) -> None:
    def lines(count: int) -> str:
        params = "".join(f"param p{i} = 2 * ({i} + 1)   # a comment\n" for i in range(count))
        calls = "".join(f"  fold_constants(max_growth = {i}MiB, deep = [1, 2])  cse()\n" for i in range(count))
        return f"trtspec 1\n{params}pipeline {{\n{calls}}}\n"

    format_text("trtspec 1\n")  # the grammar is built once
    small = count_calls(lambda: format_text(lines(30)))
    assert count_calls(lambda: format_text(lines(300))) < 12 * small


def test_light_imports() -> None:
    code = (
        "import sys; from trtc.lang.formatter import format_text; format_text('trtspec 1');"
        "print(sorted({'numpy', 'onnx', 'onnx_ir'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


# ---- every spec
#
# A spec is drawn as the list of its pieces; between two pieces anything may stand that means nothing.

Pieces = list[str]
NAMES = ("x", "y", "gamma", "mask", "limit", "min", "output", "dim", "use", "a_rather_long_name_of_something")
name = st.sampled_from(NAMES)
key = st.sampled_from(("x", "y", "gamma", "a_rather_long_name_of_something"))  # keywords are no keys
number = st.sampled_from(["0", "12", "1.5", "1e-4", "123456789012345"])
string = st.sampled_from(['"x"', '"# no comment"', '"a \\" b"', '"models/of/some/length/encoder.onnx"'])
DOC = '"""Two\n lines."""'


def joined(items: list[Pieces], separator: str | None = None) -> Pieces:
    out: Pieces = []
    for at, item in enumerate(items):
        out += [separator, *item] if at and separator else item
    return out


def listed(item: st.SearchStrategy[Pieces], most: int = 4) -> st.SearchStrategy[Pieces]:
    return st.lists(item, max_size=most).map(lambda items: ["[", *joined(items, ","), "]"])


def called(item: st.SearchStrategy[Pieces], callee: st.SearchStrategy[str]) -> st.SearchStrategy[Pieces]:
    """The parenthesis touches what is called: a space between the two would make a tuple of it in a rule."""
    return st.tuples(callee, st.lists(item, max_size=4)).map(lambda t: [f"{t[0]}(", *joined(t[1], ","), ")"])


def infix(item: st.SearchStrategy[Pieces], operators: list[str]) -> st.SearchStrategy[Pieces]:
    return st.tuples(item, st.sampled_from(operators), item).map(lambda t: [*t[0], t[1], *t[2]])


def bracketed(item: st.SearchStrategy[Pieces]) -> st.SearchStrategy[Pieces]:
    return item.map(lambda i: ["(", *i, ")"])


def given_(item: st.SearchStrategy[Pieces]) -> st.SearchStrategy[Pieces]:
    return st.tuples(name, item).map(lambda t: [t[0], "=", *t[1]])


def one(text: st.SearchStrategy[str]) -> st.SearchStrategy[Pieces]:
    return text.map(lambda t: [t])


expression = st.recursive(
    one(name | number | string | st.just("2MiB")) | st.just(["std", ".", "conv"]),
    lambda e: (
        infix(e, ["+", "-", "*", "/"])
        | bracketed(e)
        | e.map(lambda i: ["-", *i])
        | listed(e)
        | called(e | given_(e), name)
    ),
    max_leaves=8,
)
operand = st.recursive(
    one(name | number | st.sampled_from(["$alpha", "$d"])) | st.just(["~", "1.5(", "1e-3", ")"]),
    lambda e: (
        infix(e, ["+", "-", "*", "/", "@"])
        | bracketed(e)
        | e.map(lambda i: ["-", *i])
        | listed(e)
        | called(
            e | given_(e) | st.sampled_from([["mask", "?"], [".."], ["g", ":", "const", "float", "[", "N", "]"]]),
            st.sampled_from(["Relu", "Add?", "either", "LayerNormalization"]),
        )
    ),
    max_leaves=8,
)
entry = st.tuples(key, expression).map(lambda t: [t[0], "=", *t[1]])
bound = st.tuples(key, number, number).map(lambda t: [t[0], "=", "min", t[1], "max", t[2]])
targets = st.sampled_from([["y"], ["(", "y", ",", "$alpha", ")"], ["shared", "t"]])
assignment = st.tuples(targets, operand).map(lambda t: [*t[0], "=", *t[1]])
comparison = infix(operand, ["==", "<", ">="])
guard = st.lists(comparison, min_size=1, max_size=4).map(lambda c: ["where", *joined(c, "&&")])
tensor = st.sampled_from([["f32", "[", "2", ",", "N", "]"], ["float", "[", "...", "]"], ["const", "i64"]])


def block(item: st.SearchStrategy[Pieces], least: int = 0) -> st.SearchStrategy[Pieces]:
    return st.lists(item, min_size=least, max_size=4).map(lambda items: ["{", *joined(items), "}"])


step = st.recursive(
    called(expression | given_(expression), key)
    | infix(expression, ["==", ">="]).map(lambda c: ["expect", "(", *c, ",", *c, ")"])
    | st.just(["apply", "(", "std", ".", "norm", ")"]),
    lambda s: block(s).map(lambda b: ["fixpoint", "(", "limit", "=", "4", ")", *b]),
    max_leaves=6,
)
rewrite = st.tuples(
    st.lists(assignment, min_size=1, max_size=3), st.lists(guard, max_size=2), operand, st.lists(tensor, max_size=2)
).map(
    lambda t: [
        *("rewrite", "r", "{", "match", *joined(t[0]), *joined(t[1]), "replace", "y", "with", *t[2]),
        *("test", "{", *joined([["x", ":", *one] for one in t[3]]), "}", "benefit", "=", "3", "}"),
    ]
)
pattern = st.tuples(st.lists(tensor, max_size=4), block(assignment | guard)).map(
    lambda t: ["pattern", "p(", *joined([["mask", "?", ":", *one] for one in t[0]], ","), ")", "->", "y", *t[1]]
)
declaration = (
    st.tuples(name, expression).map(lambda t: ["param", t[0], "=", *t[1]])
    | st.tuples(name, expression).map(lambda t: ["dim", t[0], "in", "1", "..", *t[1]])
    | st.tuples(string, listed(expression)).map(lambda t: ["input", t[0], ":", "f32", *t[1]])
    | st.tuples(string, block(bound | entry)).map(lambda t: ["profile", t[0], *t[1]])
    | block(entry).map(lambda b: ["builder", *b])
    | block(entry | block(entry).map(lambda b: ["output", '"y"', *b])).map(lambda b: ["verify", *b])
    | block(step).map(lambda b: ["pipeline", *b])
    | rewrite
    | pattern
)
described = st.tuples(st.sampled_from([[], [], [DOC]]), declaration).map(lambda t: [*t[0], *t[1]])
gap = st.sampled_from(
    [" "] * 30 + ["\n"] * 6 + ["\n\n\n\n", "\t\n   ", " # c\n", "# é\n  # more\n", "\n# own\n", "\n\n#\n\n"]
)


@st.composite
def specs(draw: st.DrawFn) -> str:
    pieces = ["trtspec", "1", *joined(draw(st.lists(described, max_size=4)))]
    tame = draw(st.booleans())
    between = (lambda: " ") if tame else (lambda: draw(gap))
    return draw(gap) + "".join(piece + between() for piece in pieces)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(specs())
def test_any_spec_keeps_its_words_comments_and_meaning(text: str) -> None:
    check(text)
    for line in format_text(text).split("\n"):
        code = re.sub(r'"(?:[^"\\]|\\.)*"', "s", line)
        if len(line) > format_layout.WIDTH and "#" not in code:
            # Only what cannot be broken is too long, and an argument list can.
            assert not re.search(r"\w\([^()]*,[^()]*\)", code), line
