"""Unit tests compile nothing and read no public models, so that they are quick and run anywhere.

Programs are refused by scripts of their names that stand first in `PATH`: what a test starts finds
them too, and what was called is known even where the error is swallowed.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from usmp.boards.board import BOARDS

MARKER_OF_PROGRAM = {
    **dict.fromkeys(("cc", "gcc", "g++", "c++", "clang", "clang++", "cmake", "ctest"), "cc"),
    **dict.fromkeys((board.toolchain.compiler for board in BOARDS), "board"),
    **dict.fromkeys((board.emulator.program for board in BOARDS), "board"),
}
SCRIPT = """#!/bin/sh
echo {name} >> '{log}'
echo '{message}' >&2
exit 1
"""

_is_unit = False


def message(name: str) -> str:
    """What is wrong with a unit test that needs this program."""
    marker = MARKER_OF_PROGRAM[name]
    return f"a unit test called {name}; mark it with pytest.mark.{marker}"


def refuse(program: str) -> None:
    """Fail where a unit test asks for a program that it may not call."""
    if _is_unit and program in MARKER_OF_PROGRAM:
        pytest.fail(message(program))


@contextmanager
def guarded() -> Iterator[None]:
    """While a unit test runs, with its fixtures."""
    global _is_unit
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{_scripts()}{os.pathsep}{path}"
    _is_unit = True
    try:
        yield
    finally:
        _is_unit = False
        os.environ["PATH"] = path


def check_calls() -> None:
    """Fail if programs were called that a unit test may not call."""
    log = _scripts() / "called.txt"
    called = log.read_text().split() if _is_unit and log.exists() else []
    if called:
        log.unlink()
        pytest.fail(message(called[0]))


def refuse_files(folder: Path) -> None:
    """From now on no unit test may open a file of `folder`."""
    below = f"{folder}{os.sep}"

    def on_event(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and _is_unit and str(arguments[0]).startswith(below):
            pytest.fail(f"a unit test opened {arguments[0]}; mark it with pytest.mark.models")

    sys.addaudithook(on_event)


@cache
def _scripts() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="usmp-unit-"))
    for name in MARKER_OF_PROGRAM:
        if shutil.which(name):
            script = folder / name
            script.write_text(
                SCRIPT.format(name=name, log=folder / "called.txt", message=message(name))
            )
            script.chmod(0o755)
    return folder


def remove_scripts() -> None:
    """At the end of the tests."""
    if _scripts.cache_info().currsize:
        shutil.rmtree(_scripts(), ignore_errors=True)
