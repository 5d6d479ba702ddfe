"""What a process allocates for tensors, counted by a preloaded allocator of its own."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from support.children import WITHOUT_TORCH
from support.compilers import run_compiler

SOURCE = Path(__file__).with_name("count_allocations.c")


def why_not() -> str | None:
    """Why allocations cannot be counted here."""
    if platform.libc_ver()[0] != "glibc":
        return "the counting allocator is for glibc"
    return None


def run_counted(command: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments, in a process whose allocations are counted."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "libcount_allocations.so")
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        run_compiler(["cc", *flags, SOURCE, "-o", library])
        environment = {**os.environ, **WITHOUT_TORCH, "LD_PRELOAD": str(library)}
        return subprocess.run([sys.executable, *command], env=environment, text=True, **options)


class Counts:
    """The counters, in such a process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)

    def _number(self, name: str) -> int:
        function = getattr(self._library, name)
        function.restype = ctypes.c_int64
        return int(function())

    @property
    def allocations(self) -> int:
        """How often so far."""
        return self._number("counted_allocations")

    @property
    def bytes(self) -> int:
        """Bytes that are allocated now."""
        return self._number("counted_bytes")

    @property
    def peak_bytes(self) -> int:
        """The most at one time, since `forget_peak`."""
        return self._number("counted_peak_bytes")

    def forget_peak(self) -> None:
        """Begin anew with what there is now."""
        self._library.forget_peak_bytes()
