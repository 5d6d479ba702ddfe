"""Are two arrays the same result?"""

from __future__ import annotations

import numpy as np

RELATIVE_TOLERANCE = 1e-4
ABSOLUTE_TOLERANCE = 1e-5
"""Floats of two machines differ in the last bits of exponentials and the like."""


def first_difference(actual: np.ndarray, expected: np.ndarray) -> str | None:
    """What differs, in words; None if nothing does.

    Integers must be equal; floats may differ by the tolerances of this module.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return (
            f"it is {actual.dtype}{list(actual.shape)}, not {expected.dtype}{list(expected.shape)}"
        )
    if actual.dtype.kind == "f":
        same = np.isclose(actual, expected, RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE, equal_nan=True)
    else:
        same = actual == expected
    if np.all(same):
        return None
    where = tuple(int(i) for i in np.argwhere(~same)[0])
    return (
        f"{np.count_nonzero(~same)} of {same.size} elements, first at {list(where)}: "
        f"{actual[where]}, not {expected[where]}"
    )
