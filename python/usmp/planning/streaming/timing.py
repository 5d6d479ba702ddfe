"""When operators run that run interleaved, and what is kept of a tensor between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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
        when, within the tick, it makes the parts of a run; None if a run is one part.
    """

    start: int
    period: int
    number: int
    runs: int
    columns: Columns | None = None

    @property
    def parts(self) -> int:
        """That all runs make together."""
        return self.runs * (1 if self.columns is None else self.columns.parts)

    @property
    def end(self) -> int:
        """The tick after the last run."""
        return self.start + self.period * (self.runs - 1) + 1


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
