"""Arrays by name as `.npz` files that `numpy.load` reads."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def write_npz(path: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Like `numpy.savez`, for names that may be anything: `savez` takes them as arguments, and `file` is its own.

    Dtypes of ml_dtypes (bfloat16, float8) become raw bytes of their width, as `numpy.save` writes them.
    """
    with zipfile.ZipFile(path, "w", allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def read_npz(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Every array of an `.npz` file. Raises what numpy raises; never unpickles."""
    loaded: Any = np.load(path, allow_pickle=False)
    if isinstance(loaded, np.ndarray):
        raise ValueError("it holds one array without a name (.npy)")
    with loaded as data:
        return {name: data[name] for name in data.files}
