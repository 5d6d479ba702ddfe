"""From the largest sizes of tensors to places in the managed buffer and in output buffers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usmp.analysis.function_memory import ManagedTensor
from usmp_solver import Pool, Problem, solve
from usmp_solver.check import check_columns
from usmp_solver.columns import column

ALIGNMENT = 64
"""Bytes of which every place is a multiple; TVM's kernels rely on it."""

_Numbers = NDArray[np.int64]


class StorageGroup:
    """Tensors that share backing storage: their places begin at one byte of the managed buffer.

    No two of them are live together. Tensors of other groups may share bytes with them, too.

    Parameters
    ----------
    tensor
        name of the first of them; every group has at least one.
    max_tensor_size
        bytes of the largest.
    """

    def __init__(self, tensor: str, max_tensor_size: int = 0) -> None:
        self._group = [tensor]
        self._max_tensor_size = max_tensor_size

    def add_tensor(self, tensor: str, size: int) -> None:
        """Add a tensor of this many bytes."""
        self._group.append(tensor)
        self._max_tensor_size = max(self._max_tensor_size, size)

    @property
    def group(self) -> tuple[str, ...]:
        """The names of the tensors, in the order in which they are allocated."""
        return tuple(self._group)

    @property
    def max_tensor_size(self) -> int:
        """Bytes of the largest."""
        return self._max_tensor_size

    @property
    def num_managed_tensors(self) -> int:
        """How many tensors share the storage."""
        return len(self._group)

    def __repr__(self) -> str:
        return f"StorageGroup({', '.join(self._group)}; {self._max_tensor_size} bytes)"


@dataclass(frozen=True)
class TensorPlaces:
    """Where tensors have their places; by number of the tensor.

    Parameters
    ----------
    sizes
        bytes that were planned for; -1 for tensors without a place.
    offsets, rooms
        first byte of each place, and bytes up to the next tensor that is live then: a tensor may
        grow so far without another plan. A room of -1 is no place.
    sharing
        intermediates whose places share bytes with this one's.
    buffer_bytes, output_bytes
        what the managed buffer and an output buffer have to have.
    groups
        the intermediates, by the byte at which their places begin.
    num_reused
        intermediates with bytes that are those of one that was allocated before.
    """

    sizes: list[int]
    offsets: list[int]
    rooms: list[int]
    sharing: list[list[int]]
    buffer_bytes: int
    output_bytes: int
    groups: tuple[StorageGroup, ...]
    num_reused: int


def plan_places(
    tensors: Sequence[ManagedTensor], sizes: Sequence[int], escaped: Collection[int], algorithm: str
) -> TensorPlaces:
    """Places for tensors of these sizes, by an algorithm of the static planner, and checked.

    Parameters
    ----------
    tensors
        those of a function.
    sizes
        bytes, by tensor; -1 for those that get no place.
    escaped
        numbers of tensors that get none either.
    algorithm
        as in the option ``tir.usmp.algorithm``.

    Raises
    ------
    ValueError
        The algorithm is unknown, or its plan is not sound.
    """
    inner = [
        number
        for number, tensor in enumerate(tensors)
        if not tensor.is_output and sizes[number] >= 0 and number not in escaped
    ]
    offsets, rooms = [0] * len(tensors), [-1] * len(tensors)
    sharing: list[list[int]] = [[] for _ in tensors]
    at, room = _place([tensors[number] for number in inner], [sizes[n] for n in inner], algorithm)
    for row, number in enumerate(inner):
        offsets[number], rooms[number] = int(at[row]), int(room[row])
    meet = _meet(at, at + room)
    for row, number in enumerate(inner):
        sharing[number] = [inner[other] for other in np.flatnonzero(meet[row]) if other != row]
    output_bytes = _place_outputs(tensors, sizes, offsets, rooms)
    planned = [max(sizes[n], 0) if rooms[n] >= 0 else -1 for n in range(len(tensors))]
    return TensorPlaces(
        sizes=planned,
        offsets=offsets,
        rooms=rooms,
        sharing=sharing,
        buffer_bytes=max((offsets[n] + sizes[n] for n in inner), default=0),
        output_bytes=output_bytes,
        groups=_groups(tensors, inner, planned, offsets),
        num_reused=_num_reused(inner, planned, offsets),
    )


def _place(
    tensors: Sequence[ManagedTensor], sizes: Sequence[int], algorithm: str
) -> tuple[_Numbers, _Numbers]:
    """First bytes and rooms of the tensors, at most up to the highest end of one of them."""
    problem = _problem(tensors, np.array(sizes, np.int64))
    size, starts, stops = problem.sizes, problem.live_starts, problem.live_stops
    at = solve(problem, algorithm=algorithm).offsets if tensors else column()
    at = np.where(size > 0, at, 0)
    end = int(np.max(at + size, initial=0))
    # Places that a tensor must not grow into: those above it, of tensors that are live with it.
    above = _meet(starts, stops) & (at[None, :] > at[:, None]) & (size[None, :] > 0)
    limits = np.min(np.where(above, at[None, :], end), axis=1, initial=end)
    rooms = np.where(size > 0, limits - at, 0)
    # Each tensor is checked as large as it may become.
    if (rooms < size).any():
        raise ValueError("plan check: a tensor of the planner is larger than its place")
    check_columns(_problem(tensors, rooms), at, np.zeros(len(tensors), np.int64))
    return at, rooms


def _problem(tensors: Sequence[ManagedTensor], sizes: _Numbers) -> Problem:
    return Problem(
        names=[tensor.name for tensor in tensors],
        pools=(Pool("managed buffer"),),
        sizes=sizes,
        live_first=np.arange(len(tensors) + 1, dtype=np.int64),
        live_starts=column(tensor.start for tensor in tensors),
        live_stops=column(tensor.stop for tensor in tensors),
        alignments=np.full(len(tensors), ALIGNMENT, np.int64),
    )


def _meet(starts: _Numbers, stops: _Numbers) -> NDArray[np.bool_]:
    """Which two of the half-open ranges have something in common."""
    begin = np.maximum(starts[:, None], starts[None, :])
    return begin < np.minimum(stops[:, None], stops[None, :])


def _place_outputs(
    tensors: Sequence[ManagedTensor], sizes: Sequence[int], offsets: list[int], rooms: list[int]
) -> int:
    """Give outputs places of their own, one behind the other; bytes that they take together."""
    end = 0
    for number, tensor in enumerate(tensors):
        if tensor.is_output and sizes[number] >= 0:
            offsets[number] = end
            rooms[number] = -(-sizes[number] // ALIGNMENT) * ALIGNMENT
            end += rooms[number]
    return end


def _groups(
    tensors: Sequence[ManagedTensor], inner: Sequence[int], sizes: list[int], offsets: list[int]
) -> tuple[StorageGroup, ...]:
    groups: dict[int, StorageGroup] = {}
    for number in inner:
        name, size = tensors[number].name, sizes[number]
        if size == 0:
            continue
        if offsets[number] in groups:
            groups[offsets[number]].add_tensor(name, size)
        else:
            groups[offsets[number]] = StorageGroup(name, size)
    return tuple(groups[offset] for offset in sorted(groups))


def _num_reused(inner: Sequence[int], sizes: list[int], offsets: list[int]) -> int:
    at = np.array([offsets[number] for number in inner], np.int64)
    meet = _meet(at, at + np.array([sizes[number] for number in inner], np.int64))
    return int(np.tril(meet, -1).any(axis=1).sum())
