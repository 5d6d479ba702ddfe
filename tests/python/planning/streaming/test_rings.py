"""Rings of what is made column by column: the larger they are, the more rarely they move."""

from __future__ import annotations

import numpy as np
import pytest

from usmp.planning.streaming.scheduler import _most_moved, front

PARTS = 200
KEPT = 10
"""Parts that are still to be read, with the latest one."""


@pytest.mark.parametrize("places", [10, 11, 16, 19])
def test_parts_by_which_a_ring_moves(places):
    made = np.arange(PARTS)
    first = np.maximum(made - KEPT + 1, 0)
    moved = _most_moved(made, first, places, row=25)
    possible = [m for m in range(1, places + 1) if (front(made, places, m) <= first).all()]
    assert moved == possible[-1] == places - KEPT + 1


def test_a_ring_that_never_moves():
    made = np.arange(8)
    assert _most_moved(made, np.zeros_like(made), 8, row=4) == 8
