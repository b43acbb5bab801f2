"""How trtc starts Python processes of its own."""

from __future__ import annotations

import os
import sys

# Python puts the current folder first on the path of modules, as "", for `-c` as for `-m`. It may be that of a model
# which came with other files, and a `copy.py` among them would run. `sys` is built in: no file is searched for it.
_NOT_FROM_HERE = "import sys; sys.path[:] = [p for p in sys.path if p]"


def environment() -> dict[str, str]:
    """The environment of a child that imports from where this process does: a script finds trtc by `sys.path` alone."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}


def run_module(module: str, *args: str) -> list[str]:
    """The command that runs a module as `python -m` does, but imports nothing from the current folder."""
    return run_code(f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)", *args)


def run_code(code: str, *args: str) -> list[str]:
    """The command that runs Python text, with `args` as `sys.argv[1:]`, but imports nothing from the current folder."""
    return [sys.executable, "-c", f"{_NOT_FROM_HERE}\n{code}", *args]
