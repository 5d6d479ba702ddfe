"""The distance of one write and one access, as a maximum over iterations of shared loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from usmp.analysis.memory.indices.index_values import Values
from usmp.analysis.memory.indices.iterations import TracedLoop
from usmp.analysis.memory.memories import UNBOUNDED


class PairDistance(NamedTuple):
    """The distance of a write and an access, with the bytes that decide it.

    Parameters
    ----------
    distance
        the distance in bytes.
    written_end, first_accessed
        end of the written bytes, and first byte of the later access, at the maximum; None if
        unknown, or if a callee decides.
    followed
        number of shared loops that are evaluated iteration by iteration.
    """

    distance: int
    written_end: int | None = None
    first_accessed: int | None = None
    followed: int = 0


def limited(distance: int) -> int:
    """Return a distance, or `UNBOUNDED` with its sign if it is at least half of `UNBOUNDED`."""
    if abs(distance) < UNBOUNDED // 2:
        return distance
    return UNBOUNDED if distance > 0 else -UNBOUNDED


def in_order(
    ends: Values, firsts: Values, loops: Sequence[TracedLoop], before: bool, most: int
) -> PairDistance | None:
    """Return the maximum of (largest end written so far - first accessed byte) over iterations.

    The result is None if there are more than `most` iterations.

    Parameters
    ----------
    ends, firsts
        written ends and first accessed bytes, by iteration, with an axis for each of `loops`.
    before
        whether the write precedes the access within the same iteration.
    most
        largest number of iterations.
    """
    shape = tuple(
        # If all iterations are equal, two are enough: a write, and an access in a later iteration.
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
    """Broadcast values to all iterations, and flatten them in the order of iterations."""
    broadcast = values if values.shape == shape else np.broadcast_to(values, shape)
    return broadcast.ravel()
