"""The choice of operators that run interleaved, by dynamic programming over their order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from math import inf
from sys import float_info
from typing import Protocol, TypeAlias

from usmp.planning.streaming.io_by_rows import keeps_no_whole, uses_by_rows
from usmp.planning.streaming.segment import Segment
from usmp.planning.streaming.segment_bytes import Taken, operator_bytes, segment_bytes
from usmp.planning.streaming.streamed_main import StreamedMain
from usmp.support.found import Found

Interval: TypeAlias = tuple[int, int]
"""The positions of the first operator, and of the one after the last."""

_Way: TypeAlias = tuple[Taken, Segment | None]
"""The bytes of operators, and their segment; None for an operator by itself."""

_MOST_OPERATORS = 48
"""Most operators in a segment."""

_LENGTHS = (4, 8, 16)
"""Lengths of segments that are tried before longer ones."""

_HIGH = 0.7
"""A segment needs an operator that alone takes more than this share of the fewest bytes."""

_MOST_WORK = 24_000
"""Most operators in all segments that are tried, by rows and by columns. Long loops count more."""

_STEPS = 4096
"""Steps of a loop that count as one more operator, because they take as long to schedule."""


@dataclass(frozen=True)
class Segmentation:
    """A choice of the operators that run interleaved.

    Parameters
    ----------
    segments
        segments of several operators, by interval.
    live_bytes
        lower bound of the bytes in a plan with these segments.
    """

    segments: Mapping[Interval, Segment]
    live_bytes: int


@dataclass(frozen=True)
class Segmentations:
    """Choices of the operators of a main function that run interleaved.

    Parameters
    ----------
    choices
        choices that are worth a plan, sorted by estimates, the best first.
    fewest
        the one choice with the fewest interleaved operators that materializes no streamed tensor;
        empty if there are no streamed tensors, or if no choice can avoid it.
    bound_bytes
        lower bound of the bytes in a plan with any segments that are tried; None if some segments
        were not tried.
    """

    choices: list[Segmentation]
    fewest: list[Segmentation]
    bound_bytes: int | None


def segmentations(main: StreamedMain, has_time: Callable[[], bool] | None = None) -> Segmentations:
    """Return choices of segments. The first one takes the fewest bytes by an estimate, with as few
    interleaved operators as possible. The others, one of them by rows only, also keep the smaller
    segments small, because plans may take more than the estimate.

    Parameters
    ----------
    main
        the main function.
    has_time
        returns whether more segments may be tried; always by default.
    """
    costs = _Costs(main, has_time=has_time)
    by_rows = _Costs(main, costs)
    choices: list[Segmentation] = []
    for segment_costs, share, price in (
        (costs, 1.0, _Streamed(costs)),
        (costs, _HIGH, _Height(costs)),
        (by_rows, _HIGH, _Height(by_rows)),
    ):
        chosen = _choice(segment_costs, share, price)
        if chosen is not None and all(chosen.segments != other.segments for other in choices):
            choices.append(chosen)
    bound = costs.least(costs.live)
    return Segmentations(
        choices,
        _fewest(by_rows) or _fewest(costs),
        int(bound) if costs.complete and bound < inf else None,
    )


def _choice(costs: _Costs, share: float, price: _Price) -> Segmentation | None:
    """Return the segments with the lowest price among those with the fewest bytes; None if no
    operators are interleaved, or if a streamed tensor is materialized in every choice.

    Parameters
    ----------
    share
        a segment needs an operator that alone takes more than this share of the fewest bytes.
    """
    best = costs.least(costs.of)
    if best == inf:
        # Streamed inputs and outputs would be materialized.
        return None
    # Segments without a large operator would save nothing.
    large = [index for index in range(costs.count) if costs.of(index, index + 1) > share * best]
    chosen = _cheapest(costs, best, large, price)
    segmentation = _segmentation(costs, chosen)
    return segmentation if segmentation.segments else None


def _fewest(costs: _Costs) -> list[Segmentation]:
    """Return the segments with the fewest operators that streamed inputs and outputs need."""
    needed = [index for index in range(costs.count) if costs.of(index, index + 1) == inf]
    if not needed or costs.least(costs.of) == inf:
        return []
    chosen = _cheapest(costs, float_info.max, needed, _Streamed(costs))
    return [_segmentation(costs, chosen)]


def _segmentation(costs: _Costs, chosen: Sequence[Interval]) -> Segmentation:
    segments = {i: costs.best(*i) for i in chosen if i[1] - i[0] > 1}
    return Segmentation(segments, int(max(costs.live(*interval) for interval in chosen)))


class _Costs:
    """The bytes that intervals of operators take, computed once.

    Parameters
    ----------
    any_way
        costs by rows and by columns; if given, the new object has the costs by rows only.
    has_time
        see `segmentations`.
    """

    def __init__(
        self,
        main: StreamedMain,
        any_way: _Costs | None = None,
        has_time: Callable[[], bool] | None = None,
    ) -> None:
        self.main = main
        self.has_time = has_time or (lambda: True)
        self.any_way = any_way
        self.count = len(main.operators)
        self.work = 0
        self.complete = True
        loops = [operator.loop for operator in main.operators]
        self._work = [1 + (loop.steps * loop.columns // _STEPS if loop else 0) for loop in loops]
        self._known, self._reserved = Found(), Found()

    def of(self, start: int, stop: int) -> float:
        """Return an estimate of the bytes that an interval needs in a plan."""
        return min((t.estimate_bytes for t, _ in self._taken(start, stop)), default=inf)

    def live(self, start: int, stop: int) -> float:
        """Return a lower bound of the bytes that an interval needs in a plan."""
        return min((t.live_bytes for t, _ in self._taken(start, stop)), default=inf)

    def least(self, cost: Callable[[int, int], float]) -> float:
        """Return the smallest possible maximum over intervals of a cost, `of` or `live`."""
        reserve = None if self._has_time_for_all else (self.any_way or self).reserve
        return _least(cost, self.main.ends.cuts, reserve)

    @cached_property
    def _has_time_for_all(self) -> bool:
        """Whether there is time to try all segments, so that their order does not matter."""
        work = 0
        for stop in range(1, self.count + 1):
            of_segment = self._work[stop - 1]
            for start in range(stop - 2, self.main.apart[stop - 1] - 1, -1):
                of_segment += self._work[start]
                work += 2 * of_segment
                if work > _MOST_WORK or stop - start > _MOST_OPERATORS:
                    return False
        return True

    def best(self, start: int, stop: int) -> Segment:
        """Return the segment with the fewest bytes; by rows if columns save none."""
        ways = self._taken(start, stop)
        _, segment = min(ways, key=lambda way: way[0].estimate_bytes)
        assert segment is not None
        return segment

    def _taken(self, start: int, stop: int) -> Iterable[_Way]:
        if self.any_way is not None:
            return islice(self.any_way._ways(start, stop), 1)
        return self._ways(start, stop)

    def _ways(self, start: int, stop: int) -> Iterator[_Way]:
        """Yield the ways to run operators, by rows first, because columns take longer to find."""
        if self.reserve(start, stop):
            for by_columns in (False, True):
                find = partial(self._find, start, stop, by_columns)
                yield from self._known.once((start, stop, by_columns), find)

    def reserve(self, start: int, stop: int) -> bool:
        """Return whether an interval can be a segment, and there is time for it. The first call
        spends the time, even if the caller then skips the interval because of `cuts`."""
        return self._reserved.once((start, stop), partial(self._reserve, start, stop))

    def _reserve(self, start: int, stop: int) -> bool:
        if stop - start == 1:
            return True
        if self.main.apart[stop - 1] > start:
            return False
        if stop - start > _MOST_OPERATORS or self.work > _MOST_WORK:
            self.complete = False
            return False
        self.work += 2 * sum(self._work[start:stop])
        return True

    def _find(self, start: int, stop: int, by_columns: bool) -> list[_Way]:
        """Return the way to run operators by rows or by columns, if there is one."""
        main = self.main
        if stop - start == 1:
            has_none = by_columns or uses_by_rows(main, start)
            return [] if has_none else [(operator_bytes(main, start), None)]
        if not self.has_time():
            self.complete = False
            return []
        rows = main.segment(start, stop)
        if rows is None or not rows.interleaving.rings:
            return []
        way = main.with_columns(start, stop) if by_columns else rows
        if way is None or (by_columns and not main.is_fast(way, rows)):
            return []
        return [(segment_bytes(main, start, way), way)] if keeps_no_whole(main, start, way) else []


class _Price(Protocol):
    """A price of an interval of operators, to choose among segmentations with the fewest bytes."""

    def of(self, start: int, stop: int) -> float:
        """Return the price."""

    def at_least(self, start: int, stop: int) -> float:
        """Return a lower bound of the price, without scheduling the segment."""


@dataclass(frozen=True)
class _Streamed:
    """The bytes that all rings of a segment copy when they are full, and 1000 for each operator."""

    costs: _Costs

    def of(self, start: int, stop: int) -> float:
        if stop - start == 1:
            return 0
        rings = self.costs.best(start, stop).interleaving.rings.values()
        moved = sum((ring.places - ring.moved) * ring.part_bytes for ring in rings)
        return self.at_least(start, stop) + moved

    def at_least(self, start: int, stop: int) -> float:
        return 0 if stop - start == 1 else (stop - start) * 1000


@dataclass(frozen=True)
class _Height:
    """A price by which one interval with many bytes weighs more than several with few."""

    costs: _Costs

    def of(self, start: int, stop: int) -> float:
        return self._of(self.costs.of(start, stop), stop - start)

    def at_least(self, start: int, stop: int) -> float:
        return self._of(self.costs.main.ends.cuts[stop], stop - start)

    def _of(self, bound: float, operators: int) -> float:
        return bound**4 + operators


def _least(
    cost: Callable[[int, int], float],
    cuts: Sequence[int],
    reserve: Callable[[int, int], object] | None = None,
) -> float:
    """Return the smallest possible maximum cost over segments.

    Only segments with one of the costliest operators lower it, so other segments are not tried.

    Parameters
    ----------
    cost
        cost of an interval; at least the value of `cuts` at its end.
    cuts
        live bytes before each operator, and at the end.
    reserve
        spends the time to try a segment; None if there is time for all. Short segments come first,
        so that there is some time for each operator that costs too much.
    """
    count = len(cuts) - 1
    alone = [cost(index, index + 1) for index in range(count)]
    least = max(alone, default=0.0)
    for longest in (*(length for length in _LENGTHS if length < count), count):
        while True:
            before = least
            costly = [index for index in range(count) if alone[index] >= least]
            if reserve is not None:
                for length in range(2, longest + 1):
                    for start in range(count - length + 1):
                        if _has_any(costly, start, start + length):
                            reserve(start, start + length)
            least = _least_with(least, cost, cuts, costly, longest)
            if least == before:
                break
    return least


def _least_with(
    least: float,
    cost: Callable[[int, int], float],
    cuts: Sequence[int],
    costly: Sequence[int],
    longest: int,
) -> float:
    """Return the smallest possible maximum cost, at most `least`, over single operators and over
    segments of up to `longest` operators that have a costly one."""
    best = [0.0] + [least] * (len(cuts) - 1)
    for stop in range(1, len(cuts)):
        # An interval that ends here costs at least `cuts[stop]`, so it would not lower `least`.
        if cuts[stop] >= least:
            continue
        for start in range(stop - 1, max(stop - longest, 0) - 1, -1):
            if best[start] < best[stop] and (stop - start == 1 or _has_any(costly, start, stop)):
                best[stop] = min(best[stop], max(best[start], cost(start, stop)))
    return best[-1]


def _has_any(indices: Sequence[int], start: int, stop: int) -> bool:
    """Return whether one of the sorted indices is from `start` to before `stop`."""
    at = bisect_left(indices, start)
    return at < len(indices) and indices[at] < stop


def _cheapest(
    costs: _Costs,
    limit: float,
    large: Sequence[int],
    price: _Price,
) -> list[Interval]:
    """Return the intervals with the lowest sum of prices whose costs are within the limit. An
    interval of several operators must contain one of `large`."""
    count = costs.count
    best = [0.0] + [inf] * count
    back = [0] * (count + 1)
    for stop in range(1, count + 1):
        # No segment that ends here is within the limit.
        if costs.main.ends.cuts[stop] > limit:
            continue
        for start in range(stop - 1, -1, -1):
            if stop - start > 1 and not _has_any(large, start, stop):
                continue
            if best[start] == inf:
                continue
            (costs.any_way or costs).reserve(start, stop)
            # Test the lower bound first, because the price takes longer to compute.
            if best[start] + price.at_least(start, stop) >= best[stop]:
                continue
            if costs.of(start, stop) <= limit:
                total = best[start] + price.of(start, stop)
                if total < best[stop]:
                    best[stop], back[stop] = total, start
    intervals: list[Interval] = []
    stop = count
    while stop:
        intervals.append((back[stop], stop))
        stop = back[stop]
    return intervals[::-1]
