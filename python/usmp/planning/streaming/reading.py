"""What operators that run interleaved read of each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from usmp.analysis.memory.index_values import Values
from usmp.analysis.memory.memories import Memory
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.parts import bytes_of_parts
from usmp.planning.streaming.timing import Timing
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

    def part_bytes(self, made: Timing) -> int:
        """Return the bytes of a part of the tensor."""
        assert self.step_bytes is not None
        return self.step_bytes * made.number // made.columns.parts


class ReadParts(NamedTuple):
    """Which parts of what another operator makes an operator reads.

    Parameters
    ----------
    needed
        by part of the reader, the last part of the maker that it or one before needs, -1 for none,
        (parts,).
    first
        by part of the reader, the first part of the maker that it or a later one reads, (parts,).
    """

    needed: Values
    first: Values


@dataclass(frozen=True, eq=False)
class Reading:
    """That an operator reads what another one makes.

    Parameters
    ----------
    maker
        the other one.
    reader
        position of the operator.
    loop
        the operator.
    parameter
        by which it reads.
    tensor
        what is read.
    """

    maker: Maker
    reader: int
    loop: OperatorLoop
    parameter: int
    tensor: Memory
    found: Found = field(default_factory=Found)
    """What many segments ask of it."""

    def parts(self, made: Timing, read: Timing) -> ReadParts:
        """Return which parts are read. Found once, for it does not depend on when both begin.

        Parameters
        ----------
        made, read
            when the maker and the reader make their parts.
        """

        def find() -> ReadParts:
            count, found = made.parts, bytes_of_parts(self.loop, read, self.parameter, False)
            assert found is not None
            if self.maker.step_bytes is None:
                return ReadParts(np.full(read.parts, count - 1), np.zeros(read.parts, np.int64))
            part_bytes = self.maker.part_bytes(made)
            needed = np.clip(-(-found.ends // part_bytes), 0, count) - 1
            return ReadParts(needed, np.clip(found.begins // part_bytes, 0, count))

        return self.found.once(("parts", made.shape, read.shape), find)

    @cached_property
    def _steps(self) -> ReadParts:
        """Which single steps are read."""
        return self.parts(Timing(0, 1, 1, self.maker.steps), Timing(0, 1, 1, self.loop.steps))

    @property
    def needs_all_first(self) -> bool:
        """Whether the first step of the reader needs all of the maker."""
        return bool(self._steps.needed[0] == self.maker.steps - 1)

    @cached_property
    def steps_per_step(self) -> Fraction:
        """Steps of the maker for one of the reader, on average."""
        return _slope(self._steps.first, self.maker.steps)

    def parts_per_part(self, made: Timing, read: Timing) -> Fraction:
        """Return the parts of the maker for one of the reader, on average, in the middle row."""
        if self.maker.step_bytes is None:
            return Fraction(1)

        def find() -> Fraction:
            rows = self.parts(made, read).first.reshape(read.runs, -1)
            return _slope(rows[read.runs // 2], made.columns.parts)

        return self.found.once(("slope", made.shape, read.shape), find)

    def gap(self, made: Timing, read: Timing, level: int) -> int | None:
        """Return how many ticks of a level of time the reader has to begin after the maker, at
        least; None if nothing waits at this level. Columns only wait for what is made in the same
        tick of rows. Found once for all operators that begin as much later.

        Parameters
        ----------
        made, read
            when the maker and the reader make their parts.
        """
        after = read.after(made)

        def find() -> int | None:
            needed = self.parts(made, read).needed
            makes, reads = made.moments[:, needed], read.moments
            waits = (needed >= 0) & (makes[:level] == reads[:level]).all(axis=0)
            late = (makes[level] - reads[level])[waits]
            return int(late.max()) + after[level] if late.size else None

        # Which parts are made in the same tick of rows depends on when rows begin.
        return self.found.once(("gap", level, after[:level], made.pace, read.pace), find)


def _slope(first: Values, made: int) -> Fraction:
    """Return the parts of the maker for one of the reader, on average.

    Parameters
    ----------
    first
        by part of the reader, the first part of the maker that it or a later one reads.
    made
        parts of the maker.
    """
    parts = len(first)
    for period in range(1, parts // 3 + 1):
        # Without those at the edges, whose windows lie partly outside.
        inner = first[parts // 3 : parts - parts // 3 + period]
        differences = inner[period:] - inner[:-period]
        if differences.size and differences[0] > 0 and (differences == differences[0]).all():
            return Fraction(int(differences[0]), period)
    return Fraction(made, parts)
