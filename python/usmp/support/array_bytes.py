"""The bytes of arrays."""

from __future__ import annotations

import numpy as np


def are_alike(values: np.ndarray) -> bool:
    """Whether all elements have the same bytes, as 0.0 and -0.0 have not."""
    elements = np.ascontiguousarray(values).reshape(-1, 1).view(np.uint8)
    return bool((elements == elements[:1]).all())
