"""Which operators of a spec's own are the same: by what they say, wherever that is written."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from typing import Any, Final, cast

from trtc.lang import rules

#: What the domains of all such operators in a model begin with.
PREFIX: Final = "trtc.operator"
#: The same for those of a library, which have one meaning for each name.
LIBRARIES: Final = "trtc.std."

_PLACES: Final = ("span", "name_span", "environment", "doc", "library")


def domain_of(operator: rules.Operator) -> str:
    """The ONNX domain that the operator is in.

    Two operators of users' files with one name and two meanings are in two domains, also where one of them came with a
    model that an older version of the spec made.
    """
    if operator.library.startswith("std."):
        return f"trtc.{operator.library}"
    digest = hashlib.sha256("\0".join(_said(operator, operator.environment)).encode()).hexdigest()
    return f"{PREFIX}_{digest[:8]}"


def _said(node: Any, environment: rules.Environment) -> Iterator[str]:
    """Everything that a declaration says, places left out; of the operators that it calls, what those say."""
    if isinstance(node, tuple):
        yield "("
        for item in cast("tuple[Any, ...]", node):
            yield from _said(item, environment)
        yield ")"
    elif dataclasses.is_dataclass(node) and not isinstance(node, type):
        yield type(node).__name__
        called = environment.plugins.get(node.callee) if isinstance(node, rules.Apply) else None
        if called is not None:
            yield from _said(called, called.environment)
        for field in dataclasses.fields(node):
            if field.name not in _PLACES:
                yield from _said(getattr(node, field.name), environment)
    else:
        yield repr(node)


__all__ = ["LIBRARIES", "PREFIX", "domain_of"]
