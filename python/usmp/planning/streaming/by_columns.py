"""Operators that run interleaved within a row, too: each pixel as soon as what it reads is there.

Rings then hold the pixels that are still to be read, not whole rows. The rows of a segment keep
their ticks; within a tick, the columns of all operators are shifted against each other in the same
way as rows are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from usmp.analysis.memory.index_values import Values
from usmp.analysis.memory.memories import Memory
from usmp.planning.streaming.interleaving import Interleaving, Reading, front, slope
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.parts import Parts, parts_of
from usmp.planning.streaming.timing import Columns, Ring, Timing
from usmp.support.found import Found


@dataclass(frozen=True, eq=False)
class _ReadParts:
    """As `Reading`, by parts; `needed` is the last part of the maker that is needed, or -1."""

    part_bytes: int
    needed: Values
    first: Values
    slope: Fraction
    found: Found = field(default_factory=Found)


@dataclass(frozen=True, eq=False)
class _Edge:
    """The same in a segment: of which of its operators."""

    maker: int
    reader: int
    reading: Reading
    parts: _ReadParts

    @property
    def tensor(self) -> Memory:
        """What is read."""
        return self.reading.tensor


def by_columns(
    loops: Sequence[OperatorLoop],
    readings: Sequence[Reading],
    start: int,
    rows: Interleaving,
    sizes: Mapping[Memory, int],
) -> list[ByColumns]:
    """The same interleaving by columns, in some ways; empty if no operator has any.

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
    edges = [_edge(operators, read, start) for read in readings]
    ways = (
        _way(rows, operators, edges, columns, sizes) for columns in _all_columns(operators, edges)
    )
    return [way for way in ways if way is not None]


def fewest_bytes(ways: Sequence[ByColumns], spare_bytes: int) -> Interleaving:
    """That of some ways which keeps the fewest bytes.

    Parameters
    ----------
    spare_bytes
        how many more bytes may be moved than where rings are largest.
    """
    found = ((way, way.interleaving(spare_bytes)) for way in ways)
    return min(found, key=lambda one: _kept_bytes(one[1], one[0].sizes))[1]


def _kept_bytes(found: Interleaving, sizes: Mapping[Memory, int]) -> int:
    return sum(found.rings[t].size_bytes if t in found.rings else sizes[t] for t in sizes)


@dataclass(frozen=True, eq=False)
class ByColumns:
    """Operators that run by columns.

    Parameters
    ----------
    timings, ticks, width
        as in an `Interleaving` with so many columns.
    rings
        those of each tensor that are possible, from the smallest on.
    parts
        of each tensor, that are made.
    sizes
        bytes of all tensors of which not all needs to be kept.
    """

    timings: Sequence[Timing]
    ticks: int
    width: int
    rings: Mapping[Memory, Sequence[Ring]]
    parts: Mapping[Memory, int]
    sizes: Mapping[Memory, int]

    def interleaving(self, spare_bytes: int) -> Interleaving:
        """That with the smallest rings; see `fewest_bytes`."""
        rings = _within(self.rings, self.parts, spare_bytes)
        small = {t: ring for t, ring in rings.items() if ring.size_bytes < self.sizes[t]}
        return Interleaving(self.timings, small, self.ticks, self.width)


def _way(
    rows: Interleaving,
    operators: Sequence[Parts],
    edges: Sequence[_Edge],
    columns: Sequence[Columns],
    sizes: Mapping[Memory, int],
) -> ByColumns | None:
    """The operators by these columns; None if they cannot run so."""
    if any(column.number > 1 for column in columns):
        return None
    width = max(column.end for column in columns)
    if width > 2 * max(operator.number for operator in operators):
        # Rates that do not fit: most ticks would do nothing.
        return None
    choices = {}
    for tensor in sizes:
        of_tensor = [
            edge for edge in edges if edge.parts.part_bytes and edge.tensor.same_as(tensor)
        ]
        if of_tensor:
            by_rows = rows.rings.get(tensor)
            most = sizes[tensor] if by_rows is None else by_rows.size_bytes
            choices[tensor] = _rings(of_tensor, operators, columns, width, most)
    timings = [
        timing._replace(columns=column)
        for timing, column in zip(rows.timings, columns, strict=True)
    ]
    parts = {edge.tensor: operators[edge.maker].count for edge in edges}
    return ByColumns(timings, rows.ticks, width, choices, parts, sizes)


def _edge(operators: Sequence[Parts], read: Reading, start: int) -> _Edge:
    maker, reader = read.maker.operator - start, read.reader - start
    making, using = operators[maker], operators[reader]
    what = "parts", making.shape, using.shape
    parts = read.found.once(what, lambda: _read_parts(making, using, read))
    return _Edge(maker, reader, read, parts)


