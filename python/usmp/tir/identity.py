"""The identity of objects of TVM, whatever their fields are."""

from __future__ import annotations

from typing import Any


def identity(value: Any) -> int:
    """The same for two objects of Python if they stand for one object of TVM, for as long as
    anyone holds that; 0 for None.

    It is not the hash, which of an integer constant is its value: those of -1 and -2 are equal.
    """
    return 0 if value is None else int(value.__chandle__())
