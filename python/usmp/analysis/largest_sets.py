"""Which entries may all run at once, where it is said of pairs of them."""

from __future__ import annotations

from collections.abc import Sequence

MOST_SETS = 256
"""Sets that are found at most: there may be very many."""


def largest_sets(count: int, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The sets of entries of which any two may run at once, and which no other such set has.

    Without some of them bounds are lower, and nothing else changes; so only the first of very many
    are found.

    Parameters
    ----------
    count
        how many entries there are; they are numbered from 0.
    pairs
        those of which the two may run at once.
    """
    neighbors: list[set[int]] = [set() for _ in range(count)]
    for i, j in pairs:
        neighbors[i].add(j)
        neighbors[j].add(i)
    found: list[tuple[int, ...]] = []

    def grow(chosen: tuple[int, ...], candidates: set[int], excluded: set[int]) -> None:
        # Bron and Kerbosch (1973), algorithm 457; with the pivot of Tomita et al. (2006), the
        # steps are not many more than the sets that there may be.
        if len(found) == MOST_SETS:
            return
        if not candidates:
            if not excluded and len(chosen) > 1:
                found.append(tuple(sorted(chosen)))
            return
        pivot = max(sorted(candidates | excluded), key=lambda n: len(candidates & neighbors[n]))
        for number in sorted(candidates - neighbors[pivot]):
            near = neighbors[number]
            grow((*chosen, number), candidates & near, excluded & near)
            candidates = candidates - {number}
            excluded = excluded | {number}

    grow((), set(range(count)), set())
    return sorted(found)
