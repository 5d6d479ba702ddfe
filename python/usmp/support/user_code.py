"""Errors in Python code of the user: algorithms, patterns of accelerators, extensions."""

from __future__ import annotations

import contextlib
import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import CodeType

_BACKTRACE = "TVM_BACKTRACE"
_PACKAGE = Path(__file__).resolve().parents[1]


def wants_backtrace() -> bool:
    """Return whether TVM_BACKTRACE=1 asks for tracebacks of errors."""
    return os.environ.get(_BACKTRACE, "0") not in ("", "0")


def place_in_user_code(error: BaseException) -> str | None:
    """Return the innermost line of user code in an error or its causes; None if there is none.

    The result is a text such as "KeyError at mine.py, line 4, in place"."""
    cause: BaseException | None = error
    while cause is not None:
        for frame in reversed(traceback.extract_tb(cause.__traceback__)):
            if _is_of_user(frame.filename):
                where = "" if frame.name == "<module>" else f", in {frame.name}"
                kind = type(cause).__name__
                return f"{kind} at {frame.filename}, line {frame.lineno}{where}"
        cause = cause.__cause__
    return None


def stacklevel_of_user() -> int:
    """Return the `stacklevel` for `warnings.warn` in the caller, so that the warning shows the
    innermost line outside of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and not _is_outside(frame.f_code):
        frame, level = frame.f_back, level + 1
    return level


def _is_outside(code: CodeType) -> bool:
    if (code.co_filename, code.co_name) == ("<string>", "__init__"):
        return False  # The generated constructor of a dataclass.
    return not code.co_filename.startswith((str(_PACKAGE), contextlib.__file__))


def _is_of_user(file: str) -> bool:
    """Return whether a file belongs neither to Python, nor to an installed package, nor to usmp."""
    if not os.path.isfile(file):
        return False  # C++ code, or code without a file.
    path = Path(file).resolve()
    installed = [
        sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
    ]
    folders = (_PACKAGE, *(Path(folder).resolve() for folder in installed))
    return not any(path.is_relative_to(folder) for folder in folders)
