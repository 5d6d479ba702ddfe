"""When operators run that run interleaved, and what is kept of a tensor between two of them.

Time is lexicographic. A moment is a tick of rows and, within it, a tick of columns. Operators that
run by rows have one tick of columns in each tick of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from usmp.analysis.memory.index_values import Values

Tensor: TypeAlias = int
"""Its position among the tensors of a segment of which rings may be kept."""

ROWS, COLUMNS = range(2)
"""The levels of time: positions in a moment."""


class Columns(NamedTuple):
    """When an operator makes the parts of a run, such as the pixels of a row.

    A tick of a segment that runs by columns has ticks of its own, one after the other.

    Parameters
    ----------
    start
        the first of them in which the operator makes parts.
    period
        from one to the next.
    number
        parts that are made at once.
    parts
        of a run.
    """

    start: int
    period: int
    number: int
    parts: int

    @property
    def end(self) -> int:
        """The tick after the last one in which parts are made."""
        return self.start + self.period * (-(-self.parts // self.number) - 1) + 1


ONE_COLUMN = Columns(0, 1, 1, 1)
"""A run is one part, which is made as soon as the tick begins."""


class Timing(NamedTuple):
    """When an operator makes its steps.

    Parameters
    ----------
    start
        the tick of its first run.
    period
        ticks from one run to the next.
    number
        steps of a run.
    runs
        how many.
    columns
        when, within the tick, it makes the parts of a run.
    """

    start: int
    period: int
    number: int
    runs: int
    columns: Columns = ONE_COLUMN

    @property
    def parts(self) -> int:
        """That all runs make together."""
        return self.runs * self.columns.parts

    @property
    def end(self) -> int:
        """The tick after the last run."""
        return self.start + self.period * (self.runs - 1) + 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """What the parts are, whenever they are made: runs, steps and parts of each of them."""
        return self.runs, self.number, self.columns.parts

    @property
    def pace(self) -> tuple[object, ...]:
        """All but when it begins."""
        return self[1:4] + self.columns[1:]

    def begin(self, level: int) -> int:
        """Return the first tick of a level of time."""
        return self.columns.start if level else self.start

    def beginning(self, start: int, level: int) -> Timing:
        """Return the same with another first tick of a level of time."""
        if level == ROWS:
            return Timing(start, *self[1:])
        return self._replace(columns=Columns(start, *self.columns[1:]))

    def after(self, other: Timing) -> tuple[int, int]:
        """Return how much later it begins than another one, by level of time."""
        return self.start - other.start, self.columns.start - other.columns.start

    @property
    def moments(self) -> Values:
        """By level of time and part, the tick in which it is made, (2, parts)."""
        start, period, number, parts = self.columns
        moments = np.empty((2, self.runs, parts), np.int64)
        moments[ROWS] = self.start + self.period * np.arange(self.runs)[:, None]
        moments[COLUMNS] = start + period * (np.arange(parts) // number)
        return moments.reshape(2, -1)

    def ticks(self, width: int) -> Values:
        """Return by part when it is made, in ticks of columns, (parts,).

        Parameters
        ----------
        width
            ticks of columns in a tick of rows.
        """
        rows, columns = self.moments
        made: Values = rows * width + columns
        return made


@dataclass(frozen=True)
class Ring:
    """What is kept of a tensor: the parts that are still to be read, one after the other.

    When there is no place for the next parts, those that are still to be read move to the front.

    Parameters
    ----------
    places
        for so many parts; a part is a row, or in a segment that runs by columns what its operator
        makes in a tick for a column.
    moved
        parts by which they move, at most as many as there are places; with all of them, nothing is
        left to move.
    part_bytes
        of a part.
    """

    places: int
    moved: int
    part_bytes: int

    @property
    def size_bytes(self) -> int:
        """Of the whole ring."""
        return self.places * self.part_bytes

    def moved_bytes(self, parts: int) -> int:
        """Bytes that move while so many parts are made."""
        times = -(-max(parts - self.places, 0) // self.moved)
        return times * (self.places - self.moved) * self.part_bytes
