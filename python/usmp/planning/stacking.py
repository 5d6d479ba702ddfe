"""Buffers on top of each other, at many sizes at once: which of two conflicting ones is below?

The relations are those of a disjunctive graph, as schedules of machines have them: each pair of
conflicting buffers has an arc from the lower to the higher one, and a buffer begins where the
longest path to it ends. A search turns arcs of longest paths around, one at a time, while that
helps; E. Balas, "Machine sequencing via disjunctive graphs", 1969.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

import numpy as np

Below: TypeAlias = list[set[int]]
"""For each buffer those below it with which it conflicts."""

_NEAR = 16
"""The power of ends: half as high counts 2^-16 as much."""

_MOST_STEPS = 200
_MOST_TRIALS = 4000


@dataclass(frozen=True, eq=False)
class StackingProblem:
    """Buffers of one pool, by index.

    Parameters
    ----------
    bytes
        an array of (buffers, sizes).
    separations
        (lower, higher) -> by how many bytes the second begins behind the beginning of the first, at
        each size; both directions of each pair of buffers that conflict.
    alignments
        of each buffer, in bytes.
    """

    bytes: np.ndarray
    separations: dict[tuple[int, int], np.ndarray]
    alignments: list[int]


@dataclass(frozen=True, eq=False)
class Stack:
    """Buffers in their places.

    Parameters
    ----------
    order
        the buffers, each after those below it.
    places
        their offsets, an array of (buffers, sizes).
    ends
        where they end; 0 for those without bytes.
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
    """Each buffer as low as the relations permit; None if they go around in a circle."""
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
    """Relations with smaller peaks at some sizes, and no larger one at the first, the largest.

    What counts is the sum of the logarithms of the peaks, made smooth: where several buffers end
    near the peak, one that ends lower counts, too.

    Parameters
    ----------
    below
        relations that are no circle.
    """
    best = stacked(problem, below)
    assert best is not None
    limit, trials = int(best.peaks[0]), 0
    for _ in range(_MOST_STEPS):
        found: tuple[float, Below, Stack] | None = None
        for lower, higher in _critical(problem, below, best):
            trials += 1
            turned = _turned(below, lower, higher)
            stack = stacked(problem, turned)
            if stack is None or int(stack.peaks[0]) > limit:
                continue
            value = _value(stack)
            if value < _value(best) - 1e-9 and (found is None or value < found[0]):
                found = value, turned, stack
        if found is None or trials > _MOST_TRIALS:
            break
        _, below, best = found
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
    """The arcs of a longest path at each size, each once."""
    arcs: dict[tuple[int, int], None] = {}
    tops = stack.ends.argmax(axis=0)
    for size in range(problem.bytes.shape[1]):
        buffer = int(tops[size])
        while below[buffer] and stack.places[buffer, size] > 0:
            lower = max(
                sorted(below[buffer]),
                key=lambda one: stack.places[one, size] + problem.separations[one, buffer][size],
            )
            arcs[lower, buffer] = None
            buffer = lower
    return list(arcs)
