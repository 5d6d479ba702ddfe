"""Columns of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[np.int64]


def column(values: Iterable[int] = ()) -> Column:
    """The numbers as a column.

    Raises
    ------
    ValueError
        A number does not fit 64 bits, or is not whole; NumPy would cut it off.
    """
    numbers = list(values)
    try:
        return np.array(list(map(index, numbers)), np.int64)
    except (OverflowError, TypeError) as error:
        raise ValueError(
            f"a number of the problem is no whole number of 64 bits: {error}"
        ) from error


def first_of(lists: Iterable[Sequence[Any]]) -> Column:
    """Where the list of each buffer begins when they lie one after the other; then their end."""
    return np.concatenate([[0], np.cumsum([len(each) for each in lists], dtype=np.int64)])
