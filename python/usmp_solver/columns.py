"""Columns of int64."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[np.int64]

INT64_MAX = (1 << 63) - 1


def column(values: Iterable[int] = ()) -> Column:
    """Return the numbers as a column.

    Raises
    ------
    ValueError
        A number does not fit 64 bits, or is no integer; NumPy would truncate it.
    """
    numbers = list(values)
    try:
        return np.array(list(map(index, numbers)), np.int64)
    except (OverflowError, TypeError) as error:
        raise ValueError(
            f"a number of the problem is no whole number of 64 bits: {error}"
        ) from error


def first_of(lists: Iterable[Sequence[Any]]) -> Column:
    """Return the start of each list in their concatenation, and finally its length."""
    return np.concatenate([[0], np.cumsum([len(items) for items in lists], dtype=np.int64)])
