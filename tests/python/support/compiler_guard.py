"""Compilers that tests start on their own are refused."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

import pytest

from support.compile_cache import is_compiler, is_started

_SOURCES = (".c", ".cc", ".cpp", ".S", ".s")


def refuse_other_compilers() -> None:
    """Fail from now on where a test starts a compiler that the cache does not see.

    Programs that a test starts, as CMake, call compilers on their own, and so does TVM to link what
    its virtual machine runs.
    """

    def on_event(event: str, arguments: tuple[object, ...]) -> None:
        if event != "subprocess.Popen" or is_started():
            return
        command: Any = arguments[1]
        words = [command] if isinstance(command, (str, os.PathLike)) else [*command]
        is_build = is_compiler(words[0]) and any(os.fspath(w).endswith(_SOURCES) for w in words)
        if is_build and not _is_called_by("tvm.support.cc"):
            pytest.fail(f"{words[0]} is to be called by support.compilers.run_compiler")

    sys.addaudithook(on_event)


def _is_called_by(module: str) -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != module:
        frame = frame.f_back
    return frame is not None
