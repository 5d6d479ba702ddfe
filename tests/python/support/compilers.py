"""C compilers, emulators and shells that a machine may lack."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from support import compile_cache
from support.unit_guard import refuse
from usmp.boards.board import BOARDS


def require(program: str) -> None:
    """Skip the test, and say why, where `program` is not installed; no unit test may need it."""
    refuse(program)
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (apt-get install {_PACKAGES[program]})")


def run_compiler(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: str | os.PathLike[str] | None = None,
    input: str | None = None,
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run a compiler's command, unless an equal one has run: then write the files that it wrote.

    Parameters
    ----------
    command
        the compiler and its arguments.
    cwd
        where it runs; here by default.
    input
        what it reads from its standard input.
    check
        fail the test, and show what the compiler printed, where it reports an error.
    """
    directory = Path(cwd or Path.cwd())

    def start() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=directory, input=input or "", capture_output=True, text=True
        )

    done = compile_cache.cached(command, directory, input, start)
    if check and done.returncode != 0:
        pytest.fail(f"{shlex.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done


_PACKAGES = {
    "make": "make",
    "gcc": "gcc",
    "g++": "g++",
    "clang": "clang",
    "clang++": "clang libclang-rt-dev",
    "avr-gcc": "gcc-avr avr-libc",
    "qemu-system-avr": "qemu-system-misc",
    "fish": "fish",
    "zsh": "zsh",
    **{board.toolchain.compiler: board.toolchain.packages for board in BOARDS},
    **{board.emulator.program: board.emulator.package for board in BOARDS},
}
