"""Every operator that is emitted, by value: the network that TensorRT holds computes what ONNX Runtime computes."""

from __future__ import annotations

import numpy as np
import pytest
from chain_harness import APART, GIVEN, compare, emission_cases, parse, skip_where_the_reference_is_wrong, wrong

import trtc.backend
from trtc.evaluate import session

CASES = emission_cases()


@pytest.mark.parametrize("name", [name for name in CASES if name not in APART])
def test_the_network_computes_what_the_graph_does(name: str) -> None:
    skip_where_the_reference_is_wrong(name)
    assert wrong(compare(CASES[name], "tensorrt_rtx", GIVEN.get(name))) == []


def test_a_window_of_even_size_reaches_one_channel_further_forward() -> None:
    x = np.random.default_rng(1).standard_normal((2, 8, 4, 4)).astype(np.float32)
    sums = np.stack([np.square(x[:, max(0, c - 1) : c + 3]).sum(1) for c in range(8)], 1)
    (y,) = trtc.backend.run_model(parse(CASES["LRN even"]), [x])
    np.testing.assert_allclose(y, x / (1 + 0.01 / 4 * sums) ** 0.75, rtol=1e-5, atol=1e-6)


def test_a_causal_mask_and_a_mask_that_broadcasts_over_queries_both_hold() -> None:
    q, k, v = (np.random.default_rng(s).standard_normal((1, 2, 3, 8)).astype(np.float32) for s in range(3))
    mask = np.array([True, False, True]).reshape(1, 1, 1, 3)
    scores = np.where(np.tril(np.ones((3, 3), bool)) & mask, q @ np.swapaxes(k, -1, -2) / np.sqrt(8), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    (y,) = trtc.backend.run_model(parse(CASES["Attention causal mask"]), [q, k, v, mask])
    np.testing.assert_allclose(y, weights / weights.sum(-1, keepdims=True) @ v, rtol=1e-5, atol=1e-6)


def test_negative_padding_crops() -> None:
    x = np.random.default_rng(2).standard_normal((2, 1, 8, 8)).astype(np.float32)
    (y,) = trtc.backend.run_model(parse(CASES["Conv crop"]), [x])
    plain = CASES["Conv crop"].replace("float[N,1,8,8]", "float[N,1,7,8]").replace("[-1,1,0,1]", "[0,1,0,1]")
    wanted = session(parse(plain).SerializeToString()).run(None, {"x": x[:, :, 1:]})[0]
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)