def _read_parts(maker: Parts, reader: Parts, read: Reading) -> _ReadParts:
    found = reader.bytes_of(read.parameter, False)
    assert found is not None
    count = len(found.end)
    if read.maker.step_bytes is None:
        last = np.full(count, maker.count - 1)
        return _ReadParts(0, last, np.zeros_like(last), Fraction(1))
    part_bytes = read.maker.step_bytes * maker.timing.number // maker.number
    needed = np.clip(-(-found.ends // part_bytes), 0, maker.count) - 1
    first = np.clip(found.begins // part_bytes, 0, maker.count)
    parts = reader.number
    row = reader.timing.runs // 2 * parts
    in_a_row = slope(first[row : row + parts], maker.number)
    return _ReadParts(part_bytes, needed, first, in_a_row)


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
        columns.append(column._replace(start=max([0, *starts])))
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
                    rates[edge.maker] = rates[index] * edge.parts.slope
                    pending.append(edge.maker)
                elif edge.maker == index and edge.reader not in rates:
                    rates[edge.reader] = rates[index] / edge.parts.slope
                    pending.append(edge.reader)
    return [rates[index] for index in range(count)]


def _earliest(
    operators: Sequence[Parts], columns: Sequence[Columns], column: Columns, edge: _Edge
) -> int:
    """Where the columns of the reader may begin."""
    maker, reader, before = operators[edge.maker], operators[edge.reader], columns[edge.maker]
    late = edge.parts.found.once(
        (
            *("late", reader.timing.start - maker.timing.start),
            *(maker.timing.period, reader.timing.period),
            *(before.period, before.number, column.period, column.number),
        ),
        lambda: _latest_parts(maker, reader, before, column, edge.parts.needed),
    )
    return 0 if late is None else max(before.start + late, 0)


def _latest_parts(
    maker: Parts, reader: Parts, before: Columns, column: Columns, needed_parts: Values
) -> int | None:
    """Ticks from the first column of the maker to that of the reader, at least; None if no part
    needs one that is made in the same tick of rows."""
    parts = np.arange(reader.count)
    tick = reader.timing.start + reader.timing.period * (parts // reader.number)
    needed = np.maximum(needed_parts, 0)
    made = maker.timing.start + maker.timing.period * (needed // maker.number)
    at = before.period * (needed % maker.number // before.number)
    late = at - column.period * (parts % reader.number // column.number)
    same = (made == tick) & (needed_parts >= 0)
    return int(late[same].max()) if same.any() else None


def _rings(
    edges: Sequence[_Edge],
    operators: Sequence[Parts],
    columns: Sequence[Columns],
    width: int,
    most: int,
) -> list[Ring]:
    """Rings of a tensor, from the smallest to one that is as large as `most` bytes."""
    index = edges[0].maker
    maker, column = operators[index], columns[index]
    begins = maker.timing.start * width + column.start

    def relative(index: int) -> Hashable:
        """When an operator makes its parts, whenever the maker begins."""
        timing, own = operators[index].timing, columns[index]
        start = timing.start * width + own.start - begins
        return start, timing.period, own.period, own.number, operators[index].shape

    what = "rings", width, most, relative(index), *((e.parts, relative(e.reader)) for e in edges)
    return edges[0].reading.maker.found.once(
        what, lambda: _find_rings(edges, operators, columns, width, most)
    )


def _find_rings(
    edges: Sequence[_Edge],
    operators: Sequence[Parts],
    columns: Sequence[Columns],
    width: int,
    most: int,
) -> list[Ring]:
    maker, part_bytes = edges[0].maker, edges[0].parts.part_bytes
    made, count = operators[maker].ticks(columns[maker], width), operators[maker].count
    first = np.full(count, count, np.int64)
    for edge in edges:
        reader = operators[edge.reader].ticks(columns[edge.reader], width)
        next_part = np.searchsorted(reader, made, side="left")
        np.minimum(first, np.append(edge.parts.first, count)[next_part], out=first)
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
    choices: Mapping[Memory, Sequence[Ring]], parts: Mapping[Memory, int], spare_bytes: int
) -> dict[Memory, Ring]:
    """The rings that take the fewest bytes of those that move no more than `spare_bytes` more than
    the largest ones; if one is smaller, it is where that costs the least by byte."""
    moved = {
        tensor: [ring.moved_bytes(parts[tensor]) for ring in rings]
        for tensor, rings in choices.items()
    }
    bytes_of = {tensor: [ring.size_bytes for ring in rings] for tensor, rings in choices.items()}
    at = {tensor: len(rings) - 1 for tensor, rings in choices.items()}
    while True:
        best: tuple[int, int, Memory, int] | None = None
        for tensor, now in at.items():
            largest, moved_now = bytes_of[tensor][now], moved[tensor][now]
            for index in range(now):
                more = moved[tensor][index] - moved_now
                saved = largest - bytes_of[tensor][index]
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
