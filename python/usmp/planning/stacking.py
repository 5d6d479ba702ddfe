"""The order of stacked buffers that has the smallest peaks at many sizes at once.

The relations are a disjunctive graph, as in machine scheduling: each pair of conflicting buffers
has an arc from the lower to the higher one, and a buffer begins where the longest path to it ends.
A local search reverses arcs of longest paths, one at a time, while peaks shrink; E. Balas, "Machine
sequencing via disjunctive graphs", 1969.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

import numpy as np

Below: TypeAlias = list[set[int]]
"""For each buffer, the conflicting buffers below it."""

_NEAR = 16
"""The exponent of ends in the smooth maximum: an end at half the peak counts 2^-16 as much."""

_MOST_STEPS = 200
_MOST_TRIALS = 4000


@dataclass(frozen=True, eq=False)
class StackingProblem:
    """Buffers of one pool, by index.

    Parameters
    ----------
    bytes
        size of each buffer, of shape (buffers, sizes).
    separations
        (lower, higher) -> least bytes between their starts at each size, for both directions of
        each pair of buffers that conflict.
    alignments
        alignment of each buffer, in bytes.
    """

    bytes: np.ndarray
    separations: dict[tuple[int, int], np.ndarray]
    alignments: list[int]


@dataclass(frozen=True, eq=False)
class Stack:
    """Buffers at their offsets.

    Parameters
    ----------
    order
        the buffers, each after those below it.
    places
        byte offset of each buffer, of shape (buffers, sizes).
    ends
        end address of each buffer, of shape (buffers, sizes); 0 for buffers without bytes.
    """

    order: list[int]
    places: np.ndarray
    ends: np.ndarray

    @property
    def peaks(self) -> np.ndarray:
        """The highest end at each size."""
        highest: np.ndarray = self.ends.max(axis=0, initial=0)
        return highest


def stacked(problem: StackingProblem, below: Below) -> Stack | None:
    """Place each buffer as low as the relations permit; return None if they have a cycle."""
    try:
        order = list(TopologicalSorter(dict(enumerate(below))).static_order())
    except CycleError:
        return None
    places = np.zeros_like(problem.bytes)
    for buffer in order:
        for lower in below[buffer]:
            np.maximum(
                places[buffer],
                places[lower] + problem.separations[lower, buffer],
                out=places[buffer],
            )
        alignment = problem.alignments[buffer]
        if alignment > 1:
            places[buffer] = -(-places[buffer] // alignment) * alignment
    ends = np.where(problem.bytes > 0, places + problem.bytes, 0)
    return Stack(order, places, ends)


def least_at_all_sizes(problem: StackingProblem, below: Below) -> Below:
    """Return relations with smaller peaks at some sizes, and no larger peak at the first size,
    which is the largest.

    The objective is the sum of the logarithms of smooth maxima, so that lowering one of several
    buffers that end near the peak improves it, too.

    Parameters
    ----------
    below
        relations without a cycle.
    """
    best = stacked(problem, below)
    assert best is not None
    limit, trials = int(best.peaks[0]), 0
    for _ in range(_MOST_STEPS):
        choice: tuple[float, Below, Stack] | None = None
        for lower, higher in _critical(problem, below, best):
            trials += 1
            turned = _turned(below, lower, higher)
            stack = stacked(problem, turned)
            if stack is None or int(stack.peaks[0]) > limit:
                continue
            value = _value(stack)
            if value < _value(best) - 1e-9 and (choice is None or value < choice[0]):
                choice = value, turned, stack
        if choice is None or trials > _MOST_TRIALS:
            break
        _, below, best = choice
    return below


def _value(stack: Stack) -> float:
    peaks = np.maximum(stack.peaks, 1)
    near = ((stack.ends / peaks) ** _NEAR).sum(axis=0)
    return float((np.log(peaks) + np.log(np.maximum(near, 1)) / _NEAR).sum())


def _turned(below: Sequence[set[int]], lower: int, higher: int) -> Below:
    changed = list(below)
    changed[higher] = changed[higher] - {lower}
    changed[lower] = changed[lower] | {higher}
    return changed


def _critical(problem: StackingProblem, below: Below, stack: Stack) -> list[tuple[int, int]]:
    """Return the arcs of a longest path at each size, without duplicates."""
    arcs: dict[tuple[int, int], None] = {}
    tops = stack.ends.argmax(axis=0)
    for size in range(problem.bytes.shape[1]):
        buffer = int(tops[size])
        while below[buffer] and stack.places[buffer, size] > 0:
            lower = max(
                sorted(below[buffer]),
                key=lambda b: stack.places[b, size] + problem.separations[b, buffer][size],
            )
            arcs[lower, buffer] = None
            buffer = lower
    return list(arcs)
