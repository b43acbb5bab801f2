"""The cases that ship with onnx: models, inputs and the outputs that ONNX demands.

The node cases live in memory (Python code makes them), the others in files beside `onnx.backend.test`. Collecting
costs seconds, so it is done once, in the process that workers are forked from.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from onnx import numpy_helper

Dims = Literal["static", "named", "free"]

FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")

#: Inputs and expected outputs of one run; an element is an array, a list (a sequence) or None (an empty optional).
DataSet = tuple[Sequence[Any], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Case:
    """One model of the suite. `load` gives the model and its data sets; `rtol`, `atol` are the case's own."""

    name: str
    kind: str
    rtol: float
    atol: float
    load: Callable[[], tuple[onnx.ModelProto, list[DataSet]]]


def cases() -> dict[str, Case]:
    """Every case by name, sorted."""
    found = [*_node_cases(), *_folder_cases(), *_real_cases()]
    by_name = {case.name: case for case in found}
    if len(by_name) != len(found):
        raise AssertionError("two cases of the suite have one name")
    return dict(sorted(by_name.items()))


#: Cases of an onnx before 1.23 that it corrected later: the order of the heads of grouped Attention, where its masks,
#: caps and second output are taken, its causal mask with a past, and the norm of zeros.
_CORRECTED = re.compile("attention_.*(gqa|qk_matmul_(bias|softcap))|l2normalization_axis_0$")


def _is_corrected(name: str) -> bool:
    old = tuple(int(part) for part in onnx.__version__.split(".")[:2]) < (1, 23)
    return old and "expanded" not in name and _CORRECTED.search(name) is not None


def _node_cases() -> Iterator[Case]:
    from onnx.backend.test.case.node import collect_testcases

    np.random.seed(0)  # the cases draw from the global generator: the same values in every run
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = collect_testcases(None)  # the one entry that every onnx has
    for test in tests:
        if _is_corrected(test.name):
            continue
        assert test.model is not None
        assert test.data_sets is not None
        model, data = test.model, [(list(map(_array, i)), list(map(_array, o))) for i, o in test.data_sets]
        yield Case(test.name, "node", test.rtol, test.atol, lambda m=model, d=data: (m, d))


def _folder_cases() -> Iterator[Case]:
    from onnx.backend.test.loader import load_model_tests

    for kind in FOLDERS:
        for test in load_model_tests(kind=kind):
            folder = Path(test.model_dir)
            yield Case(test.name, kind, test.rtol, test.atol, lambda f=folder: _read_folder(f))


def _real_cases() -> Iterator[Case]:
    """Whole networks whose weights are made by the graph itself, with the input that onnx's runner feeds them."""
    from onnx.backend.test.loader import DATA_DIR, load_model_tests

    for test in load_model_tests(kind="real"):
        path = Path(DATA_DIR) / "light" / f"light_{test.model_name}.onnx"
        if path.exists():
            yield Case(test.name, "real", test.rtol, test.atol, lambda p=path: _read_light(p))


def _read_folder(folder: Path) -> tuple[onnx.ModelProto, list[DataSet]]:
    model = onnx.load(folder / "model.onnx")
    data: list[DataSet] = []
    for place in sorted(folder.glob("test_data_set_*")):
        sides: list[list[Any]] = []
        for side, infos in (("input", model.graph.input), ("output", model.graph.output)):
            count = len(list(place.glob(f"{side}_*.pb")))
            sides.append([_read_value(place / f"{side}_{at}.pb", infos[at].type) for at in range(count)])
        data.append((sides[0], sides[1]))
    return model, data


def _read_light(path: Path) -> tuple[onnx.ModelProto, list[DataSet]]:
    model = onnx.load(path)
    given = {init.name for init in model.graph.initializer}
    inputs: list[Any] = []
    for info in model.graph.input:
        if info.name not in given:
            shape = [d.dim_value if d.HasField("dim_value") else 1 for d in info.type.tensor_type.shape.dim]
            size = int(np.prod(shape))
            inputs.append((np.arange(size).reshape(shape) / size).astype(np.float32))
    outputs: list[Any] = []
    for at, info in enumerate(model.graph.output):
        outputs.append(_read_value(path.with_name(f"{path.stem}_output_{at}.pb"), info.type))
    return model, [(inputs, outputs)]


def _read_value(path: Path, declared: onnx.TypeProto) -> Any:
    content = path.read_bytes()
    if declared.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if declared.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def _array(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def input_names(model: onnx.ModelProto) -> list[str]:
    """What a caller feeds, in order: initializers of old models are listed as inputs too, and are not fed."""
    given = {init.name for init in model.graph.initializer} | {s.values.name for s in model.graph.sparse_initializer}
    return [info.name for info in model.graph.input if info.name not in given]


def freeze(model: onnx.ModelProto, values: dict[str, np.ndarray[Any, Any]]) -> onnx.ModelProto:
    """The model with some of its inputs as initializers."""
    frozen = onnx.ModelProto()
    frozen.CopyFrom(model)
    kept = [info for info in frozen.graph.input if info.name not in values]
    types = {info.name: info.type.tensor_type.elem_type for info in frozen.graph.input}
    del frozen.graph.input[:]
    frozen.graph.input.extend(kept)
    for name, value in values.items():
        tensor = numpy_helper.from_array(value, name)
        if tensor.data_type != types[name]:
            raise ValueError(f"{name}: the data are {tensor.data_type}, the model says {types[name]}")
        frozen.graph.initializer.append(tensor)
    return frozen


def loosen(model: onnx.ModelProto, dims: Dims) -> onnx.ModelProto:
    """The model with symbols for the sizes of its inputs, and nothing said about those of its outputs.

    "named": one symbol for each size, but 1, which may be there to broadcast. "free": one for each axis of each input.
    """
    if dims == "static":
        return model
    loose = onnx.ModelProto()
    loose.CopyFrom(model)
    given = {init.name for init in model.graph.initializer}
    for at, info in enumerate(loose.graph.input):
        if info.name in given or not info.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            if dims == "free":
                dim.dim_param = f"d{at}_{axis}"
            elif dim.dim_value > 1:
                dim.dim_param = f"n{dim.dim_value}"
    for info in loose.graph.output:
        if info.type.HasField("tensor_type"):
            for dim in info.type.tensor_type.shape.dim:
                dim.Clear()
    del loose.graph.value_info[:]
    return loose
