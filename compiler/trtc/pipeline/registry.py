"""Passes by name, found through the entry-point group `trtc.passes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from typing import Any

from trtc.diagnostics import Diagnostic, DiagnosticError
from trtc.pipeline.options import options_of
from trtc.pipeline.passes import Pass

GROUP = "trtc.passes"


class Registry(Mapping[str, type[Pass]]):
    """Pass classes by the name that a spec calls them by."""

    def __init__(self, passes: Iterable[type[Pass]] = ()) -> None:
        self._passes: dict[str, type[Pass]] = {}
        for cls in passes:
            self.add(cls)

    @classmethod
    def installed(cls) -> Registry:
        """Every pass of every installed distribution.

        An entry point of the group names a module or object with an iterable attribute `PASSES` of pass classes.

        Raises:
            DiagnosticError: T0510 when a distribution's passes cannot be imported, T0511 when two bear one name.
        """
        registry = cls()
        for point in sorted(metadata.entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
            try:
                found: Any = point.load()
                passes = list(found.PASSES)
            except Exception as error:
                raise DiagnosticError(
                    Diagnostic(
                        "T0510",
                        f"the passes of `{point.value}` cannot be loaded: {type(error).__name__}: {error}",
                        help="repair or uninstall the distribution that registers them "
                        f"({point.dist.name if point.dist else 'unknown'})",
                    )
                ) from error
            for one in passes:
                registry.add(one)
        return registry

    def add(self, cls: type[Pass]) -> None:
        other = self._passes.get(cls.name)
        if other is not None and other is not cls:
            raise DiagnosticError(
                Diagnostic(
                    "T0511",
                    f"two passes bear the name `{cls.name}`",
                    notes=(f"{other.__module__}.{other.__name__}", f"{cls.__module__}.{cls.__name__}"),
                    help="uninstall one of the two distributions",
                )
            )
        options_of(cls)  # a pass with an option that no spec can write is a fault of its author: say so at once
        self._passes[cls.name] = cls

    def __getitem__(self, name: str) -> type[Pass]:
        return self._passes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._passes))

    def __len__(self) -> int:
        return len(self._passes)
