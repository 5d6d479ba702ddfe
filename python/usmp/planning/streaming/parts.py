"""The parts of a row that an operator of a segment makes at a time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from usmp.analysis.memory.memories import UNBOUNDED
from usmp.planning.streaming.operator_loop import ByteRanges, OperatorLoop
from usmp.planning.streaming.timing import ONE_COLUMN, Timing


def bytes_of_parts(
    loop: OperatorLoop, timing: Timing, parameter: int, is_write: bool
) -> ByteRanges | None:
    """Return what each part of an operator reads or writes; None if none does.

    Parameters
    ----------
    timing
        when the operator makes its parts.
    """
    if timing.columns.parts > 1 and loop.columns > 1:
        assert loop.by_columns is not None
        return loop.by_columns[is_write].get(parameter)

    def find() -> ByteRanges | None:
        found = (loop.writes if is_write else loop.reads).get(parameter)
        if found is None:
            return None
        lacking = timing.runs * timing.number - loop.steps
        first = np.append(found.first, np.full(lacking, UNBOUNDED)).reshape(timing.parts, -1)
        end = np.append(found.end, np.full(lacking, -UNBOUNDED)).reshape(timing.parts, -1)
        return ByteRanges(first.min(axis=1), end.max(axis=1))

    # Many segments ask.
    return loop.found.once(("bytes of parts", timing.shape, parameter, is_write), find)


def in_parts(loop: OperatorLoop, timing: Timing, made: Mapping[int, int]) -> Timing:
    """Return a timing with the smallest parts in which an operator makes its results one after the
    other, all of them in one tick after the other.

    Parameters
    ----------
    made
        bytes of the tensors that others read of it, by parameter.
    """
    number = timing.number if loop.columns == 1 else loop.columns
    parted = timing._replace(columns=ONE_COLUMN._replace(parts=number))
    if loop.columns == 1:
        return parted

    def are_columns() -> bool:
        """Whether columns give the results one after the other."""
        if timing.number > 1 or loop.by_columns is None:
            return False
        written = ((bytes_of_parts(loop, parted, i, True), size) for i, size in made.items())
        return all(found is not None and found.part_bytes(size) for found, size in written)

    what = "are columns", parted.shape, *made.items()
    return parted if loop.found.once(what, are_columns) else timing
