"""Inputs that a graph accepts: found from it, or read from a file and fitted to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from trtc import ir
from trtc.diagnostics import DiagnosticError
from trtc.ir.module import Module
from trtc.verify import file_points, random_points
from trtc.verify.ranges import integer_range

EMBEDDING = """
<ir_version: 10, opset_import: ["" : 17]>
g (int64[B,S] ids, int64[B,S] kinds, float[B,S,4] x) => (float[B,S,4] y)
<float[7,4] words = {%s}, float[2,4] types = {0,0,0,0,1,1,1,1}, int64 two = {2}>
{
  shifted = Add(ids, two)
  a = Gather<axis = 0>(words, shifted)
  b = Gather<axis = 0>(types, kinds)
  ab = Add(a, b)
  y = Add(ab, x)
}
""".replace("%s", ",".join(map(str, range(28))))


def module(text: str) -> Module:
    return ir.load_proto(onnx.parser.parse_model(text))


def test_an_index_stays_inside_its_table_offsets_included() -> None:
    found = module(EMBEDDING)
    ids, kinds, _ = found.graph.inputs
    assert integer_range(found, ids, {"B": 1, "S": 3}) == (0, 4)
    assert integer_range(found, kinds, {"B": 1, "S": 3}) == (0, 1)


def test_an_index_into_a_dynamic_axis_follows_the_size_of_that_axis() -> None:
    found = module(
        '<ir_version: 10, opset_import: ["" : 17]> g (int32[2] at, float[N,3] x) => (float[2,3] y) '
        "{ wide = Cast<to = 7>(at) y = Gather<axis = 0>(x, wide) }"
    )
    assert integer_range(found, found.graph.inputs[0], {"N": 5}) == (0, 4)
    assert integer_range(found, found.graph.inputs[0], {"N": 9}) == (0, 8)


def test_random_points_have_the_shapes_and_ranges_of_every_environment() -> None:
    found = module(EMBEDDING)
    points = random_points(found, [("p min", {"B": 1, "S": 2}), ("p max", {"B": 2, "S": 50})], seed=3)
    assert [p.label for p in points] == ["p min", "p max"]
    feeds = points[1].feeds
    assert feeds["ids"].shape == (2, 50)
    assert feeds["ids"].dtype == np.int64
    assert set(np.unique(feeds["ids"])) == {0, 1, 2, 3, 4}
    assert set(np.unique(feeds["kinds"])) == {0, 1}
    assert feeds["x"].dtype == np.float32
    assert abs(float(feeds["x"].mean())) < 0.3


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data() -> None:
    found = module(EMBEDDING)
    env = [("fixed", {"B": 1, "S": 8})]
    first, again, other = (random_points(found, env, seed)[0].feeds["x"] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_an_input_that_decides_a_shape_is_not_drawn() -> None:
    found = module(
        '<ir_version: 10, opset_import: ["" : 17]> g (float[N] x, int64[2] shape) => (float[A,B] y) '
        "{ y = Reshape(x, shape) }"
    )
    with pytest.raises(DiagnosticError, match="its values decide a shape in Reshape") as caught:
        random_points(found, [("fixed", {"N": 4})], 0)
    assert caught.value.diagnostics[0].code == "T0571"


def save(folder: Path, **arrays: np.ndarray) -> Path:
    path = folder / "inputs.npz"
    np.savez(path, **arrays)
    return path


def test_a_file_is_fitted_where_no_value_changes(tmp_path: Path) -> None:
    path = save(tmp_path, ids=np.array([[1, 2]], np.int32), kinds=np.array([[0, 1]]), x=np.zeros((1, 2, 4), np.float64))
    (point,) = file_points(module(EMBEDDING), path, allow_code=False)
    assert point.feeds["ids"].dtype == np.int64
    assert point.feeds["x"].dtype == np.float32
    assert point.feeds["ids"].tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"ids": np.array([[1.5, 2]])}, "values would change"),
        ({"ids": np.array([1, 2])}, "has shape [2], the model wants [B, S]"),
        ({"ids": np.zeros((1, 3), np.int64)}, "`S` is 2 here and 3 in another input"),
        ({"idz": np.zeros((1, 2), np.int64)}, "the model has no input `idz`"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, arrays: dict[str, np.ndarray], words: str) -> None:
    right = {"ids": np.zeros((1, 2), np.int64), "kinds": np.zeros((1, 2), np.int64), "x": np.zeros((1, 2, 4))}
    path = save(tmp_path, **{**right, **arrays})
    with pytest.raises(DiagnosticError) as caught:
        file_points(module(EMBEDDING), path, allow_code=False)
    assert {d.code for d in caught.value.diagnostics} == {"T0572"}
    assert words in str(caught.value)


def test_a_file_without_an_input_names_it(tmp_path: Path) -> None:
    path = save(tmp_path, ids=np.zeros((1, 2), np.int64), kinds=np.zeros((1, 2), np.int64))
    with pytest.raises(DiagnosticError, match="there is no array for the input `x`"):
        file_points(module(EMBEDDING), path, allow_code=False)


def test_pickled_data_is_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    np.savez(path, ids=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DiagnosticError) as caught:
        file_points(module(EMBEDDING), path, allow_code=True)
    assert caught.value.diagnostics[0].code == "T0572"


LOADER = """
import numpy as np
def load_data():
    for size in (1, 3):
        yield {"ids": np.ones((size, 2), np.int64), "kinds": np.zeros((size, 2), np.int64), "x": np.ones((size, 2, 4))}
"""


def test_a_loader_script_needs_permission_and_gives_every_set(tmp_path: Path) -> None:
    path = tmp_path / "loader.py"
    path.write_text(LOADER)
    with pytest.raises(DiagnosticError, match="runs only with permission"):
        file_points(module(EMBEDDING), path, allow_code=False)
    points = file_points(module(EMBEDDING), path, allow_code=True)
    assert [p.feeds["x"].shape for p in points] == [(1, 2, 4), (3, 2, 4)]
    assert points[0].feeds["x"].dtype == np.float32
