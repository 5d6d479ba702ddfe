"""Compare two arrays with tolerances for floats."""

from __future__ import annotations

import numpy as np

RELATIVE_TOLERANCE = 1e-4
ABSOLUTE_TOLERANCE = 1e-5
"""Tolerances for floats, because exponentials differ in the last bits between machines."""
RELATIVE_TOLERANCE_16 = 1e-3
"""Tolerance for float16: one unit in the last place."""


def first_difference(actual: np.ndarray, expected: np.ndarray) -> str | None:
    """Return a description of the first difference of two arrays, or None if they are equal.

    Integers must be equal; floats may differ by the tolerances of this module.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return (
            f"it is {actual.dtype}{list(actual.shape)}, not {expected.dtype}{list(expected.shape)}"
        )
    if actual.dtype.kind == "f":
        tolerance = RELATIVE_TOLERANCE_16 if actual.dtype == np.float16 else RELATIVE_TOLERANCE
        # Compare in float64, because float16 would round the tolerance.
        both = (actual.astype(np.float64), expected.astype(np.float64))
        is_equal = np.isclose(*both, tolerance, ABSOLUTE_TOLERANCE, equal_nan=True)
    else:
        is_equal = actual == expected
    if np.all(is_equal):
        return None
    where = tuple(int(i) for i in np.argwhere(~is_equal)[0])
    return (
        f"{np.count_nonzero(~is_equal)} of {is_equal.size} elements, first at {list(where)}: "
        f"{actual[where]}, not {expected[where]}"
    )
