"""Buffers and pools as one writes them by hand."""

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
        in messages, and in `Buffer.pools`.
    limit
        bytes that may be used; None is no limit.
    is_constant
        holds constants: "hill_climb" does not add its peak to those of the others.
    """

    name: str
    limit: int | None = None
    is_constant: bool = False


@dataclass(frozen=True)
class Buffer:
    """One allocation to place, written by hand.

    Parameters
    ----------
    name
        unique in the problem.
    size
        bytes, 0 or more.
    live
        half-open ranges (start, stop) of time in which the content matters. Two buffers that are
        live at one time may not share bytes.
    alignment
        bytes of which the offset must be a multiple.
    pools
        names of the pools that may hold it, best first; all pools if empty.
    offset
        pins it to this byte, in whichever pool holds it.
    conflicts
        names of buffers that it may not share bytes with either.
    overlaps
        names of inputs that die where this output is written, each with the smallest number
        of bytes by which this one must start below it: then the two may share bytes although they
        are live together. 0 permits the same offset.
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
"""The pool of buffers that name none."""


def preferred_first(lists: Iterable[Sequence[_Name]]) -> list[_Name]:
    """The names in an order in which those of each list stand in its own order, first named first
    where there is a choice; if the lists contradict each other, first named first.
    """
    chains = list(dict.fromkeys(map(tuple, lists)))
    first_named = {name: number for number, name in enumerate(dict.fromkeys(chain(*chains)))}
    sorter: TopologicalSorter[_Name] = TopologicalSorter({name: () for name in first_named})
    for each in chains:
        for better, worse in pairwise(each):
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
