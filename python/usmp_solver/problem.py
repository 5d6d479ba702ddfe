"""The placement problem: buffers, when they are live, and the pools that may hold them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from operator import index
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from usmp.objects import BufferInfo

Column: TypeAlias = NDArray[np.int64]

_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True)
class Pool:
    """Memory to place buffers in.

    Parameters
    ----------
    name: in messages, and in `Buffer.pools`.
    limit: bytes that may be used; None is no limit.
    """

    name: str
    limit: int | None = None


@dataclass(frozen=True)
class Buffer:
    """One allocation to place, written by hand.

    Parameters
    ----------
    name: unique in the problem.
    size: bytes, 0 or more.
    live: half-open ranges (start, stop) of time in which the content matters. Two buffers that are
        live at one time may not share bytes.
    alignment: bytes of which the offset must be a multiple.
    pools: names of the pools that may hold it, best first; all pools if empty.
    offset: pins it to this byte, in whichever pool holds it.
    conflicts: names of buffers that it may not share bytes with either.
    overlaps: names of inputs that die where this output is written, each with the smallest number
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
"""Where nobody names a pool."""


def column(values: Iterable[int] = ()) -> Column:
    """The numbers as a column.

    Raises
    ------
    ValueError
        A number does not fit 64 bits, or is not whole; NumPy would cut it off.
    """
    numbers = list(values)
    try:
        return np.array(list(map(index, numbers)), np.int64)
    except (OverflowError, TypeError) as error:
        raise ValueError(
            f"a number of the problem is no whole number of 64 bits: {error}"
        ) from error


@dataclass(frozen=True, eq=False)
class Problem:
    """Buffers and pools as columns of numbers, a row for every buffer.

    Make one with `from_buffers`, `from_csv` or `from_buffer_infos`, or from columns of int64 that
    you have: there is no object for a buffer, so that a million of them are no burden. Lists of a
    buffer lie one after the other in a column of their own; those of buffer `b` are at `first[b]`
    up to `first[b + 1]`.

    Parameters
    ----------
    names: of the buffers, for messages.
    pools: from the most to the least preferred.
    sizes: bytes.
    live_first, live_starts, live_stops: half-open live ranges.
    alignments: bytes of which the offset must be a multiple; 1 if missing.
    fixed_offsets: the byte that the buffer is pinned to, or -1; -1 if missing.
    candidate_first, candidates: pools that may hold the buffer, best first; all pools if missing.
    conflict_firsts, conflict_seconds: pairs of buffers that may not share bytes, whatever live
        ranges say.
    overlap_outputs, overlap_inputs, overlap_distances: an output may start `distance` or more bytes
        below an input that dies there, though the two conflict.

    Raises
    ------
    ValueError
        A number is out of its range; the message names the buffer.
    """

    names: Sequence[str]
    pools: tuple[Pool, ...]
    sizes: Column
    live_first: Column
    live_starts: Column
    live_stops: Column
    alignments: Column = None  # type: ignore[assignment]
    fixed_offsets: Column = None  # type: ignore[assignment]
    candidate_first: Column = None  # type: ignore[assignment]
    candidates: Column = None  # type: ignore[assignment]
    conflict_firsts: Column = field(default_factory=column)
    conflict_seconds: Column = field(default_factory=column)
    overlap_outputs: Column = field(default_factory=column)
    overlap_inputs: Column = field(default_factory=column)
    overlap_distances: Column = field(default_factory=column)

    def __post_init__(self) -> None:
        count, pools = len(self.sizes), len(self.pools)
        defaults = {
            "alignments": np.ones(count, np.int64),
            "fixed_offsets": np.full(count, -1, np.int64),
            "candidate_first": np.arange(count + 1, dtype=np.int64) * pools,
            "candidates": np.tile(np.arange(pools, dtype=np.int64), count),
        }
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        from usmp_solver.validate import validate

        validate(self)

    def __len__(self) -> int:
        """The number of buffers."""
        return len(self.sizes)

    def columns(self) -> dict[str, Column]:
        """What the C++ library reads."""
        limits = [-1 if pool.limit is None else pool.limit for pool in self.pools]
        columns = {name: value for name, value in vars(self).items() if name not in _NO_COLUMNS}
        return {**columns, "pool_limits": column(limits)}

    @staticmethod
    def from_buffers(buffers: Iterable[Buffer], pools: Sequence[Pool] = (DEFAULT_POOL,)) -> Problem:
        """The problem of buffers that are written by hand.

        Raises
        ------
        ValueError
            A name is unknown or used twice, or a number is out of its range.
        """
        buffers = list(buffers)
        numbers = _numbers_of([buffer.name for buffer in buffers], "buffer")
        pool_numbers = _numbers_of([pool.name for pool in pools], "pool")
        for buffer in buffers:
            for name in (*buffer.conflicts, *buffer.overlaps):
                if name not in numbers:
                    raise ValueError(f'buffer "{buffer.name}" names the unknown buffer "{name}"')
            for name in buffer.pools:
                if name not in pool_numbers:
                    known = ", ".join(pool_numbers)
                    raise ValueError(
                        f'buffer "{buffer.name}" names the unknown pool "{name}"; known: {known}'
                    )
        return _assemble(
            [buffer.name for buffer in buffers],
            tuple(pools),
            [buffer.size for buffer in buffers],
            [buffer.alignment for buffer in buffers],
            [buffer.offset for buffer in buffers],
            [[pool_numbers[name] for name in buffer.pools or pool_numbers] for buffer in buffers],
            [buffer.live for buffer in buffers],
            [(a, numbers[name]) for a, buffer in enumerate(buffers) for name in buffer.conflicts],
            [
                (a, numbers[name], distance)
                for a, buffer in enumerate(buffers)
                for name, distance in buffer.overlaps.items()
            ],
        )

    @staticmethod
    def from_csv(
        path: str | os.PathLike[str], capacity: int | Mapping[str, int] | None = None
    ) -> Problem:
        """The problem of a file with the columns id, lower, upper, size, and others that
        docs/solver.md names.

        Parameters
        ----------
        path: the file.
        capacity: bytes of the only pool, or of each pool by name; None is no limit.

        Raises
        ------
        ValueError
            The file is no such problem; the message names line and buffer.
        """
        from usmp_solver.read_csv import read_csv

        return read_csv(os.fspath(path), capacity).problem

    @staticmethod
    def from_buffer_infos(buffers: Iterable[BufferInfo]) -> Problem:
        """The problem of what the analysis of a module, or another algorithm, works on.

        Pools are preferred as the planner prefers them; see `preferred_first`.

        Raises
        ------
        ValueError
            A buffer is listed twice, or two pools of one name have different limits.
        """
        buffers = list(buffers)
        numbers = {buffer: number for number, buffer in enumerate(buffers)}
        if len(numbers) < len(buffers):
            raise ValueError("a buffer is listed twice")
        pools: dict[str, Pool] = {}
        for buffer in buffers:
            for info in buffer.pool_candidates:
                limit = info.size_hint_bytes
                pool = Pool(str(info.pool_name), None if limit < 0 else limit)
                if pools.setdefault(pool.name, pool) != pool:
                    raise ValueError(f'two different pools are called "{pool.name}"')
        candidates = [[str(info.pool_name) for info in b.pool_candidates] for b in buffers]
        pool_names = preferred_first(candidates)
        pool_numbers = {name: number for number, name in enumerate(pool_names)}
        return _assemble(
            [str(buffer.name_hint) for buffer in buffers],
            tuple(pools[name] for name in pool_names),
            [buffer.size_bytes for buffer in buffers],
            [buffer.alignment for buffer in buffers],
            [buffer.fixed_offset for buffer in buffers],
            [[pool_numbers[name] for name in names] for names in candidates],
            [[(span.start, span.stop) for span in buffer.live_ranges] for buffer in buffers],
            [
                (number, numbers[other])
                for buffer, number in numbers.items()
                for other in buffer.conflicts
                if other in numbers and other != buffer
            ],
            [
                (number, numbers[dying], distance)
                for buffer, number in numbers.items()
                for dying, distance in buffer.overlaps.items()
                if dying in numbers and distance < buffer.size_bytes
            ],
        )


