"""The textual form of a module: ONNX's own syntax, as `onnx.parser` reads it, with what trtc knows in comments.

<ir_version: 11, opset_import: ["" : 23]>
main (float[N,3,224,224] x) => (float[N,64,112,112] y)
<
  float[64,3,7,7] w  # sha256:0c1b5e6c4a7d min -0.41 max 0.39 mean 0.00012
>
{
  [conv1] y = Conv <group = 1> (x, w)  # float[N,64,112,112] from conv1, bn1 by fold_batch_norm
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import onnx_ir as oir

from trtc.diagnostics import Diagnostic, DiagnosticError, escape
from trtc.ir import provenance
from trtc.ir.module import Module
from trtc.ir.text_names import Names, is_identifier, quote
from trtc.ir.text_parse import LEFT_OUT, from_text
from trtc.ir.text_values import (
    elements,
    float_literal,
    has_subnormals,
    parser_reads,
    readable,
    summary,
    tensor_type,
    type_text,
)

__all__ = ["from_text", "to_text"]

#: Initializers with more elements than this are shown by hash and statistics.
_SHOWN = 16
#: Names of origins shown in the comment of a node.
_ORIGINS = 4


def to_text(module: Module, *, full: bool = False) -> str:
    """The module as text, one line a node.

    The short form is for people: tensors of more than 16 elements stand as their hash and statistics, and every name
    keeps to its line. With `full` the text holds everything that the syntax can hold, and `from_text` (or
    `onnx.parser.parse_model`, up to names that stand under an alias) makes an equal model of it: operators,
    attributes, types, values bit for bit except the payload of NaNs. Doc strings of nodes and `metadata_props` below
    the model have no place in the syntax and are left out. Raises DiagnosticError (T1101) for a model that the syntax
    cannot express.
    """
    writer = _Writer(module, full)
    body = "\n".join([*writer.model(), ""])
    if writer.problems:
        raise DiagnosticError.of(writer.problems)
    head = writer.names.comments()
    if writer.left_out:
        head.append(f"{LEFT_OUT} {writer.left_out}")
    return "".join(f"{line}\n" for line in head) + body


class _Writer:
    def __init__(self, module: Module, full: bool) -> None:
        self.module = module
        self.full = full
        self.names = Names(_all_names(module), portable=full)
        self.left_out = 0
        self.problems: list[Diagnostic] = []

    def model(self) -> Iterator[str]:
        model = self.module.model
        yield f"<{', '.join(self._model_fields())}>"
        yield from self._graph(model.graph, self.names.name(model.graph.name), "")
        for function in model.functions.values():
            yield ""
            yield from self._function(function)

    def _model_fields(self) -> Iterator[str]:
        model = self.module.model
        yield f"ir_version: {model.ir_version}"
        yield f"opset_import: {_opsets(model.graph.opset_imports)}"
        for key in ("producer_name", "producer_version", "domain", "doc_string"):
            if value := getattr(model, key):
                yield f"{key}: {self._string(value, f'`{key}` of the model')}"
        if model.model_version is not None:
            yield f"model_version: {model.model_version}"
        if model.metadata_props:
            pairs = ", ".join(
                f"{self._string(key, 'a key of metadata_props')} : {self._string(value, f'metadata_props[{key!r}]')}"
                for key, value in model.metadata_props.items()
            )
            yield f"metadata_props: [{pairs}]"

    def _graph(self, graph: oir.Graph, name: str, indent: str) -> Iterator[str]:
        inputs = ", ".join(self._typed(v, indent) for v in graph.inputs)
        outputs = ", ".join(self._typed(v, indent) for v in graph.outputs)
        yield f"{name} ({inputs}) => ({outputs})"
        yield from self._declarations(graph, indent)
        yield from self._nodes(graph, indent)

    def _typed(self, value: oir.Value, indent: str) -> str:
        name = self.names.name(value.name)
        # The short form says what is known (a spec may have frozen dims), the full form what the model says.
        known = None if self.full else _fact_type(self.module, value, self.names.dim)
        kind = known or self._type(value.type, value.shape, value.name)
        text = f"{kind} {name}" if kind else name
        if value.is_graph_input() and value.const_value is not None:
            literal, comment = self._tensor(value.const_value, value.name)
            # A comment runs to the end of the line, so that the list goes on in the next one.
            text += f" = {literal}" if literal else ""
            text += f"  # {comment}\n{indent}  " if comment else ""
        return text

    def _declarations(self, graph: oir.Graph | oir.Function, indent: str) -> Iterator[str]:
        """The `<...>` block: initializers, and in the full form the types of values inside the graph."""
        entries: list[tuple[str, str]] = []
        if isinstance(graph, oir.Graph):
            for value in graph.initializers.values():
                if value.is_graph_input() or value.const_value is None:
                    continue
                tensor = value.const_value
                literal, comment = self._tensor(tensor, value.name)
                assign = f" = {literal}" if literal else ""
                entries.append((f"{tensor_type(tensor)} {self.names.name(value.name)}{assign}", comment))
        if self.full:
            for value in _inner_values(graph):
                if kind := self._type(value.type, value.shape, value.name):
                    entries.append((f"{kind} {self.names.name(value.name)}", ""))
        if not entries:
            return
        yield f"{indent}<"
        for at, (text, comment) in enumerate(entries):
            comma = "," if at + 1 < len(entries) else ""
            yield f"{indent}  {text}{comma}" + (f"  # {comment}" if comment else "")
        yield f"{indent}>"

    def _tensor(self, tensor: oir.TensorProtocol, name: str | None) -> tuple[str, str]:
        """The literal and a comment. In the short form the literal of a large tensor is empty."""
        if not self.full and tensor.size > _SHOWN:
            self.left_out += 1
            return "", str(summary(tensor))
        if self.full:
            self._check_tensor(tensor, name)
        try:
            return elements(tensor, exact=self.full), readable(tensor) or "" if tensor.size <= _SHOWN else ""
        except UnicodeDecodeError:
            self._problem("a string that is not UTF-8", name)
            return "{}", ""

    def _check_tensor(self, tensor: oir.TensorProtocol, name: str | None) -> None:
        word = tensor_type(tensor).split("[")[0]
        if tensor.dtype.name not in _EVERYWHERE and not parser_reads(f"{word}[1] w = {{1}}"):
            self._problem(f"the type {word}, which the installed onnx does not read from text", name)
        tiny = "4e-320" if tensor.dtype in (oir.DataType.DOUBLE, oir.DataType.COMPLEX128) else "1e-45"
        if has_subnormals(tensor) and not parser_reads(f"{word}[1] w = {{{tiny}}}"):
            self._problem("subnormal numbers, which the installed onnx does not read from text", name)

    def _type(self, kind: oir.TypeProtocol | None, shape: oir.Shape | None, name: str | None) -> str:
        text = type_text(kind, shape, self.names)
        if self.full and text and kind is not None:
            dtype = getattr(kind, "dtype", None)
            if dtype is not None and dtype.name not in _EVERYWHERE and not parser_reads(f"{dtype.name.lower()}[1] w"):
                self._problem(f"the type {dtype.name.lower()}, which the installed onnx does not read from text", name)
        return text

    def _nodes(self, graph: oir.Graph | oir.Function, indent: str) -> Iterator[str]:
        yield f"{indent}{{"
        for node in graph:
            yield from self._node(node, indent + "  ")
        yield f"{indent}}}"

    def _node(self, node: oir.Node, indent: str) -> Iterator[str]:
        label = f"[{self.names.name(node.name)}] " if node.name else ""
        outputs = ", ".join(self.names.name(v.name) for v in node.outputs)
        inputs = ", ".join(self.names.name(None if v is None else v.name) for v in node.inputs)
        comments: list[str] = []
        texts = [self._attribute(node, a, indent, comments) for a in node.attributes.values()]
        attributes = f"<{', '.join(texts)}> " if texts else ""
        comments[:0] = self._facts(node)
        comment = f"  # {' '.join(comments)}" if comments else ""
        yield f"{indent}{label}{outputs} = {self._operator(node)} {attributes}({inputs}){comment}"

    def _operator(self, node: oir.Node) -> str:
        parts = [*node.domain.split("."), node.op_type] if node.domain else [node.op_type]
        name = ".".join(parts) + (f":{node.overload}" if node.overload else "")
        if not all(map(is_identifier, parts)) or not (not node.overload or is_identifier(node.overload)):
            self._problem(f"the operator `{escape(name)}`: its name, domain or overload is no identifier", node.name)
            return escape(name)
        return name

    def _facts(self, node: oir.Node) -> Iterator[str]:
        kinds = [_known(self.module, v) or "?" for v in node.outputs if v.name]
        if any(kind != "?" for kind in kinds):
            yield escape(", ".join(kinds))
        rule = provenance.rule(node)
        origins = provenance.origins(node)
        if rule is None and origins == ((node.name,) if node.name else ()):
            return
        more = f" and {len(origins) - _ORIGINS} more" if len(origins) > _ORIGINS else ""
        if origins:
            yield escape(f"from {', '.join(origins[:_ORIGINS])}{more}")
        if rule is not None:
            yield escape(f"by {rule}")

    def _attribute(self, node: oir.Node, attr: oir.Attr, indent: str, comments: list[str]) -> str:
        place = f"attribute `{escape(attr.name)}`"
        if not is_identifier(attr.name):
            self._problem(f"{place}: its name is no identifier", node.name)
        if attr.is_ref():
            return f"{attr.name}: {_kind(attr)} = @{self.names.name(attr.ref_attr_name)}"
        match attr.type:
            case oir.AttributeType.GRAPH:
                graph = attr.as_graph()
                lines = list(self._graph(graph, self.names.graph(graph.name), indent + "  "))
                return f"{attr.name} = " + "\n".join(lines)
            case oir.AttributeType.TENSOR:
                tensor = attr.as_tensor()
                literal, comment = self._tensor(tensor, node.name)
                if comment:
                    comments.append(f"{attr.name}: {comment}")
                return f"{attr.name} = {tensor_type(tensor)} {literal or '{}'}"
            case oir.AttributeType.TYPE_PROTO:
                value = attr.value
                return f"{attr.name}: type_proto = {self._type(value.type, value.shape, node.name)}"
            case oir.AttributeType.GRAPHS | oir.AttributeType.TENSORS | oir.AttributeType.TYPE_PROTOS:
                # The parser reads such a list without an error, and drops it.
                self._problem(f"{place}: a list of {_kind(attr)}", node.name)
                return f"{attr.name}: {_kind(attr)} = []"
            case oir.AttributeType.SPARSE_TENSOR | oir.AttributeType.SPARSE_TENSORS:
                self._problem(f"{place}: a sparse tensor", node.name)
                return f"{attr.name}: {_kind(attr)} = []"
            case _:
                return self._plain(attr, f"{place} of `{node.name}`")

    def _plain(self, attr: oir.Attr, place: str) -> str:
        match attr.type:
            case oir.AttributeType.INT:
                text = str(attr.as_int())
            case oir.AttributeType.INTS:
                text = f"[{', '.join(map(str, attr.as_ints()))}]"
            case oir.AttributeType.FLOAT:
                text = self._float(attr.as_float(), place)
            case oir.AttributeType.FLOATS:
                text = f"[{', '.join(self._float(f, place) for f in attr.as_floats())}]"
            case oir.AttributeType.STRING:
                text = self._string(attr.as_string(), place)
            case oir.AttributeType.STRINGS:
                text = f"[{', '.join(self._string(s, place) for s in attr.as_strings())}]"
            case _:
                self._problem(f"{place}: of type {attr.type.name}", None)
                return f"{attr.name} = 0"
        # An empty list says nothing of its type.
        return f"{attr.name}: {_kind(attr)} = {text}" if text == "[]" else f"{attr.name} = {text}"

    def _float(self, value: float, place: str) -> str:
        text = float_literal(value)
        if self.full and 0 < abs(value) < 1.1754944e-38 and not parser_reads("float[1] w = {1e-45}"):
            self._problem(f"{place}: a subnormal number, which the installed onnx does not read from text", None)
        return text

    def _string(self, text: str, place: str) -> str:
        if not self.full:
            return quote(escape(text))
        if "\0" in text:
            self._problem(f"{place}: a string with a zero byte", None)
        return quote(text)

    def _function(self, function: oir.Function) -> Iterator[str]:
        fields = [f"domain: {self._string(function.domain, 'the domain of a function')}"]
        if function.overload:
            fields.append(f"overload: {self._string(function.overload, 'the overload of a function')}")
        fields.append(f"opset_import: {_opsets(function.opset_imports)}")
        yield f"<{', '.join(fields)}>"
        place = f"attribute of function `{escape(function.name)}`"
        attributes = [
            self.names.name(a.name) if a.value is None else self._plain(a, place) for a in function.attributes.values()
        ]
        named = f"{self.names.name(function.name)} " + (f"<{', '.join(attributes)}> " if attributes else "")
        inputs = ", ".join(self.names.name(v.name) for v in function.inputs)
        outputs = ", ".join(self.names.name(v.name) for v in function.outputs)
        yield f"{named}({inputs}) => ({outputs})"
        yield from self._declarations(function, "")
        yield from self._nodes(function, "")

    def _problem(self, what: str, node: str | None) -> None:
        if self.full:
            self.problems.append(
                Diagnostic(
                    "T1101",
                    f"the textual form of ONNX cannot express {what}",
                    node=node or None,
                    file=None if self.module.path is None else str(self.module.path),
                    help="write the model as .onnx; the short textual form shows it too",
                )
            )


#: Types that every version of the parser reads (onnx 1.19).
_EVERYWHERE = frozenset(
    """FLOAT DOUBLE FLOAT16 BFLOAT16 INT4 UINT4 INT8 UINT8 INT16 UINT16 INT32 UINT32 INT64 UINT64 BOOL STRING COMPLEX64
    COMPLEX128 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ FLOAT8E8M0 FLOAT4E2M1""".split()  # noqa: SIM905
)


def _kind(attr: oir.Attr) -> str:
    return attr.type.name.lower()


def _opsets(imports: dict[str, int]) -> str:
    return "[" + ", ".join(f"{quote(domain)} : {version}" for domain, version in imports.items()) + "]"


def _inner_values(graph: oir.Graph | oir.Function) -> Iterator[oir.Value]:
    """Values whose type a `<...>` block says: outputs of nodes that are no outputs of the graph, and in a function
    its inputs and outputs too."""
    if isinstance(graph, oir.Function):
        yield from dict.fromkeys([*graph.inputs, *graph.outputs])
    ends = set(graph.outputs)
    for node in graph:
        for value in node.outputs:
            if value.name and value not in ends:
                yield value


def _known(module: Module, value: oir.Value) -> str:
    """dtype[shape] as inferred, or as the model says where inference fails (a snapshot of a broken model)."""
    return _fact_type(module, value, str) or type_text(value.type, value.shape, _PLAIN)


def _fact_type(module: Module, value: oir.Value, dim_name: Callable[[str], str]) -> str | None:
    """The type of a tensor as inferred; None where nothing is, and for what is no tensor."""
    from trtc.ir import dims

    if not isinstance(value.graph, oir.Graph) or (
        value.type is not None and not isinstance(value.type, oir.TensorType)
    ):
        return None
    try:
        fact = module.fact(value)
    except DiagnosticError:
        return None
    if fact.dtype is None:
        return None
    name = fact.dtype.name.lower()
    if fact.shape is None:
        return f"{name}[]"
    shape = ",".join(str(d) if isinstance(d, int) else dim_name(dims.text(d)) for d in fact.shape)
    return f"{name}[{shape}]" if fact.shape else name


class _Plain(Names):
    """Names in comments: as they are (the comment is escaped as a whole)."""

    def dim(self, name: str) -> str:
        return name


_PLAIN = _Plain((), portable=False)


def _all_names(module: Module) -> Iterator[str]:
    model = module.model
    graphs: Iterable[oir.Graph | oir.Function] = [*module.graphs(), *model.functions.values()]
    for graph in graphs:
        if graph.name:
            yield graph.name
        values = [*graph.inputs, *(graph.initializers.values() if isinstance(graph, oir.Graph) else ())]
        for node in graph:
            if node.name:
                yield node.name
            values += node.outputs
        for value in values:
            if value.name:
                yield value.name
            for dim in value.shape or ():
                if isinstance(dim, oir.SymbolicDim) and dim.value is not None:
                    yield str(dim.value)
