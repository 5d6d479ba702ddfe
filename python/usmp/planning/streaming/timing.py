"""The ticks in which interleaved operators run, and the rings that hold tensors between them.

A segment is one loop, whose iterations are ticks. A step is an iteration of an operator's own loop,
mostly a row. In a tick, an operator computes nothing or a run: one or more steps. A run consists of
parts, such as the pixels of a row.

A moment is a tick of rows and, within it, a tick of columns; moments compare lexicographically.
Operators that run by rows have one tick of columns in each tick of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from usmp.analysis.memory.indices.index_values import Values

Tensor: TypeAlias = int
"""The position of a tensor among the tensors of a segment that rings may replace."""

ROWS, COLUMNS = range(2)
"""The levels of time: positions in a moment."""


class Columns(NamedTuple):
    """The ticks of columns in which an operator computes the parts of a run.

    Parameters
    ----------
    start
        first tick of columns in which the operator computes parts.
    period
        ticks of columns from one tick with parts to the next.
    number
        parts that are computed in one tick of columns.
    parts
        number of parts in a run.
    """

    start: int
    period: int
    number: int
    parts: int

    @property
    def end(self) -> int:
        """The tick of columns after the last one in which parts are computed."""
        return self.start + self.period * (-(-self.parts // self.number) - 1) + 1


ONE_COLUMN = Columns(0, 1, 1, 1)
"""The columns of a run of a single part, which is computed in the first tick of columns."""


class Timing(NamedTuple):
    """The ticks in which an operator computes its steps.

    Parameters
    ----------
    start
        the tick of its first run.
    period
        ticks from one run to the next.
    number
        number of steps in a run; the last run may have fewer.
    runs
        number of runs.
    columns
        ticks of columns in which it computes the parts of a run.
    """

    start: int
    period: int
    number: int
    runs: int
    columns: Columns = ONE_COLUMN

    @property
    def parts(self) -> int:
        """Number of parts in all runs."""
        return self.runs * self.columns.parts

    @property
    def end(self) -> int:
        """The tick after the last run."""
        return self.start + self.period * (self.runs - 1) + 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of runs, of steps in a run and of parts in a run, without their times."""
        return self.runs, self.number, self.columns.parts

    @property
    def pace(self) -> tuple[object, ...]:
        """All fields but the two first ticks, of rows and of columns."""
        return self[1:4] + self.columns[1:]

    def begin(self, level: int) -> int:
        """Return the first tick at a level of time, `ROWS` or `COLUMNS`."""
        return self.columns.start if level else self.start

    def beginning(self, start: int, level: int) -> Timing:
        """Return the timing with another first tick at a level of time."""
        if level == ROWS:
            return Timing(start, *self[1:])
        return self._replace(columns=Columns(start, *self.columns[1:]))

    def after(self, other: Timing) -> tuple[int, int]:
        """Return the number of ticks of rows, and of columns, from the start of another timing."""
        return self.start - other.start, self.columns.start - other.columns.start

    @property
    def moments(self) -> Values:
        """The tick of each part at each level of time, (2, parts)."""
        start, period, number, parts = self.columns
        moments = np.empty((2, self.runs, parts), np.int64)
        moments[ROWS] = self.start + self.period * np.arange(self.runs)[:, None]
        moments[COLUMNS] = start + period * (np.arange(parts) // number)
        return moments.reshape(2, -1)

    def ticks(self, width: int) -> Values:
        """Return the tick of columns of each part, counted over all ticks of rows, (parts,).

        Parameters
        ----------
        width
            ticks of columns in a tick of rows.
        """
        rows, columns = self.moments
        ticks: Values = rows * width + columns
        return ticks


@dataclass(frozen=True)
class Ring:
    """A ring buffer of the parts of a tensor that are still to be read, one after the other.

    When the ring is full, the parts that are still to be read move to the front.

    Parameters
    ----------
    places
        number of parts that fit. A part is the result of a run or, in a segment by columns, the
        result of one tick of columns.
    moved
        parts by which the content moves to the front; if these are all `places`, nothing is copied.
    part_bytes
        bytes of a part.
    """

    places: int
    moved: int
    part_bytes: int

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole ring."""
        return self.places * self.part_bytes

    def moved_bytes(self, parts: int) -> int:
        """Return the bytes that are copied to the front while `parts` parts are computed."""
        times = -(-max(parts - self.places, 0) // self.moved)
        return times * (self.places - self.moved) * self.part_bytes
