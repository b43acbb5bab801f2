"""Makes the builders of broken files, which the tests of the loader have, importable here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "ir"))
