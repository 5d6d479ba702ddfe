"""The identity of TVM objects."""

from __future__ import annotations

from typing import Any


def identity(value: Any) -> int:
    """Return the address of the TVM object behind a Python object; 0 for None.

    The address is unique while the TVM object is alive. The hash of the object is not unique:
    the constants -1 and -2 have equal hashes.
    """
    return 0 if value is None else int(value.__chandle__())
