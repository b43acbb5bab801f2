"""Dims, inputs, outputs and profiles: the interface of the model as the spec wants it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trtc.diagnostics import Label, Span, suggest
from trtc.lang import spec, syntax
from trtc.lang.report import Report, did_you_mean, listing
from trtc.lang.values import Evaluator, Scope, Value, Wanted

DTYPES: Mapping[str, str] = {
    "f32": "32-bit floats",
    "f16": "16-bit floats",
    "bf16": "bfloat16",
    "f64": "64-bit floats",
    "f8e4m3": "8-bit floats, 4 bits of exponent",
    "f8e5m2": "8-bit floats, 5 bits of exponent",
    "i4": "4-bit integers",
    "i8": "8-bit integers",
    "i16": "16-bit integers",
    "i32": "32-bit integers",
    "i64": "64-bit integers",
    "u4": "4-bit unsigned integers",
    "u8": "8-bit unsigned integers",
    "u16": "16-bit unsigned integers",
    "u32": "32-bit unsigned integers",
    "u64": "64-bit unsigned integers",
    "bool": "true or false",
}
_OTHER_SPELLINGS = {
    "float": "f32",
    "float32": "f32",
    "fp32": "f32",
    "half": "f16",
    "float16": "f16",
    "fp16": "f16",
    "bfloat16": "bf16",
    "float64": "f64",
    "double": "f64",
    "int": "i32",
    "int4": "i4",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "long": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "boolean": "bool",
    "fp8": "f8e4m3",
}
MAX_DIM = (1 << 31) - 1
_RESERVED = ("min", "opt", "max", "_")


class InterfaceChecker:
    """Collects dims and what inputs, outputs and profiles say of them. `scope` holds the parameters."""

    def __init__(self, report: Report, scope: Scope) -> None:
        self.report = report
        self.scope = scope
        self.evaluator = Evaluator(report, scope)
        self.dims: dict[str, tuple[int, int]] = {}
        self.declared: dict[str, Span] = {}
        self.used: dict[str, Span] = {}
        self.fixed: Mapping[str, tuple[int, int, int]] = {}
        self._broken: set[str] = set()
        self._mentioned: set[str] = set()

    # ---- dims

    def dim(self, dim: syntax.Dim, params: Mapping[str, Span]) -> None:
        name = dim.name.text
        if name in self.declared:
            self.report.duplicate(f"dim `{name}` is declared", dim.name.span, self.declared[name])
            return
        self.declared[name] = dim.name.span
        if name in params:
            self.report.error(
                "T0202",
                f"`{name}` is a param already",
                dim.name.span,
                labels=(Label(params[name], "first here"),),
                help="a shape names both alike: give one of them another name",
            )
        if name in _RESERVED:
            self.report.error("T0208", f"a dim cannot be called `{name}`", dim.name.span)
        low, high = (
            self.evaluator.take(end, Wanted(f"the {which} size of `{name}`", "int", min=0, max=MAX_DIM))
            for end, which in ((dim.low, "smallest"), (dim.high, "largest"))
        )
        if low is None or high is None:
            self._broken.add(name)
        elif low > high:
            self._broken.add(name)
            span = dim.low.span.to(dim.high.span)
            self.report.error(
                "T0208",
                f"the range of `{name}` is empty: {low} is larger than {high}",
                span,
                help=f"write `dim {name} in {high}..{low}`",
            )
        else:
            self.dims[name] = (low, high)

    def override(self, arguments: Sequence[tuple[str, int, int, int]]) -> None:
        """What `--dim` says replaces range and profiles of the spec."""
        self.fixed = {name: (low, opt, high) for name, low, opt, high in arguments}
        for name, (low, _, high) in self.fixed.items():
            self.dims[name] = (low, high)
            self._broken.discard(name)

    # ---- tensors

    def tensor(self, kind: str, declaration: syntax.Input | syntax.Output) -> spec.TensorSpec:
        name = declaration.name.value
        if isinstance(declaration, syntax.Input) and declaration.value is not None:
            value = self._frozen(declaration.value, name)
            return spec.TensorSpec(name, value=value, span=declaration.span)
        tensor = declaration.tensor
        assert tensor is not None
        dtype = self._dtype(tensor.dtype) if tensor.dtype is not None else None
        dims = self._shape(tensor, kind)
        return spec.TensorSpec(name, dtype, dims, span=declaration.span)

    def _dtype(self, name: syntax.Name) -> str | None:
        if name.text in DTYPES:
            return name.text
        if name.text == "_":
            return None
        close = _OTHER_SPELLINGS.get(name.text.lower()) or suggest(name.text, DTYPES)
        self.report.error(
            "T0212",
            f"unknown dtype `{name.text}`",
            name.span,
            help=f"did you mean `{close}`?" if close else f"dtypes: {listing(DTYPES, 30)}",
        )
        return None

    def _shape(self, tensor: syntax.Tensor, kind: str) -> tuple[spec.DimSpec, ...]:
        dims: list[spec.DimSpec] = []
        for at, dim in enumerate(tensor.dims):
            if isinstance(dim, syntax.AnyDims):
                if at:
                    self.report.error(
                        "T0226",
                        "`...` stands at the beginning of a shape, once",
                        dim.span,
                        help="`_` is one dim of any size",
                    )
                dims.append(...)
            elif isinstance(dim, syntax.Reference) and dim.text not in self.scope.params:
                dims.append(self._named_dim(dim, kind))
            else:
                dims.append(self._fixed_dim(dim))
        return tuple(dims)

    def _named_dim(self, dim: syntax.Reference, kind: str) -> str | None:
        name = dim.text
        if name == "_":
            return None
        if name in self.scope.broken:
            self.scope.used.add(name)
        elif name in self.declared or name in self.fixed:
            self._mentioned.add(name)
            if kind == "input":
                self.used.setdefault(name, dim.span)
        else:
            close = suggest(name, [*self.declared, *self.scope.params])
            self.report.error(
                "T0211",
                f"unknown dim `{name}`",
                dim.span,
                help=f"did you mean `{close}`?" if close else f"declare it: `dim {name} in 1..64`",
            )
        return name

    def _fixed_dim(self, dim: syntax.Expression) -> int | None:
        inner = next((r for r in _references(dim) if r.text in self.declared and r.text not in self.scope.params), None)
        if inner is not None:
            self.report.error(
                "T0226",
                f"a shape cannot calculate with the dim `{inner.text}`",
                dim.span,
                help="give the result a dim of its own, or write `_`",
            )
            return None
        value = self.evaluator.evaluate(dim)
        if value is None:
            return None
        if value.type == "int" and value.value < 0:
            self.report.error(
                "T0226",
                f"a dim cannot be {value.value}",
                dim.span,
                help="a dim of any size is written `_` or has a name",
            )
            return None
        return self.evaluator.convert(value, Wanted("a dim", "int", max=MAX_DIM))

    def _frozen(self, expression: syntax.Expression, name: str) -> spec.Frozen | None:
        value = self.evaluator.evaluate(expression)
        if value is None:
            return None
        leaves = _leaves(value)
        odd = next((v for v in leaves if v.type not in ("int", "float", "bool")), None)
        if odd is not None and odd.type == "ident":
            self.evaluator.unknown_name(odd)
            return None
        kinds = {v.type for v in leaves} - {"int"}
        if odd is not None or len(kinds) > 1:
            wrong = odd or next(v for v in leaves if v.type == "bool")
            self.report.error(
                "T0226", f'the value of input "{name}" is made of numbers, or of `true` and `false`', wrong.span
            )
            return None
        if kinds == {"bool"} and any(v.type == "int" for v in leaves):
            self.report.error("T0226", "numbers and `true` or `false` are mixed", value.span)
            return None
        if _shape_of(value) is None:
            self.report.error("T0226", "the lists inside this value have different lengths", value.span)
            return None
        return value.plain()

    # ---- profiles

    def profile(self, profile: syntax.Profile) -> spec.Profile:
        bounds: dict[str, tuple[int, int, int]] = {}
        seen: dict[str, Span] = {}
        for entry in profile.entries:
            name = entry.name.text
            if name in seen:
                self.report.duplicate(
                    f'`{name}` is given in profile "{profile.name.value}"', entry.name.span, seen[name]
                )
                continue
            seen[name] = entry.name.span
            if name not in self.declared and name not in self.fixed:
                self.report.error(
                    "T0211",
                    f'profile "{profile.name.value}" names the unknown dim `{name}`',
                    entry.name.span,
                    help=did_you_mean(name, self.declared, "dims")
                    if self.declared
                    else f"declare it: `dim {name} in 1..64`",
                )
                continue
            self._mentioned.add(name)
            found = self.fixed.get(name) or self._bounds(entry)
            if found is not None:
                bounds[name] = found
        bounds.update(self.fixed)
        self._check_coverage(profile, {*seen, *self.fixed})
        return spec.Profile(profile.name.value, bounds, profile.span)

    def _bounds(self, entry: syntax.ProfileEntry) -> tuple[int, int, int] | None:
        name = entry.name.text
        wanted = Wanted(f"`{name}`", "int", min=0, max=MAX_DIM)
        if entry.value is not None:
            fixed = self.evaluator.take(entry.value, wanted)
            return None if fixed is None else self._in_range(entry, {"": (fixed, entry.value.span)})
        values: dict[str, tuple[Any, Span]] = {}
        for bound in entry.bounds:
            if bound.kind in values:
                self.report.duplicate(f"`{bound.kind}` of `{name}` is given", bound.span, values[bound.kind][1])
            values[bound.kind] = (self.evaluator.take(bound.value, wanted), bound.span)
        missing = [kind for kind in ("min", "max") if kind not in values]
        if missing:
            self.report.error(
                "T0209",
                f"`{name}` has no {' and no '.join(f'`{m}`' for m in missing)}",
                entry.span,
                help=f"write `{name} = min 1 opt 8 max 64`, or `{name} = 8` for one size",
            )
            return None
        if any(value is None for value, _ in values.values()):
            return None
        values.setdefault("opt", values["max"])
        for low, high in (("min", "opt"), ("opt", "max"), ("min", "max")):
            if values[low][0] > values[high][0]:
                self.report.error(
                    "T0209",
                    f"`{low}` of `{name}` is {values[low][0]}, larger than `{high}` {values[high][0]}",
                    values[low][1].to(values[high][1])
                    if values[low][1].start < values[high][1].start
                    else values[low][1],
                    help="the sizes go up: min <= opt <= max",
                )
                return None
        return self._in_range(entry, values)

    def _in_range(
        self, entry: syntax.ProfileEntry, values: Mapping[str, tuple[int, Span]]
    ) -> tuple[int, int, int] | None:
        name = entry.name.text
        if name in self.dims:
            low, high = self.dims[name]
            for kind, (value, span) in values.items():
                if not low <= value <= high:
                    size = f"`{kind}` of `{name}`" if kind else f"`{name}`"
                    self.report.error(
                        "T0209",
                        f"{size} is {value}, outside the range {low}..{high} of the dim",
                        span,
                        labels=(Label(self.declared[name], "its range is declared here"),)
                        if name in self.declared
                        else (),
                    )
                    return None
        order = ("", "", "") if "" in values else ("min", "opt", "max")
        first, second, third = (values[kind][0] for kind in order)
        return first, second, third

    def _check_coverage(self, profile: syntax.Profile, covered: set[str]) -> None:
        missing = [name for name in self.used if name not in covered]
        if missing:
            self.report.error(
                "T0210",
                f'profile "{profile.name.value}" says nothing of {listing(missing)}',
                profile.name.span,
                labels=tuple(Label(self.used[name], "used by this input") for name in missing),
                help=f"add `{self._example(missing)}`",
            )

    def finish(self, profiles: Sequence[spec.Profile]) -> tuple[spec.Profile, ...]:
        """Profiles as they are built with; reports dims that none covers and dims that nothing uses."""
        for name, span in self.declared.items():
            if name not in self._mentioned and name not in self.fixed:
                self.report.warning("T0251", f"dim `{name}` is used by no input, output or profile", span)
        if profiles:
            return tuple(profiles)
        missing = [name for name in self.used if name not in self.fixed]
        if missing:
            self.report.error(
                "T0210",
                f"no profile says which sizes of {listing(missing)} to optimize for",
                self.used[missing[0]],
                labels=tuple(Label(self.used[name], f"`{name}` is used here") for name in missing[1:]),
                help=f'add `profile "main" {{ {self._example(missing)} }}`',
            )
            return ()
        return (spec.Profile("default", dict(self.fixed)),) if self.fixed else ()

    def _example(self, names: Sequence[str]) -> str:
        parts: list[str] = []
        for name in names:
            low, high = self.dims.get(name, (1, 64))
            parts.append(f"{name} = min {low} opt {high} max {high}")
        return "  ".join(parts)


def _references(expression: syntax.Expression) -> list[syntax.Reference]:
    if isinstance(expression, syntax.Reference):
        return [expression]
    if isinstance(expression, syntax.Unary):
        return _references(expression.operand)
    if isinstance(expression, syntax.Binary):
        return [*_references(expression.left), *_references(expression.right)]
    return []


def _leaves(value: Value) -> list[Value]:
    return [leaf for item in value.value for leaf in _leaves(item)] if value.type == "list" else [value]


def _shape_of(value: Value) -> tuple[int, ...] | None:
    """The shape of nested lists, None where it is not regular."""
    if value.type != "list":
        return ()
    shapes = [_shape_of(item) for item in value.value]
    if not shapes:
        return (0,)
    first = shapes[0]
    return (len(shapes), *first) if first is not None and all(s == first for s in shapes) else None
