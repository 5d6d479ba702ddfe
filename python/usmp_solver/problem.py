"""The placement problem: buffers, when they are live, and the pools that may hold them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from usmp_solver.buffers import DEFAULT_POOL, Buffer, Pool
from usmp_solver.columns import INT64_MAX, Column, column, first_of
from usmp_solver.validate import check_pools, validate


@dataclass(frozen=True, eq=False)
class Problem:
    """Buffers and pools as columns of numbers, with a row for every buffer.

    Construct one with `from_buffers`, `read_csv`, or from columns of int64. There are no objects
    for buffers, so that a million of them are cheap. Lists, such as candidates, are concatenated in
    one column. The list of buffer `b` has the entries from `first[b]` to `first[b + 1] - 1`, where
    `first` is `live_first` or `candidate_first`.

    Parameters
    ----------
    names
        names of the buffers, for messages.
    pools
        pools, from the most to the least preferred.
    sizes
        sizes in bytes.
    live_first, live_starts, live_stops
        half-open live ranges.
    alignments
        required divisors of the offsets, in bytes; 1 if missing.
    fixed_offsets
        pinned offsets in bytes, or -1; all -1 if missing.
    candidate_first, candidates
        pools that may hold the buffer, best first; all pools if missing.
    conflict_firsts, conflict_seconds
        pairs of buffers that conflict regardless of live ranges.
    overlap_outputs, overlap_inputs, overlap_distances
        safe overlaps: an output may start `distance` or more bytes below an input that dies there,
        though the two conflict.

    Raises
    ------
    ValueError
        A number is out of range; the message names the buffer.
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
        check_pools(self.pools)
        validate(self.names, self.pools, self.columns())

    def __len__(self) -> int:
        """Return the number of buffers."""
        return len(self.sizes)

    def columns(self) -> dict[str, Column]:
        """Return the columns for the C++ library."""
        limits = [-1 if pool.limit is None else pool.limit for pool in self.pools]
        return {
            **{name: value for name, value in vars(self).items() if name not in _NO_COLUMNS},
            "pool_limits": column(limits),
            "pool_is_constant": column(pool.is_constant for pool in self.pools),
        }

    @staticmethod
    def from_buffers(buffers: Iterable[Buffer], pools: Sequence[Pool] = (DEFAULT_POOL,)) -> Problem:
        """Return the problem of buffers that are written by hand.

        Raises
        ------
        ValueError
            A name is unknown or used twice, or a number is out of range.
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


_NO_COLUMNS = ("names", "pools")


def _numbers_of(names: Sequence[str], kind: str) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, name in enumerate(names):
        if numbers.setdefault(name, number) != number:
            raise ValueError(f'two {kind}s are called "{name}"; give each a name of its own')
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
        if offset is not None and not 0 <= offset <= INT64_MAX:
            raise ValueError(f'buffer "{name}": offset {offset} is no byte of a pool')
    return Problem(
        names=names,
        pools=pools,
        sizes=column(sizes),
        alignments=column(alignments),
        fixed_offsets=column(-1 if offset is None else offset for offset in offsets),
        candidate_first=first_of(candidates),
        candidates=column(pool for pools_of_buffer in candidates for pool in pools_of_buffer),
        live_first=first_of(live),
        live_starts=column(start for ranges in live for start, _ in ranges),
        live_stops=column(stop for ranges in live for _, stop in ranges),
        conflict_firsts=column(pair[0] for pair in conflicts),
        conflict_seconds=column(pair[1] for pair in conflicts),
        overlap_outputs=column(overlap[0] for overlap in overlaps),
        overlap_inputs=column(overlap[1] for overlap in overlaps),
        overlap_distances=column(overlap[2] for overlap in overlaps),
    )
