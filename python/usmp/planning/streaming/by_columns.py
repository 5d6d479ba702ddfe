"""Operators that run interleaved within a row, too: each pixel as soon as its inputs are computed.

Rings then hold the pixels that are still to be read, not whole rows. Rows stay in their ticks (see
`timing`). Within a tick, loops over columns are shifted against each other, as loops over rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from usmp.planning.streaming.interleaving import Interleaving, interleave, smaller
from usmp.planning.streaming.parts import in_parts
from usmp.planning.streaming.scheduler import Scheduler
from usmp.planning.streaming.timing import COLUMNS, ONE_COLUMN, Columns, Ring, Tensor, Timing


@dataclass(frozen=True, eq=False)
class ByColumns:
    """A schedule of operators by columns, with the choices of its rings.

    Parameters
    ----------
    timings, ticks, width
        `timings`, `ticks` and `columns` of an `Interleaving`.
    rings
        possible rings of each tensor, from the smallest on.
    parts
        number of parts, such as pixels, in which each tensor is computed.
    sizes
        bytes of the tensors that rings may replace.
    """

    timings: Sequence[Timing]
    ticks: int
    width: int
    rings: Mapping[Tensor, Sequence[Ring]]
    parts: Mapping[Tensor, int]
    sizes: Mapping[Tensor, int]

    def interleaving(self, spare_bytes: int) -> Interleaving:
        """Return the interleaving with small rings; see `fewest_bytes` for `spare_bytes`."""
        rings = _within(self.rings, self.parts, spare_bytes)
        return Interleaving(self.timings, smaller(rings, self.sizes), self.ticks, self.width)


def by_columns(scheduler: Scheduler) -> list[ByColumns]:
    """Return the possible schedules by columns, perhaps none."""
    rows = interleave(scheduler, with_columns=True)
    timings = []
    for loop, timing, read_by in zip(scheduler.loops, rows.timings, scheduler.read_by, strict=True):
        makers = (read.maker for _, read in read_by)
        sizes = {m.parameter: m.step_bytes * m.steps for m in makers if m.step_bytes is not None}
        timings.append(in_parts(loop, timing, sizes))
    if all(timing.columns.parts == 1 for timing in timings):
        return []
    ways = (_way(scheduler, rows, way) for way in _all_columns(scheduler, timings))
    return [way for way in ways if way is not None]


def fewest_bytes(ways: Sequence[ByColumns], spare_bytes: int) -> Interleaving:
    """Return the interleaving with the fewest bytes of tensors among schedules by columns.

    Parameters
    ----------
    spare_bytes
        bytes that rings may copy in addition to those that the largest rings copy.
    """
    sizes = ways[0].sizes
    interleavings = (way.interleaving(spare_bytes) for way in ways)
    return min(interleavings, key=lambda way: way.kept_bytes(sizes))


def _way(scheduler: Scheduler, rows: Interleaving, timings: Sequence[Timing]) -> ByColumns | None:
    """Return the schedule with these columns; None if an operator would compute several parts in
    a tick, or be idle in most."""
    columns = [timing.columns for timing in timings]
    if any(column.number > 1 for column in columns):
        return None
    width = max(column.end for column in columns)
    if width > 2 * max(column.parts for column in columns):
        # The rates do not match: operators would be idle in most ticks.
        return None
    rings, parts = {}, {}
    for tensor in scheduler.readers:
        by_rows = rows.rings.get(tensor)
        most = scheduler.sizes[tensor] if by_rows is None else by_rows.size_bytes
        rings[tensor] = scheduler.rings(timings, tensor, width, most)
        parts[tensor] = timings[scheduler.maker(tensor)].parts
    return ByColumns(timings, rows.ticks, width, rings, parts, scheduler.sizes)


def _all_columns(scheduler: Scheduler, timings: Sequence[Timing]) -> Iterator[Sequence[Timing]]:
    """Yield choices of the columns of all operators.

    A source reads no tensor of others, and computes several rows in one tick of rows. The choices
    for sources are their average rate, one row in each tick of columns, or rows spread
    until the other operators are done.
    """
    all_reads = zip(timings, scheduler.reads, strict=True)
    rates = scheduler.rates(
        {r: r.parts_per_part(timings[maker], t) for t, reads in all_reads for maker, r in reads}
    )
    fastest = max(rates)
    in_a_tick = [rate / fastest for rate in rates]
    first = _timed(scheduler, timings, in_a_tick, {})
    yield first
    sources = {
        index: timing.columns.parts
        for index, timing in enumerate(timings)
        if not scheduler.reads[index]
        and scheduler.loops[index].columns == 1
        and timing.columns.parts > 1
    }
    if sources:
        yield _timed(scheduler, timings, in_a_tick, dict.fromkeys(sources, 1))
        last = max(timing.columns.end for i, timing in enumerate(first) if i not in sources)
        latest = {index: max((last - 1) // (parts - 1), 1) for index, parts in sources.items()}
        yield _timed(scheduler, timings, in_a_tick, latest)


def _timed(
    scheduler: Scheduler,
    timings: Sequence[Timing],
    rates: Sequence[Fraction],
    periods: Mapping[int, int],
) -> list[Timing]:
    """Return the timings with the columns of each operator as early as its reads allow.

    Parameters
    ----------
    rates
        parts of each operator in a tick of columns.
    periods
        ticks from one part to the next, of operators that ignore their rates.
    """
    timed: list[Timing] = []
    for index, (timing, rate) in enumerate(zip(timings, rates, strict=True)):
        parts = timing.columns.parts
        if parts == 1:
            columns = ONE_COLUMN
        elif index in periods:
            columns = Columns(0, periods[index], 1, parts)
        else:
            columns = Columns(0, rate.denominator, min(rate.numerator, parts), parts)
        timed.append(scheduler.earliest(timed, timing._replace(columns=columns), COLUMNS))
    return timed


def _within(
    choices: Mapping[Tensor, Sequence[Ring]], parts: Mapping[Tensor, int], spare_bytes: int
) -> dict[Tensor, Ring]:
    """Return small rings that together move at most `spare_bytes` more than the largest ones. Rings
    are made smaller where a saved byte costs the fewest moved bytes."""
    moved = {
        tensor: [ring.moved_bytes(parts[tensor]) for ring in rings]
        for tensor, rings in choices.items()
    }
    bytes_of = {tensor: [ring.size_bytes for ring in rings] for tensor, rings in choices.items()}
    at = {tensor: len(rings) - 1 for tensor, rings in choices.items()}
    while True:
        best: tuple[int, int, Tensor, int] | None = None
        for tensor, now in at.items():
            largest, moved_now = bytes_of[tensor][now], moved[tensor][now]
            for index in range(now):
                more = moved[tensor][index] - moved_now
                saved = largest - bytes_of[tensor][index]
                # Compare by cross-multiplication, because a Fraction computes common divisors.
                if (
                    saved > 0
                    and more <= spare_bytes
                    and (best is None or more * best[1] < best[0] * saved)
                ):
                    best = more, saved, tensor, index
        if best is None:
            return {tensor: rings[at[tensor]] for tensor, rings in choices.items()}
        more, _, tensor, index = best
        spare_bytes -= more
        at[tensor] = index
