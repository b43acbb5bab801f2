"""Packages that load what they export when it is asked for (PEP 562), so that a light command stays light."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def exports(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `homes` says in which of its modules each exported name lives.

    A module must not bear the name of what it exports: importing it would put the module in the name's place.
    """

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(home if home.startswith("trtc.") else f"{package}.{home}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get
