"""The pages of the documentation as blocks, and how a block of each kind is run.

A fenced block says by its info string how it is tested:

    trtspec                  checked by the language's own checker; a fragment gets a header and a model
    trtspec refused CODE…    refused, with exactly these codes
    trtspec library          a file for others to use, which has no model
    … file=NAME              also written as NAME into the folder of the page, for the blocks after it
    console                  commands behind `$ `, run in that folder, their output compared (`...` stands for any text)
    console no-run           listed in `test_docs.NOT_RUN`, with the reason
    python                   executed, the names of a page shared between its blocks; with file=NAME only written
    pycon                    a Python session, its answers compared (`...` stands for any text)
    toml file=NAME           written
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trtc import lang
from trtc.cli import main
from trtc.driver import vocabulary

_FENCE = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: On a terminal the stages of a compile are one line that moves; elsewhere they are lines of this form.
_PROGRESS = re.compile(r"^\[ *\d+\.\d s\] .*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    page: Path
    line: int
    kind: str
    words: tuple[str, ...]
    text: str

    @property
    def file(self) -> str | None:
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    for match in _FENCE.finditer(text):
        kind, *words = match[1].split() or [""]
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, kind, tuple(words), match[2]))
    return found


@dataclass(slots=True)
class Session:
    """Runs the blocks of one page in one folder, which is the current one."""

    folder: Path
    status: int = 0
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    site: Path | None = None

    def run(self, block: Block) -> None:
        getattr(self, f"_{block.kind}")(block)

    def _write(self, block: Block) -> bool:
        if block.file is None:
            return False
        path = self.folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return True

    # ---- kinds

    def _trtspec(self, block: Block) -> None:
        text = block.text
        if not re.search(r"^trtspec 1$", text, re.MULTILINE):
            # Of a line of its own, so that the lines of the page keep their distance.
            text = "trtspec 1\n" + ("" if re.search(r"^model\b", text, re.MULTILINE) else 'model "model.onnx"\n') + text
        self._write(block)
        _, found = lang.check_text(text, self.folder / "page.trtspec", vocabulary())
        wanted = [word for word in block.words if re.fullmatch(r"T\d{4}", word)]
        assert bool(wanted) == ("refused" in block.words), f"{block}: `refused` and the codes go together"
        if "library" in block.words:
            wanted = ["T0217"]  # it names no model: nothing else is wrong
        errors = [d for d in found if d.severity.value == "error"]
        shown = "\n".join(f"{d.code} {d.message}" for d in errors)
        assert sorted({d.code for d in errors}) == sorted(wanted), f"{block}:\n{shown}"

    def _python(self, block: Block) -> None:
        if not self._write(block):
            exec(compile(block.text, str(block), "exec"), self.names)

    def _toml(self, block: Block) -> None:
        assert self._write(block), f"{block}: a toml block is a file"

    def _pycon(self, block: Block) -> None:
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        test = doctest.DocTestParser().get_doctest(block.text, self.names, str(block), str(block), block.line)
        heard = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=flags)
        runner.run(test, out=heard.write, clear_globs=False)
        self.names.update(test.globs)
        assert not runner.failures, f"{block}:\n{heard.getvalue()}"

    def _console(self, block: Block) -> None:
        for command, wanted in commands(block.text):
            got = self._command(command)
            assert matches(wanted, got), f"{block}: $ {command}\n--- the page says\n{wanted}\n--- it prints\n{got}"

    # ---- commands

    def _command(self, command: str) -> str:
        if command == "echo $?":
            return f"{self.status}\n"
        words = shlex.split(command)
        if words[:3] == ["pip", "install", "-e"]:
            self._install(self.folder / words[3])
            return ""
        if words[0] == "trtc" and self.site is None and not set(command) & set("|><;"):
            heard = io.StringIO()
            with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
                self.status = main(words[1:])
            text = heard.getvalue()
        else:
            text = self._shell(command)
        return _PROGRESS.sub("", text).replace(f"{self.folder}/", "")

    def _shell(self, command: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
        if self.site is not None:
            env["PYTHONPATH"] = str(self.site)
        bash = shutil.which("bash")
        assert bash is not None
        done = subprocess.run(
            [bash, "-c", command],
            cwd=self.folder,
            env=env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=120,
        )
        self.status = done.returncode
        return done.stdout

    def _install(self, project: Path) -> None:
        """What an editable install does, without a network: a path, and metadata with the entry points."""
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
        data = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        self.site = self.folder / "site"
        info = self.site / f"{data['name'].replace('-', '_')}-{data['version']}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {data['name']}\nVersion: {data['version']}\n")
        lines: list[str] = []
        for group, points in data["entry-points"].items():
            lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        for source in project.iterdir():
            if source.is_dir() or source.suffix == ".py":
                (self.site / source.name).symlink_to(source)


def commands(text: str) -> list[tuple[str, str]]:
    """Commands of a console block and the output shown below each. A command may go on behind a backslash."""
    found: list[tuple[str, list[str]]] = []
    open_ = False
    for line in text.splitlines():
        if open_:
            found[-1] = (f"{found[-1][0][:-1]}{line.strip()}", [])
        elif line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
        open_ = found[-1][0].endswith("\\") and not found[-1][1]
    return [(command, "\n".join(lines).strip("\n")) for command, lines in found]


def matches(wanted: str, got: str) -> bool:
    """Whether the output is what the page shows, up to `...`, to space at line ends and to empty lines around it."""
    clean = "\n".join(line.rstrip() for line in got.splitlines()).strip("\n")
    return doctest.OutputChecker().check_output(f"{wanted}\n", f"{clean}\n", doctest.ELLIPSIS)
