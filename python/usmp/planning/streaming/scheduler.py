"""The scheduler of operators that run interleaved: when each begins, and how large rings are.

Loops of all operators are shifted against each other and become one loop, whose iterations are the
ticks (loop shifting and fusion; in hardware, the pipeline of line buffers). Time is lexicographic:
a moment is a tick of rows and a tick of columns within it. Rows are scheduled first, with one tick
of columns in each tick of rows. Then columns are scheduled, which only wait for parts of the same
tick of rows. Operators that compute parts at the same moment do so in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from usmp.analysis.memory.indices.index_values import Values
from usmp.analysis.memory.memories import Memory
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.reading import Reading
from usmp.planning.streaming.timing import ROWS, Ring, Tensor, Timing


class Scheduler:
    """A scheduler of the operators of a segment.

    Parameters
    ----------
    loops
        the operators, in an order in which each comes after those whose tensors it reads.
    readings
        the reads of tensors between the operators.
    start
        position of the first operator.
    sizes
        bytes of the tensors that rings may replace.
    """

    def __init__(
        self,
        loops: Sequence[OperatorLoop],
        readings: Sequence[Reading],
        start: int,
        sizes: Mapping[Memory, int],
    ) -> None:
        self.loops = loops
        self.reads: list[list[tuple[int, Reading]]] = [[] for _ in loops]
        """By operator, its reads with the positions of their makers."""
        self.read_by: list[list[tuple[int, Reading]]] = [[] for _ in loops]
        """By operator, the reads of its tensors with the positions of their readers."""
        tensors = _numbered(sizes)
        self.sizes: Mapping[Tensor, int] = dict(enumerate(sizes.values()))
        readers: dict[Tensor, list[tuple[int, Reading]]] = {}
        for read in readings:
            maker, reader = read.maker.operator - start, read.reader - start
            self.reads[reader].append((maker, read))
            self.read_by[maker].append((reader, read))
            tensor = tensors.get(read.tensor)
            if read.maker.step_bytes is not None and tensor is not None:
                readers.setdefault(tensor, []).append((reader, read))
        self.readers = {tensor: readers[tensor] for tensor in self.sizes if tensor in readers}
        """The reads of each tensor that a ring can replace, with positions of readers."""
        self._start = start

    def maker(self, tensor: Tensor) -> int:
        """Return the position of the operator that writes a tensor."""
        return self.readers[tensor][0][1].maker.operator - self._start

    def used_by(self, index: int) -> list[Tensor]:
        """Return the tensors that rings can replace and that an operator writes or reads."""
        used = ((t, {self.maker(t), *(r for r, _ in reads)}) for t, reads in self.readers.items())
        return [tensor for tensor, operators in used if index in operators]

    def rates(self, of: Mapping[Reading, Fraction]) -> list[Fraction]:
        """Return, for each operator, the average number of steps (or parts) that it runs for one
        step (or part) of the last operator that reads connect with it.

        Parameters
        ----------
        of
            steps or parts of the maker for one of the reader, of each read.
        """
        rates: dict[int, Fraction] = {}
        for root in reversed(range(len(self.loops))):
            if root in rates:
                continue
            rates[root] = Fraction(1)
            pending = [root]
            while pending:
                index = pending.pop()
                for maker, read in self.reads[index]:
                    if maker not in rates:
                        rates[maker] = rates[index] * of[read]
                        pending.append(maker)
                for reader, read in self.read_by[index]:
                    if reader not in rates:
                        rates[reader] = rates[index] / of[read]
                        pending.append(reader)
        return [rates[index] for index in range(len(self.loops))]

    def earliest(self, before: Sequence[Timing], timing: Timing, level: int) -> Timing:
        """Return a timing that begins as early as the reads of the operator allow.

        Parameters
        ----------
        before
            timings of the operators before.
        level
            level of time, `ROWS` or `COLUMNS`.
        """
        start = 0
        for maker, read in self.reads[len(before)]:
            gap = read.gap(before[maker], timing, level)
            if gap is not None:
                start = max(start, before[maker].begin(level) + gap)
        return timing.beginning(start, level)

    def latest(self, timings: Sequence[Timing], index: int) -> int:
        """Return the last tick of rows in which an operator may begin. If this is its present
        tick or an earlier one, it may not begin later."""
        timing, ticks = timings[index], []
        for reader, read in self.read_by[index]:
            gap = read.gap(timing, timings[reader], ROWS)
            ticks.append(timing.start if gap is None else timings[reader].start - gap)
        return min(ticks, default=0)

    def rings(
        self, timings: Sequence[Timing], tensor: Tensor, width: int = 1, most_bytes: int = 0
    ) -> list[Ring]:
        """Return rings of a tensor, from the smallest one up to `most_bytes`. Cached by the
        distances of start times, because rings do not depend on a common shift.

        Parameters
        ----------
        width
            ticks of columns in a tick of rows.
        """
        maker = timings[self.maker(tensor)]
        readers = [(read, timings[reader]) for reader, read in self.readers[tensor]]
        key = (
            "rings",
            width,
            most_bytes,
            maker.pace,
            *((r, t.after(maker), t.pace) for r, t in readers),
        )
        cache = readers[0][0].maker.found
        return cache.once(key, lambda: _rings(maker, readers, width, most_bytes))


def what_is_scheduled(
    readings: Sequence[Reading], start: int, sizes: Mapping[Memory, int]
) -> tuple[object, ...]:
    """Return a key of a scheduler's parameters without the loops. Operators with the same reads
    between them have equal keys, wherever they are."""
    tensors = _numbered(sizes)
    read = (
        (
            *(r.maker.operator - start, r.maker.parameter, r.maker.step_bytes),
            *(r.reader - start, r.parameter, tensors.get(r.tensor)),
        )
        for r in readings
    )
    return (*read, *sizes.values())


def _numbered(sizes: Mapping[Memory, int]) -> dict[Memory, Tensor]:
    return {memory: tensor for tensor, memory in enumerate(sizes)}


def _rings(
    maker: Timing, readers: Sequence[tuple[Reading, Timing]], width: int, most_bytes: int
) -> list[Ring]:
    part_bytes = readers[0][0].maker.part_bytes(maker)
    ticks, count = maker.ticks(width), maker.parts
    # By part, the first part that is still read when this part is computed.
    first = np.full(count, count, np.int64)
    for read, timing in readers:
        next_part = np.searchsorted(timing.ticks(width), ticks, side="left")
        needed = np.append(read.parts(maker, timing).first, count)
        np.minimum(first, needed[next_part], out=first)
    # Parts that are computed in one tick need places at the same time.
    together = np.searchsorted(ticks, ticks, side="right") - 1
    least = max(int((together - first).max()) + 1, 1)
    rings: list[Ring] = []
    places = least
    while not rings or places * part_bytes <= most_bytes:
        moved = _most_moved(together, first, places, maker.columns.parts if width > 1 else None)
        if not rings or moved > rings[-1].moved:
            rings.append(Ring(places, moved, part_bytes))
        if moved == places:
            break
        places = places + max(1, (places - least) // 2)
    return rings


def _most_moved(last_made: Values, first: Values, places: int, row: int | None) -> int:
    """Return the most parts by which a ring of `places` parts can move.

    Parameters
    ----------
    last_made
        by part, the last part that exists when this part is computed, (parts,).
    first
        by part, the first part that is still read then, (parts,).
    row
        parts of a row, to try only some numbers; None to try all numbers.
    """
    # The content of a ring does not move before the ring is full.
    full = np.searchsorted(last_made, places)
    last_made, first = last_made[full:], first[full:]
    # The first move may drop only the parts that are not read any more.
    most = int(first[:1].min(initial=places))
    slack = places + int((first - last_made).min(initial=0))
    tried = range(1, most + 1) if row is None else {places, slack, slack * 2, row, row * 2, 1, 2, 3}
    possible = sorted((moved for moved in tried if 0 < moved <= most), reverse=True)
    return next(moved for moved in possible if (front(last_made, places, moved) <= first).all())


def front(part: Values, places: int, moved: int) -> Values:
    """Return the number of the first part in a ring when a part is computed."""
    first: Values = np.maximum((part - places) // moved + 1, 0) * moved
    return first
