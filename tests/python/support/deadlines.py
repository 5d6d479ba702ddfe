"""Deadlines that no real time has a part in."""

from __future__ import annotations

from itertools import count

from usmp.support.deadline import Deadline


def after_looks(looks: int) -> Deadline:
    """A deadline that is over after so many looks at its clock."""
    numbers = count()
    return Deadline(float(looks), lambda: float(next(numbers)))


NEVER = Deadline(1.0, lambda: 0.0)
OVER = Deadline(0.0, lambda: 0.0)
