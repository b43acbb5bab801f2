"""Parameters in rules: `param heads = 12` stands wherever 12 may stand, unless the rule has a value of that name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trtc.diagnostics import Span
from trtc.lang import rules, syntax
from trtc.lang.scopes import Declared
from trtc.lang.values import Scope, Value
from trtc.lang.walk import rebuilt, roots, walk


def substituted(declared: Mapping[str, Declared], scope: Scope) -> dict[str, Declared]:
    """The declarations in which a parameter is named, with its value instead. Marks those parameters as used."""
    changed: dict[str, Declared] = {}
    for name, one in declared.items() if scope.params else ():
        bound = _bound(one)
        params = {n: v for n, v in scope.params.items() if n not in bound}

        def change(node: Any, params: dict[str, Value] = params) -> Any:
            if isinstance(node, rules.Value) and node.type is None and not node.optional and node.name in params:
                scope.used.add(node.name)
                return _literal(params[node.name], node.span)
            if isinstance(node, syntax.Reference) and node.text in params:
                value = params[node.text].value
                if isinstance(value, int) and not isinstance(value, bool):
                    scope.used.add(node.text)
                    return syntax.Number(value, node.span)
            return node

        made = rebuilt(one, change) if params else one
        if made is not one:
            changed[name] = made
    return changed


def _bound(declared: Declared) -> set[str]:
    """Names that stand for values inside a declaration."""
    names: set[str] = set()
    if isinstance(declared, (rules.Pattern, rules.Plugin, rules.Extern)):
        names.update(p.name.text for p in declared.parameters)
    if isinstance(declared, rules.Plugin):
        names.update(p.name.text for p in declared.outputs)
        equations = declared.meaning
    elif isinstance(declared, rules.Pattern):
        equations = declared.equations
    elif isinstance(declared, rules.Rewrite):
        equations = (*declared.equations, *declared.lets)
    elif isinstance(declared, rules.Horizontal):
        names.add(declared.over.name.text)
        equations = (*declared.equations, declared.member)
    else:
        equations = ()
    names.update(t.name for e in equations for t in e.targets if not t.capture)
    for root in roots(declared):
        names.update(e.name for e in walk(root) if isinstance(e, rules.Value) and (e.optional or e.type is not None))
    return names


def _literal(value: Value, span: Span) -> rules.Expr:
    if value.type == "list":
        return rules.Items(tuple(_literal(item, span) for item in value.value), span)
    return rules.Literal_(value.value, span)
