"""The distance of one write and one access, over the iterations of the loops around both."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from usmp.analysis.memory.index_values import Values
from usmp.analysis.memory.iterations import TracedLoop
from usmp.analysis.memory.memories import UNBOUNDED


class PairDistance(NamedTuple):
    """The distance of a write and an access, and how it comes about.

    Parameters
    ----------
    distance
        of the two, in bytes.
    written_end, first_accessed
        where it is greatest: the end of what is written before, and the first byte of what is
        accessed after that; None if they are not known, or if a callee decides.
    followed
        how many of the loops that both stand in are followed iteration by iteration.
    """

    distance: int
    written_end: int | None = None
    first_accessed: int | None = None
    followed: int = 0


def limited(distance: int) -> int:
    """Return a distance; half of one without bounds is without bounds."""
    if abs(distance) < UNBOUNDED // 2:
        return distance
    return UNBOUNDED if distance > 0 else -UNBOUNDED


def in_order(
    ends: Values, firsts: Values, loops: Sequence[TracedLoop], before: bool, most: int
) -> PairDistance | None:
    """The greatest end that is reached before an access begins, minus where that begins; None if
    there are more than `most` iterations.

    Parameters
    ----------
    ends, firsts
        by iteration, with an axis for each of `loops`.
    before
        whether in one iteration the write comes before the access.
    most
        iterations.
    """
    shape = tuple(
        # Iterations that are all alike: the second is preceded by the first.
        max(end, first) if max(end, first) > 1 else min(loop.trips or 0, 2)
        for end, first, loop in zip(ends.shape, firsts.shape, loops, strict=True)
    )
    if prod(shape) > most:
        return None
    reached = np.maximum.accumulate(_flat(ends, shape))
    begins = _flat(firsts, shape)
    if not before:
        reached, begins = reached[:-1], begins[1:]
    if not reached.size:
        return PairDistance(-UNBOUNDED)
    where = int((reached - begins).argmax())
    end, first = int(reached[where]), int(begins[where])
    return PairDistance(limited(end - first), end, first)


def _flat(values: Values, shape: tuple[int, ...]) -> Values:
    """In the order of the iterations."""
    whole = values if values.shape == shape else np.broadcast_to(values, shape)
    return whole.ravel()
