"""Maximal sets of entries that may all run at once, from pairs of such entries."""

from __future__ import annotations

from collections.abc import Sequence

MOST_SETS = 256
"""Largest number of sets to return, because their number is exponential in the entries."""


def largest_sets(count: int, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the maximal sets of entries where any two may run at once (maximal cliques).

    At most `MOST_SETS` are returned: a missing set only makes lower bounds less tight.

    Parameters
    ----------
    count
        number of entries.
    pairs
        pairs of entries that may run at once, as numbers from 0.
    """
    neighbors: list[set[int]] = [set() for _ in range(count)]
    for i, j in pairs:
        neighbors[i].add(j)
        neighbors[j].add(i)
    cliques: list[tuple[int, ...]] = []

    def grow(chosen: tuple[int, ...], candidates: set[int], excluded: set[int]) -> None:
        # Bron and Kerbosch (1973), algorithm 457, with the pivot of Tomita et al. (2006), so that
        # the number of steps is at most proportional to the largest possible number of sets.
        if len(cliques) == MOST_SETS:
            return
        if not candidates:
            if not excluded and len(chosen) > 1:
                cliques.append(tuple(sorted(chosen)))
            return
        pivot = max(sorted(candidates | excluded), key=lambda n: len(candidates & neighbors[n]))
        for number in sorted(candidates - neighbors[pivot]):
            near = neighbors[number]
            grow((*chosen, number), candidates & near, excluded & near)
            candidates = candidates - {number}
            excluded = excluded | {number}

    grow((), set(range(count)), set())
    return sorted(cliques)
