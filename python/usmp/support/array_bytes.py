"""The bytes of arrays."""

from __future__ import annotations

import numpy as np


def are_alike(values: np.ndarray) -> bool:
    """Return whether all elements have equal bytes; 0.0 and -0.0 differ."""
    elements = np.ascontiguousarray(values).reshape(-1, 1).view(np.uint8)
    return bool((elements == elements[:1]).all())
