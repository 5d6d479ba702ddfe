"""The reads between operators that run interleaved."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from usmp.analysis.memory.indices.index_values import Values
from usmp.analysis.memory.memories import Memory
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.parts import bytes_of_parts
from usmp.planning.streaming.timing import Timing
from usmp.support.found import Found


@dataclass(frozen=True, eq=False)
class Maker:
    """An operator that writes a tensor for others.

    Parameters
    ----------
    operator
        position of the operator.
    parameter
        index of the parameter through which it writes the tensor.
    steps
        number of its steps, which run one after the other.
    step_bytes
        bytes of the consecutive part that each step writes; None if steps do not write such parts,
        so that readers wait for the last step.
    """

    operator: int
    parameter: int
    steps: int
    step_bytes: int | None
    found: Found = field(default_factory=Found)
    """Cached results about the tensor, which many segments need."""

    def part_bytes(self, made: Timing) -> int:
        """Return the bytes of a part of the tensor."""
        assert self.step_bytes is not None
        return self.step_bytes * made.number // made.columns.parts


class ReadParts(NamedTuple):
    """The parts of a maker's tensor that each part of a reader reads.

    Parameters
    ----------
    needed
        by part of the reader, the last part of the maker that this or an earlier part needs, -1 for
        none, (parts,).
    first
        by part of the reader, the first part of the maker that this or a later one reads, (parts,).
    """

    needed: Values
    first: Values


@dataclass(frozen=True, eq=False)
class Reading:
    """The read of a tensor that another operator writes.

    Parameters
    ----------
    maker
        the operator that writes the tensor.
    reader
        position of the operator that reads it.
    loop
        loop of the operator that reads it.
    parameter
        index of the parameter through which the operator reads.
    tensor
        the tensor.
    """

    maker: Maker
    reader: int
    loop: OperatorLoop
    parameter: int
    tensor: Memory
    found: Found = field(default_factory=Found)
    """Cached results about this read, which many segments need."""

    def parts(self, made: Timing, read: Timing) -> ReadParts:
        """Return the parts that are read. Cached, because they do not depend on start times.

        Parameters
        ----------
        made, read
            timings of the maker and of the reader.
        """

        def find() -> ReadParts:
            count, accessed = made.parts, bytes_of_parts(self.loop, read, self.parameter, False)
            assert accessed is not None
            if self.maker.step_bytes is None:
                return ReadParts(np.full(read.parts, count - 1), np.zeros(read.parts, np.int64))
            part_bytes = self.maker.part_bytes(made)
            needed = np.clip(-(-accessed.ends // part_bytes), 0, count) - 1
            return ReadParts(needed, np.clip(accessed.begins // part_bytes, 0, count))

        return self.found.once(("parts", made.shape, read.shape), find)

    @cached_property
    def _steps(self) -> ReadParts:
        """The steps that are read, if each part is a single step."""
        return self.parts(Timing(0, 1, 1, self.maker.steps), Timing(0, 1, 1, self.loop.steps))

    @property
    def needs_all_first(self) -> bool:
        """Whether the first step of the reader needs all steps of the maker."""
        return bool(self._steps.needed[0] == self.maker.steps - 1)

    @cached_property
    def steps_per_step(self) -> Fraction:
        """Steps of the maker for one step of the reader, on average."""
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
        """Return the least number of ticks by which the reader begins after the maker, at a level
        of time. Return None if nothing waits at this level, because columns only wait for parts of
        the same tick of rows. Cached by the distance of both starts.

        Parameters
        ----------
        made, read
            timings of the maker and of the reader.
        """
        after = read.after(made)

        def find() -> int | None:
            needed = self.parts(made, read).needed
            makes, reads = made.moments[:, needed], read.moments
            waits = (needed >= 0) & (makes[:level] == reads[:level]).all(axis=0)
            late = (makes[level] - reads[level])[waits]
            return int(late.max()) + after[level] if late.size else None

        # Columns wait only within a tick of rows, so the key has the distance of the rows, too.
        return self.found.once(("gap", level, after[:level], made.pace, read.pace), find)


def _slope(first: Values, count: int) -> Fraction:
    """Return the average number of parts of the maker for a part of the reader.

    Parameters
    ----------
    first
        by part of the reader, the first part of the maker that this part or a later one reads.
    count
        number of parts of the maker.
    """
    parts = len(first)
    for period in range(1, parts // 3 + 1):
        # Skip parts at the edges, whose windows lie partly in padding.
        inner = first[parts // 3 : parts - parts // 3 + period]
        differences = inner[period:] - inner[:-period]
        if differences.size and differences[0] > 0 and (differences == differences[0]).all():
            return Fraction(int(differences[0]), period)
    return Fraction(count, parts)
