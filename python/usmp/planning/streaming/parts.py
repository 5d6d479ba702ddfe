"""The parts of a row that an operator of a segment makes at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from usmp.analysis.memory.index_values import Values
from usmp.analysis.memory.memories import UNBOUNDED
from usmp.planning.streaming.operator_loop import ByteRanges, OperatorLoop
from usmp.planning.streaming.timing import Columns, Timing


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

    def bytes_of(self, parameter: int, is_write: bool) -> ByteRanges | None:
        """What each part reads or writes; None if it does neither."""
        loop = self.loop
        if self.number > 1 and loop.columns > 1:
            assert loop.by_columns is not None
            return loop.by_columns[is_write].get(parameter)
        # Many segments ask.
        what = "bytes of parts", self.shape, parameter, is_write
        return loop.found.once(what, lambda: self._bytes_of(parameter, is_write))

    @property
    def shape(self) -> tuple[int, int, int]:
        """What the parts are, whenever they are made: runs, steps and parts of each of them."""
        return self.timing.runs, self.timing.number, self.number

    def _bytes_of(self, parameter: int, is_write: bool) -> ByteRanges | None:
        loop, timing = self.loop, self.timing
        found = (loop.writes if is_write else loop.reads).get(parameter)
        if found is None:
            return None
        lacking = timing.runs * timing.number - loop.steps
        first = np.append(found.first, np.full(lacking, UNBOUNDED)).reshape(self.count, -1)
        end = np.append(found.end, np.full(lacking, -UNBOUNDED)).reshape(self.count, -1)
        return ByteRanges(first.min(axis=1), end.max(axis=1))

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
    what = "are columns", parts.shape, *made.items()
    if loop.found.once(what, lambda: _are_columns(parts, made)):
        return parts
    return Parts(loop, timing, 1)


def _are_columns(parts: Parts, made: Mapping[int, int]) -> bool:
    """Whether columns of an operator give its results one after the other."""
    if parts.timing.number > 1 or parts.loop.by_columns is None:
        return False
    for parameter, size in made.items():
        written = parts.bytes_of(parameter, True)
        if written is None or size % parts.count:
            return False
        first = np.arange(parts.count) * (size // parts.count)
        if not np.array_equal(written.first, first):
            return False
        if not np.array_equal(written.end, first + size // parts.count):
            return False
    return True