_NO_COLUMNS = ("names", "pools")


def first_of(lists: Iterable[Sequence[Any]]) -> Column:
    """Where the list of each buffer begins when they lie one after the other; then their end."""
    return np.concatenate([[0], np.cumsum([len(each) for each in lists], dtype=np.int64)])


def preferred_first(lists: Iterable[Sequence[str]]) -> list[str]:
    """The names in an order in which those of each list stand in its own order, first named first
    where there is a choice; if the lists contradict each other, first named first.
    """
    lists = list(dict.fromkeys(map(tuple, lists)))
    first_named = {name: number for number, name in enumerate(dict.fromkeys(chain(*lists)))}
    sorter: TopologicalSorter[str] = TopologicalSorter({name: () for name in first_named})
    for each in lists:
        for better, worse in pairwise(each):
            sorter.add(worse, better)
    try:
        sorter.prepare()
    except CycleError:
        return list(first_named)
    order: list[str] = []
    ready: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=first_named.__getitem__)
        order.append(ready.pop(0))
        sorter.done(order[-1])
    return order


def _numbers_of(names: Sequence[str], what: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, name in enumerate(names):
        if numbers.setdefault(name, number) != number:
            raise ValueError(f'two {what}s are called "{name}"; give each a name of its own')
    return numbers


def _assemble(
    names: list[str],
    pools: tuple[Pool, ...],
    sizes: list[int],
    alignments: list[int],
    offsets: list[int | None],
    candidates: list[list[int]],
    live: list[Any],
    conflicts: list[tuple[int, int]],
    overlaps: list[tuple[int, int, int]],
) -> Problem:
    for name, offset in zip(names, offsets, strict=True):
        if offset is not None and not 0 <= offset <= _INT64_MAX:
            raise ValueError(f'buffer "{name}": offset {offset} is no byte of a pool')
    return Problem(
        names=names,
        pools=pools,
        sizes=column(sizes),
        alignments=column(alignments),
        fixed_offsets=column(-1 if offset is None else offset for offset in offsets),
        candidate_first=first_of(candidates),
        candidates=column(pool for each in candidates for pool in each),
        live_first=first_of(live),
        live_starts=column(start for each in live for start, _ in each),
        live_stops=column(stop for each in live for _, stop in each),
        conflict_firsts=column(pair[0] for pair in conflicts),
        conflict_seconds=column(pair[1] for pair in conflicts),
        overlap_outputs=column(overlap[0] for overlap in overlaps),
        overlap_inputs=column(overlap[1] for overlap in overlaps),
        overlap_distances=column(overlap[2] for overlap in overlaps),
    )
