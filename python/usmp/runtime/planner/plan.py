"""Plan the managed buffer and the output buffers for the largest sizes of tensors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from usmp.analysis.relax_functions.function_memory import ManagedTensor
from usmp_solver import Pool, Problem, solve
from usmp_solver.check import check_columns
from usmp_solver.columns import column

ALIGNMENT = 64
"""Alignment of every tensor in bytes, on which TVM's kernels rely."""

_Numbers = NDArray[np.int64]


class StorageGroup:
    """A group of tensors at one offset of the managed buffer. No two of them are live together.

    Tensors of different groups may share bytes too.

    Parameters
    ----------
    tensor
        name of the first tensor; a group has at least one.
    max_tensor_size
        bytes of the largest tensor.
    """

    def __init__(self, tensor: str, max_tensor_size: int = 0) -> None:
        self._group = [tensor]
        self._max_tensor_size = max_tensor_size

    def add_tensor(self, tensor: str, size: int) -> None:
        """Add a tensor of `size` bytes."""
        self._group.append(tensor)
        self._max_tensor_size = max(self._max_tensor_size, size)

    @property
    def group(self) -> tuple[str, ...]:
        """The names of the tensors in order of allocation."""
        return tuple(self._group)

    @property
    def max_tensor_size(self) -> int:
        """The bytes of the largest tensor."""
        return self._max_tensor_size

    @property
    def num_managed_tensors(self) -> int:
        """The number of tensors that share the storage."""
        return len(self._group)

    def __repr__(self) -> str:
        return f"StorageGroup({', '.join(self._group)}; {self._max_tensor_size} bytes)"


@dataclass(frozen=True)
class TensorPlaces:
    """A plan of the tensors of a function. Lists are indexed by the number of the tensor.

    Parameters
    ----------
    sizes
        planned bytes; -1 for unmanaged tensors.
    offsets, limits
        offset in bytes, and the bytes to which a tensor may grow before it meets a tensor that is
        live at the same time; -1 for unmanaged tensors.
    sharing
        for each tensor, the numbers of the intermediates that share bytes with it.
    buffer_bytes, output_bytes
        bytes of the managed buffer and of an output buffer.
    groups
        groups of intermediates with one offset, by offset.
    num_reused
        number of intermediates that reuse bytes of an earlier one.
    """

    sizes: list[int]
    offsets: list[int]
    limits: list[int]
    sharing: list[list[int]]
    buffer_bytes: int
    output_bytes: int
    groups: tuple[StorageGroup, ...]
    num_reused: int


def plan_places(
    tensors: Sequence[ManagedTensor], sizes: Sequence[int], escaped: Collection[int], algorithm: str
) -> TensorPlaces:
    """Plan tensors of these sizes by an algorithm of the static planner, and check the plan.

    Parameters
    ----------
    tensors
        tensors of a function.
    sizes
        bytes of each tensor; -1 for unmanaged tensors.
    escaped
        numbers of further unmanaged tensors, which outlive a run.
    algorithm
        name of the algorithm, as in the option ``tir.usmp.algorithm``.

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
    offsets, limits = [0] * len(tensors), [-1] * len(tensors)
    sharing: list[list[int]] = [[] for _ in tensors]
    at, limit = _place([tensors[number] for number in inner], [sizes[n] for n in inner], algorithm)
    for row, number in enumerate(inner):
        offsets[number], limits[number] = int(at[row]), int(limit[row])
    intersect = _intersections(at, at + limit)
    for row, number in enumerate(inner):
        sharing[number] = [inner[other] for other in np.flatnonzero(intersect[row]) if other != row]
    output_bytes = _place_outputs(tensors, sizes, offsets, limits)
    planned = [max(sizes[n], 0) if limits[n] >= 0 else -1 for n in range(len(tensors))]
    return TensorPlaces(
        sizes=planned,
        offsets=offsets,
        limits=limits,
        sharing=sharing,
        buffer_bytes=max((offsets[n] + sizes[n] for n in inner), default=0),
        output_bytes=output_bytes,
        groups=_groups(tensors, inner, planned, offsets),
        num_reused=_num_reused(inner, planned, offsets),
    )


def _place(
    tensors: Sequence[ManagedTensor], sizes: Sequence[int], algorithm: str
) -> tuple[_Numbers, _Numbers]:
    """Return the offset of each tensor, and the most bytes that it may grow to in the buffer."""
    problem = _problem(tensors, np.array(sizes, np.int64))
    size, starts, stops = problem.sizes, problem.live_starts, problem.live_stops
    at = solve(problem, algorithm=algorithm).offsets if tensors else column()
    at = np.where(size > 0, at, 0)
    end = int(np.max(at + size, initial=0))
    # A tensor must not grow into tensors at higher offsets that are live with it.
    above = _intersections(starts, stops) & (at[None, :] > at[:, None]) & (size[None, :] > 0)
    limits = np.min(np.where(above, at[None, :], end), axis=1, initial=end)
    largest = np.where(size > 0, limits - at, 0)
    # Check the plan with each tensor at its largest possible size.
    if (largest < size).any():
        raise ValueError("plan check: a tensor of the planner is larger than its place")
    check_columns(_problem(tensors, largest), at, np.zeros(len(tensors), np.int64))
    return at, largest


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


def _intersections(starts: _Numbers, stops: _Numbers) -> NDArray[np.bool_]:
    """Return a matrix that is true for pairs of half-open intervals that intersect."""
    begin = np.maximum(starts[:, None], starts[None, :])
    return begin < np.minimum(stops[:, None], stops[None, :])


def _place_outputs(
    tensors: Sequence[ManagedTensor], sizes: Sequence[int], offsets: list[int], limits: list[int]
) -> int:
    """Place outputs one after another, and return their total bytes."""
    end = 0
    for number, tensor in enumerate(tensors):
        if tensor.is_output and sizes[number] >= 0:
            offsets[number] = end
            limits[number] = -(-sizes[number] // ALIGNMENT) * ALIGNMENT
            end += limits[number]
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
    intersect = _intersections(at, at + np.array([sizes[number] for number in inner], np.int64))
    return int(np.tril(intersect, -1).any(axis=1).sum())
