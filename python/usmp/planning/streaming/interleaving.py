"""Schedules of interleaved operators, and the schedule by rows with the fewest bytes.

In tick `start + period * k` (see `timing`), an operator computes its run k: the next `number`
steps. Each step runs once, as early as its reads allow, or later where results then take fewer
bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from usmp.planning.streaming.scheduler import Scheduler
from usmp.planning.streaming.timing import ROWS, Ring, Tensor, Timing


@dataclass(frozen=True, eq=False)
class Interleaving:
    """A schedule of interleaved operators.

    Parameters
    ----------
    timings
        timing of each operator.
    rings
        rings of the tensors that are not allocated whole.
    ticks
        number of ticks.
    columns
        number of ticks of columns within each tick; 1 if all operators run by rows.
    """

    timings: Sequence[Timing]
    rings: Mapping[Tensor, Ring]
    ticks: int
    columns: int = 1

    def kept_bytes(self, sizes: Mapping[Tensor, int]) -> int:
        """Return the bytes of rings, and of the tensors in `sizes` that have none."""
        return sum(self.rings[t].size_bytes if t in self.rings else sizes[t] for t in sizes)


def smaller(rings: Mapping[Tensor, Ring], sizes: Mapping[Tensor, int]) -> dict[Tensor, Ring]:
    """Return the rings that are smaller than their tensors."""
    return {tensor: ring for tensor, ring in rings.items() if ring.size_bytes < sizes[tensor]}


def interleave(scheduler: Scheduler, with_columns: bool = False) -> Interleaving:
    """Return the interleaving by rows in which tensors between operators take the fewest bytes.

    Parameters
    ----------
    with_columns
        whether the columns of steps are to run one by one, too. Operators with several columns then
        compute at most one step in a tick, and the fastest of them one in each tick.
    """
    reads = (read for of_operator in scheduler.reads for _, read in of_operator)
    rates = scheduler.rates({read: read.steps_per_step for read in reads})
    distinct = set(rates)
    scales = {1 / rate for rate in distinct}
    if with_columns:
        operators = zip(rates, scheduler.loops, strict=True)
        scales = {1 / max(rate for rate, loop in operators if loop.columns > 1)}
    ways = []
    for scale in sorted(scales, reverse=True):
        scaled = {rate: rate * scale for rate in distinct}
        ways.append(_interleaving(scheduler, [scaled[rate] for rate in rates], with_columns))
    return min(ways, key=lambda way: (way.kept_bytes(scheduler.sizes), way.ticks))


def _interleaving(
    scheduler: Scheduler, rates: Sequence[Fraction], with_columns: bool
) -> Interleaving:
    """Return the interleaving in which each operator computes its rate of steps in a tick."""
    timings: list[Timing] = []
    for index, (loop, rate) in enumerate(zip(scheduler.loops, rates, strict=True)):
        if with_columns:
            period = _period_with_columns(scheduler, index, rate, timings)
        else:
            period = _period(scheduler, index, rate, rates)
        number = min(rate.numerator * period // rate.denominator, loop.steps)
        timing = Timing(0, period, number, -(-loop.steps // number))
        timings.append(scheduler.earliest(timings, timing, ROWS))
    rings = {tensor: scheduler.rings(timings, tensor)[0] for tensor in scheduler.readers}

    def kept(rings: Mapping[Tensor, Ring]) -> int:
        return sum(min(ring.size_bytes, scheduler.sizes[t]) for t, ring in rings.items())

    for index in reversed(range(len(timings))):
        latest = scheduler.latest(timings, index)
        if latest <= timings[index].start:
            continue
        # A later start needs a smaller ring for results, but larger ones for inputs: compare both.
        later = [*timings]
        later[index] = timings[index].beginning(latest, ROWS)
        changed = {t: scheduler.rings(later, t)[0] for t in scheduler.used_by(index)}
        if kept(changed) <= kept({t: rings[t] for t in changed}):
            timings, rings = later, {**rings, **changed}
    first = min(timing.start for timing in timings)
    timings = [timing.beginning(timing.start - first, ROWS) for timing in timings]
    ticks = max(timing.end for timing in timings)
    return Interleaving(timings, smaller(rings, scheduler.sizes), ticks)


def _period(scheduler: Scheduler, index: int, rate: Fraction, rates: Sequence[Fraction]) -> int:
    """Return the ticks between runs of an operator. If a neighbor computes one step in each of its
    periods, prefer that period, so that both run equally often."""
    if rate.numerator == 1:
        return rate.denominator
    beside = (rates[other] for other, _ in (*scheduler.reads[index], *scheduler.read_by[index]))
    periods = (other.denominator for other in beside if other.numerator == 1)
    return next((p for p in periods if p % rate.denominator == 0), rate.denominator)


def _period_with_columns(
    scheduler: Scheduler, index: int, rate: Fraction, timings: Sequence[Timing]
) -> int:
    """Return the ticks between runs by columns: the period of a maker (an operator whose result is
    read) if the operator computes one step for each column of the maker, else that of `rate`."""
    for maker in sorted({maker for maker, _ in scheduler.reads[index]}):
        columns = scheduler.loops[maker].columns
        row = timings[maker].number if columns == 1 else columns
        if rate * timings[maker].period == row:
            return timings[maker].period
    return rate.denominator
