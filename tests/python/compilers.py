"""C compilers that a machine may lack."""

from __future__ import annotations

import shutil

import pytest


def require(compiler: str) -> None:
    """Skip the test, and say why, where `compiler` is not installed."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed (apt-get install {_PACKAGES[compiler]})")


_PACKAGES = {
    "gcc": "gcc",
    "g++": "g++",
    "clang": "clang",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
}
