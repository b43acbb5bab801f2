"""Terminals of the grammar in words that someone new to the language understands."""

from __future__ import annotations

from collections.abc import Collection

from trtc.lang.scanner import DECLARATIONS

#: How each construct is written, shown as help when it was written otherwise.
EXAMPLES = {
    "trtspec": "the first line of a file is `trtspec 1`",
    "use": 'a library is named `use std.norm`, a file beside this one `use "./mine.trtspec"`',
    "param": "a parameter is written `param depth = 12`",
    "dim": "a dimension is written `dim batch in 1..64`",
    "model": 'the model is written `model "resnet50.onnx"`',
    "input": 'an input is written `input "x" : f32[batch, 3, 224, 224]`, or `input "axes" = [1]` to fix its value',
    "output": 'an output is written `output "y" : f32[batch, 1000]`',
    "profile": 'a profile is written `profile "main" { batch = min 1 opt 8 max 64 }`',
    "target": "a target is written `target tensorrt_rtx { compute = [8.6] }`",
    "builder": "builder settings are written `builder { workspace = 2GiB  optimization_level = 4 }`",
    "pipeline": "a pipeline is written `pipeline { fold_constants(max_growth = 4MiB)  cse() }`",
    "fixpoint": "a fixpoint is written `fixpoint(limit = 8) { cse()  dce() }`",
    "expect": "an expectation is written `expect(count(BatchNormalization) == 0)`",
    "checkpoint": 'a checkpoint is written `checkpoint("fused")`',
    "verify": 'verification is written `verify { require = [graph, network]  output "y" { rtol = 1e-4 } }`',
    "emit": 'outputs are written `emit { engine = "model.engine" }`',
    "apply": "rules are applied by name: `apply(std.norm, fuse_gelu)`",
    "pattern": "a pattern is written `pattern NAME(x: float[...]) -> y { y = … }`",
    "rewrite": "a rewrite is written `rewrite NAME { match y = …  replace y with …  test { x: f32[2, 8] } }`",
    "horizontal": "a horizontal is written `horizontal NAME { over …  member …  merge …  split …  test { … } }`",
    "operator": "an operator is written `operator NAME(x: float[...]) -> y: float[...] { meaning y = … }`",
    "plugin": "a plugin is written `plugin NAME(x: f16[B, S]) -> y: f16[B, S] { creator = …  meaning y = … }`",
    "precision": "precisions are written `precision { … }`",
    "extern": 'a function in Python is written `extern constraint NAME(x) from "module:name"`',
}

#: What the terminal DTYPE of the grammar reads: the classes, then the types.
DTYPES = (
    *("float", "int", "bool", "f32", "f16", "bf16", "f64", "i64", "i32", "i16", "i8", "i4", "u64", "u32", "u16", "u8"),
    *("u4", "f8e4m3", "f8e5m2"),
)

#: The words that begin a part of a rule.
PARTS = {
    "rewrite": ("match", "where", "replace", "test", "benefit", "recursive", "assumes"),
    "match": ("where", "replace", "test", "benefit", "recursive", "assumes"),
    "horizontal": ("over", "member", "same", "merge", "split", "where", "test"),
    "member": ("same", "merge", "split", "where", "test"),
    "pattern": ("where", "shared"),
    "operator": ("fields", "meaning"),
    "plugin": ("fields", "meaning"),
}

_WORDS = {
    "NAME": "a name",
    "STRING": 'a string in double quotes (`"…"`)',
    "INT": "a whole number",
    "FLOAT": "a number",
    "SIZE": "a size such as `4MiB`",
    "CAPTURE": "a capture such as `$alpha`",
    "DTYPE": "a dtype such as `float` or `f32`",
    "CONST": "`const`",
    "FIELD_TYPE": "the type of a field such as `i32` or `weights`",
    "EXTERN_KIND": "`constraint`, `pass`",
    "LIST": "`[]`",
    "COMPARE": "a comparison such as `==`",
    "SUM": "`+` or `-`",
    "PRODUCT": "`*` or `/`",
    "NOT": "`!`",
    "AND": "`&&`",
    "OR": "`||`",
    "AT": "`@`",
    "TILDE": "`~`",
    "QUESTION": "`?`",
    "ELLIPSIS": "`...`",
    "_DOTDOT": "`..`",
    "_DOT": "`.`",
    "_COMMA": "`,`",
    "_COLON": "`:`",
    "_EQUAL": "`=`",
    "_ARROW": "`->`",
    "_CALL": "`(`",
    "_LPAR": "`(`",
    "_RPAR": "`)`",
    "_LSQB": "`[`",
    "_RSQB": "`]`",
    "_LBRACE": "`{`",
    "_RBRACE": "`}`",
    "$END": "the end of the file",
}
_OPERATORS = ("SUM", "PRODUCT", "AT", "_DOT", "AND", "OR", "QUESTION", "_CALL")
_PARTS = frozenset({"_REPLACE", "_BENEFIT"})
_PARTS_OF_HORIZONTAL = frozenset({"_OVER", "_MERGE"})
_CALLABLE = frozenset({"_LPAR", "_DOT"})
_VALUE = frozenset({"INT", "STRING", "NAME", "_LSQB"})
_ANY_DECLARATION = frozenset({"_USE", "_MODEL"})
_STEP = frozenset({"_FIXPOINT", "_EXPECT"})
_SETTINGS = ("target", "builder", "verify", "emit")


