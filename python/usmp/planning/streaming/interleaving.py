"""When operators that run interleaved make their steps, and how much of each tensor is kept.

Time is counted in ticks. In tick t, an operator makes `number` steps if t is `start + period * k`
for one of its runs k; operators that make steps in the same tick do so in their order. So loops of
all operators are shifted against each other and become one loop, whose iterations are the ticks
(loop shifting and fusion; in hardware, the pipeline of line buffers). Each step is made once, as
early as what it reads allows, or later where that keeps less of its results.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from usmp.analysis.memory.index_values import Values
from usmp.analysis.memory.memories import Memory
from usmp.planning.streaming.operator_loop import ByteRanges
from usmp.planning.streaming.timing import Ring, Timing
from usmp.support.found import Found


@dataclass(frozen=True, eq=False)
class Maker:
    """An operator that makes a tensor for others.

    Parameters
    ----------
    operator
        its position.
    parameter
        by which it writes the tensor.
    steps
        that it makes, one after the other.
    step_bytes
        that each step makes, which follow each other; None if nothing is there before the last.
    """

    operator: int
    parameter: int
    steps: int
    step_bytes: int | None
    found: Found = field(default_factory=Found)
    """What many segments ask of the tensor."""


@dataclass(frozen=True, eq=False)
class Reading:
    """That an operator reads what another one makes.

    Parameters
    ----------
    maker
        the other one.
    reader
        position of the operator.
    parameter
        by which it reads.
    tensor
        what is read.
    needed
        by step of the reader, how many steps of the maker it and all before it need.
    first
        the first step of the maker of which it or a later step reads.
    steps_per_step
        steps of the maker for one of the reader, on average.
    """

    maker: Maker
    reader: int
    parameter: int
    tensor: Memory
    needed: Values
    first: Values
    steps_per_step: Fraction
    found: Found = field(default_factory=Found)
    """What many segments ask of it."""

    def gap(self, made: Timing, read: Timing) -> int | None:
        """Ticks from the first run of the maker to that of the reader, at least; None if no run of
        the reader needs one of the maker. Found once, for it does not depend on when they start.

        Parameters
        ----------
        made, read
            when the maker and the reader run.
        """
        key = made.period, made.number, read.period, read.number, read.runs
        return self.found.once(key, lambda: _gap(made, read, self.needed))


def reading(maker: Maker, reader: int, parameter: int, tensor: Memory, read: ByteRanges) -> Reading:
    """That an operator reads some bytes of a tensor, by its steps."""
    steps, number = len(read.end), maker.step_bytes
    if number is None:
        needed, first = np.full(steps, maker.steps), np.zeros(steps, np.int64)
    else:
        needed = np.clip(-(-read.ends // number), 0, maker.steps)
        first = np.clip(read.begins // number, 0, maker.steps)
    return Reading(maker, reader, parameter, tensor, needed, first, slope(first, maker.steps))


def slope(first: Values, made: int) -> Fraction:
    """Steps of the maker for one of the reader."""
    steps = len(first)
    for period in range(1, steps // 3 + 1):
        # Without those at the edges, whose windows lie partly outside.
        inner = first[steps // 3 : steps - steps // 3 + period]
        differences = inner[period:] - inner[:-period]
        if differences.size and differences[0] > 0 and (differences == differences[0]).all():
            return Fraction(int(differences[0]), period)
    return Fraction(made, steps)


@dataclass(frozen=True, eq=False)
class Interleaving:
    """How operators run.

    Parameters
    ----------
    timings
        of each of them.
    rings
        of the tensors of which not all is kept.
    ticks
        how many there are.
    columns
        ticks of each tick, if operators run by columns; else 1.
    """

    timings: Sequence[Timing]
    rings: Mapping[Memory, Ring]
    ticks: int
    columns: int = 1


def interleave(
    steps: Sequence[int],
    readings: Sequence[Reading],
    start: int,
    sizes: Mapping[Memory, int],
    columns: Sequence[int] | None = None,
) -> Interleaving:
    """The interleaving that keeps the fewest bytes of what operators make for each other.

    Parameters
    ----------
    steps
        of the operators, in an order in which each comes after those whose tensors it reads.
    readings
        what they read of each other.
    start
        position of the first of them.
    sizes
        bytes of the tensors of which not all needs to be kept.
    columns
        of each step, if these are to run one by one, too: then operators with more than one make no
        more than one step in a tick, the fastest of them in each.
    """
    graph = _Graph(steps, readings, start, sizes)
    rates = graph.rates()
    distinct = set(rates)
    scales = {1 / rate for rate in distinct}
    if columns is not None:
        scales = {1 / max(rate for rate, n in zip(rates, columns, strict=True) if n > 1)}
    best: tuple[int, int, Interleaving] | None = None
    for scale in sorted(scales, reverse=True):
        scaled = {rate: rate * scale for rate in distinct}
        found = graph.interleaving([scaled[rate] for rate in rates], columns)
        kept = sum(found.rings[t].size_bytes if t in found.rings else sizes[t] for t in sizes)
        if best is None or (kept, found.ticks) < best[:2]:
            best = kept, found.ticks, found
    assert best is not None
    return graph.moving_rarely(best[2])


class _Graph:
    def __init__(
        self,
        steps: Sequence[int],
        readings: Sequence[Reading],
        start: int,
        sizes: Mapping[Memory, int],
    ) -> None:
        self.steps = steps
        self.start = start
        self.sizes = sizes
        self.reads: list[list[Reading]] = [[] for _ in steps]
        self.read_by: list[list[Reading]] = [[] for _ in steps]
        self.by_tensor: dict[Memory, list[Reading]] = {}
        for edge in readings:
            self.reads[edge.reader - start].append(edge)
            self.read_by[edge.maker.operator - start].append(edge)
            if edge.maker.step_bytes is not None and edge.tensor in sizes:
                self.by_tensor.setdefault(edge.tensor, []).append(edge)

    def rates(self) -> list[Fraction]:
        """Steps of each operator for one of the last, on average."""
        rates: dict[int, Fraction] = {}
        for root in reversed(range(len(self.steps))):
            if root in rates:
                continue
            rates[root] = Fraction(1)
            pending = [root]
            while pending:
                index = pending.pop()
                for edge in self.reads[index]:
                    maker = edge.maker.operator - self.start
                    if maker not in rates:
                        rates[maker] = rates[index] * edge.steps_per_step
                        pending.append(maker)
                for edge in self.read_by[index]:
                    reader = edge.reader - self.start
                    if reader not in rates:
                        rates[reader] = rates[index] / edge.steps_per_step
                        pending.append(reader)
        return [rates[index] for index in range(len(self.steps))]

    def interleaving(
        self, rates: Sequence[Fraction], columns: Sequence[int] | None = None
    ) -> Interleaving:
        """That of the operators if they make this many steps in a tick, with the smallest rings,
        which move by one row at a time."""
        timings: list[Timing] = []
        for index, (steps, rate) in enumerate(zip(self.steps, rates, strict=True)):
            if columns is None:
                period = self._period(index, rate, rates)
            else:
                period = self._period_by_columns(index, rate, timings, columns)
            number = min(rate.numerator * period // rate.denominator, steps)
            timing = Timing(0, period, number, -(-steps // number))
            starts = (
                _earliest(timings[edge.maker.operator - self.start], timing, edge)
                for edge in self.reads[index]
            )
            timings.append(_at(timing, max([0, *starts])))
        rings = {tensor: self._ring(timings, tensor) for tensor in self.by_tensor}
        for index in reversed(range(len(timings))):
            latest = min(
                (
                    _latest(timings[index], timings[edge.reader - self.start], edge)
                    for edge in self.read_by[index]
                ),
                default=0,
            )
            if latest <= timings[index].start:
                continue
            # Later, it keeps less of its results, but what it reads is kept for longer.
            later = [*timings]
            later[index] = _at(timings[index], latest)
            tensors = {e.tensor for e in (*self.reads[index], *self.read_by[index])}
            changed = {t: self._ring(later, t) for t in self.by_tensor if t in tensors}
            if self._kept(changed) <= self._kept({t: rings[t] for t in changed}):
                timings, rings = later, {**rings, **changed}
        first = min(timing.start for timing in timings)
        timings = [_at(timing, timing.start - first) for timing in timings]
        small = {t: ring for t, ring in rings.items() if ring.size_bytes < self.sizes[t]}
        return Interleaving(timings, small, max(timing.end for timing in timings))

    def moving_rarely(self, found: Interleaving) -> Interleaving:
        """The same, with rings that move as rarely as they can."""
        rings = {t: self._moving(found.timings, t, ring) for t, ring in found.rings.items()}
        return replace(found, rings=rings)

    def _period(self, index: int, rate: Fraction, rates: Sequence[Fraction]) -> int:
        """From one run of an operator to the next: that of an operator beside it, if it has several
        steps for each of that one, so that both have rows of one length."""
        if rate.numerator == 1:
            return rate.denominator
        beside = [
            *(edge.maker.operator - self.start for edge in self.reads[index]),
            *(edge.reader - self.start for edge in self.read_by[index]),
        ]
        periods = (rates[other].denominator for other in beside if rates[other].numerator == 1)
        return next((p for p in periods if p % rate.denominator == 0), rate.denominator)

    def _period_by_columns(
        self, index: int, rate: Fraction, timings: Sequence[Timing], columns: Sequence[int]
    ) -> int:
        """The same, where both have as many columns."""
        makers = {edge.maker.operator - self.start for edge in self.reads[index]}
        for maker in sorted(makers):
            row = timings[maker].number if columns[maker] == 1 else columns[maker]
            if rate * timings[maker].period == row:
                return timings[maker].period
        return rate.denominator

    def _kept(self, rings: Mapping[Memory, Ring]) -> int:
        return sum(min(ring.size_bytes, self.sizes[t]) for t, ring in rings.items())

    def _ring(self, timings: Sequence[Timing], tensor: Memory) -> Ring:
        """The smallest ring of a tensor."""
        maker = self.by_tensor[tensor][0].maker

        def find() -> Ring:
            number = timings[maker.operator - self.start].number
            runs, first = self._still_read(timings, tensor)
            assert maker.step_bytes is not None
            return Ring(max(int((runs - first).max()) + 1, 1), 1, number * maker.step_bytes)

        return maker.found.once(self._relative_timings(timings, tensor), find)

    def _moving(self, timings: Sequence[Timing], tensor: Memory, ring: Ring) -> Ring:
        """A ring that moves as rarely as it can."""

        def find() -> Ring:
            runs, first = self._still_read(timings, tensor)
            # It first moves for the part after the last place, and then to the front.
            most = min(ring.places, *first[ring.places : ring.places + 1].tolist())
            moved = next(
                moved
                for moved in range(most, 0, -1)
                if (front(runs, ring.places, moved) <= first).all()
            )
            return Ring(ring.places, moved, ring.part_bytes)

        what = "moving", self._relative_timings(timings, tensor)
        return self.by_tensor[tensor][0].maker.found.once(what, find)

    def _relative_timings(self, timings: Sequence[Timing], tensor: Memory) -> Hashable:
        """What the smallest ring of a tensor depends on: when it is made and read, whenever that
        begins."""
        edges = self.by_tensor[tensor]
        made = timings[edges[0].maker.operator - self.start]
        read = ((edge, timings[edge.reader - self.start]) for edge in edges)
        return (
            (made.period, made.number, made.runs),
            *((edge, r.start - made.start, r.period, r.number, r.runs) for edge, r in read),
        )

    def _still_read(self, timings: Sequence[Timing], tensor: Memory) -> tuple[Values, Values]:
        """The runs of the maker of a tensor, and the first row that is read when each ends."""
        edges = self.by_tensor[tensor]
        maker = edges[0].maker
        timing = timings[maker.operator - self.start]
        runs = np.arange(timing.runs)
        ticks = timing.start + timing.period * runs
        first = np.full(timing.runs, timing.runs, np.int64)
        for edge in edges:
            reader = timings[edge.reader - self.start]
            begins = np.arange(reader.runs) * reader.number
            rows = np.append(edge.first[begins] // timing.number, timing.runs)
            next_run = np.clip(-(-(ticks - reader.start) // reader.period), 0, reader.runs)
            np.minimum(first, rows[next_run], out=first)
        return runs, first


def front(part: Values, places: int, moved: int) -> Values:
    """The first part in a ring when a part is made."""
    found: Values = np.maximum((part - places) // moved + 1, 0) * moved
    return found


def _at(timing: Timing, start: int) -> Timing:
    return Timing(start, timing.period, timing.number, timing.runs)


def _gap(made: Timing, read: Timing, steps_needed: Values) -> int | None:
    last = np.minimum((np.arange(read.runs) + 1) * read.number, len(steps_needed)) - 1
    # By run of the reader, the run of the maker that it has to come after; -1 for none.
    needed = -(-steps_needed[last] // made.number) - 1
    gaps = (made.period * needed - read.period * np.arange(read.runs))[needed >= 0]
    return int(gaps.max()) if gaps.size else None


def _earliest(maker: Timing, reader: Timing, edge: Reading) -> int:
    """The tick in which the reader may begin."""
    gap = edge.gap(maker, reader)
    return 0 if gap is None else maker.start + gap


def _latest(maker: Timing, reader: Timing, edge: Reading) -> int:
    """The tick in which the maker has to begin."""
    gap = edge.gap(maker, reader)
    return maker.start if gap is None else reader.start - gap
