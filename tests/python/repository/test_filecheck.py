"""The files of tests/filecheck: IR above, and below it what a pass makes of that.

A file begins with what it shows, and with a line "# RUN:", as files of LLVM do: a command, whose
output `filecheck` compares with the lines "# CHECK:" and "# CHECK-NEXT:". `%s` is the file, "not"
in front says that the command fails, and "2>&1" that what it writes to stderr counts too.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT
from usmp.driver.opt import opt
from usmp.driver.opt.passes import known_passes

filecheck = pytest.importorskip("filecheck", reason="make test installs filecheck")
from filecheck.finput import FInput  # noqa: E402
from filecheck.matcher import Matcher  # noqa: E402
from filecheck.options import Options  # noqa: E402
from filecheck.parser import Parser  # noqa: E402

FOLDER = ROOT / "tests/filecheck"
FILES = sorted(FOLDER.glob("*.py"))
RUN = re.compile(r"^# RUN: (not )?usmp-opt (.*) \| filecheck %s$", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """A line "# RUN:"."""

    path: Path
    fails: bool
    arguments: list[str]
    takes_stderr: bool


def command_of(path: Path) -> Command:
    """The one line of a file that says what to run."""
    ((fails, text),) = RUN.findall(path.read_text())
    words = [word.replace("%s", str(path)) for word in shlex.split(text)]
    arguments = [word for word in words if word != "2>&1"]
    return Command(path, bool(fails), arguments, len(arguments) < len(words))


def mismatch(path: Path, output: str, capfd) -> str:
    """What `filecheck` says of an output; nothing if it is right."""
    options = Options(match_filename=str(path))
    status = Matcher(options, FInput(str(path), output), Parser.from_opts(options)).run()
    said = capfd.readouterr()
    return f"{said.out}{said.err}" or "it failed" if status else ""


def checked(command: Command, capfd) -> str:
    """What is wrong with the output of a command."""
    status = opt.main(command.arguments)
    output = capfd.readouterr()
    if status != int(command.fails):
        return f"the exit status is {status}: {output.err}"
    if output.err and not command.takes_stderr:
        return f"it wrote to stderr: {output.err}"
    return mismatch(command.path, output.out + output.err, capfd)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file(path, capfd):
    assert checked(command_of(path), capfd) == ""


def test_every_pass_has_a_file():
    """One of its name, which runs it or prints the IR around it."""
    passes = {*known_passes(), "ConvertPoolAllocationsToOffsets"}
    files = {path.stem.replace("_", ""): path for path in FILES}
    assert {name.lower() for name in passes} == set(files)
    for name in passes:
        assert name in " ".join(command_of(files[name.lower()]).arguments)


def test_what_is_wrong_is_seen(tmp_path, capfd):
    """The test of the tests above."""
    path = tmp_path / "changed.py"
    text = (FOLDER / "pass_buffers_as_pointers.py").read_text()
    path.write_text(text)
    assert checked(command_of(path), capfd) == ""
    path.write_text(text.replace("B_1[i] = A_1[i]", "B_1[i] = A_1[i + 1]"))
    assert "A_1[i + 1]" in checked(command_of(path), capfd)
    path.write_text(text.replace("# RUN: usmp-opt", "# RUN: not usmp-opt"))
    assert checked(command_of(path), capfd) == "the exit status is 0: "
    path.write_text(text.replace("PassBuffersAsPointers", "NoPass"))
    assert 'unknown pass "NoPass"' in checked(command_of(path), capfd)
