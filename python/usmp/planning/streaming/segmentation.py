"""Which operators run interleaved? By dynamic programming over the operators in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from usmp.planning.streaming.segment_bytes import operator_bytes, segment_bytes
from usmp.planning.streaming.streamed_main import Segment, StreamedMain

Interval: TypeAlias = tuple[int, int]
"""The first operator, and the one after the last."""

_MOST_OPERATORS = 48
"""Of a segment."""

_HIGH = 0.8
"""Of the bound: operators that take more may be worth streaming."""

_MOST_WORK = 200_000
"""Operators of all segments that are looked at."""


@dataclass(frozen=True)
class Segmentation:
    """Segments of a main function.

    Parameters
    ----------
    segments
        of more than one operator, in their order; with the first operator and the one after the
        last.
    bound_bytes
        no plan of the module with these segments has less.
    is_complete
        whether all segments were looked at, so that no choice has a lower bound.
    """

    segments: Mapping[Interval, Segment]
    bound_bytes: int
    is_complete: bool


def segmentations(main: StreamedMain) -> list[Segmentation]:
    """Segments with the lowest bound: of these the ones that stream the least; and those whose
    other segments have low bounds, too, for plans seldom take as little as the bound says."""
    costs = _Costs(main)
    count = len(main.operators)
    best = _least(costs, count)
    found: list[Segmentation] = []
    for share, price in ((1.0, costs.streamed), (_HIGH, costs.height)):
        # Segments without an operator that takes much would save nothing.
        large = [index for index in range(count) if costs.of(index, index + 1) > share * best]
        chosen = _cheapest(costs, count, best, large, price)
        segments = {i: costs.best(*i) for i in chosen if i[1] - i[0] > 1}
        if all(segments.keys() != other.segments.keys() for other in found):
            found.append(Segmentation(segments, int(best), costs.complete))
    return found


class _Costs:
    def __init__(self, main: StreamedMain) -> None:
        self.main = main
        self.work = 0
        self.complete = True
        self._known: dict[Interval, float] = {}

    def of(self, start: int, stop: int) -> float:
        key = start, stop
        if key not in self._known:
            self._known[key] = self._of(start, stop)
        return self._known[key]

    def _of(self, start: int, stop: int) -> float:
        if stop - start > 1:
            if stop - start > _MOST_OPERATORS or self.work > _MOST_WORK:
                self.complete = False
                return inf
            self.work += stop - start
            return min(
                (segment_bytes(self.main, start, s) for s in self._ways(start, stop)), default=inf
            )
        return operator_bytes(self.main, start)

    def _ways(self, start: int, stop: int) -> list[Segment]:
        """The segment by rows and by columns."""
        ways = (self.main.segment(start, stop), self.main.with_columns(start, stop))
        return [segment for segment in ways if segment is not None]

    def best(self, start: int, stop: int) -> Segment:
        """The way that takes the fewest bytes; by rows if columns save nothing."""
        return min(self._ways(start, stop), key=lambda s: segment_bytes(self.main, start, s))

    def streamed(self, start: int, stop: int) -> float:
        """Bytes that a segment moves at a time, and a small price for each operator in it."""
        if stop - start == 1:
            return 0
        rings = self.best(start, stop).interleaving.rings.values()
        moved = sum((ring.places - ring.moved) * ring.part_bytes for ring in rings)
        return (stop - start) * 1000 + moved

    def height(self, start: int, stop: int) -> float:
        """A price by which one high bound weighs more than several low ones."""
        return self.of(start, stop) ** 4 + (stop - start)


def _least(costs: _Costs, count: int) -> float:
    best = [0.0] + [inf] * count
    for stop in range(1, count + 1):
        for start in range(stop - 1, -1, -1):
            if costs.main.operators[start].loop is None and stop - start > 1:
                break
            if best[start] < best[stop]:
                best[stop] = min(best[stop], max(best[start], costs.of(start, stop)))
    return best[count]


def _cheapest(
    costs: _Costs,
    count: int,
    limit: float,
    large: Sequence[int],
    price: Callable[[int, int], float],
) -> list[Interval]:
    """The segments with the lowest sum of prices whose bounds are within the limit; each of several
    operators has one of those that are large."""
    best = [0.0] + [inf] * count
    back = [0] * (count + 1)
    for stop in range(1, count + 1):
        for start in range(stop - 1, -1, -1):
            if costs.main.operators[start].loop is None and stop - start > 1:
                break
            if stop - start > 1 and not any(start <= index < stop for index in large):
                continue
            if best[start] < inf and costs.of(start, stop) <= limit:
                total = best[start] + price(start, stop)
                if total < best[stop]:
                    best[stop], back[stop] = total, start
    found: list[Interval] = []
    stop = count
    while stop:
        found.append((back[stop], stop))
        stop = back[stop]
    return found[::-1]
