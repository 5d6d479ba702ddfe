"""Buffers and pools for problems that are written by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from typing import TypeVar

_Name = TypeVar("_Name", int, str)


@dataclass(frozen=True)
class Pool:
    """Memory to place buffers in.

    Parameters
    ----------
    name
        used in messages and in `Buffer.pools`.
    limit
        size in bytes; None for no limit.
    is_constant
        whether it holds constants: "hill_climb" minimizes the sum of the other pools' peaks.
    """

    name: str
    limit: int | None = None
    is_constant: bool = False


@dataclass(frozen=True)
class Buffer:
    """A buffer to place, written by hand.

    Parameters
    ----------
    name
        unique in the problem.
    size
        bytes, at least 0.
    live
        half-open ranges (start, stop) of time in which the content matters. Two buffers whose
        ranges intersect may not share bytes.
    alignment
        required divisor of the offset, in bytes.
    pools
        names of the pools that may hold it, best first; all pools if empty.
    offset
        pinned offset in bytes, in whichever pool holds it.
    conflicts
        names of further buffers with which it may not share bytes.
    overlaps
        names of inputs that die where this output is written, each with a distance in bytes. If
        this buffer starts at least that many bytes below the input, the two may share bytes
        although they are live together. A distance of 0 permits the same offset.
    """

    name: str
    size: int
    live: Sequence[tuple[int, int]] = ()
    alignment: int = 1
    pools: Sequence[str] = ()
    offset: int | None = None
    conflicts: Sequence[str] = ()
    overlaps: Mapping[str, int] = field(default_factory=dict)


DEFAULT_POOL = Pool("memory")
"""The only pool of a problem that names no pools."""


def preferred_first(lists: Iterable[Sequence[_Name]]) -> list[_Name]:
    """Merge lists of names into one order that respects each list.

    Ties, and contradictions between lists, are resolved by the order of first appearance.
    """
    chains = list(dict.fromkeys(map(tuple, lists)))
    first_named = {name: number for number, name in enumerate(dict.fromkeys(chain(*chains)))}
    sorter: TopologicalSorter[_Name] = TopologicalSorter({name: () for name in first_named})
    for names in chains:
        for better, worse in pairwise(names):
            sorter.add(worse, better)
    try:
        sorter.prepare()
    except CycleError:
        return list(first_named)
    order: list[_Name] = []
    ready: list[_Name] = []
    while sorter.is_active():
        ready += sorter.get_ready()
        ready.sort(key=first_named.__getitem__)
        order.append(ready.pop(0))
        sorter.done(order[-1])
    return order
