"""Properties that are unset: None in later generations, Dims of a negative length in TensorRT 8.6."""

from __future__ import annotations

from trtc.readback.layers import dims_or_none


class Unset:
    """What 8.6 answers for `IShuffleLayer.reshape_dims` that nobody set; iterating over it gives nothing."""

    def __len__(self) -> int:
        raise ValueError("__len__() should return >= 0")

    def __iter__(self) -> object:
        return iter(())


def test_unset_dims_are_none_in_every_generation() -> None:
    assert dims_or_none(None) is None
    assert dims_or_none(Unset()) is None


def test_dims_of_rank_zero_are_set() -> None:
    assert dims_or_none(()) == ()
    assert dims_or_none((0, -1)) == (0, -1)
