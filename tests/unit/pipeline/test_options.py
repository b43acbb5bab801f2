"""Typed fields of a pass are its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest

from trtc.diagnostics import DiagnosticError
from trtc.pipeline import Bytes, Context, PassResult, Registry, options_of
from trtc.pipeline.options import option


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample."""

    name: ClassVar[str] = "sample"
    size: Bytes = option(Bytes(4 << 20), "how large")
    mode: Literal["fast", "exact"] = option("fast", "how")
    keep: tuple[str, ...] = option((), "what stays")
    count: int = option(3, "how many")

    def run(self, module: Any, context: Context) -> PassResult:
        return PassResult.of(done=self.count)


def test_every_field_is_an_option_with_type_default_choices_and_doc() -> None:
    found = [(o.name, o.type, o.default, o.choices, o.doc) for o in options_of(Sample)]
    assert found == [
        ("size", "bytes", 4194304, (), "how large"),
        ("mode", "string", "fast", ("fast", "exact"), "how"),
        ("keep", "strings", (), (), "what stays"),
        ("count", "int", 3, (), "how many"),
    ]


def test_a_type_that_no_spec_can_write_is_refused() -> None:
    @dataclass(frozen=True)
    class Bad:
        name: ClassVar[str] = "bad"
        table: dict[str, int] = option(None, "no")

        def run(self, module: Any, context: Context) -> PassResult:
            return PassResult(False)

    with pytest.raises(TypeError, match=r"Bad\.table"):
        Registry([Bad])


def test_two_passes_of_one_name_are_refused() -> None:
    other = type("Other", (Sample,), {})
    with pytest.raises(DiagnosticError) as caught:
        Registry([Sample, other])
    assert caught.value.diagnostics[0].code == "T0511"


def test_sizes_print_as_a_spec_writes_them() -> None:
    assert [repr(Bytes(n)) for n in (0, 5, 1024, 3 << 20, 1 << 30)] == ["0", "5", "1KiB", "3MiB", "1GiB"]


def test_a_result_without_counts_changed_nothing() -> None:
    assert PassResult.of(folded=0, removed=0) == PassResult(False, {})
    assert PassResult.of(folded=2, removed=0) == PassResult(True, {"folded": 2})


def test_the_installed_passes_are_found_by_entry_point() -> None:
    assert {"fold_constants", "cse", "dce", "fold_batch_norm", "remove_identities"} <= set(Registry.installed())
