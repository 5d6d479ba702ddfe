"""C compilers, emulators and shells that a machine may lack."""

from __future__ import annotations

import shutil

import pytest

from support.unit_guard import refuse
from usmp.boards.board import BOARDS


def require(program: str) -> None:
    """Skip the test, and say why, where `program` is not installed; no unit test may need it."""
    refuse(program)
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (apt-get install {_PACKAGES[program]})")


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
