"""Textual form to ONNX model, by `onnx.parser`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from trtc.diagnostics import Diagnostic, DiagnosticError, Source
from trtc.ir.text_names import read_aliases

if TYPE_CHECKING:
    import onnx

#: First words of the comment that counts the tensors whose values a text does not hold.
LEFT_OUT = "# tensors shown by hash and statistics only:"

_POSITION = re.compile(r"\[ParseError at position \(line: (\d+) column: (\d+)\)\]\n")
_CONTEXT = re.compile(r"Error context: .*\n")


def from_text(text: str, path: str = "<text>") -> onnx.ModelProto:
    """The model that `text` describes; `path` is the name that diagnostics give the text.

    Names that `to_text` wrote under an alias get their own spelling back. Raises DiagnosticError: T1102 where the
    parser stops, T1103 for the short form of `to_text`, which lacks the values of large tensors.
    """
    import onnx.parser

    source = Source(path, text)
    if "\0" in text:
        at = text.index("\0")
        raise DiagnosticError(Diagnostic("T1102", "the text has a zero byte", source.span(at, at + 1)))
    head = _head(text)
    for at, line in head:
        if line.startswith(LEFT_OUT):
            raise DiagnosticError(
                Diagnostic(
                    "T1103",
                    "this text does not hold the values of the model",
                    source.span(at, at + len(line)),
                    help="write it with full=True (`trtc dump --full`), or load the .onnx file",
                )
            )
    try:
        model = onnx.parser.parse_model(text)
    except onnx.parser.ParseError as error:
        raise DiagnosticError(_diagnostic(source, error)) from None
    except (IndexError, ValueError, RuntimeError) as error:
        # A number that does not fit its type ends the parser of onnx without a place.
        message = f"the parser of onnx gave up: {error}"
        help = "a number out of the range of its type? subnormal numbers need onnx 1.20"
        raise DiagnosticError(Diagnostic("T1102", message, file=path, help=help)) from None
    aliases = read_aliases(line for _, line in head)
    if aliases:
        _restore_graph(model.graph, aliases)
        for function in model.functions:
            _restore_function(function, aliases)
    return model


def _head(text: str) -> list[tuple[int, str]]:
    """Offset and line of the comments before anything else."""
    lines: list[tuple[int, str]] = []
    at = 0
    for line in text.split("\n"):
        if not line.startswith("#"):
            break
        lines.append((at, line))
        at += len(line) + 1
    return lines


def _diagnostic(source: Source, error: Exception) -> Diagnostic:
    raw = error.args[0] if error.args else str(error)
    message = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    place = _POSITION.search(message)
    what = _CONTEXT.sub("", _POSITION.sub("", message)).strip().rstrip(".") or "the text does not parse"
    if place is None:
        return Diagnostic("T1102", what, file=source.path)
    line, column = int(place[1]), int(place[2])
    lines = source.text.split("\n")
    if line > len(lines):
        return Diagnostic("T1102", what, source.span(len(source.text), len(source.text)))
    # The parser counts bytes of UTF-8.
    before = lines[line - 1].encode("utf-8")[: column - 1].decode("utf-8", "ignore")
    start = sum(len(text) + 1 for text in lines[: line - 1]) + len(before)
    # It stops behind the space that it skipped: the place that matters is behind what it has read last.
    if start >= len(source.text) or source.text[start - 1 : start].isspace():
        read = source.text[:start].rstrip()
        if start >= len(source.text) or "\n" in source.text[len(read) : start]:
            start = max(len(read) - 1, 0)
    word = re.compile(r"\w+|.|\Z", re.DOTALL).match(source.text, start)
    return Diagnostic("T1102", what, source.span(start, word.end() if word else start + 1))


def _restore_graph(graph: onnx.GraphProto, aliases: dict[str, str]) -> None:
    graph.name = aliases.get(graph.name, graph.name)
    for tensor in graph.initializer:
        tensor.name = aliases.get(tensor.name, tensor.name)
    for infos in (graph.input, graph.output, graph.value_info):
        for info in infos:
            _restore_info(info, aliases)
    for node in graph.node:
        _restore_node(node, aliases)


def _restore_function(function: onnx.FunctionProto, aliases: dict[str, str]) -> None:
    function.name = aliases.get(function.name, function.name)
    for names in (function.input, function.output, function.attribute):
        names[:] = [aliases.get(name, name) for name in names]
    for info in function.value_info:
        _restore_info(info, aliases)
    for node in function.node:
        _restore_node(node, aliases)


def _restore_info(info: onnx.ValueInfoProto, aliases: dict[str, str]) -> None:
    info.name = aliases.get(info.name, info.name)
    _restore_type(info.type, aliases)


def _restore_type(kind: Any, aliases: dict[str, str]) -> None:
    field = kind.WhichOneof("value")
    if field in ("tensor_type", "sparse_tensor_type"):
        for dim in getattr(kind, field).shape.dim:
            if dim.dim_param in aliases:
                dim.dim_param = aliases[dim.dim_param]
    elif field in ("sequence_type", "optional_type"):
        _restore_type(getattr(kind, field).elem_type, aliases)
    elif field == "map_type":
        _restore_type(kind.map_type.value_type, aliases)


def _restore_node(node: onnx.NodeProto, aliases: dict[str, str]) -> None:
    node.name = aliases.get(node.name, node.name)
    for names in (node.input, node.output):
        names[:] = [aliases.get(name, name) for name in names]
    for attribute in node.attribute:
        if attribute.ref_attr_name in aliases:
            attribute.ref_attr_name = aliases[attribute.ref_attr_name]
        if attribute.HasField("g"):
            _restore_graph(attribute.g, aliases)
        if attribute.HasField("tp"):
            _restore_type(attribute.tp, aliases)
