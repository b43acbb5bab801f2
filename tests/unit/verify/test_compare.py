"""One output of two runs, as numbers."""

from __future__ import annotations

import numpy as np
import pytest

from trtc.verify import Tolerance, compare, default_tolerance
from trtc.verify.rungs import RungReport
from trtc.verify.table import rows


def test_equal_arrays_pass_with_error_zero() -> None:
    found = compare("y", np.float32([1, 2]), np.float32([1, 2]), default_tolerance(np.dtype("float32")))
    assert (found.passed, found.max_abs, found.max_rel, found.cosine) == (True, 0.0, 0.0, pytest.approx(1.0))


def test_the_errors_are_the_largest_ones() -> None:
    found = compare("y", np.float32([1, 10]), np.float32([1.5, 11]), Tolerance(rtol=1.0, atol=0.0))
    assert found.passed
    assert found.max_abs == 1.0
    assert found.max_rel == 0.5


def test_cosine_is_that_of_the_vectors() -> None:
    found = compare("y", np.float32([1, 0]), np.float32([1, 1]), Tolerance(rtol=0.0, atol=2.0))
    assert found.cosine == pytest.approx(1 / np.sqrt(2))


def test_a_cosine_below_the_bound_fails() -> None:
    found = compare("y", np.float32([1, 0]), np.float32([1, 1]), Tolerance(rtol=0.0, atol=2.0, cosine=0.9))
    assert not found.passed
    assert "cosine similarity 0.7071" in found.reason


def test_the_worst_element_is_named_with_both_values() -> None:
    found = compare("y", np.float32([[1, 2], [3, 4]]), np.float32([[1, 2], [3, 5]]), Tolerance(rtol=1e-3))
    assert not found.passed
    assert found.reason == "1 of 4 elements differ; worst at [1, 1]: 5, expected 4 within 6.7e-03"


def test_a_relative_error_above_the_tolerance_of_float32_fails_and_one_below_passes() -> None:
    reference = np.linspace(1, 2, 100, dtype=np.float32)
    tolerance = default_tolerance(reference.dtype)
    assert tolerance.rtol == pytest.approx(5.96e-5, rel=1e-3)
    assert compare("y", reference, reference * np.float32(1 + 2e-5), tolerance).passed
    assert not compare("y", reference, reference * np.float32(1 + 5e-4), tolerance).passed


def test_nan_and_infinity_are_equal_only_to_themselves() -> None:
    reference = np.float32([np.nan, np.inf, -np.inf, 1])
    tolerance = default_tolerance(reference.dtype)
    assert compare("y", reference, reference.copy(), tolerance).passed
    assert not compare("y", reference, np.float32([0, np.inf, -np.inf, 1]), tolerance).passed
    assert not compare("y", reference, np.float32([np.nan, -np.inf, -np.inf, 1]), tolerance).passed
    assert not compare("y", np.float32([1.0]), np.float32([np.nan]), tolerance).passed


@pytest.mark.parametrize("dtype", ["int64", "bool", "int8", "uint8"])
def test_integers_and_booleans_are_compared_exactly(dtype: str) -> None:
    reference = np.array([0, 1, 1], dtype)
    assert compare("y", reference, reference.copy(), default_tolerance(reference.dtype)).passed
    found = compare("y", reference, np.array([0, 0, 1], dtype), default_tolerance(reference.dtype))
    assert not found.passed
    assert "first at [1]" in found.reason


def test_another_shape_or_dtype_fails_with_both_named() -> None:
    tolerance = Tolerance(rtol=1.0, atol=1.0)
    assert compare("y", np.zeros(3, np.float32), np.zeros(4, np.float32), tolerance).reason == "shape [4], expected [3]"
    found = compare("y", np.zeros(3, np.float32), np.zeros(3, np.float64), tolerance)
    assert found.reason == "dtype float64, expected float32"


def test_an_atol_alone_leaves_no_relative_part() -> None:
    tolerance = Tolerance(atol=0.5)
    assert compare("y", np.float32([1000]), np.float32([1000.5]), tolerance).passed
    assert not compare("y", np.float32([1000]), np.float32([1001]), tolerance).passed


def test_an_output_next_to_zero_is_called_weak() -> None:
    tolerance = default_tolerance(np.dtype("float32"))
    assert compare("y", np.float32([0, 1e-8]), np.float32([0, 0]), tolerance).weak
    assert not compare("y", np.float32([0, 1]), np.float32([0, 1]), tolerance).weak


def test_an_output_of_one_number_is_called_weak() -> None:
    """Saturated, constant, NaN everywhere, or false everywhere: a candidate that gives one number is as right."""

    def weak(*values: object, dtype: str = "float32") -> bool | None:
        array = np.array(values, dtype)
        found = compare("y", array, array.copy(), default_tolerance(array.dtype))
        assert found.passed
        return found.weak

    assert weak(1, 1 - 1e-6, 1)
    assert weak(np.nan, np.nan)
    assert weak(np.inf, np.nan)
    assert weak(False, False, dtype="bool")
    assert weak(7, 7, 7, dtype="int64")
    assert weak() is True
    assert weak(1, 2, 1) is False
    assert weak(1, np.nan) is False
    assert weak(0, 1, 0, dtype="int64") is False
    # One element says something beside the ones of other points only.
    assert weak(3) is None
    assert weak(3, dtype="int32") is None


def test_the_table_says_when_one_number_would_pass() -> None:
    tolerance = default_tolerance(np.dtype("float32"))

    def verdict(*points: list[float]) -> str:
        arrays = [np.float32(p) for p in points]
        found = tuple((f"p{at}", (compare("y", a, a, tolerance),)) for at, a in enumerate(arrays))
        return rows([RungReport("graph", "passed", points=found)])[0][-1]

    assert verdict([1], [1, 1]) == "passed, but one number throughout would pass too: try real inputs (--input)"
    assert verdict([1], [1, 2]) == "passed"
    assert verdict([1], [2]) == "passed"


def test_half_precision_has_the_wider_bound() -> None:
    import ml_dtypes

    assert default_tolerance(np.dtype("float16")).rtol == pytest.approx(40 * 2.0**-11)
    assert default_tolerance(np.dtype(ml_dtypes.bfloat16)).rtol == pytest.approx(40 * 2.0**-8)
    reference = np.array([1, 2], ml_dtypes.bfloat16)
    assert compare("y", reference, reference.copy(), default_tolerance(reference.dtype)).passed


def test_values_that_print_alike_are_printed_in_full() -> None:
    found = compare("y", np.float64([1.0]), np.float64([1.0 + 1e-12]), Tolerance(rtol=0.0, atol=0.0))
    assert "worst at [0]: 1.0000000000010001, expected 1 within 0.0e+00" in found.reason
