"""The runner: order, fixpoints, expectations, instruments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import onnx.parser
import pytest

from trtc import ir, lang
from trtc.diagnostics import DiagnosticError
from trtc.driver.library import vocabulary
from trtc.evaluate import Evaluator
from trtc.ir.module import Module
from trtc.lang.spec import Checkpoint, Fixpoint, PassCall
from trtc.pipeline import Context, PassResult, Registry
from trtc.pipeline.options import option
from trtc.pipeline.runner import Outcome, StepRecord, Verify, run

TEXT = """
<ir_version: 10, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y) { a = Identity(x) b = Relu(a) c = Relu(b) y = Relu(c) }
"""


@dataclass(frozen=True, slots=True)
class Drop:
    """Removes one Relu of a Relu that is not an output."""

    name: ClassVar[str] = "drop"
    times: int = option(1, "how many")

    def run(self, module: Module, context: Context) -> PassResult:
        from trtc.ir import edit

        done = 0
        for node in list(module.graph):
            producer = node.inputs[0].producer() if node.inputs[0] is not None else None
            if done < self.times and node.op_type == "Relu" and producer is not None and producer.op_type == "Relu":
                edit.replace(module, [node], [], {node.outputs[0]: producer.outputs[0]})
                context.applied("dropped", node)
                done += 1
        return PassResult.of(dropped=done)


@dataclass(frozen=True, slots=True)
class Flip:
    """Says that it changed something, always."""

    name: ClassVar[str] = "flip"

    def run(self, module: Module, context: Context) -> PassResult:
        return PassResult(True)


@dataclass(frozen=True, slots=True)
class Break:
    """Leaves a node that uses a value that nothing produces."""

    name: ClassVar[str] = "break"

    def run(self, module: Module, context: Context) -> PassResult:
        import onnx_ir as oir

        node = module.graph[0]
        node.replace_input_with(0, oir.Value(name="nowhere"))
        return PassResult(True)


PASSES = Registry([Drop, Flip, Break])


def module() -> Module:
    return ir.load_proto(onnx.parser.parse_model(TEXT))


def go(found: Module, *steps: Any, instruments: Any = ()) -> Outcome:
    return run(found, steps, PASSES, Context(Evaluator()), instruments)


def ops(found: Module) -> list[str]:
    return [node.op_type for node in found.graph]


def test_a_pass_runs_with_its_options_and_leaves_a_record() -> None:
    found = module()
    (record,) = go(found, PassCall("drop", {"times": 1})).records
    assert ops(found) == ["Identity", "Relu", "Relu"]
    assert (record.name, record.changed, dict(record.counts)) == ("drop", True, {"dropped": 1})
    assert (record.nodes_before, record.nodes_after) == (4, 3)
    assert [r.message for r in record.remarks] == ["dropped"]


def test_a_fixpoint_runs_until_nothing_changes() -> None:
    found = module()
    outcome = go(found, Fixpoint(8, (PassCall("drop"),)))
    assert ops(found) == ["Identity", "Relu"]
    assert [r.changed for r in outcome.records] == [True, True, False]
    assert outcome.warnings == []


def test_a_fixpoint_that_does_not_settle_names_who_still_changes() -> None:
    (warning,) = go(module(), Fixpoint(3, (PassCall("drop"), PassCall("flip")))).warnings
    assert warning.code == "T0502"
    assert "3 rounds: `flip` still changed" in warning.message


def test_a_pass_that_breaks_the_graph_is_named() -> None:
    with pytest.raises(DiagnosticError, match="the pass `break` left a graph that is not valid") as caught:
        go(module(), PassCall("break"), instruments=[Verify()])
    assert caught.value.diagnostics[0].code == "T0503"


def expect(text: str, path: Path = Path("m.trtspec")) -> Any:
    spec = lang.loads(f'trtspec 1\nmodel "m.onnx"\npipeline {{ expect({text}) }}\n', path, vocabulary())
    return spec.pipeline[0]


def test_an_expectation_that_holds_says_nothing() -> None:
    go(module(), expect("count(Relu) == 3, count(Conv) == 0, count(Relu) >= 2 * count(Identity)"))


def test_a_failed_expectation_counts_and_names_the_nodes_with_the_place_in_the_spec() -> None:
    with pytest.raises(DiagnosticError) as caught:
        go(module(), PassCall("drop"), expect("count(Conv) == 0, count(Relu) == 1"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("T0501", "expected count(Relu) == 1, got 2")
    assert found.span is not None
    assert found.span.text == "count(Relu) == 1"
    assert len(found.notes) == 2


def test_instruments_see_every_pass_and_every_checkpoint() -> None:
    seen: list[str] = []

    class Watch:
        def after(self, module: Module, record: StepRecord) -> None:
            seen.append(record.name)

    go(module(), PassCall("drop"), Checkpoint("half"), PassCall("flip"), instruments=[Watch()])
    assert seen == ["drop", "checkpoint half", "flip"]
