"""Operators that run interleaved within a row, too: each pixel as soon as what it reads is there.

Rings then hold the pixels that are still to be read, not whole rows. The rows of a segment keep
their ticks; within a tick, the columns of all operators are shifted against each other in the same
way as rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from usmp.analysis.memory.index_values import Values
from usmp.analysis.memory.memories import Memory
from usmp.analysis.memory.traced_access import UNBOUNDED
from usmp.planning.streaming.interleaving import (
    Columns,
    Interleaving,
    Reading,
    Ring,
    Timing,
    front,
    slope,
)
from usmp.planning.streaming.operator_loop import Bytes, OperatorLoop


@dataclass(frozen=True, eq=False)
class Parts:
    """An operator by the parts that it makes one after the other.

    Parameters
    ----------
    loop
        the operator.
    timing
        when it makes its rows.
    number
        parts of a run.
    """

    loop: OperatorLoop
    timing: Timing
    number: int

    @property
    def count(self) -> int:
        """Of all runs."""
        return self.timing.runs * self.number

    def bytes_of(self, parameter: int, is_write: bool) -> Bytes | None:
        """What each part reads or writes; None if it does neither."""
        loop, timing = self.loop, self.timing
        if self.number > 1 and loop.columns > 1:
            assert loop.by_columns is not None
            return loop.by_columns[is_write].get(parameter)
        found = (loop.writes if is_write else loop.reads).get(parameter)
        if found is None:
            return None
        lacking = timing.runs * timing.number - loop.steps
        first = np.append(found.first, np.full(lacking, UNBOUNDED)).reshape(self.count, -1)
        end = np.append(found.end, np.full(lacking, -UNBOUNDED)).reshape(self.count, -1)
        return Bytes(first.min(axis=1), end.max(axis=1))

    @classmethod
    def as_timed(cls, loop: OperatorLoop, timing: Timing) -> Parts:
        """The parts of an operator in an interleaving."""
        return cls(loop, timing, 1 if timing.columns is None else timing.columns.parts)

    def ticks(self, columns: Columns, width: int) -> Values:
        """When each part is made, in ticks of columns."""
        runs = np.arange(self.timing.runs)[:, None] * self.timing.period + self.timing.start
        parts = np.arange(self.number) // columns.number * columns.period + columns.start
        made: Values = (runs * width + parts).ravel()
        return made


def parts_of(loop: OperatorLoop, timing: Timing, made: Mapping[int, int]) -> Parts:
    """The smallest parts in which an operator makes its results one after the other.

    Parameters
    ----------
    made
        bytes of the tensors that others read of it, by parameter.
    """
    if loop.columns == 1:
        return Parts(loop, timing, timing.number)
    parts = Parts(loop, timing, loop.columns)
    if timing.number > 1 or loop.by_columns is None:
        return Parts(loop, timing, 1)
    for parameter, size in made.items():
        written = parts.bytes_of(parameter, True)
        if written is None or size % parts.count:
            return Parts(loop, timing, 1)
        first = np.arange(parts.count) * (size // parts.count)
        if not np.array_equal(written.first, first):
            return Parts(loop, timing, 1)
        if not np.array_equal(written.end, first + size // parts.count):
            return Parts(loop, timing, 1)
    return parts


@dataclass(frozen=True, eq=False)
class _Edge:
    """As `Reading`, by parts; `needed` is the last part of the maker that is needed, or -1."""

    maker: int
    reader: int
    tensor: Memory
    part_bytes: int
    needed: Values
    first: Values
    slope: Fraction


def by_columns(
    loops: Sequence[OperatorLoop],
    readings: Sequence[Reading],
    start: int,
    rows: Interleaving,
    sizes: Mapping[Memory, int],
    spare_bytes: Sequence[int],
) -> list[Interleaving]:
    """The same interleaving by columns, for each of some numbers of bytes; empty if no operator has
    any.

    Parameters
    ----------
    loops
        the operators.
    readings
        what they read of each other.
    start
        position of the first of them.
    rows
        how they run by rows.
    sizes
        bytes of the tensors of which not all needs to be kept.
    spare_bytes
        how many more bytes may be moved than where rings are largest.
    """
    made: list[dict[int, int]] = [{} for _ in loops]
    for read in readings:
        if read.maker.step_bytes is not None:
            whole = read.maker.step_bytes * read.maker.steps
            made[read.maker.operator - start][read.maker.parameter] = whole
    operators = [
        parts_of(loop, timing, sizes_made)
        for loop, timing, sizes_made in zip(loops, rows.timings, made, strict=True)
    ]
    if all(operator.number == 1 for operator in operators):
        return []
    edges = [_edge(operators, read, start, made) for read in readings]
    found = [
        made_so
        for columns in _all_columns(operators, edges)
        if (made_so := _interleavings(rows, operators, edges, columns, sizes, spare_bytes))
    ]
    return [min(ways, key=lambda one: _kept_bytes(one, sizes)) for ways in zip(*found, strict=True)]


def _kept_bytes(found: Interleaving, sizes: Mapping[Memory, int]) -> int:
    return sum(found.rings[t].size_bytes if t in found.rings else sizes[t] for t in sizes)


def _interleavings(
    rows: Interleaving,
    operators: Sequence[Parts],
    edges: Sequence[_Edge],
    columns: Sequence[Columns],
    sizes: Mapping[Memory, int],
    spare_bytes: Sequence[int],
) -> list[Interleaving]:
    """The operators by these columns; nothing if they cannot run so."""
    if any(column.number > 1 for column in columns):
        return []
    width = max(column.end for column in columns)
    if width > 2 * max(operator.number for operator in operators):
        # Rates that do not fit: most ticks would do nothing.
        return []
    ticks = [
        operator.ticks(column, width) for operator, column in zip(operators, columns, strict=True)
    ]
    choices = {}
    for tensor in sizes:
        of_tensor = [edge for edge in edges if edge.tensor.same_as(tensor) and edge.part_bytes]
        if of_tensor:
            by_rows = rows.rings.get(tensor)
            most = sizes[tensor] if by_rows is None else by_rows.size_bytes
            choices[tensor] = _rings(ticks, of_tensor, operators, most)
    timings = [
        replace(timing, columns=column)
        for timing, column in zip(rows.timings, columns, strict=True)
    ]
    found = []
    for spare in spare_bytes:
        rings = _within(choices, operators, edges, spare)
        small = {tensor: ring for tensor, ring in rings.items() if ring.size_bytes < sizes[tensor]}
        found.append(Interleaving(timings, small, rows.ticks, width))
    return found


def _edge(
    operators: Sequence[Parts], read: Reading, start: int, made: Sequence[Mapping[int, int]]
) -> _Edge:
    maker, reader = read.maker.operator - start, read.reader - start
    operator, found = operators[maker], operators[reader].bytes_of(read.parameter, False)
    assert found is not None
    count = len(found.end)
    if read.maker.step_bytes is None:
        last = np.full(count, operator.count - 1)
        return _Edge(maker, reader, read.tensor, 0, last, np.zeros_like(last), Fraction(1))
    part_bytes = read.maker.step_bytes * operator.timing.number // operator.number
    ends = np.maximum.accumulate(found.end)
    begins = np.minimum.accumulate(found.first[::-1])[::-1]
    needed = np.clip(-(-ends // part_bytes), 0, operator.count) - 1
    first = np.clip(begins // part_bytes, 0, operator.count)
    parts = operators[reader].number
    row = operators[reader].timing.runs // 2 * parts
    in_a_row = slope(first[row : row + parts], operator.number)
    return _Edge(maker, reader, read.tensor, part_bytes, needed, first, in_a_row)


def _all_columns(operators: Sequence[Parts], edges: Sequence[_Edge]) -> Iterator[Sequence[Columns]]:
    """Choices of the columns of all operators.

    The rows that a run of an operator gives which reads nothing of others and has no columns come
    at its average rate, one right after the other, or the last of them when all others are done.
    """
    columns = _columns(operators, edges, {})
    yield columns
    reads = {edge.reader for edge in edges}
    sources = {
        index: operator.number
        for index, operator in enumerate(operators)
        if index not in reads and operator.loop.columns == 1 and operator.number > 1
    }
    if sources:
        yield _columns(operators, edges, dict.fromkeys(sources, 1))
        last = max(column.end for i, column in enumerate(columns) if i not in sources)
        latest = {index: max((last - 1) // (number - 1), 1) for index, number in sources.items()}
        yield _columns(operators, edges, latest)


def _columns(
    operators: Sequence[Parts], edges: Sequence[_Edge], periods: Mapping[int, int]
) -> list[Columns]:
    """The columns of each operator, each as early as what it reads allows.

    Parameters
    ----------
    periods
        from one part to the next, of operators whose parts come otherwise than at their rates.
    """
    rates = _rates(len(operators), edges)
    scale = 1 / max(rates)
    columns: list[Columns] = []
    for index, operator in enumerate(operators):
        rate = rates[index] * scale
        number = min(rate.numerator, operator.number)
        column = Columns(0, rate.denominator, number, operator.number)
        if operator.number == 1:
            column = Columns(0, 1, 1, 1)
        elif index in periods:
            column = Columns(0, periods[index], 1, operator.number)
        starts = [
            _earliest(operators, columns, column, edge) for edge in edges if edge.reader == index
        ]
        columns.append(replace(column, start=max([0, *starts])))
    return columns


def _rates(count: int, edges: Sequence[_Edge]) -> list[Fraction]:
    """Parts of each operator for one of the last, on average."""
    rates: dict[int, Fraction] = {}
    for root in reversed(range(count)):
        if root in rates:
            continue
        rates[root] = Fraction(1)
        pending = [root]
        while pending:
            index = pending.pop()
            for edge in edges:
                if edge.reader == index and edge.maker not in rates:
                    rates[edge.maker] = rates[index] * edge.slope
                    pending.append(edge.maker)
                elif edge.maker == index and edge.reader not in rates:
                    rates[edge.reader] = rates[index] / edge.slope
                    pending.append(edge.reader)
    return [rates[index] for index in range(count)]


def _earliest(
    operators: Sequence[Parts], columns: Sequence[Columns], column: Columns, edge: _Edge
) -> int:
    """Where the columns of the reader may begin."""
    maker, reader = operators[edge.maker], operators[edge.reader]
    parts = np.arange(reader.count)
    tick = reader.timing.start + reader.timing.period * (parts // reader.number)
    needed = np.maximum(edge.needed, 0)
    made = maker.timing.start + maker.timing.period * (needed // maker.number)
    before = columns[edge.maker]
    at = before.start + before.period * (needed % maker.number // before.number)
    late = at - column.period * (parts % reader.number // column.number)
    same = (made == tick) & (edge.needed >= 0)
    return int(late[same].max(initial=0))


def _rings(
    ticks: Sequence[Values], edges: Sequence[_Edge], operators: Sequence[Parts], most: int
) -> list[Ring]:
    """Rings of a tensor, from the smallest to one that is as large as `most` bytes."""
    maker, part_bytes = edges[0].maker, edges[0].part_bytes
    made, count = ticks[maker], operators[maker].count
    first = np.full(count, count, np.int64)
    for edge in edges:
        reader = ticks[edge.reader]
        next_part = np.searchsorted(reader, made, side="left")
        np.minimum(first, np.append(edge.first, count)[next_part], out=first)
    # What is made together is there together.
    together = np.searchsorted(made, made, side="right") - 1
    least = max(int((together - first).max()) + 1, 1)
    found: list[Ring] = []
    places = least
    while not found or places * part_bytes <= most:
        moved = _most_moved(together, first, places, operators[maker].number)
        if not found or moved > found[-1].moved:
            found.append(Ring(places, moved, part_bytes))
        if moved == places:
            break
        places = places + max(1, (places - least) // 2)
    return found


def _most_moved(made: Values, first: Values, places: int, row: int) -> int:
    """The most parts by which a ring with so many places can move."""
    # Before it is full, a ring does not move.
    full = made >= places
    slack = places + int((first - made)[full].min(initial=0))
    tried = {places, slack, slack * 2, row, row * 2, *range(1, 4)}
    possible = sorted((t for t in tried if 0 < t <= places), reverse=True)
    found: int = next(m for m in possible if (front(made, places, m) <= first).all())
    return found


def _within(
    choices: Mapping[Memory, Sequence[Ring]],
    operators: Sequence[Parts],
    edges: Sequence[_Edge],
    spare_bytes: int,
) -> dict[Memory, Ring]:
    """The rings that take the fewest bytes of those that move no more than `spare_bytes` more than
    the largest ones; if one is smaller, it is where that costs the least by byte."""
    counts = {edge.tensor: operators[edge.maker].count for edge in edges}
    moved = {
        tensor: [ring.moved_bytes(counts[tensor]) for ring in rings]
        for tensor, rings in choices.items()
    }
    at = {tensor: len(rings) - 1 for tensor, rings in choices.items()}
    while True:
        best: tuple[int, int, Memory, int] | None = None
        for tensor, rings in choices.items():
            largest, moved_now = rings[at[tensor]].size_bytes, moved[tensor][at[tensor]]
            for index in range(at[tensor]):
                more = moved[tensor][index] - moved_now
                saved = largest - rings[index].size_bytes
                # Fractions of integers are compared without their greatest common divisors.
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