def keyword_of(terminal: str) -> str | None:
    """The keyword that a terminal is, or None: `_MODEL` -> `model`."""
    word = terminal.lstrip("_").lower()
    return word if word in DECLARATIONS or word in EXAMPLES else None


def expected(accepts: Collection[str], context: str | None) -> str:
    """What could have stood here, as `a, b or c`. `context` is the keyword of the construct around it."""
    rest = set(accepts)
    words: list[str] = []

    def take(group: Collection[str], word: str) -> None:
        words.append(word)
        rest.difference_update(group)

    if rest >= _ANY_DECLARATION:
        names = {t for t in rest if keyword_of(t) in DECLARATIONS}
        take({*names, "DOC", "$END"}, "a declaration such as `model` or `pipeline`")
    if rest >= _STEP:
        take({"_FIXPOINT", "_EXPECT", "_APPLY", "_CHECKPOINT", "NAME"}, "a step such as `cse()`")
    if rest >= {"MIN", "OPT", "MAX"}:
        take({"MIN", "OPT", "MAX"}, "`min`, `opt`, `max`")
    if rest >= _VALUE:
        take({*_VALUE, "FLOAT", "SIZE", "SUM", "NOT", "_LPAR", "CAPTURE", "TILDE"}, "a value")
    if rest >= _PARTS:
        parts = {"_MATCH", "_WHERE", "_TEST", "_RECURSIVE", "_ASSUMES", *_PARTS}
        take({*parts, "NAME", "CAPTURE", "SHARED", "_LPAR"} if "SHARED" in rest else parts, "a part such as `replace`")
    if rest >= _PARTS_OF_HORIZONTAL:
        parts = {"_MEMBER", "_SAME", "_SPLIT", "_WHERE", "_TEST", *_PARTS_OF_HORIZONTAL}
        take({*parts, "NAME", "CAPTURE", "SHARED", "_LPAR"} if "SHARED" in rest else parts, "a part such as `merge`")
    if rest >= {"SHARED", "CAPTURE", "NAME"}:
        take({"SHARED", "CAPTURE", "NAME", "_LPAR", "_WHERE"}, "an equation such as `y = Relu(x)`")
    if {"NAME", "_RBRACE"} <= rest and context in _SETTINGS:
        take({"NAME", "_OUTPUT"}, "a setting such as `name = value`")
    if {"NAME", "_RBRACE"} <= rest and context == "profile":
        take({"NAME"}, "a dimension such as `batch = 8`")
    if {"COMPARE"} <= rest:
        rest -= {*_CALLABLE, "COMPARE"} if "AND" in rest else _CALLABLE
    if len(rest) > len(rest & set(_OPERATORS)) or words:
        rest -= set(_OPERATORS)
    if "_RPAR" in rest or "_RSQB" in rest or "_RBRACE" in rest:
        rest -= _CALLABLE if "_COMMA" in rest or words else set[str]()
    for terminal in sorted(rest, key=lambda t: (t not in _WORDS, t)):
        keyword = keyword_of(terminal)
        words.append(_WORDS.get(terminal) or f"`{keyword or terminal.lstrip('_').lower()}`")
    words = list(dict.fromkeys(words))
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1] if words else ""]))


def found(text: str) -> str:
    """How to call what stands in the text instead."""
    if not text:
        return "the end of the file"
    if text.startswith('"'):
        return f"the string {text}"
    if text[0].isdigit():
        return f"the number {text}"
    return f"`{text}`"
