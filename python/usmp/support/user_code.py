"""Errors that come from Python of the user: algorithms, patterns of accelerators, extensions."""

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
    """Whether the user wants to see the traceback of an error, as TVM_BACKTRACE=1 says."""
    return os.environ.get(_BACKTRACE, "0") not in ("", "0")


def place_in_user_code(error: BaseException) -> str | None:
    """The innermost line of the user's Python that an error came through, as "KeyError at mine.py,
    line 4, in place"; None if there is none.
    """
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
    """Return the stacklevel of `warnings.warn`, called by the caller of this function, for the line
    outside of this package that led here."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and not _is_outside(frame.f_code):
        frame, level = frame.f_back, level + 1
    return level


def _is_outside(code: CodeType) -> bool:
    if (code.co_filename, code.co_name) == ("<string>", "__init__"):
        return False  # Of a dataclass.
    return not code.co_filename.startswith((str(_PACKAGE), contextlib.__file__))


def _is_of_user(file: str) -> bool:
    """Whether a file is not of Python, of an installed package, or ours."""
    if not os.path.isfile(file):
        return False  # Of C++, or of code without a file.
    path = Path(file).resolve()
    installed = [
        sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
    ]
    folders = (_PACKAGE, *(Path(folder).resolve() for folder in installed))
    return not any(path.is_relative_to(folder) for folder in folders)
