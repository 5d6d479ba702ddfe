"""Are two arrays the same result?"""

from __future__ import annotations

import numpy as np

RELATIVE_TOLERANCE = 1e-4
ABSOLUTE_TOLERANCE = 1e-5
"""Floats of two machines differ in the last bits of exponentials and the like."""
RELATIVE_TOLERANCE_16 = 1e-3
"""Of float16: a unit in the last place."""


def first_difference(actual: np.ndarray, expected: np.ndarray) -> str | None:
    """What differs, in words; None if nothing does.

    Integers must be equal; floats may differ by the tolerances of this module.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return (
            f"it is {actual.dtype}{list(actual.shape)}, not {expected.dtype}{list(expected.shape)}"
        )
    if actual.dtype.kind == "f":
        tolerance = RELATIVE_TOLERANCE_16 if actual.dtype == np.float16 else RELATIVE_TOLERANCE
        # In float16 the tolerance itself would be rounded.
        both = (actual.astype(np.float64), expected.astype(np.float64))
        same = np.isclose(*both, tolerance, ABSOLUTE_TOLERANCE, equal_nan=True)
    else:
        same = actual == expected
    if np.all(same):
        return None
    where = tuple(int(i) for i in np.argwhere(~same)[0])
    return (
        f"{np.count_nonzero(~same)} of {same.size} elements, first at {list(where)}: "
        f"{actual[where]}, not {expected[where]}"
    )
